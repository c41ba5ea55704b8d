//! `reproduce selection`: the average output gradient of every input along the κ path (Figure `Lasso_selection_path`).

use rayon::prelude::*;
use serde::Serialize;
use stonet::base::Work;
use stonet::base::streams::{experiments, selection as streams};
use stonet::train::{Asghmc, Assumptions, Iro, LossCurve, Rule, Structure, Trainer, Walk, cross_validate, kappa_path};
use stonet::{Dataset, Seed, StoNet, Ticker};
use stonet_compare::simulated::{INPUTS, Model, TRUE_INPUTS, separation};
use stonet_compare::table::Table;
use stonet_report::svg::{Chart, Style};

use crate::Result;
use crate::simulation::{Cell, Spec};

/// The result of the experiment; its JSON is the command's `--json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Name and version of this layout.
    pub schema: &'static str,
    /// Root seed.
    pub seed: u64,
    /// One entry per model.
    pub models: Vec<ModelPath>,
}

/// One model's path.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelPath {
    /// 1 or 2.
    pub model: u8,
    /// The paper's setting whose rates are used.
    pub setting: String,
    /// Out-of-fold error along the path.
    pub error: LossCurve,
    /// κ of the smallest out-of-fold error.
    pub kappa: f64,
    /// The smallest |average gradient| of x1 … x5 at that κ.
    pub smallest_true: f64,
    /// The largest of the others.
    pub largest_false: f64,
    /// Whether the first exceeds the second.
    pub separated: bool,
    /// The path.
    pub points: Vec<PathPoint>,
    /// What an IRO polish of the chosen fit leaves.
    pub polished: Polished,
}

/// The structure of the polished network, and what the theory says at this n.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Polished {
    /// Selected inputs and connections, and how stable the inputs are over the last estimates.
    pub structure: Structure,
    /// Noise amplification, rows, and r_n with constants 1, for the network's widths and σ's.
    pub assumptions: Assumptions,
    /// Weights that the threshold √r_n of `cor:stonet-IRO` would leave.
    pub above_threshold: usize,
    /// The assumptions in words.
    pub words: String,
}

/// One κ.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PathPoint {
    /// κ of all layers.
    pub kappa: f64,
    /// The λ of layer 1 that has this effect at the setting's σ², ε, γ.
    pub lambda: f64,
    /// Non-zero weights.
    pub nonzero_weights: usize,
    /// Average output gradient of x1 … x20.
    pub gradient: Vec<f64>,
}

/// Walks the path of every model.
pub fn run(spec: &Spec, models: &[Model], seed: u64, tick: Ticker<'_>) -> Result<Report> {
    let cells = spec.cells(models, std::slice::from_ref(&spec.selection.setting))?;
    let work = Work::new(2 * cells.len(), "steps", tick);
    let models = cells.par_iter().map(|cell| model_path(spec, cell, Seed::new(seed), &work)).collect::<Result<_>>()?;
    Ok(Report { schema: "stonet.reproduce.selection/1", seed, models })
}

fn model_path(spec: &Spec, cell: &Cell, root: Seed, work: &Work<'_>) -> Result<ModelPath> {
    let seed = root.child(experiments::SELECTION.at(u8::from(cell.model).into()));
    let data = cell.model.sample(spec.rows, seed.child(streams::ROWS))?;
    let (settings, trainer, start) = spec.network(cell, seed.child(streams::START))?;
    let kappas = &spec.selection.kappas;
    let fits = kappa_path(&trainer, &start, &data, kappas, Walk::Warm, seed.child(streams::PATH))?;
    work.advance()?;
    let error =
        cross_validate(&trainer, &start, &data, kappas, Walk::Warm, spec.folds, seed.child(streams::CROSS_VALIDATION))?;
    work.advance()?;
    let points = kappas
        .iter()
        .zip(&fits)
        .map(|(&kappa, fit)| {
            Ok(PathPoint {
                kappa,
                lambda: lambda(&trainer, settings.gain[0], kappa),
                nonzero_weights: fit.network().nonzero_weights(),
                gradient: fit.network().average_gradients(data.x())?.row(0).to_vec(),
            })
        })
        .collect::<Result<Vec<_>>>()?;
    let polished = polish(spec, &start.widths(), fits[error.best()].network(), &data, seed.child(streams::POLISH))?;
    let (smallest_true, largest_false) = separation(&points[error.best()].gradient);
    Ok(ModelPath {
        model: cell.model.into(),
        setting: cell.setting.clone(),
        kappa: kappas[error.best()],
        error,
        smallest_true,
        largest_false,
        separated: smallest_true > largest_false,
        points,
        polished,
    })
}

fn polish(spec: &Spec, widths: &[usize], net: &StoNet, data: &Dataset, seed: Seed) -> Result<Polished> {
    let iro = Iro { kappa: spec.selection.polish_kappa, estimates: spec.selection.polish_estimates, ..Iro::default() };
    let fit = iro.fit(net, data, seed, &mut ())?;
    let structure = Structure::of(&fit, Rule::Zeros)?;
    let assumptions = Assumptions::of(widths, fit.network(), data.x())?;
    let threshold = Rule::Threshold(assumptions.threshold(1.0));
    let above_threshold = Structure::of(&fit, threshold)?.connections.len();
    Ok(Polished { words: assumptions.to_string(), structure, assumptions, above_threshold })
}

/// λ_1 = κ_1 rate_1 / G_1.
fn lambda(trainer: &Asghmc, gain: f64, kappa: f64) -> f64 {
    kappa * trainer.rates[0] / gain
}

impl Report {
    /// One row per model.
    pub fn table(&self) -> Table {
        let mut table =
            Table::new(&["model", "setting", "chosen kappa", "smallest true", "largest false", "separated"]);
        for m in &self.models {
            table.row(vec![
                m.model.to_string(),
                m.setting.clone(),
                m.kappa.to_string(),
                format!("{:.4}", m.smallest_true),
                format!("{:.4}", m.largest_false),
                if m.separated { "yes" } else { "no" }.to_owned(),
            ]);
        }
        table
    }
}

impl Polished {
    /// Inputs, connections, stability, and the assumptions, in words.
    pub fn text(&self) -> String {
        let inputs: Vec<String> = (self.structure.inputs.iter())
            .map(|&k| format!("x{} ({:.0} %)", k + 1, 100.0 * self.structure.stability[k]))
            .collect();
        let per_layer = |layer: usize| self.structure.connections.iter().filter(|c| c.layer == layer).count();
        let layers = self.structure.connections.iter().map(|c| c.layer).max().unwrap_or(0);
        let counts: Vec<String> = (1..=layers).map(|l| format!("{} into layer {l}", per_layer(l))).collect();
        format!(
            "inputs (in % of {} estimates): {}\nconnections: {}; {} of them above sqrt(r_n)\n{}",
            self.structure.estimates,
            inputs.join(", "),
            counts.join(", "),
            self.above_threshold,
            self.words
        )
    }
}

impl ModelPath {
    /// `kappa, lambda, minus_log_lambda, out_of_fold_mse, nonzero_weights, x1 … x20`.
    pub fn csv(&self) -> String {
        let names: Vec<String> = (1..=INPUTS).map(|k| format!("x{k}")).collect();
        let mut text = format!("kappa,lambda,minus_log_lambda,out_of_fold_mse,nonzero_weights,{}\n", names.join(","));
        for (p, mse) in self.points.iter().zip(&self.error.loss) {
            let gradient: Vec<String> = p.gradient.iter().map(f64::to_string).collect();
            let (k, l, minus_log, nonzero) = (p.kappa, p.lambda, -p.lambda.ln(), p.nonzero_weights);
            text += &format!("{k},{l},{minus_log},{mse},{nonzero},{}\n", gradient.join(","));
        }
        text
    }

    /// The figure.
    pub fn svg(&self) -> String {
        let title = format!("Variable selection path, model {}, setting ({})", self.model, self.setting);
        let points: Vec<(f64, &[f64])> = self.points.iter().map(|p| (-p.lambda.ln(), &p.gradient[..])).collect();
        let chosen = self.points.iter().find(|p| p.kappa == self.kappa).map(|p| -p.lambda.ln());
        draw(&title, "−log λ", &points, chosen)
    }
}

/// Average output gradients against a measure of the penalty's weakness; false inputs first, so that the true ones lie
/// on top.
///
/// Points run from weak to strong penalty and are drawn the other way, so that names stand where the paths have spread.
pub fn draw(title: &str, x_label: &str, points: &[(f64, &[f64])], chosen: Option<f64>) -> String {
    let mut chart = Chart::new(title, x_label, "average output gradient");
    for k in (TRUE_INPUTS..INPUTS).chain(0..TRUE_INPUTS) {
        let line = points.iter().rev().map(|(x, gradient)| (*x, gradient[k])).collect();
        let name = format!("x{}", k + 1);
        let truly = k < TRUE_INPUTS;
        chart.line(line, if truly { Style::Strong } else { Style::Weak }, truly.then_some(name.as_str()));
    }
    if let Some(x) = chosen {
        chart.vertical(x, "chosen");
    }
    chart.render()
}
