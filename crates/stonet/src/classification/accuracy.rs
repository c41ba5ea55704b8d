//! Bounds of accuracy as part of a classifier: rows that are held out of the fit, bins of confidence, and what holds.

use std::sync::Arc;

use ndarray::{Array2, s};
use serde::{Deserialize, Serialize};

use super::{
    AccuracyBins, ClassExtras, ClassSets, FittedClassifier, PostStoNetClassifier, ProbabilityCovariance, SetScheme,
    Wald,
};
use crate::base::streams::classification::ACCURACY;
use crate::base::{Error, Result, Seed, Ticker};
use crate::calibration::lower;
use crate::regression::Guarantee;
use crate::rows::{ClassInputs, ClassRows, Level, complement, divided};
use crate::score::{Builder, Node, Op, Quantity};

/// The share of rows that are held out where nothing else is said.
const HELD_OUT: f64 = 0.3;
/// Rows of a bin where the number of bins is not given: with fewer of them bounds say little.
const ROWS_PER_BIN: usize = 50;
/// The most bins where their number is not given.
const BINS: usize = 10;

/// Bounds for the accuracy among rows of similar confidence, fitted beside class probabilities.
///
/// Some rows are held out of the fit. Edges of the bins are quantiles of the confidence, which is the largest
/// probability, on the rows of the fit; hits are counted on the rows held out.
///
/// | name | default | purpose | range |
/// |---|---|---|---|
/// | `held_out` | 0.3 | share of the rows that are held out and counted; not for `split` sets, whose rows that judge are counted | 0 to 1 |
/// | `bins` | one per 50 rows held out, at most 10 | bins of confidence | 1 to 1000 |
///
/// ```
/// use ndarray::Array2;
/// use stonet::classification::AccuracySettings;
/// use stonet::{ClassInputs, ClassMethod, ClassRows, Level, PostStoNetClassifier, Seed};
/// let logits = Array2::from_shape_fn((400, 3), |(i, k)| if i % 3 == k { 2.0 } else { (i % 5) as f64 / 4.0 });
/// let labels: Vec<usize> = (0..400).map(|i| if i % 7 == 0 { (i + 1) % 3 } else { i % 3 }).collect();
/// let rows = ClassRows::new(ClassInputs::logits(logits.view())?, &labels, 3)?;
/// let classifier = PostStoNetClassifier { method: ClassMethod::Temperature, ..Default::default() };
/// let fitted = AccuracySettings::default().fit(&classifier, &rows, Seed::new(1), &|_, _| true)?;
/// let level = Level::new(0.9)?;
/// // Of every row: the lower and the upper bound of the accuracy among rows of its confidence.
/// let bounds = fitted.accuracy_bounds(&ClassInputs::logits(logits.view())?, level)?;
/// assert!(bounds[[0, 0]] < 6.0 / 7.0 && 6.0 / 7.0 < bounds[[0, 1]]);
/// println!("{}", fitted.accuracy_guarantee(level).expect("there are bounds"));
/// # Ok::<(), stonet::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AccuracySettings {
    /// The share of the rows that are held out of the fit and counted; 0.3 where it is not set. Not for `split` sets.
    pub held_out: Option<f64>,
    /// Bins of confidence; one per 50 rows held out where it is not set, at most 10.
    pub bins: Option<usize>,
}

impl AccuracySettings {
    /// Fails where a setting cannot be, alone or beside these sets.
    pub fn check(&self, sets: Option<&ClassSets>) -> Result<()> {
        if let Some(share) = self.held_out {
            let split = sets.is_some_and(|sets| matches!(sets.scheme, SetScheme::Split { .. }));
            let range = "left out beside split sets, whose rows that calibrate are counted";
            Error::check(!split, "held_out", share, range)?;
            Error::check(share > 0.0 && share < 1.0, "held_out", share, "between 0 and 1")?;
        }
        self.bins.map_or(Ok(()), AccuracyBins::check)
    }

    /// Fits probabilities on rows that the network has not seen, less those held out, which bound the accuracy.
    pub fn fit(
        &self,
        classifier: &PostStoNetClassifier,
        rows: &ClassRows<'_>,
        seed: Seed,
        tick: Ticker<'_>,
    ) -> Result<FittedClassifier> {
        self.check(None)?;
        self.counted(rows, seed, |fit| classifier.fit(fit, seed, tick))
    }

    /// The same with prediction sets. Beside `split` sets the rows that calibrate them are counted too; beside CV+ the
    /// rows held out are used for nothing else, so that probabilities and sets are those of the other rows. Sets and
    /// bounds have guarantees of their own, which do not hold jointly.
    pub fn fit_sets(
        &self,
        sets: &ClassSets,
        rows: &ClassRows<'_>,
        seed: Seed,
        tick: Ticker<'_>,
    ) -> Result<FittedClassifier> {
        self.check(Some(sets))?;
        match sets.scheme {
            SetScheme::Split { .. } => sets.fit_counted(rows, self, seed, tick),
            SetScheme::CvPlus { .. } => self.counted(rows, seed, |fit| sets.fit(fit, seed, tick)),
        }
    }

    /// The covariance of the probabilities of a fit on these rows with this seed, with these sets or without: of the rows
    /// that they were fitted on.
    pub fn covariance(
        &self,
        head: &FittedClassifier,
        sets: Option<&ClassSets>,
        rows: &ClassRows<'_>,
        seed: Seed,
        settings: Wald,
    ) -> Result<ProbabilityCovariance> {
        match sets.filter(|sets| matches!(sets.scheme, SetScheme::Split { .. })) {
            Some(sets) => sets.covariance(head, rows, seed, settings),
            None => ProbabilityCovariance::fit(head, &rows.select(&self.fitted_rows(rows, seed)?).view(), settings),
        }
    }

    /// How many bins so many rows are counted in.
    pub(super) fn bins_of(&self, rows: usize) -> usize {
        self.bins.unwrap_or((rows / ROWS_PER_BIN).clamp(1, BINS))
    }

    /// A fit on the rows that are not held out, with the bins of those that are.
    fn counted(
        &self,
        rows: &ClassRows<'_>,
        seed: Seed,
        fit: impl FnOnce(&ClassRows<'_>) -> Result<FittedClassifier>,
    ) -> Result<FittedClassifier> {
        let fitted = self.fitted_rows(rows, seed)?;
        let (fitted, held) = (rows.select(&fitted), rows.select(&complement(rows.rows(), &fitted)));
        let (fitted, held) = (fitted.view(), held.view());
        let head = fit(&fitted)?;
        let (edges, p) = (head.probabilities(&fitted.inputs())?, head.probabilities(&held.inputs())?);
        let bins = AccuracyBins::fit(edges.view(), p.view(), held.labels(), self.bins_of(held.rows()))?;
        Ok(head.with_accuracy_bins(bins))
    }

    /// The rows that are not held out.
    fn fitted_rows(&self, rows: &ClassRows<'_>, seed: Seed) -> Result<Vec<usize>> {
        let fitted = divided(rows.rows(), 1.0 - self.held_out.unwrap_or(HELD_OUT), seed.child(ACCURACY));
        match fitted.len() < rows.rows() {
            true => Ok(fitted),
            false => Err(Error::TooFewRows {
                what: "a bound of accuracy",
                needed: 2,
                found: rows.rows(),
                remedy: "use more rows, or hold out a larger share",
            }),
        }
    }
}

impl AccuracyBins {
    /// What holds for bounds at this level, in words and as a number.
    pub fn guarantee(&self, level: Level) -> Guarantee {
        let (bins, rows) = (self.len(), self.rows());
        let (each, at_once) = match bins {
            1 => ("among all rows".to_owned(), String::new()),
            _ => ("among rows of each bin of confidence".to_owned(), format!(", for all {bins} bins at once")),
        };
        let text = format!(
            "With a probability of at least {} % over the {rows} rows held out, the accuracy {each} lies within its bounds{at_once}, for new \
             rows of the distribution of the calibration rows, if the network was not trained on them. This is the accuracy of many rows, \
             not the probability that the guess of one row is right.",
            level.percent()
        );
        Guarantee { coverage: Some(level.get()), text }
    }

    /// Appends the bounds at these levels to a plan that has the head's probabilities.
    pub(super) fn lower(&self, b: &mut Builder, p: Node, levels: &[Level]) {
        if levels.is_empty() {
            return;
        }
        let confidence = b.wide(Op::Largest { of: p }, 1);
        for (number, &level) in levels.iter().enumerate() {
            let bounds = Arc::new(self.bounds(level).lookup());
            let both = b.wide(Op::BinBounds { of: confidence, bounds }, 2);
            b.output(Quantity::AccuracyLower { level: number }, both, 0, true);
            b.output(Quantity::AccuracyUpper { level: number }, both, 1, true);
        }
    }
}

impl FittedClassifier {
    /// Rows and right guesses by confidence, where it was fitted with bounds of accuracy.
    pub fn accuracy_bins(&self) -> Option<&AccuracyBins> {
        self.accuracy.as_deref()
    }

    /// The same classifier with bins that were counted for it.
    pub fn with_accuracy_bins(self, bins: AccuracyBins) -> Self {
        FittedClassifier { accuracy: Some(Arc::new(bins)), scorers: Default::default(), ..self }
    }

    pub(in crate::classification) fn need_accuracy_bins(&self) -> Result<&AccuracyBins> {
        self.accuracy_bins().ok_or(Error::NoAccuracyBounds)
    }

    /// The lower and the upper bound of the accuracy among rows of every row's confidence, rows × 2.
    pub fn accuracy_bounds(&self, inputs: &ClassInputs<'_>, level: Level) -> Result<Array2<f64>> {
        let scorer = self.scorer_with(lower::logits_of(self.classes), &ClassExtras::accuracy(&[level]))?;
        // Behind the probabilities and the most probable class.
        let first = self.classes + 1;
        let all = lower::run_classes(&scorer, self.classes, inputs, first + 2)?;
        Ok(all.slice_move(s![.., first..]))
    }

    /// What holds for its bounds of accuracy, where there are any.
    pub fn accuracy_guarantee(&self, level: Level) -> Option<Guarantee> {
        let mut guarantee = self.accuracy_bins()?.guarantee(level);
        if self.class_sets().is_some() {
            guarantee.text += " The prediction sets have a guarantee of their own; the two do not hold jointly.";
        }
        Some(guarantee)
    }
}
