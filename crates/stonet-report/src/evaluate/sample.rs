//! Rows that stand for all others where rows themselves are needed: a uniform sample of a stream.

use ndarray::{Array2, ArrayView2};
use stonet::Seed;
use stonet::base::streams::evaluation as streams;
use stonet::rows::Reservoir;

/// Rows of the usual sample; a table of at most as many is kept whole.
pub const SAMPLE: usize = 2000;

/// A uniform sample of the rows that were added, of fixed size.
pub struct RowSample {
    reservoir: Reservoir,
    rows: Vec<(usize, Vec<f64>)>,
}

impl RowSample {
    /// Of the usual size. Which rows are drawn depends on the seed and on the order of the rows, not on their division
    /// into batches.
    pub fn new(seed: Seed) -> Self {
        RowSample::sized(SAMPLE, seed.child(streams::SAMPLE))
    }

    /// Of this size.
    pub fn sized(size: usize, seed: Seed) -> Self {
        RowSample { reservoir: Reservoir::new(size, seed), rows: Vec::new() }
    }

    /// More rows: the columns of all parts, side by side.
    pub fn add(&mut self, parts: &[ArrayView2<'_, f64>]) {
        for row in 0..parts.first().map_or(0, |p| p.nrows()) {
            let number = self.reservoir.seen() as usize;
            let Some(place) = self.reservoir.place() else { continue };
            let values = parts.iter().flat_map(|p| p.row(row).to_vec()).collect();
            match self.rows.get_mut(place) {
                Some(kept) => *kept = (number, values),
                None => self.rows.push((number, values)),
            }
        }
    }

    /// The numbers of the rows, ascending, and their values.
    pub fn finish(mut self) -> (Vec<usize>, Array2<f64>) {
        self.rows.sort_unstable_by_key(|(number, _)| *number);
        let columns = self.rows.first().map_or(0, |r| r.1.len());
        let values = Array2::from_shape_fn((self.rows.len(), columns), |(i, j)| self.rows[i].1[j]);
        (self.rows.into_iter().map(|r| r.0).collect(), values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::s;

    #[test]
    fn a_table_that_fits_is_kept_whole_and_a_longer_one_is_sampled_alike_in_any_batches() {
        let table = Array2::from_shape_fn((SAMPLE + 500, 2), |(i, j)| (2 * i + j) as f64);
        let drawn = |rows: usize, batch: usize| {
            let mut sample = RowSample::new(Seed::new(3));
            for first in (0..rows).step_by(batch) {
                let part = table.slice(s![first..(first + batch).min(rows), ..]);
                sample.add(&[part.slice(s![.., ..1]), part.slice(s![.., 1..])]);
            }
            sample.finish()
        };
        let (rows, values) = drawn(40, 7);
        assert_eq!((rows, values), ((0..40).collect(), table.slice(s![..40, ..]).to_owned()));
        let (rows, values) = drawn(SAMPLE + 500, SAMPLE + 500);
        assert_eq!((rows.len(), rows.is_sorted()), (SAMPLE, true));
        assert!(rows.iter().zip(values.outer_iter()).all(|(&r, v)| v == table.row(r)));
        assert_eq!(drawn(SAMPLE + 500, 333), (rows, values));
    }
}
