//! Whether a row is answered: its surety against a threshold, as the last operations of a plan.

use std::sync::Arc;

use super::op::{BinBounds, Op};
use super::{Builder, Clamp, Node, Quantity, Scorer};
use crate::rows::Level;

/// How sure a head is of its answer for a row; more is surer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Surety {
    /// The largest probability.
    Largest,
    /// The probability of a class, by its number.
    Class(usize),
    /// The length of the interval at this level, with a minus sign.
    Shortness(Level),
}

/// Answer a row if its surety reaches a threshold, and abstain otherwise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    /// How sure a head is of a row.
    pub surety: Surety,
    /// The least surety that is answered; none where every row is.
    pub threshold: Option<f64>,
    /// What becomes of rows that single precision cannot tell from the threshold, in a graph of ONNX operators.
    pub answer_in_doubt: bool,
}

impl Decision {
    /// Whether a row of this surety is answered.
    pub fn answers(&self, surety: f64) -> bool {
        self.threshold.is_none_or(|t| surety >= t)
    }
}

/// Which rows are answered, by the columns of a scorer that decides.
pub(crate) fn decided(scorer: &Scorer, columns: Vec<Vec<f64>>) -> Vec<bool> {
    let place = scorer.outputs().iter().position(|o| o.quantity == Quantity::Decision);
    let column = place.and_then(|place| columns.into_iter().nth(place)).unwrap_or_default();
    column.into_iter().map(|v| v == 1.0).collect()
}

impl Builder {
    /// The decision by class probabilities, as an output.
    pub(crate) fn decide_by_probability(&mut self, p: Node, decision: &Decision) {
        let surety = match decision.surety {
            Surety::Class(class) => self.pick(p, [class]),
            _ => self.wide(Op::Largest { of: p }, 1),
        };
        self.decide(surety, decision, 1.0);
    }

    /// The decision by the length between two ends, each a column of a value, as an output.
    pub(crate) fn decide_by_length(&mut self, ends: [(Node, usize); 2], decision: &Decision) {
        // Ends as they come out, so that the length is the one that a user sees.
        let [lower, upper] = ends.map(|(node, column)| match self.range() {
            Some((low, high)) => self.clamp(node, vec![Clamp::within(column, low, high)], false),
            None => self.pick(node, [column]),
        });
        let surety = self.sum(vec![(1.0, lower), (-1.0, upper)], 0.0);
        // A power of two changes no digit. Lengths near the threshold are then of the order of 1, where single precision
        // has its digits, and infinite ones can be cut.
        let size =
            decision.threshold.filter(|t| *t != 0.0).map_or(0.0, |t| t.abs().log2().floor().clamp(-1000.0, 1000.0));
        let factor = (-size).exp2();
        let surety = self.sum(vec![(factor, surety)], 0.0);
        let surety = self.clamp(surety, vec![Clamp::within(0, -4.0, 0.0)], false);
        self.decide(surety, decision, factor);
    }

    /// 1 where the surety reaches the threshold times a factor, and 0 elsewhere.
    fn decide(&mut self, surety: Node, decision: &Decision, factor: f64) {
        let Some(threshold) = decision.threshold else {
            let every = self.constant(surety, &[1.0]);
            return self.output(Quantity::Decision, every, 0, true);
        };
        // A bin holds its upper end, and the threshold itself is answered.
        let bounds =
            BinBounds { ends: vec![(threshold * factor).next_down()], lower: vec![0.0, 1.0], upper: vec![0.0, 1.0] };
        let both = self.wide(Op::BinBounds { of: surety, bounds: Arc::new(bounds) }, 2);
        self.output(Quantity::Decision, both, usize::from(decision.answer_in_doubt), true);
    }
}
