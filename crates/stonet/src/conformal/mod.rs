//! Conformal prediction: ranks of held-out scores for intervals, and sets of classes.

pub(crate) mod below;
pub(crate) mod buckets;
mod conditional;
pub(crate) mod own;
pub(crate) mod ranks;
pub(crate) mod ratio;
mod search;
mod sets;
mod stored;
pub(crate) mod weighted;

pub use conditional::{ConditionalScores, Cutoffs, Steps};
pub use ranks::{Scores, conformal_quantile, conformal_rank, cv_plus_guarantee, rows_needed};
pub use ratio::{Ratio, ShiftEvidence, Term};
pub use sets::{CvPlusSets, LabelPart, PredictionSets, RowScore, SetBy, SetRule, SetScore, SetScores, SplitSets};
pub(crate) use sets::{check_cv_plus, clusters, label_scores};
pub use weighted::needed_beside;
