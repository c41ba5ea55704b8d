//! The finished table: ours beside the published numbers, with the difference in standard errors.

use std::collections::BTreeMap;

use serde::Serialize;
use stonet::metrics::mean_sd;
use stonet::train::LossCurve;
use stonet_compare::table::Table;
use stonet_report::svg::Chart;

use super::replicate::{Replicate, variances};
use super::spec::{Cell, Spec};
use super::{Finished, Options, SCHEMA};
use crate::published::{CoverageCell, citab};
use crate::{Error, Result};

/// The result of the experiment; its JSON is the command's `--json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Name and version of this layout.
    pub schema: &'static str,
    /// Root seed.
    pub seed: u64,
    /// Nominal coverage.
    pub level: f64,
    /// The variance of the table.
    pub variance: String,
    /// The experiment's settings.
    pub spec: Spec,
    /// One entry per model and setting.
    pub cells: Vec<CellReport>,
}

/// One cell; coverages as fractions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellReport {
    /// 1 or 2.
    pub model: u8,
    /// `i`, `ii` or `iii`.
    pub setting: String,
    /// Training sets.
    pub replicates: usize,
    /// κ of all layers.
    pub kappa: f64,
    /// Whether it lies at an end of the grid.
    pub kappa_at_edge: bool,
    /// The pooled out-of-fold error of the pilots, which chose it.
    pub pilot_error: LossCurve,
    /// Mean coverage.
    pub coverage: f64,
    /// Its standard error, over training sets; absent for a single one.
    pub coverage_se: Option<f64>,
    /// Standard deviation of the coverage over training sets.
    pub sd_over_datasets: f64,
    /// Standard deviation of the coverage over test points: what the paper's printed one is closest to.
    pub sd_over_points: f64,
    /// Mean length.
    pub mean_length: f64,
    /// Mean root mean squared error on the test rows.
    pub test_rmse: f64,
    /// Mean effective degrees of freedom.
    pub mean_df: f64,
    /// Mean number of non-zero weights.
    pub mean_nonzero_weights: f64,
    /// Fraction of training sets in which every |average gradient| of x1 … x5 exceeds every other.
    pub separated: f64,
    /// Mean number of inputs that are left in the network.
    pub mean_selected: f64,
    /// Training sets in which the divergence back-off fired.
    pub restarted: usize,
    /// Every named variance: mean coverage and mean length.
    pub variances: BTreeMap<String, VarianceReport>,
    /// The paper's mean coverage.
    pub paper_coverage: f64,
    /// The paper's printed standard deviation.
    pub paper_sd: f64,
    /// Ours minus the paper's, in units of the standard error of the difference; the paper's mean, of the same design,
    /// is taken to be as uncertain as ours.
    pub difference_in_se: Option<f64>,
    /// Intervals at 20 test points of the first training set: prediction, lower, upper, y.
    pub examples: Vec<[f64; 4]>,
}

/// One variance in one cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VarianceReport {
    /// Mean coverage.
    pub coverage: f64,
    /// Mean length.
    pub mean_length: f64,
    /// Mean Σ̂_L / ς²_L.
    pub sigma_ratio: f64,
}

pub(super) fn report(spec: &Spec, options: &Options, cells: &[Cell], finished: &Finished) -> Result<Report> {
    let named = variances(spec).into_iter().find(|(_, v)| *v == spec.variance);
    let Some((variance, _)) = named else {
        return Err(Error::range("variance", "one of the compared ones"));
    };
    let published = citab();
    let cells = cells
        .iter()
        .filter_map(|cell| {
            let replicates: Vec<&Replicate> =
                (0..options.replicates).filter_map(|i| finished.replicates.get(&(cell.clone(), i))).collect();
            let paper = published.iter().find(|p| p.model == cell.model && p.setting == cell.setting)?;
            Some(cell_report(spec, cell, variance, &replicates, finished.pooled(cell)?, paper))
        })
        .collect();
    Ok(Report {
        schema: SCHEMA,
        seed: options.seed,
        level: spec.level,
        variance: variance.into(),
        spec: spec.clone(),
        cells,
    })
}

fn cell_report(
    spec: &Spec,
    cell: &Cell,
    variance: &str,
    replicates: &[&Replicate],
    pilot_error: LossCurve,
    paper: &CoverageCell,
) -> CellReport {
    let mean = |f: &dyn Fn(&Replicate) -> f64| mean_sd(&replicates.iter().map(|r| f(r)).collect::<Vec<_>>());
    let coverage = |r: &Replicate, name: &str| 1.0 - r.variances[name].missed.len() as f64 / spec.test_rows as f64;
    let (covered, sd_over_datasets) = mean(&|r| coverage(r, variance));
    let coverage_se = (replicates.len() > 1).then(|| sd_over_datasets / (replicates.len() as f64).sqrt());
    let compared = replicates[0].variances.keys().map(|name| {
        let report = VarianceReport {
            coverage: mean(&|r| coverage(r, name)).0,
            mean_length: mean(&|r| r.variances[name].mean_length).0,
            sigma_ratio: mean(&|r| r.variances[name].sigma_ratio).0,
        };
        (name.clone(), report)
    });
    CellReport {
        model: cell.model.into(),
        setting: cell.setting.clone(),
        replicates: replicates.len(),
        kappa: replicates[0].kappa,
        kappa_at_edge: pilot_error.best_at_edge(),
        pilot_error,
        coverage: covered,
        coverage_se,
        sd_over_datasets,
        sd_over_points: sd_over_points(spec, variance, replicates),
        mean_length: mean(&|r| r.variances[variance].mean_length).0,
        test_rmse: mean(&|r| r.test_rmse).0,
        mean_df: mean(&|r| r.df).0,
        mean_nonzero_weights: mean(&|r| r.nonzero_weights as f64).0,
        separated: mean(&|r| f64::from(u8::from(r.smallest_true > r.largest_false))).0,
        mean_selected: mean(&|r| r.selected.len() as f64).0,
        restarted: replicates.iter().filter(|r| r.restarts > 0).count(),
        variances: compared.collect(),
        paper_coverage: paper.coverage,
        paper_sd: paper.sd,
        difference_in_se: coverage_se.map(|se| (covered - paper.coverage) / (2f64.sqrt() * se)),
        examples: replicates[0].examples.clone(),
    }
}

/// The spread over test points of the fraction of training sets whose interval covers there.
fn sd_over_points(spec: &Spec, variance: &str, replicates: &[&Replicate]) -> f64 {
    let mut misses = vec![0.0; spec.test_rows];
    for r in replicates {
        r.variances[variance].missed.iter().for_each(|&row| misses[row] += 1.0 / replicates.len() as f64);
    }
    mean_sd(&misses).1
}

fn percent(fraction: f64) -> String {
    format!("{:.2}", 100.0 * fraction)
}

impl Report {
    /// The table beside the paper's.
    pub fn table(&self) -> Table {
        let mut table = Table::new(&[
            "model",
            "setting",
            "kappa",
            "coverage %",
            "se",
            "sd data",
            "sd point",
            "paper %",
            "paper sd",
            "diff/se",
            "length",
            "test RMSE",
            "separated",
            "back-offs",
        ]);
        for c in &self.cells {
            table.row(vec![
                c.model.to_string(),
                c.setting.clone(),
                c.kappa.to_string(),
                percent(c.coverage),
                c.coverage_se.map_or("–".into(), percent),
                percent(c.sd_over_datasets),
                percent(c.sd_over_points),
                percent(c.paper_coverage),
                percent(c.paper_sd),
                c.difference_in_se.map_or("–".into(), |d| format!("{d:+.1}")),
                format!("{:.3}", c.mean_length),
                format!("{:.3}", c.test_rmse),
                format!("{:.0} %", 100.0 * c.separated),
                format!("{}/{}", c.restarted, c.replicates),
            ]);
        }
        table
    }

    /// Coverage and length of every named variance.
    pub fn variance_table(&self) -> Table {
        let names: Vec<&String> = self.cells.first().map(|c| c.variances.keys().collect()).unwrap_or_default();
        let header: Vec<String> = ["model", "setting"]
            .map(String::from)
            .into_iter()
            .chain(names.iter().flat_map(|n| [format!("{n} %"), format!("{n} length")]))
            .collect();
        let mut table = Table::new(&header.iter().map(String::as_str).collect::<Vec<_>>());
        for c in &self.cells {
            let judged = names.iter().map(|&n| &c.variances[n]);
            let numbers = judged.flat_map(|v| [percent(v.coverage), format!("{:.3}", v.mean_length)]);
            table.row([c.model.to_string(), c.setting.clone()].into_iter().chain(numbers).collect());
        }
        table
    }

    /// Figure `stonet_CI`: a file name and its SVG for every cell that has examples.
    pub fn figures(&self) -> Vec<(String, String)> {
        let with_examples = self.cells.iter().filter(|c| !c.examples.is_empty());
        with_examples
            .map(|c| {
                let title = format!(
                    "{} % prediction intervals, model {}, setting ({})",
                    100.0 * self.level,
                    c.model,
                    c.setting
                );
                let mut chart = Chart::new(&title, "test point", "y");
                for (i, [_, lower, upper, y]) in c.examples.iter().enumerate() {
                    chart.interval(i as f64 + 1.0, *lower, *upper);
                    chart.point(i as f64 + 1.0, *y, lower <= y && y <= upper);
                }
                (format!("intervals-{}-{}.svg", c.model, c.setting), chart.render())
            })
            .collect()
    }
}
