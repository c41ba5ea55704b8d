//! Bayesian linear regression on the features: the Laplace approximation of a network's last layer, which is exact for
//! squared error.
//!
//! t = b + wᵀφ + e with b flat, w ~ N(0, I/a), e ~ N(0, σ²), on standardised features and target. With d_k, u_k the
//! spectrum of the features and ρ = a σ² the ridge penalty, the marginal likelihood of n rows is, b integrated out and
//! σ² at its best for ρ,
//!
//! `−½ (n−1) log σ²(ρ) − ½ Σ_k log(1 + d_k/ρ)`, `(n−1) σ²(ρ) = ‖t‖² − Σ_k (u_kᵀt)² d_k/(d_k+ρ)`.
//!
//! Its maximiser in ρ satisfies MacKay's equations γ = a ‖m‖² and (n−1−γ) σ² = ‖t − Φm‖², γ = Σ_k d_k/(d_k+ρ). It is
//! sought on a grid and by sections, which end always; iterating those equations need not where the best prior is w = 0.

use ndarray::{Array1, Array2, ArrayView1, Axis};
use serde::{Deserialize, Serialize};

use super::spectrum::Spectrum;
use super::{FittedBaseline, single, symmetric};
use crate::base::Work;
use crate::base::{Result, Seed, Ticker};
use crate::rows::{Dataset, Intervals, Level, RegressionInputs, RegressionRows, Scaling, Standardizer};
use crate::sparse::ridge::Clip;

/// Gaussian intervals with variance σ² + φᵀSφ, φ counting the intercept; prior and noise by marginal likelihood.
///
/// All rows fit, so nothing stands behind the level but the model: linear in the features, Gaussian errors of one
/// variance. Only the features are used, and nothing is random.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Laplace;

/// The posterior of the last layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedLaplace {
    features: Clip,
    target: Standardizer,
    /// Posterior mean of w.
    mean: Array1<f64>,
    /// Directions that the rows determine, columns × rank, and their d_k.
    directions: Array2<f64>,
    squares: Array1<f64>,
    /// ρ.
    penalty: f64,
    /// σ².
    noise: f64,
    rows: f64,
}

impl Laplace {
    /// The posterior given all rows. The seed is there for the likeness of all baselines; `tick` cancels the fit by
    /// returning false.
    pub fn fit(&self, rows: &RegressionRows<'_>, _seed: Seed, tick: Ticker<'_>) -> Result<FittedLaplace> {
        let work = Work::new(1, "fits", tick);
        let rows = single(rows)?;
        let (features, z) = super::standardise(rows.features)?;
        let data = Dataset::single(z, rows.y.to_owned())?;
        let target = Scaling::fit(&data)?.y;
        let t = target.apply(data.y())?.index_axis_move(Axis(1), 0);
        let spectrum = Spectrum::new(data.x(), &work)?;
        let evidence = Evidence::new(&spectrum, t.view());
        let penalty = evidence.best();
        let noise = evidence.noise(penalty);
        let shrunk = &evidence.projection * &spectrum.squares.mapv(|d| d.sqrt() / (d + penalty));
        let mean = spectrum.right.dot(&shrunk);
        let Spectrum { squares, right: directions, .. } = spectrum;
        work.advance()?;
        Ok(FittedLaplace { features, target, mean, directions, squares, penalty, noise, rows: t.len() as f64 })
    }
}

impl FittedLaplace {
    /// a, the prior precision of a weight between standardised features and the standardised target.
    pub fn prior_precision(&self) -> f64 {
        self.penalty / self.noise
    }

    /// σ², in units of the target.
    pub fn noise_variance(&self) -> f64 {
        self.noise * self.target.sd()[0].powi(2)
    }

    /// φᵀSφ / σ² with the intercept's 1/n; directions that no row has seen keep their prior variance.
    fn spread(&self, z: ArrayView1<'_, f64>) -> f64 {
        let along = self.directions.t().dot(&z).mapv(|c| c * c);
        let seen: f64 = along.iter().zip(&self.squares).map(|(c, d)| c / (d + self.penalty)).sum();
        let all_seen = self.squares.len() == z.len();
        let unseen = if all_seen { 0.0 } else { (z.dot(&z) - along.sum()).max(0.0) / self.penalty };
        1.0 / self.rows + seen + unseen
    }
}

impl FittedBaseline for FittedLaplace {
    fn is_bounded(&self, _level: Level) -> bool {
        true
    }

    fn of_tiles(&self, rows: &RegressionInputs<'_>, level: Level) -> Result<Intervals> {
        let z = self.features.apply(rows.features)?;
        let (centre, unit) = (self.target.mean()[0], self.target.sd()[0]);
        let prediction = z.outer_iter().map(|z| centre + unit * z.dot(&self.mean)).collect();
        let sd = |z| unit * (self.noise * (1.0 + self.spread(z))).sqrt();
        let half_width: Array1<f64> = z.outer_iter().map(|z| level.z() * sd(z)).collect();
        Ok(symmetric(prediction, &half_width, level))
    }
}

/// The marginal likelihood along ρ.
struct Evidence<'a> {
    squares: &'a Array1<f64>,
    /// u_kᵀt.
    projection: Array1<f64>,
    /// The part of ‖t‖² that no feature reaches.
    rest: f64,
    rows: f64,
}

impl<'a> Evidence<'a> {
    fn new(spectrum: &'a Spectrum, t: ArrayView1<'_, f64>) -> Self {
        let projection = spectrum.left.t().dot(&t);
        let rest = (&t - &spectrum.left.dot(&projection)).mapv(|r| r * r).sum();
        Evidence { squares: &spectrum.squares, projection, rest, rows: t.len() as f64 }
    }

    /// σ²(ρ); not zero, even where the features give the target exactly.
    fn noise(&self, penalty: f64) -> f64 {
        let left = self.projection.iter().zip(self.squares).map(|(a, d)| a * a * penalty / (d + penalty));
        ((self.rest + left.sum::<f64>()) / (self.rows - 1.0)).max(f64::EPSILON.powi(2))
    }

    fn log(&self, log_penalty: f64) -> f64 {
        let penalty = log_penalty.exp();
        let volume: f64 = self.squares.iter().map(|d| (d / penalty).ln_1p()).sum();
        -0.5 * ((self.rows - 1.0) * self.noise(penalty).ln() + volume)
    }

    /// The ρ of the largest marginal likelihood between 1e-6 n, beyond which single-precision features mean nothing,
    /// and 1e8 n.
    fn best(&self) -> f64 {
        let (top, step) = ((1e8 * self.rows).ln(), 0.5);
        let count = (1e14f64.ln() / step) as usize;
        let at = |i: usize| top - step * i as f64;
        let values: Vec<f64> = (0..=count).map(|i| self.log(at(i))).collect();
        // Descending, so that the simpler model wins a tie.
        let best = (0..=count).fold(0, |b, i| if values[i] > values[b] { i } else { b });
        maximise(|r| self.log(r), at((best + 1).min(count)), at(best.saturating_sub(1))).exp()
    }
}

/// A maximiser in [low, high] by golden sections, to 1e-10 of the interval.
fn maximise(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    let golden = 0.5 * (5f64.sqrt() - 1.0);
    for _ in 0..48 {
        let (a, b) = (high - golden * (high - low), low + golden * (high - low));
        if f(a) > f(b) { high = b } else { low = a }
    }
    0.5 * (low + high)
}
