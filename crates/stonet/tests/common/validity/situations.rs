//! The situations, and the cells of the full run in the order of their cost.

use stonet::classification::SetScheme;
use stonet::{ClassMethod, Kind};

use super::labels;
use super::worlds::{self, Features, Mean, Noise, Parts, Prediction, Target};
use super::{Cell, Method, World};

type R = worlds::World;
type C = labels::World;

const fn r(name: &'static str) -> R {
    R { name, ..worlds::PLAIN }
}

const fn sized(name: &'static str, rows: usize) -> R {
    R { rows, ..r(name) }
}

const fn noisy(name: &'static str, noise: Noise) -> R {
    R { noise, ..r(name) }
}

const fn valued(name: &'static str, target: Target) -> R {
    R { target, ..r(name) }
}

const fn featured(name: &'static str, x: Features) -> R {
    R { x, ..r(name) }
}

const fn predicted(name: &'static str, prediction: Prediction) -> R {
    R { prediction, ..r(name) }
}

const fn parted(name: &'static str, parts: Parts, rows: usize) -> R {
    R { parts, rows, ..r(name) }
}

/// Situations of regressions.
pub const REGRESSIONS: &[R] = &[
    worlds::PLAIN,
    sized("20 rows", 20),
    sized("31 rows", 31),
    sized("53 rows", 53),
    sized("300 rows", 300),
    sized("1000 rows", 1000),
    sized("2000 rows", 2000),
    sized("5000 rows", 5000),
    R { features: 1, ..r("one feature") },
    R { features: 60, rows: 40, ..r("60 features, 40 rows") },
    R { features: 300, ..r("300 features, 100 rows") },
    valued("y rounded to 0.5", Target::Rounded(0.5)),
    valued("y rounded to 0.1", Target::Rounded(0.1)),
    valued("whole numbers", Target::Rounded(1.0)),
    valued("y is 0 or 1", Target::Binary),
    valued("counts, most of them 0", Target::Counts),
    R { bounded: true, ..valued("counts with a known bound", Target::Counts) },
    noisy("Cauchy noise", Noise::Cauchy),
    noisy("exponential noise", Noise::Exponential),
    noisy("log-normal noise", Noise::LogNormal),
    noisy("1 % spikes", Noise::Spikes),
    noisy("noise with two peaks", Noise::TwoPeaks),
    noisy("noise that grows", Noise::Growing),
    R { symmetric: true, ..noisy("noise that grows, symmetric ends", Noise::Growing) },
    R { mean: Mean::Zero, ..r("nothing to predict") },
    valued("offset 1e9", Target::Shifted { offset: 1e9, scale: 1.0 }),
    valued("scale 1e-9", Target::Shifted { offset: 0.0, scale: 1e-9 }),
    valued("scale 1e9, offset -1e12", Target::Shifted { offset: -1e12, scale: 1e9 }),
    R { features: 10, ..featured("features twice", Features::Copies) },
    featured("constant features", Features::Constant),
    featured("features powers of 1000 apart", Features::Scales),
    featured("Cauchy features", Features::Cauchy),
    featured("features of a grid", Features::Grid),
    R { target: Target::Rounded(1.0), ..featured("features of a grid, whole numbers", Features::Grid) },
    // Scores are exactly equal only here: rows with the same features and target.
    R {
        features: 1,
        target: Target::Rounded(1.0),
        prediction: Prediction::Missing,
        ..featured("equal rows, whole numbers, no prediction", Features::Grid)
    },
    predicted("no prediction", Prediction::Missing),
    predicted("constant prediction", Prediction::Constant),
    predicted("prediction without information", Prediction::Worthless),
    predicted("prediction 1000 times too large", Prediction::Far),
    predicted("prediction exact", Prediction::Exact),
    R { noise: Noise::None, mean: Mean::Linear, ..r("y linear without noise") },
    R { noise: Noise::None, ..predicted("y bent without noise, no prediction", Prediction::Missing) },
    predicted("network's own sd", Prediction::WithSd),
    R { noise: Noise::Growing, ..predicted("network's own quantiles", Prediction::WithQuantiles) },
    R { outputs: 2, ..r("two targets") },
    R { outputs: 3, noise: Noise::Exponential, ..r("three targets, exponential noise") },
    parted("groups kept together", Parts::Together, 150),
    R { target: Target::Rounded(1.0), ..parted("groups kept together, whole numbers", Parts::Together, 150) },
    parted("within three groups", Parts::Within, 200),
    R { target: Target::Rounded(1.0), ..parted("within three groups, whole numbers", Parts::Within, 200) },
    parted("functions", Parts::Functions, 200),
    R { target: Target::Rounded(1.0), ..parted("functions, whole numbers", Parts::Functions, 200) },
    R { noise: Noise::Growing, ..parted("new rows tilted, true weights", Parts::Tilted, 300) },
    R {
        noise: Noise::Growing,
        target: Target::Rounded(1.0),
        ..parted("new rows tilted, true weights, whole numbers", Parts::Tilted, 300)
    },
];

const fn c(name: &'static str) -> C {
    C { name, ..labels::PLAIN }
}

/// Situations of classifications.
pub const CLASSES: &[C] = &[
    labels::PLAIN,
    C { classes: 2, rows: 20, ..c("2 classes, 20 rows") },
    C { rows: 30, ..c("5 classes, 30 rows") },
    C { classes: 2, ..c("2 classes") },
    C { classes: 2, tied: true, ..c("2 classes, ties") },
    C { tied: true, ..c("5 classes, ties") },
    C { tied: true, rows: 600, ..c("5 classes, ties, 600 rows") },
    C { rows: 600, ..c("5 classes, 600 rows") },
    C { rows: 5000, ..c("5 classes, 5000 rows") },
    C { skew: 1.2, absent: Some(1), rows: 300, ..c("rare classes, one absent") },
    C { spread: 0.0, ..c("classes that nothing tells apart") },
    C { spread: 200.0, ..c("classes that are certain") },
    C { sharpness: 50.0, ..c("network far too sure") },
    C { sharpness: -1.0, ..c("network that is wrong") },
    C { offset: 1e6, ..c("logits with offset 1e6") },
    C { classes: 40, rows: 30, ..c("40 classes, 30 rows") },
    C { classes: 50, skew: 0.1, rows: 1000, ..c("50 classes, 1000 rows") },
    C { classes: 300, skew: 0.01, rows: 400, ..c("300 classes, 400 rows") },
    C { classes: 3, method: ClassMethod::Isotonic, rows: 150, ..c("3 classes, isotonic") },
    C { classes: 2, method: ClassMethod::VennAbers, rows: 150, ..c("2 classes, Venn-Abers") },
    C { classes: 3, method: ClassMethod::SkipLinear, ..c("3 classes, sparse linear map") },
    C { classes: 3, method: ClassMethod::Stack, ..c("3 classes, stack") },
];

pub const SPLIT: SetScheme = SetScheme::Split { share: 0.5 };
pub const CV: SetScheme = SetScheme::CvPlus { folds: 5 };

const OF_CLASSES: [Method; 4] =
    [Method::Sets(SPLIT), Method::Sets(CV), Method::Accuracy(None), Method::Accuracy(Some(CV))];

fn kinds(world: &R) -> Vec<Kind> {
    let has_place = |kind: &Kind| match (kind, world.parts) {
        (Kind::Split, _) => true,
        (_, Parts::Functions) => false,
        (Kind::Paper | Kind::Cv, Parts::Tilted) => false,
        // Eve's law has no ranks within groups, and no place for the network's own uncertainty.
        (Kind::Paper | Kind::Cv, parts) => {
            parts != Parts::Within && !matches!(world.prediction, Prediction::WithSd | Prediction::WithQuantiles)
        }
        _ => true,
    };
    Kind::ALL.into_iter().filter(has_place).collect()
}

impl Cell {
    /// Relative cost of a fit, roughly in milliseconds of processor: cheap cells come first. Kinds without a promise
    /// come last.
    pub fn cost(&self) -> f64 {
        let rows = self.rows() as f64;
        match (self.world, self.method) {
            (World::Regression(w), Method::Intervals(kind)) => {
                let wide = 1.0 + w.features as f64 / 100.0;
                let growth = w.outputs as f64 * wide * (60.0 + rows.min(300.0) + 0.2 * rows);
                growth
                    * match kind {
                        Kind::Fast => 0.02,
                        Kind::Split => 0.5,
                        Kind::CvPlus => 0.7,
                        Kind::Stack => 1.2,
                        _ => 100.0,
                    }
            }
            (World::Classes(w), _) => {
                let method = if matches!(w.method, ClassMethod::Stack) { 50.0 } else { 1.0 };
                method * 0.002 * w.classes as f64 * (rows + 200.0)
            }
            _ => 0.0,
        }
    }

    /// Whether something is promised, or expected, of it.
    pub fn is_judged(&self) -> bool {
        !matches!(self.method, Method::Intervals(Kind::Paper | Kind::Cv))
    }
}

/// All cells, cheap ones first.
pub fn cells() -> Vec<Cell> {
    let regressions = REGRESSIONS.iter().flat_map(|w| {
        kinds(w).into_iter().map(|kind| Cell { world: World::Regression(*w), method: Method::Intervals(kind) })
    });
    let classes =
        CLASSES.iter().flat_map(|w| OF_CLASSES.into_iter().map(|method| Cell { world: World::Classes(*w), method }));
    let mut all: Vec<Cell> = regressions.chain(classes).collect();
    all.sort_by(|a, b| a.cost().total_cmp(&b.cost()));
    all
}
