//! Prediction intervals judged batch by batch: of every row only figures stay, and a sample of the rows themselves.

use ndarray::{Array2, ArrayView2, s};
use stonet::base::Work;
use stonet::base::streams::evaluation as streams;
use stonet::rows::OwnKind;
use stonet::score::Asked;
use stonet::train::TuningCurve;
use stonet::{Error, FittedRegressor, Intervals, Level, RegressionInputs, Result, Ticker};

use super::curve::{Curve, Tally};
use super::diagnosis::{SEARCHED_TARGETS, Search, rows_to_search};
use super::distribution::Distributions;
use super::job::{Job, check_values, names, row_hits, row_lengths, scores};
use super::{EvaluateSettings, IntervalScores, LEVELS, MemberWeights, RegressionEvaluation, TargetEvaluation};
use crate::evaluate::binomial::Proportion;
use crate::evaluate::importance::spread;
use crate::evaluate::sample::RowSample;
use crate::evaluate::strata::Groups;
use crate::evaluate::variance::{self, VarianceSplit, splits};

/// Judges intervals on rows that come in batches; the result does not depend on how they are divided.
///
/// Per row and target it keeps the value, the prediction, the two ends, the PIT and the network's own prediction. The importance
/// of features and the sources of variance are measured on a uniform sample of at most 2,000 rows, and rows with low
/// coverage are searched in one of at most 20,000; everything else counts every row.
pub struct RegressionJudge<'a> {
    fitted: &'a FittedRegressor,
    settings: EvaluateSettings<'a>,
    joint: bool,
    target_names: Vec<String>,
    feature_names: Vec<String>,
    curve: Curve,
    tallies: Vec<Tally>,
    figures: Figures,
    distributions: Option<Distributions>,
    groups: Option<(String, Groups)>,
    pooled: Option<Pooled>,
    sample: RowSample,
    /// Features alone, of more rows.
    searched: RowSample,
}

impl<'a> RegressionJudge<'a> {
    /// Without rows yet. `by` names the column of subgroups, whose values come with the rows.
    pub fn new(fitted: &'a FittedRegressor, by: Option<&str>, settings: &EvaluateSettings<'a>) -> Result<Self> {
        let outputs = fitted.outputs();
        let joint = settings.joint && outputs > 1;
        let curve = Curve::new(settings.level, joint, outputs)?;
        Ok(RegressionJudge {
            fitted,
            joint,
            target_names: names("names of the targets", &settings.target_names, outputs, "y")?,
            feature_names: names("names of the features", &settings.feature_names, fitted.features(), "x")?,
            tallies: curve.points.iter().map(|_| Tally::new(outputs)).collect(),
            curve,
            figures: Figures::default(),
            distributions: Distributions::new(fitted)?,
            groups: by.map(|column| (column.to_owned(), Groups::default())),
            pooled: by.filter(|_| fitted.within().is_some() || fitted.functions() > 0).map(|_| Pooled::new(fitted)),
            sample: RowSample::new(settings.seed),
            searched: RowSample::sized(rows_to_search(fitted.features()), settings.seed.child(streams::SEARCHED)),
            settings: settings.clone(),
        })
    }

    /// Rows so far.
    pub fn rows(&self) -> usize {
        self.figures.y.len() / self.fitted.outputs()
    }

    /// Bytes that are kept of every row: its value, prediction, ends, PIT and the network's prediction for each target,
    /// and its subgroup.
    pub fn bytes_per_row(&self) -> u64 {
        let (groups, pooled) = (u64::from(self.groups.is_some()), 2 * u64::from(self.pooled.is_some()));
        8 * (6 * self.fitted.outputs() as u64 + groups + pooled)
    }

    /// More rows, their values, one column per target, and their subgroups. Errors count rows from the first batch on.
    pub fn add(&mut self, rows: &RegressionInputs<'_>, y: ArrayView2<'_, f64>, by: Option<&[String]>) -> Result<()> {
        let first = self.rows();
        let all = self.score(rows, y, by).map_err(|e| e.after_rows(first))?;
        if let Some(distributions) = &mut self.distributions {
            distributions.add(self.fitted, rows, y).map_err(|e| e.after_rows(first))?;
        }
        for (tally, &(each, together)) in self.tallies.iter_mut().zip(&self.curve.points) {
            tally.add(&all[each], &all[together], y, self.joint);
        }
        self.figures.add(&all[self.curve.judged], y, rows.prediction());
        if let (Some((_, groups)), Some(by)) = (&mut self.groups, by) {
            groups.add(by);
        }
        if let Some(pooled) = &mut self.pooled {
            pooled.add(rows, y, self.curve.each, self.joint)?;
        }
        let said = rows.prediction().into_iter().chain(rows.own());
        self.sample.add(&[rows.features()].into_iter().chain(said).collect::<Vec<_>>());
        self.searched.add(&[rows.features()]);
        Ok(())
    }

    /// Intervals at every level, of rows that fit.
    fn score(
        &self,
        rows: &RegressionInputs<'_>,
        y: ArrayView2<'_, f64>,
        by: Option<&[String]>,
    ) -> Result<Vec<Intervals>> {
        check_values(rows, y, self.fitted.outputs())?;
        let expected = if self.groups.is_some() { y.nrows() } else { 0 };
        let found = by.map_or(0, <[String]>::len);
        if expected != found {
            return Err(Error::Shape { what: "rows of the column of subgroups".into(), expected, found });
        }
        if self.rows() > 0 && rows.prediction().is_some() == self.figures.network.is_empty() {
            return Err(Error::Inconsistent { what: "some batches of rows have predictions, and others have none" });
        }
        self.fitted.all_intervals(rows, &Asked::at(&self.curve.levels))
    }

    /// The evaluation. `tick(done, total)` follows what remains to be done and cancels it by returning false.
    pub fn finish(self, tick: Option<Ticker<'_>>) -> Result<RegressionEvaluation> {
        self.end(&Work::open("steps", tick))
    }

    pub(super) fn end(self, steps: &Work<'_>) -> Result<RegressionEvaluation> {
        let rows = self.rows();
        if rows == 0 {
            let remedy = "give rows with known values that were used for nothing before";
            return Err(Error::TooFewRows { what: "an evaluation", needed: 1, found: 0, remedy });
        }
        let RegressionJudge { fitted, settings, joint, target_names, feature_names, groups, tallies, .. } = self;
        steps.announce(target_names.len() + 2);
        let kappa_paths = fitted.tuning_curves().iter().map(|p| named_path(p, &target_names)).collect();
        let (intervals, y, network) = self.figures.arrays(rows, self.curve.each)?;
        let (numbers, values) = self.sample.finish();
        let seed = settings.seed.child(streams::DIAGNOSIS);
        let network = network.as_ref().map(|d| d.view());
        let (searched, features) = self.searched.finish();
        let search = Search {
            numbers: &searched,
            features: features.view(),
            names: &feature_names,
            comparisons: 2 * target_names.len().min(SEARCHED_TARGETS),
        };
        let job = Job { fitted, intervals: &intervals, y: y.view(), network, search, seed, steps };
        let hits = row_hits(&intervals, y.view(), joint)?;
        let pooled = self.pooled.map(|p| (p.hits, p.lengths));
        let subgroups =
            groups.map(|(column, groups)| (column, job.subgroups(&groups, &hits, pooled.as_ref(), settings.level)));
        steps.advance()?;
        let mut targets = job.targets(target_names, &tallies)?;
        let distributions = self.distributions.map(Distributions::finish).unwrap_or_default();
        for (target, scores) in targets.iter_mut().zip(distributions) {
            target.distribution = Some(scores);
        }
        let targets = with_sources(fitted, targets, variances(fitted, values.view())?);
        steps.advance()?;
        let overall = scores(&intervals, y.view(), job.network)?;
        Ok(RegressionEvaluation {
            rows,
            seen: None,
            joint,
            overall: IntervalScores {
                coverage: Proportion::new(hits.iter().sum(), hits.len()),
                level: settings.level,
                ..overall
            },
            curve: tallies.iter().zip(LEVELS).map(|(t, level)| t.all(level, rows)).collect(),
            targets,
            subgroups,
            guarantee: fitted.guarantee(settings.level).text,
            settings: serde_json::to_value(fitted.settings()).unwrap_or_default(),
            importance: job.importance(&feature_names, (&numbers, values.view()), settings.seed)?,
            kappa_paths,
        })
    }
}

/// A path under the name of its target, where there are several.
fn named_path(path: &TuningCurve, targets: &[String]) -> TuningCurve {
    match path.output.and_then(|j| targets.get(j)) {
        Some(target) if targets.len() > 1 => TuningCurve { label: format!("{}, {target}", path.label), ..path.clone() },
        _ => path.clone(),
    }
}

/// Features, and what the network says itself beside them, as rows to predict: its predictions, where there are some,
/// then its own uncertainty.
pub(super) fn rows_of<'v>(fitted: &FittedRegressor, values: ArrayView2<'v, f64>) -> Result<RegressionInputs<'v>> {
    let p = fitted.features();
    let mut rows = RegressionInputs::new(values.slice_move(s![.., ..p]))?;
    let targets = fitted.outputs();
    let own = values.ncols() - targets * fitted.own().map_or(0, |kind| kind.names().len());
    if own > p {
        rows = rows.with_prediction(values.slice_move(s![.., p..own]))?;
    }
    match fitted.own() {
        None => Ok(rows),
        Some(OwnKind::Sd) => rows.with_sd(values.slice_move(s![.., own..])),
        Some(OwnKind::Quantiles) => {
            let upper = own + targets;
            rows.with_quantiles(values.slice_move(s![.., own..upper]), values.slice_move(s![.., upper..]))
        }
    }
}

/// The sources of variance on some rows of the sample.
fn variances(fitted: &FittedRegressor, sample: ArrayView2<'_, f64>) -> Result<Vec<VarianceSplit>> {
    let chosen = sample.select(ndarray::Axis(0), &spread(sample.nrows(), variance::ROWS));
    splits(fitted, &rows_of(fitted, chosen.view())?)
}

/// Targets with their sources of variance and the weights of a stack.
fn with_sources(
    fitted: &FittedRegressor,
    mut targets: Vec<TargetEvaluation>,
    splits: Vec<VarianceSplit>,
) -> Vec<TargetEvaluation> {
    targets.iter_mut().zip(splits).for_each(|(target, split)| target.variance = Some(split));
    for (target, [stonet, skip, ridge, network]) in targets.iter_mut().zip(fitted.weights().unwrap_or_default()) {
        target.weights = Some(MemberWeights { stonet, skip, ridge, network });
    }
    targets
}

/// What the ranks of all rows would give, per row: hits, and mean lengths over the targets.
struct Pooled {
    head: FittedRegressor,
    hits: Vec<f64>,
    lengths: Vec<f64>,
}

impl Pooled {
    fn new(fitted: &FittedRegressor) -> Self {
        Pooled { head: fitted.pooled(), hits: Vec::new(), lengths: Vec::new() }
    }

    fn add(&mut self, rows: &RegressionInputs<'_>, y: ArrayView2<'_, f64>, each: Level, joint: bool) -> Result<()> {
        let i = self.head.all_intervals(rows, &Asked::at(&[each]))?.remove(0);
        self.hits.extend(row_hits(&i, y, joint)?);
        self.lengths.extend(row_lengths(&i));
        Ok(())
    }
}

/// What stays of every row, row after row.
#[derive(Default)]
struct Figures {
    y: Vec<f64>,
    prediction: Vec<f64>,
    lower: Vec<f64>,
    upper: Vec<f64>,
    /// The network's own predictions; empty where there are none.
    network: Vec<f64>,
}

impl Figures {
    fn add(&mut self, i: &Intervals, y: ArrayView2<'_, f64>, network: Option<ArrayView2<'_, f64>>) {
        self.y.extend(y);
        self.prediction.extend(&i.prediction);
        self.lower.extend(&i.lower);
        self.upper.extend(&i.upper);
        self.network.extend(network.iter().flatten());
    }

    /// Intervals at the level of each target by itself, the values, and the network's predictions.
    fn arrays(self, rows: usize, level: Level) -> Result<(Intervals, Array2<f64>, Option<Array2<f64>>)> {
        let array = |values: Vec<f64>| {
            let columns = values.len() / rows;
            Array2::from_shape_vec((rows, columns), values)
                .map_err(|_| Error::Inconsistent { what: "rows have different numbers of targets" })
        };
        let network = (!self.network.is_empty()).then(|| array(self.network)).transpose()?;
        let [prediction, lower, upper] = [array(self.prediction)?, array(self.lower)?, array(self.upper)?];
        Ok((Intervals { prediction, lower, upper, level }, array(self.y)?, network))
    }
}
