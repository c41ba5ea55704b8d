//! What calibrated probabilities are learned from and predicted for: a classifier's outputs on rows that it was not
//! trained on.

use std::ops::Range;

use ndarray::{Array2, ArrayView1, ArrayView2, Axis, s};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::dataset::check_finite;
use crate::base::names::named;
use crate::base::{Error, Result, Seed};

/// How far a row of probabilities may be from summing to one: files keep few digits.
const SUM_TOLERANCE: f64 = 1e-3;
/// Rows of one column between 0 and 1 that are more than chance.
const SUSPICIOUS: usize = 20;

/// What the columns of a classifier's output are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum InputKind {
    /// `logits`: any numbers, one per class; the softmax makes them probabilities.
    #[default]
    Logits,
    /// `log-probabilities`.
    LogProbabilities,
    /// `probabilities`: zeros are raised to 1e-12 before the logarithm is taken.
    Probabilities,
    /// `features`: the last hidden layer, any number of columns.
    Features,
}

impl InputKind {
    /// All of them.
    pub const ALL: [InputKind; 4] =
        [InputKind::Logits, InputKind::LogProbabilities, InputKind::Probabilities, InputKind::Features];

    /// The least probability that a logarithm is taken of.
    pub const LEAST_PROBABILITY: f64 = 1e-12;

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            InputKind::Logits => "logits",
            InputKind::LogProbabilities => "log-probabilities",
            InputKind::Probabilities => "probabilities",
            InputKind::Features => "features",
        }
    }

    /// How many classes so many columns of this kind tell apart; none for features. One column is the output of a
    /// binary classifier.
    pub fn classes(self, columns: usize) -> Option<usize> {
        (self != InputKind::Features).then_some(if columns == 1 { 2 } else { columns })
    }

    /// [`logits`](Self::logits) of calibration rows: an error where logits look like probabilities.
    pub fn convert(self, values: Array2<f64>) -> Result<Array2<f64>> {
        if self == InputKind::Logits {
            check_finite("inputs", values.view())?;
            refuse_probabilities(values.view())?;
        }
        self.logits(values)
    }

    /// The rows as logits (features as they are), once their values are checked against the kind. One column becomes
    /// two, of which the second is its own class: a logit z is (0, z), a probability p is (1 − p, p).
    ///
    /// Log-probabilities are logits already: adding a number to a row does not change its softmax.
    pub fn logits(self, mut values: Array2<f64>) -> Result<Array2<f64>> {
        check_finite("inputs", values.view())?;
        self.check(0..values.nrows(), values.ncols(), |row, column| values[[row, column]])?;
        let one = values.ncols() == 1;
        match self {
            InputKind::Features => {}
            InputKind::Logits if one => return Ok(pair(values.view(), |_| 0.0)),
            InputKind::LogProbabilities if one => {
                return Ok(pair(values.view(), |v| (-v.exp_m1()).max(Self::LEAST_PROBABILITY).ln()));
            }
            InputKind::Logits | InputKind::LogProbabilities => {}
            InputKind::Probabilities => {
                if one {
                    values = pair(values.view(), |p| 1.0 - p);
                }
                values.mapv_inplace(|p| p.max(Self::LEAST_PROBABILITY).ln());
            }
        }
        Ok(values)
    }

    /// Fails with the first row whose columns are not of this kind.
    pub(crate) fn check(self, rows: Range<usize>, columns: usize, at: impl Fn(usize, usize) -> f64) -> Result<()> {
        let (what, map): (_, fn(f64) -> f64) = match self {
            InputKind::Logits | InputKind::Features => return Ok(()),
            InputKind::LogProbabilities => ("exponentials of the log-probabilities", f64::exp),
            InputKind::Probabilities => ("the probabilities", |p| p),
        };
        for row in rows {
            let mut sum = 0.0;
            for column in 0..columns {
                let p = map(at(row, column));
                // Of many log-probabilities the sum tells more.
                if (self == InputKind::Probabilities || columns == 1) && !(0.0..=1.0 + SUM_TOLERANCE).contains(&p) {
                    return Err(Error::NotAProbability { row, column, value: p });
                }
                sum += p;
            }
            if columns > 1 && (sum - 1.0).abs() > SUM_TOLERANCE {
                return Err(Error::NotNormalised { row, what, sum });
            }
        }
        Ok(())
    }
}

/// One column as two: that of the other class, and its own.
fn pair(column: ArrayView2<'_, f64>, other: impl Fn(f64) -> f64) -> Array2<f64> {
    Array2::from_shape_fn((column.nrows(), 2), |(i, j)| if j == 0 { other(column[[i, 0]]) } else { column[[i, 0]] })
}

named!(InputKind, "kind of input");

/// Fails if every row could be probabilities.
fn refuse_probabilities(values: ArrayView2<'_, f64>) -> Result<()> {
    if looks_like_probabilities(values) { Err(Error::LooksLikeProbabilities) } else { Ok(()) }
}

/// Whether every row could be probabilities. Without rows there is nothing to suspect, and few logits of one column lie
/// in [0, 1] by chance.
pub(crate) fn looks_like_probabilities(values: ArrayView2<'_, f64>) -> bool {
    let within = |r: ArrayView1<'_, f64>| r.iter().all(|p| (0.0..=1.0).contains(p));
    match values.ncols() {
        1 => values.nrows() >= SUSPICIOUS && values.outer_iter().all(within),
        _ => values.nrows() > 0 && values.outer_iter().all(|r| within(r) && (r.sum() - 1.0).abs() < SUM_TOLERANCE),
    }
}

/// What a network gives for the classes: columns of a kind, one alone for a binary classifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassOutput {
    /// What the columns are.
    pub kind: InputKind,
    /// How many there are.
    pub columns: usize,
}

/// Rows to predict for: logits, features, or both.
#[derive(Debug, Clone, Copy)]
pub struct ClassInputs<'a> {
    pub(crate) logits: Option<ArrayView2<'a, f64>>,
    pub(crate) features: Option<ArrayView2<'a, f64>>,
}

impl<'a> ClassInputs<'a> {
    /// Rows with one logit per class; see [`InputKind::convert`] for other outputs.
    pub fn logits(logits: ArrayView2<'a, f64>) -> Result<Self> {
        check_finite("logits", logits)?;
        Error::check(logits.ncols() >= 2, "classes", logits.ncols(), "at least 2, one logit each")?;
        Ok(ClassInputs { logits: Some(logits), features: None })
    }

    /// Rows of features without logits.
    pub fn features(features: ArrayView2<'a, f64>) -> Result<Self> {
        check_finite("features", features)?;
        if features.ncols() == 0 {
            return Err(Error::shape("feature columns (at least)", 1, 0));
        }
        Ok(ClassInputs { logits: None, features: Some(features) })
    }

    /// With the features from which the logits were computed.
    pub fn with_features(self, features: ArrayView2<'a, f64>) -> Result<Self> {
        let with = Self::features(features)?;
        if with.rows() != self.rows() {
            return Err(Error::shape("rows of the features", self.rows(), with.rows()));
        }
        Ok(ClassInputs { features: with.features, ..self })
    }

    /// The number of rows, n.
    pub fn rows(&self) -> usize {
        self.logits.or(self.features).map_or(0, |a| a.nrows())
    }

    /// Some rows in turn.
    pub(crate) fn slice(&self, rows: Range<usize>) -> ClassInputs<'a> {
        let part = |a: ArrayView2<'a, f64>| a.slice_move(s![rows.clone(), ..]);
        ClassInputs { logits: self.logits.map(part), features: self.features.map(part) }
    }
}

/// Calibration rows of a classifier: its outputs and the true classes.
///
/// **The network must not have been trained on these rows.** On rows it has seen it is right too often.
#[derive(Debug, Clone, Copy)]
pub struct ClassRows<'a> {
    inputs: ClassInputs<'a>,
    labels: &'a [usize],
    classes: usize,
}

impl<'a> ClassRows<'a> {
    /// Checks once that labels are classes 0 … `classes` − 1, that at least two of them occur, and that there is a
    /// logit for each. A class may be absent.
    pub fn new(inputs: ClassInputs<'a>, labels: &'a [usize], classes: usize) -> Result<Self> {
        if inputs.rows() != labels.len() {
            return Err(Error::shape("labels", inputs.rows(), labels.len()));
        }
        Error::check(classes >= 2, "classes", classes, "at least 2")?;
        if let Some(z) = inputs.logits.filter(|z| z.ncols() != classes) {
            return Err(Error::shape("logit columns, one per class", classes, z.ncols()));
        }
        if let Some((row, &label)) = labels.iter().enumerate().find(|(_, l)| **l >= classes) {
            return Err(Error::Label { row, label, classes });
        }
        match labels.first() {
            None => Err(Error::TooFewRows {
                what: "a calibration",
                needed: 2,
                found: 0,
                remedy: "check that the file is not empty",
            }),
            Some(&class) if labels.iter().all(|l| *l == class) => Err(Error::OneClass { name: class.to_string() }),
            _ => Ok(ClassRows { inputs, labels, classes }),
        }
    }

    /// The number of rows, n.
    pub fn rows(&self) -> usize {
        self.labels.len()
    }

    /// The number of classes, K.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The classes of the rows.
    pub fn labels(&self) -> &'a [usize] {
        self.labels
    }

    /// The rows without their classes.
    pub fn inputs(&self) -> ClassInputs<'a> {
        self.inputs
    }

    /// How often each class occurs.
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.classes];
        self.labels.iter().for_each(|&l| counts[l] += 1);
        counts
    }

    /// Classes without a row.
    pub fn absent(&self) -> Vec<usize> {
        self.counts().iter().enumerate().filter(|(_, count)| **count == 0).map(|(class, _)| class).collect()
    }

    /// The logits, for a method that cannot do without.
    pub(crate) fn need_logits(&self, what: &'static str) -> Result<ArrayView2<'a, f64>> {
        self.inputs.logits.ok_or(Error::NoLogits { what })
    }

    /// Row numbers held out by each of k folds, every class spread over them as evenly as it can be.
    pub(crate) fn folds(&self, k: usize, seed: Seed) -> Result<Vec<Vec<usize>>> {
        Error::check(k >= 2, "folds", k, "at least 2")?;
        if self.rows() < 2 * k {
            return Err(Error::TooFewRows {
                what: "cross-validation",
                needed: 2 * k,
                found: self.rows(),
                remedy: "use fewer folds or more rows",
            });
        }
        let mut order: Vec<usize> = (0..self.rows()).collect();
        order.shuffle(&mut seed.rng());
        // Stable: rows of a class stay in random order, and are dealt out in turn.
        order.sort_by_key(|&r| self.labels[r]);
        let mut parts = vec![Vec::new(); k];
        order.iter().enumerate().for_each(|(i, &r)| parts[i % k].push(r));
        Ok(parts)
    }

    /// Copies of some of the rows.
    pub(crate) fn select(&self, rows: &[usize]) -> OwnedRows {
        let pick = |a: ArrayView2<'_, f64>| a.select(Axis(0), rows);
        OwnedRows {
            logits: self.inputs.logits.map(pick),
            features: self.inputs.features.map(pick),
            labels: rows.iter().map(|&r| self.labels[r]).collect(),
            classes: self.classes,
        }
    }
}

/// Some of the rows of a [`ClassRows`], whose checks they have passed; they may be of one class.
pub(crate) struct OwnedRows {
    logits: Option<Array2<f64>>,
    features: Option<Array2<f64>>,
    labels: Vec<usize>,
    classes: usize,
}

impl OwnedRows {
    pub(crate) fn view(&self) -> ClassRows<'_> {
        let inputs = ClassInputs {
            logits: self.logits.as_ref().map(|a| a.view()),
            features: self.features.as_ref().map(|a| a.view()),
        };
        ClassRows { inputs, labels: &self.labels, classes: self.classes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn inputs_that_are_not_what_they_are_said_to_be_are_refused() {
        let p = array![[0.25, 0.75], [1.0, 0.0]];
        assert_eq!(InputKind::Logits.convert(p.clone()), Err(Error::LooksLikeProbabilities));
        let z = InputKind::Probabilities.convert(p.clone()).unwrap();
        assert!((z[[0, 1]] - 0.75f64.ln()).abs() < 1e-15 && (z[[1, 1]] - 1e-12f64.ln()).abs() < 1e-9);
        assert_eq!(InputKind::Features.convert(p.clone()).unwrap(), p);
        let e = InputKind::LogProbabilities.convert(p).unwrap_err();
        assert!(matches!(e, Error::NotNormalised { row: 0, .. }), "{e}");
        let e = InputKind::Probabilities.convert(array![[0.5, 0.5], [0.2, 0.5]]).unwrap_err();
        assert!(e.to_string().contains("row 1: the probabilities sum to 0.7"), "{e}");
        let e = InputKind::Probabilities.convert(array![[1.5, -0.5]]).unwrap_err();
        assert!(e.to_string().contains("row 0, column 0: 1.5 is not a probability"), "{e}");
        let e = InputKind::Logits.convert(array![[0.0, f64::NEG_INFINITY]]).unwrap_err();
        assert!(e.to_string().contains("row 0, column 1 is -inf"), "{e}");
        assert!(InputKind::LogProbabilities.convert(array![[0.5f64.ln(), 0.5f64.ln()]]).is_ok());
    }

    #[test]
    fn one_column_is_a_binary_classifier() {
        let softmax = |z: Array2<f64>| z.map_axis(Axis(1), |r| 1.0 / (1.0 + (r[0] - r[1]).exp()));
        let p = array![[0.0], [0.2], [0.5], [0.999], [1.0]];
        let back = softmax(InputKind::Probabilities.logits(p.clone()).unwrap());
        assert!(back.iter().zip(&p).all(|(a, b)| (a - b).abs() < 1e-11), "{back}");
        let back = softmax(InputKind::LogProbabilities.logits(p.mapv(|p: f64| p.max(1e-12).ln())).unwrap());
        assert!(back.iter().zip(&p).all(|(a, b)| (a - b).abs() < 1e-11), "{back}");
        assert_eq!(InputKind::Logits.logits(array![[-3.0], [2.0]]).unwrap(), array![[0.0, -3.0], [0.0, 2.0]]);
        let e = InputKind::Probabilities.logits(array![[0.5], [1.5]]).unwrap_err();
        assert_eq!(e, Error::NotAProbability { row: 1, column: 0, value: 1.5 });
        assert!(InputKind::LogProbabilities.logits(array![[0.5]]).is_err());
        // A few logits between 0 and 1 are chance; many are probabilities under the wrong name.
        let column = |n: usize| Array2::from_shape_fn((n, 1), |(i, _)| i as f64 / n as f64);
        assert!(InputKind::Logits.convert(column(5)).is_ok());
        assert_eq!(InputKind::Logits.convert(column(50)), Err(Error::LooksLikeProbabilities));
        let counts = [1, 2, 5].map(|columns| InputKind::Logits.classes(columns));
        assert_eq!((counts, InputKind::Features.classes(1)), ([Some(2), Some(2), Some(5)], None));
    }

    #[test]
    fn labels_must_be_classes_and_more_than_one() {
        let z = array![[0.0, 1.0, 3.0], [2.0, 1.0, 0.0]];
        let inputs = ClassInputs::logits(z.view()).unwrap();
        assert!(ClassRows::new(inputs, &[0, 2], 3).is_ok());
        assert_eq!(ClassRows::new(inputs, &[0, 3], 3).unwrap_err(), Error::Label { row: 1, label: 3, classes: 3 });
        assert_eq!(ClassRows::new(inputs, &[1, 1], 3).unwrap_err(), Error::OneClass { name: "1".into() });
        assert!(ClassRows::new(inputs, &[0], 3).is_err() && ClassRows::new(inputs, &[0, 1], 4).is_err());
        assert!(ClassInputs::logits(z.slice(ndarray::s![.., ..1])).is_err());
    }

    #[test]
    fn folds_spread_every_class() {
        let labels: Vec<usize> = (0..40).map(|i| usize::from(i < 10)).collect();
        let z = Array2::from_shape_fn((40, 2), |(i, j)| (i + j) as f64);
        let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &labels, 2).unwrap();
        let parts = rows.folds(5, Seed::new(1)).unwrap();
        for part in &parts {
            assert_eq!(part.len(), 8);
            assert_eq!(part.iter().filter(|&&r| labels[r] == 1).count(), 2);
        }
        assert!(rows.folds(21, Seed::new(1)).is_err());
    }
}
