//! The scores of intervals as they are written to files, and checked when they are read.

use serde::{Deserialize, Serialize};

use super::buckets::{BucketParts, Buckets};
use super::ranks::{Scores, Sorted};
use crate::base::{Error, Result};

/// What is written to files: signed scores and weights per fold, or counts of them; the rest follows.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct ScoreParts {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    signed: Vec<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weights: Option<Vec<Vec<f64>>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    buckets: Vec<BucketParts>,
    units: usize,
}

impl TryFrom<ScoreParts> for Scores {
    type Error = Error;
    fn try_from(p: ScoreParts) -> Result<Self> {
        let wrong = Error::Inconsistent { what: "scores and weights of an interval do not belong together" };
        if !p.buckets.is_empty() {
            let alone = p.signed.is_empty() && p.weights.is_none();
            let scores = Scores::counted(&p.buckets.into_iter().map(Buckets::try_from).collect::<Result<Vec<_>>>()?);
            return if alone && scores.units > 0 && scores.units == p.units { Ok(scores) } else { Err(wrong) };
        }
        let shaped = p
            .weights
            .as_ref()
            .is_none_or(|w| w.len() == p.signed.len() && w.iter().zip(&p.signed).all(|(w, s)| w.len() == s.len()));
        let numbers = p.signed.iter().chain(p.weights.iter().flatten()).flatten().all(|v| v.is_finite());
        if !shaped || !numbers || p.signed.iter().all(Vec::is_empty) {
            return Err(wrong);
        }
        Ok(Scores::new(p.signed, p.weights, p.units))
    }
}

/// The counts behind scores that were counted, a fold after the other.
pub(super) fn buckets(scores: Scores) -> Result<Vec<Buckets>> {
    ScoreParts::from(scores).buckets.into_iter().map(Buckets::try_from).collect()
}

impl From<Scores> for ScoreParts {
    fn from(s: Scores) -> Self {
        let units = s.units;
        if s.counted {
            let parts = |f: &Sorted| {
                let (lowest, counts) = (f.lowest.as_ref().unwrap_or(&f.values), f.weights.as_deref().unwrap_or(&[]));
                BucketParts::new(&f.values, lowest, counts)
            };
            let buckets = s.signed.iter().map(parts).collect();
            return ScoreParts { signed: Vec::new(), weights: None, buckets, units };
        }
        let weights: Option<Vec<Vec<f64>>> = s.signed.iter().map(|f| f.weights.clone()).collect();
        ScoreParts { signed: s.signed.into_iter().map(|f| f.values).collect(), weights, buckets: Vec::new(), units }
    }
}
