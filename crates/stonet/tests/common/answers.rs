//! Heads whose true risks are known: draws of their rows, and the risk of a rule on many fresh ones.

use ndarray::{Array1, Array2};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use stonet::control::{Control, Controlled, Evidence, Measure, Rule, Want};
use stonet::{Intervals, Labels, Level, Seed};

/// A wish about one of the heads.
pub struct Wish {
    pub text: &'static str,
    pub confidence: Option<f64>,
    /// Whether the head gives intervals, and not classes.
    pub intervals: bool,
    /// Whether many rows have the same probabilities.
    pub ties: bool,
}

const fn wish(text: &'static str, confidence: Option<f64>, intervals: bool, ties: bool) -> Wish {
    Wish { text, confidence, intervals, ties }
}

impl Wish {
    /// Every measure with a confidence, with ties and without, and every one that can do without a confidence.
    pub const ALL: [Wish; 12] = [
        wish("accuracy>=0.9", Some(0.95), false, false),
        wish("accuracy>=0.9", Some(0.95), false, true),
        wish("precision[c]>=0.85", Some(0.95), false, false),
        wish("precision[c]>=0.85", Some(0.95), false, true),
        wish("recall[c]>=0.9", Some(0.95), false, false),
        wish("recall[c]>=0.9", Some(0.95), false, true),
        wish("wrong<=0.05", Some(0.95), false, false),
        wish("coverage>=0.93", Some(0.95), true, false),
        wish("wrong<=0.05", Some(0.95), true, false),
        wish("recall[c]>=0.9", None, false, false),
        wish("wrong<=0.05", None, false, false),
        wish("wrong<=0.05", None, true, false),
    ];

    pub fn want(&self) -> Want {
        self.text.parse().unwrap()
    }

    /// What becomes of the wish on so many rows.
    pub fn controlled(&self, rows: usize, seed: Seed) -> Controlled {
        let confidence = self.confidence.map(|c| Level::new(c).unwrap());
        let control = Control { want: self.want(), confidence, seed: 1 };
        control.decide(&self.evidence(rows, seed)).unwrap()
    }

    pub fn rule(&self, rows: usize, seed: Seed) -> Option<Rule> {
        self.controlled(rows, seed).rule.ok()
    }

    /// So many rows of the head.
    pub fn evidence(&self, rows: usize, seed: Seed) -> Evidence {
        if self.intervals {
            let draw = IntervalDraw::new(rows, seed);
            let mut evidence = Evidence::of_intervals(&self.want(), draw.intervals.level).unwrap();
            evidence.add_intervals(&draw.intervals, draw.y.view()).unwrap();
            return evidence;
        }
        let draw = ClassDraw::new(rows, self.ties, seed);
        let mut evidence = Evidence::of_classes(&self.want(), &classes()).unwrap();
        evidence.add_classes(draw.p.view(), &draw.y).unwrap();
        evidence
    }
}

pub fn classes() -> Labels {
    Labels::named(["a", "b", "c"].map(String::from).to_vec()).unwrap()
}

fn softmax(z: [f64; 3]) -> [f64; 3] {
    let e = z.map(f64::exp);
    e.map(|v| v / e.iter().sum::<f64>())
}

/// Rows of a classifier that is too sure of itself: the truth is the softmax of z, and it says that of 1.4 z, with ties that
/// of z in steps of ¾.
pub struct ClassDraw {
    pub p: Array2<f64>,
    pub truth: Vec<[f64; 3]>,
    pub y: Vec<usize>,
}

impl ClassDraw {
    pub fn new(rows: usize, ties: bool, seed: Seed) -> Self {
        let mut rng = seed.rng();
        let (mut p, mut truth, mut y) = (Array2::zeros((rows, 3)), Vec::new(), Vec::new());
        for i in 0..rows {
            let z: [f64; 3] = std::array::from_fn(|_| 3.0 * Distribution::<f64>::sample(&StandardNormal, &mut rng));
            let said = softmax(z.map(|z| 1.4 * if ties { (z / 0.75).round() * 0.75 } else { z }));
            said.iter().enumerate().for_each(|(k, v)| p[[i, k]] = *v);
            let (q, u) = (softmax(z), rng.random::<f64>());
            y.push(usize::from(u > q[0]) + usize::from(u > q[0] + q[1]));
            truth.push(q);
        }
        ClassDraw { p, truth, y }
    }
}

/// Intervals of level 0.9 that are too long where the noise is small, and too short where it is large.
pub struct IntervalDraw {
    pub intervals: Intervals,
    pub missed: Vec<f64>,
    pub y: Array1<f64>,
}

impl IntervalDraw {
    pub fn new(rows: usize, seed: Seed) -> Self {
        let mut rng = seed.rng();
        let (mut half, mut missed, mut y) = (Vec::new(), Vec::new(), Vec::new());
        let z = Level::new(0.9).unwrap().z();
        for _ in 0..rows {
            let sd = 0.2 + 2.0 * rng.random::<f64>();
            half.push(z * sd.powf(0.7));
            missed.push(2.0 * upper_tail(z * sd.powf(-0.3)));
            y.push(sd * Distribution::<f64>::sample(&StandardNormal, &mut rng));
        }
        let half = Array2::from_shape_vec((rows, 1), half).unwrap();
        let (prediction, lower) = (Array2::zeros((rows, 1)), half.mapv(|h| -h));
        let intervals = Intervals { prediction, lower, upper: half, level: Level::new(0.9).unwrap() };
        IntervalDraw { intervals, missed, y: y.into() }
    }
}

/// P(Z > z), by the level whose two-sided quantile is z.
fn upper_tail(z: f64) -> f64 {
    let (mut low, mut high) = (1e-12, 1.0 - 1e-12);
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if Level::new(middle).unwrap().z() < z { low = middle } else { high = middle }
    }
    0.5 * (1.0 - 0.5 * (low + high))
}

/// Fresh rows with the probability that each is marked, so that no label has to be drawn: sorted, with running sums.
struct Sorted {
    sure: Vec<f64>,
    marked: Vec<f64>,
}

impl Sorted {
    fn new(mut rows: Vec<(f64, f64)>) -> Self {
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        let running = rows.iter().scan(0.0, |sum, r| {
            *sum += r.1;
            Some(*sum)
        });
        Sorted { marked: [0.0].into_iter().chain(running).collect(), sure: rows.iter().map(|r| r.0).collect() }
    }
}

/// Many fresh rows of every head.
pub struct Population {
    /// By the largest probability, then by class c; without ties and with them.
    largest: [Sorted; 2],
    class: [Sorted; 2],
    intervals: Sorted,
}

impl Population {
    pub fn new(rows: usize, seed: Seed) -> Self {
        let draws = [false, true].map(|ties| ClassDraw::new(rows, ties, seed.child(1)));
        let largest = draws.each_ref().map(|d| {
            let top = |i: usize| (1..3).fold(0, |best, k| if d.p[[i, k]] > d.p[[i, best]] { k } else { best });
            Sorted::new((0..rows).map(|i| (d.p[[i, top(i)]], 1.0 - d.truth[i][top(i)])).collect())
        });
        let class = draws.each_ref().map(|d| Sorted::new((0..rows).map(|i| (d.p[[i, 2]], d.truth[i][2])).collect()));
        let d = IntervalDraw::new(rows, seed.child(2));
        let length = |i: usize| d.intervals.lower[[i, 0]] - d.intervals.upper[[i, 0]];
        let intervals = Sorted::new((0..rows).map(|i| (length(i), d.missed[i])).collect());
        Population { largest, class, intervals }
    }

    /// The rows of a wish, and where those that a threshold answers begin.
    fn answered(&self, wish: &Wish, threshold: Option<f64>) -> (&Sorted, usize) {
        let rows = match (wish.intervals, wish.want().measure().of_class()) {
            (true, _) => &self.intervals,
            (false, true) => &self.class[usize::from(wish.ties)],
            (false, false) => &self.largest[usize::from(wish.ties)],
        };
        (rows, threshold.map_or(0, |t| rows.sure.partition_point(|s| *s < t)))
    }

    /// The share of rows that a rule with this threshold answers.
    pub fn share(&self, wish: &Wish, threshold: Option<f64>) -> f64 {
        let (rows, below) = self.answered(wish, threshold);
        1.0 - below as f64 / rows.sure.len() as f64
    }

    /// The risk of a rule with this threshold.
    pub fn risk(&self, wish: &Wish, threshold: Option<f64>) -> f64 {
        let (rows, below) = self.answered(wish, threshold);
        let (n, all) = (rows.sure.len(), rows.marked[rows.sure.len()]);
        let (answered, above) = ((n - below) as f64, all - rows.marked[below]);
        match wish.want().measure() {
            Measure::Recall | Measure::Fnr => rows.marked[below] / all,
            Measure::Wrong => above / n as f64,
            // The marks of class c are its probabilities.
            Measure::Precision => 1.0 - above / answered,
            Measure::Accuracy | Measure::Coverage => above / answered,
        }
    }
}
