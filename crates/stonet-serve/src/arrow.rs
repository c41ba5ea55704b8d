//! Rows as an Arrow stream, and predictions as one.

use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, SchemaRef};

use crate::error::{Error, Result};

/// The media type of Arrow streams.
pub(crate) const TYPE: &str = "application/vnd.apache.arrow.stream";

/// A stream of batches of one schema.
pub(crate) fn write(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<Vec<u8>> {
    let failed = |e: ArrowError| Error::Failed { why: e.to_string() };
    let mut writer = StreamWriter::try_new(Vec::new(), schema).map_err(failed)?;
    batches.iter().try_for_each(|batch| writer.write(batch)).map_err(failed)?;
    writer.into_inner().map_err(failed)
}
