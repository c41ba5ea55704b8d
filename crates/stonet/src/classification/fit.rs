//! Cross-fitting: every candidate of every member on every fold, the choice by likelihood, the pool's weights, the
//! final fits.

use ndarray::{Array1, Array2};
use rayon::prelude::*;

use super::cost::Sizes;
use super::family::{Candidate, Family};
use super::{ClassMethod, FittedClassifier, LeftOut, MemberNotes, Model, PostStoNetClassifier, pool};
use crate::base::{Error, Result, Seed, Ticker, Work, stage, streams};
use crate::calibration::skip::{Base, View, log_loss};
use crate::calibration::{IsotonicOvr, SkipModel, VennAbers, fit_temperature};
use crate::network::{Activation, Layer, Likelihood, StoNet};
use crate::rows::classes::OwnedRows;
use crate::rows::dataset::{LARGEST_FEATURE, check_magnitude};
use crate::rows::{ClassRows, complement};
use crate::score::Kept;
use crate::train::TuningCurve;

/// The largest logit: sums of squares of corrected logits stay finite.
const LARGEST_LOGIT: f64 = 1e100;

/// Classes beyond which the stack has no full matrix: its penalty grows with K², so that it comes out as 0, and its
/// cost with K².
const MATRIX_CLASSES: usize = 200;
/// The same of sparse regressions, whose path costs most of a fit from here on.
const LINEAR_CLASSES: usize = 100;

/// A fold: the rows that fit and those held out, with their numbers.
struct Fold {
    fit: OwnedRows,
    held_out: OwnedRows,
    rows: Vec<usize>,
}

/// A member's choice: the run and the candidate within it.
#[derive(Clone, Copy)]
struct Choice {
    run: usize,
    candidate: usize,
    /// Nothing was compared where there was nothing to choose.
    nll: Option<f64>,
}

/// One run of a member on every fold.
struct Run {
    /// What tells its candidates apart.
    settings: Vec<f64>,
    /// Per fold: rows held out, and the mean loss of every candidate on them.
    folds: Vec<(usize, Vec<f64>)>,
}

type Judged = Vec<Run>;

/// What is fitted, and what was seen on the way.
struct Pooled {
    notes: Vec<MemberNotes>,
    model: Model,
    paths: Vec<TuningCurve>,
}

impl PostStoNetClassifier {
    /// Fits on rows that the network has not seen. `tick(done, total)` follows the work and cancels it by returning
    /// false.
    pub fn fit(&self, rows: &ClassRows<'_>, seed: Seed, tick: Ticker<'_>) -> Result<FittedClassifier> {
        self.check()?;
        if let Some(z) = rows.inputs().logits {
            check_magnitude("logits", z, LARGEST_LOGIT)?;
        }
        if let Some(x) = rows.inputs().features {
            check_magnitude("features", x, LARGEST_FEATURE)?;
        }
        let mut left_out = Vec::new();
        let Pooled { notes, model, mut paths } = match self.method {
            ClassMethod::Isotonic => isotonic(rows)?,
            ClassMethod::VennAbers => venn_abers(rows)?,
            ClassMethod::Ets => ets(rows)?,
            ClassMethod::Stack => {
                let members;
                (members, left_out) = self.members_for(rows);
                self.pooled(&members, rows, seed, tick)?
            }
            alone => self.pooled(&[alone], rows, seed, tick)?,
        };
        paths.retain(TuningCurve::is_finite);
        let (settings, classes, absent) = (self.clone(), rows.classes(), rows.absent());
        let fitted = FittedClassifier {
            settings,
            classes,
            absent,
            notes,
            left_out,
            model,
            kappa_paths: paths,
            sets: None,
            accuracy: None,
            adapted: None,
            scorers: Kept::default(),
        };
        // A fit that cannot judge its own rows is none.
        fitted.probabilities(&rows.inputs())?;
        Ok(fitted)
    }

    pub(super) fn check(&self) -> Result<()> {
        self.skip.check()?;
        let epochs = &self.paper_epochs;
        Error::check(!epochs.is_empty() && !epochs.contains(&0), "paper_epochs", epochs, "at least one, all positive")?;
        let sound = |m: &Vec<ClassMethod>| (1..=8).contains(&m.len()) && m.iter().all(|m| m.can_be_member());
        let range = "1 to 8 methods other than stack, isotonic, venn-abers and ets";
        self.members.iter().try_for_each(|m| Error::check(sound(m), "members", m, range))
    }

    /// The members for these rows, and those that the number of classes leaves out.
    pub(super) fn members_for(&self, rows: &ClassRows<'_>) -> (Vec<ClassMethod>, Vec<LeftOut>) {
        use ClassMethod::{PostLinear, Skip, SkipFeatures, SkipProb, Sms, StoNet, Svs, TemperatureSmooth, Vector};
        let inputs = rows.inputs();
        if let Some(members) = &self.members {
            return (members.clone(), Vec::new());
        }
        if inputs.logits.is_none() {
            return (vec![PostLinear, StoNet], Vec::new());
        }
        let mut members = vec![TemperatureSmooth, Vector, Svs, Sms, PostLinear, Skip, SkipProb];
        if inputs.features.is_some() {
            members.push(SkipFeatures);
        }
        let (classes, mut left_out) = (rows.classes(), Vec::new());
        for (method, limit) in [(Sms, MATRIX_CLASSES), (PostLinear, LINEAR_CLASSES)] {
            if classes > limit {
                members.retain(|m| *m != method);
                left_out.push(LeftOut { method, classes, limit });
            }
        }
        (members, left_out)
    }

    fn pooled(&self, methods: &[ClassMethod], rows: &ClassRows<'_>, seed: Seed, tick: Ticker<'_>) -> Result<Pooled> {
        let families = methods.iter().map(|&m| Family::new(m, self, rows)).collect::<Result<Vec<_>>>()?;
        let folds = match self.folds_for(&families, rows.classes()) {
            0 => Vec::new(),
            k => self.folds(rows, k, seed)?,
        };
        let work = Work::of_cost(self.pooled_cost(&families, &Sizes::of(rows), folds.len()), tick);
        let fitted = self.on_folds(&families, &folds, seed, &work)?;
        let judged = stage("predictions of held-out rows", || {
            fitted.iter().map(|member| judge(member, &folds)).collect::<Result<Vec<Judged>>>()
        })?;
        let choices: Vec<Choice> = judged.iter().map(choose).collect();
        let several = |f: &&Family| !f.is_single();
        let paths = families.iter().zip(&judged).zip(&choices);
        let paths =
            paths.filter(|((f, _), _)| several(f)).map(|((f, judged), choice)| path(f, judged, *choice)).collect();
        let weights = match families.len() {
            1 => vec![1.0],
            _ => {
                let mut given = Array2::zeros((rows.rows(), families.len()));
                for (m, (member, choice)) in fitted.iter().zip(&choices).enumerate() {
                    given.column_mut(m).assign(&out_of_fold(member, *choice, &folds, rows)?);
                }
                stage("weights", || pool::weights(given.view())).to_vec()
            }
        };
        drop(fitted);
        let finals: Vec<Option<Candidate>> = (families.par_iter().zip(&choices).zip(&weights))
            .map(|((family, choice), &weight)| {
                // A member without weight is not needed, and not fitted.
                let whole = work.piece(family.cost(self, &Sizes::of(rows)));
                let fit = (weight > 0.0).then(|| {
                    let mut all = family.fit(
                        choice.run,
                        Some(choice.candidate),
                        (rows, None),
                        self,
                        stream(seed, family, choice.run, streams::class_fit::WHOLE),
                        &whole,
                    )?;
                    Ok(all.swap_remove(choice.candidate))
                });
                fit.transpose()
            })
            .collect::<Result<_>>()?;
        work.finish()?;
        let (mut notes, mut members) = (Vec::new(), Vec::new());
        for (((family, choice), weight), fit) in families.iter().zip(&choices).zip(weights).zip(finals) {
            let Some(fit) = fit else { continue };
            notes.push(MemberNotes {
                method: family.method,
                weight,
                setting: choice.nll.is_some().then_some(fit.setting).filter(|_| !family.is_single()),
                cv_nll: choice.nll,
                residual: fit.residual,
                converged: fit.converged,
            });
            members.push(fit.model);
        }
        if members.is_empty() {
            return Err(Error::Inconsistent {
                what: "no member of the stack tells the classes apart; check the labels",
            });
        }
        Ok(Pooled { notes, model: Model::Pool(members), paths })
    }

    /// The number of folds; none where there is nothing to choose.
    pub(super) fn folds_for(&self, families: &[Family], classes: usize) -> usize {
        match families {
            [one] if one.is_single() => 0,
            _ => self.folds.unwrap_or(if classes >= 50 { 2 } else { 3 }),
        }
    }

    fn folds(&self, rows: &ClassRows<'_>, k: usize, seed: Seed) -> Result<Vec<Fold>> {
        let parts = rows.folds(k, seed.child(streams::classification::FOLDS))?;
        let fold = |part: Vec<usize>| Fold {
            fit: rows.select(&complement(rows.rows(), &part)),
            held_out: rows.select(&part),
            rows: part,
        };
        Ok(parts.into_iter().map(fold).collect())
    }

    /// Candidates of every member, by run and fold.
    fn on_folds(
        &self,
        families: &[Family],
        folds: &[Fold],
        seed: Seed,
        work: &Work<'_>,
    ) -> Result<Vec<Vec<Vec<Vec<Candidate>>>>> {
        let mut jobs = Vec::new();
        for (m, family) in families.iter().enumerate() {
            jobs.extend((0..family.runs()).flat_map(|run| (0..folds.len()).map(move |fold| (m, run, fold))));
        }
        let done: Vec<Vec<Candidate>> = jobs
            .par_iter()
            .map(|&(m, run, fold)| {
                let seed = stream(seed, &families[m], run, streams::class_fit::FOLDS.at(fold));
                let rows = (&folds[fold].fit.view(), Some(&folds[fold].held_out.view()));
                let piece = work.piece(families[m].cost(self, &Sizes::of(rows.0)));
                families[m].fit(run, None, rows, self, seed, &piece)
            })
            .collect::<Result<_>>()?;
        let mut sorted: Vec<Vec<Vec<Vec<Candidate>>>> =
            families.iter().map(|f| (0..f.runs()).map(|_| Vec::new()).collect()).collect();
        for ((m, run, _), fit) in jobs.into_iter().zip(done) {
            sorted[m][run].push(fit);
        }
        // Folds that stopped at different places have the beginning in common.
        for run in sorted.iter_mut().flatten() {
            let shortest = run.iter().map(Vec::len).min().unwrap_or(0);
            run.iter_mut().for_each(|fits| fits.truncate(shortest));
        }
        Ok(sorted)
    }
}

/// The stream of one fit, by method, run and rows.
fn stream(seed: Seed, family: &Family, run: usize, rows: u64) -> Seed {
    seed.child(streams::classification::METHODS.at(family.method as usize)).child(run as u64).child(rows)
}

/// The losses of a member's candidates on the rows that each fold held out, by run.
fn judge(member: &[Vec<Vec<Candidate>>], folds: &[Fold]) -> Result<Judged> {
    let loss = |(candidates, fold): (&Vec<Candidate>, &Fold)| {
        let held_out = fold.held_out.view();
        let of = |c: &Candidate| Ok(log_loss(c.model.logits(&held_out.inputs())?, held_out.labels()));
        Ok((held_out.rows(), candidates.iter().map(of).collect::<Result<Vec<_>>>()?))
    };
    let run = |fits: &Vec<Vec<Candidate>>| {
        let settings = fits.first().map(|c| c.iter().map(|c| c.setting).collect()).unwrap_or_default();
        Ok(Run { settings, folds: fits.iter().zip(folds).map(loss).collect::<Result<_>>()? })
    };
    member.iter().map(run).collect()
}

/// The candidate with the smallest loss over all held-out rows.
fn choose(judged: &Judged) -> Choice {
    let mut best = Choice { run: 0, candidate: 0, nll: None };
    for (run, judged) in judged.iter().enumerate() {
        for (candidate, &nll) in TuningCurve::over_folds(&judged.folds).0.iter().enumerate() {
            if best.nll.is_none_or(|b| nll < b) {
                best = Choice { run, candidate, nll: Some(nll) };
            }
        }
    }
    best
}

/// The curve over a run's candidates; where there are several runs, over the best candidate of each.
fn path(family: &Family, judged: &Judged, choice: Choice) -> TuningCurve {
    let (mut kappas, mut loss, mut se) = (Vec::new(), Vec::new(), Vec::new());
    let by_run = family.runs_differ();
    for run in judged {
        let (losses, errors) = TuningCurve::over_folds(&run.folds);
        let best = (0..losses.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b]));
        let shown: Vec<usize> = if by_run { best.into_iter().collect() } else { (0..losses.len()).collect() };
        for i in shown {
            kappas.push(run.settings[i]);
            loss.push(losses[i]);
            se.push(errors[i]);
        }
    }
    TuningCurve {
        label: family.method.name().into(),
        output: None,
        setting: family.setting_name().into(),
        values: kappas,
        loss,
        se,
        chosen: vec![if by_run { choice.run } else { choice.candidate }],
        without: None,
        loss_name: "negative log-likelihood".into(),
        coverage: None,
    }
}

/// What the chosen candidate gives to every row's class, each by the fold that held the row out.
fn out_of_fold(
    member: &[Vec<Vec<Candidate>>],
    choice: Choice,
    folds: &[Fold],
    rows: &ClassRows<'_>,
) -> Result<Array1<f64>> {
    let mut given = Array1::zeros(rows.rows());
    for (fit, fold) in member[choice.run].iter().zip(folds) {
        let p = fit[choice.candidate].model.probabilities(&fold.held_out.view().inputs())?;
        for (&r, p) in fold.rows.iter().zip(p.outer_iter()) {
            given[r] = p[rows.labels()[r]];
        }
    }
    Ok(given)
}

fn isotonic(rows: &ClassRows<'_>) -> Result<Pooled> {
    let z = rows.need_logits("isotonic regression")?;
    let fitted = IsotonicOvr::fit(Likelihood::Multinomial.mean(z.to_owned()).view(), rows.labels())?;
    Ok(Pooled { notes: vec![plain(ClassMethod::Isotonic, 1.0)], model: Model::Isotonic(fitted), paths: Vec::new() })
}

fn venn_abers(rows: &ClassRows<'_>) -> Result<Pooled> {
    let z = rows.need_logits("Venn-Abers prediction")?;
    let fitted = VennAbers::fit(z, rows.labels())?;
    Ok(Pooled { notes: vec![plain(ClassMethod::VennAbers, 1.0)], model: Model::VennAbers(fitted), paths: Vec::new() })
}

/// softmax(z/T), softmax(z) and the uniform distribution with the weights of the largest likelihood. Three weights need
/// no rows of their own.
fn ets(rows: &ClassRows<'_>) -> Result<Pooled> {
    let k = rows.classes();
    let t = fit_temperature(rows)?;
    let nothing = Layer { weight: Array2::zeros((k, k)), bias: Array1::zeros(k), noise_variance: 1.0 };
    let uniform = StoNet::new(vec![nothing], Activation::Tanh, Likelihood::Multinomial)?;
    let models = [
        SkipModel::new(k, Some(Base::plain(t)), None)?,
        SkipModel::new(k, Some(Base::plain(1.0)), None)?,
        SkipModel::new(k, None, Some((View::Raw, uniform)))?,
    ];
    let mut given = Array2::zeros((rows.rows(), models.len()));
    for (mut column, model) in given.columns_mut().into_iter().zip(&models) {
        let p = model.probabilities(&rows.inputs())?;
        column.iter_mut().zip(p.outer_iter()).zip(rows.labels()).for_each(|((g, p), &l)| *g = p[l]);
    }
    let weighted = pool::weights(given.view()).into_iter().zip(models).filter(|(w, _)| *w > 0.0);
    let (notes, members) = weighted.map(|(weight, model)| (plain(ClassMethod::Ets, weight), model)).unzip();
    Ok(Pooled { notes, model: Model::Pool(members), paths: Vec::new() })
}

/// What is known of a member that chose nothing.
fn plain(method: ClassMethod, weight: f64) -> MemberNotes {
    MemberNotes { method, weight, setting: None, cv_nll: None, residual: None, converged: true }
}
