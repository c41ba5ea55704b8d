//! When a plan counts as equal to its definition.

use crate::regression::FittedRegressor;
use crate::rows::{Intervals, Level, RegressionInputs, Side};
use crate::score::Scorer;

use super::{eve, stacks};

/// The intervals of a head by their definition.
pub(super) fn expected(fitted: &FittedRegressor, rows: &RegressionInputs<'_>, level: Level, side: Side) -> Intervals {
    match (fitted.stacks(), fitted.eve()) {
        (Some(model), _) => stacks(model, fitted.adapted().map(|a| &a.ratio), rows, level, side),
        (_, Some(model)) => eve(model, rows.features, level, side),
        _ => unreachable!(),
    }
}

/// To 1e-10 of the numbers themselves, or where single precision was chosen to 1e-5 of the length of these two-sided
/// intervals, which are those at level 0.6 for lower levels.
pub(super) fn agree(found: &Intervals, expected: &Intervals, single: Option<&Intervals>, what: &str) {
    assert_eq!((found.level, found.prediction.dim()), (expected.level, expected.prediction.dim()));
    for at in ndarray::indices(found.prediction.dim()) {
        for (a, b) in [
            (found.prediction[at], expected.prediction[at]),
            (found.lower[at], expected.lower[at]),
            (found.upper[at], expected.upper[at]),
        ] {
            let most = single.map_or(1e-10 * b.abs().max(1e-2), |i| 1e-5 * (i.upper[at] - i.lower[at]));
            assert!(a == b || (a - b).abs() <= most, "{what}: {a} and not {b} within {most}");
        }
    }
}

/// Whether any part of a plan is in single precision.
pub(super) fn is_single(scorer: &Scorer) -> bool {
    scorer.plan().values().iter().any(|v| v.single)
}
