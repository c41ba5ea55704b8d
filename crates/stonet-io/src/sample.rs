//! A uniform sample of a file's rows, for files larger than memory.

use std::path::Path;

use stonet::base::Cancelled;
use stonet::base::streams::sampling as streams;
use stonet::rows::Reservoir;
use stonet::{Seed, Ticker};

use crate::{Reading, Result, Table, memory};

/// Rows per batch while a file is read; some batches wait.
const ROWS: usize = 1 << 14;

/// How many rows of a file are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// At most so many, …
    pub most: usize,
    /// … and at most this share of all rows, but at least one.
    pub share: f64,
    /// Which; it and the order of the rows decide alone.
    pub seed: Seed,
}

/// Rows of a file, drawn without replacement, every set of rows as likely as any other.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The rows, in the order of the file.
    pub table: Table,
    /// Their numbers, from 0, ascending.
    pub rows: Vec<u64>,
    /// All rows of the file.
    pub total: u64,
}

/// Rows by their places in the sample.
struct Kept {
    rows: Vec<u64>,
    values: Vec<f64>,
    texts: Vec<Vec<String>>,
}

impl Reading {
    /// Draws rows of these columns while the file is read once; memory is that of the sample and of a few batches.
    /// `tick(done, total)` is told the rows (a total of 0 where the file does not tell it) and cancels by returning
    /// false.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("rows.csv");
    /// # std::fs::write(&path, "x,y\n1,10\n2,20\n3,30\n4,40\n")?;
    /// use stonet::Seed;
    /// use stonet_io::{Reading, Sampling};
    /// let sampling = Sampling { most: 100, share: 0.5, seed: Seed::new(1) };
    /// let sample = Reading::default().sample(&path, &sampling, &|_, _| true)?;
    /// assert_eq!((sample.table.rows(), sample.total), (2, 4));
    /// assert_eq!(sample.table.column("y")?[0], 10.0 * (sample.rows[0] + 1) as f64);
    /// # Ok(())
    /// # }
    /// ```
    pub fn sample(&self, path: &Path, sampling: &Sampling, tick: Ticker<'_>) -> Result<Sample> {
        let batches = self.batches(path, ROWS)?;
        let (names, text_names) = (batches.names().to_vec(), batches.text_names().to_vec());
        let announced = batches.rows().unwrap_or(0) as usize;
        let (left_out, dropping, limit) = (batches.left_out().to_vec(), batches.dropping(), memory::limit());
        let mut reservoir = Reservoir::new(sampling.most.max(1), sampling.seed.child(streams::RESERVOIR));
        let mut kept = Kept { rows: Vec::new(), values: Vec::new(), texts: vec![Vec::new(); text_names.len()] };
        for table in batches.ahead() {
            let table = table?;
            let texts: Vec<&[String]> = text_names.iter().map(|n| table.text(n)).collect::<Result<_>>()?;
            for i in 0..table.rows() {
                let number = reservoir.seen();
                if let Some(place) = reservoir.place() {
                    kept.put(place, number, table.all_columns().iter().map(|c| c[i]), texts.iter().map(|t| &t[i]));
                }
            }
            memory::check(path, kept.rows.len() as u64, kept.bytes(), limit)?;
            if !tick(reservoir.seen() as usize, announced) {
                return Err(Cancelled::rows(reservoir.seen() as usize, announced).into());
            }
        }
        let total = reservoir.seen();
        let limit = ((sampling.share * total as f64) as usize).max(1);
        let order = kept.order(limit, sampling.seed.child(streams::ORDER));
        let sample = kept.table(path, names, text_names, &order, total)?;
        Ok(Sample { table: sample.table.with_notes(left_out, dropping.so_far()), ..sample })
    }
}

impl Kept {
    /// Memory for the rows, roughly.
    fn bytes(&self) -> u64 {
        let characters: usize = self.texts.iter().flatten().map(|t| t.len() + size_of::<String>()).sum();
        (8 * (self.rows.len() + self.values.len()) + characters) as u64
    }

    fn put<'t>(
        &mut self,
        place: usize,
        number: u64,
        row: impl ExactSizeIterator<Item = f64>,
        texts: impl Iterator<Item = &'t String>,
    ) {
        let start = place * row.len();
        if place == self.rows.len() {
            self.rows.push(number);
            self.values.extend(row);
            self.texts.iter_mut().zip(texts).for_each(|(all, text)| all.push(text.clone()));
            return;
        }
        self.rows[place] = number;
        self.values[start..].iter_mut().zip(row).for_each(|(to, value)| *to = value);
        self.texts.iter_mut().zip(texts).for_each(|(all, text)| all[place].clone_from(text));
    }

    /// Places in the order of the file; where there are more than the limit, a sample of them.
    fn order(&self, limit: usize, seed: Seed) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.rows.len()).collect();
        places.sort_unstable_by_key(|&p| self.rows[p]);
        if places.len() > limit {
            let mut reservoir = Reservoir::new(limit, seed);
            let mut drawn = places[..limit].to_vec();
            places.iter().for_each(|&p| reservoir.place().into_iter().for_each(|i| drawn[i] = p));
            drawn.sort_unstable_by_key(|&p| self.rows[p]);
            return drawn;
        }
        places
    }

    fn table(
        &self,
        path: &Path,
        names: Vec<String>,
        text_names: Vec<String>,
        order: &[usize],
        total: u64,
    ) -> Result<Sample> {
        let width = names.len();
        let columns = (0..width).map(|k| order.iter().map(|&p| self.values[p * width + k]).collect()).collect();
        let texts = self.texts.iter().map(|all| order.iter().map(|&p| all[p].clone()).collect());
        let table = Table::of_columns(path, names, columns, order.len())?
            .with_texts(text_names.into_iter().zip(texts).collect());
        Ok(Sample { table, rows: order.iter().map(|&p| self.rows[p]).collect(), total })
    }
}
