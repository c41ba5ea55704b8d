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
        // A row is a unit, or has a part of one.
        let rows: usize = p.signed.iter().map(Vec::len).sum();
        let units = match &p.weights {
            None => p.units == rows,
            Some(weights) => p.units > 0 && weights.iter().flatten().all(|w| *w >= 0.0),
        };
        if !shaped || !numbers || !units || rows == 0 {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn counts() -> BucketParts {
        BucketParts::new(&[1.0001, 2.0], &[1.0, 2.0], &[2.0, 1.0])
    }

    fn scores(signed: &[&[f64]], weights: Option<&[&[f64]]>) -> ScoreParts {
        let lists = |lists: &[&[f64]]| lists.iter().map(|l| l.to_vec()).collect();
        ScoreParts { signed: lists(signed), weights: weights.map(lists), buckets: Vec::new(), units: 3 }
    }

    fn buckets_of(buckets: Vec<BucketParts>, units: usize) -> ScoreParts {
        ScoreParts { signed: Vec::new(), weights: None, buckets, units }
    }

    #[test]
    fn files_bring_scores_back() {
        let signed = vec![vec![2.0, -3.0], vec![0.5], Vec::new()];
        let weights = vec![vec![0.25, 0.75], vec![1.0], Vec::new()];
        for weights in [None, Some(weights)] {
            let scores = Scores::new(signed.clone(), weights, 3);
            let text = serde_json::to_string(&scores).unwrap();
            assert_eq!(serde_json::from_str::<Scores>(&text).unwrap(), scores);
        }
        let mut fold = Buckets::default();
        [1.0001, 2.0, 1.0].iter().for_each(|&s| fold.add(s));
        let counted = Scores::try_from(buckets_of(vec![counts(); 2], 6)).unwrap();
        assert_eq!(counted, Scores::counted(&[fold.clone(), fold.clone()]));
        assert_eq!(buckets(counted).unwrap(), [fold.clone(), fold]);
    }

    #[test]
    fn each_fault_of_scores_is_refused_alone() {
        let none = BucketParts::new(&[], &[], &[]);
        let beside = |signed: &[&[f64]], weights| ScoreParts { buckets: vec![counts()], ..scores(signed, weights) };
        assert!(Scores::try_from(beside(&[], None)).is_ok());
        assert!(Scores::try_from(scores(&[&[1.0, 2.0], &[]], Some(&[&[1.0, 0.0], &[]]))).is_ok());
        assert!(Scores::try_from(scores(&[&[1.0, 2.0], &[3.0]], None)).is_ok());
        let faults = [
            ("counts beside scores", beside(&[&[1.0]], None)),
            ("counts beside weights", beside(&[], Some(&[]))),
            ("counts of nothing", buckets_of(vec![none], 0)),
            ("another number of rows", buckets_of(vec![counts()], 4)),
            ("weights of another number of folds", scores(&[&[1.0], &[2.0]], Some(&[&[1.0]]))),
            ("weights of another number of rows", scores(&[&[1.0, 2.0]], Some(&[&[1.0]]))),
            ("a score that is no number", scores(&[&[1.0, f64::NAN, 2.0]], None)),
            ("an infinite weight", scores(&[&[1.0]], Some(&[&[f64::INFINITY]]))),
            ("a negative weight", scores(&[&[1.0, 2.0]], Some(&[&[1.5, -0.5]]))),
            ("weighted rows of no group", ScoreParts { units: 0, ..scores(&[&[1.0]], Some(&[&[1.0]])) }),
            ("fewer scores than rows", scores(&[&[1.0], &[2.0]], None)),
            ("more scores than rows", scores(&[&[1.0, 2.0], &[3.0, 4.0]], None)),
            ("no fold", scores(&[], Some(&[]))),
            ("folds without scores", scores(&[&[], &[]], Some(&[&[], &[]]))),
        ];
        for (what, parts) in faults {
            assert!(matches!(Scores::try_from(parts), Err(Error::Inconsistent { .. })), "{what}");
        }
    }
}
