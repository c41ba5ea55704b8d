//! The strength κ of the penalty: ascending paths, and their error by k-fold cross-validation.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Asghmc, Decay, Fit, Trainer};
use crate::base::{Error, Result, Seed, stage_at, streams};
use crate::metrics::mean_sd;
use crate::network::{Likelihood, StoNet};
use crate::rows::{Dataset, complement, folds};

/// Where the fit at the next κ begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Walk {
    /// At the network of the κ before it, with half the epochs and rates that fall from the beginning. A large κ met
    /// cold kills every unit at once; met warm it keeps what matters.
    #[default]
    Warm,
    /// At the same random start as the first.
    Cold,
}

/// One fit per κ, which must ascend strictly; κ of layer 1, other layers in the trainer's own ratio.
pub fn kappa_path(
    trainer: &Asghmc,
    start: &StoNet,
    data: &Dataset,
    kappas: &[f64],
    walk: Walk,
    seed: Seed,
) -> Result<Vec<Fit>> {
    path_of(trainer, start, kappas, walk, &mut |_| Ok(true), |t, from, i| {
        t.fit(from, data, seed.child(streams::path::ASGHMC.at(i as usize)), &mut ())
    })
}

/// The path, each fit made by `fit(trainer at κ, start, index)`; `seen` looks at each and says whether the next is
/// wanted.
pub(crate) fn path_of(
    trainer: &Asghmc,
    start: &StoNet,
    kappas: &[f64],
    walk: Walk,
    seen: &mut dyn FnMut(&StoNet) -> Result<bool>,
    fit: impl Fn(&Asghmc, &StoNet, u64) -> Result<Fit>,
) -> Result<Vec<Fit>> {
    check_grid(kappas)?;
    let mut fits: Vec<Fit> = Vec::with_capacity(kappas.len());
    for (i, &kappa) in kappas.iter().enumerate() {
        let mut here = trainer.with_kappa(kappa);
        let from = match (walk, fits.last()) {
            (Walk::Warm, Some(before)) => {
                here.epochs = trainer.epochs.div_ceil(2);
                here.decay = Decay { from: 0.0, ..trainer.decay };
                before.network()
            }
            _ => start,
        };
        fits.push(stage_at("StoNets", kappa, || fit(&here, from, i as u64))?);
        if !seen(fits[i].network())? {
            break;
        }
    }
    Ok(fits)
}

/// Out-of-fold error along a path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LossCurve {
    /// κ of layer 1, ascending.
    pub kappas: Vec<f64>,
    /// On held-out rows: the mean squared error, averaged over outputs, or the negative log-likelihood of classes.
    #[serde(rename = "mse")]
    pub loss: Vec<f64>,
    /// Its standard error, from the spread over the folds.
    pub se: Vec<f64>,
}

impl LossCurve {
    /// The index of the smallest error; 0 for an empty curve.
    pub fn best(&self) -> usize {
        (0..self.loss.len()).min_by(|&a, &b| self.loss[a].total_cmp(&self.loss[b])).unwrap_or(0)
    }

    /// The index of the largest κ whose error is within one standard error of the smallest.
    pub fn one_standard_error(&self) -> usize {
        let best = self.best();
        let (Some(loss), Some(se)) = (self.loss.get(best), self.se.get(best)) else { return best };
        (0..self.loss.len()).rev().find(|&i| self.loss[i] <= loss + se).unwrap_or(best)
    }

    /// Whether the smallest error is at an end of the grid, so that a better κ may lie beyond it.
    pub fn best_at_edge(&self) -> bool {
        self.best() == 0 || self.best() + 1 == self.loss.len()
    }

    /// The mean of several curves over the same grid (of several data sets), standard errors from their spread; `None`
    /// without curves or if their grids differ.
    pub fn pool(curves: &[LossCurve]) -> Option<LossCurve> {
        let kappas = curves.first()?.kappas.clone();
        if curves.iter().any(|c| c.kappas != kappas || c.loss.len() != kappas.len()) {
            return None;
        }
        let at = |i: usize| mean_sd(&curves.iter().map(|c| c.loss[i]).collect::<Vec<_>>());
        let (loss, sd): (Vec<f64>, Vec<f64>) = (0..kappas.len()).map(at).unzip();
        let se = sd.into_iter().map(|s| s / (curves.len() as f64).sqrt()).collect();
        Some(LossCurve { kappas, loss, se })
    }
}

/// What cross-validation saw of one thing that it had to choose, such as κ of a member of a stack.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TuningCurve {
    /// The member or the kind of interval: `stonet`, `skip`, `paper`, `post-linear`, …
    pub label: String,
    /// The target it was chosen for, from 0; none where it was chosen for all of them, or for classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<usize>,
    /// What was chosen: `kappa`, `lambda`, `strength` (of ODIR) or `epochs`.
    pub setting: String,
    /// Its values, in the order in which they were tried.
    #[serde(rename = "kappas")]
    pub values: Vec<f64>,
    /// The loss of each on held-out rows.
    pub loss: Vec<f64>,
    /// Its standard error, from the spread over the folds.
    pub se: Vec<f64>,
    /// Indices of the values that were chosen: one per fold of a nested stack, or one for the whole fit. The number of
    /// values itself stands for no StoNet at all, where that was a candidate.
    pub chosen: Vec<usize>,
    /// The loss without a StoNet (κ = ∞), where that was a candidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without: Option<f64>,
    /// What the loss is: `mean squared error`, `negative log-likelihood`, …
    pub loss_name: String,
    /// Coverage of held-out rows, where that is what decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Vec<f64>>,
}

impl TuningCurve {
    /// The values that were chosen; nothing in the place of none.
    pub fn chosen_values(&self) -> Vec<Option<f64>> {
        self.chosen.iter().map(|&i| self.values.get(i).copied()).collect()
    }

    /// Means over folds weighted by their rows, with standard errors: `folds` are rows and the losses of candidates. A
    /// candidate's mean is over the folds that have it; one that fewer than two folds have ends the curve, unless there
    /// is but one fold.
    pub(crate) fn over_folds(folds: &[(usize, Vec<f64>)]) -> (Vec<f64>, Vec<f64>) {
        let at = |i: usize| {
            let there: Vec<(f64, f64)> = folds.iter().filter_map(|(n, l)| l.get(i).map(|&l| (*n as f64, l))).collect();
            let rows: f64 = there.iter().map(|f| f.0).sum();
            let mean = there.iter().map(|(n, loss)| n * loss).sum::<f64>() / rows;
            let (_, sd) = mean_sd(&there.iter().map(|(_, loss)| *loss).collect::<Vec<_>>());
            (there.len() >= folds.len().min(2)).then(|| (mean, sd / (there.len() as f64).sqrt()))
        };
        let most = folds.iter().map(|f| f.1.len()).max().unwrap_or(0);
        (0..most).map_while(at).unzip()
    }

    /// Whether all numbers are finite, as files need them.
    pub(crate) fn is_finite(&self) -> bool {
        let more = self.coverage.iter().flatten().chain(&self.without);
        self.values.iter().chain(&self.loss).chain(&self.se).chain(more).all(|v| v.is_finite())
    }

    /// Fails unless the lists belong together, as they do unless a file says otherwise.
    pub(crate) fn check(&self) -> Result<()> {
        let n = self.values.len();
        let most = n + usize::from(self.without.is_some());
        let sound = self.loss.len() == n
            && self.se.len() == n
            && self.coverage.as_ref().is_none_or(|c| c.len() == n)
            && self.chosen.iter().all(|&i| i < most);
        if sound { Ok(()) } else { Err(Error::Inconsistent { what: "a path of kappa has lists of different lengths" }) }
    }
}

/// The path's error on rows held out by k random folds, folds in parallel.
pub fn cross_validate(
    trainer: &Asghmc,
    start: &StoNet,
    data: &Dataset,
    kappas: &[f64],
    walk: Walk,
    k: usize,
    seed: Seed,
) -> Result<LossCurve> {
    check_grid(kappas)?;
    let parts = folds(data.rows(), k, seed.child(streams::cross_validation::FOLDS))?;
    let per_fold: Vec<Vec<f64>> = parts
        .par_iter()
        .enumerate()
        .map(|(f, held_out)| {
            let (train, test) = (data.select(&complement(data.rows(), held_out)), data.select(held_out));
            let fits =
                kappa_path(trainer, start, &train, kappas, walk, seed.child(streams::cross_validation::FITS.at(f)))?;
            fits.iter()
                .map(|fit| match fit.network().head() {
                    Likelihood::Gaussian => {
                        Ok((&test.y() - &fit.network().predict(test.x())?).mapv(|d| d * d).mean().unwrap_or(f64::NAN))
                    }
                    Likelihood::Multinomial => fit.network().loss(&test),
                })
                .collect()
        })
        .collect::<Result<_>>()?;
    let at = |i: usize| mean_sd(&per_fold.iter().map(|fold| fold[i]).collect::<Vec<_>>());
    let (loss, sd): (Vec<f64>, Vec<f64>) = (0..kappas.len()).map(at).unzip();
    let se = sd.into_iter().map(|s| s / (k as f64).sqrt()).collect();
    Ok(LossCurve { kappas: kappas.to_vec(), loss, se })
}

fn check_grid(kappas: &[f64]) -> Result<()> {
    let ascending = kappas.windows(2).all(|w| w[0] < w[1]);
    if kappas.is_empty() || !ascending || !kappas.iter().all(|k| k.is_finite() && *k >= 0.0) {
        return Err(Error::setting("kappas", kappas, "at least one, strictly ascending, finite and not negative"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(loss: &[f64], se: f64) -> LossCurve {
        LossCurve {
            kappas: (1..=loss.len()).map(|k| k as f64).collect(),
            loss: loss.to_vec(),
            se: vec![se; loss.len()],
        }
    }

    #[test]
    fn rules_on_hand_made_curves() {
        let c = curve(&[3.0, 1.0, 1.2, 1.4], 0.25);
        assert_eq!((c.best(), c.one_standard_error()), (1, 2));
        let flat = curve(&[1.0], 0.0);
        assert_eq!((flat.best(), flat.one_standard_error()), (0, 0));
        let pooled = LossCurve::pool(&[curve(&[1.0, 2.0], 0.0), curve(&[3.0, 2.0], 0.0)]).unwrap();
        assert_eq!(pooled.loss, [2.0, 2.0]);
        assert!((pooled.se[0] - 1.0).abs() < 1e-12);
        assert!(LossCurve::pool(&[]).is_none());
        assert!(LossCurve::pool(&[flat.clone(), curve(&[1.0, 2.0], 0.0)]).is_none());
        assert!(flat.best_at_edge() && !c.best_at_edge());
        assert_eq!(curve(&[], 0.0).one_standard_error(), 0);
    }

    #[test]
    fn grids_that_do_not_ascend_are_refused() {
        for bad in [&[][..], &[0.2, 0.1], &[0.1, 0.1], &[-1.0, 0.0], &[f64::NAN]] {
            assert!(check_grid(bad).is_err(), "{bad:?}");
        }
    }
}
