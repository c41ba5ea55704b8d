//! The page headers of a Parquet file, checked before its decoder trusts them and allocates memory.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use parquet::arrow::ProjectionMask;
use parquet::basic::Compression;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

/// Bytes in which a header usually ends, and those in which the longest has to.
const HEADER: [u64; 2] = [1 << 9, 1 << 20];

/// Fails where a chosen column of a row group does not lie within the file, or a page announces more than can come out
/// of it.
pub(crate) fn check(
    file: &mut File,
    metadata: &ParquetMetaData,
    group: usize,
    mask: &ProjectionMask,
) -> Result<(), String> {
    let length = file.metadata().map_err(|e| e.to_string())?.len();
    let group = metadata.row_group(group);
    for (leaf, column) in group.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf)) {
        // What `byte_range` returns, which panics where it is negative.
        let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        let range = u64::try_from(start).ok().zip(u64::try_from(column.compressed_size()).ok());
        let range = range.filter(|&(place, size)| place.checked_add(size).is_some_and(|end| end <= length));
        let (mut place, size) = range.ok_or_else(|| format!("column {leaf} does not lie within the file"))?;
        let end = place + size;
        while place < end {
            let page = page(file, place, end).map_err(|e| e.to_string())?;
            let page = page.filter(|p| p.plausible(column, end - place));
            let page = page.ok_or_else(|| format!("column {leaf}: the page at byte {place} is damaged"))?;
            place += page.header + page.packed;
        }
    }
    Ok(())
}

/// What is read of a header.
#[derive(Debug, Default, PartialEq)]
struct Page {
    /// Bytes of the header itself.
    header: u64,
    /// Bytes that follow.
    packed: u64,
    /// Bytes that come out of them.
    size: u64,
    /// Values in a page of data.
    values: Option<u64>,
    /// Values in a dictionary.
    entries: Option<u64>,
}

impl Page {
    fn plausible(&self, column: &ColumnChunkMetaData, left: u64) -> bool {
        // How much each format can unfold at most.
        let ratio = match column.compression() {
            Compression::UNCOMPRESSED => 1,
            Compression::SNAPPY => 22,
            Compression::LZ4 | Compression::LZ4_RAW => 256,
            Compression::GZIP(_) => 1040,
            _ => 1 << 15,
        };
        self.header.checked_add(self.packed).is_some_and(|bytes| bytes <= left)
            && self.size <= self.packed.saturating_mul(ratio).saturating_add(64)
            && self.values.is_none_or(|v| u64::try_from(column.num_values()).is_ok_and(|most| v <= most))
            // A value in a dictionary takes a byte and more.
            && self.entries.is_none_or(|e| e <= self.size)
    }
}

fn page(file: &mut File, place: u64, end: u64) -> io::Result<Option<Page>> {
    for most in HEADER {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(place))?;
        file.take(most.min(end - place)).read_to_end(&mut bytes)?;
        let mut thrift = Thrift { bytes: &bytes };
        if let Some(page) = thrift.page() {
            return Ok(Some(Page { header: (bytes.len() - thrift.bytes.len()) as u64, ..page }));
        }
    }
    Ok(None)
}

/// Structures in Thrift's compact protocol; `None` where the bytes end or make no sense.
struct Thrift<'a> {
    bytes: &'a [u8],
}

impl Thrift<'_> {
    fn page(&mut self) -> Option<Page> {
        let mut page = Page::default();
        let mut id = 0;
        while let Some(kind) = self.field(&mut id)? {
            match (id, kind) {
                (2, 5) => page.size = self.count()?,
                (3, 5) => page.packed = self.count()?,
                (5 | 8, 12) => page.values = Some(self.values()?),
                (7, 12) => page.entries = Some(self.values()?),
                _ => self.skip(kind, 0)?,
            }
        }
        Some(page)
    }

    /// The first field of the header of a page of either kind: how many values there are.
    fn values(&mut self) -> Option<u64> {
        let (mut id, mut values) = (0, 0);
        while let Some(kind) = self.field(&mut id)? {
            match (id, kind) {
                (1, 5) => values = self.count()?,
                _ => self.skip(kind, 0)?,
            }
        }
        Some(values)
    }

    /// The type of the next field, `Some(None)` at the end of the structure.
    fn field(&mut self, id: &mut i64) -> Option<Option<u8>> {
        let byte = self.byte()?;
        if byte == 0 {
            return Some(None);
        }
        *id = match byte >> 4 {
            0 => self.zigzag()?,
            step => id.checked_add(step.into())?,
        };
        Some(Some(byte & 15))
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

    fn count(&mut self) -> Option<u64> {
        u64::try_from(self.zigzag()?).ok()
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        if depth > 16 {
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
                let byte = self.byte()?;
                let count = if byte >> 4 == 15 { self.varint()? } else { u64::from(byte >> 4) };
                // Truth values take a byte each in a list, and none as a field.
                let kind = if matches!(byte & 15, 1 | 2) { 3 } else { byte & 15 };
                (0..count).try_for_each(|_| self.skip(kind, depth + 1))
            }
            12 => {
                let mut id = 0;
                while let Some(kind) = self.field(&mut id)? {
                    self.skip(kind, depth + 1)?;
                }
                Some(())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_by_hand() {
        // type 0, 300 bytes from 20, checksum −1, { values 7, encodings }, behind it other bytes.
        let bytes = [0x15, 0, 0x15, 0xd8, 0x04, 0x15, 40, 0x15, 1, 0x1c, 0x15, 14, 0x15, 0, 0, 0, 9, 9];
        let mut thrift = Thrift { bytes: &bytes };
        let page = thrift.page().unwrap();
        assert_eq!((page.size, page.packed, page.values, page.entries), (300, 20, Some(7), None));
        assert_eq!(thrift.bytes, [9, 9]);
        for length in 0..16 {
            assert_eq!(Thrift { bytes: &bytes[..length] }.page(), None, "{length}");
        }
    }
}
