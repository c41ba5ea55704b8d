//! Delimited text, plain or compressed; numbers with as few digits as give them back exactly.

use std::io::{self, BufWriter, Write};

use ::csv::{ByteRecord, ErrorKind, QuoteStyle, Writer, WriterBuilder};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::{Cells, Column, Format, Type};

struct Text<W: Write> {
    writer: Writer<W>,
    single: Vec<bool>,
    record: ByteRecord,
    digits: Vec<u8>,
    finish: fn(W) -> io::Result<()>,
}

pub(super) fn open<W: Write + Send + 'static>(
    out: W,
    columns: &[Column],
    compress: bool,
) -> io::Result<Box<dyn Format>> {
    let out = BufWriter::with_capacity(1 << 16, out);
    match compress {
        true => {
            let encoder = GzEncoder::new(out, Compression::default());
            begin(encoder, columns, |e| e.finish().and_then(|mut out| out.flush()))
        }
        false => begin(out, columns, |mut out| out.flush()),
    }
}

fn begin<W: Write + Send + 'static>(
    mut out: W,
    columns: &[Column],
    finish: fn(W) -> io::Result<()>,
) -> io::Result<Box<dyn Format>> {
    // Readers tell the delimiter by the header, so another one in a name has to stand in quotes.
    let other = columns.iter().any(|c| c.name.contains([';', '\t']));
    let style = if other { QuoteStyle::Always } else { QuoteStyle::Necessary };
    let mut header = WriterBuilder::new().quote_style(style).from_writer(Vec::new());
    header.write_record(columns.iter().map(|c| &c.name)).map_err(plain)?;
    out.write_all(&header.into_inner().map_err(|e| io::Error::from(e.error().kind()))?)?;
    let writer = Writer::from_writer(out);
    let single = columns.iter().map(|c| c.kind == Type::F32).collect();
    Ok(Box::new(Text { writer, single, record: ByteRecord::new(), digits: Vec::new(), finish }))
}

impl<W: Write + Send> Format for Text<W> {
    fn rows(&mut self, cells: &[Cells<'_>]) -> io::Result<()> {
        for row in 0..cells[0].len() {
            self.record.clear();
            for (cells, &single) in cells.iter().zip(&self.single) {
                match cells {
                    Cells::Numbers(values) => {
                        self.digits.clear();
                        if !values[row].is_nan() {
                            number(values[row], single, &mut self.digits)?;
                        }
                        self.record.push_field(&self.digits);
                    }
                    Cells::Text(texts) => self.record.push_field(texts[row].as_bytes()),
                }
            }
            self.writer.write_byte_record(&self.record).map_err(plain)?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        let Text { writer, finish, .. } = *self;
        finish(writer.into_inner().map_err(|e| io::Error::from(e.error().kind()))?)
    }
}

/// What the system said, without the wrapping that hides its kind.
fn plain(e: ::csv::Error) -> io::Error {
    match e.into_kind() {
        ErrorKind::Io(e) => e,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// Rust prints the shortest digits that are read back as the same number; very large and very small ones need an
/// exponent as well.
fn number(value: f64, single: bool, out: &mut Vec<u8>) -> io::Result<()> {
    let plain = value == 0.0 || !value.is_finite() || (1e-5..1e16).contains(&value.abs());
    match (single, plain) {
        (false, true) => write!(out, "{value}"),
        (false, false) => write!(out, "{value:e}"),
        (true, true) => write!(out, "{}", value as f32),
        (true, false) => write!(out, "{:e}", value as f32),
    }
}
