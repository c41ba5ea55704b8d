//! What a fit of class probabilities costs, piece by piece: progress and estimates of time build on it.

use super::family::{Family, ODIR};
use super::{ClassMethod, PostStoNetClassifier};
use crate::base::Cost;
use crate::calibration::post_linear::LAMBDAS;
use crate::rows::ClassRows;
use crate::train::training;

/// Nanoseconds per row and class of a temperature.
const TEMPERATURE: f64 = 300.0;
/// Nanoseconds per row and class of two parameters per class.
const VECTOR: f64 = 140.0;
/// Nanoseconds per row, class and class of a matrix.
const MATRIX: f64 = 20.0;
/// Nanoseconds per row, input and λ of a sparse regression, whose path ends early as a rule. With 8 and with 32 classes
/// it is the same: few weights are at work.
const LINEAR: f64 = 110.0;

/// How much there is to fit on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub rows: usize,
    pub classes: usize,
    features: Option<usize>,
}

impl Sizes {
    pub(super) fn of(rows: &ClassRows<'_>) -> Self {
        let features = rows.inputs().features.map(|x| x.ncols());
        Sizes { rows: rows.rows(), classes: rows.classes(), features }
    }
}

impl Family {
    /// What one run on so many rows costs.
    pub(super) fn cost(&self, settings: &PostStoNetClassifier, on: &Sizes) -> Cost {
        let (n, k) = (on.rows as f64, on.classes as f64);
        let seen = on.features.unwrap_or(on.classes);
        let net =
            |inputs: usize, hidden: usize, epochs: usize| training(&[inputs, hidden, on.classes], on.rows, epochs);
        let skip = |inputs: usize| net(inputs, settings.skip.hidden, settings.skip.trainer(on.rows).epochs);
        let linear = |inputs: usize| Cost::of(LINEAR * n * inputs as f64 * LAMBDAS as f64);
        match self.method {
            ClassMethod::Temperature | ClassMethod::TemperatureSmooth => Cost::of(TEMPERATURE * n * k),
            ClassMethod::Vector | ClassMethod::Svs => Cost::of(VECTOR * n * k),
            ClassMethod::Sms | ClassMethod::Matrix => Cost::of(MATRIX * n * k * k),
            ClassMethod::MatrixOdir => Cost::of(MATRIX * n * k * k * ODIR.len() as f64),
            ClassMethod::PostLinear => linear(seen),
            ClassMethod::SkipLinear => linear(on.classes),
            ClassMethod::Paper => net(seen, 100, settings.paper_epochs.iter().max().copied().unwrap_or(1)),
            ClassMethod::StoNet => skip(seen),
            ClassMethod::Skip | ClassMethod::SkipProb => skip(on.classes),
            ClassMethod::SkipFeatures => skip(on.features.unwrap_or(0)),
            ClassMethod::None
            | ClassMethod::Isotonic
            | ClassMethod::Ets
            | ClassMethod::VennAbers
            | ClassMethod::Stack => Cost::default(),
        }
    }
}

impl PostStoNetClassifier {
    /// What a fit on so many rows costs.
    pub(crate) fn cost(&self, rows: &ClassRows<'_>, number: usize) -> crate::base::Result<Cost> {
        let sizes = Sizes { rows: number, ..Sizes::of(rows) };
        let methods = match self.method {
            ClassMethod::Isotonic | ClassMethod::VennAbers | ClassMethod::Ets => {
                return Ok(Cost::of(TEMPERATURE * (number * rows.classes()) as f64));
            }
            ClassMethod::Stack => self.members_for(rows).0,
            alone => vec![alone],
        };
        let families = methods.iter().map(|&m| Family::new(m, self, rows)).collect::<crate::base::Result<Vec<_>>>()?;
        Ok(self.pooled_cost(&families, &sizes, self.folds_for(&families, rows.classes())))
    }

    /// What all members cost, on folds and on all rows.
    pub(super) fn pooled_cost(&self, families: &[Family], on: &Sizes, folds: usize) -> Cost {
        let fold = Sizes { rows: on.rows - on.rows / folds.max(1), ..*on };
        let one = |f: &Family| f.cost(self, &fold) * (f.runs() * folds) + f.cost(self, on);
        families.iter().map(one).sum()
    }
}
