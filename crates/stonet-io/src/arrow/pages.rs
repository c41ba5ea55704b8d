//! The page headers of a Parquet file, checked before its decoder trusts them and allocates memory.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use parquet::arrow::ProjectionMask;
use parquet::basic::Compression;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

use super::thrift::{PAGE, Thrift};

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
        // The decoder takes a known field for what it has to be, whatever type the file names.
        if let Some(left) = Thrift::new(&bytes).follows(PAGE) {
            let page = header(&mut Thrift::new(&bytes));
            return Ok(page.map(|page| Page { header: (bytes.len() - left) as u64, ..page }));
        }
    }
    Ok(None)
}

/// What the header at the beginning of these bytes says; `None` where they end before it does or make no sense.
fn header(thrift: &mut Thrift<'_>) -> Option<Page> {
    let mut page = Page::default();
    let mut id = 0;
    while let Some(kind) = thrift.field(&mut id)? {
        match (id, kind) {
            (2, 5) => page.size = thrift.count()?,
            (3, 5) => page.packed = thrift.count()?,
            (5 | 8, 12) => page.values = Some(values(thrift)?),
            (7, 12) => page.entries = Some(values(thrift)?),
            _ => thrift.skip(kind)?,
        }
    }
    Some(page)
}

/// The first field of the header of a page of either kind: how many values there are.
fn values(thrift: &mut Thrift<'_>) -> Option<u64> {
    let (mut id, mut values) = (0, 0);
    while let Some(kind) = thrift.field(&mut id)? {
        match (id, kind) {
            (1, 5) => values = thrift.count()?,
            _ => thrift.skip(kind)?,
        }
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_by_hand() {
        // type 0, 300 bytes from 20, checksum −1, { values 7, encodings }, behind it other bytes.
        let bytes = [0x15, 0, 0x15, 0xd8, 0x04, 0x15, 40, 0x15, 1, 0x1c, 0x15, 14, 0x15, 0, 0, 0, 9, 9];
        let page = header(&mut Thrift::new(&bytes)).unwrap();
        assert_eq!((page.size, page.packed, page.values, page.entries), (300, 20, Some(7), None));
        assert_eq!(Thrift::new(&bytes).follows(PAGE), Some(2));
        for length in 0..16 {
            assert_eq!(header(&mut Thrift::new(&bytes[..length])), None, "{length}");
            assert_eq!(Thrift::new(&bytes[..length]).follows(PAGE), None, "{length}");
        }
    }
}
