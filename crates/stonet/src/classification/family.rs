//! Families of candidates: what one method fits on given rows, and the choice among its candidates by cross-validated
//! likelihood.

use super::cost::Sizes;
use super::{ClassMethod, PostStoNetClassifier, forms};
use crate::base::{Cost, Error, Piece, Result, Seed, stage, stage_at};
use crate::calibration::affine::{self, Shape};
use crate::calibration::post_linear::{Design, Linear};
use crate::calibration::skip::{Base, SkipModel, View};
use crate::calibration::temperature;
use crate::rows::ClassRows;
use crate::sparse::ridge::Clip;

/// Strengths of ODIR, descending: each fit starts the next.
pub(super) const ODIR: [f64; 5] = [1000.0, 100.0, 10.0, 1.0, 0.1];
/// The intercepts' share of the strength.
pub(super) const ODIR_INTERCEPT: f64 = 0.1;

/// One method's candidates: one or several runs, each of which brings one or several of them.
pub(super) struct Family {
    pub method: ClassMethod,
    /// κ of each run; one run of no κ for methods without.
    runs: Vec<f64>,
    /// Of the sparse regressions.
    tolerance: f64,
    /// λ of the sparse regressions, the same for all folds.
    lambdas: Vec<f64>,
}

/// One candidate of a run, and how far it is from its optimum where it has one.
pub(super) struct Candidate {
    pub model: SkipModel,
    /// What tells it from its neighbours: λ, κ, or epochs.
    pub setting: f64,
    pub residual: Option<f64>,
    pub converged: bool,
}

impl Candidate {
    pub(super) fn new(model: SkipModel, setting: f64) -> Self {
        Candidate { model, setting, residual: None, converged: true }
    }
}

impl Family {
    pub(super) fn new(method: ClassMethod, settings: &PostStoNetClassifier, rows: &ClassRows<'_>) -> Result<Self> {
        let runs = match method {
            ClassMethod::Skip | ClassMethod::SkipProb | ClassMethod::SkipFeatures | ClassMethod::StoNet => {
                settings.skip.kappas(rows.classes())
            }
            _ => vec![0.0],
        };
        let lambdas = match method {
            ClassMethod::PostLinear => Design::alone(rows)?.lambdas(rows)?,
            ClassMethod::SkipLinear => Design::skip(rows)?.lambdas(rows)?,
            _ => Vec::new(),
        };
        // What a pool's weight can hide need not be solved to the last digit.
        let tolerance = if settings.method == ClassMethod::Stack { 1e-3 } else { 1e-6 };
        Ok(Family { method, runs, tolerance, lambdas })
    }

    pub(super) fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Whether its runs are what is chosen from, each the best of its own candidates, and not the candidates of one
    /// run.
    pub(super) fn runs_differ(&self) -> bool {
        matches!(
            self.method,
            ClassMethod::Skip | ClassMethod::SkipProb | ClassMethod::SkipFeatures | ClassMethod::StoNet
        )
    }

    /// What is chosen.
    pub(super) fn setting_name(&self) -> &'static str {
        match self.method {
            ClassMethod::PostLinear | ClassMethod::SkipLinear => "lambda",
            ClassMethod::MatrixOdir => "strength",
            ClassMethod::Paper => "epochs",
            _ => "kappa",
        }
    }

    /// Whether there is anything to choose.
    pub(super) fn is_single(&self) -> bool {
        use ClassMethod::{Matrix, None, Sms, Svs, Temperature, TemperatureSmooth, Vector};
        matches!(self.method, None | Temperature | TemperatureSmooth | Vector | Svs | Sms | Matrix)
    }

    /// The candidates of one run on these rows: all of them, or those up to a number. Rows held out may tell where it
    /// is not worth going on.
    pub(super) fn fit(
        &self,
        run: usize,
        last: Option<usize>,
        rows: (&ClassRows<'_>, Option<&ClassRows<'_>>),
        settings: &PostStoNetClassifier,
        seed: Seed,
        piece: &Piece<'_, '_>,
    ) -> Result<Vec<Candidate>> {
        let (name, candidates) = (self.method.name(), || self.candidates(run, last, rows, settings, seed, piece));
        let fitted =
            if self.runs_differ() { stage_at(name, self.runs[run], candidates) } else { stage(name, candidates) }?;
        if self.is_single() {
            piece.advance(self.cost(settings, &Sizes::of(rows.0)))?;
        }
        Ok(fitted)
    }

    fn candidates(
        &self,
        run: usize,
        last: Option<usize>,
        (rows, held_out): (&ClassRows<'_>, Option<&ClassRows<'_>>),
        settings: &PostStoNetClassifier,
        seed: Seed,
        piece: &Piece<'_, '_>,
    ) -> Result<Vec<Candidate>> {
        let (what, k, kappa) = (self.method.name(), rows.classes(), self.runs[run]);
        let cost = self.cost(settings, &Sizes::of(rows));
        match self.method {
            ClassMethod::None => {
                rows.need_logits(what)?;
                Ok(vec![Candidate::new(SkipModel::new(k, Some(Base::plain(1.0)), None)?, 1.0)])
            }
            ClassMethod::Temperature => {
                let t = temperature::fit_temperature(rows)?;
                Ok(vec![Candidate::new(SkipModel::new(k, Some(Base::plain(t)), None)?, t)])
            }
            ClassMethod::TemperatureSmooth => {
                let base = Base::smoothed(temperature::fit_temperature(rows)?, rows.rows());
                Ok(vec![Candidate::new(SkipModel::new(k, Some(base), None)?, base.temperature)])
            }
            ClassMethod::Vector => Ok(vec![affine::fit(rows, Shape::default(), what, None)?.into()]),
            ClassMethod::Svs => Ok(vec![affine::structured(rows, false, what)?.into()]),
            ClassMethod::Sms => Ok(vec![affine::structured(rows, true, what)?.into()]),
            ClassMethod::Matrix => {
                let free = Shape { matrix: true, ..Shape::default() };
                Ok(vec![affine::fit(rows, free, what, None)?.into()])
            }
            ClassMethod::MatrixOdir => {
                let mut fits: Vec<affine::Affine> = Vec::with_capacity(ODIR.len());
                for strength in upto(&ODIR, last).iter().copied() {
                    piece.advance(Cost::of(cost.get() / ODIR.len() as f64))?;
                    // Each penalty is a mean over its entries.
                    let (pairs, intercept) = ((k * (k - 1)) as f64, ODIR_INTERCEPT * strength / k as f64);
                    let shape = Shape { matrix: true, off_diagonal: strength / pairs, intercept, ..Shape::default() };
                    fits.push(affine::fit(rows, shape, what, fits.last())?);
                }
                Ok(fits.into_iter().zip(ODIR).map(|(f, setting)| Candidate { setting, ..f.into() }).collect())
            }
            ClassMethod::PostLinear => self.linear(Design::alone(rows)?, last, (rows, held_out), (piece, cost)),
            ClassMethod::SkipLinear => self.linear(Design::skip(rows)?, last, (rows, held_out), (piece, cost)),
            ClassMethod::Paper => forms::paper(rows, settings, seed, (piece, cost)),
            ClassMethod::StoNet => forms::plain(rows, &settings.skip, (kappa, last), seed, (piece, cost)),
            ClassMethod::Skip => forms::skip(rows, View::Centred, &settings.skip, (kappa, last), seed, (piece, cost)),
            ClassMethod::SkipProb => {
                forms::skip(rows, View::Probabilities, &settings.skip, (kappa, last), seed, (piece, cost))
            }
            ClassMethod::SkipFeatures => {
                let x = rows.inputs().features.ok_or(Error::NeedsFeatures { what })?;
                let all: Vec<usize> = (0..rows.rows()).collect();
                forms::skip(
                    rows,
                    View::Features(Clip::fit(x, &all)?),
                    &settings.skip,
                    (kappa, last),
                    seed,
                    (piece, cost),
                )
            }
            ClassMethod::Isotonic | ClassMethod::Stack | ClassMethod::Ets | ClassMethod::VennAbers => {
                Err(Error::Inconsistent { what: "not a family of networks" })
            }
        }
    }
}

impl Family {
    fn linear(
        &self,
        design: Design,
        last: Option<usize>,
        (rows, held_out): (&ClassRows<'_>, Option<&ClassRows<'_>>),
        (piece, cost): (&Piece<'_, '_>, Cost),
    ) -> Result<Vec<Candidate>> {
        let design = design.with_tolerance(self.tolerance);
        let path = design.path(rows, held_out, upto(&self.lambdas, last), (piece, cost))?;
        Ok(path.into_iter().map(Candidate::from).collect())
    }
}

/// The first entries, up to number `last`.
fn upto(list: &[f64], last: Option<usize>) -> &[f64] {
    &list[..last.map_or(list.len(), |l| l + 1)]
}

impl From<Linear> for Candidate {
    fn from(l: Linear) -> Self {
        Candidate { model: l.model, setting: l.lambda, residual: Some(l.kkt_residual), converged: l.converged }
    }
}

impl From<affine::Affine> for Candidate {
    fn from(a: affine::Affine) -> Self {
        Candidate { model: a.model, setting: 0.0, residual: Some(a.gradient), converged: a.converged }
    }
}
