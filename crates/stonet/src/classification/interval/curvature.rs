//! Curvature that a method's estimate has beside the likelihood's: the ridge of ODIR, and the ridge that stopping early
//! amounts to.

use ndarray::Array1;

use super::information::Member;
use crate::calibration::temperature;
use crate::classification::family::ODIR_INTERCEPT;
use crate::classification::{ClassMethod, MemberNotes, SkipSettings};
use crate::network::StoNet;
use crate::rows::ClassRows;
use crate::train::Decay;

/// The diagonal of P over a member's parameters. A Lasso has none: on its support it shifts, but does not bend.
pub(super) fn of(
    member: &Member,
    notes: &MemberNotes,
    settings: &SkipSettings,
    training: f64,
    rows: &ClassRows<'_>,
) -> Array1<f64> {
    let Some(net) = member.model.model().network() else { return Array1::zeros(member.model.parameters()) };
    let mut all: Vec<f64> = match notes.method {
        ClassMethod::MatrixOdir => odir(net, notes.setting.unwrap_or(0.0), rows),
        ClassMethod::Svs | ClassMethod::Sms => structured(net, rows),
        ClassMethod::Skip | ClassMethod::SkipProb | ClassMethod::SkipFeatures | ClassMethod::StoNet => {
            let by_layer = stopping(settings, rows.rows(), net.layers().len());
            over(net, |layer, _, _| training * by_layer[layer])
        }
        _ => over(net, |_, _, _| 0.0),
    };
    // T is never penalised.
    all.resize(member.model.parameters(), 0.0);
    all.into()
}

/// A value for every free parameter in the order of the Jacobian: by layer, neuron, and input (none for a bias).
fn over(net: &StoNet, value: impl Fn(usize, usize, Option<usize>) -> f64) -> Vec<f64> {
    let mut all = Vec::new();
    for (i, layer) in net.layers().iter().enumerate() {
        for (j, row) in layer.weight.outer_iter().enumerate() {
            let free = row.iter().enumerate().filter(|(_, w)| **w != 0.0);
            all.extend(free.map(|(k, _)| value(i, j, Some(k))));
            all.push(value(i, j, None));
        }
    }
    all
}

/// The Hessian of ODIR's penalties, whose weights are counted on the scale of the best temperature.
fn odir(net: &StoNet, strength: f64, rows: &ClassRows<'_>) -> Vec<f64> {
    let t = rows.inputs().logits.map_or(1.0, |z| temperature::of_logits(z, rows.labels()));
    let (n, k) = (rows.rows() as f64, rows.classes() as f64);
    over(net, |_, class, column| match column {
        Some(column) if column == class => 0.0,
        Some(_) => n * 2.0 * strength * t * t / (k * (k - 1.0)),
        None => n * 2.0 * ODIR_INTERCEPT * strength / k,
    })
}

/// The Hessian of the penalties of structured scaling.
fn structured(net: &StoNet, rows: &ClassRows<'_>) -> Vec<f64> {
    let k = rows.classes() as f64;
    over(net, |_, class, column| match column {
        Some(column) if column != class => 2.0 * k * (k - 1.0),
        _ => 2.0 * k,
    })
}

/// Gradient descent for a time t (the sum of its rates) leaves in a direction of curvature h about the share that a
/// ridge of strength 1/t leaves (Ali, Kolter & Tibshirani 2019). On the sum over rows that is n/t = batch size / (rate
/// × epochs).
fn stopping(settings: &SkipSettings, rows: usize, layers: usize) -> Vec<f64> {
    let trainer = &settings.trainer(rows);
    let Decay { from, to } = trainer.decay;
    let mean_scale = from + (1.0 - from) * 0.5 * (1.0 + to);
    let time = |rate: f64| (rate * trainer.epochs as f64 * mean_scale).max(f64::MIN_POSITIVE);
    let rates = (0..layers).map(|i| trainer.rates.get(i).or(trainer.rates.last()).copied().unwrap_or(1.0));
    rates.map(|rate| trainer.batch_size.min(rows) as f64 / time(rate)).collect()
}
