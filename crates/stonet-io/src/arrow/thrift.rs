//! Structures in Thrift's compact protocol, in which Parquet writes its footer and page headers: checked before its decoder
//! trusts them.
//!
//! The decoder skips fields that it does not know. A truth value in a list takes no byte of it then, so that a list of six
//! bytes may keep it busy for 2³¹ steps; and it reads a field that it knows as what it has to be, whatever type the file
//! names. So known fields must have their types, and lists and maps may not announce more than there are bytes.

/// What a field has to be.
pub(super) enum Shape {
    /// A type of the protocol that holds no others.
    Value(u8),
    /// The type of a field is its value.
    Truth,
    List(&'static Shape),
    Struct(Fields),
}

/// The fields of a structure that are known, by their numbers.
pub(super) type Fields = &'static [(i64, Shape)];

use Shape::{List, Struct, Truth, Value};

const BYTE: Shape = Value(3);
const I16: Shape = Value(4);
const I32: Shape = Value(5);
const I64: Shape = Value(6);
const DOUBLE: Shape = Value(7);
const BINARY: Shape = Value(8);
const EMPTY: Shape = Struct(&[]);

const STATISTICS: Fields =
    &[(1, BINARY), (2, BINARY), (3, I64), (4, I64), (5, BINARY), (6, BINARY), (7, Truth), (8, Truth)];

/// `PageHeader` of Parquet.
pub(super) const PAGE: Fields = &[
    (1, I32),
    (2, I32),
    (3, I32),
    (4, I32),
    (5, Struct(&[(1, I32), (2, I32), (3, I32), (4, I32), (5, Struct(STATISTICS))])),
    (6, EMPTY),
    (7, Struct(&[(1, I32), (2, I32), (3, Truth)])),
    (8, Struct(&[(1, I32), (2, I32), (3, I32), (4, I32), (5, I32), (6, I32), (7, Truth), (8, Struct(STATISTICS))])),
];

/// `FileMetaData` of Parquet.
pub(super) const FILE: Fields = &[
    (1, I32),
    (2, List(&Struct(SCHEMA))),
    (3, I64),
    (4, List(&Struct(ROW_GROUP))),
    (5, List(&Struct(KEY_VALUE))),
    (6, BINARY),
    (7, List(&Struct(&[(1, EMPTY), (2, EMPTY)]))),
    (8, ENCRYPTION),
    (9, BINARY),
];

const SCHEMA: Fields = &[
    (1, I32),
    (2, I32),
    (3, I32),
    (4, BINARY),
    (5, I32),
    (6, I32),
    (7, I32),
    (8, I32),
    (9, I32),
    (10, Struct(LOGICAL)),
];

/// `LogicalType`, a union.
const LOGICAL: Fields = &[
    (1, EMPTY),
    (2, EMPTY),
    (3, EMPTY),
    (4, EMPTY),
    (5, Struct(&[(1, I32), (2, I32)])),
    (6, EMPTY),
    (7, TIME),
    (8, TIME),
    (10, Struct(&[(1, BYTE), (2, Truth)])),
    (11, EMPTY),
    (12, EMPTY),
    (13, EMPTY),
    (14, EMPTY),
    (15, EMPTY),
    (16, Struct(&[(1, BYTE)])),
    (17, Struct(&[(1, BINARY)])),
    (18, Struct(&[(1, BINARY), (2, I32)])),
];

const TIME: Shape = Struct(&[(1, Truth), (2, Struct(&[(1, EMPTY), (2, EMPTY), (3, EMPTY)]))]);

const ROW_GROUP: Fields = &[
    (1, List(&Struct(COLUMN))),
    (2, I64),
    (3, I64),
    (4, List(&Struct(&[(1, I32), (2, Truth), (3, Truth)]))),
    (5, I64),
    (6, I64),
    (7, I16),
];

const COLUMN: Fields = &[
    (1, BINARY),
    (2, I64),
    (3, Struct(COLUMN_METADATA)),
    (4, I64),
    (5, I32),
    (6, I64),
    (7, I32),
    (8, Struct(&[(1, EMPTY), (2, Struct(&[(1, List(&BINARY)), (2, BINARY)]))])),
    (9, BINARY),
];

const COLUMN_METADATA: Fields = &[
    (1, I32),
    (2, List(&I32)),
    (3, List(&BINARY)),
    (4, I32),
    (5, I64),
    (6, I64),
    (7, I64),
    (8, List(&Struct(KEY_VALUE))),
    (9, I64),
    (10, I64),
    (11, I64),
    (12, Struct(STATISTICS)),
    (13, List(&Struct(&[(1, I32), (2, I32), (3, I32)]))),
    (14, I64),
    (15, I32),
    (16, Struct(&[(1, I64), (2, List(&I64)), (3, List(&I64))])),
    (17, Struct(&[(1, Struct(BOUNDING_BOX)), (2, List(&I32))])),
];

const BOUNDING_BOX: Fields =
    &[(1, DOUBLE), (2, DOUBLE), (3, DOUBLE), (4, DOUBLE), (5, DOUBLE), (6, DOUBLE), (7, DOUBLE), (8, DOUBLE)];

const KEY_VALUE: Fields = &[(1, BINARY), (2, BINARY)];

const AES: Shape = Struct(&[(1, BINARY), (2, BINARY), (3, Truth)]);
const ENCRYPTION: Shape = Struct(&[(1, AES), (2, AES)]);

/// How deep structures and lists stand in each other at most.
const DEPTH: usize = 32;

/// Bytes that are read from the front; `None` where they end or make no sense.
pub(super) struct Thrift<'a> {
    bytes: &'a [u8],
}

impl<'a> Thrift<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Thrift { bytes }
    }

    /// How many bytes are left behind a structure whose known fields have their types.
    pub fn follows(mut self, fields: Fields) -> Option<usize> {
        self.structure(fields, 0)?;
        Some(self.bytes.len())
    }

    /// The type of the next field, `Some(None)` at the end of the structure.
    pub fn field(&mut self, id: &mut i64) -> Option<Option<u8>> {
        let byte = self.byte()?;
        // The number of a field does not matter where it ends the structure.
        if byte & 15 == 0 {
            return Some(None);
        }
        *id = match byte >> 4 {
            0 => self.zigzag()?,
            step => id.checked_add(step.into())?,
        };
        Some(Some(byte & 15))
    }

    /// A number that is not negative.
    pub fn count(&mut self) -> Option<u64> {
        u64::try_from(self.zigzag()?).ok()
    }

    /// Passes over a field of this type.
    pub fn skip(&mut self, kind: u8) -> Option<()> {
        self.unknown(kind, 0)
    }

    fn structure(&mut self, fields: Fields, depth: usize) -> Option<()> {
        let mut id = 0;
        while let Some(kind) = self.field(&mut id)? {
            // The decoder counts in 16 bits.
            i16::try_from(id).ok()?;
            match fields.iter().find(|(known, _)| *known == id) {
                Some((_, shape)) => self.known(kind, shape, depth + 1)?,
                None => self.unknown(kind, depth + 1)?,
            }
        }
        Some(())
    }

    fn known(&mut self, kind: u8, shape: &Shape, depth: usize) -> Option<()> {
        match (shape, kind) {
            (Value(expected), _) if *expected == kind => self.unknown(kind, depth),
            (Truth, 1 | 2) => Some(()),
            (Struct(fields), 12) if depth <= DEPTH => self.structure(fields, depth),
            (List(shape), 9) => {
                let (kind, count) = self.list()?;
                (0..count).try_for_each(|_| self.known(kind, shape, depth + 1))
            }
            _ => None,
        }
    }

    fn unknown(&mut self, kind: u8, depth: usize) -> Option<()> {
        if depth > DEPTH {
            return None;
        }
        match kind {
            1 | 2 => Some(()),
            3 => self.advance(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.advance(8),
            8 => {
                let length = self.varint()?;
                self.advance(length)
            }
            9 | 10 => {
                let (kind, count) = self.list()?;
                (0..count).try_for_each(|_| self.unknown(kind, depth + 1))
            }
            11 => {
                let count = self.varint().filter(|&count| count <= self.bytes.len() as u64)?;
                let kinds = if count > 0 { self.byte()? } else { 0 };
                let (key, value) = (kinds >> 4, kinds & 15);
                if count > 0 && (matches!(key, 1 | 2) || matches!(value, 1 | 2)) {
                    return None;
                }
                (0..count).try_for_each(|_| {
                    self.unknown(key, depth + 1)?;
                    self.unknown(value, depth + 1)
                })
            }
            12 => self.structure(&[], depth),
            13 => self.advance(16),
            _ => None,
        }
    }

    /// The type and the number of the elements of a list. Each of them takes a byte or more; truth values would not, but
    /// nothing in Parquet's footers and headers lists them.
    fn list(&mut self) -> Option<(u8, u64)> {
        let byte = self.byte()?;
        let count = if byte >> 4 == 15 { self.varint()? } else { u64::from(byte >> 4) };
        let truth = matches!(byte & 15, 1 | 2);
        (count <= self.bytes.len() as u64 && !(truth && count > 0)).then_some((byte & 15, count))
    }

    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(byte)
    }

    fn advance(&mut self, count: u64) -> Option<()> {
        self.bytes = self.bytes.get(usize::try_from(count).ok()?..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn zigzag(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(bytes: &[u8]) -> Option<usize> {
        Thrift::new(bytes).follows(FILE)
    }

    #[test]
    fn known_fields_have_their_types() {
        // version 1, no rows, one key without a value, a field 20 that nobody knows: a list of two numbers.
        let good = [0x15, 2, 0x26, 0, 0x29, 0x1c, 0x18, 1, b'k', 0, 0xf9, 0x25, 2, 4, 0, 7];
        assert_eq!(left(&good), Some(1));
        for end in 0..15 {
            assert_eq!(left(&good[..end]), None, "{end}");
        }
        // The version as text, in which the decoder would look for fields.
        assert_eq!(left(&[0x18, 1, b'k', 0]), None);
        // Rows as a truth value; a list of numbers for a list of keys.
        assert_eq!(left(&[0x31, 0]), None);
        assert_eq!(left(&[0x59, 0x15, 2, 0]), None);
    }

    #[test]
    fn nothing_announces_more_than_there_is() {
        // Field 15, which nobody knows: 2³¹ − 1 truth values in a list, a set and a map, or that many empty structures.
        let many = [0xff, 0xff, 0xff, 0xff, 7];
        for start in [&[0xf9, 0xf1][..], &[0xf9, 0xf2], &[0xfa, 0xf1], &[0xf9, 0xfc], &[0xfb]] {
            let bytes = [start, &many, &[0x11, 0, 0, 0, 0]].concat();
            assert_eq!(left(&bytes), None, "{start:x?}");
        }
        assert_eq!(left(&[0xf9, 0x21, 1, 2, 0]), None);
        assert_eq!(left(&[0xf9, 0x01, 0]), Some(0));
        assert_eq!(left(&[0xfb, 1, 0x35, 1, 2, 0]), Some(0));
        assert_eq!(left(&[0xfb, 0, 0]), Some(0));
        assert_eq!(left(&[0xfb, 2, 0x11, 0, 0]), None);
        // Structures within structures without end.
        assert_eq!(left(&[0xfc; 1000]), None);
    }
}
