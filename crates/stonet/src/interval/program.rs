//! Eve's law made ready for many rows: only the inputs that are used, supports that are shared, thirty-two rows at a time.

use ndarray::ArrayView2;

use super::{Estimate, EveIntervals, LayerVariance};
use crate::linalg::tile::{LANES, Sparse, Tile, ZERO, activate, add_product, add_scaled, combine, slope};
use crate::regression::refit::InverseGram;
use crate::{Activation, Layer};

/// The intervals of [`EveIntervals`] before the level is known: centre and half-width per unit of z.
#[derive(Debug, Clone)]
pub(crate) struct EveProgram {
    /// Inputs that are used, with the centre and the reciprocal scale of each.
    inputs: Vec<(usize, f64, f64)>,
    estimates: Vec<Recursion>,
    /// Centre and scale of every output.
    outputs: Vec<(f64, f64)>,
}

/// The recursion of one estimate.
#[derive(Debug, Clone)]
struct Recursion {
    layers: Vec<Step>,
    psi: Activation,
    residual: Vec<f64>,
}

#[derive(Debug, Clone)]
struct Step {
    weights: Sparse,
    /// w_jk w_lk is needed entry by entry.
    dense: Vec<Vec<(usize, f64)>>,
    forms: Vec<Form>,
    /// Per neuron: which form, times which variance.
    neurons: Vec<(usize, f64)>,
}

/// (1, a_S)ᵀ (X̃ᵀX̃)⁻¹ (1, a_S).
#[derive(Debug, Clone)]
struct Form {
    support: Vec<usize>,
    mean: Vec<f64>,
    /// The lower half of C, twice what is off the diagonal.
    half: Sparse,
    /// The same as entries (i, j, factor) in columns of the design.
    trace: Vec<(usize, usize, f64)>,
    constant: f64,
}

/// Covariances of a layer's units: where no two are correlated, variances alone.
enum Covariance {
    Diagonal(Vec<Tile>),
    Full(Vec<Tile>),
}

/// Room for the recursion.
#[derive(Debug, Default)]
pub(crate) struct EveRoom {
    z: Vec<Tile>,
    a: Vec<Tile>,
    next: Vec<Tile>,
    d: Vec<Tile>,
    form: Vec<Tile>,
    spread: Vec<Tile>,
}

impl EveProgram {
    pub(crate) fn new(intervals: &EveIntervals) -> Self {
        let scaling = intervals.scaling();
        let mut used: Vec<usize> = intervals.estimates().iter().flat_map(inputs_of).collect();
        used.sort_unstable();
        used.dedup();
        let place = |k: usize| used.partition_point(|&u| u < k);
        let estimates = intervals.estimates().iter().map(|e| Recursion::new(e, &place)).collect();
        let inputs = used.iter().map(|&k| (k, scaling.x.mean()[k], 1.0 / scaling.x.sd()[k])).collect();
        let outputs = scaling.y.mean().iter().copied().zip(scaling.y.sd().iter().copied()).collect();
        EveProgram { inputs, estimates, outputs }
    }

    /// The inputs that are used, ascending.
    pub(crate) fn columns(&self) -> Vec<usize> {
        self.inputs.iter().map(|i| i.0).collect()
    }

    /// Per output the prediction and the half-width for z = 1, at rows whose inputs [`columns`](Self::columns) are `x`.
    pub(crate) fn run(&self, x: &[Tile], room: &mut EveRoom, out: &mut [[Tile; 2]]) {
        room.z.resize(self.inputs.len(), ZERO);
        for ((&(_, mean, reciprocal), x), z) in self.inputs.iter().zip(x).zip(&mut room.z) {
            (0..LANES).for_each(|l| z[l] = (x[l] - mean) * reciprocal);
        }
        out.fill([ZERO; 2]);
        for estimate in &self.estimates {
            estimate.add(room, out);
        }
        let m = self.estimates.len() as f64;
        for ([centre, half], &(mean, sd)) in out.iter_mut().zip(&self.outputs) {
            centre.iter_mut().for_each(|c| *c = *c / m * sd + mean);
            half.iter_mut().for_each(|h| *h = *h * sd / m);
        }
    }
}

/// Inputs whose value can change the estimate's output or its covariance.
fn inputs_of(estimate: &Estimate) -> Vec<usize> {
    let first = &estimate.network().layers()[0].weight;
    let weights = (0..first.ncols()).filter(|&k| first.column(k).iter().any(|w| *w != 0.0));
    weights.chain(estimate.weight_variance()[0].grams().iter().flat_map(|g| g.support().iter().copied())).collect()
}

impl Recursion {
    fn new(estimate: &Estimate, place: &impl Fn(usize) -> usize) -> Self {
        let net = estimate.network();
        let step = |(i, (layer, variance)): (usize, (&Layer, &LayerVariance))| match i {
            0 => Step::new(layer, variance, place),
            _ => Step::new(layer, variance, &|k| k),
        };
        let layers = net.layers().iter().zip(estimate.weight_variance()).enumerate().map(step).collect();
        Recursion { layers, psi: net.activation(), residual: estimate.residual_variance().to_vec() }
    }

    /// Adds centre and standard deviation of every output.
    fn add(&self, room: &mut EveRoom, out: &mut [[Tile; 2]]) {
        let EveRoom { z, a, next, d, form, spread } = room;
        let mut sigma: Option<Covariance> = None;
        for (i, step) in self.layers.iter().enumerate() {
            let last = i + 1 == self.layers.len();
            let below: &[Tile] = if i == 0 { z } else { a };
            let m = sigma.take().map(|s| s.through(self.psi, below));
            step.own(below, m.as_ref(), [d, form, spread]);
            next.resize(step.weights.len(), ZERO);
            combine(next, below, &step.weights);
            sigma = Some(match &m {
                None => Covariance::Diagonal(std::mem::take(spread)),
                Some(m) if last => Covariance::Diagonal(step.variances(m, spread)),
                Some(m) => Covariance::Full(step.covariances(m, spread)),
            });
            std::mem::swap(a, next);
            if !last {
                activate(self.psi, a);
            }
        }
        let Some(Covariance::Diagonal(variances)) = sigma else { return };
        for (((out, centre), variance), residual) in out.iter_mut().zip(&*a).zip(&variances).zip(&self.residual) {
            for l in 0..LANES {
                out[0][l] += centre[l];
                out[1][l] += (variance[l] + residual).sqrt();
            }
        }
    }
}

impl Step {
    fn new(layer: &Layer, variance: &LayerVariance, place: &impl Fn(usize) -> usize) -> Self {
        let mut weights = Sparse::default();
        let mut dense = Vec::new();
        for (row, &bias) in layer.weight.outer_iter().zip(&layer.bias) {
            let entries = row.iter().enumerate().filter(|(_, w)| **w != 0.0).map(|(k, &w)| (place(k), w));
            dense.push(entries.clone().collect());
            weights.push(entries, bias);
        }
        let forms = variance.grams().iter().map(|g| Form::new(g, place)).collect();
        Step { weights, dense, forms, neurons: variance.neurons().to_vec() }
    }

    /// ς²_j (leverage + trace) of every neuron, in `spread`.
    fn own(&self, a: &[Tile], m: Option<&Covariance>, [d, form, spread]: [&mut Vec<Tile>; 3]) {
        form.resize(self.forms.len(), ZERO);
        for (f, value) in self.forms.iter().zip(&mut *form) {
            f.leverage(a, [d, spread], value);
            if let Some(m) = m {
                f.trace.iter().for_each(|&(i, j, c)| m.add(i, j, c, value));
            }
        }
        spread.resize(self.neurons.len(), ZERO);
        for (&(g, noise), spread) in self.neurons.iter().zip(spread) {
            (0..LANES).for_each(|l| spread[l] = noise * form[g][l]);
        }
    }

    /// own + w m wᵀ, the diagonal.
    fn variances(&self, m: &Covariance, own: &[Tile]) -> Vec<Tile> {
        let one = |(row, own): (&Vec<(usize, f64)>, &Tile)| {
            let mut sum = *own;
            match m {
                Covariance::Diagonal(_) => row.iter().for_each(|&(j, w)| m.add(j, j, w * w, &mut sum)),
                Covariance::Full(_) => {
                    for &(j, w) in row {
                        row.iter().for_each(|&(k, v)| m.add(j, k, w * v, &mut sum));
                    }
                }
            }
            sum
        };
        self.dense.iter().zip(own).map(one).collect()
    }

    /// own on the diagonal, and all of w m wᵀ.
    fn covariances(&self, m: &Covariance, own: &[Tile]) -> Vec<Tile> {
        let units = self.dense.len();
        let mut all = vec![ZERO; units * units];
        for (a, row) in self.dense.iter().enumerate() {
            for (b, column) in self.dense.iter().enumerate().take(a + 1) {
                let mut sum = if a == b { own[a] } else { ZERO };
                for &(j, w) in row {
                    column.iter().for_each(|&(k, v)| m.add(j, k, w * v, &mut sum));
                }
                all[a * units + b] = sum;
                all[b * units + a] = sum;
            }
        }
        all
    }
}

impl Form {
    fn new(gram: &InverseGram, place: &impl Fn(usize) -> usize) -> Self {
        let support: Vec<usize> = gram.support().iter().map(|&k| place(k)).collect();
        let (mut half, mut trace) = (Sparse::default(), Vec::new());
        for (i, row) in gram.inverse().outer_iter().enumerate() {
            // Both halves count, so that a file whose matrix is not symmetric means what it says.
            let both = |j: usize| if i == j { row[j] } else { row[j] + gram.inverse()[[j, i]] };
            half.push((0..=i).map(|j| (j, both(j))), 0.0);
            trace.extend((0..=i).map(|j| (support[i], support[j], both(j))));
        }
        Form { support, mean: gram.mean().to_vec(), half, trace, constant: 1.0 / gram.rows() as f64 }
    }

    fn leverage(&self, a: &[Tile], [d, products]: [&mut Vec<Tile>; 2], sum: &mut Tile) {
        d.resize(self.support.len(), ZERO);
        for ((&k, m), d) in self.support.iter().zip(&self.mean).zip(&mut *d) {
            (0..LANES).for_each(|l| d[l] = a[k][l] - m);
        }
        products.resize(d.len(), ZERO);
        combine(products, d, &self.half);
        *sum = [self.constant; LANES];
        d.iter().zip(&*products).for_each(|(d, p)| add_product(sum, 1.0, d, p));
    }
}

impl Covariance {
    /// D_ψ′ Σ D_ψ′ with the slopes at these activations.
    fn through(self, psi: Activation, a: &[Tile]) -> Self {
        let scale = |v: &mut Tile, s: &Tile, t: &Tile| (0..LANES).for_each(|l| v[l] *= s[l] * t[l]);
        match self {
            Covariance::Diagonal(mut v) => {
                for (v, a) in v.iter_mut().zip(a) {
                    let s = slope(psi, a);
                    scale(v, &s, &s);
                }
                Covariance::Diagonal(v)
            }
            Covariance::Full(mut v) => {
                let slopes: Vec<Tile> = a.iter().map(|a| slope(psi, a)).collect();
                let n = slopes.len();
                v.iter_mut().enumerate().for_each(|(i, v)| scale(v, &slopes[i / n], &slopes[i % n]));
                Covariance::Full(v)
            }
        }
    }

    /// sum += factor · Σ_ij.
    fn add(&self, i: usize, j: usize, factor: f64, sum: &mut Tile) {
        match self {
            Covariance::Diagonal(v) if i == j => add_scaled(sum, factor, &v[i]),
            Covariance::Diagonal(_) => {}
            Covariance::Full(v) => add_scaled(sum, factor, &v[i * v.len().isqrt() + j]),
        }
    }
}

/// Rows `first` … of a view as tiles of its columns `source`; lanes behind the last row repeat it.
pub(crate) fn load(x: ArrayView2<'_, f64>, first: usize, source: &[usize], tiles: &mut Vec<Tile>) {
    tiles.resize(source.len(), ZERO);
    let rows = (x.nrows() - first).min(LANES);
    if x.strides()[0] == 1 && rows == LANES {
        for (tile, &k) in tiles.iter_mut().zip(source) {
            let column = x.column(k);
            let values = column.as_slice().map(|v| &v[first..first + LANES]);
            values.into_iter().for_each(|v| tile.copy_from_slice(v));
        }
        return;
    }
    for lane in 0..LANES {
        let row = x.row(first + lane.min(rows - 1));
        match row.as_slice() {
            Some(row) => tiles.iter_mut().zip(source).for_each(|(tile, &k)| tile[lane] = row[k]),
            None => tiles.iter_mut().zip(source).for_each(|(tile, &k)| tile[lane] = row[k]),
        }
    }
}
