//! A fitted stack made ready for many rows: per fold one pass over the features, whatever its members.
//!
//! Members of a fold that share a scale share its centring and clipping; the first layers of their networks, and what ridge and learned
//! scale take from the features, are combinations of the same columns.

use std::ops::Range;

use ndarray::ArrayView1;

use crate::interval::conformal::{Ends, Side};
use crate::linalg::elementwise::exp_in_place;
use crate::linalg::tile::{Clamp, LANES, Sparse, Tile, ZERO, activate, clamp, combine};
use crate::ridge::Clip;
use crate::stack::{FittedStack, FoldModel, Member, ScaleModel, Scaled};
use crate::{Activation, Level};

/// Two scales are the same if they differ by less than this part of a standard deviation.
const SAME: f64 = 1e-13;

/// Predictions and ends of one target.
#[derive(Debug, Clone)]
pub(super) struct StackProgram {
    folds: Vec<FoldProgram>,
    /// One per level.
    ends: Vec<Ends>,
}

#[derive(Debug, Clone)]
struct FoldProgram {
    groups: Vec<Group>,
    nets: Vec<Net>,
    /// Combinations that are parts of the mean as they are.
    linear: Vec<usize>,
    /// The mean at a network's prediction of 0, and its slope.
    network: (f64, f64),
    scale: Option<ScaleProgram>,
}

/// Combinations of columns on one scale.
#[derive(Debug, Clone)]
struct Group {
    /// Per feature; later only those that are used.
    clamps: Vec<Clamp>,
    combinations: Sparse,
}

/// A network behind its first layer.
#[derive(Debug, Clone)]
struct Net {
    first: Range<usize>,
    psi: Activation,
    /// The last one has one output, in units of the response and weighted.
    rest: Vec<Sparse>,
}

/// log s.
#[derive(Debug, Clone)]
struct ScaleProgram {
    /// What the features give.
    features: usize,
    /// Of m, m² and log(|m − d| + offset): centre, reciprocal scale, ends, coefficient.
    others: [Option<Term>; 3],
    offset: f64,
    low: f64,
    high: f64,
    /// Taken from m.
    centre: f64,
}

#[derive(Debug, Clone, Copy)]
struct Term {
    centre: f64,
    reciprocal: f64,
    low: f64,
    high: f64,
    coefficient: f64,
}

/// Room for one tile of rows.
#[derive(Debug, Default)]
pub(super) struct StackRoom {
    clipped: Vec<Tile>,
    units: Vec<Tile>,
    layers: [Vec<Tile>; 2],
    folds: Vec<[Tile; 2]>,
    at: Vec<(f64, f64)>,
    places: Vec<usize>,
}

impl StackProgram {
    pub(super) fn new(stack: &FittedStack, features: usize, levels: &[Level], side: Side) -> Self {
        let ends = levels.iter().map(|&l| stack.scores().search(l, side)).collect();
        StackProgram { ends, ..Self::of(stack.folds(), features) }
    }

    /// Predictions alone.
    pub(super) fn of(folds: &[FoldModel], features: usize) -> Self {
        StackProgram { folds: folds.iter().map(|f| FoldProgram::new(f, features)).collect(), ends: Vec::new() }
    }

    /// The features that are used, with repetitions.
    pub(super) fn columns(&self) -> impl Iterator<Item = usize> {
        let groups = self.folds.iter().flat_map(|f| &f.groups);
        groups.flat_map(|g| g.combinations.columns().map(|c| g.clamps[c].column))
    }

    /// Leaves only these features, ascending, under their places among them.
    pub(super) fn keep(&mut self, columns: &[usize]) {
        for group in self.folds.iter_mut().flat_map(|f| &mut f.groups) {
            let mut used: Vec<usize> = group.combinations.columns().collect();
            used.sort_unstable();
            used.dedup();
            group.combinations.renumber(|c| used.partition_point(|&u| u < c));
            let place = |column: usize| columns.partition_point(|&c| c < column);
            let clamp = |&c: &usize| Clamp { column: place(group.clamps[c].column), ..group.clamps[c] };
            group.clamps = used.iter().map(clamp).collect();
        }
    }

    /// μ and s of every fold at the rows of a tile.
    pub(super) fn at<'r>(&self, x: &[Tile], d: &Tile, room: &'r mut StackRoom) -> &'r [[Tile; 2]] {
        room.folds.resize(self.folds.len(), [ZERO; 2]);
        let mut folds = std::mem::take(&mut room.folds);
        for (fold, at) in self.folds.iter().zip(&mut folds) {
            fold.run(x, d, room, at);
        }
        room.folds = folds;
        &room.folds
    }

    /// The prediction, and both ends at every level, of the first `rows` rows of a tile.
    pub(super) fn run(&self, x: &[Tile], d: Option<&Tile>, rows: usize, room: &mut StackRoom, out: &mut [Tile]) {
        self.at(x, d.unwrap_or(&ZERO), room);
        room.at.resize(self.folds.len(), (0.0, 1.0));
        room.places.resize(self.folds.len(), 0);
        let k = self.folds.len() as f64;
        for row in 0..rows {
            room.at.iter_mut().zip(&room.folds).for_each(|(at, [m, s])| *at = (m[row], s[row]));
            out[0][row] = room.at.iter().map(|a| a.0).sum::<f64>() / k;
            for (ends, out) in self.ends.iter().zip(out[1..].chunks_exact_mut(2)) {
                (out[0][row], out[1][row]) = ends.ends(&room.at, &mut room.places);
            }
        }
    }
}

impl FoldProgram {
    fn new(fold: &FoldModel, features: usize) -> Self {
        let mut program =
            FoldProgram { groups: Vec::new(), nets: Vec::new(), linear: Vec::new(), network: (0.0, 0.0), scale: None };
        // Numbers of combinations are within their group until all groups are complete.
        let (mut nets, mut linear, mut on_scale) = (Vec::new(), Vec::new(), None);
        for (weight, member) in fold.members() {
            match member {
                Member::Network => program.network.1 += weight,
                Member::Ridge(r) => {
                    let scaled = r.coefficients() * *weight;
                    linear.push(program.unit(r.clip(), scaled.view(), weight * r.intercept(), features));
                }
                Member::StoNet(net) => program.net(net, *weight, features, &mut nets, &mut linear),
                Member::Skip { intercept, slope, correction } => {
                    program.network.0 += weight * intercept;
                    program.network.1 += weight * slope;
                    if let Some(net) = correction {
                        program.net(net, *weight, features, &mut nets, &mut linear);
                    }
                }
            }
        }
        if let ScaleModel::Learned { ridge, offset, low, high, network, centre } = fold.scale_model() {
            let term = |i: usize| Term::new(ridge.clip(), features + i, ridge.coefficients()[features + i]);
            let others = [term(0), term(1), if *network { term(2) } else { None }];
            on_scale = Some(program.unit(ridge.clip(), ridge.coefficients().view(), ridge.intercept(), features));
            program.scale =
                Some(ScaleProgram { features: 0, others, offset: *offset, low: *low, high: *high, centre: *centre });
        }
        let starts: Vec<usize> = (program.groups.iter())
            .scan(0, |next, g| Some(std::mem::replace(next, *next + g.combinations.len())))
            .collect();
        let place = |(group, unit): (usize, usize)| starts[group] + unit;
        program.linear = linear.into_iter().map(place).collect();
        program.nets = (nets.into_iter())
            .map(|(group, first, psi, rest): (usize, Range<usize>, Activation, Vec<Sparse>)| Net {
                first: starts[group] + first.start..starts[group] + first.end,
                psi,
                rest,
            })
            .collect();
        if let (Some(scale), Some(unit)) = (&mut program.scale, on_scale) {
            scale.features = place(unit);
        }
        program
    }

    /// The group of combinations on this scale.
    fn group(&mut self, clip: &Clip, features: usize) -> usize {
        let found = self.groups.iter().position(|g| g.clamps.iter().enumerate().all(|(k, c)| same(clip, k, c)));
        found.unwrap_or_else(|| {
            let (mean, sd) = (clip.scale().mean(), clip.scale().sd());
            let clamp = |k: usize| Clamp {
                column: k,
                centre: mean[k],
                low: sd[k] * clip.low()[k],
                high: sd[k] * clip.high()[k],
            };
            self.groups.push(Group { clamps: (0..features).map(clamp).collect(), combinations: Sparse::default() });
            self.groups.len() - 1
        })
    }

    /// Adds a combination of standardised and clipped features: its group, and its number there.
    fn unit(&mut self, clip: &Clip, weights: ArrayView1<'_, f64>, bias: f64, features: usize) -> (usize, usize) {
        let group = self.group(clip, features);
        let to = &mut self.groups[group];
        let (mut bias, mut entries) = (bias, Vec::new());
        for (k, &w) in weights.iter().take(features).enumerate().filter(|(_, w)| **w != 0.0) {
            if clip.low()[k] == clip.high()[k] {
                // What does not vary is part of the constant.
                bias += w * clip.low()[k];
            } else {
                let w = w / clip.scale().sd()[k];
                bias += w * (to.clamps[k].centre - clip.scale().mean()[k]);
                entries.push((k, w));
            }
        }
        to.combinations.push(entries, bias);
        (group, to.combinations.len() - 1)
    }

    /// Adds a network, in units of the response.
    fn net(
        &mut self,
        scaled: &Scaled,
        weight: f64,
        features: usize,
        nets: &mut Vec<(usize, Range<usize>, Activation, Vec<Sparse>)>,
        linear: &mut Vec<(usize, usize)>,
    ) {
        let net = scaled.network().compact();
        let ((mean, sd), layers) = (scaled.response(), net.layers());
        let (last, first) = (&layers[layers.len() - 1], &layers[0]);
        let (factor, shift) = (weight * sd, weight * (mean + sd * last.bias[0]));
        if layers.len() == 1 {
            let weights = first.weight.row(0).to_owned() * factor;
            linear.push(self.unit(scaled.clip(), weights.view(), shift, features));
            return;
        }
        let group = self.group(scaled.clip(), features);
        let start = self.groups[group].combinations.len();
        for (row, &bias) in first.weight.outer_iter().zip(&first.bias) {
            self.unit(scaled.clip(), row, bias, features);
        }
        let mut rest = Vec::new();
        for layer in &layers[1..layers.len() - 1] {
            let mut sparse = Sparse::default();
            for (row, &bias) in layer.weight.outer_iter().zip(&layer.bias) {
                sparse.push(row.iter().copied().enumerate(), bias);
            }
            rest.push(sparse);
        }
        let mut sparse = Sparse::default();
        sparse.push(last.weight.row(0).iter().map(|w| w * factor).enumerate(), shift);
        rest.push(sparse);
        nets.push((group, start..start + first.bias.len(), net.activation(), rest));
    }

    /// μ and s of a tile of rows.
    fn run(&self, x: &[Tile], d: &Tile, room: &mut StackRoom, [mean, scale]: &mut [Tile; 2]) {
        let StackRoom { clipped, units, layers: [a, b], .. } = room;
        units.resize(self.groups.iter().map(|g| g.combinations.len()).sum(), ZERO);
        let mut from = 0;
        for group in &self.groups {
            clipped.resize(clipped.len().max(group.clamps.len()), ZERO);
            clamp(clipped, x, &group.clamps);
            let to = from + group.combinations.len();
            combine(&mut units[from..to], clipped, &group.combinations);
            from = to;
        }
        *mean = d.map(|d| self.network.0 + self.network.1 * d);
        for &unit in &self.linear {
            add(mean, &units[unit]);
        }
        for net in &self.nets {
            activate(net.psi, &mut units[net.first.clone()]);
            let (last, hidden) = net.rest.split_last().expect("a network has a last layer");
            let mut top = &units[net.first.clone()];
            for layer in hidden {
                b.resize(layer.len(), ZERO);
                combine(b, top, layer);
                activate(net.psi, b);
                std::mem::swap(a, b);
                top = a;
            }
            let mut part = [ZERO];
            combine(&mut part, top, last);
            add(mean, &part[0]);
        }
        match &self.scale {
            None => *scale = [1.0; LANES],
            Some(s) => s.run(&units[s.features], mean, d, scale),
        }
    }
}

impl Term {
    fn new(clip: &Clip, k: usize, coefficient: f64) -> Option<Self> {
        let (centre, sd) = (clip.scale().mean()[k], clip.scale().sd()[k]);
        let term = Term { centre, reciprocal: 1.0 / sd, low: clip.low()[k], high: clip.high()[k], coefficient };
        (coefficient != 0.0).then_some(term)
    }

    fn add(&self, sum: &mut Tile, x: impl Fn(usize) -> f64) {
        for (l, sum) in sum.iter_mut().enumerate() {
            let z = (x(l) - self.centre) * self.reciprocal;
            let z = if z < self.low { self.low } else { z };
            *sum += self.coefficient * if z > self.high { self.high } else { z };
        }
    }
}

impl ScaleProgram {
    fn run(&self, features: &Tile, mean: &Tile, d: &Tile, scale: &mut Tile) {
        *scale = *features;
        let [m, square, apart] = &self.others;
        let from_centre = mean.map(|m| m - self.centre);
        m.iter().for_each(|t| t.add(scale, |l| from_centre[l]));
        square.iter().for_each(|t| t.add(scale, |l| from_centre[l] * from_centre[l]));
        apart.iter().for_each(|t| t.add(scale, |l| ((mean[l] - d[l]).abs() + self.offset).ln()));
        *scale = scale.map(|s| if s < self.low { self.low } else { s }.min(self.high));
        exp_in_place(scale);
    }
}

fn add(sum: &mut Tile, x: &Tile) {
    sum.iter_mut().zip(x).for_each(|(s, x)| *s += x);
}

/// Whether a column's scale is the clamp's, but for rounding.
fn same(clip: &Clip, k: usize, clamp: &Clamp) -> bool {
    let (mean, sd) = (clip.scale().mean()[k], clip.scale().sd()[k]);
    let near = |a: f64, b: f64| (a - b).abs() <= SAME * sd;
    near(mean, clamp.centre) && near(sd * clip.low()[k], clamp.low) && near(sd * clip.high()[k], clamp.high)
}
