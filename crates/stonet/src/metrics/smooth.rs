//! Smooth calibration error: residuals of probabilities, smoothed by a reflected Gaussian kernel on [0, 1].
//!
//! With residuals e_i = f_i − y_i the error at bandwidth σ is smECE_σ = ∫₀¹ |r_σ(t)| dt, where
//! r_σ(t) = (1/n) Σ_i K_σ(t, f_i) e_i, and smooth ECE is the σ with smECE_σ = σ (Błasiok & Nakkiran 2023). smECE_σ falls
//! with σ, because smoothing shrinks the integral, so there is one such σ. Bandwidths end at [`LEAST`]; a smaller error
//! is smECE at that bandwidth.
//!
//! Residuals are shared out linearly between the two nearest of [`CELLS`] + 1 nodes, as relplot does. A Gaussian that
//! is reflected at 0 and 1 is diagonal in cosines, K_σ(t, f) = 1 + 2 Σ_k exp(−σ²π²k²/2) cos(πkt) cos(πkf), so one table
//! of cosines serves every bandwidth.

use std::sync::OnceLock;

use ndarray::{Array2, s};

use crate::linalg::dense::matmul;

/// Cells between nodes; a power of two.
pub(super) const CELLS: usize = 1024;

/// The smallest bandwidth: two cells.
pub(super) const LEAST: f64 = 2.0 / CELLS as f64;

/// Frequencies are left out where their factor falls below exp(−REACH² / 2) = 2e-9.
const REACH: f64 = 6.3;

/// How exact the fixed point is.
const EXACT: f64 = 1e-7;

/// cos(πkj / CELLS).
fn cosines() -> &'static Array2<f64> {
    static TABLE: OnceLock<Array2<f64>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let once: Vec<f64> = (0..2 * CELLS).map(|m| (std::f64::consts::PI * m as f64 / CELLS as f64).cos()).collect();
        Array2::from_shape_fn((CELLS + 1, CELLS + 1), |(k, j)| once[k * j % (2 * CELLS)])
    })
}

/// Where a probability lies: the node below it, and the share of the node above.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub below: usize,
    pub share: f64,
}

impl Place {
    /// Among `cells` cells.
    pub fn of(p: f64, cells: usize) -> Self {
        let at = p.clamp(0.0, 1.0) * cells as f64;
        let below = (at as usize).min(cells - 1);
        Place { below, share: at - below as f64 }
    }

    /// Adds a value that lies here.
    pub fn add(self, nodes: &mut [f64], value: f64) {
        nodes[self.below] += (1.0 - self.share) * value;
        nodes[self.below + 1] += self.share * value;
    }
}

/// The number of frequencies, the constant included, that this bandwidth leaves.
fn frequencies(sigma: f64) -> usize {
    ((REACH / (std::f64::consts::PI * sigma)) as usize + 2).min(CELLS + 1)
}

/// Every how many nodes the smoothed function is looked at: at least four times per bandwidth.
fn stride(sigma: f64) -> usize {
    let most = ((sigma * CELLS as f64 / 4.0) as usize).clamp(1, CELLS / 16);
    1 << most.ilog2()
}

/// Factors of the cosines in the kernel.
fn factors(sigma: f64) -> Vec<f64> {
    let factor = |k: usize| {
        let a = sigma * std::f64::consts::PI * k as f64;
        if k == 0 { 1.0 } else { 2.0 * (-0.5 * a * a).exp() }
    };
    (0..frequencies(sigma)).map(factor).collect()
}

/// Residuals on the nodes, as their cosine coefficients.
pub(super) struct Spectrum(Vec<f64>);

impl Spectrum {
    /// Of each row of sums on the nodes.
    pub fn of_rows(nodes: &Array2<f64>) -> Vec<Self> {
        matmul(nodes.view(), cosines().view()).outer_iter().map(|c| Spectrum(c.to_vec())).collect()
    }

    /// smECE at this bandwidth of `n` rows.
    pub fn error_at(&self, sigma: f64, n: f64) -> f64 {
        let table = cosines();
        let step = stride(sigma);
        let mut values = vec![0.0; CELLS / step + 1];
        // Frequency by frequency, so that the sums at all nodes go on side by side.
        for ((factor, coefficient), row) in factors(sigma).iter().zip(&self.0).zip(table.outer_iter()) {
            let by = factor * coefficient;
            match row.to_slice().filter(|_| step == 1) {
                Some(row) => values.iter_mut().zip(row).for_each(|(v, c)| *v += by * c),
                None => values.iter_mut().zip(row.iter().step_by(step)).for_each(|(v, c)| *v += by * c),
            }
        }
        let ends = 0.5 * (values[0].abs() + values[values.len() - 1].abs());
        (values.iter().map(|v| v.abs()).sum::<f64>() - ends) * step as f64 / (CELLS as f64 * n)
    }

    /// Smooth ECE of `n` rows, and its bandwidth.
    pub fn fixed_point(&self, n: f64) -> (f64, f64) {
        let above = |sigma: f64| self.error_at(sigma, n) - sigma;
        // Large bandwidths are cheap, so the search comes from above.
        let (mut high, mut g_high) = (1.0, above(1.0));
        if g_high >= 0.0 {
            return (g_high + 1.0, 1.0);
        }
        let (mut low, mut g_low) = (high, g_high);
        while g_low < 0.0 {
            (high, g_high) = (low, g_low);
            if high <= LEAST {
                return (g_high + LEAST, LEAST);
            }
            low = (high / 3.0).max(LEAST);
            g_low = above(low);
        }
        let at = zero_between((low, g_low), (high, g_high), above);
        (self.error_at(at, n), at)
    }
}

/// Where a falling function crosses zero, from two points at which it is known and of which the first lies lower: regula falsi of
/// Illinois, in which an end that stays has its value halved. Strides and frequencies change in steps, and so may the function.
fn zero_between(low: (f64, f64), high: (f64, f64), function: impl Fn(f64) -> f64) -> f64 {
    let ((mut low, mut g_low), (mut high, mut g_high)) = (low, high);
    let mut side = 0;
    let mut at = low;
    for _ in 0..60 {
        if high - low < EXACT {
            break;
        }
        at = (low * g_high - high * g_low) / (g_high - g_low);
        let g = function(at);
        if g.abs() < EXACT {
            break;
        }
        if g > 0.0 {
            (low, g_low) = (at, g);
            if side == 1 {
                g_high *= 0.5;
            }
            side = 1;
        } else {
            (high, g_high) = (at, g);
            if side == -1 {
                g_low *= 0.5;
            }
            side = -1;
        }
    }
    at
}

/// The kernel from every node (a row) to some of the nodes (a column each).
pub(super) fn kernel(sigma: f64, to: &[usize]) -> Array2<f64> {
    let factors = factors(sigma);
    let rows = cosines().slice(s![..factors.len(), ..]);
    let columns = Array2::from_shape_fn((factors.len(), to.len()), |(k, j)| factors[k] * rows[[k, to[j]]]);
    matmul(rows.t(), columns.view())
}

/// The nodes at which smECE is summed, with the weight of each in the integral: the trapezoidal rule.
pub(super) fn mesh(sigma: f64) -> Vec<(usize, f64)> {
    let step = stride(sigma);
    let weight = |j: usize| {
        let end = if j == 0 || j == CELLS { 0.5 } else { 1.0 };
        (j, end * step as f64 / CELLS as f64)
    };
    (0..=CELLS).step_by(step).map(weight).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same integral by a sum over images of every row, 4000 points fine.
    fn slow(f: &[f64], e: &[f64], sigma: f64) -> f64 {
        let image = |t: f64, f: f64| {
            let one = |d: f64| (-0.5 * (d / sigma).powi(2)).exp() / (sigma * (2.0 * std::f64::consts::PI).sqrt());
            (-6..=6).map(|m| one(t - f - 2.0 * f64::from(m)) + one(t + f - 2.0 * f64::from(m))).sum::<f64>()
        };
        let at = |t: f64| f.iter().zip(e).map(|(f, e)| image(t, *f) * e).sum::<f64>() / f.len() as f64;
        (0..4000).map(|i| at((f64::from(i) + 0.5) / 4000.0).abs()).sum::<f64>() / 4000.0
    }

    fn rows(n: usize) -> (Vec<f64>, Vec<f64>, Spectrum) {
        let f: Vec<f64> = (0..n).map(|i| 0.3 + 0.7 * ((i * 37 % n) as f64 / n as f64).powf(0.4)).collect();
        let e: Vec<f64> = (0..n).map(|i| f[i] - f64::from(u8::from(i % 5 != 0))).collect();
        let mut nodes = Array2::zeros((1, CELLS + 1));
        let row = nodes.as_slice_mut().unwrap();
        f.iter().zip(&e).for_each(|(f, e)| Place::of(*f, CELLS).add(row, *e));
        (f.clone(), e, Spectrum::of_rows(&nodes).remove(0))
    }

    #[test]
    fn it_is_the_integral_over_reflected_gaussians() {
        let (f, e, spectrum) = rows(60);
        for sigma in [0.02, 0.05, 0.2, 0.9] {
            let (found, expected) = (spectrum.error_at(sigma, 60.0), slow(&f, &e, sigma));
            assert!((found - expected).abs() < 1e-3 * expected, "{sigma}: {found} for {expected}");
        }
    }

    #[test]
    fn the_fixed_point_is_one_and_smaller_bandwidths_show_more() {
        let (_, _, spectrum) = rows(60);
        let (error, sigma) = spectrum.fixed_point(60.0);
        assert!((error - sigma).abs() < 2e-7 && sigma > LEAST && sigma < 1.0, "{error} {sigma}");
        let grid: Vec<f64> = (1..50).map(|i| spectrum.error_at(f64::from(i) * 0.01, 60.0)).collect();
        assert!(grid.windows(2).all(|w| w[0] >= w[1] - 1e-6));
        // No error at all stays at the smallest bandwidth.
        assert_eq!(Spectrum(vec![0.0; CELLS + 1]).fixed_point(3.0), (0.0, LEAST));
        let sure = Spectrum::of_rows(&Array2::from_shape_fn((1, CELLS + 1), |(_, j)| f64::from(u8::from(j == CELLS))));
        assert!((sure[0].fixed_point(1.0).0 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn the_kernel_has_mass_one_wherever_it_stands() {
        for sigma in [LEAST, 0.03, 0.7] {
            let mesh = mesh(sigma);
            let to: Vec<usize> = mesh.iter().map(|m| m.0).collect();
            let kernel = kernel(sigma, &to);
            for from in [0, 1, CELLS / 3, CELLS] {
                let mass: f64 = mesh.iter().enumerate().map(|(j, (_, w))| w * kernel[[from, j]]).sum();
                assert!((mass - 1.0).abs() < 1e-6, "{sigma}: {mass}");
            }
        }
    }

    #[test]
    fn places_strides_and_frequencies_by_hand() {
        let place = |p: f64| {
            let place = Place::of(p, 8);
            (place.below, place.share)
        };
        let places = [0.0, 0.3125, 0.5, 1.0, 1.5, -0.5].map(place);
        assert_eq!(places, [(0, 0.0), (2, 0.5), (4, 0.0), (7, 1.0), (7, 1.0), (0, 0.0)]);
        let mut nodes = [1.0; 4];
        Place { below: 1, share: 0.25 }.add(&mut nodes, 8.0);
        assert_eq!(nodes, [1.0, 7.0, 3.0, 1.0]);
        assert_eq!([LEAST, 0.03, 0.1, 0.9].map(stride), [1, 4, 16, 64]);
        // 6.3 / πσ is 1026.7, 66.8, 20.1 and 2.2; a constant and one more, and no more than there are.
        assert_eq!([LEAST, 0.03, 0.1, 0.9].map(frequencies), [CELLS + 1, 68, 22, 4]);
        let factors = factors(0.1);
        assert_eq!((factors.len(), factors[0]), (22, 1.0));
        assert!((factors[3] - 2.0 * (-0.45 * std::f64::consts::PI.powi(2) / 10.0).exp()).abs() < 1e-15);
        let mesh = mesh(0.1);
        assert_eq!((mesh.len(), mesh[0], mesh[1]), (65, (0, 1.0 / 128.0), (16, 1.0 / 64.0)));
        assert_eq!((mesh[64], mesh[63]), ((CELLS, 1.0 / 128.0), (CELLS - 16, 1.0 / 64.0)));
    }

    #[test]
    fn fixed_points_are_those_of_bisection() {
        let one = |node: usize, size: f64| {
            let nodes = Array2::from_shape_fn((1, CELLS + 1), |(_, j)| if j == node { size } else { 0.0 });
            Spectrum::of_rows(&nodes).remove(0)
        };
        let alternating = |by: usize, size: f64| {
            let nodes =
                Array2::from_shape_fn((1, CELLS + 1), |(_, j)| if (j / by).is_multiple_of(2) { size } else { -size });
            Spectrum::of_rows(&nodes).remove(0)
        };
        let all =
            [one(300, 0.9), one(1000, 0.02), one(0, 0.004), alternating(40, 0.001), alternating(200, 1e-4), rows(90).2];
        for (k, spectrum) in all.iter().enumerate() {
            let n = if k == 5 { 90.0 } else { 1.0 };
            let (mut low, mut high) = (LEAST, 1.0);
            for _ in 0..40 {
                let middle = 0.5 * (low + high);
                if spectrum.error_at(middle, n) > middle { low = middle } else { high = middle }
            }
            let (error, at) = spectrum.fixed_point(n);
            assert!((at - low).abs() < 1e-6 && (error - at).abs() < 1e-6, "{k}: {at} for {low}, {error}");
        }
        // More than 1 at the largest bandwidth, and less than the smallest one.
        let (error, at) = one(500, 3.0).fixed_point(1.0);
        assert!((error - 3.0).abs() < 1e-9 && at == 1.0, "{error}");
        let (error, at) = one(500, 0.001).fixed_point(1.0);
        assert!((error - 0.001).abs() < 1e-9 && at == LEAST, "{error}");
    }

    /// What a search looks at, and what it returns.
    fn looks(low: (f64, f64), high: (f64, f64), function: impl Fn(f64) -> f64) -> (Vec<f64>, f64) {
        let seen = std::cell::RefCell::new(Vec::new());
        let at = zero_between(low, high, |x| {
            seen.borrow_mut().push(x);
            function(x)
        });
        (seen.into_inner(), at)
    }

    #[test]
    fn a_search_goes_by_regula_falsi_and_halves_the_end_that_stays() {
        let by_hand: [f64; 5] = [1.0 / 4.0, 2.0 / 5.0, 16.0 / 31.0, 283.0 / 568.0, 8930.0 / 17861.0];
        let (seen, at) = looks((0.0, 0.25), (1.0, -0.75), |x| 0.25 - x * x);
        assert!(seen.len() == 7 && seen.iter().zip(by_hand).all(|(x, e)| (x - e).abs() < 1e-12), "{seen:?}");
        assert_eq!(seen[6], at);
        // The same from the other side.
        let (mirrored, _) = looks((0.0, 0.75), (1.0, -0.25), |x| (1.0 - x) * (1.0 - x) - 0.25);
        assert!(mirrored.len() == 7 && mirrored.iter().zip(by_hand).all(|(x, e)| (1.0 - x - e).abs() < 1e-12));
        // Zero is jumped over at 0.3: the search ends where the two points are close enough, counted by the definition.
        let (jumps, at) = looks((0.0, 1.0), (1.0, -1.0), |x| if x < 0.3 { 1.0 } else { -1.0 });
        assert!(jumps.len() == 27 && (at - 0.3).abs() < EXACT, "{jumps:?}");
        // Points and values that are just as far apart as the limit says are not close enough.
        assert_eq!(looks((0.0, 1.0), (EXACT, -1.0), |_| 0.0).0.len(), 1);
        assert_eq!(looks((0.0, 1.0), (0.5 * EXACT, -1.0), |_| 0.0), (vec![], 0.0));
        assert!(looks((0.0, 1.0), (1.0, -1.0), |x| if x == 0.5 { EXACT } else { 0.0 }).0.len() == 2);
    }
}
