//! Isotonic calibration as a graph: every probability through its own map, and rows divided by their sums.
//!
//! The segment of a map that an argument lies in is found by halving, in tensors of rows × classes: memory does not
//! grow with the knots. Above ½ a map reads minus the sum of the other classes instead of the probability, since f32
//! has hardly any numbers just below 1 and many just below 0.

use stonet::score::{Knots, Node, Op};

use super::lowering::Lowering;
use crate::Result;
use crate::graph::{Graph, Tensor};
use crate::tensor::INT64;

/// Where a map changes from its argument to the argument less 1.
const MIDDLE: f64 = 0.5;

/// A part of a map: it rises from `y` by `rise` over `width`, and is constant beyond.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Segment {
    /// The argument at which it begins, less 1 above the middle.
    start: f64,
    width: f64,
    y: f64,
    rise: f64,
}

/// The segments of all maps below the middle, then those above it, `slots` each.
#[derive(Debug, Clone, PartialEq)]
struct Maps {
    classes: usize,
    /// A power of two.
    slots: usize,
    segments: Vec<Segment>,
}

impl Lowering<'_> {
    /// Every column through its own map.
    pub(super) fn interpolate(&mut self, of: Node, maps: &[Knots]) -> Result<Tensor> {
        let p = self.value(of)?;
        let sums_to_one = matches!(self.op(of), Op::Softmax { .. });
        let rest = if sums_to_one { self.graph.others(p) } else { self.graph.one_less(p) };
        Ok(Maps::new(maps).at(&mut self.graph, p, rest))
    }

    /// Columns at least `least` and divided by their sum; a row of zeros is taken from `otherwise` first.
    pub(super) fn normalise(&mut self, of: Node, otherwise: Node, least: f64) -> Result<Tensor> {
        let (k, y, otherwise) = (self.width(of), self.value(of)?, self.value(otherwise)?);
        let graph = &mut self.graph;
        let (size, zero) = (graph.op("Abs", &[y]), graph.number(0.0));
        let size = graph.row_sums(size, k);
        let known = graph.op("Greater", &[size, zero]);
        let kept = graph.op("Where", &[known, y, otherwise]);
        let least = graph.number(least);
        let raised = graph.op("Max", &[kept, least]);
        let sum = graph.row_sums(raised, k);
        Ok(graph.op("Div", &[raised, sum]))
    }
}

impl Graph {
    /// The sum of all other columns, without a difference of near numbers.
    fn others(&mut self, p: Tensor) -> Tensor {
        let axis = self.ints([1]);
        let [before] = self.call("CumSum", &[p, axis], &[("exclusive", 1)]);
        let [behind] = self.call("CumSum", &[p, axis], &[("exclusive", 1), ("reverse", 1)]);
        self.op("Add", &[before, behind])
    }

    /// 1 − x.
    fn one_less(&mut self, x: Tensor) -> Tensor {
        let turned = self.times(x, -1.0);
        self.plus(turned, 1.0)
    }

    /// The entries of a list with these numbers.
    fn entries(&mut self, list: Tensor, numbers: Tensor) -> Tensor {
        let [out] = self.call("Gather", &[list, numbers], &[("axis", 0)]);
        out
    }

    /// The number where a condition holds, and 0 elsewhere.
    fn number_if(&mut self, condition: Tensor, number: usize) -> Tensor {
        let [holds] = self.call("Cast", &[condition], &[("to", INT64)]);
        let number = self.ints([number as i64]);
        self.op("Mul", &[holds, number])
    }
}

impl Segment {
    /// All segments of a map: the constant before the first knot, those between knots, the constant behind the last.
    fn all(Knots { x, y }: &Knots) -> Vec<Segment> {
        let flat = |k: usize| Segment { start: x[k], width: 1.0, y: y[k], rise: 0.0 };
        let between = |k: usize| Segment { start: x[k], width: x[k + 1] - x[k], y: y[k], rise: y[k + 1] - y[k] };
        let last = x.len() - 1;
        [flat(0)].into_iter().chain((0..last).map(between)).chain([flat(last)]).collect()
    }

    /// The segments of a map that arguments up to the middle lie in, and those of arguments above it.
    fn halves(map: &Knots) -> [Vec<Segment>; 2] {
        let all = Self::all(map);
        // The first segment begins nowhere.
        let below = 1 + all[1..].iter().filter(|s| s.start <= MIDDLE).count();
        let above = all[below - 1..].iter().map(|s| Segment { start: s.start - 1.0, ..*s }).collect();
        [all[..below].to_vec(), above]
    }
}

impl Maps {
    fn new(maps: &[Knots]) -> Self {
        let halves: Vec<[Vec<Segment>; 2]> = maps.iter().map(Segment::halves).collect();
        let longest = halves.iter().flatten().map(Vec::len).max().unwrap_or(1);
        let slots = longest.next_power_of_two();
        // No argument reaches these.
        let beyond = Segment { start: f64::from(f32::MAX), width: 1.0, y: 0.0, rise: 0.0 };
        let padded = |half: &Vec<Segment>| half.iter().copied().chain(std::iter::repeat(beyond)).take(slots).collect();
        let sorted = (0..2).flat_map(|half| halves.iter().map(move |h| &h[half]));
        let segments: Vec<Vec<Segment>> = sorted.map(padded).collect();
        Maps { classes: maps.len(), slots, segments: segments.concat() }
    }

    /// The values at p, where `rest` is 1 − p.
    fn at(&self, graph: &mut Graph, p: Tensor, rest: Tensor) -> Tensor {
        let middle = graph.number(MIDDLE);
        let above = graph.op("Greater", &[p, middle]);
        let turned = graph.op("Neg", &[rest]);
        let x = graph.op("Where", &[above, turned, p]);
        let place = self.place(graph, x, above);
        let start = self.entries(graph, place, |s| s.start);
        // A width that f32 takes for 0 is a step.
        let width = self.entries(graph, place, |s| s.width.max(f64::from(f32::MIN_POSITIVE)));
        let inside = graph.op("Sub", &[x, start]);
        let share = graph.op("Div", &[inside, width]);
        let share = graph.within(share, &[0.0], &[1.0]);
        let (y, rise) = (self.entries(graph, place, |s| s.y), self.entries(graph, place, |s| s.rise));
        let risen = graph.op("Mul", &[rise, share]);
        graph.op("Add", &[y, risen])
    }

    /// A number of every segment, at these places in the list.
    fn entries(&self, graph: &mut Graph, place: Tensor, of: impl Fn(&Segment) -> f64) -> Tensor {
        let list = graph.floats(&[self.segments.len()], self.segments.iter().map(of));
        graph.entries(list, place)
    }

    /// The place in the list of the segment that each argument lies in: the last one that begins before it.
    fn place(&self, graph: &mut Graph, x: Tensor, above: Tensor) -> Tensor {
        let first = graph.ints((0..self.classes).map(|k| (k * self.slots) as i64));
        let half = graph.number_if(above, self.classes * self.slots);
        let mut place = graph.op("Add", &[half, first]);
        let mut step = self.slots / 2;
        while step > 0 {
            let number = graph.ints([step as i64]);
            let next = graph.op("Add", &[place, number]);
            let start = self.entries(graph, next, |s| s.start);
            let reached = graph.op("Greater", &[x, start]);
            let step_if = graph.number_if(reached, step);
            place = graph.op("Add", &[place, step_if]);
            step /= 2;
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value at p, as the graph finds it.
    fn at(maps: &Maps, class: usize, p: f64) -> f64 {
        let (above, x) = (p > MIDDLE, if p > MIDDLE { p - 1.0 } else { p });
        let mut place = class * maps.slots + if above { maps.classes * maps.slots } else { 0 };
        let mut step = maps.slots / 2;
        while step > 0 {
            place += if x > maps.segments[place + step].start { step } else { 0 };
            step /= 2;
        }
        let s = maps.segments[place];
        s.y + s.rise * ((x - s.start) / s.width).clamp(0.0, 1.0)
    }

    #[test]
    fn segments_are_the_maps_themselves() {
        let knots = |x: &[f64], y: &[f64]| Knots { x: x.to_vec(), y: y.to_vec() };
        let maps = [
            knots(&[0.3], &[0.2]),
            knots(&[0.0, 1.0], &[0.0, 1.0]),
            knots(&[0.5, 0.7], &[0.1, 0.9]),
            knots(&[0.2, 0.5], &[0.1, 0.9]),
            knots(&[0.1, 0.2, 0.4, 0.45, 0.6, 0.9, 0.999_999_9, 1.0], &[0.0, 0.0, 0.1, 0.3, 0.3, 0.8, 0.9, 0.97]),
            knots(&[0.8, 0.9], &[0.0, 1.0]),
            knots(&[1e-9, 1e-8, 2e-8], &[0.0, 0.5, 1.0]),
        ];
        let all = Maps::new(&maps);
        assert_eq!((all.classes, all.slots, all.segments.len()), (7, 8, 2 * 7 * 8));
        let places = (0..=1000).map(|i| f64::from(i) / 1000.0);
        let knots = maps.iter().flat_map(|m| m.x.clone());
        for p in places.chain(knots).flat_map(|p| [p, p + 3e-10, p - 3e-10]) {
            for (k, map) in maps.iter().enumerate() {
                assert!((at(&all, k, p) - map.at(p)).abs() < 1e-7, "{k} at {p}: {} {}", at(&all, k, p), map.at(p));
            }
        }
    }
}
