//! One pilot set, and one replicate: train once, judge every named variance on the same test rows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stonet::base::streams::{pilot, replicate, simulation};
use stonet::eve::{Eve, EveIntervals, Variance, degrees_of_freedom};
use stonet::metrics::{covered, mean_length, rmse};
use stonet::rows::{PredictInterval, Scaling};
use stonet::sparse::Refit;
use stonet::train::{LossCurve, Trainer, Walk, cross_validate};
use stonet::{Dataset, Intervals, Level, Seed};
use stonet_compare::simulated::{inputs, separation};

use super::spec::{Cell, Spec};
use crate::Result;

/// Test points whose intervals are kept for the figure.
const EXAMPLES: usize = 20;

/// What one training set gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replicate {
    /// κ of all layers.
    pub kappa: f64,
    /// Divergence back-offs.
    pub restarts: usize,
    /// Non-zero weights at the end.
    pub nonzero_weights: usize,
    /// Inputs with a path to the output, from 1.
    pub selected: Vec<usize>,
    /// The smallest |average gradient| of x1 … x5.
    pub smallest_true: f64,
    /// The largest of the others.
    pub largest_false: f64,
    /// Effective degrees of freedom.
    pub df: f64,
    /// Root mean squared error on the test rows.
    pub test_rmse: f64,
    /// By name of the variance.
    pub variances: BTreeMap<String, Judged>,
    /// For the figure, in the first replicate: prediction, lower, upper, y, of the table's variance.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<[f64; 4]>,
}

/// Intervals of one variance, judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// Mean length.
    pub mean_length: f64,
    /// Mean of Σ̂_L / ς²_L: what Eve's law adds to the residual variance.
    pub sigma_ratio: f64,
    /// Test rows outside their interval.
    pub missed: Vec<usize>,
}

/// The variances that are compared, by the name in the records.
pub(super) fn variances(spec: &Spec) -> [(&'static str, Variance); 4] {
    [
        ("train", Variance::Train),
        ("df", Variance::Df),
        ("fpe", Variance::Fpe),
        ("cv", Variance::Cv { folds: spec.folds }),
    ]
}

/// Out-of-fold error of a pilot set along the grid, each κ from the same cold start that a replicate uses.
pub(super) fn pilot(spec: &Spec, cell: &Cell, seed: Seed) -> Result<LossCurve> {
    let data = cell.model.sample(spec.rows, seed.child(pilot::ROWS))?;
    let (_, trainer, start) = spec.network(cell, seed.child(pilot::START))?;
    Ok(cross_validate(
        &trainer,
        &start,
        &data,
        &spec.kappas,
        Walk::Cold,
        spec.folds,
        seed.child(pilot::CROSS_VALIDATION),
    )?)
}

/// Replicate `index` of a cell. Inputs and targets stay on their own scale: the paper's rates are meant for it.
pub(super) fn replicate(spec: &Spec, cell: &Cell, kappa: f64, root: Seed, index: usize) -> Result<Replicate> {
    let seed = root.child(simulation::REPLICATES).child(index as u64);
    let train = cell.model.sample(spec.rows, seed.child(replicate::ROWS))?;
    let test_x = inputs(spec.test_rows, root.child(simulation::TEST_INPUTS));
    let test_y = cell.model.respond(test_x.view(), seed.child(replicate::TEST_RESPONSES));
    let test = Dataset::single(test_x, test_y)?;

    let (_, trainer, start) = spec.network(cell, seed.child(replicate::START))?;
    let trainer = trainer.with_kappa(kappa);
    let fit = trainer.fit(&start, &train, seed.child(replicate::FIT), &mut ())?;
    let net = fit.network();

    let mut judged = BTreeMap::new();
    let mut examples = Vec::new();
    for (name, variance) in variances(spec) {
        let eve = Eve { refit: Refit::Mls, variance };
        let scaling = Scaling::identity(train.inputs(), train.outputs());
        let model =
            EveIntervals::from_fit(&fit, scaling, &train, &trainer, &start, eve, seed.child(replicate::VARIANCE))?;
        let intervals = model.intervals(test.x(), Level::new(spec.level)?)?;
        if index == 0 && variance == spec.variance {
            examples = example_rows(&intervals, &test);
        }
        let own = mean_own_variance(&model, &test)?;
        judged.insert(name.to_owned(), judge(&intervals, &test, own)?);
    }
    let (smallest_true, largest_false) = separation(&net.average_gradients(train.x())?.row(0).to_vec());
    Ok(Replicate {
        kappa,
        restarts: fit.restarts,
        nonzero_weights: net.nonzero_weights(),
        selected: net.selected_inputs().iter().map(|i| i + 1).collect(),
        smallest_true,
        largest_false,
        df: degrees_of_freedom(net, &train, trainer.penalty, &trainer.penalty(net.layers().len()).1)?[0],
        test_rmse: rmse(net.predict(test.x())?.view(), test.y())?,
        variances: judged,
        examples,
    })
}

fn judge(intervals: &Intervals, test: &Dataset, sigma_ratio: f64) -> Result<Judged> {
    let hits = covered(intervals, test.y())?;
    let missed = (0..test.rows()).filter(|&r| !hits[[r, 0]]).collect();
    Ok(Judged { mean_length: mean_length(intervals), sigma_ratio, missed })
}

/// The mean over test rows of Σ̂_L / ς²_L.
fn mean_own_variance(model: &EveIntervals, test: &Dataset) -> Result<f64> {
    let total: f64 = model.layer_variances(test.x())?.iter().map(|part| part.column(0).sum()).sum();
    Ok(total / test.rows() as f64 / model.estimates()[0].residual_variance()[0])
}

fn example_rows(i: &Intervals, test: &Dataset) -> Vec<[f64; 4]> {
    let row = |r: usize| [i.prediction[[r, 0]], i.lower[[r, 0]], i.upper[[r, 0]], test.y()[[r, 0]]];
    (0..EXAMPLES.min(test.rows())).map(row).collect()
}
