//! A raw file's layout as data: which columns it has, and what becomes of each.

use std::path::Path;

use ndarray::Array2;
use stonet_io::{Row, Rows, Table, is_missing};

use crate::{Error, Result};

/// How a raw file becomes a table of numbers whose last column is `y`.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// Its usual names.
    pub(super) files: &'static [&'static str],
    header: bool,
    columns: Vec<String>,
    missing: Missing,
    output: Vec<(String, Take)>,
}

/// What to do with a cell that is empty, `NA` or `?`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// It is an error.
    Refuse,
    /// Any such cell, used or not, drops its row.
    DropRow,
    /// In a column that is used: the mean of the column's other cells.
    Mean,
}

/// One number out of a row; columns by number.
#[derive(Debug, Clone)]
enum Take {
    Number(usize),
    /// The place of the cell's text in the list.
    Level(usize, &'static [&'static str]),
    /// Whether the text is the one at this place in the list.
    Is(usize, &'static [&'static str], usize),
    Sum(Vec<usize>),
    Time(usize, Part),
}

/// A part of a date with time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// 0 … 23.
    Hour,
    /// 0 for Monday.
    Weekday,
    /// 1 … 12.
    Month,
    /// Counted from 2011.
    Year,
}

impl Layout {
    /// A file whose columns have these names, separated by blanks, whether or not they stand in its first line.
    pub(super) fn new(files: &'static [&'static str], header: bool, columns: &str) -> Self {
        let columns = columns.split_whitespace().map(String::from).collect();
        Layout { files, header, columns, missing: Missing::Refuse, output: Vec::new() }
    }

    pub(super) fn missing(self, missing: Missing) -> Self {
        Layout { missing, ..self }
    }

    /// Numbers as they stand; names separated by blanks.
    pub(super) fn numbers(mut self, names: &str) -> Self {
        for name in names.split_whitespace() {
            self = self.push(name.into(), Take::Number, name);
        }
        self
    }

    /// Words as their place in the list, for each of the columns.
    pub(super) fn levels(mut self, names: &str, levels: &'static [&'static str]) -> Self {
        for name in names.split_whitespace() {
            self = self.push(name.into(), |column| Take::Level(column, levels), name);
        }
        self
    }

    /// A 0/1 column per level.
    pub(super) fn one_hot(mut self, name: &str, levels: &'static [&'static str]) -> Self {
        for (i, level) in levels.iter().enumerate() {
            self = self.push(format!("{name}_{level}"), |column| Take::Is(column, levels, i), name);
        }
        self
    }

    /// A part of a date with time.
    pub(super) fn time(self, output: &str, part: Part, name: &str) -> Self {
        self.push(output.into(), |column| Take::Time(column, part), name)
    }

    /// The target, last: one column or the sum of several.
    pub(super) fn target(mut self, names: &str) -> Self {
        let columns = names.split_whitespace().map(|n| self.place(n)).collect();
        self.output.push(("y".into(), Take::Sum(columns)));
        self
    }

    fn push(mut self, output: String, take: impl FnOnce(usize) -> Take, name: &str) -> Self {
        let column = self.place(name);
        self.output.push((output, take(column)));
        self
    }

    fn place(&self, name: &str) -> usize {
        self.columns.iter().position(|c| c == name).unwrap_or_else(|| panic!("a layout names its own columns: {name}"))
    }

    /// The names of the result, `y` last.
    pub(super) fn names(&self) -> Vec<String> {
        self.output.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Reads a file; the text says what was done about missing cells, if anything was.
    pub(super) fn read(&self, path: &Path) -> Result<(Table, Option<String>)> {
        let mut rows = Rows::open(path)?;
        let (mut values, mut dropped, mut first) = (Vec::new(), 0, true);
        while let Some(row) = rows.advance()? {
            if std::mem::take(&mut first) && self.first_is_header(path, &row)? {
                continue;
            }
            if self.missing == Missing::DropRow && row.cells().any(is_missing) {
                dropped += 1;
                continue;
            }
            for (name, take) in &self.output {
                values.push(self.take(path, &row, name, take)?);
            }
        }
        if values.is_empty() {
            return Err(stonet_io::Problem::Empty.of(path).into());
        }
        let shape = (values.len() / self.output.len(), self.output.len());
        let mut values = Array2::from_shape_vec(shape, values).expect("a value per row and column");
        let filled = fill_with_means(&mut values);
        let note = match (dropped, filled) {
            (0, 0) => None,
            (0, cells) => Some(format!("missing cells replaced by the column's mean: {cells}")),
            (rows, _) => Some(format!("incomplete rows left out: {rows}")),
        };
        Ok((Table::new(path, self.names(), values)?, note))
    }

    /// Checks the width, and the names if there should be any.
    fn first_is_header(&self, path: &Path, row: &Row<'_>) -> Result<bool> {
        if row.width() != self.columns.len() {
            let (expected, found) = (self.columns.len(), row.width());
            return Err(Error::Columns { path: path.into(), layout: format!("`{}`", self.files[0]), expected, found });
        }
        // R leaves the name of the first column empty or calls it `rownames`; it is not worth a refusal.
        let wrong = self.columns.iter().zip(row.cells()).skip(1).find(|(name, text)| !name.eq_ignore_ascii_case(text));
        match wrong {
            Some((name, text)) if self.header => Err(cell(path, row, name, text, format!("the header's `{name}`"))),
            _ => Ok(self.header),
        }
    }

    fn take(&self, path: &Path, row: &Row<'_>, name: &str, take: &Take) -> Result<f64> {
        let level = |column: usize, levels: &'static [&'static str]| {
            let text = row.text(column);
            let found = levels.iter().position(|l| *l == text);
            found.ok_or_else(|| cell(path, row, &self.columns[column], text, format!("one of {}", levels.join(", "))))
        };
        Ok(match *take {
            Take::Number(column) if self.missing == Missing::Mean && is_missing(row.text(column)) => f64::NAN,
            Take::Number(column) => row.number(column, name)?,
            Take::Level(column, levels) => level(column, levels)? as f64,
            Take::Is(column, levels, i) => f64::from(level(column, levels)? == i),
            Take::Sum(ref columns) => {
                let mut sum = 0.0;
                for &column in columns {
                    sum += row.number(column, &self.columns[column])?;
                }
                sum
            }
            Take::Time(column, part) => part.of(row.text(column)).ok_or_else(|| {
                let expected = "a time like `2011-01-31 23:00:00`";
                cell(path, row, &self.columns[column], row.text(column), expected.into())
            })?,
        })
    }
}

fn cell(path: &Path, row: &Row<'_>, column: &str, text: &str, expected: String) -> Error {
    Error::Cell { path: path.into(), line: row.line(), column: column.into(), text: text.into(), expected }
}

/// Replaces each NaN by the mean of its column's other values; how many there were.
fn fill_with_means(values: &mut Array2<f64>) -> usize {
    let mut filled = 0;
    for mut column in values.columns_mut() {
        let missing = column.iter().filter(|v| v.is_nan()).count();
        if missing > 0 {
            let mean = column.iter().filter(|v| !v.is_nan()).sum::<f64>() / (column.len() - missing) as f64;
            column.mapv_inplace(|v| if v.is_nan() { mean } else { v });
            filled += missing;
        }
    }
    filled
}

impl Part {
    /// Out of `2011-01-31 23:00:00`.
    fn of(self, text: &str) -> Option<f64> {
        let (date, time) = text.split_once([' ', 'T'])?;
        let mut date = date.split('-').map(|p| p.parse::<u32>().ok());
        let (year, month, day) = (date.next()??, date.next()??, date.next()??);
        let hour = time.split(':').next()?.parse::<u32>().ok()?;
        let valid = (2011..2100).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24;
        valid.then(|| match self {
            Part::Hour => hour.into(),
            Part::Weekday => weekday(year, month, day).into(),
            Part::Month => month.into(),
            Part::Year => (year - 2011).into(),
        })
    }
}

/// 0 for Monday, by Sakamoto's rule for the Gregorian calendar.
fn weekday(year: u32, month: u32, day: u32) -> u32 {
    const SHIFT: [u32; 12] = [0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4];
    let year = if month < 3 { year - 1 } else { year };
    (year + year / 4 - year / 100 + year / 400 + SHIFT[month as usize - 1] + day + 6) % 7
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weekdays_by_hand() {
        // Known days, around leap days and a turn of the year.
        let known = [((2011, 1, 1), 5), ((2012, 2, 29), 2), ((2012, 3, 1), 3), ((2012, 12, 31), 0), ((2024, 2, 29), 3)];
        for ((year, month, day), expected) in known {
            assert_eq!(weekday(year, month, day), expected, "{year}-{month}-{day}");
        }
    }

    #[test]
    fn times_that_are_none_are_refused() {
        assert_eq!(Part::Hour.of("2012-12-19 23:00:00"), Some(23.0));
        for text in
            ["", "2011-01-01", "2011-13-01 00:00:00", "01/01/2011 0:00", "1999-01-01 00:00:00", "2011-01-01 24:00"]
        {
            assert_eq!(Part::Month.of(text), None, "{text}");
        }
    }
}
