//! Conformal prediction: ranks of held-out scores for intervals, and sets of classes.

pub(crate) mod buckets;
pub(crate) mod own;
pub(crate) mod ranks;
mod search;
mod sets;
mod stored;

pub use ranks::{Scores, conformal_quantile, conformal_rank, cv_plus_guarantee, rows_needed};
pub use sets::{CvPlusSets, PredictionSets, SetRule, SetScore, SplitSets};
