//! The StoNets of a classification: `paper` and `stonet` make the logits alone, `skip` and `skip-prob` correct
//! temperature scaling.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::PostStoNetClassifier;
use super::family::Candidate;
use crate::base::streams::class_stonet as streams;
use crate::base::{Cost, Error, Piece, Result, Seed};
use crate::calibration::skip::{Base, SkipModel, View, standardised};
use crate::calibration::temperature;
use crate::network::{Activation, Layer, Likelihood, StoNet};
use crate::rows::ClassRows;
use crate::train::imputation::Packed;
use crate::train::{Asghmc, Decay, Preset, spending};

/// How the correcting StoNets, and `stonet`, are trained.
///
/// | name | default | purpose | range |
/// |---|---|---|---|
/// | `hidden` | 100 | hidden units | ≥ 1 |
/// | `kappas` | by K | κ of both layers, on the mean cross-entropy | ≥ 0 |
/// | `asghmc` | 80 epochs at rate 0.03, 4 averages | the trainer; its κ is replaced | at least one average |
/// | `max_steps` | 8000 | steps of a training: with more rows there are fewer epochs, one per average at least | ≥ 1 |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SkipSettings {
    /// Hidden units.
    pub hidden: usize,
    /// κ of both layers; by the number of classes if not given.
    pub kappas: Option<Vec<f64>>,
    /// Rates, epochs, averages.
    pub asghmc: Asghmc,
    /// Steps of a training at most, but for one epoch per average.
    pub max_steps: usize,
}

impl Default for SkipSettings {
    fn default() -> Self {
        let constant = Decay { from: 1.0, to: 1.0 };
        let asghmc = Asghmc { epochs: 80, rates: vec![0.03], averages: 4, decay: constant, ..Asghmc::default() };
        SkipSettings { hidden: 100, kappas: None, asghmc, max_steps: 8000 }
    }
}

impl SkipSettings {
    /// κ that are tried for so many classes.
    pub fn kappas(&self, classes: usize) -> Vec<f64> {
        match &self.kappas {
            Some(kappas) => kappas.clone(),
            None if classes >= 50 => vec![1e-4, 5e-4],
            None => vec![3e-4, 1e-3, 3e-3],
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        Error::check(self.hidden >= 1, "hidden", self.hidden, "at least 1")?;
        let sound = |k: &Vec<f64>| !k.is_empty() && k.iter().all(|k| *k >= 0.0 && k.is_finite());
        let range = "at least one, finite, not negative";
        self.kappas.iter().try_for_each(|k| Error::check(sound(k), "kappas", k, range))?;
        Error::check(self.max_steps >= 1, "max_steps", self.max_steps, "at least 1")?;
        Error::check(self.asghmc.averages >= 1, "averages", self.asghmc.averages, "at least 1")
    }

    /// The trainer for so many rows.
    pub(super) fn trainer(&self, rows: usize) -> Asghmc {
        let (windows, steps) = (self.asghmc.averages, rows.div_ceil(self.asghmc.batch_size.clamp(1, rows.max(1))));
        // Windows of equal length.
        let epochs = (self.max_steps / steps.max(1) / windows).max(1) * windows;
        Asghmc { epochs: self.asghmc.epochs.min(epochs), ..self.asghmc.clone() }
    }

    /// The same at one κ, up to the end of the window of averaging with number `last`, or to its own end.
    fn upto(&self, last: Option<usize>, kappa: f64, rows: usize) -> Asghmc {
        let whole = Asghmc { kappa: vec![kappa], ..self.trainer(rows) };
        match last {
            // Rates do not fall and windows are alike, so that a shorter training is the beginning of the whole one.
            Some(last) if whole.decay.to == 1.0 && whole.epochs.is_multiple_of(whole.averages) => {
                let averages = (last + 1).min(whole.averages);
                Asghmc { epochs: whole.epochs / whole.averages * averages, averages, ..whole }
            }
            _ => whole,
        }
    }
}

/// F_L = z/T + b + W_2 ψ(Y_1) at one κ: a candidate per window of averaging. T is fitted on the same rows and then
/// held.
pub(super) fn skip(
    rows: &ClassRows<'_>,
    view: View,
    settings: &SkipSettings,
    (kappa, last): (f64, Option<usize>),
    seed: Seed,
    spent: (&Piece<'_, '_>, Cost),
) -> Result<Vec<Candidate>> {
    let z = rows.need_logits("the skip form")?;
    let base = Base::plain(temperature::of_logits(z, rows.labels()));
    let x = view.of(&rows.inputs(), base)?;
    // Nothing above a random first layer: the start is temperature scaling itself.
    let random = start(x.ncols(), settings.hidden, rows.classes(), seed.child(streams::START))?;
    let mut layers = random.layers().to_vec();
    layers[1] = Layer { weight: Array2::zeros(layers[1].weight.dim()), ..layers[1].clone() };
    layers[1].bias.fill(0.0);
    let start = StoNet::new(layers, Activation::Tanh, Likelihood::Multinomial)?;
    let data = Packed::classes(x.view(), rows.labels(), rows.classes()).with_offset(base.of(z).view());
    drop(x);
    let trainer = settings.upto(last, kappa, rows.rows());
    let nets = averages(&data, &start, &trainer, seed.child(streams::TRAINING), spent)?;
    let model = |net| SkipModel::new(rows.classes(), Some(base), Some((view.clone(), net)));
    nets.into_iter().map(|net| Ok(Candidate::new(model(net)?, kappa))).collect()
}

/// Features (or logits) → hidden → classes at one κ, with rates that train both layers.
pub(super) fn plain(
    rows: &ClassRows<'_>,
    settings: &SkipSettings,
    (kappa, last): (f64, Option<usize>),
    seed: Seed,
    spent: (&Piece<'_, '_>, Cost),
) -> Result<Vec<Candidate>> {
    let (view, x) = standardised(rows)?;
    let start = start(x.ncols(), settings.hidden, rows.classes(), seed.child(streams::START))?;
    let data = Packed::classes(x.view(), rows.labels(), rows.classes());
    let trainer = settings.upto(last, kappa, rows.rows());
    let nets = averages(&data, &start, &trainer, seed.child(streams::TRAINING), spent)?;
    let model = |net| SkipModel::new(rows.classes(), None, Some((view.clone(), net)));
    nets.into_iter().map(|net| Ok(Candidate::new(model(net)?, kappa))).collect()
}

/// The paper's form at its printed settings (preset `cifar`; λ = 1e-4, or 5e-5 from 100 classes on): the printed epochs
/// are not known, so the iterates after 100, 300 and 900 epochs are the candidates.
pub(super) fn paper(
    rows: &ClassRows<'_>,
    settings: &PostStoNetClassifier,
    seed: Seed,
    spent: (&Piece<'_, '_>, Cost),
) -> Result<Vec<Candidate>> {
    let lambda = if rows.classes() >= 100 { 5e-5 } else { 1e-4 };
    let printed = Preset::by_name("cifar")?.settings(lambda);
    let (view, x) = standardised(rows)?;
    let start =
        start(x.ncols(), 100, rows.classes(), seed.child(streams::START))?.with_noise_variances(&printed.sigma2)?;
    let data = Packed::classes(x.view(), rows.labels(), rows.classes());
    let epochs = settings.paper_epochs.iter().max().copied().unwrap_or(1);
    let constant = Decay { from: 1.0, to: 1.0 };
    let trainer = Asghmc { epochs, decay: constant, compact_every: 0, ..printed.trainer()? };
    let (mut kept, mut watch) = (Vec::new(), spending(spent.0, spent.1));
    let mut keep = |p: &crate::train::Progress<'_>| {
        if settings.paper_epochs.contains(&p.epoch) {
            kept.extend(p.network().map(|net| (p.epoch, net)));
        }
        watch(p)
    };
    trainer.fit_packed(&start, &data, seed.child(streams::TRAINING), &mut keep)?;
    let model = |net| SkipModel::new(rows.classes(), None, Some((view.clone(), net)));
    kept.into_iter().map(|(epoch, net)| Ok(Candidate::new(model(net)?, epoch as f64))).collect()
}

fn start(inputs: usize, hidden: usize, classes: usize, seed: Seed) -> Result<StoNet> {
    Ok(StoNet::random(&[inputs, hidden, classes], Activation::Tanh, seed)?.with_head(Likelihood::Multinomial))
}

fn averages(
    data: &Packed,
    start: &StoNet,
    trainer: &Asghmc,
    seed: Seed,
    (piece, cost): (&Piece<'_, '_>, Cost),
) -> Result<Vec<StoNet>> {
    Ok(trainer.fit_packed(start, data, seed, &mut spending(piece, cost))?.averages)
}
