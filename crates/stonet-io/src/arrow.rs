//! Columnar files: Parquet and Arrow IPC, through the arrays that both are decoded into.

mod cells;
pub(crate) mod columns;
pub(crate) mod folder;
pub(crate) mod ipc;
mod pages;
pub(crate) mod parquet;
mod thrift;

use std::sync::Arc;

use arrow_schema::{DataType, Schema};
use stonet::rows::LabelKind;

use crate::location::{Format, Location};
use crate::{Result, Type, caught};
use parquet::Footer;

/// How columns of these names can be copied to another file without loss.
pub(crate) fn copied_as(at: &Location, names: &[String]) -> Result<Vec<Option<Type>>> {
    let schemas = schemas(at)?;
    let kind = |name: &String| schemas.iter().filter_map(|schema| copy(schema, name)).reduce(common);
    Ok(names.iter().map(kind).collect())
}

/// The kind of the labels in the column of this name; none where it is not there, or files of a folder have different
/// ones.
pub(crate) fn label_kind(at: &Location, name: &str) -> Result<Option<LabelKind>> {
    let schemas = schemas(at)?;
    let kind = |schema: &Arc<Schema>| Some(label(schema.field_with_name(name).ok()?.data_type()));
    let mut kinds = schemas.iter().filter_map(kind);
    let first = kinds.next();
    Ok(first.filter(|first| kinds.all(|kind| kind == *first)))
}

fn label(kind: &DataType) -> LabelKind {
    match kind {
        DataType::Boolean => LabelKind::Boolean,
        DataType::Date32 | DataType::Date64 => LabelKind::Date,
        DataType::Timestamp(..) => LabelKind::Datetime,
        DataType::Dictionary(_, value) => label(value),
        kind if kind.is_integer() => LabelKind::Integer,
        kind if kind.is_numeric() => LabelKind::Float,
        _ => LabelKind::Text,
    }
}

fn schemas(at: &Location) -> Result<Vec<Arc<Schema>>> {
    Ok(match at.format {
        Format::Folder => folder::schemas(at)?,
        Format::Parquet => vec![Footer::read(at)?.schema()],
        _ => vec![ipc::schema(at)?],
    })
}

/// What holds a column that files of a folder have different types for.
fn common(a: Type, b: Type) -> Type {
    match (a, b) {
        (a, b) if a == b => a,
        (Type::Text, _) | (_, Type::Text) => Type::Text,
        _ => Type::F64,
    }
}

/// Numbers where f64 holds them all, integers beyond that as such, and anything else as text.
fn copy(schema: &Schema, name: &str) -> Option<Type> {
    // None is a place of a list, or not there at all, which reading will say.
    Some(match schema.field_with_name(name).ok()?.data_type() {
        DataType::Float16 | DataType::Float32 => Type::F32,
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => Type::Integer,
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => Type::Integer,
        DataType::Float64 | DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) => Type::F64,
        DataType::Date32 | DataType::Date64 => Type::Date,
        DataType::Timestamp(_, None) => Type::Datetime,
        _ => Type::Text,
    })
}

/// Runs a decoder that was not written for hostile bytes: its panics, like its errors, mean that the file is damaged.
/// (arrow-ipc panics on unknown types and on short bitmaps.)
fn guard<T, E: ToString>(at: &Location, decode: impl FnOnce() -> std::result::Result<T, E>) -> Result<T> {
    match caught(decode) {
        Some(Ok(decoded)) => Ok(decoded),
        Some(Err(e)) => Err(at.damaged(e.to_string())),
        None => Err(at.damaged("the decoder gave up on it")),
    }
}
