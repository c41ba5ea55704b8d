//! The choice of a threshold: Learn then Test where the risk is not monotone, and an exact bound or conformal risk control
//! where it is.
//!
//! **Not monotone** (Angelopoulos et al. 2021, Learn then Test). A random fifth of the rows gives the thresholds, its
//! distinct sureties, and the one to [start](super::start) from. On the other rows thresholds are tested from there towards looser ones,
//! each at 1 − confidence, until the first that fails; the last that passed is the rule. The sequence does not depend on
//! the rows that test, so that a threshold whose risk exceeds e is accepted with a probability of at most 1 − confidence:
//! the first such threshold in the sequence has to pass its own test. Thresholds from the rows that test would not do: given
//! their order statistics the errors above one of them are no longer binomial with its risk.
//!
//! **Monotone.** The threshold that keeps the limit on all rows and goes furthest: the loosest for `wrong`, the strictest for
//! `recall`. No correction for the number of thresholds is needed (Bates et al. 2021; Angelopoulos et al. 2022, conformal
//! risk control). Let t* be the threshold at which the true risk crosses e. A rule that exceeds e lies beyond t*, and then
//! the counts at t* keep the limit too, as they only fall on the way back; that happens with a probability of at most
//! 1 − confidence, since t* does not depend on the rows. For `recall` with j − 1 missed rows the threshold is the j-th
//! smallest surety of the class, below which the class has a share that is stochastically at most Beta(j, n + 1 − j): its
//! tail is the binomial test, and its mean j / (n + 1) is what conformal risk control compares. Ties only lower the share.

use super::Control;
use super::count::{Count, Limit, Ordered};
use super::evidence::Evidence;
use super::start::sequence;
use crate::base::streams::control::ORDER;
use crate::base::{Result, Seed};
use crate::rows::{complement, divided};

/// The most thresholds that are tested.
const THRESHOLDS: usize = 200;

/// The share of rows that orders the thresholds.
const ORDERING: f64 = 0.2;

/// A threshold, and what became of it.
pub(super) struct Choice {
    /// The rows that ordered thresholds.
    pub ordering: usize,
    /// The rows that were counted.
    pub counted: Ordered,
    /// The threshold that was accepted; none answers every row.
    pub accepted: Option<Option<f64>>,
    /// The threshold that was refused first, where none was accepted.
    pub refused: Option<Option<f64>>,
}

impl Control {
    /// The threshold for this evidence, if there is one that answers a row.
    pub(super) fn choose(&self, evidence: &Evidence) -> Result<Choice> {
        let limit = Limit::new(&self.want, self.confidence);
        let choice = match self.want.measure().is_monotone() {
            true => furthest(evidence, &limit),
            false => learn_then_test(evidence, &limit, Seed::new(self.seed))?,
        };
        // A rule that answers no row keeps most wishes and is of no use.
        let idle = choice.accepted.filter(|t| choice.counted.at(*t).answered == 0);
        Ok(match idle {
            Some(threshold) => Choice { accepted: None, refused: Some(threshold), ..choice },
            None => choice,
        })
    }
}

/// The threshold that goes furthest among those that keep a limit on a monotone risk.
fn furthest(evidence: &Evidence, limit: &Limit) -> Choice {
    let counted = Ordered::new(evidence, (0..evidence.rows()).collect());
    let misses = evidence.want.measure().misses();
    let of = if misses { counted.marked() } else { counted.rows() };
    let accepted = limit.most_errors(of).map(|errors| match misses {
        // One more missed row would be too many: it is answered.
        true => Some(counted.marked_at(errors.min(of - 1))),
        // One more wrong row would be too many: the threshold lies above it.
        false => counted.marked().checked_sub(errors + 1).map(|i| counted.marked_at(i).next_up()),
    });
    let accepted = accepted.map(|t| t.filter(|t| t.is_finite()));
    Choice { ordering: 0, refused: accepted.is_none().then_some(None), counted, accepted }
}

/// The last threshold of a fixed sequence that passes its test.
fn learn_then_test(evidence: &Evidence, limit: &Limit, seed: Seed) -> Result<Choice> {
    let ordering = divided(evidence.rows(), ORDERING, seed.child(ORDER));
    let counted = Ordered::new(evidence, complement(evidence.rows(), &ordering));
    let ordering = Ordered::new(evidence, ordering);
    let sequence = sequence(&ordering, THRESHOLDS, counted.rows(), evidence.surety, limit);
    let passes = |t: &&Option<f64>| {
        let Count { of, errors, .. } = counted.at(**t);
        limit.keeps(errors, of)
    };
    let accepted = sequence.iter().take_while(passes).last().copied();
    let refused = accepted.is_none().then(|| sequence.first().copied().flatten());
    Ok(Choice { ordering: ordering.rows(), counted, accepted, refused })
}
