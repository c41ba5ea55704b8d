//! The members of a zip archive, as far as numpy writes them: stored or deflated, also beyond 4 GiB.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use flate2::Crc;
use flate2::bufread::DeflateDecoder;

use crate::Result;
use crate::location::Location;
use crate::open::{self, BUFFER};

/// The end record and the longest comment behind it.
const TAIL: u64 = 22 + 65535;
/// A central directory of a hundred thousand arrays is below that.
const DIRECTORY: u64 = 1 << 26;
/// Deflate cannot do better than 1032 : 1; a larger ratio is a decompression bomb.
const RATIO: u64 = 1040;

/// One member.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Member {
    pub(crate) name: String,
    /// Bytes of its contents.
    pub(crate) size: u64,
    packed: u64,
    deflated: bool,
    crc: u32,
    /// Where its own header stands.
    place: u64,
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|&b| u16::from_le_bytes(b).into())
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|&b| u32::from_le_bytes(b).into())
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|&b| u64::from_le_bytes(b))
}

fn read_at(file: &mut File, place: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(place))?;
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The members as the directory at the end of the archive lists them.
pub(crate) fn members(at: &Location) -> Result<Vec<Member>> {
    let (mut file, length) = open::file(&at.file)?;
    let unreadable = |source| crate::Problem::Unreadable { source }.of(at.path.clone());
    let tail = length.min(TAIL);
    let end = read_at(&mut file, length - tail, tail).map_err(unreadable)?;
    let (place, size) = directory(&mut file, length, &end)
        .map_err(unreadable)?
        .ok_or_else(|| at.damaged("it breaks off or is no zip archive: no directory stands at its end"))?;
    if size > DIRECTORY || place.checked_add(size).is_none_or(|end| end > length) {
        return Err(at.damaged(format_args!("a directory of {size} bytes at byte {place} is not in the file")));
    }
    let directory = read_at(&mut file, place, size).map_err(unreadable)?;
    let mut rest = directory.as_slice();
    let mut members = Vec::new();
    while !rest.is_empty() {
        let (member, next) = entry(rest).ok_or_else(|| at.damaged("its directory is damaged"))?;
        let Some(member) = member else {
            return Err(at.damaged("a member is encrypted or compressed in a way that numpy does not write"));
        };
        if member.place >= length || member.packed > length || member.size > member.packed.saturating_mul(RATIO) {
            let Member { name, size, .. } = member;
            return Err(at.damaged(format_args!("member `{name}` of {size} bytes cannot be in a file of {length}")));
        }
        members.push(member);
        rest = next;
    }
    Ok(members)
}

/// Where the directory stands and how long it is, by the end record or its successor for large archives.
fn directory(file: &mut File, length: u64, end: &[u8]) -> io::Result<Option<(u64, u64)>> {
    // The comment behind it reaches to the end of the file; what only looks like the record is part of something else.
    let reaches =
        |&at: &usize| u16_at(end, at + 20).is_some_and(|comment| at as u64 + 22 + comment == end.len() as u64);
    let mut records = (0..end.len()).rev().filter(|&at| end[at..].starts_with(b"PK\x05\x06"));
    let Some(found) = records.find(reaches) else { return Ok(None) };
    let (size, place) = (u32_at(end, found + 12), u32_at(end, found + 16));
    let (Some(size), Some(place)) = (size, place) else { return Ok(None) };
    if u64::from(u32::MAX) != place && u64::from(u32::MAX) != size {
        return Ok(Some((place, size)));
    }
    let locator = found.checked_sub(20).filter(|&l| end[l..].starts_with(b"PK\x06\x07"));
    let Some(place) = locator.and_then(|l| u64_at(end, l + 8)).filter(|&p| p < length) else { return Ok(None) };
    let record = read_at(file, place, 56)?;
    if !record.starts_with(b"PK\x06\x06") {
        return Ok(None);
    }
    Ok(u64_at(&record, 48).zip(u64_at(&record, 40)))
}

/// The first entry of a directory, `Some(None)` for one that cannot be read, and what stands behind it.
#[allow(clippy::type_complexity)]
fn entry(bytes: &[u8]) -> Option<(Option<Member>, &[u8])> {
    if !bytes.starts_with(b"PK\x01\x02") {
        return None;
    }
    let short = |at| u16_at(bytes, at).map(|v| v as usize);
    let (flags, method) = (short(8)?, short(10)?);
    let (names, extras, comments) = (short(28)?, short(30)?, short(32)?);
    let name = String::from_utf8_lossy(bytes.get(46..46 + names)?).into_owned();
    let mut extra = bytes.get(46 + names..46 + names + extras)?;
    let next = bytes.get(46 + names + extras + comments..)?;
    let crc = u32_at(bytes, 16)? as u32;
    let mut numbers = [u32_at(bytes, 24)?, u32_at(bytes, 20)?, u32_at(bytes, 42)?];
    while let (Some(id), Some(length)) = (u16_at(extra, 0), u16_at(extra, 2)) {
        let field = extra.get(4..4 + length as usize)?;
        if id == 1 {
            // What does not fit into 32 bits stands here, in the same order.
            let large = numbers.iter_mut().filter(|n| **n == u64::from(u32::MAX));
            for (i, number) in large.enumerate() {
                *number = u64_at(field, 8 * i)?;
            }
        }
        extra = &extra[4 + length as usize..];
    }
    let [size, packed, place] = numbers;
    let readable = flags & 1 == 0 && matches!(method, 0 | 8) && (method == 8 || size == packed);
    let member = readable.then_some(Member { name, size, packed, deflated: method == 8, crc, place });
    Some((member, next))
}

/// The contents of a member; its length and checksum are checked at its end.
pub(crate) fn open(at: &Location, member: &Member) -> Result<Contents> {
    let (mut file, length) = open::file(&at.file)?;
    let unreadable = |source| crate::Problem::Unreadable { source }.of(at.path.clone());
    let own = read_at(&mut file, member.place, 30).map_err(unreadable)?;
    let skip = u16_at(&own, 26).zip(u16_at(&own, 28)).filter(|_| own.starts_with(b"PK\x03\x04"));
    let start = skip.and_then(|(name, extra)| member.place.checked_add(30 + name + extra));
    let Some(start) = start.filter(|&s| s.checked_add(member.packed).is_some_and(|end| end <= length)) else {
        return Err(at.damaged(format_args!("member `{}` is not where the directory says", member.name)));
    };
    file.seek(SeekFrom::Start(start)).map_err(unreadable)?;
    let packed = BufReader::with_capacity(BUFFER, file.take(member.packed));
    let bytes: Box<dyn Read + Send> =
        if member.deflated { Box::new(DeflateDecoder::new(packed)) } else { Box::new(packed) };
    Ok(Contents { bytes, left: member.size, expected: member.crc, crc: Crc::new() })
}

/// A member's bytes, counted and summed.
pub(crate) struct Contents {
    bytes: Box<dyn Read + Send>,
    left: u64,
    expected: u32,
    crc: Crc,
}

impl Read for Contents {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bad = |what| Err(io::Error::new(io::ErrorKind::InvalidData, what));
        let count = self.bytes.read(buffer)?;
        self.crc.update(&buffer[..count]);
        match self.left.checked_sub(count as u64) {
            None => return bad("more data than the archive announces"),
            Some(left) => self.left = left,
        }
        if count == 0 && !buffer.is_empty() {
            if self.left > 0 {
                return bad("fewer data than the archive announces");
            }
            if self.crc.sum() != self.expected {
                return bad("the checksum is wrong");
            }
        }
        Ok(count)
    }
}
