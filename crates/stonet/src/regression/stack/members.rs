//! The members of a stack: a StoNet, a StoNet that corrects the network, two ridge regressions, the network
//! itself, and the middle of its own quantiles.
//!
//! Each is fitted on given rows, standardises on them alone, and brings one or several candidates (one per κ); the
//! stack picks a candidate per member and weighs the members.

use ndarray::{Array1, Array2, ArrayView1, Axis};
use serde::{Deserialize, Serialize};

use super::fit::scored;
use super::lower;
use crate::base::{Cost, Error, Piece, Result, Seed, Work, stage, stage_at, streams};
use crate::network::{Activation, StoNet};
use crate::rows::regression::Single;
use crate::score::Scorer;
use crate::sparse::ridge::{Beside, Clip, Components, Regression, Ridge, Spectrum};
use crate::train::imputation::Packed;
use crate::train::tuning::path_of;
use crate::train::{Algorithm, Asghmc, Fit, Iro, Trainer, Walk, spending, training};

/// κ where none is set.
const KAPPAS: [f64; 4] = [0.001, 0.006, 0.035, 0.2];
/// Rows up to which the number of steps and the least κ are as set.
const FEW_ROWS: f64 = 2000.0;
/// Steps grow with this power of the rows beyond.
const GROWTH: f64 = 0.6;
/// A least κ for more rows joins the grid from this many on: half of the grid's own.
const MANY_ROWS: usize = 8000;
/// Penalties of the ridge member, per row.
const RIDGE_GRID: [f64; 10] = [1e-5, 1e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0];

/// Which members a stack has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Members {
    /// A StoNet on the features.
    pub stonet: bool,
    /// a + t · (the network's prediction) + a StoNet correction; needs the prediction.
    pub skip: bool,
    /// Ridge regression on the features.
    pub ridge: bool,
    /// Ridge regression on the features and on products of their leading components.
    pub quadratic: bool,
    /// The network's own prediction; needs it.
    pub network: bool,
    /// The middle of the network's own quantiles; needs them.
    pub middle: bool,
}

impl Members {
    /// All of them.
    pub const ALL: Members =
        Members { stonet: true, skip: true, ridge: true, quadratic: true, network: true, middle: true };
    /// The StoNet alone.
    pub const STONET: Members =
        Members { stonet: true, skip: false, ridge: false, quadratic: false, network: false, middle: false };
    /// Ridge regressions and the network: no StoNet, fitted in a blink.
    pub const FAST: Members = Members { stonet: false, skip: false, ..Members::ALL };

    /// Those that can be had without the network's prediction or its quantiles, where there are none.
    pub(crate) fn available(self, prediction: bool, quantiles: bool) -> Self {
        let (skip, network) = (self.skip && prediction, self.network && prediction);
        Members { skip, network, middle: self.middle && quantiles, ..self }
    }

    pub(crate) fn any(self) -> bool {
        self.stonet || self.skip || self.ridge || self.quadratic || self.network || self.middle
    }
}

/// How the StoNet members are trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoNetSettings {
    /// Widths of the hidden layers.
    pub hidden: Vec<usize>,
    /// κ of layer 1, ascending; where it is not set, the grid of the kind of interval.
    pub kappas: Option<Vec<f64>>,
    /// Steps at the first κ for up to 2000 rows; half as many at each later one. In `stack`, `cv+` and `split` they grow
    /// with the power .6 of the rows beyond.
    pub steps: usize,
    /// Which trainer. `iro` walks the same κ on its own; `asghmc+iro` polishes every fit of the path.
    pub algorithm: Algorithm,
    /// Rates, κ's ratio between layers (its κ is scaled), batch size, penalty.
    pub asghmc: Asghmc,
    /// The polish, and what `iro` runs at each κ.
    pub iro: Iro,
}

impl Default for StoNetSettings {
    fn default() -> Self {
        // The same λ in all layers is κ_2 = .01 κ_1 in the paper's settings for regression data (preset `uci`).
        // Small batches and high rates learn more per second than the 50 rows and .1 of the paper's settings.
        let asghmc = Asghmc { rates: vec![0.2], batch_size: 25, kappa: vec![1.0, 0.01], ..Asghmc::default() };
        StoNetSettings {
            hidden: vec![20],
            kappas: None,
            steps: 2500,
            algorithm: Algorithm::Asghmc,
            asghmc,
            iro: Iro::default(),
        }
    }
}

impl StoNetSettings {
    /// The default grid for so many rows: the strength of a penalty that suits them falls as 1/√n, so many rows have one
    /// more κ, below the others.
    pub(crate) fn kappas_for(rows: usize) -> Vec<f64> {
        let least = (rows >= MANY_ROWS).then(|| KAPPAS[0] * (FEW_ROWS / rows as f64).sqrt());
        least.into_iter().chain(KAPPAS).collect()
    }

    /// The same with as many steps as so many rows want: what they can tell apart takes longer to be learned.
    pub(super) fn grown(&self, rows: usize) -> Self {
        let factor = (rows as f64 / FEW_ROWS).max(1.0).powf(GROWTH);
        StoNetSettings { steps: (self.steps as f64 * factor).round() as usize, ..self.clone() }
    }

    /// κ of layer 1: those that are set, or the default grid.
    pub fn kappas(&self) -> &[f64] {
        self.kappas.as_deref().unwrap_or(&KAPPAS)
    }

    /// The trainer for so many rows and layers: 20 to 600 epochs.
    fn trainer_for(&self, rows: usize) -> Asghmc {
        let batch = self.asghmc.batch_size.min(rows).max(1);
        let epochs = (self.steps * batch).div_ceil(rows.max(1)).clamp(20, 600);
        let layers = self.hidden.len() + 1;
        // The ratio of the last layer holds for all above the first.
        let kappa = match self.asghmc.kappa[..] {
            [first, .., last] => (0..layers).map(|i| if i == 0 { first } else { last }).collect(),
            _ => self.asghmc.kappa.clone(),
        };
        Asghmc { epochs, kappa, ..self.asghmc.clone() }
    }

    /// One fit per κ on standardised rows, which are unpacked again only where IRO needs them; `seen` looks at each and
    /// says whether the next is wanted.
    pub(crate) fn path(
        &self,
        start: &StoNet,
        data: &Packed,
        seed: Seed,
        piece: &Piece<'_, '_>,
        seen: &mut dyn FnMut(&StoNet) -> Result<bool>,
    ) -> Result<Vec<Fit>> {
        let trainer = self.trainer_for(data.rows);
        let costs = self.costs(&start.widths(), data.rows);
        let asghmc = |seen: &mut dyn FnMut(&StoNet) -> Result<bool>| {
            path_of(&trainer, start, self.kappas(), Walk::Warm, seen, |t, from, i| {
                let i = i as usize;
                t.fit_packed(from, data, seed.child(streams::path::ASGHMC.at(i)), &mut spending(piece, costs[i]))
            })
        };
        if self.algorithm == Algorithm::Asghmc {
            return asghmc(seen);
        }
        let rows = data.unpack()?;
        let polish = |kappa: f64, from: &StoNet, i: usize| {
            let iro = Iro { kappa, ..self.iro.clone() };
            let seed = seed.child(streams::path::IRO.at(i));
            stage_at("StoNets", kappa, || iro.fit(from, &rows, seed, &mut spending(piece, costs[i])))
        };
        let starts: Vec<(f64, StoNet)> = match self.algorithm {
            Algorithm::Iro => self.kappas().iter().map(|&kappa| (kappa, start.clone())).collect(),
            _ => asghmc(&mut |_| Ok(true))?.iter().map(|fit| (self.iro.kappa, fit.network().clone())).collect(),
        };
        let mut fits = Vec::new();
        for (i, (kappa, from)) in starts.iter().enumerate() {
            fits.push(polish(*kappa, from, i)?);
            if !seen(fits[i].network())? {
                break;
            }
        }
        Ok(fits)
    }

    /// What the path costs at every κ, on so many rows.
    fn costs(&self, widths: &[usize], rows: usize) -> Vec<Cost> {
        let epochs = self.trainer_for(rows).epochs;
        let at = |i: usize| training(widths, rows, if i == 0 { epochs } else { epochs.div_ceil(2) });
        (0..self.kappas().len()).map(at).collect()
    }

    /// What the whole path costs.
    pub(crate) fn cost(&self, inputs: usize, outputs: usize, rows: usize) -> Cost {
        self.costs(&self.widths(inputs, outputs), rows).into_iter().sum()
    }

    pub(crate) fn check(&self) -> Result<()> {
        Error::check(!self.hidden.contains(&0), "hidden", &self.hidden, "all positive")?;
        Error::check(self.steps >= 1, "steps", self.steps, "at least 1")
    }

    pub(crate) fn start(&self, inputs: usize, outputs: usize, seed: Seed) -> Result<StoNet> {
        StoNet::random(&self.widths(inputs, outputs), Activation::Tanh, seed)
    }

    fn widths(&self, inputs: usize, outputs: usize) -> Vec<usize> {
        [inputs].into_iter().chain(self.hidden.iter().copied()).chain([outputs]).collect()
    }
}

/// A network and its scales.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scaled {
    clip: Clip,
    mean: f64,
    sd: f64,
    net: StoNet,
}

impl Scaled {
    /// A network on features of this scale, whose response has this centre and scale.
    pub(super) fn new(clip: Clip, (mean, sd): (f64, f64), net: StoNet) -> Self {
        Scaled { clip, mean, sd, net }
    }

    /// The scale of the features.
    pub fn clip(&self) -> &Clip {
        &self.clip
    }

    /// Centre and scale of the response: the prediction is centre + scale · output.
    pub fn response(&self) -> (f64, f64) {
        (self.mean, self.sd)
    }

    /// The network, on standard scale.
    pub fn network(&self) -> &StoNet {
        &self.net
    }

    fn check(&self, columns: usize) -> Result<()> {
        let numbers = self.mean.is_finite() && self.sd.is_finite();
        if numbers
            && self.clip.sound()
            && self.clip.columns() == columns
            && self.net.inputs() == columns
            && self.net.outputs() == 1
        {
            return Ok(());
        }
        Err(Error::Inconsistent { what: "a StoNet and its scales do not belong together" })
    }
}

/// One member at one κ: all that prediction needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Member {
    /// A StoNet on the features.
    StoNet(Scaled),
    /// intercept + slope · (the network's prediction) + correction.
    Skip {
        /// At a prediction of 0.
        intercept: f64,
        /// Of the network's prediction.
        slope: f64,
        /// A StoNet on the features.
        correction: Option<Scaled>,
    },
    /// Ridge regression on the features.
    Ridge(Ridge),
    /// Ridge regression on the features and on products of their leading components.
    Quadratic {
        /// Whose products stand behind the features.
        components: Box<Components>,
        /// On all columns.
        ridge: Box<Ridge>,
    },
    /// The network's own prediction.
    Network,
    /// The middle of the network's own quantiles.
    Middle,
}

impl Member {
    pub(crate) fn needs_prediction(&self) -> bool {
        matches!(self, Member::Skip { .. } | Member::Network)
    }

    /// The StoNet inside, where there is one.
    pub(crate) fn net(&self) -> Option<&StoNet> {
        match self {
            Member::StoNet(s) | Member::Skip { correction: Some(s), .. } => Some(&s.net),
            _ => None,
        }
    }

    pub(crate) fn check(&self, columns: usize) -> Result<()> {
        match self {
            Member::StoNet(s) | Member::Skip { correction: Some(s), .. } => s.check(columns),
            Member::Ridge(r) => r.check(columns),
            Member::Quadratic { components, ridge } => {
                components.check(columns)?;
                ridge.check(columns + components.products())
            }
            Member::Skip { .. } | Member::Network | Member::Middle => Ok(()),
        }
    }
}

/// What members predict of these rows: rows × candidates for each.
pub(crate) fn predictions(members: &[Vec<Member>], data: &Single<'_>, rows: &[usize]) -> Result<Vec<Array2<f64>>> {
    let scorer = Scorer::new(lower::members_plan(members.iter().flatten(), data.features.ncols()));
    let mut columns = scored(&scorer, data, rows)?.into_iter();
    let member = |candidates: &Vec<Member>| {
        let mut all = Array2::zeros((rows.len(), candidates.len()));
        for (mut to, from) in all.columns_mut().into_iter().zip(columns.by_ref()) {
            to.assign(&ArrayView1::from(&from));
        }
        all
    };
    Ok(members.iter().map(member).collect())
}

/// The members that predict rows they have not seen in closed form, fitted on the same rows.
pub(crate) struct Closed {
    /// With what each predicts of every row by a fit without it.
    pub members: Vec<(Member, Array1<f64>)>,
    /// The rows, ascending.
    pub rows: Vec<usize>,
    /// Of the features, where a learned scale needs it or a ridge regression did.
    pub spectrum: Option<Spectrum>,
}

impl Closed {
    /// Fits what there is among these members; `scale` says whether a scale is to be learned on the same rows.
    pub(crate) fn fit(
        members: Members,
        scale: bool,
        data: &Single<'_>,
        rows: &[usize],
        work: &Work<'_>,
    ) -> Result<Self> {
        let mut all = Vec::new();
        let mut spectrum = None;
        if members.ridge || members.quadratic || scale {
            let of = stage("eigenvalues", || Spectrum::new(data.features, rows, work))?;
            all = stage("ridge regressions", || ridges(members, &of, data, rows, work))?;
            spectrum = Some(of);
        }
        if let Some(d) = data.prediction.filter(|_| members.network) {
            all.push((Member::Network, d.select(Axis(0), rows)));
        }
        let middle = || data.own.and_then(|own| own.select(rows).view().middle());
        if let Some(middle) = members.middle.then(middle).flatten() {
            all.push((Member::Middle, middle));
        }
        Ok(Closed { members: all, rows: rows.to_vec(), spectrum })
    }
}

/// The ridge regressions, which share the spectrum of the features.
fn ridges(
    members: Members,
    spectrum: &Spectrum,
    data: &Single<'_>,
    rows: &[usize],
    work: &Work<'_>,
) -> Result<Vec<(Member, Array1<f64>)>> {
    if !members.ridge && !members.quadratic {
        return Ok(Vec::new());
    }
    let y = data.y.select(Axis(0), rows);
    let groups: Option<Vec<usize>> = data.groups.map(|g| rows.iter().map(|&r| g[r]).collect());
    let mut beside = Vec::new();
    if members.ridge {
        beside.push(Beside::none(rows.len())?);
    }
    if members.quadratic {
        beside.push(Beside::new(spectrum.components().products_of(data.features, rows)?.view())?);
    }
    let beside: Vec<&Beside> = beside.iter().collect();
    let on = (data.features, rows);
    let fitted = spectrum.regressions(on, y.view(), &beside, &RIDGE_GRID, groups.as_deref(), work)?;
    let member = |(i, r): (usize, Regression)| {
        let member = match members.ridge && i == 0 {
            true => Member::Ridge(r.ridge),
            false => {
                let components = Box::new(spectrum.components().clone());
                Member::Quadratic { components, ridge: Box::new(r.ridge) }
            }
        };
        (member, r.left_out)
    };
    Ok(fitted.into_iter().enumerate().map(member).collect())
}
