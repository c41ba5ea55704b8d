//! A uniform sample without replacement from a stream of unknown length (Vitter 1985, algorithm R).

use rand::RngExt;

use crate::base::{Rng, Seed};

/// Decides, row after row, which rows are in the sample; it depends on the seed and on the order of the rows alone.
///
/// ```
/// use stonet::Seed;
/// use stonet::rows::Reservoir;
/// let (mut reservoir, mut sample) = (Reservoir::new(3, Seed::new(1)), vec![0; 3]);
/// for row in 0..100 {
///     if let Some(place) = reservoir.place() {
///         sample[place] = row; // what stood there is out again
///     }
/// }
/// assert!(sample.iter().any(|&row| row > 2));
/// ```
#[derive(Debug, Clone)]
pub struct Reservoir {
    size: u64,
    seen: u64,
    rng: Rng,
}

impl Reservoir {
    /// A sample of so many rows, or of all where there are fewer.
    pub fn new(size: usize, seed: Seed) -> Self {
        Reservoir { size: size as u64, seen: 0, rng: seed.rng() }
    }

    /// The place in the sample that the next row takes, from 0; none if it is left out. The first rows take the places
    /// in turn.
    pub fn place(&mut self) -> Option<usize> {
        let place = if self.seen < self.size { self.seen } else { self.rng.random_range(0..=self.seen) };
        self.seen += 1;
        (place < self.size).then_some(place as usize)
    }

    /// Rows so far.
    pub fn seen(&self) -> u64 {
        self.seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(size: usize, rows: usize, seed: Seed) -> Vec<usize> {
        let mut reservoir = Reservoir::new(size, seed);
        let mut kept = vec![usize::MAX; size.min(rows)];
        (0..rows).for_each(|row| reservoir.place().into_iter().for_each(|place| kept[place] = row));
        kept
    }

    #[test]
    fn every_row_and_every_pair_is_as_likely_as_any_other() {
        const DRAWS: u64 = 60_000;
        let (n, k) = (10, 3);
        let mut pairs = vec![vec![0u32; n]; n];
        for draw in 0..DRAWS {
            let kept = sample(k, n, Seed::new(7).child(draw));
            kept.iter().for_each(|&a| kept.iter().for_each(|&b| pairs[a][b] += 1));
        }
        for (a, counts) in pairs.iter().enumerate() {
            for (b, &count) in counts.iter().enumerate() {
                // k/n for one row, k(k − 1)/(n(n − 1)) for two.
                let p = if a == b { 0.3 } else { 6.0 / 90.0 };
                let sd = (p * (1.0 - p) / DRAWS as f64).sqrt();
                let share = f64::from(count) / DRAWS as f64;
                assert!((share - p).abs() < 4.5 * sd, "{a} {b}: {share} {p}");
            }
        }
    }

    #[test]
    fn fewer_rows_than_places_are_all_there() {
        assert_eq!(sample(5, 3, Seed::new(1)), [0, 1, 2]);
        assert_eq!(sample(3, 3, Seed::new(1)), [0, 1, 2]);
        assert_eq!(sample(0, 3, Seed::new(1)), [0usize; 0]);
    }
}
