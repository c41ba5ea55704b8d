//! The ends of CV+ as a graph: ranks among μ_k + R s_k over the folds, whose scores are first compressed.
//!
//! A block of neighbouring scores is replaced by its largest, which counts as many times: no rank of the whole becomes smaller, so no interval
//! shrinks. Blocks are single scores around the rank that matters if the folds agree, and grow with the distance from it.

use stonet::anatomy::Scores;
use stonet::{Level, conformal_rank};

use crate::graph::{Graph, Tensor};
use crate::{Error, Result};

/// Scores per fold that are kept.
const KEPT: usize = 400;
/// What covers the rounding of f32 in μ, s and their sum.
const ROUNDING: f64 = 1e-5;

/// Scores of one fold, descending, and how much each counts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Compressed {
    values: Vec<f64>,
    counts: Vec<f64>,
}

/// What the upper end is among μ_k + R s_k.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ranks {
    folds: Vec<Compressed>,
    /// The end is the first, from the top, with more than this at or above it.
    above: f64,
    /// Whether every score counts once.
    plain: bool,
}

impl Ranks {
    pub(super) fn new(scores: &Scores, level: Level) -> Result<Self> {
        Self::keeping(scores, level, KEPT)
    }

    fn keeping(scores: &Scores, level: Level, kept: usize) -> Result<Self> {
        let folds: Vec<Compressed> = scores.absolute().map(|(v, w)| Compressed::all(v, w)).collect();
        let total: f64 = folds.iter().map(|f| f.counts.iter().sum::<f64>()).sum();
        let weighted = scores.grouped();
        let above = if weighted {
            // The mass that is not needed; a trifle less, since masses are summed in f32.
            (total - level.get() * (scores.units() as f64 + 1.0)) * (1.0 - 1e-4)
        } else {
            let n = total as usize;
            conformal_rank(n, level).map_or(-1.0, |rank| (n - rank) as f64)
        };
        if above < 0.0 {
            return Err(Error::NotExportable {
                what: format!("an interval at level {}", level.get()),
                why: format!(
                    "{} calibration rows or groups are too few for it, and it is the whole line",
                    scores.units()
                ),
                remedy: "choose a lower level, or calibrate on more rows",
            });
        }
        let folds: Vec<Compressed> = folds.into_iter().map(|f| f.to(kept, above / total)).collect();
        let plain = !weighted && folds.iter().all(|f| f.counts.iter().all(|&c| c == 1.0));
        Ok(Ranks { folds, above, plain })
    }

    /// The upper end at every row, where `at[k]` are the columns μ_k and s_k.
    pub(super) fn upper(&self, graph: &mut Graph, at: &[(Tensor, Tensor)]) -> Tensor {
        if let [(mean, scale)] = at {
            let half = graph.times(*scale, self.alone());
            return graph.op("Add", &[*mean, half]);
        }
        let mut parts = Vec::new();
        for (fold, (mean, scale)) in self.folds.iter().zip(at) {
            let values: Vec<f64> = fold.values.iter().map(|&v| outwards(v)).collect();
            let values = graph.row(&values);
            let spread = graph.op("Mul", &[*scale, values]);
            parts.push(graph.op("Add", &[*mean, spread]));
        }
        let all = graph.beside(&parts);
        if self.plain {
            let rank = self.above as usize;
            let k = graph.ints([rank as i64 + 1]);
            let [top, _] = graph.call("TopK", &[all, k], &[("axis", 1), ("largest", 1), ("sorted", 1)]);
            return graph.columns(top, &[rank]);
        }
        let counts: Vec<f64> = self.folds.iter().flat_map(|f| f.counts.iter().copied()).collect();
        let (size, counts) = (counts.len(), graph.floats(&[counts.len()], counts));
        let k = graph.ints([size as i64]);
        let [sorted, order] = graph.call("TopK", &[all, k], &[("axis", 1), ("largest", 1), ("sorted", 1)]);
        let [counts] = graph.call("Gather", &[counts, order], &[("axis", 0)]);
        let axis = graph.ints([1]);
        let masses = graph.op("CumSum", &[counts, axis]);
        // Counts are whole numbers unless rows are weighted, so that a half apart nothing is in doubt.
        let limit = graph.number(self.above + 0.5 * f64::from(u8::from(self.above.fract() == 0.0)));
        let over = graph.op("Less", &[masses, limit]);
        let [over] = graph.call("Cast", &[over], &[("to", crate::tensor::FLOAT)]);
        let place = graph.row_sums(over, size);
        let [place] = graph.call("Cast", &[place], &[("to", crate::tensor::INT64)]);
        let [end] = graph.call("GatherElements", &[sorted, place], &[("axis", 1)]);
        end
    }

    /// The score that decides where there is one fold.
    fn alone(&self) -> f64 {
        let fold = &self.folds[0];
        let mut mass = 0.0;
        for (value, count) in fold.values.iter().zip(&fold.counts) {
            mass += count;
            if mass > self.above {
                return *value;
            }
        }
        fold.values.last().copied().unwrap_or(0.0)
    }
}

impl Compressed {
    fn all(ascending: &[f64], weights: Option<&[f64]>) -> Self {
        let counts = match weights {
            Some(w) => w.iter().rev().copied().collect(),
            None => vec![1.0; ascending.len()],
        };
        Compressed { values: ascending.iter().rev().copied().collect(), counts }
    }

    /// The same in at most so many blocks, finest where a share of the mass lies above.
    fn to(self, most: usize, share: f64) -> Self {
        let middle = share * self.counts.iter().sum::<f64>();
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

/// No smaller in f32, by more than what f32 can lose elsewhere.
fn outwards(score: f64) -> f64 {
    let widened = score * (1.0 + ROUNDING);
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
            for level in [0.5, 0.9, 0.99] {
                let level = Level::new(level).unwrap();
                let (few, all) = (Ranks::new(&scores, level).unwrap(), Ranks::keeping(&scores, level, 4000).unwrap());
                assert!(
                    few.folds.iter().all(|f| f.values.len() <= KEPT)
                        && all.folds.iter().all(|f| f.values.len() == 4000)
                );
                let (mut sum, mut exact) = (0.0, 0.0);
                for spread in [0.0, 0.05, 0.3] {
                    for _ in 0..30 {
                        let at: Vec<(f64, f64)> =
                            (0..5).map(|_| (spread * normal(), (spread * normal()).exp())).collect();
                        let (short, long) = (end(&few.folds, few.above, &at), end(&all.folds, all.above, &at));
                        assert!(short >= long, "{short} {long}");
                        sum += short;
                        exact += long;
                    }
                }
                assert!(sum / exact < 1.005, "{level:?}: {}", sum / exact);
            }
        }
    }

    /// −2, −1.5 twice, and 0.5 to 1 five times: of the absolute scores, the largest of each bucket counts as often as there are rows in it.
    #[test]
    fn counted_scores_decide_by_their_exact_rank() {
        let buckets = serde_json::json!([{
            "lowest": [-2.0, -1.5, 0.5, 1.0], "highest": [-2.0, -1.5, 0.5, 1.0], "counts": [1, 2, 3, 2],
        }]);
        let scores: Scores = serde_json::from_value(serde_json::json!({ "buckets": buckets, "units": 8 })).unwrap();
        // ⌈9 · level⌉ of 0.5 (3 times), 1 (2), 1.5 (2), 2.
        for (level, end) in [(0.3, 0.5), (0.34, 1.0), (0.55, 1.0), (0.56, 1.5), (0.77, 1.5), (0.8, 2.0)] {
            let ranks = Ranks::new(&scores, Level::new(level).unwrap()).unwrap();
            assert_eq!(ranks.alone(), end, "{level}");
        }
        assert!(Ranks::new(&scores, Level::new(0.9).unwrap()).is_err());
    }

    #[test]
    fn rounding_goes_outwards() {
        for v in [0.1, 1.0, 3.3e-7, 12345.678] {
            let rounded = outwards(v);
            assert!(rounded > v && rounded < v * (1.0 + 2.0 * ROUNDING) && rounded == f64::from(rounded as f32));
        }
        assert_eq!(outwards(0.0), 0.0);
    }
}
