//! What holds for fitted intervals, in words and as a number for this n.

use std::fmt;

use serde::Serialize;

use super::{FittedRegressor, Kind};
use crate::conformal::{cv_plus_guarantee, rows_needed};
use crate::rows::Level;

/// A lower bound on the coverage, and what it rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Guarantee {
    /// The coverage that is guaranteed for finite n; none where only the limit is known.
    pub coverage: Option<f64>,
    /// In words.
    pub text: String,
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

pub(super) fn of(fitted: &FittedRegressor, level: Level) -> Guarantee {
    let (kind, nested) = (fitted.settings.kind, fitted.settings.nested);
    let percent = |v: f64| 100.0 * v;
    let unseen = "if the network was not trained on the calibration rows";
    let Some((units, folds)) = fitted.size() else {
        let text = format!(
            "No finite-sample guarantee: coverage tends to {:.0} % as the rows become many, if the model is right and the network was not trained on the calibration rows.",
            percent(level.get())
        );
        return Guarantee { coverage: None, text };
    };
    let unit = if fitted.groups { "group" } else { "row" };
    let enough = rows_needed(level);
    let short = if units < enough {
        format!(" There are {units} {unit}s; below {enough} the intervals at this level are the whole line.")
    } else {
        String::new()
    };
    let about = if fitted.groups {
        "for a row drawn at random from a new group, groups being exchangeable"
    } else {
        "for a new row exchangeable with the calibration rows"
    };
    if kind == Kind::Split {
        let text = format!(
            "At least {:.1} % {about}, {unseen} (split conformal, n = {units} {unit}s).{short}",
            percent(level.get())
        );
        return Guarantee { coverage: Some(level.get()), text };
    }
    if !nested {
        let text = format!(
            "None is proven: kappa, weights and scale were chosen on the rows that are scored. Coverage is usually close to {:.0} %.{short}",
            percent(level.get())
        );
        return Guarantee { coverage: None, text };
    }
    let bound = cv_plus_guarantee(units, folds, level);
    let text = if fitted.groups {
        // The theorem is for single rows; leaving out one group at a time has the bound 1 − 2α, folds of groups have
        // none that we know.
        format!(
            "By analogy with CV+ at least {:.1} % {about}, {unseen} (n = {units} groups in {folds} folds; for folds of groups this is not a theorem); usually close to {:.0} %.{short}",
            percent(bound),
            percent(level.get())
        )
    } else {
        format!(
            "At least {:.1} % {about}, {unseen} (CV+, n = {units}, {folds} folds); usually close to {:.0} %.{short}",
            percent(bound),
            percent(level.get())
        )
    };
    Guarantee { coverage: (!fitted.groups).then_some(bound), text }
}

/// A warning where the network's error on the calibration rows is implausibly close to its error in training: then it
/// has probably seen them, and every guarantee is void.
pub fn seen_in_training(training_rmse: f64, calibration_rmse: f64) -> Option<String> {
    (calibration_rmse <= 1.02 * training_rmse).then(|| {
        format!(
            "the network's error on the calibration rows ({calibration_rmse:.4}) is no larger than in training ({training_rmse:.4}): \
             has it been trained on them? Then every guarantee is void; calibrate on rows it has not seen"
        )
    })
}
