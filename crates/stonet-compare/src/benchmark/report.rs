//! A set's splits summed up: means over splits with standard errors, as a table and as JSON.

use std::path::Path;

use serde::Serialize;
use stonet::metrics::mean_sd;

use super::{DEFAULT, Judged, Method, Plan, Protocol, Set, Split};
use crate::table::Table;
use crate::{Result, files};

/// A set's results.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Name and version of this layout.
    pub schema: &'static str,
    /// The set.
    pub set: String,
    /// Rows and inputs.
    pub rows: usize,
    /// Inputs.
    pub inputs: usize,
    /// Methods that saw the network's inputs beside its features.
    pub with_inputs: Vec<&'static str>,
    /// 1 − α.
    pub level: f64,
    /// Random splits.
    pub splits: usize,
    /// Random seed.
    pub seed: u64,
    /// Epochs of the networks.
    pub epochs: usize,
    /// Mean over splits of the network's mean squared error in training.
    pub train_mse: f64,
    /// On test rows.
    pub test_mse: f64,
    /// Seconds per network.
    pub training_seconds: f64,
    /// The name of our default.
    pub default: &'static str,
    /// Every method, ours first.
    pub methods: Vec<MethodSummary>,
}

/// A method's means over splits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MethodSummary {
    /// The name of the method.
    pub name: &'static str,
    /// Mean coverage.
    pub coverage: f64,
    /// Its standard error over splits.
    pub coverage_se: f64,
    /// Mean length.
    pub mean_length: f64,
    /// Its standard error over splits.
    pub mean_length_se: f64,
    /// Median length.
    pub median_length: f64,
    /// Interval (Winkler) score.
    pub winkler: f64,
    /// Its standard error over splits.
    pub winkler_se: f64,
    /// The score relative to split conformal's on the same splits: the geometric mean of the ratios.
    pub winkler_ratio: f64,
    /// Coverage in the fifth with the shortest intervals.
    pub narrowest: f64,
    /// Its standard error over splits.
    pub narrowest_se: f64,
    /// Coverage in the fifth with the longest.
    pub widest: f64,
    /// Its standard error over splits.
    pub widest_se: f64,
    /// Seconds to fit and predict.
    pub seconds: f64,
}

pub(super) fn summary(set: &Set, plan: &Plan, results: &[&Split]) -> Summary {
    let mean = |f: &dyn Fn(&Split) -> f64| mean_sd(&results.iter().map(|s| f(s)).collect::<Vec<_>>()).0;
    Summary {
        schema: "stonet.benchmark/1",
        set: set.name.clone(),
        rows: set.data.rows(),
        inputs: set.data.inputs(),
        with_inputs: with_inputs(set.also),
        level: plan.protocol.level,
        splits: plan.splits,
        seed: plan.seed,
        epochs: set.epochs,
        train_mse: mean(&|s| s.train_mse),
        test_mse: mean(&|s| s.test_mse),
        training_seconds: mean(&|s| s.training_seconds),
        default: DEFAULT,
        methods: Method::ALL.into_iter().filter(|m| m.own().is_none()).map(|m| method(m.name(), results)).collect(),
    }
}

/// The methods that see the network's inputs where these stand beside its features.
fn with_inputs(also: bool) -> Vec<&'static str> {
    let seeing = Method::ALL.into_iter().filter(|m| also && m.sees_further_columns());
    seeing.map(Method::name).collect()
}

fn method(name: &'static str, splits: &[&Split]) -> MethodSummary {
    let of = |f: &dyn Fn(&Judged) -> f64| mean_sd(&splits.iter().map(|s| f(&s.methods[name])).collect::<Vec<_>>());
    let n = (splits.len() as f64).sqrt();
    let (coverage, coverage_sd) = of(&|j| j.coverage);
    let (mean_length, length_sd) = of(&|j| j.mean_length);
    let ratios = splits.iter().map(|s| (s.methods[name].winkler / s.methods["split-conformal"].winkler).ln());
    MethodSummary {
        name,
        coverage,
        coverage_se: coverage_sd / n,
        mean_length,
        mean_length_se: length_sd / n,
        median_length: of(&|j| j.median_length).0,
        winkler: of(&|j| j.winkler).0,
        winkler_se: of(&|j| j.winkler).1 / n,
        winkler_ratio: (ratios.sum::<f64>() / splits.len() as f64).exp(),
        narrowest: of(&|j| j.narrowest).0,
        narrowest_se: of(&|j| j.narrowest).1 / n,
        widest: of(&|j| j.widest).0,
        widest_se: of(&|j| j.widest).1 / n,
        seconds: of(&|j| j.seconds).0,
    }
}

impl Summary {
    /// A method by name.
    pub fn method(&self, name: &str) -> Option<&MethodSummary> {
        self.methods.iter().find(|m| m.name == name)
    }

    /// One row per method.
    pub fn table(&self) -> Table {
        let header = [
            "method",
            "coverage % (se)",
            "mean length",
            "median",
            "Winkler",
            "/ split conf.",
            "narrowest fifth %",
            "widest fifth %",
            "seconds",
        ];
        let mut t = Table::new(&header);
        for m in &self.methods {
            let star = if m.name == self.default { " (default)" } else { "" };
            t.row(vec![
                format!("{}{star}", m.name),
                format!("{:.1} ({:.1})", 100.0 * m.coverage, 100.0 * m.coverage_se),
                number(m.mean_length),
                number(m.median_length),
                number(m.winkler),
                format!("{:.3}", m.winkler_ratio),
                format!("{:.1}", 100.0 * m.narrowest),
                format!("{:.1}", 100.0 * m.widest),
                format!("{:.2}", m.seconds),
            ]);
        }
        t
    }

    /// Which methods see which columns.
    pub fn columns(&self) -> String {
        columns(&self.with_inputs, self.methods.iter().map(|m| m.name), "the network's inputs")
    }

    /// The set, its networks, and the first thing to say.
    pub fn headline(&self) -> String {
        format!(
            "{}: {} rows, {} inputs; {} splits 40/40/20, level {}; networks of {} epochs, mean squared error {} in training and {} on test rows",
            self.set,
            self.rows,
            self.inputs,
            self.splits,
            self.level,
            self.epochs,
            number(self.train_mse),
            number(self.test_mse),
        )
    }
}

/// A set's results and how they came about; its JSON is that of `stonet benchmark`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report<'a> {
    /// The results.
    #[serde(flatten)]
    pub summary: &'a Summary,
    /// How networks were trained and rows were split.
    pub protocol: &'a Protocol,
}

impl Report<'_> {
    /// The headline over the table.
    pub fn text(&self) -> String {
        format!("{}\n\n{}\n{}\n", self.summary.headline(), self.summary.table(), self.summary.columns())
    }

    /// Writes `benchmark.json` and `benchmark.md`.
    pub fn write(&self, dir: &Path) -> Result<()> {
        files::publish(dir, "benchmark", self, &self.text(), Vec::new())
    }
}

/// Which of these methods see further columns beside the features.
pub(super) fn columns<'a>(seeing: &[&str], methods: impl Iterator<Item = &'a str>, further: &str) -> String {
    if seeing.is_empty() {
        return "Every method sees the features of the last hidden layer alone.".into();
    }
    let others: Vec<&str> = methods.filter(|m| !seeing.contains(m)).collect();
    let others = match others.is_empty() {
        true => String::new(),
        false => {
            format!(" {} do not: they are defined on the last hidden layer or on predictions alone.", others.join(", "))
        }
    };
    format!("{} see {further} beside the features.{others}", seeing.join(", "))
}

/// Four significant digits.
pub fn number(v: f64) -> String {
    if !v.is_finite() {
        return v.to_string();
    }
    let digits = if v == 0.0 { 0 } else { (3 - v.abs().log10().floor() as i32).clamp(0, 8) };
    format!("{v:.*}", digits as usize)
}
