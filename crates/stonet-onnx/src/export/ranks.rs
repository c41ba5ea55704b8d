//! The ends of CV+ as a graph: ranks among μ_k + R s_k over the folds, whose scores are first compressed.
//!
//! A block of neighbouring scores is replaced by its largest, which counts as many times: no rank of the whole becomes
//! smaller, so no interval shrinks. Blocks are single scores around the rank that matters if the folds agree, and grow
//! with the distance from it.

use stonet::score::Scores;
use stonet::{Level, Side};

use crate::graph::{Graph, Tensor};
use crate::{Error, Result};

/// Scores per fold that are kept.
const KEPT: usize = 400;
/// What covers the rounding of f32 in μ, s and their sum.
const ROUNDING: f64 = 1e-5;
/// Whole numbers up to this are exact in f32, and so are their sums.
const EXACT: f64 = 16_777_216.0;

/// Scores of one fold, descending, and how much each counts.
#[derive(Debug, Clone, PartialEq)]
struct Compressed {
    values: Vec<f64>,
    counts: Vec<f64>,
}

/// What an end is among μ_k + R s_k.
#[derive(Debug, Clone)]
pub(super) struct Ranks {
    folds: Vec<Compressed>,
    /// The end is the first, from the top, with more than this at or above it.
    above: f64,
    /// The column w(x) where rows have weights, and 1 − α: what may lie above is then less by (1 − α) w(x).
    weight: Option<(Tensor, f64)>,
    /// Whether the point prediction is always inside.
    holds_centre: bool,
}

impl Ranks {
    pub(super) fn new(scores: &Scores, level: Level, side: Side, weight: Option<Tensor>) -> Result<Self> {
        let ranks = Self::keeping(scores, level, side, KEPT)?;
        let Some(weight) = weight else { return Ok(ranks) };
        let above = (1.0 - level.get()) * scores.mass();
        Ok(Ranks { above, weight: Some((weight, level.get())), ..ranks })
    }

    fn keeping(scores: &Scores, level: Level, side: Side, kept: usize) -> Result<Self> {
        let Some(above) = scores.above(level) else {
            // A level that follows its misses has come to 1.
            if level.get() > 1.0 - 1e-9 {
                return Err(Error::NotExportable {
                    what: "an interval whose level follows its misses".into(),
                    why: "too many missed, and it is the whole line until rows have been covered again".into(),
                    remedy: "update the head with the next rows first",
                });
            }
            return Err(Error::NotExportable {
                what: format!(
                    "{} at level {}",
                    if side == Side::Both { "an interval" } else { "a one-sided bound" },
                    level.get()
                ),
                why: format!(
                    "{} calibration rows or groups are too few for it, and it is the whole line",
                    scores.units()
                ),
                remedy: "choose a lower level, or calibrate on more rows",
            });
        };
        let folds: Vec<Compressed> = scores.deciding(side).into_iter().map(Compressed::all).collect();
        let total: f64 = folds.iter().map(Compressed::mass).sum();
        let folds = folds.into_iter().map(|f| f.to(kept, above / total)).collect();
        Ok(Ranks { folds, above, weight: None, holds_centre: side == Side::Both })
    }

    /// The upper or the lower end at every row, where `at[k]` are the columns μ_k and the scales above and below it.
    pub(super) fn end(&self, graph: &mut Graph, at: &[[Tensor; 3]], centre: Tensor, upper: bool) -> Tensor {
        let (end, outer) = if upper {
            (self.upper(graph, at), "Max")
        } else {
            // The lower end is the upper one of −y, with its sign changed.
            let turned: Vec<[Tensor; 3]> =
                at.iter().map(|&[m, above, below]| [graph.op("Neg", &[m]), below, above]).collect();
            let end = self.upper(graph, &turned);
            (graph.op("Neg", &[end]), "Min")
        };
        if self.holds_centre { graph.op(outer, &[end, centre]) } else { end }
    }

    fn upper(&self, graph: &mut Graph, at: &[[Tensor; 3]]) -> Tensor {
        if let ([[mean, above, below]], None) = (at, self.weight) {
            let score = self.alone();
            let half = graph.times(if score < 0.0 { *below } else { *above }, score);
            return graph.op("Add", &[*mean, half]);
        }
        let mut parts = Vec::new();
        for (fold, [mean, above, below]) in self.folds.iter().zip(at) {
            // Descending, so that those above the prediction come first.
            let (over, under) = fold.values.split_at(fold.values.partition_point(|v| *v >= 0.0));
            for (scores, scale) in [(over, above), (under, below)] {
                if !scores.is_empty() {
                    let values: Vec<f64> = scores.iter().map(|&v| outwards(v)).collect();
                    let values = graph.row(&values);
                    let spread = graph.op("Mul", &[*scale, values]);
                    parts.push(graph.op("Add", &[*mean, spread]));
                }
            }
        }
        let all = graph.beside(&parts);
        if self.weight.is_none() && self.counts().all(|c| c == 1.0) {
            let rank = self.above as usize;
            let k = graph.ints([rank as i64 + 1]);
            let [top, _] = graph.call("TopK", &[all, k], &[("axis", 1), ("largest", 1), ("sorted", 1)]);
            return graph.columns(top, &[rank]);
        }
        self.counted(graph, all)
    }

    fn counts(&self) -> impl Iterator<Item = f64> {
        self.folds.iter().flat_map(|f| f.counts.iter().copied())
    }

    /// The first of the candidates, from the top, that has too much at or above it, where they do not count once each.
    fn counted(&self, graph: &mut Graph, candidates: Tensor) -> Tensor {
        let size = self.counts().count();
        let counts = graph.floats(&[size], self.counts());
        let k = graph.ints([size as i64]);
        let [sorted, order] = graph.call("TopK", &[candidates, k], &[("axis", 1), ("largest", 1), ("sorted", 1)]);
        let [counts] = graph.call("Gather", &[counts, order], &[("axis", 0)]);
        let axis = graph.ints([1]);
        let masses = graph.op("CumSum", &[counts, axis]);
        let limit = match self.weight {
            Some((weight, level)) => self.weighted_limit(graph, weight, level),
            None => graph.number(self.limit()),
        };
        let over = graph.op("Less", &[masses, limit]);
        let [over] = graph.call("Cast", &[over], &[("to", crate::tensor::FLOAT)]);
        let place = graph.row_sums(over, size);
        let [place] = graph.call("Cast", &[place], &[("to", crate::tensor::INT64)]);
        let [end] = graph.call("GatherElements", &[sorted, place], &[("axis", 1)]);
        if self.weight.is_none() {
            return end;
        }
        // 1/0 is +∞, and a graph has no infinite constants.
        let zero = graph.number(0.0);
        let one = graph.number(1.0);
        let infinite = graph.op("Div", &[one, zero]);
        let beyond = graph.op("Less", &[limit, zero]);
        graph.op("Where", &[beyond, infinite, end])
    }

    /// The same at each row of a weight: (1 − α) Σw less (1 − α) of its own, a trifle less for rounding; negative where the
    /// end is infinite.
    fn weighted_limit(&self, graph: &mut Graph, weight: Tensor, level: f64) -> Tensor {
        let less = graph.times(weight, -level * (1.0 + 1e-4));
        graph.plus(less, self.above * (1.0 - 1e-4))
    }

    /// The mass from the top, in f32, below which the end is not reached.
    fn limit(&self) -> f64 {
        let exact = self.counts().all(|c| c.fract() == 0.0) && self.counts().sum::<f64>() <= EXACT;
        // A half between whole numbers leaves nothing in doubt. Other masses are rounded when they are added up, so the
        // limit is a trifle less.
        if exact { self.above.floor() + 0.5 } else { self.above * (1.0 - 1e-4) }
    }

    /// The score that decides where there is one fold.
    fn alone(&self) -> f64 {
        let Some(fold) = self.folds.first() else { return 0.0 };
        let mut mass = 0.0;
        let reached = fold.values.iter().zip(&fold.counts).find(|(_, count)| {
            mass += **count;
            mass > self.above
        });
        reached.map(|(value, _)| value).or(fold.values.last()).copied().unwrap_or(0.0)
    }
}

impl Compressed {
    /// All of them, given ascending.
    fn all((mut values, mut counts): (Vec<f64>, Vec<f64>)) -> Self {
        values.reverse();
        counts.reverse();
        Compressed { values, counts }
    }

    fn mass(&self) -> f64 {
        self.counts.iter().sum()
    }

    /// The same in at most so many blocks, finest where a share of the mass lies above.
    fn to(self, most: usize, share: f64) -> Self {
        let middle = share * self.mass();
        let mut growth = 0.01;
        let mut blocks = self.clone();
        while blocks.values.len() > most {
            blocks = self.blocks(middle, growth);
            growth *= 1.25;
        }
        blocks
    }

    /// Blocks of at most `growth` times the distance from the middle, or of one score.
    fn blocks(&self, middle: f64, growth: f64) -> Self {
        let mut out = Compressed { values: Vec::new(), counts: Vec::new() };
        let (mut mass, mut room) = (0.0, 0.0);
        for (&value, &count) in self.values.iter().zip(&self.counts) {
            match out.counts.last_mut() {
                Some(block) if *block + count <= room => *block += count,
                _ => {
                    room = growth * (middle - mass).abs();
                    out.values.push(value);
                    out.counts.push(count);
                }
            }
            mass += count;
        }
        out
    }
}

/// Larger in f32, by more than what f32 can lose elsewhere: an upper end goes up, whatever the sign of the score.
fn outwards(score: f64) -> f64 {
    let widened = score + ROUNDING * score.abs();
    let single = widened as f32;
    f64::from(if f64::from(single) < widened { single.next_up() } else { single })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution, StandardNormal};
    use stonet::Seed;

    /// The upper end of these scores at one point, by sorting.
    fn end(folds: &[Compressed], above: f64, at: &[(f64, f64)]) -> f64 {
        let one = |(f, &(m, s)): (&Compressed, &(f64, f64))| -> Vec<(f64, f64)> {
            f.values.iter().map(|r| m + r * s).zip(f.counts.iter().copied()).collect()
        };
        let mut all: Vec<(f64, f64)> = folds.iter().zip(at).flat_map(one).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut mass = 0.0;
        let found = all.iter().find(|(_, count)| {
            mass += count;
            mass > above
        });
        found.unwrap().0
    }

    /// Five folds of 4000 scores whose predictions and scales disagree by up to a good part of an interval.
    #[test]
    fn compressed_scores_never_give_a_smaller_end_and_hardly_a_larger_one() {
        let mut rng = Seed::new(8).rng();
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let signed: Vec<Vec<f64>> = (0..5).map(|_| (0..4000).map(|_| normal()).collect()).collect();
        let weights: Vec<Vec<f64>> =
            (0..5).map(|f| (0..4000).map(|i| 0.25 + ((i + f) % 4) as f64 / 8.0).collect()).collect();
        for (weights, units) in [(None, 20_000), (Some(weights), 8_750)] {
            let parts = serde_json::json!({ "signed": signed, "weights": weights, "units": units });
            let scores: Scores = serde_json::from_value(parts).unwrap();
            let sides = [Side::Both, Side::Lower, Side::Upper];
            for (level, side) in [0.3, 0.5, 0.9, 0.99].into_iter().flat_map(|l| sides.map(|s| (l, s))) {
                let level = Level::new(level).unwrap();
                let few = Ranks::new(&scores, level, side, None).unwrap();
                let all = Ranks::keeping(&scores, level, side, 4000).unwrap();
                assert!(
                    few.folds.iter().all(|f| f.values.len() <= KEPT)
                        && all.folds.iter().all(|f| f.values.len() == 4000)
                );
                let mut apart = Vec::new();
                for spread in [0.0, 0.05, 0.3] {
                    for _ in 0..30 {
                        let at: Vec<(f64, f64)> =
                            (0..5).map(|_| (spread * normal(), (spread * normal()).exp())).collect();
                        let (short, long) = (end(&few.folds, few.above, &at), end(&all.folds, all.above, &at));
                        assert!(short >= long, "{short} {long}");
                        apart.push(short - long);
                    }
                }
                // Scores are of order 1.
                let mean = apart.iter().sum::<f64>() / apart.len() as f64;
                assert!(mean < 0.005, "{level:?} {side:?}: {mean}");
            }
        }
    }

    /// −2, −1.5 twice, and 0.5 to 1 five times: of the absolute scores, the largest of each bucket counts as often as
    /// there are rows in it.
    #[test]
    fn counted_scores_decide_by_their_exact_rank() {
        let buckets = serde_json::json!([{
            "lowest": [-2.0, -1.5, 0.5, 1.0], "highest": [-2.0, -1.5, 0.5, 1.0], "counts": [1, 2, 3, 2],
        }]);
        let scores: Scores = serde_json::from_value(serde_json::json!({ "buckets": buckets, "units": 8 })).unwrap();
        // ⌈9 · level⌉ of 0.5 (3 times), 1 (2), 1.5 (2), 2.
        for (level, end) in [(0.3, 0.5), (0.34, 1.0), (0.55, 1.0), (0.56, 1.5), (0.77, 1.5), (0.8, 2.0)] {
            let ranks = Ranks::new(&scores, Level::new(level).unwrap(), Side::Both, None).unwrap();
            assert_eq!(ranks.alone(), end, "{level}");
        }
        // Signed, the bounds are those of the same ranks: ⌈9 · 0.3⌉ = 3 is −1.5 from below, and from above 0.5 with its
        // sign changed.
        let bound = |side| Ranks::new(&scores, Level::new(0.3).unwrap(), side, None).unwrap().alone();
        assert_eq!((bound(Side::Upper), bound(Side::Lower)), (-1.5, -0.5));
        assert!(Ranks::new(&scores, Level::new(0.9).unwrap(), Side::Both, None).is_err());
    }

    #[test]
    fn rounding_goes_outwards() {
        for v in [0.1, 1.0, 3.3e-7, 12345.678] {
            let rounded = outwards(v);
            assert!(rounded > v && rounded < v * (1.0 + 2.0 * ROUNDING) && rounded == f64::from(rounded as f32));
            let negative = outwards(-v);
            assert!(negative > -v && negative < -v * (1.0 - 2.0 * ROUNDING) && negative == f64::from(negative as f32));
        }
        assert_eq!(outwards(0.0), 0.0);
    }
}
