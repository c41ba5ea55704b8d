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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::tests::{run, table};
    use crate::score::{Plan, Port};

    fn rule(surety: Surety, threshold: impl Into<Option<f64>>) -> Decision {
        Decision { surety, threshold: threshold.into(), answer_in_doubt: false }
    }

    fn length(threshold: impl Into<Option<f64>>) -> Decision {
        rule(Surety::Shortness(Level::new(0.9).unwrap()), threshold)
    }

    /// Which rows are answered, each by two probabilities, or by two ends where the rule is about a length.
    fn answered(range: Option<(f64, f64)>, decision: &Decision, rows: &[[f64; 2]]) -> Vec<bool> {
        let mut plan = Builder::within(range);
        let x = plan.port(Port::Features, 2);
        plan.output(Quantity::Prediction { target: 0 }, x, 0, true);
        match decision.surety {
            Surety::Shortness(_) => plan.decide_by_length([(x, 0), (x, 1)], decision),
            _ => plan.decide_by_probability(x, decision),
        }
        let scorer = Scorer::new(plan.finish());
        let columns = run(&scorer, table(rows.iter().copied()).view()).unwrap();
        decided(&scorer, columns)
    }

    #[test]
    fn a_surety_that_reaches_the_threshold_is_answered() {
        let decision = rule(Surety::Largest, 0.75);
        assert_eq!([0.7, 0.75, 0.8].map(|s| decision.answers(s)), [false, true, true]);
        assert!(rule(Surety::Largest, None).answers(f64::NEG_INFINITY));
    }

    #[test]
    fn rows_are_answered_by_the_largest_probability_or_by_that_of_a_class() {
        let rows = [[0.75, 0.25], [0.25, 0.75], [0.74, 0.26], [0.1, 0.9]];
        assert_eq!(answered(None, &rule(Surety::Largest, 0.75), &rows), [true, true, false, true]);
        assert_eq!(answered(None, &rule(Surety::Class(0), 0.75), &rows), [true, false, false, false]);
        assert_eq!(answered(None, &rule(Surety::Class(1), 0.75), &rows), [false, true, false, true]);
        assert_eq!(answered(None, &rule(Surety::Class(1), None), &rows), [true; 4]);
    }

    #[test]
    fn rows_are_answered_by_lengths_of_any_size() {
        // Powers of two, so that lengths are exact: just as long as is allowed, a little longer, much longer.
        for unit in [1.0f64, 3.0, 1e-300, 1e-3, 1e6, 1e300] {
            let (short, just, longer) = (0.5 * unit, unit, unit.next_up());
            let rows = [[0.0, short], [-just, 0.0], [0.0, longer], [0.0, 2.0 * unit], [0.0, 100.0 * unit]];
            assert_eq!(answered(None, &length(-unit), &rows), [true, true, false, false, false], "{unit}");
            assert_eq!(answered(None, &length(None), &rows), [true; 5]);
        }
        assert_eq!(answered(None, &length(0.0), &[[1.5, 1.5], [1.5, 1.5f64.next_up()]]), [true, false]);
    }

    #[test]
    fn the_length_is_that_of_the_interval_within_the_range() {
        let rows = [[-3.0, 2.0], [-3.0, 2.5], [1.0, 9.0], [0.0, 4.0]];
        assert_eq!(answered(None, &length(-2.0), &rows), [false; 4]);
        // From 0 to 2, from 0 to 2.5, from 1 to 3, and from 0 to 3.
        assert_eq!(answered(Some((0.0, 3.0)), &length(-2.0), &rows), [true, false, true, false]);
    }

    #[test]
    fn nobody_is_answered_by_a_plan_without_a_decision() {
        let mut plan = Builder::default();
        let x = plan.port(Port::Features, 1);
        plan.output(Quantity::Prediction { target: 0 }, x, 0, true);
        assert_eq!(decided(&Scorer::new(plan.finish()), vec![vec![1.0]]), [false; 0]);
    }

    #[test]
    fn rows_in_doubt_are_a_column_of_their_own() {
        let decides = |answer_in_doubt: bool| -> Plan {
            let mut plan = Builder::default();
            let x = plan.port(Port::Features, 2);
            plan.decide_by_probability(x, &Decision { answer_in_doubt, ..rule(Surety::Largest, 0.5) });
            plan.finish()
        };
        assert_eq!([false, true].map(|doubt| decides(doubt).outputs()[0].column), [0, 1]);
    }
}
