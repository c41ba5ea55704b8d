//! What holds for fitted intervals, in words and as a number for this n.

use std::fmt;

use serde::Serialize;

use super::{Adapted, FittedRegressor, Kind};
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
    if let Some(adapted) = &fitted.adapted {
        return shifted(fitted, adapted, level, folds);
    }
    if fitted.functions() > 0 {
        let text = format!(
            "At least {:.1} % in every group that a function marks with 1, where it is 0 elsewhere, and on average under every weight that is not negative and is a linear combination of the functions and a constant; for a new row exchangeable with the {units} scored rows, {unseen} (split conditional conformal with {} {}, without randomisation, so that coverage in a group may exceed the level by {} over its scored rows). Intervals can be infinite where a row is unlike the scored rows.",
            percent(level.get()),
            fitted.functions(),
            if fitted.functions() == 1 { "function" } else { "functions" },
            fitted.functions() + 1
        );
        return Guarantee { coverage: Some(level.get()), text };
    }
    if fitted.within.is_some() {
        return within(fitted, level, folds);
    }
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

/// What holds for rows from elsewhere, of which P(y | x) is that of the calibration rows.
fn shifted(fitted: &FittedRegressor, adapted: &Adapted, level: Level, folds: usize) -> Guarantee {
    let percent = |v: f64| format!("{:.1} %", 100.0 * v);
    let same =
        "if y given the inputs is distributed as in the calibration rows and the network was not trained on them";
    let infinite = "Rows that are too unlike the calibration rows have infinite intervals.";
    let n = adapted.rows;
    let text = match (fitted.settings.kind, adapted.known) {
        (Kind::Split, true) => format!(
            "At least {} for a new row whose density is the given ratio times that of the calibration rows, {same} (weighted split conformal, n = {n} rows). {infinite}",
            percent(level.get())
        ),
        (Kind::Split, false) => format!(
            "Approximately {} for new rows like those that it was adapted to, {same} (weighted split conformal, n = {n} rows): at least that, less half of the mean absolute error of the estimated ratio, which is not known. {infinite}",
            percent(level.get())
        ),
        (_, known) => {
            let bound = (2.0 * level.get() - 1.0).max(0.0);
            let words = match known {
                true => "For a new row whose density is the given ratio times that of the calibration rows",
                false => "With the true ratio, which is only estimated,",
            };
            format!(
                "Approximately {}, {same} (weighted CV+, n = {n}, {folds} folds). {words} at least {} less the expected largest share of all weights in one fold is proven, here about {}; with folds of single rows (JAW) nothing would be taken off. {infinite}",
                percent(level.get()),
                percent(bound),
                percent(adapted.largest_fold)
            )
        }
    };
    let exact = adapted.known && fitted.settings.kind == Kind::Split;
    Guarantee { coverage: exact.then_some(level.get()), text }
}

/// What holds within groups. Rows of a group are exchangeable with a new row of it whatever the other groups are, so a
/// split is exact. The proof of CV+ goes through for the rows of one group where every fold holds the same number of
/// them: exchanging whole folds, and rows of the group within a fold, takes each of its rows to every other and leaves
/// the distribution as it is.
fn within(fitted: &FittedRegressor, level: Level, folds: usize) -> Guarantee {
    let none = || Guarantee { coverage: None, text: "None is proven.".into() };
    let (Some(groups), Ok(sizes)) = (&fitted.within, fitted.group_sizes(level, false)) else { return none() };
    let percent = |v: f64| format!("{:.1} %", 100.0 * v);
    let enough: Vec<(usize, usize)> = sizes.iter().filter(|g| g.enough).map(|g| (g.group, g.units)).collect();
    let least = enough.iter().map(|g| g.1).min();
    let bound = match (fitted.settings.kind, least) {
        (_, None) => None,
        (Kind::Split, _) => Some(level.get()),
        (_, Some(_)) if !fitted.settings.nested => None,
        (_, Some(least)) => Some(cv_plus_guarantee(least, folds, level)),
    };
    let about = match fitted.groups {
        true => "for a row of the group drawn at random from a new unit of rows, units being exchangeable",
        false => "for a new row of the group exchangeable with its calibration rows",
    };
    let each = format!("within each of {} groups ({})", enough.len(), groups.listed(&enough));
    let unseen = "if the network was not trained on the calibration rows";
    let mut text = match (fitted.settings.kind, bound) {
        _ if enough.is_empty() => "None is proven within groups: no group has enough rows.".to_owned(),
        (Kind::Split, Some(bound)) => {
            format!("At least {} {each} {about}, {unseen} (split conformal by group).", percent(bound))
        }
        (_, Some(bound)) if fitted.groups => format!(
            "By analogy with CV+ at least {} {each} {about}, {unseen} (for folds of groups of rows this is not a theorem); usually close to {}.",
            percent(bound),
            percent(level.get())
        ),
        (_, Some(bound)) => format!(
            "At least {} {each} {about}, {unseen} (CV+ by group, {folds} folds with the same number of rows of the group; the bound of the smallest of them); usually close to {}.",
            percent(bound),
            percent(level.get())
        ),
        (_, None) => format!(
            "None is proven: kappa, weights and scale were chosen on the rows that are scored. Coverage {each} is usually close to {}.",
            percent(level.get())
        ),
    };
    if let Ok(Some(few)) = fitted.pooled_groups(level, false) {
        text += &format!(" {few}.");
    }
    text += " Within groups that the fit has not seen nothing is guaranteed.";
    let proven = fitted.settings.kind == Kind::Split || !fitted.groups;
    Guarantee { coverage: bound.filter(|_| proven), text }
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
