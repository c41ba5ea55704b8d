//! The experiment's table, JSON and figures.

use serde::Serialize;
use stonet::metrics::mean_sd;
use stonet_compare::simulated::Model;
use stonet_compare::table::Table;
use stonet_report::svg::{Chart, Style};

use super::spec::{Method, Spec};
use super::{Finished, Judged, Options};

/// The result of the experiment; its JSON is the command's `--json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Name and version of this layout.
    pub schema: &'static str,
    /// Root seed.
    pub seed: u64,
    /// Training sets per model and n.
    pub replicates: usize,
    /// Rows of a pilot set, at which κ was chosen.
    pub pilot_rows: usize,
    /// One entry per model, method and n.
    pub rows: Vec<Row>,
}

/// One method at one n.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// 1 or 2.
    pub model: Model,
    /// Trainer and penalty.
    pub method: String,
    /// κ chosen on the pilots, at their number of rows.
    pub kappa: f64,
    /// Whether that is an end of the grid.
    pub kappa_at_edge: bool,
    /// The number of rows, n.
    pub rows: usize,
    /// Mean of E(μ̂ − μ)² over training sets.
    pub error: f64,
    /// Its standard error.
    pub error_se: f64,
    /// Root mean squared error on new responses, whose noise has variance 1.
    pub test_rmse: f64,
    /// Fraction of training sets in which x1 … x5 are all selected.
    pub kept: f64,
    /// Mean number of false inputs selected, of 15.
    pub false_inputs: f64,
    /// Fraction of training sets in which exactly x1 … x5 are selected.
    pub exact: f64,
    /// Mean number of weights.
    pub weights: f64,
}

pub(super) fn report(spec: &Spec, options: &Options, methods: &[&Method], finished: &Finished) -> Report {
    let mut rows = Vec::new();
    for &model in &options.models {
        for method in methods {
            let Some(pooled) = finished.pooled(model, method) else { continue };
            let kappa = (pooled.kappas[pooled.best()], pooled.best_at_edge());
            for &n in &spec.rows {
                let results: Vec<&Judged> = (0..options.replicates)
                    .filter_map(|i| finished.replicates.get(&(model, n, i))?.get(&method.name()))
                    .collect();
                rows.push(row(model, method, kappa, n, &results));
            }
        }
    }
    Report {
        schema: "stonet.reproduce.consistency/1",
        seed: options.seed,
        replicates: options.replicates,
        pilot_rows: spec.pilot_rows,
        rows,
    }
}

fn row(model: Model, method: &Method, (kappa, kappa_at_edge): (f64, bool), rows: usize, results: &[&Judged]) -> Row {
    let mean = |f: &dyn Fn(&Judged) -> f64| mean_sd(&results.iter().map(|j| f(j)).collect::<Vec<_>>());
    let (error, sd) = mean(&|j| j.error);
    let truth = |b: bool| f64::from(u8::from(b));
    Row {
        model,
        method: method.name(),
        kappa,
        kappa_at_edge,
        rows,
        error,
        error_se: sd / (results.len() as f64).sqrt(),
        test_rmse: (1.0 + error).sqrt(),
        kept: mean(&|j| truth(j.kept())).0,
        false_inputs: mean(&|j| j.false_inputs() as f64).0,
        exact: mean(&|j| truth(j.kept() && j.false_inputs() == 0)).0,
        weights: mean(&|j| j.nonzero_weights as f64).0,
    }
}

impl Report {
    /// Models and methods in the table's order.
    fn curves(&self) -> Vec<Vec<&Row>> {
        let mut curves: Vec<Vec<&Row>> = Vec::new();
        for row in &self.rows {
            match curves.last_mut() {
                Some(c) if c[0].model == row.model && c[0].method == row.method => c.push(row),
                _ => curves.push(vec![row]),
            }
        }
        curves
    }

    /// One line per model and method: the error at every n, its slope in n, and the selection.
    pub fn table(&self) -> String {
        let sizes: Vec<usize> = self.curves().first().map(|c| c.iter().map(|r| r.rows).collect()).unwrap_or_default();
        let columns: Vec<String> = sizes.iter().map(|n| format!("n = {n}")).collect();
        let names = |first: &[&str]| first.iter().map(|s| (*s).to_owned()).chain(columns.clone()).collect::<Vec<_>>();
        let header = names(&["model", "method", &format!("kappa at {}", self.pilot_rows)]);
        let mut error = Table::new(&header.iter().map(String::as_str).chain(["slope"]).collect::<Vec<_>>());
        let header = names(&["model", "method"]);
        let mut selection = Table::new(&header.iter().map(String::as_str).collect::<Vec<_>>());
        for c in self.curves() {
            let edge = if c[0].kappa_at_edge { " (edge)" } else { "" };
            let mut cells = vec![c[0].model.to_string(), c[0].method.clone(), format!("{}{edge}", c[0].kappa)];
            cells.extend(c.iter().map(|r| format!("{:.4} ({:.4})", r.error, r.error_se)));
            cells.push(format!("{:.2}", slope(&c)));
            error.row(cells);
            let mut cells = vec![c[0].model.to_string(), c[0].method.clone()];
            let percent = |f: f64| 100.0 * f;
            cells.extend(
                c.iter().map(|r| format!("{:.0} / {:.1} / {:.0}", percent(r.kept), r.false_inputs, percent(r.exact))),
            );
            selection.row(cells);
        }
        format!(
            "E(mu_hat - mu)^2 on fresh inputs, mean over {} training sets (standard error); slope of its logarithm in log n:\n\n\
             {error}\nx1 ... x5 all kept, % / false inputs left, of 15 / exactly x1 ... x5, %:\n\n{selection}",
            self.replicates
        )
    }

    /// Per model: the error against n, and the fraction of exact selections.
    pub fn figures(&self) -> Vec<(String, String)> {
        let mut models: Vec<Model> = self.rows.iter().map(|r| r.model).collect();
        models.dedup();
        models.iter().flat_map(|&m| [self.draw_error(m), self.draw_selection(m)]).collect()
    }

    fn draw_error(&self, model: Model) -> (String, String) {
        let mut chart = Chart::new(&format!("Model {model}: error of the function"), "log10 n", "log10 E(μ̂ − μ)²");
        self.lines(&mut chart, model, &|r| r.error.max(1e-12).log10());
        (format!("error-{model}.svg"), chart.render())
    }

    fn draw_selection(&self, model: Model) -> (String, String) {
        let mut chart = Chart::new(&format!("Model {model}: false inputs left"), "log10 n", "of 15");
        self.lines(&mut chart, model, &|r| r.false_inputs);
        (format!("selection-{model}.svg"), chart.render())
    }

    fn lines(&self, chart: &mut Chart, model: Model, value: &dyn Fn(&Row) -> f64) {
        for c in self.curves().into_iter().filter(|c| c[0].model == model) {
            let style = match c[0].method.split(' ').next() {
                Some("asghmc+iro") => Style::Strong,
                Some("asghmc") => Style::Weak,
                _ => Style::Rule,
            };
            let points = c.iter().map(|r| ((r.rows as f64).log10(), value(r))).collect();
            chart.line(points, style, Some(&c[0].method));
        }
    }
}

/// The least-squares slope of log error in log n.
fn slope(curve: &[&Row]) -> f64 {
    let points: Vec<(f64, f64)> = curve.iter().map(|r| ((r.rows as f64).ln(), r.error.max(1e-12).ln())).collect();
    let n = points.len() as f64;
    let (mx, my) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let cross: f64 = points.iter().map(|(x, y)| (x - mx) * (y - my)).sum();
    let square: f64 = points.iter().map(|(x, _)| (x - mx) * (x - mx)).sum();
    cross / square
}
