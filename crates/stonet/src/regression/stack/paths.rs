//! What the choice of κ saw in every fold of a stack, per StoNet member.

use ndarray::Axis;

use super::fit::{Job, Predictions};
use crate::train::TuningCurve;

/// The label of the skip member.
const SKIP: &str = "skip";

/// One path per StoNet member. `seen(j)` are predictions of fold j by fits that had not seen it; `chosen` are the
/// candidates of every member, per choice that was made.
pub(super) fn of<'p>(
    job: &Job<'_, '_>,
    folds: &[Vec<usize>],
    seen: impl Fn(usize) -> Vec<&'p Predictions>,
    chosen: &[Vec<usize>],
) -> Vec<TuningCurve> {
    let errors: Vec<(usize, Vec<Vec<f64>>)> =
        folds.iter().enumerate().map(|(j, rows)| (rows.len(), errors(job, rows, &seen(j)))).collect();
    let kappas = job.stack.stonet.kappas();
    let labels = [(job.members.stonet, "stonet"), (job.members.skip, SKIP)];
    let labels = labels.into_iter().filter(|(there, _)| *there).map(|(_, label)| label);
    let path = |(m, label): (usize, &str)| {
        let folds: Vec<(usize, Vec<f64>)> = errors.iter().map(|(rows, e)| (*rows, e[m].clone())).collect();
        let (mut loss, mut se) = TuningCurve::over_folds(&folds);
        // The skip member's first candidate has no StoNet: it stands behind the others, as κ = ∞.
        let extra = usize::from(label == SKIP).min(loss.len());
        let without = loss.drain(..extra).next_back();
        se.drain(..extra);
        let place = |c: &Vec<usize>| c[m].checked_sub(extra).unwrap_or(loss.len());
        TuningCurve {
            label: label.into(),
            output: None,
            setting: "kappa".into(),
            values: kappas[..loss.len()].to_vec(),
            chosen: chosen.iter().map(place).collect(),
            loss,
            se,
            without,
            loss_name: "mean squared error".into(),
            coverage: None,
        }
    };
    labels.enumerate().map(path).collect()
}

/// Mean squared errors of every candidate of every member at these rows, averaged over the fits that have it.
fn errors(job: &Job<'_, '_>, rows: &[usize], fits: &[&Predictions]) -> Vec<Vec<f64>> {
    let y = job.data.y.select(Axis(0), rows);
    let members = fits.first().map_or(0, |p| p.len());
    let one = |m: usize, c: usize| {
        let there: Vec<&&Predictions> = fits.iter().filter(|p| p[m].ncols() > c).collect();
        let squares = |p: &&&Predictions| p[m].column(c).iter().zip(&y).map(|(f, y)| (f - y) * (f - y)).sum::<f64>();
        there.iter().map(squares).sum::<f64>() / (rows.len() * there.len()).max(1) as f64
    };
    let most = |m: usize| fits.iter().map(|p| p[m].ncols()).max().unwrap_or(0);
    (0..members).map(|m| (0..most(m)).map(|c| one(m, c)).collect()).collect()
}
