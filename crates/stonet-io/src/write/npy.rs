//! Two-dimensional arrays as numpy saves them; the number of rows is filled in at the end.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use super::{Cells, Column, Format, Type};

/// Bytes of the header, with room for any number of rows; numpy wants a multiple of 64.
const HEADER: usize = 128;

struct Npy {
    out: BufWriter<File>,
    columns: usize,
    single: bool,
    rows: u64,
}

pub(super) fn open(file: File, columns: &[Column]) -> io::Result<Box<dyn Format>> {
    let single = columns.iter().all(|c| c.kind == Type::F32);
    let mut npy = Npy { out: BufWriter::with_capacity(1 << 16, file), columns: columns.len(), single, rows: 0 };
    let header = npy.header();
    npy.out.write_all(&header)?;
    Ok(Box::new(npy))
}

impl Npy {
    fn header(&self) -> Vec<u8> {
        let (size, rows, columns) = (if self.single { 4 } else { 8 }, self.rows, self.columns);
        let text = format!("{{'descr': '<f{size}', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
        let mut header = b"\x93NUMPY\x01\x00".to_vec();
        header.extend((HEADER as u16 - 10).to_le_bytes());
        header.extend(text.bytes());
        header.resize(HEADER - 1, b' ');
        header.push(b'\n');
        header
    }
}

impl Format for Npy {
    fn rows(&mut self, cells: &[Cells<'_>]) -> io::Result<()> {
        let count = cells[0].len();
        for row in 0..count {
            for cells in cells {
                let Cells::Numbers(values) = cells else { continue };
                match self.single {
                    true => self.out.write_all(&(values[row] as f32).to_le_bytes())?,
                    false => self.out.write_all(&values[row].to_le_bytes())?,
                }
            }
        }
        self.rows += count as u64;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        let header = self.header();
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(&header)?;
        self.out.flush()
    }
}
