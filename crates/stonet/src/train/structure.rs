//! Structure selection: which inputs and connections a fit keeps, how stable they are, and what the theory says of
//! them.
//!
//! Weights are identified only up to the order, sign and scale of hidden units, so connections are those of one
//! estimate; inputs can be compared over all of them.

use std::fmt;

use ndarray::{ArrayView2, Axis};
use serde::Serialize;

use super::Fit;
use crate::base::{Error, Result};
use crate::linalg::dense::{gram, symmetric_eigen};
use crate::network::StoNet;

/// Which weights count as selected.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub enum Rule {
    /// Those that are not exactly zero.
    Zeros,
    /// Those larger than this in absolute value, such as c√r_n of `cor:stonet-IRO`.
    Threshold(f64),
}

/// A selected weight.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Connection {
    /// Layer, from 1.
    pub layer: usize,
    /// The neuron it leads to, from 0.
    pub to: usize,
    /// The neuron (or input) it comes from, from 0.
    pub from: usize,
    /// Its value.
    pub weight: f64,
}

/// What was selected.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Structure {
    /// Per input: the fraction of the m estimates in which it has a path to an output.
    pub stability: Vec<f64>,
    /// Inputs with a path in the first estimate, from 0, ascending.
    pub inputs: Vec<usize>,
    /// Connections of the first estimate, layer by layer.
    pub connections: Vec<Connection>,
    /// The number of estimates, m.
    pub estimates: usize,
}

impl Structure {
    /// The structure of a fit under a rule.
    pub fn of(fit: &Fit, rule: Rule) -> Result<Self> {
        let kept: Vec<StoNet> = fit.networks.iter().map(|n| apply(n, rule)).collect::<Result<_>>()?;
        let Some(first) = kept.first() else {
            return Err(Error::Inconsistent { what: "a structure needs at least one estimate" });
        };
        let mut stability = vec![0.0; first.inputs()];
        for net in &kept {
            net.selected_inputs().into_iter().for_each(|k| stability[k] += 1.0 / kept.len() as f64);
        }
        let connections = first.layers().iter().enumerate().flat_map(|(i, layer)| {
            let nonzero = layer.weight.indexed_iter().filter(|(_, w)| **w != 0.0);
            nonzero.map(move |((to, from), &weight)| Connection { layer: i + 1, to, from, weight })
        });
        Ok(Structure {
            inputs: first.selected_inputs(),
            connections: connections.collect(),
            estimates: kept.len(),
            stability,
        })
    }
}

/// The network without the weights that the rule drops, compacted.
fn apply(net: &StoNet, rule: Rule) -> Result<StoNet> {
    let Rule::Threshold(threshold) = rule else { return Ok(net.compact()) };
    if threshold.is_nan() || threshold < 0.0 {
        return Err(Error::setting("threshold", threshold, "a number that is not negative"));
    }
    let mut layers = net.layers().to_vec();
    layers.iter_mut().for_each(|l| l.weight.mapv_inplace(|w| if w.abs() > threshold { w } else { 0.0 }));
    Ok(StoNet::new(layers, net.activation(), net.head())?.compact())
}

/// One condition of the theory, as two numbers: `left` should be far below `right`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Condition {
    /// Which one, and of which layer.
    pub name: String,
    /// The smaller side.
    pub left: f64,
    /// The larger side.
    pub right: f64,
}

impl Condition {
    /// Whether `left` is below `right`; the theory asks for it in the limit, with constants it does not give.
    pub fn holds(&self) -> bool {
        self.left < self.right
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ratio = self.right / self.left;
        let verdict = match ratio {
            r if r >= 10.0 => "holds with room to spare",
            r if r > 1.0 => "holds, barely",
            _ => "does not hold at this n",
        };
        write!(f, "{}: {:.2e} against {:.2e}: {verdict}", self.name, self.left, self.right)
    }
}

/// What `ass:1`(v), `ass:3`(ii) and `thm:stonet-IRO` say for given widths, σ's and n, with all constants taken as 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Assumptions {
    /// Noise amplification (`ass:1`(v)), layer by layer, then enough rows for the noise (`ass:3`(ii)).
    pub conditions: Vec<Condition>,
    /// Whether σ_1 ≤ … ≤ σ_{h+1}.
    pub ordered: bool,
    /// s, the sparse exponent: the largest log(fan-in)/log(width below) of the fitted network.
    pub sparse_exponent: f64,
    /// κ_min: the smallest eigenvalue of the inputs' covariance.
    pub smallest_eigenvalue: f64,
    /// r_n.
    pub rate: f64,
    /// The largest weight of the fitted network.
    pub largest_weight: f64,
}

impl Assumptions {
    /// For a network of `widths` (p, d_1, …, d_{h+1}) that was fitted to these inputs and ended as `net`, whose σ's are
    /// judged.
    pub fn of(widths: &[usize], net: &StoNet, x: ArrayView2<'_, f64>) -> Result<Self> {
        let layers = net.layers().len();
        if widths.len() != layers + 1 || widths.contains(&0) {
            return Err(Error::setting("widths", widths, "p, d_1, …, d_{h+1} of the network, all positive"));
        }
        if x.ncols() != widths[0] {
            return Err(Error::shape("input columns", widths[0], x.ncols()));
        }
        let d: Vec<f64> = widths.iter().map(|&w| w as f64).collect();
        let sigma2: Vec<f64> = net.layers().iter().map(|l| l.noise_variance).collect();
        let theory = Theory { d: &d, sigma2: &sigma2, n: x.nrows() as f64, s: sparse_exponent(net, &d) };
        let smallest_eigenvalue = smallest_eigenvalue(x);
        let mut conditions = theory.amplification();
        conditions.extend(theory.enough_rows(smallest_eigenvalue));
        let weights = net.layers().iter().flat_map(|l| l.weight.iter());
        Ok(Assumptions {
            conditions,
            ordered: sigma2.windows(2).all(|w| w[0] <= w[1]),
            sparse_exponent: theory.s,
            smallest_eigenvalue,
            rate: theory.rate(smallest_eigenvalue),
            largest_weight: weights.fold(0.0, |a, w| a.max(w.abs())),
        })
    }

    /// c√r_n, the threshold of `cor:stonet-IRO`.
    pub fn threshold(&self, c: f64) -> f64 {
        c * self.rate.sqrt()
    }

    /// Whether √r_n leaves any weight: if not, the theorem's bound says nothing at this n.
    pub fn informative(&self) -> bool {
        self.threshold(1.0) < self.largest_weight
    }
}

impl fmt::Display for Assumptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = if self.ordered { "holds" } else { "does not hold" };
        writeln!(f, "sigma_1 <= ... <= sigma_L: {order}")?;
        self.conditions.iter().try_for_each(|c| writeln!(f, "{c}"))?;
        let verdict = if self.informative() {
            "below the largest weight: the bound is informative at this n"
        } else {
            "above every weight: the bound says nothing at this n"
        };
        let (s, root, largest) = (self.sparse_exponent, self.threshold(1.0), self.largest_weight);
        writeln!(f, "sqrt(r_n) = {root:.2e} with constants 1 and s = {s:.2}; largest weight {largest:.2}: {verdict}")
    }
}

/// The formulas, with the paper's symbols.
struct Theory<'a> {
    /// p = d_0, d_1, …, d_{h+1}.
    d: &'a [f64],
    /// σ_1², …, σ_{h+1}².
    sigma2: &'a [f64],
    n: f64,
    s: f64,
}

impl Theory<'_> {
    fn hidden(&self) -> usize {
        self.sigma2.len() - 1
    }

    /// `ass:1`(v): d_{h+1} (Π_{i=k+1..h} d_i²) d_k σ_k² ≺ 1/h.
    fn amplification(&self) -> Vec<Condition> {
        let h = self.hidden();
        let condition = |k: usize| Condition {
            name: format!("noise of layer {k} at the output (ass:1 v)"),
            left: self.d[h + 1]
                * self.d[k + 1..=h].iter().map(|d| d * d).product::<f64>()
                * self.d[k]
                * self.sigma2[k - 1],
            right: 1.0 / h as f64,
        };
        (1..=h).map(condition).collect()
    }

    /// d_l d_{l−1}^s log d_{l−1} / n.
    fn cost(&self, l: usize) -> f64 {
        self.d[l] * self.d[l - 1].powf(self.s) * self.d[l - 1].ln() / self.n
    }

    /// `ass:3`(ii): h d_1 p^s log p/n ≺ κ_min²/σ_1², and h d_l d_{l−1}^s log d_{l−1}/n ≺ σ_{l−1}⁴/σ_l².
    fn enough_rows(&self, smallest_eigenvalue: f64) -> Vec<Condition> {
        let h = self.hidden().max(1) as f64;
        let right = |l: usize| match l {
            1 => smallest_eigenvalue.powi(2) / self.sigma2[0],
            l => self.sigma2[l - 2].powi(2) / self.sigma2[l - 1],
        };
        let name = |l: usize| format!("rows against the noise of layer {l} (ass:3 ii)");
        (1..=self.sigma2.len()).map(|l| Condition { name: name(l), left: h * self.cost(l), right: right(l) }).collect()
    }

    /// r_n of `thm:stonet-IRO` for a linear output layer, constants 1.
    fn rate(&self, smallest_eigenvalue: f64) -> f64 {
        let factor = |l: usize| match l {
            1 => self.sigma2[0] / smallest_eigenvalue.powi(2),
            l => self.sigma2[l - 1] / self.sigma2[l - 2].powi(2),
        };
        (1..=self.sigma2.len()).map(|l| factor(l) * self.cost(l)).sum()
    }
}

/// The largest log(fan-in)/log(width below) over all neurons, at most 1.
fn sparse_exponent(net: &StoNet, d: &[f64]) -> f64 {
    let of_layer = |(layer, &below): (&crate::network::Layer, &f64)| {
        let fan_in = layer.weight.outer_iter().map(|row| row.iter().filter(|w| **w != 0.0).count()).max().unwrap_or(0);
        if below > 1.0 && fan_in > 0 { (fan_in as f64).ln() / below.ln() } else { 0.0 }
    };
    net.layers().iter().zip(d).map(of_layer).fold(0.0, f64::max).min(1.0)
}

/// The smallest eigenvalue of the inputs' covariance matrix; 0 where they are dependent, as they are where there are as
/// many of them as rows.
fn smallest_eigenvalue(x: ArrayView2<'_, f64>) -> f64 {
    if x.ncols() >= x.nrows() {
        return 0.0;
    }
    let mean = x.sum_axis(Axis(0)) / x.nrows() as f64;
    let centred = &x - &mean;
    let covariance = gram(centred.view()) / x.nrows() as f64;
    symmetric_eigen(covariance.view()).map_or(0.0, |(values, _)| values.first().map_or(0.0, |v| v.max(0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Activation, Layer, Likelihood};
    use ndarray::{Array1, Array2, array};

    fn net(first: Array2<f64>, second: Array2<f64>, sigma2: [f64; 2]) -> StoNet {
        let layer = |weight: Array2<f64>, noise_variance| {
            let bias = Array1::zeros(weight.nrows());
            Layer { weight, bias, noise_variance }
        };
        StoNet::new(vec![layer(first, sigma2[0]), layer(second, sigma2[1])], Activation::Tanh, Likelihood::Gaussian)
            .unwrap()
    }

    fn fit(networks: Vec<StoNet>) -> Fit {
        Fit { networks, averages: vec![], loss: 0.0, restarts: 0, warnings: vec![] }
    }

    #[test]
    fn inputs_are_counted_over_estimates_and_connections_listed() {
        let a = net(array![[1.0, 0.0, 0.2], [0.0, 0.0, 0.0]], array![[0.5, 3.0]], [1e-5, 1e-4]);
        let b = net(array![[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]], array![[0.5, 0.0]], [1e-5, 1e-4]);
        let s = Structure::of(&fit(vec![a, b]), Rule::Zeros).unwrap();
        assert_eq!((s.inputs, s.estimates), (vec![0, 2], 2));
        assert_eq!(s.stability, [1.0, 0.0, 0.5]);
        let listed: Vec<_> = s.connections.iter().map(|c| (c.layer, c.to, c.from, c.weight)).collect();
        assert_eq!(listed, [(1, 0, 0, 1.0), (1, 0, 2, 0.2), (2, 0, 0, 0.5)]);
        assert!(Structure::of(&fit(vec![]), Rule::Zeros).is_err());
    }

    #[test]
    fn a_threshold_drops_small_weights_and_what_hangs_on_them() {
        let a = net(array![[1.0, 0.0, 0.2], [0.0, 3.0, 0.0]], array![[0.5, 0.1]], [1e-5, 1e-4]);
        let s = Structure::of(&fit(vec![a.clone()]), Rule::Threshold(0.3)).unwrap();
        assert_eq!(s.inputs, [0]);
        assert_eq!(s.connections.len(), 2);
        assert!(Structure::of(&fit(vec![a]), Rule::Threshold(f64::NAN)).is_err());
    }

    #[test]
    fn the_formulas_by_hand() {
        // p = 3, d_1 = 4, d_2 = 1; fan-in 2 of 3 and 4 of 4, so s = 1.
        let n = net(
            Array2::from_shape_fn((4, 3), |(_, k)| if k < 2 { 0.7 } else { 0.0 }),
            Array2::ones((1, 4)),
            [0.01, 0.25],
        );
        // Covariance diag(1, 1, 1).
        let x = array![[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]];
        let a = Assumptions::of(&[3, 4, 1], &n, x.view()).unwrap();
        assert_eq!(a.sparse_exponent, 1.0);
        assert!((a.smallest_eigenvalue - 1.0).abs() < 1e-12);
        let cost = [4.0 * 3.0 * 3f64.ln() / 4.0, 4.0 * 4f64.ln() / 4.0];
        assert!((a.rate - (0.01 * cost[0] + 0.25 / 1e-4 * cost[1])).abs() < 1e-9);
        assert!((a.conditions[0].left - 4.0 * 0.01).abs() < 1e-15 && a.conditions[0].right == 1.0);
        assert!((a.conditions[1].left - cost[0]).abs() < 1e-12 && (a.conditions[1].right - 100.0).abs() < 1e-9);
        assert!((a.conditions[2].left - cost[1]).abs() < 1e-12 && (a.conditions[2].right - 4e-4).abs() < 1e-15);
        assert!(a.ordered && a.conditions[1].holds() && !a.conditions[2].holds() && !a.informative());
        let text = a.to_string();
        assert!(
            text.contains("noise of layer 1 at the output (ass:1 v): 4.00e-2 against 1.00e0: holds with room"),
            "{text}"
        );
        assert!(text.contains("says nothing at this n"), "{text}");
        assert!(Assumptions::of(&[3, 4], &n, x.view()).is_err());
        assert!(Assumptions::of(&[2, 4, 1], &n, x.view()).is_err());
    }

    /// Two hidden layers: d_3 d_2² d_1 σ_1² and d_3 d_2 σ_2².
    #[test]
    fn amplification_squares_the_widths_in_between() {
        let theory = Theory { d: &[3.0, 5.0, 7.0, 2.0], sigma2: &[1e-3, 1e-2, 1.0], n: 100.0, s: 0.5 };
        let left: Vec<f64> = theory.amplification().iter().map(|c| c.left).collect();
        assert!((left[0] - 2.0 * 49.0 * 5.0 * 1e-3).abs() < 1e-12 && (left[1] - 2.0 * 7.0 * 1e-2).abs() < 1e-12);
        assert!(theory.amplification().iter().all(|c| c.right == 0.5));
    }
}
