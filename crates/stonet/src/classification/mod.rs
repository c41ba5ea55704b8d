//! Post-StoNet classification: outputs of a trained network and held-out rows in, calibrated class probabilities out.
//!
//! **Rows that the network was trained on make it look surer than it is.** Give rows that it has not seen.

mod accuracy;
mod columns;
mod cost;
mod estimate;
mod extras;
mod family;
mod fit;
mod forms;
mod interval;
mod labels;
mod method;
mod pool;
mod sets;
mod shift;

use std::sync::Arc;

use ndarray::{Array1, Array2};
use serde::{Deserialize, Serialize};

pub use accuracy::AccuracySettings;
pub use columns::{ClassAsked, ClassColumns, ClassNote, Interface};
pub use extras::ClassExtras;
pub use forms::SkipSettings;
pub use interval::{
    AccuracyBins, AccuracyBounds, AccuracyInterval, ClassInterval, Covariance, IntervalScale, OneClass,
    ProbabilityCovariance, ProbabilityIntervals, Trust, Wald,
};
pub use labels::{FittedLabels, LabelInputs, LabelRows, label_names, labels_by_name};
pub use method::ClassMethod;
pub use sets::{ClassSets, FittedClassSets, SetScheme};
pub use shift::LabelShift;

use crate::base::{Error, Result};
use crate::calibration::lower::{self, Read};
use crate::calibration::{IsotonicOvr, SkipModel, VennAbers};
use crate::metrics::top_class;
use crate::rows::{ClassInputs, ClassOutput};
use crate::score::{Builder, Decision, Kept, Node, Plan, Scorer, Surety};
use crate::train::TuningCurve;

/// Post-StoNet classification and its settings; the value is its own configuration.
///
/// | name | default | purpose | range |
/// |---|---|---|---|
/// | `method` | stack | how probabilities are made | |
/// | `members` | temperature-smooth, vector, svs, sms, post-linear, skip, skip-prob | what the stack is made of; also skip-features where there are features, and post-linear and stonet where there is nothing else | 1 to 8 |
/// | `folds` | 3, from 50 classes on 2 | of every cross-validation | ≥ 2 |
/// | `skip` | 100 units | the StoNets and their training | |
/// | `paper_epochs` | 100, 300, 900 | lengths of training that `paper` chooses from | ≥ 1 |
///
/// ```
/// use ndarray::Array2;
/// use stonet::{ClassInputs, ClassMethod, ClassRows, PostStoNetClassifier, Seed};
/// // Logits of 90 rows that the network has not seen, and their classes; the network is too sure of itself.
/// let logits = Array2::from_shape_fn((90, 3), |(i, k)| if i % 3 == k { 9.0 } else { 0.0 });
/// let labels: Vec<usize> = (0..90).map(|i| if i % 7 == 0 { (i + 1) % 3 } else { i % 3 }).collect();
/// let rows = ClassRows::new(ClassInputs::logits(logits.view())?, &labels, 3)?;
/// let classifier = PostStoNetClassifier { method: ClassMethod::Temperature, ..Default::default() };
/// let fitted = classifier.fit(&rows, Seed::new(1), &|_, _| true)?;
/// let p = fitted.probabilities(&ClassInputs::logits(logits.view())?)?;
/// // 13 of the 90 rows are of another class.
/// assert!((p[[0, 0]] - 77.0 / 90.0).abs() < 1e-9);
/// # Ok::<(), stonet::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PostStoNetClassifier {
    /// How probabilities are made.
    pub method: ClassMethod,
    /// What the stack is made of.
    pub members: Option<Vec<ClassMethod>>,
    /// Folds of every cross-validation.
    pub folds: Option<usize>,
    /// The StoNets and their training.
    pub skip: SkipSettings,
    /// Lengths of training that `paper` chooses from.
    pub paper_epochs: Vec<usize>,
}

impl Default for PostStoNetClassifier {
    fn default() -> Self {
        PostStoNetClassifier {
            method: ClassMethod::Stack,
            members: None,
            folds: None,
            skip: SkipSettings::default(),
            paper_epochs: vec![100, 300, 900],
        }
    }
}

/// What became of one member of a fit, or of its only method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemberNotes {
    /// The method.
    pub method: ClassMethod,
    /// Its weight in the pool; 1 alone.
    pub weight: f64,
    /// What cross-validation chose: κ, λ, the strength of ODIR, or epochs.
    pub setting: Option<f64>,
    /// Mean negative log-likelihood on rows held out, where there was anything to choose.
    pub cv_nll: Option<f64>,
    /// Distance from the optimum, where there is one: the largest violation of optimality as a part of λ_max, or the
    /// largest entry of the gradient.
    pub residual: Option<f64>,
    /// Whether that is within the tolerance.
    pub converged: bool,
}

/// A member of the default that the number of classes leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The method.
    pub method: ClassMethod,
    /// The number of classes.
    pub classes: usize,
    /// The largest number with which it is tried.
    pub limit: usize,
}

impl std::fmt::Display for LeftOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let LeftOut { method, classes, limit } = self;
        write!(
            f,
            "{method} is left out of the stack: its cost grows with the square of the classes, and there are {classes}, more than {limit}; name \
             `members` to have it"
        )
    }
}

/// Fitted probabilities: all that prediction needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct FittedClassifier {
    settings: PostStoNetClassifier,
    classes: usize,
    absent: Vec<usize>,
    notes: Vec<MemberNotes>,
    left_out: Vec<LeftOut>,
    model: Model,
    kappa_paths: Vec<TuningCurve>,
    sets: Option<Arc<FittedClassSets>>,
    accuracy: Option<Arc<AccuracyBins>>,
    /// Shares of classes among other rows, where they come from elsewhere than the calibration rows.
    adapted: Option<Box<LabelShift>>,
    scorers: Kept<(ClassOutput, ClassExtras)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Model {
    /// Weights as in the notes.
    Pool(Vec<SkipModel>),
    Isotonic(IsotonicOvr),
    #[serde(rename = "venn-abers")]
    VennAbers(VennAbers),
}

/// What is written to files; reading it back checks that its parts belong together.
#[derive(Serialize, Deserialize)]
struct Parts {
    settings: PostStoNetClassifier,
    classes: usize,
    absent: Vec<usize>,
    notes: Vec<MemberNotes>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<LeftOut>,
    model: Model,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    kappa_paths: Vec<TuningCurve>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sets: Option<Box<FittedClassSets>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    accuracy: Option<AccuracyBins>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    adapted: Option<Box<LabelShift>>,
}

/// Whether these are all one number.
fn same(mut counts: impl Iterator<Item = usize>) -> bool {
    let first = counts.next();
    counts.all(|c| Some(c) == first)
}

impl TryFrom<Parts> for FittedClassifier {
    type Error = Error;
    fn try_from(p: Parts) -> Result<Self> {
        let sound = match &p.model {
            Model::Pool(members) => {
                !members.is_empty()
                    && members.len() == p.notes.len()
                    && members.iter().all(|m| m.classes() == p.classes)
                    && same(members.iter().filter_map(SkipModel::features))
                    && p.notes.iter().all(|n| n.weight > 0.0)
                    && (p.notes.iter().map(|n| n.weight).sum::<f64>() - 1.0).abs() < 1e-6
            }
            Model::Isotonic(fitted) => p.classes >= 2 && fitted.maps().len() == p.classes,
            Model::VennAbers(_) => p.classes == 2,
        };
        if !sound {
            return Err(Error::Inconsistent { what: "the parts of a fitted classifier do not belong together" });
        }
        p.kappa_paths.iter().try_for_each(TuningCurve::check)?;
        p.adapted.as_ref().map_or(Ok(()), |shift| shift.check(p.classes))?;
        let Parts { settings, classes, absent, notes, left_out, model, kappa_paths, sets: kept, accuracy, adapted } = p;
        let (sets, accuracy, scorers) = (None, accuracy.map(Arc::new), Kept::default());
        let fitted = FittedClassifier {
            settings,
            classes,
            absent,
            notes,
            left_out,
            model,
            kappa_paths,
            sets,
            accuracy,
            adapted,
            scorers,
        };
        match kept {
            Some(sets) => fitted.with_class_sets(*sets),
            None => Ok(fitted),
        }
    }
}

impl From<FittedClassifier> for Parts {
    fn from(f: FittedClassifier) -> Self {
        let FittedClassifier { settings, classes, absent, notes, left_out, model, kappa_paths, adapted, .. } = f;
        let FittedClassifier { sets, accuracy, .. } = f;
        let sets = sets.map(|sets| Box::new(FittedClassSets::clone(&sets)));
        let accuracy = accuracy.map(|bins| AccuracyBins::clone(&bins));
        Parts { settings, classes, absent, notes, left_out, model, kappa_paths, sets, accuracy, adapted }
    }
}

impl FittedClassifier {
    /// The settings it was fitted with.
    pub fn settings(&self) -> &PostStoNetClassifier {
        &self.settings
    }

    /// The number of classes, K.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Classes without a row to learn from: their probabilities are the network's own guess, or next to nothing.
    pub fn absent_classes(&self) -> &[usize] {
        &self.absent
    }

    /// Weight, chosen setting and convergence of every member.
    pub fn notes(&self) -> &[MemberNotes] {
        &self.notes
    }

    /// Members of the default that the number of classes leaves out.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// What cross-validation saw of every member that had something to choose, in use or not; none where a file of an
    /// earlier version does not tell.
    pub fn tuning_curves(&self) -> &[TuningCurve] {
        &self.kappa_paths
    }

    /// The members in use with their weights; none behind `isotonic` and `venn-abers`.
    pub fn members(&self) -> Vec<(f64, &SkipModel)> {
        match &self.model {
            Model::Pool(members) => self.notes.iter().map(|n| n.weight).zip(members).collect(),
            Model::Isotonic(_) | Model::VennAbers(_) => Vec::new(),
        }
    }

    /// Whether the network's output per class is read, and not its features alone.
    pub fn reads_logits(&self) -> bool {
        self.own_reads_logits() || self.fold_models().iter().any(Self::own_reads_logits)
    }

    /// How many columns of features there are, where any member reads them.
    pub fn features(&self) -> Option<usize> {
        self.own_features().or_else(|| self.fold_models().iter().find_map(Self::own_features))
    }

    /// The models that its prediction sets read beside it.
    fn fold_models(&self) -> &[FittedClassifier] {
        self.sets.as_ref().map_or(&[], |sets| sets.models())
    }

    fn own_reads_logits(&self) -> bool {
        match &self.model {
            Model::Pool(members) => members.iter().any(SkipModel::reads_logits),
            Model::Isotonic(_) | Model::VennAbers(_) => true,
        }
    }

    fn own_features(&self) -> Option<usize> {
        self.members().iter().find_map(|(_, member)| member.features())
    }

    /// The operations that compute the probabilities and the most probable class from what a network gives, which must
    /// tell apart the classes of the fit.
    pub fn plan(&self, output: ClassOutput) -> Result<Plan> {
        self.plan_with(output, &ClassExtras::default())
    }

    /// The same with prediction sets, bounds of accuracy and then a decision behind them; what a head was fitted without is
    /// an error, as are sets that are drawn at random.
    pub fn plan_with(&self, output: ClassOutput, extras: &ClassExtras) -> Result<Plan> {
        let mut b = Builder::default();
        let own = self.lower(&mut b, output.into())?;
        let p = self.adapted.as_ref().map_or(own, |shift| shift.lower(&mut b, own));
        let top = lower::outputs(&mut b, p);
        if !extras.sets.is_empty() {
            // The scores of sets are those of the fit.
            self.need_sets()?.lower(&mut b, output, (own, top), &extras.sets)?;
        }
        if !extras.accuracy.is_empty() {
            self.need_accuracy_bins()?.lower(&mut b, p, &extras.accuracy);
        }
        if let Some(decision) = &extras.decision {
            self.check_decision(decision)?;
            b.decide_by_probability(p, decision);
        }
        Ok(b.finish())
    }

    /// Fails where a rule cannot decide by this head's probabilities.
    fn check_decision(&self, decision: &Decision) -> Result<()> {
        let why = match decision.surety {
            Surety::Largest => return Ok(()),
            Surety::Class(class) if class < self.classes => return Ok(()),
            Surety::Class(class) => {
                format!("it decides by class {class} (from 0), and the head has {} classes", self.classes)
            }
            Surety::Shortness(_) => {
                "it is for intervals, and the head gives class probabilities; make a rule for this head".into()
            }
        };
        Err(Error::OtherRule { why })
    }

    /// The probabilities as a value of a plan.
    fn lower(&self, b: &mut Builder, output: Read) -> Result<Node> {
        if self.own_reads_logits() {
            let found = output.classes().ok_or(Error::NoLogits { what: "this model" })?;
            if found != self.classes {
                return Err(Error::shape("logit columns, one per class", self.classes, output.columns()));
            }
        }
        Ok(match &self.model {
            Model::Pool(_) => lower::pool(b, &self.members(), output),
            Model::Isotonic(fitted) => lower::isotonic(b, fitted, output),
            Model::VennAbers(fitted) => lower::venn_abers(b, fitted, output),
        })
    }

    /// What computes this for any number of rows. It is kept: asking for the same again costs nothing.
    pub fn scorer(&self, output: ClassOutput) -> Result<Arc<Scorer>> {
        self.scorer_with(output, &ClassExtras::default())
    }

    /// The same with what is asked beside the probabilities.
    pub fn scorer_with(&self, output: ClassOutput, extras: &ClassExtras) -> Result<Arc<Scorer>> {
        self.scorers.get(&(output, extras.clone()), || Ok(Scorer::new(self.plan_with(output, extras)?)))
    }

    /// The class probabilities of every row; a row's do not depend on the other rows.
    pub fn probabilities(&self, inputs: &ClassInputs<'_>) -> Result<Array2<f64>> {
        lower::run(&*self.scorer(lower::logits_of(self.classes))?, self.classes, inputs)
    }

    /// Which rows a rule answers.
    pub fn decide(&self, inputs: &ClassInputs<'_>, decision: Decision) -> Result<Vec<bool>> {
        let extras = ClassExtras { decision: Some(decision), ..ClassExtras::default() };
        let scorer = self.scorer_with(lower::logits_of(self.classes), &extras)?;
        // Behind the probabilities and the most probable class.
        let all = lower::run_classes(&scorer, self.classes, inputs, self.classes + 2)?;
        Ok(all.column(self.classes + 1).iter().map(|v| *v == 1.0).collect())
    }

    /// The interval of the second class's probability that Venn-Abers prediction gives to every row, lower and upper
    /// ends; none for other methods. One of the two ends is calibrated, whatever the class of the row is.
    pub fn venn_abers(&self, inputs: &ClassInputs<'_>) -> Result<Option<Array2<f64>>> {
        let Model::VennAbers(fitted) = &self.model else { return Ok(None) };
        let z = inputs.logits.ok_or(Error::NoLogits { what: "this model" })?;
        if z.ncols() != 2 {
            return Err(Error::shape("logit columns, one per class", 2, z.ncols()));
        }
        Ok(Some(fitted.intervals(z)))
    }

    /// The most probable class of every row; the first of equals.
    pub fn classify(&self, inputs: &ClassInputs<'_>) -> Result<Array1<usize>> {
        let p = self.probabilities(inputs)?;
        Ok(p.outer_iter().map(top_class).collect())
    }
}
