//! Parquet files, row group by row group and only the chosen columns.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};

use super::columns::{Columns, ROWS};
use super::thrift::{FILE, Thrift};
use super::{guard, pages};
use crate::location::Location;
use crate::pieces::{Opened, Piece, Pieces};
use crate::reading::Ask;
use crate::{Result, open};

struct Parquet {
    at: Location,
    footer: Footer,
    mask: ProjectionMask,
    columns: Columns,
    /// The row group that comes next.
    group: usize,
    /// The one that is being read.
    reader: Option<ParquetRecordBatchReader>,
    /// Rows that were decoded and not yet handed out.
    rest: Option<RecordBatch>,
}

/// A file whose footer has been read.
pub(crate) struct Footer {
    file: File,
    metadata: ArrowReaderMetadata,
}

impl Footer {
    pub(crate) fn read(at: &Location) -> Result<Self> {
        let (mut file, _) = open::file(&at.file)?;
        guard(at, || check(&mut file))?;
        let metadata = guard(at, || ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()))?;
        Ok(Footer { file, metadata })
    }

    /// How many rows it announces.
    pub(crate) fn rows(&self) -> Option<u64> {
        self.metadata.metadata().file_metadata().num_rows().try_into().ok()
    }

    /// The columns and their types.
    pub(crate) fn schema(&self) -> SchemaRef {
        self.metadata.schema().clone()
    }
}

/// Fails where a footer would keep the decoder busy for longer than its bytes are worth. What ends in no footer that can
/// be read is for the decoder to refuse.
fn check(file: &mut File) -> std::result::Result<(), String> {
    match footer(file).map_err(|e| e.to_string())? {
        Some(bytes) if Thrift::new(&bytes).follows(FILE).is_none() => Err("its footer is damaged".to_owned()),
        _ => Ok(()),
    }
}

/// The bytes of a footer that is not encrypted; they stand before their number and `PAR1`.
fn footer(file: &mut File) -> io::Result<Option<Vec<u8>>> {
    let Some(end) = file.metadata()?.len().checked_sub(8) else { return Ok(None) };
    let mut last = [0; 8];
    file.seek(SeekFrom::Start(end))?;
    file.read_exact(&mut last)?;
    let [a, b, c, d, magic @ ..] = last;
    let Some(start) = end.checked_sub(u64::from(u32::from_le_bytes([a, b, c, d]))) else { return Ok(None) };
    if &magic != b"PAR1" {
        return Ok(None);
    }
    let mut footer = Vec::new();
    file.seek(SeekFrom::Start(start))?;
    file.take(end - start).read_to_end(&mut footer)?;
    Ok(Some(footer))
}

/// Chooses columns; the rows come later.
pub(crate) fn open(at: &Location, footer: Footer, ask: &Ask<'_>) -> Result<Opened> {
    let Footer { file, metadata } = &footer;
    let groups = metadata.metadata().row_groups();
    let first = |columns: &[usize]| match groups.iter().position(|g| g.num_rows() > 0) {
        None => Ok(None),
        Some(group) => {
            let mask = ProjectionMask::roots(metadata.parquet_schema(), columns.iter().copied());
            guard(at, || match reader(file, metadata, group, &mask, 1)?.next() {
                Some(batch) => batch.map(Some).map_err(|e| e.to_string()),
                None => Ok(None),
            })
        }
    };
    let (columns, header, chosen) = Columns::new(at, metadata.schema(), ask, first)?;
    let mask = ProjectionMask::roots(metadata.parquet_schema(), columns.projection.iter().copied());
    let parquet = Parquet { at: at.clone(), footer, mask, columns, group: 0, reader: None, rest: None };
    Ok(Opened::new(&header, &chosen, Box::new(parquet)))
}

impl Pieces for Parquet {
    fn fill(&mut self, most: usize, piece: &mut Piece) -> Result<usize> {
        let Some(batch) = self.batch()? else { return Ok(0) };
        let count = most.min(batch.num_rows());
        if count < batch.num_rows() {
            self.rest = Some(batch.slice(count, batch.num_rows() - count));
        }
        let columns = &mut self.columns;
        guard(&self.at, || Ok::<_, String>(columns.append(&batch.slice(0, count), piece)))??;
        Ok(count)
    }

    fn rows(&self) -> Option<u64> {
        self.footer.rows()
    }
}

impl Parquet {
    /// The next rows, if any are left.
    fn batch(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(rest) = self.rest.take() {
            return Ok(Some(rest));
        }
        loop {
            if let Some(mut reader) = self.reader.take()
                && let Some(batch) = guard(&self.at, || reader.next().transpose())?
            {
                self.reader = Some(reader);
                return Ok(Some(batch));
            }
            if self.group == self.footer.metadata.metadata().num_row_groups() {
                return Ok(None);
            }
            let opened =
                guard(&self.at, || reader(&self.footer.file, &self.footer.metadata, self.group, &self.mask, ROWS))?;
            self.reader = Some(opened);
            self.group += 1;
        }
    }
}

/// A reader of one row group, whose pages have been looked at.
fn reader(
    file: &File,
    metadata: &ArrowReaderMetadata,
    group: usize,
    mask: &ProjectionMask,
    rows: usize,
) -> std::result::Result<ParquetRecordBatchReader, String> {
    let mut file = file.try_clone().map_err(|e| e.to_string())?;
    pages::check(&mut file, metadata.metadata(), group, mask)?;
    let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone())
        .with_row_groups(vec![group])
        .with_projection(mask.clone())
        .with_batch_size(rows)
        .build();
    reader.map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_footer_that_cannot_be_read_is_no_footer_that_is_absent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.parquet");
        std::fs::write(&path, b"PAR1").unwrap();
        assert!(footer(&mut File::open(&path).unwrap()).unwrap().is_none());
        std::fs::write(&path, b"PAR1\x07\x00\x01\x00\x00\x00PAR1").unwrap();
        assert_eq!(footer(&mut File::open(&path).unwrap()).unwrap().unwrap(), [0]);
        // Whatever the decoder could read later.
        let mut unreadable = File::options().append(true).open(&path).unwrap();
        assert!(footer(&mut unreadable).is_err());
        assert!(check(&mut unreadable).is_err());
    }
}
