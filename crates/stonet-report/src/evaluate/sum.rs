//! A sum that does not depend on how its terms are divided into batches.

/// Partial sums that are carried side by side.
const LANES: usize = 8;

/// The sum of a stream of numbers: bit for bit that of an array of all of them (`ndarray`'s `sum`), whatever the
/// batches.
#[derive(Debug, Clone, Default)]
pub struct Sum {
    lanes: [f64; LANES],
    /// Terms that wait for a full row of lanes.
    waiting: [f64; LANES],
    number: usize,
}

impl Sum {
    /// One more term.
    pub fn add(&mut self, term: f64) {
        self.waiting[self.number] = term;
        self.number += 1;
        if self.number == LANES {
            self.lanes.iter_mut().zip(self.waiting).for_each(|(sum, term)| *sum += term);
            self.number = 0;
        }
    }

    /// The sum of all terms so far.
    pub fn total(&self) -> f64 {
        let half = LANES / 2;
        let paired = (0..half).fold(0.0, |sum, i| sum + (self.lanes[i] + self.lanes[i + half]));
        self.waiting[..self.number].iter().fold(paired, |sum, term| sum + term)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    #[test]
    fn it_is_the_sum_of_an_array_bit_for_bit() {
        for rows in 0..70 {
            let terms =
                Array2::from_shape_fn((rows, 3), |(i, j)| ((i * 3 + j) as f64 * 0.7).sin() * 10f64.powi(j as i32));
            let mut sum = Sum::default();
            terms.iter().for_each(|t| sum.add(*t));
            assert_eq!(sum.total(), terms.sum(), "{rows} rows");
        }
        let mut sum = Sum::default();
        [1.0, f64::INFINITY].into_iter().for_each(|t| sum.add(t));
        assert_eq!(sum.total(), f64::INFINITY);
    }
}
