//! Which columns of an Arrow schema are read, and rows of record batches from them; lists of numbers are one column per
//! place.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use stonet::score::Column;

use super::cells::{append_numbers, floats, is_number, is_text, is_time, texts};
use crate::header::Header;
use crate::location::Location;
use crate::pieces::{Piece, check_finite};
use crate::reading::{Ask, Chosen, Gaps};
use crate::{Error, Place, Problem, Result};

/// Rows that are decoded at once.
pub(crate) const ROWS: usize = 1024;
/// Longest list that is laid out in columns.
const LONGEST: i32 = 1 << 16;
/// Columns that a table may have.
const MOST_COLUMNS: usize = 1 << 20;

/// The chosen columns.
pub(crate) struct Columns {
    at: Location,
    numbers: Vec<Leaf>,
    names: Vec<String>,
    texts: Vec<Leaf>,
    gaps: Gaps,
    left_out: Vec<String>,
    /// The columns of the file that have to be decoded, in its order.
    pub(crate) projection: Vec<usize>,
    /// The next row.
    row: u64,
}

/// One column of the table.
#[derive(Debug, Clone)]
pub(crate) struct Leaf {
    name: String,
    /// Column of the file; later, of the record batches.
    pub(crate) column: usize,
    /// Place in a list, and the length of the list.
    place: Option<(usize, usize)>,
}

impl Columns {
    /// Chooses columns. `first` gives the first row of the columns that it is asked for, unless there is none: it tells
    /// how long lists are whose type does not.
    pub(crate) fn new(
        at: &Location,
        schema: &Schema,
        ask: &Ask<'_>,
        first: impl FnOnce(&[usize]) -> Result<Option<RecordBatch>>,
    ) -> Result<(Self, Header, Chosen)> {
        let (leaves, header) = leaves(at, schema, first)?;
        let chosen = ask.choose(&header)?;
        let pick = |columns: &[usize]| columns.iter().map(|&i| leaves[i].clone()).collect::<Vec<_>>();
        let (mut numbers, mut texts) = (pick(&chosen.numbers), pick(&chosen.text));
        check_types(at, schema, &numbers, &texts)?;
        let mut projection: Vec<usize> = numbers.iter().chain(&texts).map(|l| l.column).collect();
        projection.sort_unstable();
        projection.dedup();
        for leaf in numbers.iter_mut().chain(&mut texts) {
            leaf.column = projection.partition_point(|&c| c < leaf.column);
        }
        let names = numbers.iter().map(|l| l.name.clone()).collect();
        let left_out = chosen.left_out.iter().map(|&i| header.names[i].clone()).collect();
        let gaps = chosen.gaps.clone();
        Ok((Columns { at: at.clone(), numbers, names, texts, gaps, left_out, projection, row: 0 }, header, chosen))
    }

    /// The names of the chosen columns of numbers.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The names of the columns of text, in their order.
    pub(crate) fn text_names(&self) -> Vec<String> {
        self.texts.iter().map(|leaf| leaf.name.clone()).collect()
    }

    /// Row numbers that nobody named.
    pub(crate) fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Appends all rows of a batch that has the columns of the projection.
    pub(crate) fn append(&mut self, batch: &RecordBatch, piece: &mut Piece) -> Result<()> {
        self.append_from(self.row, batch, piece)?;
        self.row += batch.num_rows() as u64;
        Ok(())
    }

    /// The same of a batch whose first row is this one.
    pub(crate) fn append_from(&self, first: u64, batch: &RecordBatch, piece: &mut Piece) -> Result<()> {
        let (rows, start) = (batch.num_rows(), piece.rows);
        for (leaf, out) in self.numbers.iter().zip(&mut piece.columns) {
            self.numbers_of(first, leaf, batch.column(leaf.column), out)?;
        }
        let new = piece.columns.iter().map(|c| &c[start..]);
        check_finite(&self.at.path, new, first, &self.names, &self.gaps.numbers)?;
        for ((leaf, out), &gaps) in self.texts.iter().zip(&mut piece.texts).zip(&self.gaps.text) {
            for (i, text) in texts(batch.column(leaf.column)).into_iter().enumerate() {
                piece.characters += text.as_ref().map_or(0, |t| t.len() as u64);
                match text {
                    None if !gaps => return Err(self.missing(first + i as u64, leaf)),
                    text => out.push(text.unwrap_or_default()),
                }
            }
        }
        piece.rows += rows;
        Ok(())
    }

    /// The chosen columns of numbers of a batch that has the columns of the projection, as they lie in Arrow's buffers
    /// where these hold plain numbers. They may hold values that are missing or infinite: see [`check`](Self::check).
    pub(crate) fn numbers<'b>(&self, first: u64, batch: &'b RecordBatch) -> Result<Vec<Numbers<'b>>> {
        let one = |leaf: &Leaf| {
            let array = batch.column(leaf.column);
            if let Some(column) = leaf.place.is_none().then(|| floats(array)).flatten() {
                return Ok(Numbers::There(column));
            }
            let mut values = Vec::with_capacity(array.len());
            self.numbers_of(first, leaf, array, &mut values)?;
            Ok(Numbers::Converted(values))
        };
        self.numbers.iter().map(one).collect()
    }

    /// Fails where one of these columns has a value that is missing or infinite.
    pub(crate) fn check(&self, first: u64, columns: &[Numbers<'_>]) -> Result<()> {
        let wide: Vec<Vec<f64>> = columns.iter().map(Numbers::to_vec).collect();
        check_finite(&self.at.path, wide.iter().map(Vec::as_slice), first, &self.names, &self.gaps.numbers)
    }

    /// Appends the numbers of one column.
    fn numbers_of(&self, first: u64, leaf: &Leaf, array: &ArrayRef, out: &mut Vec<f64>) -> Result<()> {
        leaf.append(array, out).map_err(|(row, found)| self.ragged(first + row as u64, leaf, found))
    }

    fn ragged(&self, row: u64, leaf: &Leaf, found: usize) -> Error {
        let column = leaf.name.clone();
        Problem::ListLength { expected: leaf.place.map_or(0, |p| p.1), found }
            .at(self.at.path.clone(), Place::Entry(row, column))
    }

    fn missing(&self, row: u64, leaf: &Leaf) -> Error {
        Problem::MissingEntry.at(self.at.path.clone(), Place::Entry(row, leaf.name.clone()))
    }
}

/// All columns that a table of this schema has, lists laid out, and their names.
pub(crate) fn leaves(
    at: &Location,
    schema: &Schema,
    first: impl FnOnce(&[usize]) -> Result<Option<RecordBatch>>,
) -> Result<(Vec<Leaf>, Header)> {
    let open: Vec<usize> = (0..schema.fields().len()).filter(|&i| is_open_list(schema.field(i))).collect();
    let first = if open.is_empty() { None } else { first(&open)? };
    let length = |column: usize| {
        let place = open.iter().position(|&i| i == column)?;
        length(first.as_ref()?.columns().get(place)?)
    };
    let mut leaves = Vec::new();
    for (column, field) in schema.fields().iter().enumerate() {
        match list(field).or_else(|| length(column)) {
            Some(length) => leaves.extend((0..length).map(|i| {
                let name = format!("{}_{i}", field.name());
                Leaf { name, column, place: Some((i, length)) }
            })),
            None => leaves.push(Leaf { name: field.name().clone(), column, place: None }),
        }
        if leaves.len() > MOST_COLUMNS {
            return Err(at.damaged(format_args!("more than {MOST_COLUMNS} columns are no table")));
        }
    }
    let header = Header::new(&at.path, leaves.iter().map(|l| l.name.clone()).collect())?;
    Ok((leaves, header))
}

/// A column of numbers for a while.
pub(crate) enum Numbers<'b> {
    /// In the buffer of an array.
    There(Column<'b>),
    /// Converted from another type.
    Converted(Vec<f64>),
}

impl Numbers<'_> {
    /// The column wherever it lies.
    pub(crate) fn view(&self) -> Column<'_> {
        match self {
            Numbers::There(Column::F64(values)) => Column::F64(values.reborrow()),
            Numbers::There(Column::F32(values)) => Column::F32(values.reborrow()),
            Numbers::Converted(values) => Column::F64((&values[..]).into()),
        }
    }

    fn to_vec(&self) -> Vec<f64> {
        match self.view() {
            Column::F64(values) => values.to_vec(),
            Column::F32(values) => values.iter().map(|&v| f64::from(v)).collect(),
        }
    }
}

impl Leaf {
    /// Appends the numbers of all rows; fails with a row and its length where a list is not as long as the first.
    fn append(&self, column: &ArrayRef, out: &mut Vec<f64>) -> std::result::Result<(), (usize, usize)> {
        let count = column.len();
        if count == 0 {
            return Ok(());
        }
        let Some((place, length)) = self.place else {
            append_numbers(column, 0, 1, count, out);
            return Ok(());
        };
        let (items, start) = match column.data_type() {
            DataType::FixedSizeList(..) => (column.as_fixed_size_list().values(), 0),
            _ => {
                let lengths = |i| list_at(column, i).map_or(length, |list| list.len());
                if let Some(row) = (0..count).find(|&row| !column.is_null(row) && lengths(row) != length) {
                    return Err((row, lengths(row)));
                }
                (list_items(column), list_at(column, 0).map_or(0, |list| list.start))
            }
        };
        // A null may be shorter than its neighbours, and anyway is an error: only the rows in front of it matter.
        let nulls = column.null_count() > 0;
        let sound = if nulls { (0..count).take_while(|&row| column.is_valid(row)).count() } else { count };
        let end = out.len() + count;
        append_numbers(items, start + place, length, sound, out);
        out.resize(end, f64::NAN);
        Ok(())
    }
}

/// The items of all lists, one list behind the other.
fn list_items(column: &ArrayRef) -> &ArrayRef {
    match column.as_list_opt::<i32>() {
        Some(lists) => lists.values(),
        None => column.as_list::<i64>().values(),
    }
}

/// The numbers of one row, by their places in the array of all items.
fn list_at(column: &ArrayRef, row: usize) -> Option<std::ops::Range<usize>> {
    let range = match column.as_list_opt::<i32>() {
        Some(lists) => (lists.value_offsets()[row] as usize)..(lists.value_offsets()[row + 1] as usize),
        None => {
            let lists = column.as_list_opt::<i64>()?;
            (lists.value_offsets()[row] as usize)..(lists.value_offsets()[row + 1] as usize)
        }
    };
    Some(range)
}

/// The length of the list in the first row, if there is one with anything in it.
fn length(column: &ArrayRef) -> Option<usize> {
    let first = (!column.is_empty() && column.is_valid(0)).then(|| list_at(column, 0)).flatten()?;
    Some(first.len()).filter(|length| (1..=LONGEST as usize).contains(length))
}

/// Whether a column holds lists of numbers whose length the type does not tell.
fn is_open_list(field: &Field) -> bool {
    match field.data_type() {
        DataType::List(item) | DataType::LargeList(item) => is_number(item.data_type()),
        _ => false,
    }
}

/// The length of a list of numbers that is the same in every row.
fn list(field: &Field) -> Option<usize> {
    match field.data_type() {
        &DataType::FixedSizeList(ref item, length @ 1..=LONGEST) if is_number(item.data_type()) => {
            Some(length as usize)
        }
        _ => None,
    }
}

/// Whether a type is one of text and not of numbers.
fn is_text_only(kind: &DataType) -> bool {
    is_text(kind) && !is_number(kind)
}

fn check_types(at: &Location, schema: &Schema, numbers: &[Leaf], texts: &[Leaf]) -> Result<()> {
    let kind = |leaf: &Leaf| schema.field(leaf.column).data_type();
    let wrong = |leaf: &Leaf, wanted, remedy| {
        Problem::ColumnType { kind: format!("the type {}", kind(leaf)), wanted, remedy }
            .at(at.path.clone(), Place::Column(leaf.name.clone()))
    };
    let words: Vec<String> =
        numbers.iter().filter(|l| l.place.is_none() && is_text_only(kind(l))).map(|l| l.name.clone()).collect();
    if words.len() > 1 {
        return Err(Problem::TextColumns { columns: words }.of(at.path.clone()));
    }
    if let Some(leaf) = numbers.iter().find(|l| l.place.is_none() && !is_number(kind(l))) {
        let remedy = match kind(leaf) {
            kind if is_text(kind) && !is_time(kind) => "code it as numbers, name it as a column of text, or exclude it",
            DataType::List(_) | DataType::LargeList(_) => "put numbers into the list of the first row, or leave it out",
            _ => "convert it to numbers, or leave it out",
        };
        return Err(wrong(leaf, "numbers", remedy));
    }
    match texts.iter().find(|l| l.place.is_some() || !is_text(kind(l))) {
        Some(leaf) => Err(wrong(
            leaf,
            "text",
            "choose a column of strings, integers, truth values, dates, or times without a time zone",
        )),
        None => Ok(()),
    }
}
