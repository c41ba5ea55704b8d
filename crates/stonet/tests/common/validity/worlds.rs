//! Rows of regressions: features, targets, the network's predictions and its own uncertainty, and groups.

use ndarray::{Array1, Array2, Axis};
use rand::RngExt;
use rand_distr::{Cauchy, Distribution, Exp1, LogNormal, StandardNormal};
use stonet::Seed;
use stonet::base::Rng;

/// How features are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Features {
    Normal,
    /// The second half repeats the first.
    Copies,
    /// All but the first are constant.
    Constant,
    /// Powers of 1000 apart.
    Scales,
    Cauchy,
    /// −1, 0 and 1, so that rows are often equal.
    Grid,
}

/// The mean of the target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mean {
    Bent,
    Linear,
    Zero,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Noise {
    Normal,
    /// Its scale is exp of a feature.
    Growing,
    Cauchy,
    Exponential,
    /// exp(2 z).
    LogNormal,
    /// A hundredth of the rows is 100 away.
    Spikes,
    TwoPeaks,
    None,
}

/// What is made of mean and noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    Plain,
    /// Multiples of this.
    Rounded(f64),
    /// 0 or 1.
    Binary,
    /// Whole numbers from 0 on, most of them 0.
    Counts,
    Shifted {
        offset: f64,
        scale: f64,
    },
}

/// What the network says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Prediction {
    Good,
    Missing,
    Constant,
    /// The target itself.
    Exact,
    /// Noise of its own.
    Worthless,
    /// 1000 times too large and off by 1e5.
    Far,
    /// Good, with a standard deviation.
    WithSd,
    /// Good, with two quantiles.
    WithQuantiles,
}

/// What holds for parts of the rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Parts {
    None,
    /// Groups of one to seven rows that share an effect and stay together.
    Together,
    /// Three groups of unequal size and noise, in each of which intervals are to cover.
    Within,
    /// Two overlapping groups and a weight.
    Functions,
    /// New rows whose first feature is larger, and a head that is adapted by the true ratio of densities.
    Tilted,
}

/// How much larger the first feature of new rows is: their density is exp(TILT · x) times a constant and that of others.
pub const TILT: f64 = 0.8;

/// How rows are drawn.
#[derive(Debug, Clone, Copy)]
pub struct World {
    pub name: &'static str,
    pub rows: usize,
    pub features: usize,
    pub x: Features,
    pub mean: Mean,
    pub noise: Noise,
    pub target: Target,
    pub outputs: usize,
    pub prediction: Prediction,
    pub parts: Parts,
    /// Added to the first feature.
    pub moved: f64,
    /// Whether the target is known to be at least 0.
    pub bounded: bool,
    pub symmetric: bool,
}

pub const PLAIN: World = World {
    name: "100 rows",
    rows: 100,
    features: 5,
    x: Features::Normal,
    mean: Mean::Bent,
    noise: Noise::Normal,
    target: Target::Plain,
    outputs: 1,
    prediction: Prediction::Good,
    parts: Parts::None,
    moved: 0.0,
    bounded: false,
    symmetric: false,
};

/// Rows that were drawn.
pub struct Rows {
    pub x: Array2<f64>,
    pub y: Array2<f64>,
    pub prediction: Option<Array2<f64>>,
    /// A standard deviation, or two quantiles.
    pub own: Vec<Array2<f64>>,
    /// Which rows stay together.
    pub units: Option<Vec<usize>>,
    /// Names of the groups to cover within.
    pub names: Option<Vec<String>>,
    pub functions: Option<Array2<f64>>,
}

pub const GROUPS: [&str; 3] = ["a", "b", "c"];
/// Shares of the groups, and the factor of their noise.
const OF_GROUPS: [(f64, f64); 3] = [(0.5, 0.3), (0.3, 1.0), (0.2, 3.0)];
/// The mean of each function.
pub const FUNCTION_MEANS: [f64; 3] = [0.4, 0.3, 0.5];

fn normal(rng: &mut Rng) -> f64 {
    StandardNormal.sample(rng)
}

impl World {
    /// Whether scores of rows are never equal.
    pub fn has_no_ties(&self) -> bool {
        let exact = self.prediction == Prediction::Exact || self.noise == Noise::None;
        matches!(self.target, Target::Plain | Target::Shifted { .. }) && !exact
    }

    pub fn draw(&self, rows: usize, seed: Seed) -> Rows {
        let mut rng = seed.rng();
        let x = self.features(rows, &mut rng);
        let groups: Vec<usize> = (0..rows).map(|_| group(rng.random())).collect();
        let functions = (self.parts == Parts::Functions).then(|| functions(rows, &mut rng));
        let (units, effects) = together(rows, self.parts == Parts::Together, &mut rng);
        let (mut y, mut prediction) = (Array2::zeros((rows, self.outputs)), Array2::zeros((rows, self.outputs)));
        let mut scales = Array2::zeros((rows, self.outputs));
        for (i, j) in (0..rows).flat_map(|i| (0..self.outputs).map(move |j| (i, j))) {
            let f = x.row(i);
            let of = |k: usize| f[(k + j) % self.features].clamp(-1e3, 1e3);
            let mean = match self.mean {
                Mean::Bent => (2.0 * of(0) - of(1)).tanh() + 0.5 * of(2) + 0.3 * of(0) * of(1),
                Mean::Linear => of(0) - 0.5 * of(1),
                Mean::Zero => 0.0,
            };
            let mut scale = if self.parts == Parts::Within { OF_GROUPS[groups[i]].1 } else { 1.0 };
            if let Some(functions) = &functions {
                scale *= 1.0 + 2.0 * functions[[i, 0]] + functions[[i, 1]] + functions[[i, 2]];
            }
            if self.noise == Noise::Growing {
                scale *= (0.8 * of(0)).clamp(-5.0, 5.0).exp();
            }
            scales[[i, j]] = 0.5 * scale;
            let value = mean + effects[i] + 0.5 * scale * self.noise(&mut rng);
            let error = 0.3 * of(3) + 0.2 * normal(&mut rng);
            y[[i, j]] = self.target.of(value);
            prediction[[i, j]] = match self.prediction {
                Prediction::Exact => y[[i, j]],
                Prediction::Constant => 0.7,
                Prediction::Worthless => 3.0 * normal(&mut rng),
                Prediction::Far => 1000.0 * self.target.smooth(mean + error) + 1e5,
                _ => self.target.smooth(mean + error),
            };
        }
        // Its own uncertainty is too small by a half.
        let own = match self.prediction {
            Prediction::WithSd => vec![&scales * 0.5],
            Prediction::WithQuantiles => vec![&prediction - &scales, &prediction + &scales],
            _ => Vec::new(),
        };
        Rows {
            x,
            y,
            prediction: (self.prediction != Prediction::Missing).then_some(prediction),
            own,
            units,
            names: (self.parts == Parts::Within).then(|| groups.iter().map(|&g| GROUPS[g].to_owned()).collect()),
            functions,
        }
    }

    fn features(&self, rows: usize, rng: &mut Rng) -> Array2<f64> {
        let cauchy = Cauchy::new(0.0, 1.0).expect("a positive scale");
        let mut x = Array2::from_shape_simple_fn((rows, self.features), || match self.x {
            Features::Cauchy => cauchy.sample(rng),
            Features::Grid => f64::from(rng.random_range(-1..=1)),
            _ => normal(rng),
        });
        x.column_mut(0).mapv_inplace(|v| v + self.moved);
        for k in 0..self.features {
            match self.x {
                Features::Copies if k >= self.features / 2 => {
                    let copy = x.column(k - self.features / 2).to_owned();
                    x.column_mut(k).assign(&copy);
                }
                Features::Constant if k > 0 => x.column_mut(k).fill(3.0),
                Features::Scales => x.column_mut(k).mapv_inplace(|v| v * 1000f64.powi(k as i32 - 2)),
                _ => {}
            }
        }
        x
    }

    fn noise(&self, rng: &mut Rng) -> f64 {
        match self.noise {
            Noise::Normal | Noise::Growing => normal(rng),
            Noise::Cauchy => Cauchy::new(0.0, 1.0).expect("a positive scale").sample(rng),
            Noise::Exponential => Exp1.sample(rng),
            Noise::LogNormal => LogNormal::new(0.0, 2.0).expect("a positive scale").sample(rng),
            Noise::Spikes => normal(rng) + if rng.random::<f64>() < 0.01 { 200.0 } else { 0.0 },
            Noise::TwoPeaks => 0.3 * normal(rng) + if rng.random::<f64>() < 0.5 { 3.0 } else { -3.0 },
            Noise::None => 0.0,
        }
    }
}

impl Target {
    fn of(self, value: f64) -> f64 {
        match self {
            Target::Rounded(step) => (value / step).round() * step,
            Target::Binary => f64::from(u8::from(value > 0.3)),
            Target::Counts => (2.0 * value).max(0.0).floor(),
            other => other.smooth(value),
        }
    }

    /// What a network that is trained on such targets comes near to.
    fn smooth(self, value: f64) -> f64 {
        match self {
            Target::Shifted { offset, scale } => offset + scale * value,
            Target::Counts => (2.0 * value).max(0.0),
            _ => value,
        }
    }
}

fn group(mut u: f64) -> usize {
    let below = |&(share, _): &(f64, f64)| {
        u -= share;
        u < 0.0
    };
    OF_GROUPS.iter().position(below).unwrap_or(0)
}

fn functions(rows: usize, rng: &mut Rng) -> Array2<f64> {
    Array2::from_shape_fn((rows, 3), |(_, k)| match k {
        2 => rng.random::<f64>(),
        k => f64::from(u8::from(rng.random::<f64>() < FUNCTION_MEANS[k])),
    })
}

/// The unit of every row and the effect that its rows share.
fn together(rows: usize, wanted: bool, rng: &mut Rng) -> (Option<Vec<usize>>, Array1<f64>) {
    if !wanted {
        return (None, Array1::zeros(rows));
    }
    let (mut units, mut effects) = (Vec::new(), Vec::new());
    for unit in 0.. {
        let (size, effect) = (rng.random_range(1..=7), normal(rng));
        units.extend(vec![unit; size]);
        effects.extend(vec![effect; size]);
        if units.len() >= rows {
            break;
        }
    }
    units.truncate(rows);
    effects.truncate(rows);
    (Some(units), Array1::from(effects))
}

/// The share of hits: of rows, or of a row drawn at random from a unit.
pub fn share_of(hits: &[bool], units: Option<&[usize]>) -> f64 {
    let hit = |i: usize| f64::from(u8::from(hits[i]));
    let Some(units) = units else { return (0..hits.len()).map(hit).sum::<f64>() / hits.len() as f64 };
    let count = units.iter().max().map_or(0, |u| u + 1);
    let (mut sums, mut sizes) = (vec![0.0; count], vec![0.0; count]);
    units.iter().enumerate().for_each(|(i, &u)| {
        sums[u] += hit(i);
        sizes[u] += 1.0;
    });
    sums.iter().zip(&sizes).map(|(s, n)| s / n).sum::<f64>() / count as f64
}

/// Whether a row has all of its targets covered.
pub fn all_of(covered: &Array2<bool>) -> Vec<bool> {
    covered.axis_iter(Axis(0)).map(|row| row.iter().all(|h| *h)).collect()
}
