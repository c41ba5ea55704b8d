//! Files with the same rows, read side by side as one table.

use crate::header::Header;
use crate::pattern::list;
use crate::pieces::{Opened, Piece, Pieces};
use crate::{Error, Problem, Reading, Result, Table};

/// Open files, of which rows are taken in step.
struct Beside {
    parts: Vec<Opened>,
    rows: u64,
}

/// The columns of all files; every pattern must fit somewhere, and no two columns may have the same name.
pub(crate) fn join(first: Opened, others: Vec<Opened>, reading: &Reading) -> Result<Opened> {
    let source = first.source.clone();
    let parts: Vec<Opened> = [first].into_iter().chain(others).collect();
    for (i, part) in parts.iter().enumerate() {
        let before = parts[..i].iter().find_map(|p| part.header.iter().find(|n| p.header.contains(n)).map(|n| (p, n)));
        if let Some((other, name)) = before {
            let (path, other) = (part.source.clone(), other.source.clone());
            return Err(Error::SameColumn { path, other, name: name.clone() });
        }
    }
    let names = parts.iter().flat_map(|p| p.header.clone()).collect();
    let header = Header::new(&source, names)?;
    reading.choose(&header)?;
    if let Some(unused) = parts.iter().find(|p| p.numbers.is_empty() && p.texts.is_empty()) {
        let known = list(unused.header.iter().map(String::as_str));
        return Err(Problem::NothingChosen { known }.of(unused.source.clone()));
    }
    let all = |of: fn(&Opened) -> &Vec<String>| parts.iter().flat_map(|p| of(p).clone()).collect();
    let (numbers, texts, left_out) = (all(|p| &p.numbers), all(|p| &p.texts), all(|p| &p.left_out));
    let mut opened = Opened::of(source, header.names, numbers, texts, Box::new(Beside { parts, rows: 0 }));
    opened.left_out = left_out;
    Ok(opened)
}

impl Pieces for Beside {
    fn fill(&mut self, most: usize, piece: &mut Piece) -> Result<usize> {
        let tables: Vec<Option<Table>> = self.parts.iter_mut().map(|p| p.next(most)).collect::<Result<_>>()?;
        let rows = |t: &Option<Table>| t.as_ref().map_or(0, Table::rows);
        let count = rows(&tables[0]);
        if let Some(other) = tables.iter().position(|t| rows(t) != count) {
            let (expected, found) = (self.rows + count as u64, self.rows + rows(&tables[other]) as u64);
            // Where a file says how long it is, that is more telling than how far it was read.
            let (first, path) = (self.parts[0].source.clone(), self.parts[other].source.clone());
            let (expected, found) = match (self.parts[0].rows(), self.parts[other].rows()) {
                (Some(e), Some(f)) => (e, f),
                _ => (expected, found),
            };
            return Err(Error::OtherRows { path, found, first, expected });
        }
        let (mut numbers, mut words) = (piece.columns.iter_mut(), piece.texts.iter_mut());
        for table in tables.into_iter().flatten() {
            let (columns, texts) = table.into_columns();
            // What the table has comes first in a pair: at its end nothing more is taken of the others.
            columns.into_iter().zip(numbers.by_ref()).for_each(|(more, all)| append(all, more));
            for (more, all) in texts.into_iter().zip(words.by_ref()) {
                piece.characters += more.iter().map(|t| t.len() as u64).sum::<u64>();
                append(all, more);
            }
        }
        piece.rows += count;
        self.rows += count as u64;
        Ok(count)
    }

    fn row_shape(&self) -> Option<&[usize]> {
        self.parts[0].row_shape()
    }

    fn rows(&self) -> Option<u64> {
        self.parts.iter().find_map(Opened::rows)
    }
}

/// Appends values, without a copy where they are the first.
fn append<T>(all: &mut Vec<T>, mut more: Vec<T>) {
    if all.is_empty() { *all = more } else { all.append(&mut more) }
}
