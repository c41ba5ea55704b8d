//! Parquet and Arrow IPC files, in row groups and record batches of a limited size.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use ndarray::s;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use stonet::rows::LabelKind;

use super::{Cells, Column, Format, Type};

/// Rows per row group: enough to compress, few enough to hold.
const GROUP: usize = 1 << 17;
/// Rows per record batch.
const BATCH: usize = 1 << 14;

/// The fields of these columns.
pub(crate) fn schema(columns: &[Column]) -> SchemaRef {
    let field = |c: &Column| {
        let kind = match c.kind {
            Type::F64 => DataType::Float64,
            Type::F32 => DataType::Float32,
            Type::Text => DataType::Utf8,
            Type::Integer => DataType::Int64,
            Type::Boolean => DataType::Boolean,
            Type::Date => DataType::Date32,
            Type::Datetime => DataType::Timestamp(TimeUnit::Microsecond, None),
        };
        Field::new(&c.name, kind, c.gaps)
    };
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

fn failed(error: impl ToString) -> io::Error {
    io::Error::other(error.to_string())
}

/// The texts of some rows as an array of the field's type; an empty one is a gap where the field may have gaps.
pub(crate) fn parsed(texts: &[String], field: &Field) -> io::Result<ArrayRef> {
    fn all<T, A: FromIterator<Option<T>>>(
        texts: &[String],
        field: &Field,
        what: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> io::Result<A> {
        let wrong = |text: &String| failed(format!("`{text}` in column `{}` is no {what}", field.name()));
        let gap = |text: &String| text.is_empty() && field.is_nullable();
        let one = |text: &String| if gap(text) { Ok(None) } else { parse(text).map(Some).ok_or_else(|| wrong(text)) };
        texts.iter().map(one).collect()
    }
    Ok(match field.data_type() {
        DataType::Int64 => Arc::new(all::<_, Int64Array>(texts, field, "whole number", |t| t.parse().ok())?),
        DataType::Boolean => Arc::new(all::<_, BooleanArray>(texts, field, "truth value", LabelKind::truth)?),
        DataType::Date32 => Arc::new(all::<_, Date32Array>(texts, field, "date", LabelKind::days)?),
        DataType::Timestamp(..) => {
            Arc::new(all::<_, TimestampMicrosecondArray>(texts, field, "time", LabelKind::microseconds)?)
        }
        _ => Arc::new(all::<_, StringArray>(texts, field, "text", |t| Some(t.to_owned()))?),
    })
}

/// Numbers as an array of the field's type, which has no gaps; without a copy where it has 64 bits.
pub(crate) fn owned(values: Vec<f64>, field: &Field) -> ArrayRef {
    match field.data_type() {
        DataType::Float32 => Arc::new(Float32Array::from_iter_values(values.into_iter().map(|v| v as f32))),
        _ => Arc::new(Float64Array::from(values)),
    }
}

/// These rows of every column as arrays of the schema.
fn arrays(schema: &SchemaRef, cells: &[Cells<'_>], rows: Range<usize>) -> io::Result<Vec<ArrayRef>> {
    let array = |(cells, field): (&Cells<'_>, &Arc<Field>)| -> io::Result<ArrayRef> {
        Ok(match cells {
            Cells::Text(texts) => parsed(&texts[rows.clone()], field)?,
            Cells::Numbers(v) if field.is_nullable() => {
                let values = rows.clone().map(|i| Some(v[i]).filter(|v| !v.is_nan()));
                match field.data_type() {
                    DataType::Float32 => {
                        Arc::new(values.map(|v| v.map(|v| v as f32)).collect::<Float32Array>()) as ArrayRef
                    }
                    _ => Arc::new(values.collect::<Float64Array>()),
                }
            }
            Cells::Numbers(v) => owned(v.slice(s![rows.clone()]).to_vec(), field),
        })
    };
    cells.iter().zip(schema.fields()).map(array).collect()
}

/// Calls `write` with the rows in batches of at most [`BATCH`].
fn batches(
    schema: &SchemaRef,
    cells: &[Cells<'_>],
    mut write: impl FnMut(RecordBatch) -> io::Result<()>,
) -> io::Result<()> {
    let rows = cells[0].len();
    for from in (0..rows).step_by(BATCH) {
        let to = rows.min(from + BATCH);
        let arrays = arrays(schema, cells, from..to)?;
        write(RecordBatch::try_new(schema.clone(), arrays).map_err(failed)?)?;
    }
    Ok(())
}

struct Parquet {
    schema: SchemaRef,
    writer: ArrowWriter<BufWriter<File>>,
}

pub(super) fn parquet(file: File, columns: &[Column]) -> io::Result<Box<dyn Format>> {
    let schema = schema(columns);
    // Snappy is what every reader knows. Predictions hardly repeat, so a dictionary of them, compression and statistics
    // of every page would only cost time.
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(GROUP))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_dictionary_enabled(false);
    for column in columns.iter().filter(|c| matches!(c.kind, Type::F32 | Type::F64) && !c.gaps) {
        let path = ColumnPath::from(column.name.as_str());
        properties = properties.set_column_compression(path, Compression::UNCOMPRESSED);
    }
    for column in columns.iter().filter(|c| c.kind == Type::Text) {
        properties = properties.set_column_dictionary_enabled(ColumnPath::from(column.name.as_str()), true);
    }
    let out = BufWriter::with_capacity(1 << 16, file);
    let writer = ArrowWriter::try_new(out, schema.clone(), Some(properties.build())).map_err(failed)?;
    Ok(Box::new(Parquet { schema, writer }))
}

impl Format for Parquet {
    fn rows(&mut self, cells: &[Cells<'_>]) -> io::Result<()> {
        batches(&self.schema, cells, |batch| self.writer.write(&batch).map_err(failed))
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.writer.into_inner().map_err(failed)?.flush()
    }
}

struct Ipc {
    schema: SchemaRef,
    writer: FileWriter<BufWriter<File>>,
}

pub(super) fn ipc(file: File, columns: &[Column]) -> io::Result<Box<dyn Format>> {
    let schema = schema(columns);
    let out = BufWriter::with_capacity(1 << 16, file);
    let writer = FileWriter::try_new(out, &schema).map_err(failed)?;
    Ok(Box::new(Ipc { schema, writer }))
}

impl Format for Ipc {
    fn rows(&mut self, cells: &[Cells<'_>]) -> io::Result<()> {
        batches(&self.schema, cells, |batch| self.writer.write(&batch).map_err(failed))
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.writer.finish().map_err(failed)?;
        self.writer.into_inner().map_err(failed)?.flush()
    }
}
