//! Where intervals cover less than they promise: slices and slabs of the rows that are found on one half and judged on
//! the other, how well the inputs predict coverage, and the least coverage that chance alone explains.

mod ert;
mod least;
mod slab;
mod slice;

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

pub use ert::{Ert, ert};
pub use least::{Least, PART_ROWS, least_by_chance};
pub use slab::{SLAB_SHARE, Slab, worst_slab};
pub use slice::{SLICE_SHARE, Slice, Variable, worst_slice};

use crate::base::streams::diagnosis as streams;
use crate::base::{Error, Result, Seed};
use crate::rows::dataset::check_finite;
use crate::rows::{Level, folds};

/// Rows that a search needs: half of them are searched, and half of those may be one slice.
pub const SEARCH_ROWS: usize = 200;
/// Rows of the searched half that a slice or slab has at least.
const LEAST_ROWS: usize = 50;

/// Rows of one target, and whether their intervals hold the target.
#[derive(Debug, Clone, Copy)]
pub struct Covered<'a> {
    features: ArrayView2<'a, f64>,
    prediction: &'a [f64],
    length: &'a [f64],
    hits: &'a [bool],
    level: Level,
}

impl<'a> Covered<'a> {
    /// Checks that there is one of everything for each row. Lengths may be infinite.
    pub fn new(
        features: ArrayView2<'a, f64>,
        prediction: &'a [f64],
        length: &'a [f64],
        hits: &'a [bool],
        level: Level,
    ) -> Result<Self> {
        let rows = features.nrows();
        for (what, found) in [("predictions", prediction.len()), ("lengths", length.len()), ("hits", hits.len())] {
            if found != rows {
                return Err(Error::shape(format!("{what} (one per row of features)"), rows, found));
            }
        }
        check_finite("features", features)?;
        if prediction.iter().chain(length).any(|v| v.is_nan()) {
            return Err(Error::Inconsistent { what: "a prediction or the length of an interval is no number" });
        }
        Ok(Covered { features, prediction, length, hits, level })
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.hits.len()
    }

    /// A row's value.
    fn value(&self, of: Variable, row: usize) -> f64 {
        match of {
            Variable::Feature(column) => self.features[[row, column]],
            Variable::Prediction => self.prediction[row],
            Variable::Length => self.length[row],
        }
    }

    /// Everything that rows can be divided by.
    fn variables(&self) -> Vec<Variable> {
        let features = (0..self.features.ncols()).map(Variable::Feature);
        features.chain([Variable::Prediction, Variable::Length]).collect()
    }

    /// A random half to search, and the other half to judge by; none for fewer than [`SEARCH_ROWS`] rows.
    fn halves(&self, seed: Seed) -> Result<Option<[Vec<usize>; 2]>> {
        if self.rows() < SEARCH_ROWS {
            return Ok(None);
        }
        let mut halves = folds(self.rows(), 2, seed.child(streams::HALVES))?;
        halves.iter_mut().for_each(|half| half.sort_unstable());
        Ok(<[Vec<usize>; 2]>::try_from(halves).ok())
    }

    fn tally(&self, rows: impl Iterator<Item = usize>) -> Tally {
        rows.fold(Tally::default(), |t, row| Tally { rows: t.rows + 1, hits: t.hits + usize::from(self.hits[row]) })
    }
}

/// Rows, and how many of them were covered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// All of them.
    pub rows: usize,
    /// Those inside their intervals.
    pub hits: usize,
}

impl Tally {
    /// Hits above those that the level promises, in binomial standard deviations.
    fn z(self, level: Level) -> f64 {
        let (rows, p) = (self.rows as f64, level.get());
        (self.hits as f64 - rows * p) / (rows * p * (1.0 - p)).sqrt()
    }

    /// The share of hits.
    fn coverage(self) -> f64 {
        self.hits as f64 / self.rows as f64
    }
}

/// Hits among the first rows of a ranking, from none to all.
fn sums(order: impl Iterator<Item = bool>) -> Vec<usize> {
    let mut hits = vec![0];
    hits.extend(order.scan(0, |sum, hit| {
        *sum += usize::from(hit);
        Some(*sum)
    }));
    hits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Work;
    use crate::base::binomial::{binomial_cdf, binomial_upper_tail};
    use ndarray::{Array2, array};
    use rand::RngExt;
    use rand_distr::{Distribution, StandardNormal};

    pub const LEVEL: f64 = 0.9;

    /// Normal features, and hits whose probability depends on them.
    pub struct Simulated {
        pub features: Array2<f64>,
        prediction: Vec<f64>,
        length: Vec<f64>,
        hits: Vec<bool>,
    }

    impl Simulated {
        pub fn new(rows: usize, columns: usize, seed: u64, p: impl Fn(&[f64]) -> f64) -> Self {
            let mut rng = Seed::new(seed).rng();
            let features = Array2::from_shape_simple_fn((rows, columns), || StandardNormal.sample(&mut rng));
            let mut hit = |x: ndarray::ArrayView1<'_, f64>| rng.random::<f64>() < p(&x.to_vec());
            let hits = features.outer_iter().map(&mut hit).collect();
            let prediction = features.outer_iter().map(|x| x.sum()).collect();
            let length = features.outer_iter().map(|x| x[0].exp()).collect();
            Simulated { features, prediction, length, hits }
        }

        pub fn covered(&self) -> Covered<'_> {
            let level = Level::new(LEVEL).unwrap();
            Covered::new(self.features.view(), &self.prediction, &self.length, &self.hits, level).unwrap()
        }
    }

    /// What was found on one half and counted on the other half must look like any other rows of exact coverage.
    /// Returns the mean coverage on the half that was searched.
    pub fn judged_fairly(found: &[(Tally, Tally)]) -> f64 {
        let n = found.len() as f64;
        // Clopper and Pearson's interval leaves the level out in at most 5 % of all cases.
        let out = found.iter().filter(|(_, judged)| {
            binomial_cdf(judged.hits, judged.rows, LEVEL) < 0.025
                || binomial_upper_tail(judged.hits, judged.rows, LEVEL) < 0.025
        });
        assert!((out.count() as f64) < n * 0.05 + 4.5 * (n * 0.05 * 0.95).sqrt());
        let sum = |of: &dyn Fn(&(Tally, Tally)) -> usize| found.iter().map(of).sum::<usize>() as f64;
        let rows = sum(&|t| t.1.rows);
        let judged = sum(&|t| t.1.hits) / rows;
        assert!((judged - LEVEL).abs() < 4.5 * (LEVEL * (1.0 - LEVEL) / rows).sqrt(), "{judged}");
        sum(&|t| t.0.hits) / sum(&|t| t.0.rows)
    }

    #[test]
    fn parts_that_do_not_fit_are_refused_and_few_rows_are_not_searched() {
        let level = Level::new(LEVEL).unwrap();
        let x = array![[1.0], [2.0]];
        assert!(Covered::new(x.view(), &[1.0], &[1.0; 2], &[true; 2], level).is_err());
        assert!(Covered::new(x.view(), &[1.0; 2], &[1.0; 2], &[true; 3], level).is_err());
        assert!(Covered::new(x.view(), &[f64::NAN; 2], &[1.0; 2], &[true; 2], level).is_err());
        assert!(Covered::new(array![[1.0], [f64::NAN]].view(), &[1.0; 2], &[1.0; 2], &[true; 2], level).is_err());
        let few = Simulated::new(SEARCH_ROWS - 1, 2, 1, |_| LEVEL);
        assert_eq!(worst_slice(&few.covered(), Seed::new(1)).unwrap(), None);
        assert_eq!(worst_slab(&few.covered(), Seed::new(1)).unwrap(), None);
        assert_eq!(ert(&few.covered(), Seed::new(1), &Work::unwatched()).unwrap(), None);
        // As many rows as are needed, without anything to divide them by.
        let (nothing, same) = (Array2::zeros((SEARCH_ROWS, 0)), [1.0; SEARCH_ROWS]);
        let hits = [true; SEARCH_ROWS];
        let flat = Covered::new(nothing.view(), &same, &[f64::INFINITY; SEARCH_ROWS], &hits, level).unwrap();
        assert_eq!(worst_slice(&flat, Seed::new(1)).unwrap(), None);
        assert_eq!(worst_slab(&flat, Seed::new(1)).unwrap(), None);
        assert!(ert(&flat, Seed::new(1), &Work::unwatched()).unwrap().is_some());
    }

    #[test]
    fn halves_hold_every_row_once() {
        let rows = Simulated::new(301, 1, 1, |_| LEVEL);
        let [search, judge] = rows.covered().halves(Seed::new(4)).unwrap().unwrap();
        let mut all = [search.clone(), judge].concat();
        all.sort_unstable();
        assert_eq!((search.len(), all), (151, (0..301).collect()));
    }
}
