//! Arrow IPC files and streams (`.arrow`, `.feather`, `.ipc`), message by message.
//!
//! A file is a stream with a magic word in front and a directory behind, which is not needed to read all of it in
//! order.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::{Message, MessageHeader, root_as_message};
use arrow_schema::SchemaRef;

use super::columns::Columns;
use super::guard;
use crate::location::Location;
use crate::open::{self, BUFFER};
use crate::pieces::{Opened, Piece, Pieces};
use crate::reading::Ask;
use crate::{Error, Problem, Result};

const MAGIC: &[u8; 6] = b"ARROW1";
/// In front of every length since version 0.15 of the format.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// zstd makes at most 128 KiB from 4 bytes, lz4 less; a buffer may come out a little larger than that, because it may
/// be small.
const RATIO: u64 = 1 << 15;

/// A message and the bytes that belong to it.
struct Framed {
    head: Vec<u8>,
    body: Buffer,
}

/// The messages of a file, or of a stream in memory.
struct Messages {
    at: Location,
    bytes: Box<dyn Read + Send>,
    /// Bytes behind the place of reading.
    left: u64,
    /// Bytes of the directory at the end of a file; a stream has none.
    footer: Option<u64>,
}

/// What is known while messages are decoded.
struct Decoder {
    messages: Messages,
    schema: SchemaRef,
    dictionaries: HashMap<i64, ArrayRef>,
    /// A record batch that was looked at, and whose turn comes next.
    held: Option<Framed>,
    /// Bytes that messages may still unfold to.
    room: u64,
}

struct Ipc {
    decoder: Decoder,
    columns: Columns,
    /// Rows that were decoded and not yet handed out.
    rest: Option<RecordBatch>,
}

/// The columns and their types.
pub(crate) fn schema(at: &Location) -> Result<SchemaRef> {
    Messages::open(at)?.schema()
}

/// Reads the schema; the rows come later.
pub(crate) fn open(at: &Location, ask: &Ask<'_>) -> Result<Opened> {
    let mut messages = Messages::open(at)?;
    let schema = messages.schema()?;
    let mut decoder = Decoder::new(messages, schema.clone(), u64::MAX);
    let (columns, header, chosen) = Columns::new(at, &schema, ask, |columns| decoder.peek(columns))?;
    Ok(Opened::new(&header, &chosen, Box::new(Ipc { decoder, columns, rest: None })))
}

/// The schema and the record batches of a stream in memory, which `source` names in messages. They may unfold to `most`
/// bytes.
pub fn arrow_stream(source: &str, bytes: Vec<u8>, most: u64) -> Result<(SchemaRef, Vec<RecordBatch>)> {
    let at = Location::in_memory(source);
    let left = bytes.len() as u64;
    let mut messages = Messages { at, bytes: Box::new(Cursor::new(bytes)), left, footer: None };
    let schema = messages.schema()?;
    let mut decoder = Decoder::new(messages, schema.clone(), most);
    let (all, mut batches): (Vec<usize>, _) = ((0..schema.fields().len()).collect(), Vec::new());
    while let Some((batch, _)) = decoder.batch(&all)? {
        batches.push(batch);
    }
    Ok((schema, batches))
}

impl Pieces for Ipc {
    fn fill(&mut self, most: usize, piece: &mut Piece) -> Result<usize> {
        let batch = match self.rest.take() {
            Some(rest) => rest,
            None => match self.decoder.batch(&self.columns.projection)? {
                Some((batch, _)) => batch,
                None => return Ok(0),
            },
        };
        let count = most.min(batch.num_rows());
        if count < batch.num_rows() {
            self.rest = Some(batch.slice(count, batch.num_rows() - count));
        }
        let columns = &mut self.columns;
        guard(&self.decoder.messages.at, || Ok::<_, String>(columns.append(&batch.slice(0, count), piece)))??;
        Ok(count)
    }
}

impl Decoder {
    fn new(messages: Messages, schema: SchemaRef, room: u64) -> Self {
        Decoder { messages, schema, dictionaries: HashMap::new(), held: None, room }
    }

    /// These columns of the first rows, which stay where they are.
    fn peek(&mut self, projection: &[usize]) -> Result<Option<RecordBatch>> {
        let Some((batch, framed)) = self.batch(projection)? else { return Ok(None) };
        self.held = Some(framed);
        Ok(Some(batch))
    }

    /// These columns of the next rows, if any are left, and the message that they stand in.
    fn batch(&mut self, projection: &[usize]) -> Result<Option<(RecordBatch, Framed)>> {
        loop {
            let next = match self.held.take() {
                Some(held) => Some(held),
                None => self.messages.advance()?,
            };
            let Some(framed) = next else { return Ok(None) };
            let at = self.messages.at.clone();
            let batch = guard(&at, || self.decode(&framed, projection))?;
            if let Some(batch) = batch.filter(|b| b.num_rows() > 0) {
                return Ok(Some((batch, framed)));
            }
        }
    }

    /// Keeps a dictionary, or returns rows.
    fn decode(&mut self, framed: &Framed, projection: &[usize]) -> std::result::Result<Option<RecordBatch>, String> {
        let message = message(&framed.head)?;
        let (body, version) = (&framed.body, message.version());
        match message.header_type() {
            MessageHeader::RecordBatch => {
                let batch = message.header_as_record_batch().ok_or("a record batch is damaged")?;
                self.make_room(check(&batch, body)?)?;
                let (schema, dictionaries) = (self.schema.clone(), &self.dictionaries);
                let rows = read_record_batch(body, batch, schema, dictionaries, Some(projection), &version);
                rows.map(Some).map_err(|e| e.to_string())
            }
            MessageHeader::DictionaryBatch => {
                let batch = message.header_as_dictionary_batch().ok_or("a dictionary is damaged")?;
                self.make_room(check(&batch.data().ok_or("a dictionary is damaged")?, body)?)?;
                let kept = read_dictionary(body, batch, &self.schema, &mut self.dictionaries, &version);
                kept.map(|()| None).map_err(|e| e.to_string())
            }
            kind => Err(format!("a message of kind {kind:?} stands where rows are expected")),
        }
    }
}

impl Decoder {
    /// Takes so many bytes of the room that is left.
    fn make_room(&mut self, bytes: u64) -> std::result::Result<(), String> {
        let left = self.room.checked_sub(bytes);
        self.room =
            left.ok_or_else(|| format!("its messages unfold to more than is allowed, by {} bytes", bytes - self.room))?;
        Ok(())
    }
}

/// Where the messages of a file begin: behind the magic word and padding, to 8 bytes in the specification, to 64 in
/// Rust's writer.
fn first_message(file: &mut File) -> io::Result<u64> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(8))?;
    file.take(56).read_to_end(&mut bytes)?;
    let padding = bytes.as_chunks::<8>().0.iter().take_while(|word| **word == [0; 8]).count();
    Ok(8 + 8 * padding as u64)
}

fn message(head: &[u8]) -> std::result::Result<Message<'_>, String> {
    root_as_message(head).map_err(|e| format!("a message is damaged ({e})"))
}

/// Whether the buffers lie in the body and say nothing absurd about their size, before memory is set aside for them; the
/// size that they unfold to.
fn check(batch: &arrow_ipc::RecordBatch<'_>, body: &Buffer) -> std::result::Result<u64, String> {
    let compressed = batch.compression().is_some();
    let mut total = 0u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let (Ok(from), Ok(length)) = (usize::try_from(buffer.offset()), usize::try_from(buffer.length())) else {
            return Err("a buffer has a negative place".into());
        };
        let bytes = from.checked_add(length).and_then(|to| body.as_slice().get(from..to));
        let bytes = bytes.ok_or("a buffer lies outside of its message")?;
        let size = match bytes.first_chunk().map(|&b| i64::from_le_bytes(b)) {
            Some(size) if compressed && size != -1 => u64::try_from(size).unwrap_or(u64::MAX),
            None if compressed && length > 0 => return Err("a compressed buffer breaks off".into()),
            _ => length as u64,
        };
        if size > (length as u64).saturating_mul(RATIO) {
            return Err(format!("a buffer of {length} bytes cannot unfold to {size}"));
        }
        total = total.saturating_add(size);
    }
    let fits = usize::try_from(total).is_ok_and(|n| Vec::<u8>::new().try_reserve_exact(n).is_ok());
    if fits { Ok(total) } else { Err(format!("a message that unfolds to {total} bytes does not fit into memory")) }
}

impl Messages {
    /// The schema, which comes first.
    fn schema(&mut self) -> Result<SchemaRef> {
        let first = self.advance()?;
        let first = first.ok_or_else(|| self.at.damaged("it does not begin with a schema"))?;
        let schema = guard(&self.at, || {
            let schema = message(&first.head)?.header_as_schema().ok_or("it does not begin with a schema")?;
            match schema.endianness().equals_to_target_endianness() {
                true => Ok(fb_to_schema(schema)),
                false => Err("it was written on a machine with the other byte order".to_owned()),
            }
        })?;
        Ok(SchemaRef::from(schema))
    }

    fn open(at: &Location) -> Result<Self> {
        let (mut file, length) = open::file(&at.file)?;
        let unreadable = |source| Problem::Unreadable { source }.of(at.path.clone());
        let (mut start, mut end) = ([0; 8], [0; 10]);
        if length >= 18 {
            file.read_exact(&mut start).map_err(unreadable)?;
            file.seek(SeekFrom::Start(length - 10)).and_then(|_| file.read_exact(&mut end)).map_err(unreadable)?;
        }
        let [a, b, c, d, magic @ ..] = end;
        let is_file = start.starts_with(MAGIC);
        if is_file && magic != *MAGIC {
            return Err(at.damaged("it breaks off: the magic word at its end is missing"));
        }
        let footer = is_file.then_some(10 + u64::from(u32::from_le_bytes([a, b, c, d])));
        if start.starts_with(b"FEA1") {
            return Err(at.damaged("it is a feather file of version 1; write version 2"));
        }
        let from = if is_file { first_message(&mut file).map_err(unreadable)? } else { 0 };
        file.seek(SeekFrom::Start(from)).map_err(unreadable)?;
        let bytes = Box::new(BufReader::with_capacity(BUFFER, file));
        Ok(Messages { at: at.clone(), bytes, left: length - from.min(length), footer })
    }

    /// The next message; `None` at the end.
    fn advance(&mut self) -> Result<Option<Framed>> {
        if self.footer == Some(self.left) {
            return Ok(None);
        }
        let Some(mut length) = self.take4()? else { return Ok(None) };
        if length == CONTINUATION {
            length = self.take4()?.ok_or_else(|| self.at.damaged("it breaks off"))?;
        }
        let length = u32::from_le_bytes(length).into();
        if length == 0 {
            return self.end();
        }
        self.check_left(length)?;
        let mut head = vec![0; length as usize];
        self.bytes.read_exact(&mut head).map_err(|e| self.failed(e))?;
        let body = message(&head).map(|m| m.bodyLength()).map_err(|e| self.at.damaged(e))?;
        self.left -= length;
        let body = u64::try_from(body).unwrap_or(u64::MAX);
        self.check_left(body)?;
        let mut bytes = MutableBuffer::from_len_zeroed(body as usize);
        self.bytes.read_exact(&mut bytes).map_err(|e| self.failed(e))?;
        self.left -= body;
        Ok(Some(Framed { head, body: bytes.into() }))
    }

    /// Behind the last message of a file comes its directory, at most after a few bytes of padding.
    fn end(&mut self) -> Result<Option<Framed>> {
        if self.footer.is_some_and(|footer| self.left.abs_diff(footer) >= 64) {
            return Err(self.at.damaged("it ends before its directory"));
        }
        self.left = 0;
        Ok(None)
    }

    fn take4(&mut self) -> Result<Option<[u8; 4]>> {
        match self.left {
            0 => return Ok(None),
            1..4 => return Err(self.at.damaged("it breaks off")),
            _ => self.left -= 4,
        }
        let mut bytes = [0; 4];
        self.bytes.read_exact(&mut bytes).map_err(|e| self.failed(e))?;
        Ok(Some(bytes))
    }

    fn check_left(&self, needed: u64) -> Result<()> {
        match needed > self.left {
            true => {
                Err(self.at.damaged(format_args!("it breaks off: {needed} bytes are to follow, and {} do", self.left)))
            }
            false => Ok(()),
        }
    }

    fn failed(&self, source: io::Error) -> Error {
        Problem::Unreadable { source }.of(self.at.path.clone())
    }
}
