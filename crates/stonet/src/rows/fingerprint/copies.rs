//! Rows that are copies of other rows, told from rows that are equal because few values are possible.

use std::collections::HashSet;

use super::percent;
use super::sketch::FingerprintCounts;

/// Fewer rows than this share may repeat.
const LIMIT: f64 = 0.01;
/// Standard deviations that counts are allowed.
const MARGIN: f64 = 4.0;
/// The upper bound of a count of 0 (Poisson, e⁻⁸).
const NONE: f64 = 8.0;

/// Calibration rows that are copies of others. A copy on the other side of a split or fold is predicted by heart, so
/// that intervals get too short: the rows are not exchangeable with new ones, and no guarantee holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Copies {
    /// Rows that were looked at: all, or a sample of very many.
    pub rows: u64,
    /// Those that have an equal one among them: the same inputs and the same target.
    pub repeated: u64,
}

impl Copies {
    /// More than 1 % of the rows repeat, and either inputs and target are continuous, or the rows repeat as independent
    /// rows cannot.
    ///
    /// `times[k]` is how many distinct rows come k times, up to some k.
    pub(super) fn find(counts: &FingerprintCounts, times: &[u64], rows: &[u64], parts: &[Vec<u64>]) -> Option<Self> {
        let found = Copies { rows: counts.sampled, repeated: counts.repeated };
        let many = found.repeated as f64 > LIMIT * found.rows as f64;
        (many && (continuous(rows, parts) || not_independent(times))).then_some(found)
    }

    /// What is wrong; the remedy is the caller's.
    pub fn text(&self) -> String {
        let Copies { rows, repeated } = *self;
        format!(
            "{repeated} of {rows} calibration rows ({}) have a copy among the others, with the same inputs and the same target: \
             a row that is predicted from its own copy makes the result look better than it is",
            percent(repeated as f64 / rows as f64)
        )
    }
}

/// Whether distinct rows mostly have distinct inputs and distinct targets, and are many; then equal rows are no
/// coincidence.
fn continuous(rows: &[u64], parts: &[Vec<u64>]) -> bool {
    let distinct = |hashes: &[u64]| hashes.iter().collect::<HashSet<_>>().len();
    let (all, different) = (rows.len(), distinct(rows));
    !parts.is_empty() && 3 * different >= all && parts.iter().all(|part| 2 * distinct(part) >= different)
}

/// Whether the numbers of rows that come 1, 2, 3, … times contradict independent rows.
///
/// The number of times that a possible row comes is Poisson with its own mean λ, so k!·E N_k = Σ λᵏ e^−λ, which is
/// log-convex in k whatever the means are: k/(k + 1)·(E N_k)² ≤ E N_{k−1}·E N_{k+1}. With every row twice N_2 is large,
/// and N_1 and N_3 are 0.
fn not_independent(times: &[u64]) -> bool {
    let count = |k: usize| times[k] as f64;
    let low = |n: f64| (n - MARGIN * n.sqrt()).max(0.0);
    let high = |n: f64| n + MARGIN * n.sqrt() + NONE;
    (2..times.len().saturating_sub(1)).any(|k| {
        let ratio = k as f64 / (k + 1) as f64;
        ratio * low(count(k)).powi(2) > high(count(k - 1)) * high(count(k + 1))
    })
}
