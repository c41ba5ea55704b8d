//! The values of one Arrow array as numbers or as text.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};
use stonet::rows::LabelKind;
use stonet::score::Column;

/// Calls `$f!` with the Arrow type and the way to f64, for every type of plain numbers.
macro_rules! for_number {
    ($type:expr, $f:ident, $other:expr) => {
        match $type {
            DataType::Int8 => $f!(Int8Type, f64::from),
            DataType::Int16 => $f!(Int16Type, f64::from),
            DataType::Int32 => $f!(Int32Type, f64::from),
            DataType::Int64 => $f!(Int64Type, |v| v as f64),
            DataType::UInt8 => $f!(UInt8Type, f64::from),
            DataType::UInt16 => $f!(UInt16Type, f64::from),
            DataType::UInt32 => $f!(UInt32Type, f64::from),
            DataType::UInt64 => $f!(UInt64Type, |v| v as f64),
            DataType::Float16 => $f!(Float16Type, f64::from),
            DataType::Float32 => $f!(Float32Type, f64::from),
            DataType::Float64 => $f!(Float64Type, |v| v),
            _ => $other,
        }
    };
}

/// Whether [`numbers`] reads this type.
pub(crate) fn is_number(kind: &DataType) -> bool {
    match kind {
        DataType::Boolean => true,
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) => true,
        DataType::Dictionary(_, value) => is_number(value),
        kind => kind.is_integer() || kind.is_floating(),
    }
}

/// Whether [`texts`] reads this type.
pub(crate) fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        kind if is_time(kind) => true,
        DataType::Dictionary(_, value) => is_text(value),
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) => false,
        kind => is_number(kind),
    }
}

/// Whether a type is that of dates, or of times without a time zone.
pub(crate) fn is_time(kind: &DataType) -> bool {
    matches!(kind, DataType::Date32 | DataType::Date64 | DataType::Timestamp(_, None))
}

/// Every `step`-th value from `start` on, `count` of them.
fn numbers(array: &dyn Array, start: usize, step: usize, count: usize) -> Vec<f64> {
    let mut values = Vec::with_capacity(count);
    append_numbers(array, start, step, count, &mut values);
    values
}

/// Appends every `step`-th value from `start` on, `count` of them; null becomes NaN, and integers beyond 2^53 are
/// rounded.
pub(crate) fn append_numbers(array: &dyn Array, start: usize, step: usize, count: usize, out: &mut Vec<f64>) {
    macro_rules! plain {
        ($type:ty, $number:expr) => {
            gather::<$type>(array.as_primitive(), start, step, count, $number, out)
        };
    }
    let first = out.len();
    // The decimal that an integer and a number of digits stand for, rounded once.
    let decimal = |scale: i8| {
        let unit = 10f64.powi(i32::from(scale).abs());
        move |v: i128| if scale < 0 { v as f64 * unit } else { v as f64 / unit }
    };
    for_number!(
        array.data_type(),
        plain,
        match array.data_type() {
            DataType::Boolean => {
                let array = array.as_boolean();
                out.extend((0..count).map(|i| f64::from(u8::from(array.value(start + i * step)))));
            }
            &DataType::Decimal32(_, scale) => {
                let decimal = decimal(scale);
                plain!(Decimal32Type, |v| decimal(v.into()))
            }
            &DataType::Decimal64(_, scale) => {
                let decimal = decimal(scale);
                plain!(Decimal64Type, |v| decimal(v.into()))
            }
            &DataType::Decimal128(_, scale) => plain!(Decimal128Type, decimal(scale)),
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                let values = numbers(dictionary.values(), 0, 1, dictionary.values().len());
                let keys = numbers(dictionary.keys(), start, step, count);
                out.extend(keys.iter().map(|&k| values.get(k as usize).copied().unwrap_or(f64::NAN)));
            }
            _ => out.resize(first + count, f64::NAN),
        }
    );
    if array.null_count() > 0 {
        let nulls = (0..count).filter(|i| array.is_null(start + i * step));
        nulls.for_each(|i| out[first + i] = f64::NAN);
    }
}

/// The buffer of an array of floating-point numbers without nulls; none where there are others.
pub(crate) fn floats(array: &dyn Array) -> Option<Column<'_>> {
    if array.null_count() > 0 {
        return None;
    }
    match array.data_type() {
        DataType::Float32 => Some(Column::F32((&array.as_primitive::<Float32Type>().values()[..]).into())),
        DataType::Float64 => Some(Column::F64((&array.as_primitive::<Float64Type>().values()[..]).into())),
        _ => None,
    }
}

fn gather<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    start: usize,
    step: usize,
    count: usize,
    number: impl Fn(T::Native) -> f64,
    out: &mut Vec<f64>,
) {
    let values = &array.values()[start..];
    match step {
        // Without strides the loop is one of whole vectors.
        1 => out.extend(values.iter().take(count).map(|&v| number(v))),
        _ => out.extend(values.iter().step_by(step).take(count).map(|&v| number(v))),
    }
}

/// The values as text, without blanks around them; `None` for null, NaN and nothing at all.
pub(crate) fn texts(array: &dyn Array) -> Vec<Option<String>> {
    macro_rules! print {
        ($type:ty, $number:expr) => {{
            let values = array.as_primitive::<$type>().values().iter();
            values.map(|&v| Some(v.to_string()).filter(|_| !f64::is_nan($number(v)))).collect()
        }};
    }
    macro_rules! time {
        ($type:ty, $text:expr) => {{
            let values = array.as_primitive::<$type>().values().iter();
            values.map(|&v| $text(i64::from(v))).collect()
        }};
    }
    let times = |per_unit: i64| move |v: i64| v.checked_mul(per_unit).and_then(LabelKind::datetime);
    let word = |text: &str| Some(text.trim_ascii().to_owned()).filter(|t| !t.is_empty());
    let mut texts: Vec<Option<String>> = for_number!(
        array.data_type(),
        print,
        match array.data_type() {
            DataType::Utf8 => array.as_string::<i32>().iter().map(|t| t.and_then(word)).collect(),
            DataType::LargeUtf8 => array.as_string::<i64>().iter().map(|t| t.and_then(word)).collect(),
            DataType::Utf8View => array.as_string_view().iter().map(|t| t.and_then(word)).collect(),
            DataType::Boolean => array.as_boolean().iter().map(|t| t.map(|t| t.to_string())).collect(),
            DataType::Date32 => time!(Date32Type, LabelKind::date),
            DataType::Date64 => time!(Date64Type, |v: i64| LabelKind::date(v.div_euclid(86_400_000))),
            DataType::Timestamp(TimeUnit::Second, _) => time!(TimestampSecondType, times(1_000_000)),
            DataType::Timestamp(TimeUnit::Millisecond, _) => time!(TimestampMillisecondType, times(1_000)),
            DataType::Timestamp(TimeUnit::Microsecond, _) => time!(TimestampMicrosecondType, times(1)),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                time!(TimestampNanosecondType, |v: i64| LabelKind::datetime(v.div_euclid(1_000)))
            }
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                let values = texts(dictionary.values());
                let keys = numbers(dictionary.keys(), 0, 1, array.len());
                // NaN, the key of a null, would become 0.
                let key = |k: f64| if k.is_nan() { usize::MAX } else { k as usize };
                keys.into_iter().map(|k| values.get(key(k)).cloned().flatten()).collect()
            }
            _ => vec![None; array.len()],
        }
    );
    if array.null_count() > 0 {
        (0..array.len()).filter(|&i| array.is_null(i)).for_each(|i| texts[i] = None);
    }
    texts
}
