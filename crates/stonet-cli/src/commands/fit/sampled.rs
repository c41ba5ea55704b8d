//! Heads on more rows than memory holds: a sample is fitted, and the rows outside of it calibrate the intervals in a
//! second reading.

use std::path::Path;

use stonet::base::Cancelled;
use stonet::base::streams::regression;
use stonet::regression::UncalibratedRegressor;
use stonet::{Kind, Seed};
use stonet_io::{ModelColumns, Reading, Sample, Sampling, Table};

use super::Fit;
use crate::args::HeadTask;
use crate::console::Console;
use crate::error::{Error, Result};
use crate::rows::{RegressionFile, Source, hints, tell};
use crate::seen::Known;

/// Rows of a folder that are fitted where nobody says how many.
const SAMPLE: usize = 200_000;
/// Numbers per batch of the second reading: a few batches are in memory at once.
const NUMBERS: usize = 1 << 20;

/// Which rows are in the sample.
pub struct Drawn {
    /// Ascending, from 0.
    rows: Vec<u64>,
    /// All there are.
    pub total: u64,
}

impl Fit {
    /// How many rows are drawn; none where all are fitted.
    pub(super) fn sample_rows(&self) -> Result<Option<usize>> {
        match self.sample {
            Some(0) => Err(Error::flag("--sample", "must be at least 1")),
            Some(rows) => Ok(Some(rows)),
            None => Ok(self.rows.is_dir().then_some(SAMPLE)),
        }
    }

    /// The kind of intervals that flags ask for, where the settings have this one; `named` tells whether they name it.
    pub(super) fn kind(&self, settings: Kind, named: bool) -> Result<Kind> {
        if self.sample_rows()?.is_none() {
            return Ok(self.interval.unwrap_or(settings));
        }
        match self.interval.or(named.then_some(settings)) {
            None | Some(Kind::Split) => Ok(Kind::Split),
            Some(other) => Err(Error::flag(
                "--interval",
                format!(
                    "{other} scores every row that it fits, which needs all rows in memory; a folder and --sample fit some rows and are \
                     calibrated on the others, which is `split`"
                ),
            )),
        }
    }

    /// Draws rows while they are read once: at most this many, and this share of all, so that enough is left to
    /// calibrate.
    pub(super) fn draw(
        &self,
        source: &Source,
        reading: Reading,
        (most, share): (usize, f64),
        console: &Console,
    ) -> Result<(Table, Drawn)> {
        let regression = self.task == HeadTask::Regression;
        let stdin = |path: &Path| path == Path::new("-");
        if regression && (stdin(&source.path) || source.beside.iter().any(|b| stdin(&b.path))) {
            return Err(Error::flag(
                "--sample",
                "reads the rows twice, and standard input can be read once; write a file",
            ));
        }
        if self.columns.groups.is_some() {
            return Err(Error::flag(
                "--groups",
                "needs all rows in memory, since a group must not be divided between rows that are fitted and rows that calibrate; \
                 give the rows as one file, without --sample",
            ));
        }
        let sampling = Sampling { most, share, seed: Seed::new(self.seed.seed).child(regression::SAMPLE) };
        let reading = source.reading(reading);
        let sample = console.run("read", |tick| reading.sample(&source.path, &sampling, tick));
        let Sample { table, rows, total } = sample.map_err(hints::missing_values)?;
        tell(&table, console);
        Ok((table, Drawn { rows, total }))
    }
}

impl Drawn {
    /// Rows outside of the sample.
    pub fn others(&self) -> u64 {
        self.total - self.rows.len() as u64
    }

    /// Reads the rows again and calibrates by those outside of the sample.
    pub fn calibrate(
        &self,
        mut head: UncalibratedRegressor,
        source: &Source,
        columns: &ModelColumns,
        known: &mut Known,
        console: &Console,
    ) -> Result<UncalibratedRegressor> {
        let names: Vec<String> = columns.inputs().into_iter().chain(columns.targets.iter().cloned()).collect();
        let most = (NUMBERS / names.len()).clamp(1024, 1 << 16);
        let text = columns.within.clone();
        let reading = source.reading(Reading { numbers: Some(names), text, ..Reading::default() });
        console.run("calibrate", |tick| {
            let (mut seen, mut sample) = (0, self.rows.iter().copied().peekable());
            for table in reading.batches(&source.path, most)?.ahead() {
                let table = table?;
                let others = |row: &usize| sample.next_if_eq(&(seen + *row as u64)).is_none();
                let others: Vec<usize> = (0..table.rows()).filter(others).collect();
                let part = RegressionFile::of(source, columns.clone(), &table, &others)?;
                known.add(&part.hashes()?);
                let rows = part.calibration().map_err(|mut e| {
                    if let Error::NotPositive { row, .. } = &mut e {
                        *row = seen as usize + others[*row];
                    }
                    e
                })?;
                head.calibrate(&rows).map_err(|mut e| {
                    if let stonet::Error::Unbounded { row, .. } = &mut e {
                        *row = seen as usize + others[*row];
                    }
                    Error::columns(&source.path, columns)(e)
                })?;
                seen += table.rows() as u64;
                if !tick(seen as usize, self.total as usize) {
                    return Err(stonet_io::Error::from(Cancelled::rows(seen as usize, self.total as usize)).into());
                }
            }
            match seen == self.total {
                true => Ok(head),
                false => Err(Error::from(
                    stonet_io::Problem::Changed { first: self.total, second: seen }.of(source.path.clone()),
                )),
            }
        })
    }
}
