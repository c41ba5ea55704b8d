//! Conditional conformal cut-offs: coverage for overlapping groups and for chosen functions of a row (Gibbs, Cherian &
//! Candès 2023).
//!
//! Φ(x) is 1 and the functions. The cut-off at x is the largest score S for which x, with S imputed, is not fully above
//! the quantile regression of all n + 1 scores on Φ: its dual variable stays below 1 − α. In the dual,
//!
//! ```text
//! V(t) = max Σ η_i S_i,   Σ η_i Φ_i = −t Φ(x),   −α ≤ η_i ≤ 1 − α     (t is the dual variable of x)
//! ```
//!
//! is concave in t, and the cut-off is −V′(t) = Φ(x)ᵀβ(t) just below t = 1 − α. At t = 0 this is the quantile regression
//! of the calibration scores alone, the same for all x. From there every x follows its own path in t, a few exchanges of
//! one row of the basis each, so that the cut-off of a row depends on no other row. If the path ends before 1 − α, there
//! is no finite cut-off.

use serde::{Deserialize, Serialize};

use crate::base::{Error, Result};
use crate::rows::{Level, Side};

/// The path ends this far below 1 − α, where ranks are rounded too.
const ROUNDING: f64 = 1e-9;
/// Equal scores are told apart by this part of the largest one, so that no two rows change places at once.
const APART: f64 = 1e-10;
/// Numbers below this are zero, where columns are at most 1.
const ZERO: f64 = 1e-11;
/// A function is a combination of others where this part of it is left.
const DEPENDENT: f64 = 1e-9;

/// Signed scores of calibration rows with the functions of the rows, in an order that does not depend on that of the
/// rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct ConditionalScores {
    signed: Vec<f64>,
    /// n × k, row after row.
    functions: Vec<f64>,
    columns: usize,
}

/// What is written to files.
#[derive(Serialize, Deserialize)]
struct Parts {
    signed: Vec<f64>,
    functions: Vec<f64>,
    columns: usize,
}

impl TryFrom<Parts> for ConditionalScores {
    type Error = Error;
    fn try_from(p: Parts) -> Result<Self> {
        let shaped = p.signed.len().checked_mul(p.columns) == Some(p.functions.len());
        let numbers = p.signed.iter().chain(&p.functions).all(|v| v.is_finite());
        match shaped && numbers && !p.signed.is_empty() && p.columns > 0 {
            true => Ok(ConditionalScores { signed: p.signed, functions: p.functions, columns: p.columns }),
            false => Err(Error::Inconsistent {
                what: "scores and functions of conditional intervals do not belong together",
            }),
        }
    }
}

impl From<ConditionalScores> for Parts {
    fn from(s: ConditionalScores) -> Self {
        Parts { signed: s.signed, functions: s.functions, columns: s.columns }
    }
}

impl ConditionalScores {
    /// Scores, each with the functions of its row.
    pub fn new(mut rows: Vec<(f64, Vec<f64>)>) -> Result<Self> {
        let order = |a: &[f64], b: &[f64]| {
            let first = a.iter().zip(b).map(|(a, b)| a.total_cmp(b)).find(|o| o.is_ne());
            first.unwrap_or(std::cmp::Ordering::Equal)
        };
        rows.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| order(&a.1, &b.1)));
        let columns = rows.first().map_or(0, |r| r.1.len());
        let (signed, functions): (Vec<f64>, Vec<Vec<f64>>) = rows.into_iter().unzip();
        Parts { signed, functions: functions.concat(), columns }.try_into()
    }

    /// Functions of a row beside the constant.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.signed.len()
    }

    /// What finds cut-offs of many rows.
    pub fn cutoffs(&self, level: Level, side: Side) -> Cutoffs {
        let score = |v: &f64| match side {
            Side::Both => v.abs(),
            Side::Upper => *v,
            Side::Lower => -v,
        };
        Cutoffs::new(self, self.signed.iter().map(score).collect(), level)
    }
}

/// The quantile regression of the calibration rows alone, from which the path of every row starts.
#[derive(Debug, Clone)]
pub struct Cutoffs {
    /// 1 − α.
    level: f64,
    scores: Vec<f64>,
    /// n × d, row after row, each column over its largest number.
    phi: Vec<f64>,
    d: usize,
    /// Functions in use, and what they are divided by; the constant is in front of them.
    used: Vec<(usize, f64)>,
    /// The same state at the start of every path; none where no finite cut-off exists.
    start: Option<State>,
}

/// A basis of d rows that the regression goes through, and on which side of it the others are.
#[derive(Debug, Clone)]
struct State {
    basis: Vec<usize>,
    /// Φ_B⁻¹, column after column.
    inverse: Vec<f64>,
    beta: Vec<f64>,
    residual: Vec<f64>,
    above: Vec<bool>,
    basic: Vec<bool>,
    /// Σ Φ_i η_i over the rows outside of the basis.
    load: Vec<f64>,
}

/// What a path took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Steps(pub usize);

impl Cutoffs {
    fn new(of: &ConditionalScores, scores: Vec<f64>, level: Level) -> Self {
        let n = scores.len();
        let largest = scores.iter().fold(0.0f64, |m, s| m.max(s.abs())).max(f64::MIN_POSITIVE);
        let scores: Vec<f64> = scores.iter().enumerate().map(|(i, s)| s + APART * largest * spread(i)).collect();
        let used = independent(of);
        let d = used.len() + 1;
        let mut phi = Vec::with_capacity(n * d);
        for row in of.functions.chunks(of.columns) {
            phi.push(1.0);
            phi.extend(used.iter().map(|&(k, unit)| row[k] / unit));
        }
        let mut cutoffs = Cutoffs { level: level.get(), scores, phi, d, used, start: None };
        cutoffs.start = cutoffs.regression();
        cutoffs
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.phi[i * self.d..(i + 1) * self.d]
    }

    /// The dual variable of a row off the regression.
    fn bound(&self, above: bool) -> f64 {
        if above { self.level } else { self.level - 1.0 }
    }

    /// The cut-off of a row with these functions, as many as the scores have; +∞ where there is none.
    pub fn at(&self, functions: &[f64]) -> f64 {
        self.path(functions).0
    }

    /// The same with how many rows of the basis were exchanged.
    pub fn path(&self, functions: &[f64]) -> (f64, Steps) {
        let mut phi = vec![1.0; self.d];
        phi[1..].iter_mut().zip(&self.used).for_each(|(to, &(k, unit))| *to = functions[k] / unit);
        match &self.start {
            Some(start) => self.follow(start.clone(), &phi),
            None => (f64::INFINITY, Steps(0)),
        }
    }

    /// The same from a regression of its own, as one linear program per row would do it.
    pub fn alone(&self, functions: &[f64]) -> f64 {
        Cutoffs { start: self.regression(), ..self.clone() }.at(functions)
    }

    fn follow(&self, mut state: State, phi: &[f64]) -> (f64, Steps) {
        let end = self.level - ROUNDING;
        let mut t = 0.0;
        for steps in 0..10 * (self.scores.len() + self.d) {
            // η_B = a − t g.
            let (a, g) = (state.turned(&state.load, -1.0), state.turned(phi, 1.0));
            let mut leaves: Option<(f64, usize)> = None;
            for j in (0..self.d).filter(|&j| g[j].abs() > ZERO) {
                let at = ((a[j] - self.bound(g[j] < 0.0)) / g[j]).max(t);
                if leaves.is_none_or(|(first, _)| at < first) {
                    leaves = Some((at, j));
                }
            }
            let Some((at, j)) = leaves.filter(|(at, _)| *at < end) else {
                return (dot(phi, &state.beta), Steps(steps));
            };
            t = at;
            let above = g[j] < 0.0;
            let Some((enters, far)) = self.nearest(&state, j, above) else { return (f64::INFINITY, Steps(steps)) };
            self.exchange(&mut state, j, above, enters, far);
        }
        (f64::INFINITY, Steps(usize::MAX))
    }

    /// The first row that the regression meets as it leaves row j of the basis above or below itself, and how far away
    /// it is.
    fn nearest(&self, state: &State, j: usize, above: bool) -> Option<(usize, f64)> {
        let (direction, sign) = (state.direction(j), if above { -1.0 } else { 1.0 });
        let mut first: Option<(usize, f64)> = None;
        for i in (0..self.scores.len()).filter(|&i| !state.basic[i]) {
            let speed = sign * dot(self.row(i), direction);
            let meets = if state.above[i] { speed > ZERO } else { speed < -ZERO };
            if meets {
                let far = (state.residual[i] / speed).max(0.0);
                if first.is_none_or(|(_, least)| far < least) {
                    first = Some((i, far));
                }
            }
        }
        first
    }

    /// Row j of the basis leaves it, above or below the regression, and another row enters, so far away.
    fn exchange(&self, state: &mut State, j: usize, above: bool, enters: usize, far: f64) {
        let sign = if above { -1.0 } else { 1.0 };
        let direction = state.direction(j).to_vec();
        state.beta.iter_mut().zip(&direction).for_each(|(b, c)| *b += sign * far * c);
        for i in 0..self.scores.len() {
            state.residual[i] -= sign * far * dot(self.row(i), &direction);
        }
        let leaves = state.basis[j];
        state.residual[leaves] = -sign * far;
        state.residual[enters] = 0.0;
        for k in 0..self.d {
            state.load[k] += self.row(leaves)[k] * self.bound(above);
            state.load[k] -= self.row(enters)[k] * self.bound(state.above[enters]);
        }
        state.above[leaves] = above;
        (state.basic[leaves], state.basic[enters]) = (false, true);
        state.basis[j] = enters;
        state.replace(j, self.row(enters));
    }

    /// The quantile regression of the calibration rows, by steps along edges to the least loss on each (Koenker &
    /// d'Orey 1987); none where rows are too few.
    fn regression(&self) -> Option<State> {
        let mut state = self.first_basis()?;
        for _ in 0..50 * (self.scores.len() + self.d) {
            let eta = state.turned(&state.load, -1.0);
            let beyond = |j: usize| (eta[j] - self.level).max(self.level - 1.0 - eta[j]);
            let j = (0..self.d).max_by(|&a, &b| beyond(a).total_cmp(&beyond(b)))?;
            if beyond(j) <= ROUNDING {
                return Some(state);
            }
            let above = eta[j] > self.level;
            self.descend(&mut state, j, above, beyond(j))?;
        }
        None
    }

    /// Follows an edge, on which the loss falls so fast, to its least loss.
    fn descend(&self, state: &mut State, j: usize, above: bool, falls: f64) -> Option<()> {
        let (direction, sign) = (state.direction(j).to_vec(), if above { -1.0 } else { 1.0 });
        let mut met: Vec<(f64, usize, f64)> = (0..self.scores.len())
            .filter(|&i| !state.basic[i])
            .filter_map(|i| {
                let speed = sign * dot(self.row(i), &direction);
                let meets = if state.above[i] { speed > ZERO } else { speed < -ZERO };
                meets.then(|| ((state.residual[i] / speed).max(0.0), i, speed.abs()))
            })
            .collect();
        met.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut slope = -falls;
        for &(far, i, speed) in &met {
            slope += speed;
            if slope >= 0.0 {
                self.exchange(state, j, above, i, far);
                return Some(());
            }
            // The regression passes this row.
            for k in 0..self.d {
                state.load[k] += self.row(i)[k] * (self.bound(!state.above[i]) - self.bound(state.above[i]));
            }
            state.above[i] = !state.above[i];
        }
        None
    }

    /// A regression through d rows that are independent.
    fn first_basis(&self) -> Option<State> {
        let d = self.d;
        let mut inverse: Vec<f64> = vec![0.0; d * d];
        (0..d).for_each(|k| inverse[k * d + k] = 1.0);
        let n = self.scores.len();
        let mut state = State {
            basis: vec![usize::MAX; d],
            inverse,
            beta: vec![0.0; d],
            residual: Vec::new(),
            above: vec![false; n],
            basic: vec![false; n],
            load: vec![0.0; d],
        };
        // One unit vector after the other is replaced by the row that is furthest from the others.
        for j in 0..d {
            let size = |i: usize| dot(self.row(i), state.direction(j)).abs();
            let best = (0..n).filter(|&i| !state.basic[i]).max_by(|&a, &b| size(a).total_cmp(&size(b)))?;
            if size(best) < DEPENDENT {
                return None;
            }
            state.replace(j, self.row(best));
            state.basis[j] = best;
            state.basic[best] = true;
        }
        for j in 0..d {
            let score = self.scores[state.basis[j]];
            let direction = state.direction(j).to_vec();
            state.beta.iter_mut().zip(&direction).for_each(|(b, c)| *b += score * c);
        }
        state.residual = (0..n).map(|i| self.scores[i] - dot(self.row(i), &state.beta)).collect();
        for i in 0..n {
            state.above[i] = state.residual[i] > 0.0;
            if !state.basic[i] {
                let bound = self.bound(state.above[i]);
                (0..d).for_each(|k| state.load[k] += self.row(i)[k] * bound);
            }
        }
        Some(state)
    }
}

impl State {
    /// How the coefficients change as the regression leaves row j of the basis alone.
    fn direction(&self, j: usize) -> &[f64] {
        let d = self.basis.len();
        &self.inverse[j * d..(j + 1) * d]
    }

    /// factor · Φ_B⁻ᵀ v.
    fn turned(&self, v: &[f64], factor: f64) -> Vec<f64> {
        self.inverse.chunks(self.basis.len()).map(|column| factor * dot(column, v)).collect()
    }

    /// Φ_B⁻¹ with another row in place j.
    fn replace(&mut self, j: usize, row: &[f64]) {
        let d = self.basis.len();
        let v = self.turned(row, 1.0);
        let pivot: Vec<f64> = self.direction(j).iter().map(|c| c / v[j]).collect();
        for i in (0..d).filter(|&i| i != j) {
            let column = &mut self.inverse[i * d..(i + 1) * d];
            column.iter_mut().zip(&pivot).for_each(|(c, p)| *c -= v[i] * p);
        }
        self.inverse[j * d..(j + 1) * d].copy_from_slice(&pivot);
    }
}

#[inline(always)]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A number between 0 and 1 that belongs to a place: the fractional parts of multiples of the golden ratio.
fn spread(place: usize) -> f64 {
    (place as f64 * 0.618_033_988_749_894_9).fract()
}

/// Functions that are no combination of the constant and of those before them, with their largest sizes.
fn independent(of: &ConditionalScores) -> Vec<(usize, f64)> {
    let n = of.signed.len();
    let mut kept: Vec<Vec<f64>> = vec![vec![1.0 / (n as f64).sqrt(); n]];
    let mut used = Vec::new();
    for k in 0..of.columns {
        let mut column: Vec<f64> = of.functions.chunks(of.columns).map(|row| row[k]).collect();
        let unit = column.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        if unit == 0.0 {
            continue;
        }
        column.iter_mut().for_each(|v| *v /= unit);
        let size = dot(&column, &column).sqrt();
        // Twice, since once leaves what rounding left.
        for _ in 0..2 {
            for other in &kept {
                let along = dot(&column, other);
                column.iter_mut().zip(other).for_each(|(v, o)| *v -= along * o);
            }
        }
        let left = dot(&column, &column).sqrt();
        if left > DEPENDENT * size {
            column.iter_mut().for_each(|v| *v /= left);
            kept.push(column);
            used.push((k, unit));
        }
    }
    used
}
