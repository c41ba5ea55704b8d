//! A file of rows scored into another: reading, scoring and writing at the same time, a few batches in flight.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use stonet::Ticker;
use stonet::base::{Cancelled, stage};
use stonet::rows::LabelKind;

use super::{ModelScorer, Scored};
use crate::batches::Ahead;
use crate::location::{Format, Location};
use crate::{Beside, Cells, Column, Reading, Result, Table, Type, Writer, check_output};

/// Scored batches that wait to be written: with those that wait to be scored, memory is that of a handful of batches,
/// whatever the length of the file.
const WAITING: usize = 2;

/// Scores every row of `input` into `output`, in the same order; returns how many rows there were.
///
/// Files `beside` the input have the same rows. Columns called `keep` stand in front of the scores, as they are:
/// numbers as numbers, integers as integers, anything else, and every column of a text file, as text; values may be
/// missing in them. Reading, scoring and writing happen at the same time, `batch_rows` rows (at least one) at once.
/// `tick(done, total)` is told the rows after every batch (a total of 0 where the file does not tell it); if it returns
/// false, or if anything fails, nothing is left of the output.
pub fn score_file(
    scorer: &ModelScorer,
    input: &Path,
    beside: &[Beside],
    output: &Path,
    keep: &[String],
    batch_rows: usize,
    tick: Ticker<'_>,
) -> Result<u64> {
    let inputs: Vec<&Path> = [input].into_iter().chain(beside.iter().map(|b| b.path.as_path())).collect();
    check_output(output, &inputs)?;
    let kept = kept(scorer, input, beside, keep)?;
    let (text, numbers): (Vec<&Column>, Vec<&Column>) = kept.iter().partition(|c| c.kind.as_text());
    let names = |columns: &[&Column]| columns.iter().map(|c| c.name.clone()).collect::<Vec<_>>();
    let numbers = scorer.inputs().iter().cloned().chain(names(&numbers)).collect();
    // A group has to be there, whether its column is kept or not.
    let groups = scorer.texts();
    let gaps = kept.iter().filter(|c| c.gaps && !groups.contains(&c.name)).map(|c| c.name.clone()).collect();
    let text = names(&text).into_iter().chain(groups.iter().cloned()).collect();
    let reading = Reading { numbers: Some(numbers), text, beside: beside.to_vec(), gaps, ..Reading::default() };
    let batches = reading.batches(input, batch_rows)?;
    let total = batches.rows().unwrap_or(0) as usize;
    let columns = kept.iter().cloned().chain(scorer.outputs().iter().cloned()).collect();
    let mut writer = Writer::create(output, columns)?;
    let (scored, to_write) = sync_channel(WAITING);
    thread::scope(|scope| {
        let (writer, kept) = (&mut writer, &kept);
        // The thread owns its end of the queue: should it fail, the scorer must not wait for it.
        let writing = scope.spawn(move || write(writer, kept, to_write));
        let scoring = score(scorer, batches.ahead(), scored, total, tick);
        // A failure in writing is what made scoring end early.
        let written = writing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        written.and(scoring)
    })?;
    let rows = writer.rows();
    stage("writing", || writer.finish())?;
    Ok(rows)
}

/// What columns of a file, or of files beside it, are written as when they are copied; none where text files have them,
/// which know no types.
pub fn types(input: &Path, beside: &[Beside], names: &[String]) -> Result<Vec<Option<Type>>> {
    #[cfg_attr(not(feature = "parquet"), expect(unused_mut, reason = "text files know no types"))]
    let mut kinds = vec![None; names.len()];
    let mut otherwise = Some(Type::F64);
    for path in [input].into_iter().chain(beside.iter().map(|b| b.path.as_path())) {
        let at = Location::new(path)?;
        match at.format {
            #[cfg(feature = "parquet")]
            Format::Parquet | Format::Arrow | Format::Folder => {
                let here = crate::arrow::copied_as(&at, names)?;
                kinds.iter_mut().zip(here).for_each(|(kind, here)| *kind = kind.or(here));
            }
            // What no typed file has is in here.
            Format::Text => otherwise = None,
            _ => {}
        }
    }
    Ok(kinds.into_iter().map(|kind| kind.or(otherwise)).collect())
}

/// The kind of the labels in a column of a file, or of files beside it; none where text files have it, which know no
/// types.
#[cfg_attr(not(feature = "parquet"), expect(unused_variables, reason = "text files know no types"))]
pub fn label_kind(input: &Path, beside: &[Beside], name: &str) -> Result<Option<LabelKind>> {
    for path in [input].into_iter().chain(beside.iter().map(|b| b.path.as_path())) {
        let at = Location::new(path)?;
        match at.format {
            #[cfg(feature = "parquet")]
            Format::Parquet | Format::Arrow | Format::Folder => {
                if let Some(kind) = crate::arrow::label_kind(&at, name)? {
                    return Ok(Some(kind));
                }
            }
            _ => {}
        }
    }
    Ok(None)
}

/// The columns to copy and what they are written as.
fn kept(scorer: &ModelScorer, input: &Path, beside: &[Beside], keep: &[String]) -> Result<Vec<Column>> {
    let kinds = types(input, beside, keep)?.into_iter().map(|kind| kind.unwrap_or(Type::Text));
    // What the scorer reads as numbers cannot be read as text too.
    let column = |(name, kind): (&String, Type)| match scorer.inputs().contains(name) {
        true => Column::new(name, Type::F64),
        false => Column::new(name, kind).with_gaps(),
    };
    Ok(keep.iter().zip(kinds).map(column).collect())
}

fn score(
    scorer: &ModelScorer,
    tables: Ahead,
    scored: SyncSender<(Table, Scored)>,
    total: usize,
    tick: Ticker<'_>,
) -> Result<()> {
    let mut done = 0;
    for table in tables {
        let table = table?;
        let rows = table.rows();
        let scores = stage("scoring", || scorer.score(&table)).map_err(|e| e.after_rows(done))?;
        done += rows;
        if scored.send((table, scores)).is_err() {
            return Ok(());
        }
        if !tick(done, total) {
            return Err(Cancelled::rows(done, total).into());
        }
    }
    Ok(())
}

fn write(writer: &mut Writer, kept: &[Column], scored: Receiver<(Table, Scored)>) -> Result<()> {
    for (table, scores) in scored {
        let copied = |column: &Column| match column.kind.as_text() {
            true => Ok(Cells::Text(table.text(&column.name)?)),
            false => Ok(Cells::Numbers(table.column(&column.name)?)),
        };
        let copied: Vec<Cells<'_>> = kept.iter().map(copied).collect::<Result<_>>()?;
        stage("writing", || writer.write(&[copied, scores.cells()].concat()))?;
    }
    Ok(())
}
