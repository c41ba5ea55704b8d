//! Prediction sets as a graph: the scores of a row's classes by rank, and how many held-out scores lie below each.
//!
//! Held-out scores are raised by what single precision may cost, so that no class is lost by rounding: a set of the graph
//! holds at most such classes more whose score lies that close behind the cut.

use stonet::Level;
use stonet::conformal::{LabelPart, RowScore, SetScores};
use stonet::score::{Node, Op};

use super::lowering::Lowering;
use crate::graph::{Graph, Tensor};
use crate::tensor::{FLOAT, INT64};
use crate::{Error, Result};

/// What covers the rounding of f32 in a score, as a part of 1 + score.
const ROUNDING: f64 = 2e-6;
/// Numbers of classes up to this are exact in f32.
const EXACT: usize = 1 << 24;

impl Lowering<'_> {
    /// The score of every class.
    pub(super) fn conformity(&mut self, of: Node, score: RowScore) -> Result<Tensor> {
        let (p, classes) = (self.value(of)?, self.width(of));
        let graph = &mut self.graph;
        let ranked = |g: &mut Graph, add: &dyn Fn(usize) -> f64| {
            let values: Vec<f64> = (0..classes).map(add).collect();
            g.row(&values)
        };
        let (sorted, places) = match score {
            RowScore::Lac => {
                let turned = graph.times(p, -1.0);
                return Ok(graph.plus(turned, 1.0));
            }
            _ => graph.ranked(p, classes),
        };
        let by_rank = match score {
            RowScore::Aps { part } => graph.sums_with(sorted, part)?,
            RowScore::Raps { part, weight, free } => {
                let sums = graph.sums_with(sorted, part)?;
                let added = ranked(graph, &|place| weight * (place + 1).saturating_sub(free) as f64);
                graph.op("Add", &[sums, added])
            }
            RowScore::Saps { part: LabelPart::Whole, weight } => {
                let top = graph.columns(sorted, &[0]);
                let added = ranked(graph, &|place| weight * place as f64);
                graph.op("Add", &[top, added])
            }
            RowScore::Saps { part: LabelPart::None, weight } => {
                let top = graph.columns(sorted, &[0]);
                // Nothing for the first class, the largest probability and λ per rank for the others.
                let counts = ranked(graph, &|place| if place == 0 { 0.0 } else { 1.0 });
                let top = graph.op("Mul", &[top, counts]);
                let added = ranked(graph, &|place| weight * place.saturating_sub(1) as f64);
                graph.op("Add", &[top, added])
            }
            _ => return Err(random()),
        };
        let [scores] = graph.call("GatherElements", &[by_rank, places], &[("axis", 1)]);
        Ok(scores)
    }

    /// 1 where a class is in the set, and 0 elsewhere.
    pub(super) fn members(
        &mut self,
        folds: &[Node],
        top: Option<Node>,
        scores: &SetScores,
        level: Level,
    ) -> Result<Tensor> {
        let (classes, ranks) = (scores.classes(), scores.ranks(level));
        if classes > EXACT || scores.rows() > EXACT {
            return Err(Error::NotExportable {
                what: format!("prediction sets of {classes} classes and {} calibration rows", scores.rows()),
                why: "single precision cannot count so many".into(),
                remedy: "predict with `stonet predict` or the Python package",
            });
        }
        let inside = match folds {
            _ if ranks.iter().all(|r| *r == usize::MAX) => self.constant(&vec![1.0; classes]),
            [fold] => {
                let threshold = |class: usize| {
                    let group = scores.groups()[class];
                    let found = ranks[group].checked_sub(1).and_then(|r| scores.held(0, group).get(r));
                    found.map_or(f64::from(f32::MAX), |s| raised(*s))
                };
                let thresholds: Vec<f64> = (0..classes).map(threshold).collect();
                let score = self.value(*fold)?;
                let thresholds = self.graph.row(&thresholds);
                self.graph.less(score, thresholds)
            }
            _ => {
                let mut total = None;
                for (number, fold) in folds.iter().enumerate() {
                    let score = self.value(*fold)?;
                    let below = self.graph.count_below(score, scores.held(number, 0));
                    total = Some(total.map_or(below, |t| self.graph.op("Add", &[t, below])));
                }
                let total = total.unwrap_or_else(|| self.constant(&vec![0.0; classes]));
                // A half between whole numbers leaves nothing in doubt.
                let rank = self.graph.number(ranks[0] as f64 - 0.5);
                self.graph.less(total, rank)
            }
        };
        let Some(Op::Top { of }) = top.map(|top| self.op(top)) else { return Ok(inside) };
        let p = self.value(*of)?;
        let graph = &mut self.graph;
        let [class] = graph.call("ArgMax", &[p], &[("axis", 1), ("keepdims", 1)]);
        let [class] = graph.call("Cast", &[class], &[("to", FLOAT)]);
        let numbers: Vec<f64> = (0..classes).map(|k| k as f64).collect();
        let numbers = graph.row(&numbers);
        let apart = graph.op("Sub", &[numbers, class]);
        let apart = graph.op("Abs", &[apart]);
        let half = graph.number(0.5);
        let guess = graph.less(apart, half);
        Ok(graph.op("Max", &[inside, guess]))
    }
}

/// A little more than a number, so that rounding cannot lift what is equal to it beyond.
pub(super) fn raised(score: f64) -> f64 {
    score + ROUNDING * (1.0 + score.abs())
}

/// A little less than a number.
pub(super) fn lowered(score: f64) -> f64 {
    -raised(-score)
}

fn random() -> Error {
    Error::NotExportable {
        what: "prediction sets that are drawn at random".into(),
        why: "a graph says the same of the same row".into(),
        remedy: "fit with a score that is not randomised",
    }
}

impl Graph {
    /// The columns of every row in descending order, the first of equals first, and the place of every column there.
    fn ranked(&mut self, p: Tensor, columns: usize) -> (Tensor, Tensor) {
        let k = self.ints([columns as i64]);
        let [sorted, order] = self.call("TopK", &[p, k], &[("axis", 1), ("largest", 1), ("sorted", 1)]);
        let [order] = self.call("Cast", &[order], &[("to", FLOAT)]);
        let [_, places] = self.call("TopK", &[order, k], &[("axis", 1), ("largest", 0), ("sorted", 1)]);
        (sorted, places)
    }

    /// Running sums, with or without the last summand.
    fn sums_with(&mut self, x: Tensor, part: LabelPart) -> Result<Tensor> {
        let axis = self.ints([1]);
        let sums = self.op("CumSum", &[x, axis]);
        match part {
            LabelPart::Whole => Ok(sums),
            LabelPart::None => Ok(self.op("Sub", &[sums, x])),
            LabelPart::Random => Err(random()),
        }
    }

    /// 1 where a is below b, and 0 elsewhere.
    pub(super) fn less(&mut self, a: Tensor, b: Tensor) -> Tensor {
        let less = self.op("Less", &[a, b]);
        let [number] = self.call("Cast", &[less], &[("to", FLOAT)]);
        number
    }

    /// How many of these ascending numbers, raised, lie below each entry: by halving.
    fn count_below(&mut self, x: Tensor, sorted: &[f64]) -> Tensor {
        let slots = (sorted.len() + 1).next_power_of_two();
        // No score reaches what stands behind the last one.
        let padded = sorted.iter().map(|s| raised(*s)).chain(std::iter::repeat(f64::from(f32::MAX))).take(slots);
        let list = self.floats(&[slots], padded);
        let zero = self.times(x, 0.0);
        let [mut place] = self.call("Cast", &[zero], &[("to", INT64)]);
        let mut step = slots / 2;
        while step > 0 {
            let last = self.ints([step as i64 - 1]);
            let next = self.op("Add", &[place, last]);
            let [entry] = self.call("Gather", &[list, next], &[("axis", 0)]);
            let reached = self.op("Greater", &[x, entry]);
            let [reached] = self.call("Cast", &[reached], &[("to", INT64)]);
            let number = self.ints([step as i64]);
            let steps = self.op("Mul", &[reached, number]);
            place = self.op("Add", &[place, steps]);
            step /= 2;
        }
        let [count] = self.call("Cast", &[place], &[("to", FLOAT)]);
        count
    }
}
