//! Scores of any number of rows in little room: counts in buckets of neighbours, which differ by less than 2⁻¹² of
//! themselves.
//!
//! A bucket is a sign, an exponent and the first twelve bits of a mantissa. All scores in it are taken for the one that
//! makes the interval wider: the largest for an upper bound, the smallest for a lower bound, the one farthest from 0
//! for both ends. So no rank among them falls below that among the scores themselves: intervals are never narrower, and
//! the coverage that ranks guarantee stays.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::base::{Error, Result};

/// Bits of a score that do not tell its bucket: those of the mantissa but for twelve.
const SHIFT: u32 = 52 - 12;
/// Bits of a bucket's number: sign, exponent and twelve of the mantissa.
pub(crate) const PLACE_BITS: u32 = 64 - SHIFT;
/// f64 counts no further than this one by one.
const MOST: u64 = 1 << 53;

/// Counts of scores; neither the order in which they come nor how they are divided matters.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Buckets {
    found: BTreeMap<u32, Bucket>,
    rows: u64,
}

/// Neighbouring scores of one sign.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bucket {
    pub lowest: f64,
    pub highest: f64,
    pub count: u64,
}

impl Buckets {
    /// Counts a finite score.
    pub(crate) fn add(&mut self, score: f64) {
        // −0 is 0.
        let score = score + 0.0;
        let new = Bucket { lowest: score, highest: score, count: 0 };
        let bucket = self.found.entry(place(score)).or_insert(new);
        bucket.lowest = bucket.lowest.min(score);
        bucket.highest = bucket.highest.max(score);
        bucket.count += 1;
        self.rows += 1;
    }

    /// Counts the scores of another part too.
    pub(crate) fn join(&mut self, other: &Buckets) {
        for (&place, new) in &other.found {
            let bucket = self.found.entry(place).or_insert(Bucket { count: 0, ..*new });
            bucket.lowest = bucket.lowest.min(new.lowest);
            bucket.highest = bucket.highest.max(new.highest);
            bucket.count += new.count;
        }
        self.rows += other.rows;
    }

    /// How many scores there are.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// The buckets, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Bucket> {
        self.found.values()
    }
}

/// The number of a score's bucket; it grows with the score. It has [`PLACE_BITS`] bits.
pub(crate) fn place(score: f64) -> u32 {
    let bits = score.to_bits();
    let ordered = if score.is_sign_negative() { !bits } else { bits | 1 << 63 };
    (ordered >> SHIFT) as u32
}

/// What is written to files: a number per bucket, ascending.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct BucketParts {
    pub lowest: Vec<f64>,
    pub highest: Vec<f64>,
    pub counts: Vec<u64>,
}

impl TryFrom<BucketParts> for Buckets {
    type Error = Error;
    fn try_from(p: BucketParts) -> Result<Self> {
        let wrong = || Error::Inconsistent { what: "counts of scores do not belong together" };
        if p.lowest.len() != p.highest.len() || p.lowest.len() != p.counts.len() {
            return Err(wrong());
        }
        let mut buckets = Buckets::default();
        for ((&lowest, &highest), &count) in p.lowest.iter().zip(&p.highest).zip(&p.counts) {
            let sound = lowest <= highest && place(lowest) == place(highest) && lowest.is_finite() && count > 0;
            let next = buckets.found.last_key_value().is_none_or(|(last, _)| *last < place(lowest));
            buckets.rows = buckets.rows.checked_add(count).filter(|&rows| rows < MOST).ok_or_else(wrong)?;
            if !sound || !next {
                return Err(wrong());
            }
            buckets.found.insert(place(lowest), Bucket { lowest, highest, count });
        }
        Ok(buckets)
    }
}

impl BucketParts {
    pub(super) fn new(values: &[f64], lowest: &[f64], counts: &[f64]) -> Self {
        // Counts are whole numbers below 2⁵³.
        BucketParts {
            lowest: lowest.to_vec(),
            highest: values.to_vec(),
            counts: counts.iter().map(|&c| c as u64).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use crate::conformal::ranks::reference::ends;
    use crate::conformal::ranks::{At, Scores};
    use crate::rows::{Level, Side};
    use proptest::prelude::*;
    use rand::RngExt;
    use rand::seq::SliceRandom;
    use rand_distr::{Distribution, StandardNormal};

    fn counted(scores: &[f64]) -> Buckets {
        let mut buckets = Buckets::default();
        scores.iter().for_each(|&s| buckets.add(s));
        buckets
    }

    /// At every side: no narrower than by the scores themselves, and no wider than by 2⁻¹² of them.
    fn close(scores: &[f64], level: f64) {
        let (level, at) = (Level::new(level).unwrap(), [[0.0, 1.0, 1.0]]);
        let exact = Scores::new(vec![scores.to_vec()], None, scores.len());
        let few = Scores::counted(&[counted(scores)]);
        for side in [Side::Both, Side::Lower, Side::Upper] {
            let (e, f) = (ends(&exact, &at, level, side), ends(&few, &at, level, side));
            for (exact, few) in [(e.1, f.1), (-e.0, -f.0)] {
                // Below the smallest normal number there are no more bits to tell.
                let room = (exact.abs() / 4096.0).max(f64::MIN_POSITIVE);
                assert!(few == exact || (few > exact && few - exact < room), "{exact} {few} {level:?} {side:?}");
            }
            assert_eq!(few.search(level, side).ends(&mut [At::new([0.0], [1.0], [1.0])], &mut [[0]]), [f]);
        }
    }

    /// Numbers of every size, among them the extreme ones; many are the same or neighbours.
    fn any_score() -> impl Strategy<Value = f64> {
        prop_oneof![
            4 => -3.0f64..3.0,
            2 => (-20i32..20).prop_map(|v| f64::from(v) * 0.25),
            2 => (1.0f64..1.0005, any::<bool>()).prop_map(|(v, n)| if n { -v } else { v }),
            1 => any::<f64>().prop_filter("finite", |v| v.is_finite()),
            1 => prop::sample::select(vec![0.0, -0.0, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324, -5e-324]),
        ]
    }

    proptest! {
        #[test]
        fn intervals_are_never_narrower_and_hardly_wider(
            scores in prop::collection::vec(any_score(), 1..200),
            level in 0.01f64..0.995,
        ) {
            close(&scores, level);
        }

        #[test]
        fn neither_order_nor_division_matters(scores in prop::collection::vec(any_score(), 1..100), seed in any::<u64>()) {
            let mut other = scores.clone();
            other.shuffle(&mut Seed::new(seed).rng());
            prop_assert_eq!(counted(&scores), counted(&other));
        }

        #[test]
        fn parts_join_to_what_is_counted_at_once(
            a in prop::collection::vec(any_score(), 0..60),
            b in prop::collection::vec(any_score(), 0..60),
        ) {
            let mut joined = counted(&a);
            joined.join(&counted(&b));
            prop_assert_eq!(joined.rows(), (a.len() + b.len()) as u64);
            prop_assert_eq!(joined, counted(&[a, b].concat()));
        }

        #[test]
        fn places_grow_with_scores(a in any_score(), b in any_score()) {
            let (a, b) = (a + 0.0, b + 0.0);
            prop_assert!(a > b || place(a) <= place(b));
        }
    }

    #[test]
    fn a_million_scores_stay_small_and_exact_enough_at_every_level() {
        let mut rng = Seed::new(3).rng();
        let scores: Vec<f64> = (0..1_000_000)
            .map(|_| -> f64 { StandardNormal.sample(&mut rng) })
            .map(|z: f64| z * (0.3 * z).exp())
            .collect();
        let buckets = counted(&scores);
        assert_eq!(buckets.rows(), 1_000_000);
        assert!(buckets.iter().count() < 100_000, "{}", buckets.iter().count());
        for level in [0.01, 0.5, 0.8, 0.9, 0.99, 0.9999, 0.999_999] {
            close(&scores, level);
        }
    }

    #[test]
    fn files_bring_counts_back_and_nonsense_is_refused() {
        let mut rng = Seed::new(4).rng();
        let draws: Vec<f64> = (0..500).map(|_| rng.random_range(-2.0..2.0)).collect();
        let scores = Scores::counted(&[counted(&draws)]);
        let text = serde_json::to_value(&scores).unwrap();
        // Programs that know no counts must not take the highest scores for all there are.
        assert!(text.get("signed").is_none());
        assert_eq!(serde_json::from_value::<Scores>(text.clone()).unwrap(), scores);
        for (key, value) in
            [("highest", "[]"), ("lowest", "[2.0]"), ("counts", "[0]"), ("counts", "[18446744073709551615]")]
        {
            let mut broken = text.clone();
            let new: serde_json::Value = serde_json::from_str(value).unwrap();
            for (i, item) in new.as_array().unwrap().iter().enumerate() {
                broken["buckets"][0][key][i] = item.clone();
            }
            if new.as_array().unwrap().is_empty() {
                broken["buckets"][0][key] = new;
            }
            assert!(serde_json::from_value::<Scores>(broken).is_err(), "{key} {value}");
        }
        for (key, value) in
            [("units", 499.into()), ("signed", serde_json::json!([[1.0]])), ("buckets", serde_json::json!([]))]
        {
            let mut broken = text.clone();
            broken[key] = value;
            assert!(serde_json::from_value::<Scores>(broken).is_err(), "{key}");
        }
    }

    /// n scores and one more, many times: it lies within with probability ⌈(1 − α)(n + 1)⌉/(n + 1), and bucketing can
    /// only add to that.
    #[test]
    fn coverage_of_few_rows_is_what_ranks_promise() {
        const REPLICATIONS: u32 = 40_000;
        let mut rng = Seed::new(5).rng();
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        for (n, level, rank) in [(9usize, 0.9, 9), (25, 0.8, 21), (39, 0.95, 38)] {
            for side in [Side::Both, Side::Lower, Side::Upper] {
                let mut hits = 0;
                for _ in 0..REPLICATIONS {
                    let scores: Vec<f64> = (0..n).map(|_| normal()).collect();
                    let counted = Scores::counted(&[counted(&scores)]);
                    let (low, high) = ends(&counted, &[[0.0, 1.0, 1.0]], Level::new(level).unwrap(), side);
                    let new = normal();
                    hits += u32::from(low <= new && new <= high);
                }
                let p = f64::from(rank) / (n as f64 + 1.0);
                let sd = (p * (1.0 - p) / f64::from(REPLICATIONS)).sqrt();
                let coverage = f64::from(hits) / f64::from(REPLICATIONS);
                // A bucket's width adds less than its density, 2⁻¹² of the score.
                assert!((coverage - p).abs() < 4.5 * sd + 2e-4, "{n} {level} {side:?}: {coverage} {p}");
            }
        }
    }

    /// 2⁻¹² = .000244…: 1 and 1.0002 share a bucket, and 1 and 1.0003 do not.
    #[test]
    fn buckets_by_hand() {
        let scores = [1.0003, 1.0, -1.0, 1.0002, 0.0, -1.0002, 1.0001, -0.0];
        let found = [(-1.0002, -1.0, 2), (0.0, 0.0, 2), (1.0, 1.0002, 3), (1.0003, 1.0003, 1)];
        let buckets = counted(&scores);
        assert_eq!(buckets.iter().map(|b| (b.lowest, b.highest, b.count)).collect::<Vec<_>>(), found);
        assert_eq!(buckets.rows(), 8);
        assert_eq!(counted(&[2.0, 1.0, 2.0]).iter().map(|b| b.count).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn places_fill_their_bits() {
        assert_eq!(PLACE_BITS, u32::BITS - place(f64::INFINITY).leading_zeros());
        // Sign, eleven bits of the exponent, twelve of the mantissa; half of all places are those of negative numbers.
        assert_eq!(PLACE_BITS, 1 + 11 + 12);
        assert_eq!((place(-0.0), place(0.0)), ((1 << 23) - 1, 1 << 23));
        assert_eq!(place(1.0) - place(0.5), 1 << 12);
    }

    #[test]
    fn each_fault_of_counts_is_refused_alone() {
        let read = |lowest: &[f64], highest: &[f64], counts: &[u64]| {
            let (lowest, highest, counts) = (lowest.to_vec(), highest.to_vec(), counts.to_vec());
            Buckets::try_from(BucketParts { lowest, highest, counts })
        };
        assert_eq!(read(&[1.0, 2.0], &[1.0001, 2.0], &[2, 1]).unwrap(), counted(&[1.0, 1.0001, 2.0]));
        let most = (1 << 53) - 1;
        assert_eq!(read(&[1.0, 2.0], &[1.0, 2.0], &[most - 1, 1]).unwrap().rows(), most);
        let faults = [
            ("lengths of scores", read(&[1.0, 2.0], &[1.0], &[1, 1])),
            ("lengths of counts", read(&[1.0], &[1.0], &[1, 1])),
            ("lowest above highest", read(&[1.0001], &[1.0], &[1])),
            ("scores of two buckets", read(&[1.0], &[2.0], &[1])),
            ("an infinite score", read(&[f64::INFINITY], &[f64::INFINITY], &[1])),
            ("an empty bucket", read(&[1.0], &[1.0], &[0])),
            ("a bucket that comes twice", read(&[1.0, 1.0001], &[1.0, 1.0001], &[1, 1])),
            ("buckets that descend", read(&[2.0, 1.0], &[2.0, 1.0], &[1, 1])),
            ("more rows than f64 counts", read(&[1.0, 2.0], &[1.0, 2.0], &[most, 1])),
            ("more rows than u64 counts", read(&[1.0, 2.0], &[1.0, 2.0], &[most, u64::MAX])),
        ];
        for (what, read) in faults {
            assert!(matches!(read, Err(Error::Inconsistent { .. })), "{what}");
        }
    }
}
