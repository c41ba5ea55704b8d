//! Isotonic regression by pooling adjacent violators, and the one-vs-rest calibration of classes by it.

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use crate::base::{Error, Result};
use crate::metrics::{check_labels, check_probabilities};
use crate::score::{Builder, Column, Knots, Node, Op, Port, Quantity, Scorer};

/// The least probability that a calibrated class has before rows are divided by their sums. Where no held-out row of a
/// class was seen the regression says 0, which is more than rows can tell; 1e-6 costs 13.8 nats instead of ∞, and moves
/// a sum of 100 classes by 1e-4 at most.
const LEAST: f64 = 1e-6;

/// A non-decreasing function: linear between its knots, constant beyond them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Knots", into = "Knots")]
pub struct Isotonic(Knots);

impl TryFrom<Knots> for Isotonic {
    type Error = Error;
    fn try_from(knots: Knots) -> Result<Self> {
        let Knots { x, y } = &knots;
        let finite = x.iter().chain(y).all(|v| v.is_finite());
        let rising = x.windows(2).all(|x| x[0] < x[1]) && y.windows(2).all(|y| y[0] <= y[1]);
        if x.is_empty() || x.len() != y.len() || !finite || !rising {
            return Err(Error::Inconsistent { what: "the knots of an isotonic function do not rise" });
        }
        Ok(Isotonic(knots))
    }
}

impl From<Isotonic> for Knots {
    fn from(Isotonic(knots): Isotonic) -> Self {
        knots
    }
}

/// Points that share a value: their mean, and their weight.
#[derive(Clone, Copy)]
struct Pool {
    y: f64,
    weight: f64,
    /// The first and the last x.
    x: [f64; 2],
}

impl Pool {
    fn with(self, next: Pool) -> Pool {
        let weight = self.weight + next.weight;
        Pool { y: self.y + (next.y - self.y) * (next.weight / weight), weight, x: [self.x[0], next.x[1]] }
    }
}

impl Isotonic {
    /// The non-decreasing function with the least Σ w (y − f(x))²; points of equal x count as one, with their mean.
    /// Weights are 1 where there are none. Sorting apart, the work is linear in the points: every one is pooled at most
    /// once.
    pub fn fit(x: &[f64], y: &[f64], weights: Option<&[f64]>) -> Result<Self> {
        if x.is_empty() {
            return Err(Error::shape("points (at least)", 1, 0));
        }
        for (what, column) in [("y", Some(y)), ("weights", weights)] {
            let found = column.map_or(x.len(), <[f64]>::len);
            if found != x.len() {
                return Err(Error::shape(format!("{what} (one per point)"), x.len(), found));
            }
        }
        let columns = [("x", Some(x)), ("y", Some(y)), ("weights", weights)];
        for (what, column) in columns.into_iter().filter_map(|(what, c)| Some((what, c?))) {
            if let Some(row) = column.iter().position(|v| !v.is_finite()) {
                return Err(Error::NotFinite { what, row, column: 0, value: column[row].to_string() });
            }
        }
        if let Some(&w) = weights.and_then(|w| w.iter().find(|w| **w <= 0.0)) {
            return Err(Error::setting("weights", w, "positive; leave points of weight 0 out"));
        }
        Ok(Self::pooled(x, y, weights))
    }

    /// [`Isotonic::fit`] of points that are already checked.
    fn pooled(x: &[f64], y: &[f64], weights: Option<&[f64]>) -> Self {
        let mut order: Vec<usize> = (0..x.len()).collect();
        order.sort_by(|&a, &b| x[a].total_cmp(&x[b]));
        let point = |i: usize| Pool { y: y[i], weight: weights.map_or(1.0, |w| w[i]), x: [x[i]; 2] };
        let mut pools: Vec<Pool> = Vec::new();
        for tied in order.chunk_by(|&a, &b| x[a] == x[b]) {
            let mut pool = tied[1..].iter().fold(point(tied[0]), |pool, &i| pool.with(point(i)));
            while let Some(last) = pools.pop_if(|last| last.y >= pool.y) {
                pool = last.with(pool);
            }
            pools.push(pool);
        }
        // A pool is flat between its ends; those of a single x have one knot.
        let ends = |pool: Pool| if pool.x[0] < pool.x[1] { pool.x.to_vec() } else { vec![pool.x[0]] };
        let (x, y) = pools.into_iter().flat_map(|pool| ends(pool).into_iter().map(move |x| (x, pool.y))).unzip();
        Isotonic(Knots { x, y })
    }

    /// x itself, on [0, 1].
    fn identity() -> Self {
        Isotonic(Knots { x: vec![0.0, 1.0], y: vec![0.0, 1.0] })
    }

    /// Its knots.
    pub fn knots(&self) -> &Knots {
        &self.0
    }

    /// The value at `x`.
    pub fn at(&self, x: f64) -> f64 {
        self.0.at(x)
    }
}

/// Every class's probability through its own isotonic regression of the class's indicator; rows are then divided by
/// their sums.
///
/// A class without held-out rows keeps its probabilities, since nothing was learned of it. A row that every map sends
/// to 0 keeps its own probabilities. No class is left with less than 1e-6 before the division.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Isotonic>", into = "Vec<Isotonic>")]
pub struct IsotonicOvr {
    maps: Vec<Isotonic>,
}

impl TryFrom<Vec<Isotonic>> for IsotonicOvr {
    type Error = Error;
    fn try_from(maps: Vec<Isotonic>) -> Result<Self> {
        let inside = |map: &Isotonic| map.0.y.iter().all(|y| (0.0..=1.0).contains(y));
        if maps.is_empty() || !maps.iter().all(inside) {
            return Err(Error::Inconsistent { what: "an isotonic calibration needs a map into [0, 1] per class" });
        }
        Ok(IsotonicOvr { maps })
    }
}

impl From<IsotonicOvr> for Vec<Isotonic> {
    fn from(calibration: IsotonicOvr) -> Self {
        calibration.maps
    }
}

impl IsotonicOvr {
    /// Learns from probabilities n × K of rows that the network was not trained on.
    pub fn fit(p: ArrayView2<'_, f64>, labels: &[usize]) -> Result<Self> {
        check_probabilities(p)?;
        check_labels(labels, p.nrows(), p.ncols())?;
        let map = |k: usize| {
            let indicator: Vec<f64> = labels.iter().map(|&y| f64::from(u8::from(y == k))).collect();
            if labels.contains(&k) {
                Isotonic::pooled(&p.column(k).to_vec(), &indicator, None)
            } else {
                Isotonic::identity()
            }
        };
        Ok(IsotonicOvr { maps: (0..p.ncols()).map(map).collect() })
    }

    /// The map of every class.
    pub fn maps(&self) -> &[Isotonic] {
        &self.maps
    }

    /// Calibrated probabilities of new rows.
    pub fn apply(&self, p: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        check_probabilities(p)?;
        if p.ncols() != self.maps.len() {
            return Err(Error::shape("columns of the probabilities", self.maps.len(), p.ncols()));
        }
        let mut b = Builder::default();
        let given = b.port(Port::Logits, self.maps.len());
        let calibrated = self.lower(&mut b, given);
        (0..self.maps.len()).for_each(|class| b.output(Quantity::Probability { class }, calibrated, class, true));
        Scorer::new(b.finish()).run_rows(&Column::of(p), p.nrows(), self.maps.len())
    }

    /// The maps of probabilities as operations.
    pub(crate) fn lower(&self, b: &mut Builder, p: Node) -> Node {
        let maps = self.maps.iter().map(|m| m.0.clone()).collect();
        let mapped = b.op(Op::Interpolate { of: p, maps });
        b.op(Op::Normalise { of: mapped, otherwise: p, least: LEAST })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{ece, nll};
    use ndarray::array;
    use proptest::prelude::*;

    #[test]
    fn pooling_by_hand() {
        // 3, 1 pool to 2; 2 at x = 4 equals it and pools as well; 5 stays.
        let f = Isotonic::fit(&[4.0, 2.0, 1.0, 5.0], &[2.0, 1.0, 3.0, 5.0], None).unwrap();
        assert_eq!((&f.0.x[..], &f.0.y[..]), (&[1.0, 4.0, 5.0][..], &[2.0, 2.0, 5.0][..]));
        assert_eq!([0.0, 1.0, 3.0, 4.5, 5.0, 9.0].map(|x| f.at(x)), [2.0, 2.0, 2.0, 3.5, 5.0, 5.0]);
        let weighted = Isotonic::fit(&[1.0, 2.0], &[3.0, 1.0], Some(&[3.0, 1.0])).unwrap();
        assert_eq!(weighted.at(1.7), 2.5);
    }

    #[test]
    fn unseen_classes_zero_rows_and_sure_rows_stay_distributions() {
        // Class 0 is right above ½ and wrong below; class 2 never occurs.
        let p = array![[0.9, 0.1, 0.0], [0.8, 0.2, 0.0], [0.3, 0.7, 0.0], [0.2, 0.8, 0.0]];
        let fit = IsotonicOvr::fit(p.view(), &[0, 0, 1, 1]).unwrap();
        let q = fit.apply(array![[0.95, 0.05, 0.0], [0.1, 0.1, 0.8], [0.2, 0.2, 0.6]].view()).unwrap();
        assert!(q.rows().into_iter().all(|row| (row.sum() - 1.0).abs() < 1e-15));
        assert!((q[[0, 0]] - 1.0 / (1.0 + 2e-6)).abs() < 1e-15 && (q[[0, 1]] - 1e-6).abs() < 1e-11);
        assert!((q[[1, 2]] - 0.8 / (0.8 + 2e-6)).abs() < 1e-15, "an unseen class keeps its probability");
        // Two classes, both sent to 0 in the middle of a row that no map knows: the row stays as it is.
        let never = Isotonic(Knots { x: vec![0.0, 0.4, 0.9], y: vec![0.0, 0.0, 1.0] });
        let zero = IsotonicOvr { maps: vec![never.clone(), never.clone(), never] };
        let row = array![[0.3, 0.36, 0.34]];
        assert!((&zero.apply(row.view()).unwrap() - &row).iter().all(|d| d.abs() < 1e-15));
    }

    #[test]
    fn an_overconfident_model_is_mended() {
        // Says .95 where .7 is right, and .6 where .5 is.
        let rows = |i: usize| if i.is_multiple_of(2) { (0.95, i % 20 < 14) } else { (0.6, i % 4 == 1) };
        let p = Array2::from_shape_fn((400, 2), |(i, k)| if k == 0 { rows(i).0 } else { 1.0 - rows(i).0 });
        let labels: Vec<usize> = (0..400).map(|i| usize::from(!rows(i).1)).collect();
        let q = IsotonicOvr::fit(p.view(), &labels).unwrap().apply(p.view()).unwrap();
        assert!(ece(p.view(), &labels, 15).unwrap() > 0.1 && ece(q.view(), &labels, 15).unwrap() < 1e-9);
        assert!(nll(q.view(), &labels).unwrap() < nll(p.view(), &labels).unwrap());
    }

    #[test]
    fn files_come_back_and_bad_ones_are_refused() {
        let fit = IsotonicOvr::fit(array![[0.9, 0.1], [0.4, 0.6]].view(), &[0, 1]).unwrap();
        let text = serde_json::to_string(&fit).unwrap();
        assert_eq!(serde_json::from_str::<IsotonicOvr>(&text).unwrap(), fit);
        for bad in [r#"[{"x":[0,0],"y":[0,1]}]"#, r#"[{"x":[0,1],"y":[1,0]}]"#, r#"[{"x":[0],"y":[2]}]"#, "[]"] {
            assert!(serde_json::from_str::<IsotonicOvr>(bad).is_err(), "{bad}");
        }
        assert!(fit.apply(array![[0.2, 0.3, 0.5]].view()).is_err());
        assert!(Isotonic::fit(&[], &[], None).is_err() && Isotonic::fit(&[1.0], &[], None).is_err());
        assert!(Isotonic::fit(&[1.0], &[f64::NAN], None).is_err());
        assert!(Isotonic::fit(&[1.0], &[1.0], Some(&[0.0])).is_err());
    }

    proptest! {
        /// f(x_i) = max over a ≤ i of min over b ≥ i of the mean of y_a … y_b.
        #[test]
        fn pooling_is_the_max_min_of_means(points in prop::collection::vec((0i32..12, -5i32..5, 1i32..4), 1..25)) {
            let column = |f: fn(&(i32, i32, i32)) -> i32| points.iter().map(|p| f64::from(f(p))).collect::<Vec<_>>();
            let (x, y, w) = (column(|p| p.0), column(|p| p.1), column(|p| p.2));
            let f = Isotonic::fit(&x, &y, Some(&w)).unwrap();
            let mean = |from: f64, to: f64| {
                let inside = (0..x.len()).filter(|&i| from <= x[i] && x[i] <= to);
                let (sum, weight) = inside.fold((0.0, 0.0), |(s, v), i| (s + w[i] * y[i], v + w[i]));
                sum / weight
            };
            for &at in &x {
                let upper = |from: f64| x.iter().filter(|&&b| b >= at).map(|&b| mean(from, b)).fold(f64::INFINITY, f64::min);
                let expected = x.iter().filter(|&&a| a <= at).map(|&a| upper(a)).fold(f64::NEG_INFINITY, f64::max);
                prop_assert!((f.at(at) - expected).abs() < 1e-12);
            }
        }
    }
}
