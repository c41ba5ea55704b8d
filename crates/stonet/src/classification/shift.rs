//! A classifier for rows among which classes are more or less frequent than among its calibration rows (label shift).
//!
//! Where P(x | class) is the same, the probabilities of new rows are those of the head times π_k/π⁰_k, normalised: π⁰ are
//! the shares of classes among the calibration rows, π those among the new ones. π is the value with the largest likelihood
//! of the new rows, found by expectation and maximisation in turn (Saerens, Latinne & Decaestecker 2002).

use std::borrow::Cow;

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::{FittedClassifier, Model};
use crate::base::{Error, Result};
use crate::conformal::SetBy;
use crate::rows::ClassInputs;
use crate::score::{Builder, Kept, Node, Op};

/// Steps of expectation and maximisation.
const STEPS: usize = 100_000;
/// The largest change of a share in a step that counts as none.
const CONVERGED: f64 = 1e-10;
/// New rows that are needed.
const FEWEST: usize = 20;

/// Shares of classes before and after.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LabelShift {
    /// Among the calibration rows.
    pub before: Vec<f64>,
    /// Among the new rows, estimated.
    pub after: Vec<f64>,
    /// New rows that it was adapted to.
    pub new_rows: usize,
    /// Twice the gain of log-likelihood over unchanged shares: about χ² with one degree of freedom less than there are
    /// classes where nothing has changed.
    pub likelihood_ratio: f64,
}

impl LabelShift {
    /// The shares of classes among new rows by their probabilities, which are right for the shares `before`.
    fn estimate(before: &[f64], p: ArrayView2<'_, f64>) -> Self {
        let n = p.nrows() as f64;
        let (mut after, mut next) = (before.to_vec(), vec![0.0; before.len()]);
        let total = |row: ndarray::ArrayView1<'_, f64>, ratio: &[f64]| -> f64 {
            row.iter().zip(ratio).map(|(p, r)| p * r).sum::<f64>().max(f64::MIN_POSITIVE)
        };
        for _ in 0..STEPS {
            let ratio = ratios(before, &after);
            next.fill(0.0);
            for row in p.outer_iter() {
                let sum = total(row, &ratio);
                next.iter_mut().zip(row.iter().zip(&ratio)).for_each(|(s, (p, r))| *s += p * r / (sum * n));
            }
            let moved = after.iter().zip(&next).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            after.copy_from_slice(&next);
            if moved < CONVERGED {
                break;
            }
        }
        let ratio = ratios(before, &after);
        let gain: f64 = p.outer_iter().map(|row| total(row, &ratio).ln()).sum();
        LabelShift { before: before.to_vec(), after, new_rows: p.nrows(), likelihood_ratio: 2.0 * gain }
    }

    /// π_k/π⁰_k.
    pub fn ratios(&self) -> Vec<f64> {
        ratios(&self.before, &self.after)
    }

    /// Whether the gain of likelihood is beyond the 99 % quantile of χ², by the cube root of Wilson and Hilferty.
    pub fn is_clear(&self) -> bool {
        let df = (self.before.len() as f64 - 1.0).max(1.0);
        let spread = 2.0 / (9.0 * df);
        (self.likelihood_ratio.max(0.0) / df).cbrt() > 1.0 - spread + 2.326 * spread.sqrt()
    }

    /// The probabilities by the new shares, as a value of a plan.
    pub(super) fn lower(&self, b: &mut Builder, p: Node) -> Node {
        let ratios = b.constant(p, &self.ratios());
        let of = b.op(Op::Product(p, ratios));
        b.op(Op::Normalise { of, otherwise: p, least: 0.0 })
    }

    /// Fails unless it is for so many classes, as it is unless a file says otherwise.
    pub(super) fn check(&self, classes: usize) -> Result<()> {
        let share = |v: &f64| (0.0..=1.0).contains(v);
        let sound = self.before.len() == classes
            && self.after.len() == classes
            && self.before.iter().all(|v| share(v) && *v > 0.0)
            && self.after.iter().all(share)
            && self.after.iter().sum::<f64>() > 0.5
            && self.likelihood_ratio.is_finite();
        match sound {
            true => Ok(()),
            false => Err(Error::Inconsistent { what: "the shares of an adapted head do not belong to its classes" }),
        }
    }
}

fn ratios(before: &[f64], after: &[f64]) -> Vec<f64> {
    before.iter().zip(after).map(|(b, a)| a / b).collect()
}

impl FittedClassifier {
    /// The shares of classes that the head was adapted to, where it was.
    pub fn adapted(&self) -> Option<&LabelShift> {
        self.adapted.as_deref()
    }

    /// The head for rows among which the classes have other shares than among its calibration rows, where `before` are
    /// their numbers (or shares). P(x | class) has to be the same.
    pub fn adapt_labels(&self, before: &[f64], new: &ClassInputs<'_>) -> Result<Self> {
        self.check_adaptable()?;
        if before.len() != self.classes {
            return Err(Error::shape("shares of classes", self.classes, before.len()));
        }
        let sum: f64 = before.iter().sum();
        if let Some(class) = before.iter().position(|b| !(b.is_finite() && *b > 0.0)) {
            let why = format!(
                "no calibration row is of class {class} (from 0), so its share among new rows cannot be told; leave the class out, or add rows of it"
            );
            return Err(Error::Adapt { why });
        }
        let original = self.as_fitted().into_owned();
        let p: Array2<f64> = original.probabilities(new)?;
        if p.nrows() < FEWEST {
            return Err(Error::TooFewRows {
                what: "an estimate of the shares of classes",
                needed: FEWEST,
                found: p.nrows(),
                remedy: "give more new rows",
            });
        }
        let before: Vec<f64> = before.iter().map(|b| b / sum).collect();
        let shift = LabelShift::estimate(&before, p.view());
        Ok(FittedClassifier { adapted: Some(Box::new(shift)), scorers: Kept::default(), ..original })
    }

    /// The head before it was adapted.
    pub(super) fn as_fitted(&self) -> Cow<'_, Self> {
        match self.adapted {
            None => Cow::Borrowed(self),
            Some(_) => Cow::Owned(FittedClassifier { adapted: None, scorers: Kept::default(), ..self.clone() }),
        }
    }

    /// Fails where the shares of classes have been adapted.
    pub(super) fn check_as_fitted(&self, why: &'static str) -> Result<()> {
        if self.adapted.is_some() { Err(Error::IsAdapted { why }) } else { Ok(()) }
    }

    /// Fails where what the head promises would not hold for other shares.
    fn check_adaptable(&self) -> Result<()> {
        let by_class = |s: &super::FittedClassSets| s.scores().rule().by == SetBy::Class;
        let why = match &self.model {
            Model::VennAbers(_) => {
                "venn-abers promises intervals for the shares of the calibration rows; fit `temperature`"
            }
            _ if self.accuracy.is_some() => {
                "its bounds of accuracy hold for the shares of the calibration rows; fit without them"
            }
            _ if !self.class_sets().is_none_or(by_class) => {
                "its prediction sets hold on average over the classes of the calibration rows; fit sets that hold within every class, which hold for any shares"
            }
            _ => return Ok(()),
        };
        Err(Error::Adapt { why: why.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use crate::rows::ClassRows;
    use rand::RngExt;
    use rand_distr::{Distribution, StandardNormal};

    /// Classes with normal logits, by their shares.
    fn draw(n: usize, shares: &[f64], seed: u64) -> (Array2<f64>, Vec<usize>) {
        let mut rng = Seed::new(seed).rng();
        let class = |u: f64| {
            let mut sum = 0.0;
            shares
                .iter()
                .position(|s| {
                    sum += s;
                    u < sum
                })
                .unwrap_or(shares.len() - 1)
        };
        let labels: Vec<usize> = (0..n).map(|_| class(rng.random())).collect();
        let mut z = || -> f64 { StandardNormal.sample(&mut rng) };
        let logits = Array2::from_shape_fn((n, shares.len()), |(i, k)| z() + if labels[i] == k { 1.5 } else { 0.0 });
        (logits, labels)
    }

    #[test]
    fn shares_are_found_and_probabilities_follow_them() {
        let (logits, labels) = draw(4000, &[0.5, 0.3, 0.2], 1);
        let rows = ClassRows::new(ClassInputs::logits(logits.view()).unwrap(), &labels, 3).unwrap();
        let settings =
            super::super::PostStoNetClassifier { method: super::super::ClassMethod::Vector, ..Default::default() };
        let head = settings.fit(&rows, Seed::new(1), &|_, _| true).unwrap();
        let counts: Vec<f64> = (0..3).map(|k| labels.iter().filter(|l| **l == k).count() as f64).collect();
        let (new, truth) = draw(3000, &[0.1, 0.2, 0.7], 2);
        let inputs = ClassInputs::logits(new.view()).unwrap();
        let adapted = head.adapt_labels(&counts, &inputs).unwrap();
        let shift = adapted.adapted().unwrap();
        for (found, share) in shift.after.iter().zip([0.1, 0.2, 0.7]) {
            // Within 4.5 standard deviations of a share that is about twice as uncertain as labelled rows'.
            assert!((found - share).abs() < 4.5 * 2.0 * (share * (1.0 - share) / 3000.0f64).sqrt(), "{shift:?}");
        }
        assert!(shift.is_clear(), "{shift:?}");
        let loss = |head: &FittedClassifier| -> f64 {
            let p = head.probabilities(&inputs).unwrap();
            truth.iter().enumerate().map(|(i, &k)| -p[[i, k]].ln()).sum::<f64>() / truth.len() as f64
        };
        assert!(loss(&adapted) < loss(&head) - 0.1, "{} {}", loss(&adapted), loss(&head));
        // By its definition.
        let (p, q) = (head.probabilities(&inputs).unwrap(), adapted.probabilities(&inputs).unwrap());
        for (p, q) in p.outer_iter().zip(q.outer_iter()) {
            let raised: Vec<f64> = p.iter().zip(shift.ratios()).map(|(p, r)| p * r).collect();
            let sum: f64 = raised.iter().sum();
            assert!(raised.iter().zip(q).all(|(r, q)| (r / sum - q).abs() < 1e-12));
        }
        // Adapting again starts from the head as it was fitted.
        assert_eq!(adapted.adapt_labels(&counts, &inputs).unwrap(), adapted);
        let json = serde_json::to_string(&adapted).unwrap();
        assert_eq!(serde_json::from_str::<FittedClassifier>(&json).unwrap(), adapted);
        let (same, _) = draw(3000, &[0.5, 0.3, 0.2], 3);
        let same = head.adapt_labels(&counts, &ClassInputs::logits(same.view()).unwrap()).unwrap();
        assert!(!same.adapted().unwrap().is_clear());
        assert!(head.adapt_labels(&[1.0, 0.0, 2.0], &inputs).is_err());
        assert!(head.adapt_labels(&[1.0, 2.0], &inputs).is_err());
    }
}
