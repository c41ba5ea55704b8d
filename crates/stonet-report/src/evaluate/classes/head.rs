//! A fitted classifier judged batch by batch, with all that it tells of itself.

use ndarray::{Array2, ArrayView2, Axis, s};
use stonet::base::Work;
use stonet::classification::MemberNotes;
use stonet::metrics::JudgeSettings;
use stonet::network::Likelihood;
use stonet::{ClassInputs, Error, FittedClassifier, Level, Result, Seed, Ticker};

use super::accuracy::AccuracyEvaluation;
use super::sets::{Kept, SetEvaluation};
use super::tables::guesses;
use super::{ClassEvaluation, ClassSettings, Explain, MemberWeight};
use crate::evaluate::BATCH;
use crate::evaluate::sample::RowSample;
use crate::evaluate::strata::Groups;

/// The rows that a fitted classifier is judged on: logits, features, or both.
#[derive(Debug, Clone, Copy)]
pub struct HeadInputs<'a> {
    /// One column per class.
    pub logits: Option<ArrayView2<'a, f64>>,
    /// The last hidden layer.
    pub features: Option<ArrayView2<'a, f64>>,
    /// The names of the logits, then of the features.
    pub names: &'a [String],
}

impl<'a> HeadInputs<'a> {
    fn arrays(&self) -> Vec<ArrayView2<'a, f64>> {
        self.logits.into_iter().chain(self.features).collect()
    }

    /// How many rows there are, where all parts have as many and every column has a name.
    fn rows(&self) -> Result<usize> {
        let parts = self.arrays();
        let rows = parts.first().map_or(0, |p| p.nrows());
        if parts.is_empty() || parts.iter().any(|p| p.nrows() != rows) {
            let what = "logits and features have different numbers of rows, or there are neither";
            return Err(Error::Inconsistent { what });
        }
        let expected = parts.iter().map(|p| p.ncols()).sum();
        if self.names.len() != expected {
            let what = "names of the inputs".into();
            return Err(Error::Shape { what, expected, found: self.names.len() });
        }
        Ok(rows)
    }

    fn part(&self, rows: std::ops::Range<usize>) -> Self {
        let part = |a: ArrayView2<'a, f64>| a.slice_move(s![rows.clone(), ..]);
        HeadInputs { logits: self.logits.map(part), features: self.features.map(part), names: self.names }
    }

    fn inputs(&self) -> Result<ClassInputs<'a>> {
        match (self.logits, self.features) {
            (Some(z), Some(f)) => ClassInputs::logits(z)?.with_features(f),
            (Some(z), None) => ClassInputs::logits(z),
            (None, Some(f)) => ClassInputs::features(f),
            (None, None) => Err(Error::NoLogits { what: "a classifier" }),
        }
    }
}

/// Judges a fitted classifier on rows that come in batches; the result does not depend on how they are divided.
///
/// Per row it keeps the label, the probabilities and those of the network itself, but no features. The importance of
/// inputs is measured on a uniform sample of at most 2,000 rows; everything else counts every row.
pub struct ClassJudge<'a> {
    fitted: &'a FittedClassifier,
    classes: &'a [String],
    judge: JudgeSettings,
    seed: Seed,
    names: Vec<String>,
    logits: usize,
    labels: Vec<usize>,
    p: Vec<f64>,
    /// The network's own probabilities; empty where there are none.
    network: Vec<f64>,
    groups: Option<(String, Groups)>,
    /// Where the head has prediction sets that are to be judged.
    sets: Option<(Level, Kept)>,
    /// The level at which bounds of accuracy are judged.
    level: Option<Level>,
    sample: RowSample,
}

impl<'a> ClassJudge<'a> {
    /// Without rows yet. `by` names the column of subgroups, whose values come with the rows. Of `settings` only the
    /// bins, resamples and redraws, the level and the seed are used.
    pub fn new(
        fitted: &'a FittedClassifier,
        classes: &'a [String],
        by: Option<&str>,
        settings: &ClassSettings<'_>,
    ) -> Self {
        ClassJudge {
            fitted,
            classes,
            judge: settings.judge,
            seed: settings.seed,
            names: Vec::new(),
            logits: 0,
            labels: Vec::new(),
            p: Vec::new(),
            network: Vec::new(),
            groups: by.map(|column| (column.to_owned(), Groups::default())),
            level: settings.level,
            sets: settings.level.filter(|_| fitted.class_sets().is_some()).map(|level| (level, Kept::default())),
            sample: RowSample::new(settings.seed),
        }
    }

    /// Rows so far.
    pub fn rows(&self) -> usize {
        self.labels.len()
    }

    /// Bytes that are kept of every row: its label, the probabilities of the head and of the network, and its subgroup.
    pub fn bytes_per_row(&self) -> u64 {
        8 * (1 + 2 * self.classes.len() as u64 + u64::from(self.groups.is_some()) + u64::from(self.sets.is_some()))
    }

    /// More rows, their labels and their subgroups. Errors count rows from the first batch on.
    pub fn add(&mut self, rows: &HeadInputs<'_>, labels: &[usize], by: Option<&[String]>) -> Result<()> {
        let first = self.rows();
        let p = self.score(rows, labels, by).map_err(|e| e.after_rows(first))?;
        if first == 0 {
            (self.names, self.logits) = (rows.names.to_vec(), rows.logits.map_or(0, |z| z.ncols()));
        }
        if let Some((level, kept)) = &mut self.sets {
            // Randomised sets of every batch draw their own numbers.
            let seed = self.seed.child(stonet::base::streams::evaluation::SETS).child(first as u64);
            let sets = self.fitted.sets(&rows.inputs()?, *level, seed).map_err(|e| e.after_rows(first))?;
            kept.sizes.extend(sets.sizes().into_iter().map(|s| s as u32));
            kept.covered.extend(sets.covered(labels)?);
        }
        self.p.extend(&p);
        if let Some(z) = rows.logits {
            self.network.extend(&Likelihood::Multinomial.mean(z.to_owned()));
        }
        self.labels.extend(labels);
        if let (Some((_, groups)), Some(by)) = (&mut self.groups, by) {
            groups.add(by);
        }
        self.sample.add(&rows.arrays());
        Ok(())
    }

    /// The probabilities of rows that fit.
    fn score(&self, rows: &HeadInputs<'_>, labels: &[usize], by: Option<&[String]>) -> Result<Array2<f64>> {
        let number = rows.rows()?;
        let groups = if self.groups.is_some() { number } else { 0 };
        let found =
            [("labels", number, labels.len()), ("rows of the column of subgroups", groups, by.map_or(0, <[_]>::len))];
        for (what, expected, found) in found {
            if expected != found {
                return Err(Error::Shape { what: what.into(), expected, found });
            }
        }
        if self.rows() > 0 && (rows.names != self.names || rows.logits.map_or(0, |z| z.ncols()) != self.logits) {
            return Err(Error::Inconsistent { what: "batches of rows have different columns" });
        }
        self.fitted.probabilities(&rows.inputs()?)
    }

    /// The evaluation. `tick(done, total)` follows what remains to be done and cancels it by returning false.
    pub fn finish(self, tick: Option<Ticker<'_>>) -> Result<ClassEvaluation> {
        self.end(&Work::open("steps", tick))
    }

    fn end(self, steps: &Work<'_>) -> Result<ClassEvaluation> {
        let (rows, fitted, logits) = (self.rows(), self.fitted, self.logits);
        let array = |values: Vec<f64>| {
            let columns = values.len().checked_div(rows).unwrap_or(self.classes.len());
            Array2::from_shape_vec((rows, columns), values)
                .map_err(|_| Error::Inconsistent { what: "rows have different numbers of classes" })
        };
        let network = (!self.network.is_empty()).then(|| array(self.network)).transpose()?;
        let p = array(self.p)?;
        let (numbers, values) = self.sample.finish();
        let predict = |x: ArrayView2<'_, f64>| -> Result<Array2<f64>> {
            let (z, f) = x.split_at(Axis(1), logits);
            let there = |a: ArrayView2<'_, f64>| a.ncols() > 0;
            let (z, f) = (Some(z).filter(|z| there(*z)), Some(f).filter(|f| there(*f)));
            fitted.probabilities(&HeadInputs { logits: z, features: f, names: &[] }.inputs()?)
        };
        let explain = Explain { inputs: values.view(), names: &self.names, predict: &predict, rows: Some(&numbers) };
        let network = network.as_ref().map(|p| p.view());
        let (judge, seed, explain) = (self.judge, self.seed, Some(explain));
        let settings = ClassSettings { network, explain, judge, seed, ..ClassSettings::default() };
        let by = self.groups.as_ref().map(|(column, groups)| (column.as_str(), groups));
        let mut evaluation = ClassEvaluation::judged(p.view(), &self.labels, self.classes, by, &settings, steps)?;
        let sets = self.sets.as_ref();
        evaluation.sets =
            sets.map(|(level, kept)| SetEvaluation::new(fitted, *level, kept, &self.labels, self.classes, by));
        let bounds = self.level.zip(fitted.accuracy_bins());
        evaluation.accuracy_bounds =
            bounds.map(|(level, bins)| AccuracyEvaluation::new(fitted, bins, level, &guesses(p.view()), &self.labels));
        evaluation.settings = serde_json::to_value(fitted.settings()).unwrap_or_default();
        evaluation.kappa_paths = fitted.tuning_curves().to_vec();
        let weight = |n: &MemberNotes| MemberWeight { name: n.method.to_string(), weight: n.weight };
        evaluation.weights = fitted.notes().iter().map(weight).collect();
        Ok(evaluation)
    }
}

impl ClassEvaluation {
    /// Judges a fitted classifier: beside its probabilities those of the network itself, the importance of every input,
    /// and how it was fitted. What `settings` say of the network and of inputs is put in their place.
    pub fn of_head(
        fitted: &FittedClassifier,
        rows: &HeadInputs<'_>,
        labels: &[usize],
        classes: &[String],
        settings: &ClassSettings<'_>,
    ) -> Result<Self> {
        let (number, steps) = (rows.rows()?, Work::open("steps", settings.tick));
        let by = settings.by.map(|(_, values)| values);
        let found = [("labels", labels.len()), ("rows of the column of subgroups", by.map_or(number, <[_]>::len))];
        for (what, found) in found {
            if found != number {
                return Err(Error::Shape { what: what.into(), expected: number, found });
            }
        }
        let mut judge = ClassJudge::new(fitted, classes, settings.by.map(|(column, _)| column), settings);
        steps.announce(number.div_ceil(BATCH));
        for first in (0..number).step_by(BATCH) {
            let part = first..(first + BATCH).min(number);
            judge.add(&rows.part(part.clone()), &labels[part.clone()], by.map(|by| &by[part.clone()]))?;
            steps.advance()?;
        }
        judge.end(&steps)
    }
}
