//! One value of an array as bytes: its type and byte order, as a number and as text.

use half::{bf16, f16};

/// The type of an array's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    Bf16,
    F32,
    F64,
    /// So many characters of four bytes, filled up with zeros.
    Utf32(usize),
    /// So many bytes, filled up with zeros.
    Bytes(usize),
}

/// How one value is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) kind: Kind,
    pub(crate) big_endian: bool,
}

/// Calls `$f!` with the number of bytes and the way from them to the Rust type, for every kind of number.
macro_rules! for_kind {
    ($kind:expr, $f:ident, $text:expr) => {
        match $kind {
            Kind::Bool => $f!(1, |b: [u8; 1]| b[0] != 0, |v| f64::from(u8::from(v))),
            Kind::I8 => $f!(1, i8::from_le_bytes, f64::from),
            Kind::I16 => $f!(2, i16::from_le_bytes, f64::from),
            Kind::I32 => $f!(4, i32::from_le_bytes, f64::from),
            Kind::I64 => $f!(8, i64::from_le_bytes, |v| v as f64),
            Kind::U8 => $f!(1, u8::from_le_bytes, f64::from),
            Kind::U16 => $f!(2, u16::from_le_bytes, f64::from),
            Kind::U32 => $f!(4, u32::from_le_bytes, f64::from),
            Kind::U64 => $f!(8, u64::from_le_bytes, |v| v as f64),
            Kind::F16 => $f!(2, f16::from_le_bytes, f64::from),
            Kind::Bf16 => $f!(2, bf16::from_le_bytes, f64::from),
            Kind::F32 => $f!(4, f32::from_le_bytes, f64::from),
            Kind::F64 => $f!(8, f64::from_le_bytes, |v| v),
            Kind::Utf32(_) | Kind::Bytes(_) => $text,
        }
    };
}

impl Element {
    /// Bytes of one value.
    pub(crate) fn bytes(self) -> usize {
        match self.kind {
            Kind::Bool | Kind::I8 | Kind::U8 => 1,
            Kind::I16 | Kind::U16 | Kind::F16 | Kind::Bf16 => 2,
            Kind::I32 | Kind::U32 | Kind::F32 => 4,
            Kind::I64 | Kind::U64 | Kind::F64 => 8,
            Kind::Utf32(n) => n.saturating_mul(4),
            Kind::Bytes(n) => n,
        }
    }

    pub(crate) fn is_text(self) -> bool {
        matches!(self.kind, Kind::Utf32(_) | Kind::Bytes(_))
    }

    /// Puts values into the byte order that the other functions take.
    pub(crate) fn order(self, raw: &mut [u8]) {
        let width = if let Kind::Utf32(_) = self.kind { 4 } else { self.bytes() };
        if self.big_endian && width > 1 && !matches!(self.kind, Kind::Bytes(_)) {
            raw.chunks_exact_mut(width).for_each(<[u8]>::reverse);
        }
    }

    /// Appends one column of rows of `width` values; integers beyond 2^53 are rounded, text is not appended at all.
    pub(crate) fn numbers(self, raw: &[u8], width: usize, column: usize, out: &mut Vec<f64>) {
        macro_rules! gather {
            ($n:literal, $read:expr, $number:expr) => {{
                let values = raw.as_chunks::<$n>().0.chunks_exact(width);
                out.extend(values.map(|row| $number($read(row[column]))));
            }};
        }
        for_kind!(self.kind, gather, ())
    }

    /// One value as text, without the zeros and blanks at its ends; `None` where it is NaN or not Unicode.
    pub(crate) fn text(self, raw: &[u8]) -> Option<String> {
        macro_rules! print {
            ($n:literal, $read:expr, $number:expr) => {{
                let value = $read(*raw.first_chunk::<$n>()?);
                let is_nan = $number(value).is_nan();
                (!is_nan).then(|| value.to_string())
            }};
        }
        for_kind!(self.kind, print, words(self.kind, raw))
    }
}

fn words(kind: Kind, raw: &[u8]) -> Option<String> {
    let text = match kind {
        Kind::Utf32(_) => {
            let codes = raw.as_chunks::<4>().0.iter().map(|&c| char::from_u32(u32::from_le_bytes(c)));
            codes.collect::<Option<String>>()?
        }
        _ => str::from_utf8(raw).ok()?.to_owned(),
    };
    Some(text.trim_end_matches('\0').trim_ascii().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(kind: Kind) -> Element {
        Element { kind, big_endian: false }
    }

    #[test]
    fn numbers_and_text_of_each_kind() {
        let cases: [(Kind, &[u8], f64, &str); 8] = [
            (Kind::Bool, &[1], 1.0, "true"),
            (Kind::I8, &[0x80], -128.0, "-128"),
            (Kind::I64, &[0xff; 8], -1.0, "-1"),
            (Kind::U64, &[0xff; 8], 18446744073709551615.0, "18446744073709551615"),
            (Kind::F16, &[0x00, 0xc1], -2.5, "-2.5"),
            (Kind::Bf16, &[0x20, 0x40], 2.5, "2.5"),
            (Kind::F32, &[0xcd, 0xcc, 0xcc, 0x3d], f64::from(0.1f32), "0.1"),
            (Kind::F64, &[0, 0, 0, 0, 0, 0, 8, 64], 3.0, "3"),
        ];
        for (kind, raw, number, text) in cases {
            let mut out = Vec::new();
            element(kind).numbers(raw, 1, 0, &mut out);
            assert_eq!((out, element(kind).text(raw).as_deref()), (vec![number], Some(text)), "{kind:?}");
        }
        assert_eq!(element(Kind::F64).text(&f64::NAN.to_le_bytes()), None);
        assert_eq!(element(Kind::Utf32(3)).text(b"c\0\0\0\xe4\0\0\0\0\0\0\0").as_deref(), Some("cä"));
        assert_eq!(element(Kind::Utf32(1)).text(&[0xff; 4]), None);
        assert_eq!(element(Kind::Bytes(4)).text(b"dog\0").as_deref(), Some("dog"));
    }

    #[test]
    fn columns_are_gathered_in_any_byte_order() {
        let mut raw: Vec<u8> = [1i16, 2, 3, 4, 5, 6].iter().flat_map(|v| v.to_be_bytes()).collect();
        let element = Element { kind: Kind::I16, big_endian: true };
        element.order(&mut raw);
        for (column, wanted) in [(0, [1.0, 4.0]), (2, [3.0, 6.0])] {
            let mut out = Vec::new();
            element.numbers(&raw, 3, column, &mut out);
            assert_eq!(out, wanted);
        }
    }
}
