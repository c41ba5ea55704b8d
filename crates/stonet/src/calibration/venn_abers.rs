//! Venn-Abers prediction for two classes (Vovk, Petej & Fedorova 2015): isotonic regression of the held-out rows and the
//! new one, which is given either label in turn.

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use crate::base::{Error, Result};
use crate::metrics::check_labels;
use crate::score::{Builder, Knots, Node, Op, Sparse};

/// The probability of the second class as two functions of the score z_1 − z_0.
///
/// For exchangeable rows one of the two is calibrated: the one under the label that the row has. Between them lies the
/// probability that minimises the largest regret in log-loss, p_1 / (1 − p_0 + p_1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct VennAbers {
    /// The new row under the first label, and under the second.
    maps: [Knots; 2],
}

/// What is written to files.
#[derive(Serialize, Deserialize)]
struct Parts {
    first: Knots,
    second: Knots,
}

impl TryFrom<Parts> for VennAbers {
    type Error = Error;
    fn try_from(Parts { first, second }: Parts) -> Result<Self> {
        let sound = |knots: &Knots| {
            !knots.x.is_empty()
                && knots.x.len() == knots.y.len()
                && knots.x.iter().all(|x| x.is_finite())
                && knots.x.windows(2).all(|x| x[0] < x[1])
                && knots.y.iter().all(|y| (0.0..=1.0).contains(y))
        };
        // The second is never 0: a row of that label is among those that it is the mean of.
        if !sound(&first) || !sound(&second) || second.y.contains(&0.0) {
            return Err(Error::Inconsistent { what: "the functions of Venn-Abers prediction are none" });
        }
        Ok(VennAbers { maps: [first, second] })
    }
}

impl From<VennAbers> for Parts {
    fn from(VennAbers { maps: [first, second] }: VennAbers) -> Self {
        Parts { first, second }
    }
}

/// Points that share a value of an isotonic regression.
#[derive(Clone, Copy, Default)]
struct Pool {
    ones: f64,
    rows: f64,
}

impl Pool {
    fn with(self, other: Pool) -> Pool {
        Pool { ones: self.ones + other.ones, rows: self.rows + other.rows }
    }

    fn mean(self) -> f64 {
        self.ones / self.rows
    }
}

/// The regressions of all beginnings of a list of points: the last pool of each, and where the one before it is.
struct Beginnings(Vec<(Pool, Option<usize>)>);

impl Beginnings {
    /// `merges` tells whether the pool before has to join the one behind it.
    fn new(points: impl Iterator<Item = Pool>, merges: impl Fn(f64, f64) -> bool) -> Self {
        let mut all: Vec<(Pool, Option<usize>)> = Vec::new();
        for (i, mut pool) in points.enumerate() {
            let mut before = i.checked_sub(1);
            while let Some((last, further)) =
                before.map(|b| all[b]).filter(|(last, _)| merges(last.mean(), pool.mean()))
            {
                (pool, before) = (last.with(pool), further);
            }
            all.push((pool, before));
        }
        Beginnings(all)
    }

    /// The last pool of the first `points` points, and how many points lie before it.
    fn last(&self, points: usize) -> Option<(Pool, usize)> {
        let (pool, before) = self.0[points.checked_sub(1)?];
        Some((pool, before.map_or(0, |b| b + 1)))
    }
}

impl VennAbers {
    /// Learns from the logits of two classes.
    pub(crate) fn fit(z: ArrayView2<'_, f64>, labels: &[usize]) -> Result<Self> {
        Error::check(z.ncols() == 2, "classes", z.ncols(), "2 for Venn-Abers prediction")?;
        check_labels(labels, z.nrows(), 2)?;
        let mut rows: Vec<(f64, usize)> = z.outer_iter().zip(labels).map(|(z, &l)| (z[1] - z[0], l)).collect();
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut scores, mut points): (Vec<f64>, Vec<Pool>) = (Vec::new(), Vec::new());
        for tied in rows.chunk_by(|a, b| a.0 == b.0) {
            scores.push(tied[0].0);
            points.push(Pool { ones: tied.iter().map(|r| r.1 as f64).sum(), rows: tied.len() as f64 });
        }
        let below = Beginnings::new(points.iter().copied(), |before, behind| before >= behind);
        let above = Beginnings::new(points.iter().rev().copied(), |before, behind| before <= behind);
        // The new row stands alone between points `left` and `left` + 1, or with the points between `left` and `right`.
        let value = |label: usize, left: usize, right: usize| {
            let new = Pool { ones: label as f64, rows: 1.0 };
            let mut pool = points[left..right].iter().fold(new, |pool, p| pool.with(*p));
            let (mut left, mut right) = (left, points.len() - right);
            loop {
                if let Some((next, rest)) = below.last(left).filter(|(next, _)| next.mean() >= pool.mean()) {
                    (pool, left) = (pool.with(next), rest);
                } else if let Some((next, rest)) = above.last(right).filter(|(next, _)| next.mean() <= pool.mean()) {
                    (pool, right) = (pool.with(next), rest);
                } else {
                    return pool.mean();
                }
            }
        };
        let map = |label: usize| {
            let mut pieces: Vec<[f64; 3]> = Vec::new();
            let mut push = |low: f64, high: f64, y: f64| match pieces.last_mut() {
                Some(last) if last[2] == y => last[1] = high,
                _ if low <= high => pieces.push([low, high, y]),
                _ => {}
            };
            for i in 0..=points.len() {
                let (low, high) = (i.checked_sub(1).map(|i| scores[i]), scores.get(i).copied());
                let between = (low.map_or(f64::NEG_INFINITY, f64::next_up), high.map_or(f64::INFINITY, f64::next_down));
                if between.0 <= between.1 {
                    push(between.0, between.1, value(label, i, i));
                }
                high.into_iter().for_each(|s| push(s, s, value(label, i, i + 1)));
            }
            knots(&pieces)
        };
        Ok(VennAbers { maps: [map(0), map(1)] })
    }

    /// p_0 and p_1 of every row of logits.
    pub(crate) fn intervals(&self, z: ArrayView2<'_, f64>) -> Array2<f64> {
        Array2::from_shape_fn((z.nrows(), 2), |(i, j)| self.maps[j].at(z[[i, 1]] - z[[i, 0]]))
    }

    /// The probabilities of both classes as operations on logits.
    pub(crate) fn lower(&self, b: &mut Builder, z: Node) -> Node {
        let mut twice = Sparse::default();
        (0..2).for_each(|_| twice.push([(0, -1.0), (1, 1.0)], 0.0));
        let scores = b.combine(z, twice, false);
        let [first, second] = &self.maps;
        let rest = Knots { x: first.x.clone(), y: first.y.iter().map(|p| 1.0 - p).collect() };
        let both = b.op(Op::Interpolate { of: scores, maps: vec![rest, second.clone()] });
        b.op(Op::Normalise { of: both, otherwise: both, least: 0.0 })
    }
}

/// A function that is constant on each piece; pieces follow one another without room between them.
fn knots(pieces: &[[f64; 3]]) -> Knots {
    let mut knots = Knots { x: Vec::new(), y: Vec::new() };
    for &[low, high, y] in pieces {
        for x in [low, high] {
            if x.is_finite() && knots.x.last().is_none_or(|&last| last < x) {
                knots.x.push(x);
                knots.y.push(y);
            }
        }
    }
    if let (true, Some(&[_, _, y])) = (knots.x.is_empty(), pieces.first()) {
        knots = Knots { x: vec![0.0], y: vec![y] };
    }
    knots
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use crate::calibration::Isotonic;
    use rand::RngExt;

    fn draw(n: usize, discrete: bool, seed: u64) -> (Array2<f64>, Vec<usize>) {
        let mut rng = Seed::new(seed).rng();
        let scores: Vec<f64> = (0..n)
            .map(|_| {
                let s: f64 = rng.random_range(-3.0..3.0);
                if discrete { s.round() } else { s }
            })
            .collect();
        let labels = scores.iter().map(|s| usize::from(rng.random_bool(1.0 / (1.0 + (-s).exp())))).collect();
        (Array2::from_shape_fn((n, 2), |(i, k)| if k == 0 { 0.25 } else { scores[i] + 0.25 }), labels)
    }

    #[test]
    fn both_functions_are_regressions_with_the_new_row_added() {
        for (discrete, seed) in [(false, 1), (true, 2), (false, 3)] {
            let (z, labels) = draw(60, discrete, seed);
            let fitted = VennAbers::fit(z.view(), &labels).unwrap();
            let scores: Vec<f64> = z.outer_iter().map(|z| z[1] - z[0]).collect();
            let more =
                [-9.0, -1.1, 0.0, 0.3, 2.0, 9.0].into_iter().chain(scores.iter().flat_map(|s| [*s, s.next_up()]));
            for new in more {
                let found = fitted.intervals(ndarray::array![[0.0, new]].view());
                for label in [0, 1] {
                    let x: Vec<f64> = scores.iter().copied().chain([new]).collect();
                    let y: Vec<f64> = labels.iter().copied().chain([label]).map(|l| l as f64).collect();
                    let expected = Isotonic::fit(&x, &y, None).unwrap().at(new);
                    assert!((found[[0, label]] - expected).abs() < 1e-12, "{new} {label}: {found}, {expected}");
                }
                assert!(found[[0, 0]] < found[[0, 1]]);
            }
        }
    }

    #[test]
    fn one_point_has_functions_too() {
        let fitted = VennAbers::fit(ndarray::array![[0.0, 1.0], [0.0, 1.0]].view(), &[0, 1]).unwrap();
        let p = fitted.intervals(ndarray::array![[0.0, -5.0], [0.0, 1.0], [0.0, 5.0]].view());
        let expected = [[0.0, 2.0 / 3.0], [1.0 / 3.0, 2.0 / 3.0], [1.0 / 3.0, 1.0]];
        assert!(p.iter().zip(expected.iter().flatten()).all(|(a, b)| (a - b).abs() < 1e-15), "{p}");
    }
}
