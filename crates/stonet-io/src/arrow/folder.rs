//! A folder of Parquet files, read one after the other as one table.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::vec::IntoIter;

use arrow_schema::{Schema, SchemaRef};

use super::parquet::{self, Footer};
use crate::location::{Format, Location};
use crate::pieces::{Opened, Piece, Pieces};
use crate::reading::Ask;
use crate::{Error, Place, Problem, Reading, Result};

/// The files that are left, and the one that is being read.
struct Folder {
    part: Option<Part>,
    left: IntoIter<Location>,
    wanted: Wanted,
    rows: Option<u64>,
}

/// The columns that every file has to have.
#[derive(Default)]
struct Wanted {
    numbers: Vec<String>,
    texts: Vec<String>,
    /// Where values may be missing.
    gaps: Vec<String>,
    drop_missing: bool,
    /// How long the lists of the first file are, by column.
    lists: HashMap<String, usize>,
}

/// An open file, and the place of every wanted column among its own where their order differs.
struct Part {
    opened: Opened,
    order: Option<[Vec<usize>; 2]>,
}

/// Looks into every file, so that what is wrong with the last is known before the first is read; the rows come later.
pub(crate) fn open(at: &Location, ask: &Ask<'_>) -> Result<Opened> {
    let mut first: Option<Opened> = None;
    let mut empty: Option<Opened> = None;
    let (mut wanted, mut left, mut rows) = (Wanted::default(), Vec::new(), Some(0u64));
    for file in files(at)? {
        let footer = Footer::read(&file)?;
        let size = footer.rows();
        if size == Some(0) {
            empty = match empty {
                None if first.is_none() => parquet::open(&file, footer, ask).ok(),
                known => known,
            };
            continue;
        }
        if first.is_none() {
            let schema = footer.schema();
            let opened = parquet::open(&file, footer, ask)?;
            let lists = lists(&schema, &opened.header);
            let Reading { gaps, drop_missing, .. } = ask.reading;
            let (gaps, drop_missing) = (gaps.clone(), *drop_missing);
            wanted = Wanted { numbers: opened.numbers.clone(), texts: opened.texts.clone(), gaps, drop_missing, lists };
            first = Some(opened);
        } else {
            wanted.open(&file, footer)?;
        }
        rows = rows.zip(size).and_then(|(sum, more)| sum.checked_add(more));
        left.push(file);
    }
    let Some(Opened { header, left_out, .. }) = first.or(empty) else {
        return Err(Problem::HeaderOnly { columns: 0 }.of(at.path.clone()));
    };
    let (numbers, texts) = (wanted.numbers.clone(), wanted.texts.clone());
    let folder = Folder { part: None, left: left.into_iter(), wanted, rows };
    let mut opened = Opened::of(at.path.clone(), header, numbers, texts, Box::new(folder));
    opened.left_out = left_out;
    Ok(opened)
}

/// The columns and their types, of every file with rows.
pub(crate) fn schemas(at: &Location) -> Result<Vec<SchemaRef>> {
    let mut schemas = Vec::new();
    for file in files(at)? {
        let footer = Footer::read(&file)?;
        if footer.rows() != Some(0) {
            schemas.push(footer.schema());
        }
    }
    Ok(schemas)
}

/// The Parquet files of a folder and of folders in it, by path; those whose names begin with `_` or `.` are not data.
fn files(at: &Location) -> Result<Vec<Location>> {
    let mut found = Vec::new();
    collect(&at.file, &mut found)?;
    found.sort();
    if found.is_empty() {
        return Err(Problem::NoParquet.of(at.path.clone()));
    }
    let location = |path: PathBuf| Location { file: path.clone(), path, member: None, format: Format::Parquet };
    Ok(found.into_iter().map(location).collect())
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let unreadable = |source| Problem::Unreadable { source }.of(folder.to_owned());
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy().to_ascii_lowercase();
        if name.starts_with(['_', '.']) {
            continue;
        }
        // A link to a folder is not followed: it may lead back here.
        if entry.file_type().map_err(unreadable)?.is_dir() {
            collect(&path, found)?;
        } else if name.ends_with(".parquet") || name.ends_with(".pq") {
            found.push(path);
        }
    }
    Ok(())
}

/// The bytes of all files.
pub(crate) fn bytes(at: &Location) -> u64 {
    let size = |file: &Location| std::fs::metadata(&file.file).map_or(0, |m| m.len());
    files(at).map_or(0, |files| files.iter().map(size).sum())
}

impl Wanted {
    /// Opens a file of which exactly these columns are read.
    fn open(&self, at: &Location, footer: Footer) -> Result<Part> {
        let Wanted { numbers, texts, gaps, drop_missing, .. } = self;
        let reading = Reading {
            numbers: Some(numbers.clone()),
            text: texts.clone(),
            gaps: gaps.clone(),
            drop_missing: *drop_missing,
            ..Reading::default()
        };
        // Among others: a folder beside another file may have nothing that is wanted, which is not for this file to
        // say.
        let among = numbers.is_empty() && texts.is_empty();
        let schema = footer.schema();
        let opened = parquet::open(at, footer, &Ask { reading: &reading, among, name: None })?;
        self.check_lists(&schema, &opened)?;
        if opened.numbers == *numbers && opened.texts == *texts {
            return Ok(Part { opened, order: None });
        }
        let places = |wanted: &[String], found: &[String]| {
            let place = |name: &String| found.iter().position(|n| n == name).ok_or_else(|| unknown(at, name, &opened));
            wanted.iter().map(place).collect::<Result<Vec<usize>>>()
        };
        let order = [places(numbers, &opened.numbers)?, places(texts, &opened.texts)?];
        Ok(Part { opened, order: Some(order) })
    }

    /// Fails where lists that are read are longer than those of the first file; shorter ones lack columns.
    fn check_lists(&self, schema: &Schema, opened: &Opened) -> Result<()> {
        for (column, found) in lists(schema, &opened.header) {
            match self.lists.get(&column) {
                Some(&expected) if expected != found && self.numbers.contains(&format!("{column}_0")) => {
                    return Err(
                        Problem::ListLength { expected, found }.at(opened.source.clone(), Place::Entry(0, column))
                    );
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The columns of lists, and how long these are: `header` has a name for every place.
fn lists(schema: &Schema, header: &[String]) -> HashMap<String, usize> {
    let names: HashSet<&str> = header.iter().map(String::as_str).collect();
    let length = |column: &str| (0..).take_while(|i| names.contains(format!("{column}_{i}").as_str())).count();
    let lists = schema.fields().iter().filter(|f| f.data_type().is_list());
    lists.map(|f| (f.name().clone(), length(f.name()))).collect()
}

/// A wanted name that holds a `*` was taken for a pattern, and fits something else.
fn unknown(at: &Location, name: &str, opened: &Opened) -> Error {
    let known = crate::nearest(name, &opened.header);
    Problem::UnknownColumn { name: name.into(), known }.of(at.path.clone())
}

impl Part {
    fn fill(&mut self, most: usize, piece: &mut Piece) -> Result<usize> {
        let Some([numbers, texts]) = &self.order else { return self.opened.fill(most, piece) };
        let mut own = Piece::new(vec![Vec::new(); numbers.len()], texts.len());
        let count = self.opened.fill(most, &mut own)?;
        for (all, &i) in piece.columns.iter_mut().zip(numbers) {
            all.append(&mut own.columns[i]);
        }
        for (all, &i) in piece.texts.iter_mut().zip(texts) {
            all.append(&mut own.texts[i]);
        }
        piece.characters += own.characters;
        piece.rows += count;
        Ok(count)
    }
}

impl Pieces for Folder {
    fn fill(&mut self, most: usize, piece: &mut Piece) -> Result<usize> {
        loop {
            if let Some(part) = &mut self.part {
                let count = part.fill(most, piece)?;
                if count > 0 {
                    return Ok(count);
                }
            }
            let Some(next) = self.left.next() else { return Ok(0) };
            self.part = Some(self.wanted.open(&next, Footer::read(&next)?)?);
        }
    }

    fn rows(&self) -> Option<u64> {
        self.rows
    }
}
