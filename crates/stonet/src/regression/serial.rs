//! Whether held-out scores of neighbouring rows are alike: then rows come in an order, and folds that are drawn at random
//! void the guarantee.
//!
//! Random folds do not know the order of the rows. So if rows are independent, the scores in the order of the rows are
//! exchangeable, and the products of the ranks of neighbours have a mean and a variance that are known exactly.

use serde::Serialize;

use crate::base::normal;

/// Probability of a warning for independent rows, over all targets and both statistics.
const LEVEL: f64 = 1e-4;
/// Fewer scores say nothing at such a level.
const LEAST: usize = 40;

/// How alike the held-out scores of neighbouring rows are, in standard deviations of what chance gives.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SerialTest {
    /// Scores that were compared.
    pub rows: usize,
    /// Rank correlation of neighbouring scores.
    pub correlation: f64,
    /// Its distance from what independent rows have, in standard deviations.
    pub z: f64,
    /// Whether it is about the sizes of the scores, and not about the scores with their signs.
    pub sizes: bool,
}

impl SerialTest {
    /// The stronger of two statistics of scores in the order of their rows: with their signs, and of their sizes.
    pub(crate) fn of(scores: &[f64]) -> Option<Self> {
        if scores.len() < LEAST {
            return None;
        }
        let one = |sizes: bool| {
            let values = scores.iter().map(|s| if sizes { s.abs() } else { *s }).collect::<Vec<_>>();
            let (correlation, z) = neighbours(&ranks(&values))?;
            Some(SerialTest { rows: scores.len(), correlation, z, sizes })
        };
        [one(false), one(true)].into_iter().flatten().max_by(|a, b| a.z.abs().total_cmp(&b.z.abs()))
    }

    /// Whether independent rows would show this with probability below 10⁻⁴, where there are so many targets.
    pub fn is_ordered(&self, targets: usize) -> bool {
        // Two sides, two statistics.
        self.z.abs() > normal::upper_quantile(LEVEL / (4 * targets.max(1)) as f64)
    }

    /// In words; `time` and `groups` are what the caller calls the two remedies.
    pub fn text(&self, time: &str, groups: &str) -> String {
        let what = if self.sizes { "sizes of held-out errors" } else { "held-out errors" };
        format!(
            "{what} of neighbouring rows are alike (rank correlation {:.2} over {} rows; independent rows would show this in fewer than 1 of 10,000 fits): \
             the rows look ordered, and folds of randomly drawn rows void the guarantee; declare the order with {time}, or keep rows that belong together with \
             {groups}. If rows are independent and were merely sorted by a column, shuffle them",
            self.correlation, self.rows
        )
    }
}

/// A test that a fit made; it is no part of the fitted value, and files do not keep it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Noticed(pub Option<SerialTest>);

impl PartialEq for Noticed {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Ranks less their mean; equal values share the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let (mut ranks, middle) = (vec![0.0; values.len()], (values.len() as f64 - 1.0) / 2.0);
    for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
        // Chunks follow each other, so the first of a chunk has as many in front of it as are ranked below.
        let below = order.partition_point(|&i| values[i] < values[tied[0]]) as f64;
        tied.iter().for_each(|&i| ranks[i] = below + (tied.len() as f64 - 1.0) / 2.0 - middle);
    }
    ranks
}

/// The correlation of neighbours, and T = Σ aᵢaᵢ₊₁ in standard deviations from its mean over all orders of the a, which sum
/// to 0: E T = −S₂/n and
/// E T² = (S₂² − S₄)/n + 2(2S₄ − S₂²)/(n(n−1)) + (3S₂² − 6S₄)/(n(n−1)), where Sₖ = Σ aᵢᵏ.
fn neighbours(a: &[f64]) -> Option<(f64, f64)> {
    let n = a.len() as f64;
    let power = |k: i32| a.iter().map(|v| v.powi(k)).sum::<f64>();
    let (s2, s4) = (power(2), power(4));
    let t: f64 = a.windows(2).map(|w| w[0] * w[1]).sum();
    let square = (s2 * s2 - s4) / n + (s2 * s2 - 2.0 * s4) / (n * (n - 1.0));
    let (mean, variance) = (-s2 / n, square - (s2 / n).powi(2));
    (variance > 0.0).then(|| (t / s2, (t - mean) / variance.sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Seed, binomial};
    use rand::RngExt;
    use rand::seq::SliceRandom;
    use rand_distr::{Distribution, StandardNormal};

    /// All orders of five numbers, by hand.
    #[test]
    fn mean_and_variance_are_those_over_all_orders() {
        let a = [-2.0, -1.0, 0.5, 0.5, 2.0];
        let mut all = Vec::new();
        let mut order = [0, 1, 2, 3, 4];
        fn orders(order: &mut [usize; 5], from: usize, see: &mut dyn FnMut(&[usize; 5])) {
            if from == 5 {
                return see(order);
            }
            for i in from..5 {
                order.swap(from, i);
                orders(order, from + 1, see);
                order.swap(from, i);
            }
        }
        orders(&mut order, 0, &mut |o| {
            let values: Vec<f64> = o.iter().map(|&i| a[i]).collect();
            let t: f64 = values.windows(2).map(|w| w[0] * w[1]).sum();
            all.push((t, neighbours(&values).unwrap().1));
        });
        assert_eq!(all.len(), 120);
        let mean = all.iter().map(|v| v.0).sum::<f64>() / 120.0;
        let sd = (all.iter().map(|v| (v.0 - mean).powi(2)).sum::<f64>() / 120.0).sqrt();
        assert!(all.iter().all(|(t, z)| ((t - mean) / sd - z).abs() < 1e-9));
    }

    #[test]
    fn equal_values_share_their_ranks() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [1.0, -1.5, 1.0, -0.5]);
        assert_eq!(neighbours(&ranks(&[1.0; 50])), None);
        assert_eq!(SerialTest::of(&[1.0; 30]), None);
    }

    /// 20,000 series of independent scores, heavy-tailed and tied ones among them: |z| exceeds the 1 % point as often as it
    /// should (two statistics are looked at, so at most twice as often), and a warning is given by at most a few.
    #[test]
    fn independent_scores_hardly_ever_look_ordered() {
        const SERIES: usize = 20_000;
        let mut rng = Seed::new(8).rng();
        let (mut beyond, mut warned) = (0, 0);
        for series in 0..SERIES {
            let n = [40, 100, 500][series % 3];
            let scores: Vec<f64> = (0..n)
                .map(|_| {
                    let z: f64 = StandardNormal.sample(&mut rng);
                    [z, z * z * z, (2.0 * z).round()][series % 3]
                })
                .collect();
            let test = SerialTest::of(&scores).unwrap();
            beyond += usize::from(test.z.abs() > normal::upper_quantile(0.0025));
            warned += usize::from(test.is_ordered(1));
        }
        // One-sided binomial tests at 10⁻⁴ against 1 % (Bonferroni over two statistics) and 10⁻⁴.
        assert!(binomial::binomial_upper_tail(beyond, SERIES, 0.01) > 1e-4, "{beyond}");
        // Not far below either: the statistics are not conservative beyond what they share.
        assert!(beyond > SERIES / 400, "{beyond}");
        assert!(binomial::binomial_upper_tail(warned, SERIES, 1e-4) > 1e-4, "{warned}");
    }

    #[test]
    fn series_look_ordered_and_shuffled_ones_do_not() {
        let mut rng = Seed::new(9).rng();
        let mut last = 0.0;
        let mut series: Vec<f64> = (0..400)
            .map(|_| {
                let z: f64 = StandardNormal.sample(&mut rng);
                last = 0.5 * last + z;
                last
            })
            .collect();
        let found = SerialTest::of(&series).unwrap();
        assert!(found.is_ordered(3) && !found.sizes && (found.correlation - 0.5).abs() < 0.15, "{found:?}");
        // Spread that comes in waves, with signs at random.
        let waves: Vec<f64> = (0..600)
            .map(|i| (1.1 + (f64::from(i) * 0.05).sin()) * if rng.random::<bool>() { 1.0 } else { -1.0 })
            .collect();
        let found = SerialTest::of(&waves).unwrap();
        assert!(found.is_ordered(1) && found.sizes, "{found:?}");
        series.shuffle(&mut rng);
        assert!(!SerialTest::of(&series).unwrap().is_ordered(1));
        assert!(found.text("--time", "--groups").contains("--time"));
    }
}
