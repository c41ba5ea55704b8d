//! One tile of rows through all operations of a plan.

use std::array::from_fn;
use std::ops::Range;

use super::columns::{Column, fetch, load};
use super::kernels::{self, LANES, NARROW_ZERO, Narrow, Tile, ZERO};
use super::memory::{Memory, Place};
use super::op::Op;
use super::plan::{Node, Plan};
use super::ranked::{Ranked, TOGETHER};
use super::scorer::{Prepared, Scorer, Step};
use super::sets::RowRoom;
use crate::base::normal;
use crate::conformal::ranks::At;
use crate::linalg::elementwise::exp_in_place;
use crate::rows::Side;
use crate::sparse::Clamp;

/// Room for the values of one tile.
#[derive(Debug)]
pub(super) struct Room {
    pub(super) wide: Vec<Tile>,
    narrow: Vec<Narrow>,
    scratch: Vec<Tile>,
    /// μ_k and the scales above and below it, of all rows.
    pub(super) folds: Vec<[Tile; 3]>,
    /// The same of some rows, and where their ends were found in the scores of each fold.
    pub(super) at: Vec<At<TOGETHER>>,
    pub(super) again: Vec<At<TOGETHER>>,
    pub(super) found: Vec<[usize; TOGETHER]>,
    pub(super) row: RowRoom,
}

/// Tiles to read and others to write.
fn apart<'t, T>(tiles: &'t mut [T], read: &Range<usize>, write: &Range<usize>) -> (&'t [T], &'t mut [T]) {
    if read.end <= write.start {
        let (low, high) = tiles.split_at_mut(write.start);
        (&low[read.clone()], &mut high[..write.len()])
    } else {
        let (low, high) = tiles.split_at_mut(read.start);
        (&high[..read.len()], &mut low[write.clone()])
    }
}

impl Room {
    pub(super) fn new(memory: &Memory) -> Self {
        Room {
            wide: vec![ZERO; memory.wide],
            narrow: vec![NARROW_ZERO; memory.narrow],
            scratch: Vec::new(),
            folds: Vec::new(),
            at: Vec::new(),
            again: Vec::new(),
            found: Vec::new(),
            row: RowRoom::default(),
        }
    }

    /// A column of a value in double precision.
    pub(super) fn column(&self, place: &Place, column: usize) -> Tile {
        let at = place.tiles.start + column;
        if place.single { self.narrow[at].map(f64::from) } else { self.wide[at] }
    }

    /// Loads the inputs from row `first` on; returns whether all are finite.
    pub(super) fn load(&mut self, scorer: &Scorer, columns: &[Column<'_>], first: usize) -> bool {
        let mut sums = ZERO;
        for step in &scorer.steps {
            let Prepared::Input(from) = &step.prepared else { continue };
            let tiles = &mut self.wide[scorer.place(step.value).tiles.clone()];
            load(&columns[from.clone()], first, tiles);
            // The next tile comes from memory while this one is computed with.
            fetch(&columns[from.clone()], first + LANES);
            kernels::add_not_finite(&mut sums, tiles);
        }
        sums.iter().sum::<f64>() == 0.0
    }

    /// Runs all operations behind the inputs on the first `rows` rows of the tile.
    pub(super) fn run(&mut self, scorer: &Scorer, plan: &Plan, rows: usize) {
        for step in &scorer.steps {
            self.step(scorer, &plan.values()[step.value].op, step, rows);
        }
    }

    fn step(&mut self, scorer: &Scorer, op: &Op, step: &Step, rows: usize) {
        let of = |node: &Node| scorer.place(node.index());
        let to = scorer.place(step.value);
        match op {
            Op::Input { .. } => {}
            Op::Clamp { of: from, clamps } => self.clamp(of(from), to, clamps),
            Op::Combine { of: from, weights } => match &step.prepared {
                Prepared::Narrow(weights) if to.single => {
                    let (x, out) = apart(&mut self.narrow, &of(from).tiles, &to.tiles);
                    kernels::combine_narrow(out, x, weights);
                }
                Prepared::Narrow(weights) => {
                    let (x, out) = (&self.narrow[of(from).tiles.clone()], &mut self.wide[to.tiles.clone()]);
                    kernels::combine_widened(out, x, weights);
                }
                _ => self.map(of(from), to, |x, out| kernels::combine(out, x, weights)),
            },
            Op::Activate { of: from, activation } if to.single => {
                let (y, out) = apart(&mut self.narrow, &of(from).tiles, &to.tiles);
                kernels::activate_narrow(*activation, out, y);
            }
            Op::Activate { of: from, activation } => self.map(of(from), to, |y, out| {
                out.copy_from_slice(y);
                kernels::activate(*activation, out);
            }),
            Op::Slope { of: from, activation } => self.each(of(from), to, |a| kernels::slope(*activation, a)),
            Op::Sum { constant, .. } => {
                let Prepared::Sum(parts) = &step.prepared else { return };
                kernels::weighted_sum(&mut self.wide, to.tiles.start, to.tiles.len(), parts, *constant);
            }
            Op::Product(a, b) => {
                self.map(of(a), to, |x, out| out.copy_from_slice(x));
                self.map(of(b), to, |x, out| multiply(out, x));
            }
            Op::Pairs { of: from } => self.map(of(from), to, |x, out| kernels::pairs(out, x)),
            Op::LogDistance { a, b, offset } => {
                let (a, b) = (self.column(of(a), 0), self.column(of(b), 0));
                self.wide[to.tiles.start] = from_fn(|l| ((a[l] - b[l]).abs() + offset).ln());
            }
            Op::Exp { of: from, low, high } => self.map(of(from), to, |x, out| {
                for (out, x) in out.iter_mut().zip(x) {
                    // Comparisons that let NaN pass, and cannot panic.
                    *out = x.map(|v| if v < *low { *low } else { v }).map(|v| if v > *high { *high } else { v });
                }
                exp_in_place(out.as_flattened_mut());
            }),
            Op::SquareRoot { of: from } => self.each(of(from), to, |x| x.map(f64::sqrt)),
            Op::Quadratic { of: from, forms } => {
                let mut scratch = std::mem::take(&mut self.scratch);
                self.map(of(from), to, |a, out| {
                    forms.iter().zip(out).for_each(|(form, out)| kernels::quadratic(out, a, form, &mut scratch));
                });
                self.scratch = scratch;
            }
            Op::Sandwich { of: sigma, slopes } => {
                self.map(of(sigma), to, |x, out| out.copy_from_slice(x));
                self.map(of(slopes), to, |s, out| {
                    for (i, out) in out.iter_mut().enumerate() {
                        let (a, b) = (&s[i / s.len()], &s[i % s.len()]);
                        (0..LANES).for_each(|l| out[l] *= a[l] * b[l]);
                    }
                });
            }
            Op::Congruence { of: m, diagonal, weights, own } => {
                let mut scratch = std::mem::take(&mut self.scratch);
                self.map(of(m), to, |m, out| kernels::congruence(out, m, *diagonal, weights, &mut scratch));
                self.scratch = scratch;
                self.map(of(own), to, |own, out| {
                    let units = own.len();
                    own.iter().enumerate().for_each(|(i, own)| add(&mut out[i * units + i], own));
                });
            }
            Op::Softmax { of: from } => self.map(of(from), to, |z, out| kernels::softmax(out, z)),
            Op::Centre { of: from } => self.map(of(from), to, |z, out| kernels::centre(out, z)),
            Op::Log { of: from, least } => self.each(of(from), to, |x| x.map(|v| v.max(*least).ln())),
            Op::LogRest { of: from, least } => self.each(of(from), to, |x| x.map(|v| (-v.exp_m1()).max(*least).ln())),
            Op::Interpolate { of: from, maps } => self.map(of(from), to, |x, out| {
                out.iter_mut().zip(x).zip(maps).for_each(|((out, x), map)| *out = x.map(|v| map.at(v)));
            }),
            Op::Normalise { of: from, otherwise, least } => {
                self.map(of(from), to, |x, out| out.copy_from_slice(x));
                self.map(of(otherwise), to, |p, out| normalise(out, p, *least));
            }
            Op::Join(parts) => {
                let mut start = to.tiles.start;
                for part in parts {
                    let from = of(part);
                    for column in 0..from.tiles.len() {
                        self.wide[start] = self.column(from, column);
                        start += 1;
                    }
                }
            }
            Op::Ends { .. }
            | Op::Conditional { .. }
            | Op::Below { .. }
            | Op::NormalBelow { .. }
            | Op::Bounded { .. } => {
                self.distribution(scorer, op, step, rows);
            }
            Op::Conformity { of: from, score } => self.conformity(of(from), to, *score, rows),
            Op::Members { folds, top, scores, .. } => {
                let Prepared::Ranks(ranks) = &step.prepared else { return };
                let top = top.as_ref().map(|top| self.column(of(top), 0));
                self.members(scorer, folds, (scores, ranks), top.as_ref(), to, rows);
            }
            Op::Top { of: from } => self.map(of(from), to, |z, out| kernels::top(&mut out[0], z)),
            Op::Largest { of: from } => self.map(of(from), to, |x, out| kernels::largest(&mut out[0], x)),
            Op::BinBounds { of: from, bounds } => {
                self.map(of(from), to, |x, out| kernels::bin_bounds(out, &x[0], bounds))
            }
        }
    }

    /// Ends of intervals, and probabilities, of the first `rows` rows of the tile.
    fn distribution(&mut self, scorer: &Scorer, op: &Op, step: &Step, rows: usize) {
        let of = |node: &Node| scorer.place(node.index());
        let to = scorer.place(step.value);
        match op {
            Op::Ends { folds, centre, side, within, weight, .. } => {
                let centre = self.column(of(centre), 0);
                let by = match (&step.prepared, within, weight) {
                    (Prepared::Weighted(search), _, Some(w)) => Ranked::Weighted(search, self.column(of(w), 0)),
                    (Prepared::Ends(search), Some(w), _) => Ranked::Groups(search, self.column(of(&w.of), 0)),
                    (Prepared::Ends(search), None, _) => Ranked::Together(search.pooled()),
                    _ => return,
                };
                self.load_folds(scorer, folds);
                self.ends(&by, (*side == Side::Both).then_some(&centre), &to.tiles, rows);
            }
            Op::Conditional { fold, centre, of: functions, side, .. } => {
                let Prepared::Cutoffs(cutoffs) = &step.prepared else { return };
                let fold = fold.each_ref().map(|node| self.column(of(node), 0));
                let (centre, functions) = (self.column(of(centre), 0), of(functions).tiles.clone());
                for row in 0..rows {
                    let values: Vec<f64> = self.wide[functions.clone()].iter().map(|column| column[row]).collect();
                    let at = fold.each_ref().map(|column| column[row]);
                    let (mut lower, mut upper) = conditional_ends(cutoffs.at(&values), at, *side);
                    if *side == Side::Both {
                        (lower, upper) = (lower.min(centre[row]), upper.max(centre[row]));
                    }
                    self.wide[to.tiles.start][row] = lower;
                    self.wide[to.tiles.start + 1][row] = upper;
                }
            }
            Op::Below { folds, value, within, weight, .. } => {
                let Prepared::Below(below) = &step.prepared else { return };
                let value = self.column(of(value), 0);
                let groups = within.as_ref().map(|w| self.column(of(&w.of), 0));
                let weights = weight.as_ref().map(|w| self.column(of(w), 0));
                self.load_folds(scorer, folds);
                self.below((below, groups.as_ref(), weights.as_ref()), &value, to.tiles.start, rows);
            }
            Op::NormalBelow { mean, sd, value } => {
                for column in 0..to.tiles.len() {
                    let [mean, sd, t] = [mean, sd, value].map(|node| self.column(of(node), column));
                    self.wide[to.tiles.start + column] = from_fn(|l| normal::cdf((t[l] - mean[l]) / sd[l]));
                }
            }
            Op::Bounded { of: from, value, low, high } => {
                self.map(of(from), to, |x, out| out.copy_from_slice(x));
                self.map(of(value), to, |t, out| {
                    let one = |p: f64, t: f64| match t {
                        t if t >= *high => 1.0,
                        t if t < *low => 0.0,
                        _ => p,
                    };
                    let all = out.as_flattened_mut().iter_mut().zip(t.as_flattened());
                    all.for_each(|(p, &t)| *p = one(*p, t));
                });
            }
            _ => {}
        }
    }

    fn clamp(&mut self, from: &Place, to: &Place, clamps: &[Clamp]) {
        if to.single {
            let (x, out) = (&self.wide[from.tiles.clone()], &mut self.narrow[to.tiles.clone()]);
            kernels::clamp_narrow(out, x, clamps);
        } else {
            self.map(from, to, |x, out| kernels::clamp(out, x, clamps));
        }
    }

    /// Columns in, columns out, in double precision.
    fn map(&mut self, from: &Place, to: &Place, work: impl FnOnce(&[Tile], &mut [Tile])) {
        let (x, out) = apart(&mut self.wide, &from.tiles, &to.tiles);
        work(x, out);
    }

    /// The same column by column.
    fn each(&mut self, from: &Place, to: &Place, work: impl Fn(&Tile) -> Tile) {
        self.map(from, to, |x, out| out.iter_mut().zip(x).for_each(|(out, x)| *out = work(x)));
    }
}

/// Where a score has this cut-off, with μ and the scales above and below it.
fn conditional_ends(cutoff: f64, [mean, above, below]: [f64; 3], side: Side) -> (f64, f64) {
    let scale = |score: f64, [above, below]: [f64; 2]| score * if score < 0.0 { below } else { above };
    match side {
        // Scores are distances, which are not negative.
        Side::Both => (mean - cutoff.max(0.0) * below, mean + cutoff.max(0.0) * above),
        Side::Upper => (f64::NEG_INFINITY, mean + scale(cutoff, [above, below])),
        Side::Lower => (mean - scale(cutoff, [below, above]), f64::INFINITY),
    }
}

fn add(sum: &mut Tile, x: &Tile) {
    sum.iter_mut().zip(x).for_each(|(s, x)| *s += x);
}

fn multiply(out: &mut [Tile], x: &[Tile]) {
    out.as_flattened_mut().iter_mut().zip(x.as_flattened()).for_each(|(o, x)| *o *= x);
}

/// Columns at least `least` and divided by their sum; rows of zeros are first taken from `otherwise`.
fn normalise(out: &mut [Tile], otherwise: &[Tile], least: f64) {
    for l in 0..LANES {
        if out.iter().all(|column| column[l] == 0.0) {
            out.iter_mut().zip(otherwise).for_each(|(out, p)| out[l] = p[l]);
        }
        out.iter_mut().for_each(|column| column[l] = column[l].max(least));
        let sum: f64 = out.iter().map(|column| column[l]).sum();
        out.iter_mut().for_each(|column| column[l] /= sum);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::op::{BinBounds, Form, Knots, Sparse};
    use super::*;
    use crate::conformal::{ConditionalScores, conformal_quantile};
    use crate::network::Activation;
    use crate::rows::Level;
    use crate::score::tests::{assert_rows, computed, numbers, table};

    /// More rows than a tile has.
    const ROWS: usize = 45;

    fn weights(rows: &[(&[(usize, f64)], f64)]) -> Sparse {
        let mut sparse = Sparse::default();
        rows.iter().for_each(|(row, bias)| sparse.push(row.iter().copied(), *bias));
        sparse
    }

    #[test]
    fn what_is_read_and_what_is_written_may_stand_in_either_order() {
        let mut all = [0, 1, 2, 3, 4, 5, 6, 7];
        let (read, write) = apart(&mut all, &(1..3), &(3..6));
        assert_eq!((read, &*write), (&[1, 2][..], &[3, 4, 5][..]));
        let (read, write) = apart(&mut all, &(5..8), &(1..3));
        assert_eq!((read, &*write), (&[5, 6, 7][..], &[1, 2][..]));
        let (read, write) = apart(&mut all, &(3..4), &(0..3));
        assert_eq!((read, &*write), (&[3][..], &[0, 1, 2][..]));
    }

    #[test]
    fn arithmetic_of_columns_by_hand() {
        let x = numbers(ROWS, 4);
        let found = computed(&x, |plan, x| {
            let (a, b) = (plan.pick(x, [0, 1]), plan.pick(x, [2, 3]));
            let sum = plan.sum(vec![(2.0, a), (-0.5, b)], 3.0);
            let product = plan.op(Op::Product(a, b));
            let slope = plan.op(Op::Slope { of: b, activation: Activation::Sigmoid });
            let pairs = plan.wide(Op::Pairs { of: a }, 3);
            plan.join(vec![sum, product, slope, pairs])
        });
        assert_rows(&found, &x, 1e-14, |[a, b, c, d]: [f64; 4]| {
            let sum = [2.0 * a - 0.5 * c + 3.0, 2.0 * b - 0.5 * d + 3.0];
            [sum[0], sum[1], a * c, b * d, c * (1.0 - c), d * (1.0 - d), a * a, a * b, b * b]
        });
    }

    #[test]
    fn functions_of_columns_by_hand() {
        let x = numbers(ROWS, 3);
        let found = computed(&x, |plan, x| {
            let [a, b, c] = [0, 1, 2].map(|k| plan.pick(x, [k]));
            let distance = plan.wide(Op::LogDistance { a, b, offset: 0.125 }, 1);
            let exp = plan.op(Op::Exp { of: x, low: -0.5, high: 0.25 });
            let square = plan.op(Op::Product(c, c));
            let root = plan.op(Op::SquareRoot { of: square });
            let log = plan.op(Op::Log { of: x, least: 0.25 });
            let rest = plan.op(Op::LogRest { of: x, least: 0.25 });
            let centre = plan.op(Op::Centre { of: x });
            plan.join(vec![distance, exp, root, log, rest, centre])
        });
        assert_rows(&found, &x, 1e-14, |x: [f64; 3]| {
            let (log, mean) = (((x[0] - x[1]).abs() + 0.125).ln(), (x[0] + x[1] + x[2]) / 3.0);
            let exp = x.map(|v| v.clamp(-0.5, 0.25).exp());
            let logs = x.map(|v| if v > 0.25 { v.ln() } else { 0.25f64.ln() });
            let rest = x.map(|v| if 1.0 - v.exp() > 0.25 { (1.0 - v.exp()).ln() } else { 0.25f64.ln() });
            let centre = x.map(|v| v - mean);
            [&[log][..], &exp, &[x[2].abs()], &logs, &rest, &centre].concat()
        });
    }

    #[test]
    fn combinations_and_activations_are_in_the_precision_of_what_they_take() {
        let x = numbers(ROWS, 3);
        for psi in Activation::ALL {
            let found = computed(&x, |plan, x| {
                let clamps = [2, 0].map(|column| Clamp { column, centre: 0.25, scale: 2.0, low: -1.5, high: 0.5 });
                let both = [false, true].map(|single| plan.clamp(x, clamps.to_vec(), single));
                // Another value of single precision, so that places differ.
                let other = plan.combine(both[1], weights(&[(&[(1, 1.0)], 0.0)]), true);
                let layer = weights(&[(&[(0, 0.5), (1, -1.0)], 0.25), (&[(1, 2.0)], 0.0), (&[], 1.0)]);
                let double = plan.combine(both[0], layer.clone(), false);
                let single = plan.combine(both[1], layer.clone(), true);
                let [double, single] = [double, single].map(|y| plan.activate(y, psi));
                let widened = plan.combine(both[1], layer, false);
                plan.join(vec![both[1], other, widened, single, both[0], double])
            });
            let layer = |x: [f64; 3]| {
                let clip = |v: f64| ((v - 0.25) * 2.0).clamp(-1.5, 0.5);
                let (a, b) = (clip(x[2]), clip(x[0]));
                ([a, b], [0.5 * a - b + 0.25, 2.0 * b, 1.0])
            };
            assert_rows(&found[..9], &x, 1e-6, |x: [f64; 3]| {
                let ([a, b], y) = layer(x);
                let [p, q, r] = y.map(|y| psi.value(y));
                [a, b, b, y[0], y[1], y[2], p, q, r]
            });
            assert_rows(&found[9..], &x, 1e-14, |x: [f64; 3]| {
                let ([a, b], y) = layer(x);
                let [p, q, r] = y.map(|y| psi.value(y));
                [a, b, p, q, r]
            });
            // In single precision where it is said so: some digits are lost.
            let lost = |single: &[f64], double: &[f64]| single.iter().zip(double).any(|(a, b)| a != b);
            assert!(lost(&found[0], &found[9]) && found[0].iter().all(|v| *v == f64::from(*v as f32)));
        }
    }

    #[test]
    fn forms_and_matrices_of_every_row_by_hand() {
        let x = numbers(ROWS, 4);
        let found = computed(&x, |plan, x| {
            // 2 (a − ½)² − (a − ½)(b + ¼) + 3 (b + ¼)² + 5 of the columns 3 and 1.
            let half = weights(&[(&[(0, 2.0)], 0.0), (&[(0, -1.0), (1, 3.0)], 0.0)]);
            let form = Form { support: vec![3, 1], mean: vec![0.5, -0.25], half, constant: 5.0 };
            let none = Form { support: vec![], mean: vec![], half: Sparse::default(), constant: 2.0 };
            let forms = plan.wide(Op::Quadratic { of: x, forms: vec![form, none] }, 2);
            // A matrix [[x₀, x₁], [x₁, x₂]] and a diagonal (x₂, x₃).
            let (sigma, diagonal) = (plan.pick(x, [0, 1, 1, 2]), plan.pick(x, [2, 3]));
            let sandwich = plan.op(Op::Sandwich { of: sigma, slopes: diagonal });
            let layer = weights(&[(&[(0, 2.0), (1, 1.0)], 9.0), (&[(1, -1.0)], 9.0)]);
            let own = plan.pick(x, [1, 3]);
            let product = |of: Node, diagonal: bool| Op::Congruence { of, diagonal, weights: layer.clone(), own };
            let full = plan.wide(product(sigma, false), 4);
            let diagonal = plan.wide(product(diagonal, true), 4);
            plan.join(vec![forms, sandwich, full, diagonal])
        });
        assert_rows(&found, &x, 1e-14, |[p, q, r, s]: [f64; 4]| {
            let (a, b) = (s - 0.5, q + 0.25);
            let form = 2.0 * a * a - a * b + 3.0 * b * b + 5.0;
            let full = [4.0 * p + 4.0 * q + r, -2.0 * q - r, r];
            let diagonal = [4.0 * r + s, -s, s];
            let forms = [form, 2.0];
            let sandwich = [r * p * r, r * q * s, s * q * r, s * r * s];
            let full = [full[0] + q, full[1], full[1], full[2] + s];
            let diagonal = [diagonal[0] + q, diagonal[1], diagonal[1], diagonal[2] + s];
            [&forms[..], &sandwich, &full, &diagonal].concat()
        });
    }

    #[test]
    fn maps_and_shares_of_classes_by_hand() {
        // Probabilities of which the first map sends all to 0 up to ¼, and the second up to ½.
        let x = table((0..ROWS).map(|i| [[0.25, 0.5], [0.5, 0.25], [0.125, 0.75], [0.75, 1.0]][i % 4]));
        let found = computed(&x, |plan, x| {
            let map = |from: f64| Knots { x: vec![from, 1.0], y: vec![0.0, 1.0] };
            let mapped = plan.op(Op::Interpolate { of: x, maps: vec![map(0.25), map(0.5)] });
            let shares = plan.op(Op::Normalise { of: mapped, otherwise: x, least: 0.125 });
            let softmax = plan.op(Op::Softmax { of: x });
            let (top, largest) = (plan.wide(Op::Top { of: x }, 1), plan.wide(Op::Largest { of: x }, 1));
            let bounds = BinBounds { ends: vec![0.5], lower: vec![1.0, 2.0], upper: vec![3.0, 4.0] };
            let bins = plan.wide(Op::BinBounds { of: largest, bounds: Arc::new(bounds) }, 2);
            plan.join(vec![shares, softmax, top, largest, bins])
        });
        assert_rows(&found, &x, 1e-14, |x: [f64; 2]| {
            let shares = match x[0] {
                // Both maps give 0, so that the probabilities stand for themselves.
                0.25 => [1.0 / 3.0, 2.0 / 3.0],
                // ⅓ and 0, which is raised to ⅛.
                0.5 => [(1.0 / 3.0) / (1.0 / 3.0 + 0.125), 0.125 / (1.0 / 3.0 + 0.125)],
                // 0 and ½.
                0.125 => [0.2, 0.8],
                // ⅔ and 1.
                _ => [0.4, 0.6],
            };
            let odds = (x[1] - x[0]).exp();
            let (top, largest) = if x[0] > x[1] { (0.0, x[0]) } else { (1.0, x[1]) };
            let bin = if largest > 0.5 { [2.0, 4.0] } else { [1.0, 3.0] };
            [shares[0], shares[1], 1.0 / (1.0 + odds), odds / (1.0 + odds), top, largest, bin[0], bin[1]]
        });
    }

    #[test]
    fn normal_probabilities_of_several_targets_and_bounds_of_theirs() {
        let mut x = numbers(ROWS, 6);
        x.columns_mut().into_iter().skip(2).take(2).for_each(|mut sd| sd.mapv_inplace(|v| v.abs() + 0.5));
        let found = computed(&x, |plan, x| {
            let [mean, sd, value] = [[0, 1], [2, 3], [4, 5]].map(|columns| plan.pick(x, columns));
            let of = plan.op(Op::NormalBelow { mean, sd, value });
            let bounded = plan.op(Op::Bounded { of, value, low: -0.5, high: 0.25 });
            plan.join(vec![of, bounded])
        });
        assert_rows(&found, &x, 1e-14, |x: [f64; 6]| {
            let p = [0, 1].map(|k| normal::cdf((x[4 + k] - x[k]) / x[2 + k]));
            let certain = |k: usize| {
                if x[4 + k] >= 0.25 {
                    1.0
                } else if x[4 + k] < -0.5 {
                    0.0
                } else {
                    p[k]
                }
            };
            [p[0], p[1], certain(0), certain(1)]
        });
        // An end of the range is reached: all of y is at or below the greatest value, and not all above the least.
        let ends = table([[0.25], [-0.5], [0.25f64.next_down()], [(-0.5f64).next_down()]]);
        let found = computed(&ends, |plan, value| {
            let of = plan.constant(value, &[0.75]);
            plan.op(Op::Bounded { of, value, low: -0.5, high: 0.25 })
        });
        assert_eq!(found, [[1.0, 0.75, 0.75, 0.0]]);
    }

    #[test]
    fn a_cut_off_is_counted_in_the_scale_of_its_side() {
        let at = [10.0, 3.0, 0.5];
        assert_eq!(conditional_ends(2.0, at, Side::Both), (9.0, 16.0));
        // A distance is not negative.
        assert_eq!(conditional_ends(-1.0, at, Side::Both), (10.0, 10.0));
        assert_eq!(conditional_ends(2.0, at, Side::Upper), (f64::NEG_INFINITY, 16.0));
        assert_eq!(conditional_ends(-2.0, at, Side::Upper), (f64::NEG_INFINITY, 9.0));
        // Scores of lower bounds grow downwards.
        assert_eq!(conditional_ends(2.0, at, Side::Lower), (9.0, f64::INFINITY));
        assert_eq!(conditional_ends(-2.0, at, Side::Lower), (16.0, f64::INFINITY));
    }

    #[test]
    fn ends_for_two_groups_apart_are_the_ranks_of_each() {
        let score = |i: usize| (i as f64 * 12.9898).sin() * 3.0 + 0.25;
        let held: Vec<(f64, Vec<f64>)> = (0..30).map(|i| (score(i), vec![f64::from(u8::from(i < 11))])).collect();
        let scores = Arc::new(ConditionalScores::new(held.clone()).unwrap());
        let mut x = numbers(ROWS, 5);
        for mut row in x.outer_iter_mut() {
            [1, 2].into_iter().for_each(|k| row[k] = row[k].abs() + 0.1);
            row[4] = f64::from(u8::from(row[4] > 0.0));
        }
        for (l, side) in [0.2, 0.8].into_iter().flat_map(|l| [Side::Both, Side::Lower, Side::Upper].map(|s| (l, s))) {
            let level = Level::new(l).unwrap();
            let found = computed(&x, |plan, x| {
                let [mean, above, below, centre, of] = [0, 1, 2, 3, 4].map(|k| plan.pick(x, [k]));
                let fold = [mean, above, below];
                plan.wide(Op::Conditional { fold, centre, of, scores: scores.clone(), level, side }, 2)
            });
            assert_rows(&found, &x, 1e-8, |[mean, above, below, centre, group]: [f64; 5]| {
                let own = held.iter().filter(|(_, of)| of[0] == group).map(|(score, _)| *score);
                let of = |map: fn(f64) -> f64| conformal_quantile(&own.clone().map(map).collect::<Vec<f64>>(), level);
                let scaled = |score: f64| score * if score < 0.0 { below } else { above };
                match side {
                    Side::Both => {
                        let cutoff = of(f64::abs);
                        [(mean - cutoff * below).min(centre), (mean + cutoff * above).max(centre)]
                    }
                    Side::Upper => [f64::NEG_INFINITY, mean + scaled(of(|s| s))],
                    Side::Lower => [mean + scaled(-of(|s| -s)), f64::INFINITY],
                }
            });
        }
    }
}
