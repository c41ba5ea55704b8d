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
