//! Rows as JSON into a record batch, and a record batch of predictions as JSON.
//!
//! A body is `{"rows": [{"f0": 1.5, "f1": 2}, …]}` or `{"columns": {"f0": [1.5, …], "f1": [2, …]}}`. Numbers keep all
//! their digits in both directions. JSON has no infinity: an end of an interval that is infinite is `null`.

use std::fmt;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Float32Type, Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray,
};
use arrow_schema::{DataType, Field, Schema};
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stonet::rows::LabelKind;

use crate::error::{Error, Result};

/// Whole numbers up to this size are the same as 64-bit floating point.
const EXACT: i64 = 1 << 53;

/// What a body holds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    rows: Option<Vec<Entries<Cell>>>,
    columns: Option<Entries<Vec<Cell>>>,
}

/// The entries of an object in their order, which tells the order of a network's inputs where they have no names.
struct Entries<T>(Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Each<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Each<T> {
            type Value = Entries<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with an entry for every column")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Self::Value, A::Error> {
                let mut entries: Vec<(String, T)> = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, T>()? {
                    entries.push((name, value));
                }
                Ok(Entries(entries))
            }
        }
        from.deserialize_map(Each(std::marker::PhantomData))
    }
}

/// One value of a row.
enum Cell {
    Whole(i64),
    Number(f64),
    Truth(bool),
    Text(String),
    Missing,
}

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        Ok(match Value::deserialize(from)? {
            Value::Null => Cell::Missing,
            Value::Bool(truth) => Cell::Truth(truth),
            Value::String(text) => Cell::Text(text),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(whole), _) if whole.abs() <= EXACT => Cell::Whole(whole),
                (_, Some(number)) => Cell::Number(number),
                _ => return Err(D::Error::custom(format!("{number} is no number of 64 bits"))),
            },
            Value::Array(_) | Value::Object(_) => {
                return Err(D::Error::custom("a value is a list or an object; give a number or a text"));
            }
        })
    }
}

impl Cell {
    fn number(&self) -> Option<f64> {
        match self {
            Cell::Whole(whole) => Some(*whole as f64),
            Cell::Number(number) => Some(*number),
            _ => None,
        }
    }
}

fn wrong(why: impl Into<String>) -> Error {
    Error::Malformed { what: "JSON of rows", why: why.into() }
}

/// The rows of a body.
pub(crate) fn read(bytes: &[u8]) -> Result<RecordBatch> {
    let body: Body = serde_json::from_slice(bytes).map_err(|e| wrong(e.to_string()))?;
    let (columns, rows) = match (body.rows, body.columns) {
        (Some(rows), None) => {
            let count = rows.len();
            (turned(rows)?, count)
        }
        (None, Some(Entries(columns))) => {
            let count = columns.first().map_or(0, |(_, cells)| cells.len());
            (columns, count)
        }
        _ => return Err(wrong("give either \"rows\", a list of objects, or \"columns\", an object of lists")),
    };
    let mut names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(wrong(format!("column `{}` is there twice", twice[0])));
    }
    if let Some((name, cells)) = columns.iter().find(|(_, cells)| cells.len() != rows) {
        return Err(wrong(format!("column `{name}` has {} values, and the first column has {rows}", cells.len())));
    }
    let arrays = columns.iter().map(|(name, cells)| array(name, cells)).collect::<Result<Vec<ArrayRef>>>()?;
    let field =
        |((name, _), array): (&(String, Vec<Cell>), &ArrayRef)| Field::new(name, array.data_type().clone(), true);
    let schema = Schema::new(columns.iter().zip(&arrays).map(field).collect::<Vec<_>>());
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(schema), arrays, &options).map_err(|e| wrong(e.to_string()))
}

/// Rows as columns; every row has those of the first, in any order.
fn turned(rows: Vec<Entries<Cell>>) -> Result<Vec<(String, Vec<Cell>)>> {
    let count = rows.len();
    let mut columns: Vec<(String, Vec<Cell>)> = Vec::new();
    for (number, Entries(row)) in rows.into_iter().enumerate() {
        if number == 0 {
            columns = row.iter().map(|(name, _)| (name.clone(), Vec::with_capacity(count))).collect();
        }
        if row.len() != columns.len() {
            return Err(wrong(format!("row {number} has {} values, and row 0 has {}", row.len(), columns.len())));
        }
        for (place, (name, cell)) in row.into_iter().enumerate() {
            // Rows have their values in the same order as a rule.
            let place = match columns.get(place) {
                Some((known, _)) if *known == name => Some(place),
                _ => columns.iter().position(|(known, _)| *known == name),
            };
            let free = place.and_then(|place| columns.get_mut(place)).filter(|(_, cells)| cells.len() == number);
            match free {
                Some((_, cells)) => cells.push(cell),
                None => {
                    return Err(wrong(format!("row {number} has a value `{name}` that row 0 does not have, or twice")));
                }
            }
        }
    }
    Ok(columns)
}

/// A column of one type: whole numbers, numbers, truth values or texts.
fn array(name: &str, cells: &[Cell]) -> Result<ArrayRef> {
    let all = |kind: fn(&Cell) -> bool| cells.iter().all(|cell| matches!(cell, Cell::Missing) || kind(cell));
    Ok(if all(|cell| matches!(cell, Cell::Whole(_))) {
        let whole = |cell: &Cell| if let Cell::Whole(whole) = cell { Some(*whole) } else { None };
        Arc::new(cells.iter().map(whole).collect::<Int64Array>())
    } else if all(|cell| cell.number().is_some()) {
        Arc::new(cells.iter().map(Cell::number).collect::<Float64Array>())
    } else if all(|cell| matches!(cell, Cell::Truth(_))) {
        let truth = |cell: &Cell| if let Cell::Truth(truth) = cell { Some(*truth) } else { None };
        Arc::new(cells.iter().map(truth).collect::<BooleanArray>())
    } else if all(|cell| matches!(cell, Cell::Text(_))) {
        let text = |cell: &Cell| if let Cell::Text(text) = cell { Some(text.clone()) } else { None };
        Arc::new(cells.iter().map(text).collect::<StringArray>())
    } else {
        return Err(wrong(format!("column `{name}` holds values of several types; give numbers or texts")));
    })
}

/// Predictions as JSON.
#[derive(Serialize)]
struct Answer {
    schema: &'static str,
    rows: usize,
    columns: serde_json::Map<String, Value>,
}

/// The columns of batches of one schema as JSON.
pub(crate) fn write(schema: &Schema, batches: &[RecordBatch]) -> Result<Vec<u8>> {
    let failed = |why: String| Error::Failed { why };
    let mut columns = serde_json::Map::new();
    for (place, field) in schema.fields().iter().enumerate() {
        let mut all = Vec::new();
        for batch in batches {
            let values = values(batch.column(place));
            all.extend(values.ok_or_else(|| failed(format!("column `{}` has no form in JSON", field.name())))?);
        }
        columns.insert(field.name().clone(), Value::Array(all));
    }
    let rows = batches.iter().map(RecordBatch::num_rows).sum();
    let answer = Answer { schema: "stonet.predictions/1", rows, columns };
    serde_json::to_vec(&answer).map_err(|e| failed(e.to_string()))
}

/// The values of a column; infinite ones and gaps are null.
fn values(array: &ArrayRef) -> Option<Vec<Value>> {
    fn all<T>(values: impl Iterator<Item = Option<T>>, value: impl Fn(T) -> Value) -> Vec<Value> {
        values.map(|v| v.map_or(Value::Null, &value)).collect()
    }
    let text = |text: Option<String>| text.map_or(Value::Null, Value::String);
    Some(match array.data_type() {
        DataType::Float64 => all(array.as_primitive::<Float64Type>().iter(), Value::from),
        DataType::Float32 => all(array.as_primitive::<Float32Type>().iter(), Value::from),
        DataType::Int64 => all(array.as_primitive::<Int64Type>().iter(), Value::from),
        DataType::Boolean => all(array.as_boolean().iter(), Value::from),
        DataType::Utf8 => all(array.as_string::<i32>().iter(), Value::from),
        DataType::Date32 => all(array.as_primitive::<Date32Type>().iter(), |d| text(LabelKind::date(d.into()))),
        DataType::Timestamp(..) => {
            all(array.as_primitive::<TimestampMicrosecondType>().iter(), |t| text(LabelKind::datetime(t)))
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns_are_the_same_batch() {
        let rows = read(br#"{"rows": [{"a": 1, "b": 0.1, "c": "x"}, {"b": 2, "a": 3, "c": null}]}"#).unwrap();
        let columns = read(br#"{"columns": {"a": [1, 3], "b": [0.1, 2], "c": ["x", null]}}"#).unwrap();
        assert_eq!(rows, columns);
        let types: Vec<_> = rows.schema().fields().iter().map(|f| f.data_type().clone()).collect();
        assert_eq!(types, [DataType::Int64, DataType::Float64, DataType::Utf8]);
    }

    #[test]
    fn order_and_digits_stay() {
        let batch = read(br#"{"columns": {"z": [0.1], "a": [1e-320], "m": [9007199254740993]}}"#).unwrap();
        let names: Vec<_> = batch.schema().fields().iter().map(|f| f.name().clone()).collect();
        assert_eq!(names, ["z", "a", "m"]);
        let value = |i: usize| batch.column(i).as_primitive::<Float64Type>().value(0);
        assert_eq!((value(0), value(1), value(2)), (0.1, 1e-320, 9_007_199_254_740_993f64));
    }

    #[test]
    fn faults_are_named() {
        for (body, words) in [
            ("", "EOF"),
            ("[]", "struct Body"),
            ("{}", "either \"rows\""),
            (r#"{"rows": [], "columns": {}}"#, "either \"rows\""),
            (r#"{"rows": [1]}"#, "an object"),
            (r#"{"lines": []}"#, "unknown field"),
            (r#"{"rows": [{"a": 1}, {"b": 1}]}"#, "row 1"),
            (r#"{"rows": [{"a": 1}, {"a": 1, "b": 1}]}"#, "row 1 has 2 values"),
            (r#"{"rows": [{"a": 1, "a": 2}]}"#, "twice"),
            (r#"{"columns": {"a": [1, 2], "b": [1]}}"#, "column `b` has 1 values"),
            (r#"{"columns": {"a": [1, "x"]}}"#, "column `a` holds values of several types"),
            (r#"{"columns": {"a": [[1]]}}"#, "a list or an object"),
        ] {
            let error = read(body.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(words), "{body}: {error}");
        }
    }

    #[test]
    fn infinite_ends_are_null_and_numbers_come_back_bit_for_bit() {
        let numbers: Vec<f64> = vec![0.1 + 0.2, f64::INFINITY, -1.0 / 3.0, 5e-324];
        let array: ArrayRef = Arc::new(Float64Array::from(numbers.clone()));
        let batch = RecordBatch::try_from_iter([("upper_90", array)]).unwrap();
        let text = write(&batch.schema(), &[batch]).unwrap();
        let back: Value = serde_json::from_slice(&text).unwrap();
        let back = back["columns"]["upper_90"].as_array().unwrap();
        assert_eq!(back[1], Value::Null);
        for i in [0, 2, 3] {
            assert_eq!(back[i].as_f64().unwrap().to_bits(), numbers[i].to_bits());
        }
    }
}
