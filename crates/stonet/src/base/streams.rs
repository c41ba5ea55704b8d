//! Random streams by name: every number under which a part of the work takes its own
//! [`Seed::child`](crate::base::Seed::child).
//!
//! A scope lists the streams that share one parent seed, so no two of them may have the same number; a test holds that.
//! The streams of the other crates are listed here too, because a command and the fit that it runs start from the same
//! seed. The numbers are part of every seeded result: a new stream takes a new number, and an existing one keeps its
//! own.

/// The number of a stream.
pub type One = u64;

/// Numbered streams: `first`, `first + 1`, … for the first `room` of them; the others lie above every single stream.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    first: u64,
    room: u64,
}

impl Family {
    /// Above every single stream and every `first + room`; families of one scope lie apart.
    const FAR: u64 = 1 << 40;

    const fn new(first: u64, room: u64) -> Self {
        Family { first, room }
    }

    /// The number of its i-th stream, from 0.
    pub const fn at(self, i: usize) -> u64 {
        let i = i as u64;
        if i < self.room { self.first + i } else { Self::FAR * (1 + self.first) + i }
    }
}

/// A family that shares its scope with nothing above it.
const OPEN: u64 = 1 << 32;

#[cfg(test)]
trait Numbers {
    fn numbers(self) -> Vec<u64>;
}

#[cfg(test)]
impl Numbers for One {
    fn numbers(self) -> Vec<u64> {
        vec![self]
    }
}

#[cfg(test)]
impl Numbers for Family {
    fn numbers(self) -> Vec<u64> {
        (0..30_000).map(|i| self.at(i)).collect()
    }
}

macro_rules! scopes {
    ($($(#[$about:meta])* $scope:ident { $($(#[$doc:meta])* $name:ident: $type:ident = $value:expr;)* })*) => {
        $(
            $(#[$about])*
            pub mod $scope {
                #[allow(unused_imports)]
                use super::{Family, One, OPEN};
                $($(#[$doc])* pub const $name: $type = $value;)*
            }
        )*

        /// Every scope with its streams by name, and the numbers of each.
        #[cfg(test)]
        fn all() -> Vec<(&'static str, Vec<(&'static str, Vec<u64>)>)> {
            vec![$((stringify!($scope), vec![$((stringify!($name), $scope::$name.numbers())),*])),*]
        }
    };
}

scopes! {
    /// Of the seed of a fit, beside the streams of the fit itself.
    estimate {
        /// Rows whose fit is timed.
        SAMPLE: One = 1 << 39;
    }

    /// Of the seed of a post-StoNet regression: `stack`, `fast`, `cv+` and `split`.
    regression {
        /// One stack per target.
        TARGETS: Family = Family::new(0, SAMPLE);
        /// The rows that `stonet fit --sample` draws.
        SAMPLE: One = 0x5a4d;
    }
    /// Of a stack of one target.
    stack {
        /// Fits outside one fold or two, numbered as k · first + second, or by the fold.
        FITS: Family = Family::new(0, WHOLE);
        /// The fit of all rows of a split.
        WHOLE: One = 1000;
        /// The division into folds.
        FOLDS: One = 2000;
        /// The division into rows that fit and rows that are scored.
        SHARES: One = 2001;
        /// The folds that choose the shape of residuals, by the fold of the stack.
        SHAPES: Family = Family::new(3000, OPEN);
    }
    /// Of the seed of an update of a head.
    update {
        /// The order of calibration rows among each other, by target: all are older than rows that join.
        AGES: Family = Family::new(0, 1000);
        /// The fold that a row joins, by the number of rows that joined before it.
        FOLDS: Family = Family::new(1000, OPEN);
    }
    /// Of the choice of one shape of residuals.
    shape {
        /// The folds.
        FOLDS: One = 0;
        /// The rows to learn from, where there are more than enough.
        SAMPLE: One = 1;
    }
    /// Of the members of a stack that are fitted on the same rows.
    members {
        /// The StoNet.
        STONET: One = 0;
        /// The StoNet that corrects the network.
        SKIP: One = 1;
        /// Both of them, from other starting weights.
        SECOND: One = 2;
    }
    /// Of one StoNet and its κ path.
    stonet {
        /// The starting weights.
        START: One = 0;
        /// The fits along the path.
        PATH: One = 1;
    }
    /// Of a κ path.
    path {
        /// ASGHMC, by κ.
        ASGHMC: Family = Family::new(0, 100);
        /// IRO, by κ.
        IRO: Family = Family::new(100, OPEN);
    }
    /// Of the seed of `paper` and `cv`.
    eve {
        /// The division into folds.
        FOLDS: One = 0;
        /// The path of each fold.
        FOLD_FITS: Family = Family::new(1, WHOLE - 1);
        /// The path of all rows.
        WHOLE: One = 100;
        /// The rows that `stonet fit --sample` draws; `paper` and `cv` then refuse, but the rows are drawn first.
        SAMPLE: One = super::regression::SAMPLE;
    }
    /// Of a fit that estimates its own variance.
    eve_intervals {
        /// The training.
        FIT: One = 0;
        /// The fits behind a cross-validated variance.
        VARIANCE: One = 1;
    }
    /// Of a cross-validation.
    cross_validation {
        /// The division into folds.
        FOLDS: One = 0;
        /// The fits of each fold.
        FITS: Family = Family::new(1, OPEN);
    }
    /// Of two trainers in turn.
    polished {
        /// The first.
        FIRST: One = 0;
        /// The one that polishes.
        THEN: One = 1;
    }
    /// Of a perceptron's training.
    perceptron {
        /// The starting weights.
        START: One = 0;
        /// The rows held out for early stopping.
        HELD_OUT: One = 1;
        /// The order of the rows.
        ORDER: One = 2;
    }
    /// Of a baseline.
    baseline {
        /// The division into halves.
        HALVES: One = 0;
        /// The fit on one half.
        FIT: One = 1;
    }
    /// Of the seed of a classification: the classifier, and what Python fits beside it.
    classification {
        /// The division into folds.
        FOLDS: One = 0;
        /// Prediction sets beside the classifier.
        SETS: One = 1;
        /// The rows that are held out for bounds of accuracy.
        ACCURACY: One = 2;
        /// The fits of each method.
        METHODS: Family = Family::new(100, 1000);
        /// The rows that `stonet fit --sample` draws.
        SAMPLE: One = super::regression::SAMPLE;
    }
    /// Of the seed of a rule of answers.
    control {
        /// The rows that order thresholds.
        ORDER: One = 0;
    }
    /// Of the seed of an adaptation to other rows.
    adapt {
        /// The folds that choose the penalty of the ratio.
        FOLDS: One = 0;
        /// Calibration rows that it learns from.
        CALIBRATION: One = 1;
        /// New rows that it learns from.
        NEW: One = 2;
    }
    /// Of the seed of a head of many labels.
    labels {
        /// The binary head of each label.
        HEADS: Family = Family::new(0, SAMPLE);
        /// The rows that `stonet fit --sample` draws.
        SAMPLE: One = super::regression::SAMPLE;
    }
    /// Of a method's fit by run: all rows, then each fold.
    class_fit {
        /// All rows.
        WHOLE: One = 0;
        /// Outside of a fold.
        FOLDS: Family = Family::new(1, OPEN);
    }
    /// Of a StoNet for classes.
    class_stonet {
        /// The starting weights.
        START: One = 0;
        /// The training.
        TRAINING: One = 1;
    }
    /// Of the seed of prediction sets.
    class_sets {
        /// The division of the rows.
        DIVISION: One = 0;
        /// Randomised scores.
        SCORES: One = 1;
        /// Randomised scores of the rows of a fit, which groups of classes are learned from.
        FIT_SCORES: One = 2;
        /// The starts of k-means.
        CLUSTERS: One = 3;
        /// The classifiers.
        FITS: Family = Family::new(10, OPEN);
    }
    /// Of randomised scores.
    set_scores {
        /// Of the rows that calibrate.
        CALIBRATION: One = 0;
        /// Of new rows.
        NEW: One = 1;
    }
    /// Of the judgement of probabilities.
    judgement {
        /// The bootstrap.
        RESAMPLES: One = 0;
        /// Labels redrawn from the probabilities.
        REDRAWS: One = 1;
        /// The bootstrap of smooth, debiased and selective scores.
        TRUST_RESAMPLES: One = 2;
        /// Labels redrawn for them and for the tests of calibration.
        TRUST_REDRAWS: One = 3;
    }
    /// Of an evaluation: its sample of rows, and all that follows of a classifier. A regression numbers the shuffles of
    /// its columns from 0, so the sample has a number above every column.
    evaluation {
        /// Its scores.
        SCORES: One = 0;
        /// The scores of the network's own probabilities.
        NETWORK: One = 1;
        /// Subgroups.
        SUBGROUPS: One = 2;
        /// Permutation importance.
        IMPORTANCE: One = 3;
        /// The rows that stand for all others where rows themselves are needed.
        SAMPLE: One = 1 << 48;
        /// Where intervals cover too little.
        DIAGNOSIS: One = (1 << 48) + 1;
        /// The rows that are searched for it.
        SEARCHED: One = (1 << 48) + 2;
        /// Prediction sets that are drawn at random.
        SETS: One = (1 << 48) + 3;
    }
    /// Of the search for rows that intervals cover too rarely.
    diagnosis {
        /// Hits by chance in parts of the rows.
        LEAST: One = 0;
        /// The half of the rows that is searched.
        HALVES: One = 1;
        /// Directions of slabs.
        DIRECTIONS: One = 2;
        /// Folds of the regression of hits.
        FOLDS: One = 3;
    }
    /// Of a sample of rows of a file or folder.
    sampling {
        /// Which rows are kept.
        RESERVOIR: One = 0;
        /// The order in which they are kept.
        ORDER: One = 1;
    }
    /// Of `stonet train`.
    train {
        /// The rows held out.
        HOLD_OUT: One = 0;
        /// The network.
        NETWORK: One = 1;
    }
    /// Of one set of `stonet demo`.
    demo {
        /// The training rows.
        TRAINING_ROWS: One = 0;
        /// The network.
        NETWORK: One = 1;
        /// The calibration rows.
        CALIBRATION_ROWS: One = 2;
        /// The test rows.
        TEST_ROWS: One = 3;
        /// The post-StoNet.
        FIT: One = 4;
        /// The baseline.
        BASELINE: One = 5;
    }
    /// Of simulated rows.
    simulated {
        /// The inputs.
        INPUTS: One = 0;
        /// The noise of the responses.
        RESPONSES: One = 1;
    }
    /// Of one split of a benchmark, and of the training without penalty on the same split.
    benchmark {
        /// The division into training, calibration and test rows.
        PARTS: One = 0;
        /// The network.
        NETWORK: One = 1;
        /// The methods, each with its place in the list.
        METHODS: One = 2;
        /// Training without penalty.
        WITHOUT_PENALTY: One = 3;
    }
    /// Of the seed of the simulated experiments, by model 1 and 2.
    experiments {
        /// Coverage.
        SIMULATION: Family = Family::new(0, 1000);
        /// Selection of inputs.
        SELECTION: Family = Family::new(1000, 1000);
        /// Consistency.
        CONSISTENCY: Family = Family::new(2000, 1000);
    }
    /// Of one model of the simulation.
    simulation {
        /// Pilot sets, which choose κ.
        PILOTS: One = 0;
        /// The test inputs, the same for all replicates.
        TEST_INPUTS: One = 1;
        /// The replicates.
        REPLICATES: One = 2;
    }
    /// Of a pilot set.
    pilot {
        /// Its rows.
        ROWS: One = 0;
        /// The starting weights.
        START: One = 1;
        /// The cross-validation.
        CROSS_VALIDATION: One = 2;
    }
    /// Of a replicate of the simulation.
    replicate {
        /// Its training rows.
        ROWS: One = 0;
        /// The noise of its test responses.
        TEST_RESPONSES: One = 1;
        /// The starting weights.
        START: One = 2;
        /// The training.
        FIT: One = 3;
        /// The variance.
        VARIANCE: One = 4;
    }
    /// Of the experiment on selection.
    selection {
        /// The rows.
        ROWS: One = 0;
        /// The starting weights.
        START: One = 1;
        /// The path.
        PATH: One = 2;
        /// The cross-validation.
        CROSS_VALIDATION: One = 3;
        /// The polish.
        POLISH: One = 4;
    }
    /// Of one model of the experiment on consistency.
    consistency {
        /// Pilot sets.
        PILOTS: One = 0;
        /// Training sets, by size.
        SETS: One = 1;
    }
    /// Of one training set of the experiment on consistency.
    consistency_set {
        /// The rows.
        ROWS: One = 0;
        /// The test inputs.
        TEST_INPUTS: One = 1;
        /// The starting weights.
        START: One = 2;
        /// The trainers.
        FITS: One = 3;
    }
    /// Of the trainers of the experiment on consistency.
    consistency_fits {
        /// ASGHMC.
        ASGHMC: One = 0;
        /// IRO, alone or as a polish.
        IRO: One = 1;
    }
    /// Of the seed of a comparison of calibration methods on the outputs of several networks.
    calibration {
        /// The fit of every method, the same for all.
        FIT: One = 0;
        /// The judgement of every method.
        JUDGEMENT: One = 1;
        /// The splits of the first network. It has a split of its own; were it divided at random, its first split would
        /// share a stream with the folds of every fit. Later networks have their place in the list, whose splits share
        /// nothing with a fit.
        FIRST_NETWORK: One = 1 << 41;
    }
    /// Of the seed of the experiment on Fashion-MNIST.
    fashion {
        /// The networks, by repeat.
        NETWORKS: Family = Family::new(0, COMPARISON);
        /// The seed of the comparison.
        COMPARISON: One = 1000;
    }
    /// Of one network on Fashion-MNIST.
    fashion_network {
        /// The validation images.
        SPLIT: One = 0;
        /// The training.
        TRAINING: One = 1;
    }
    /// Of the seed of a monitor.
    monitor {
        /// One stream per watched quantity, and in it one per row: how equal scores are ordered.
        TIES: Family = Family::new(0, OPEN);
    }
    /// Of the seed of a quantity that a monitor watches with scores that are drawn at random.
    monitor_scores {
        /// One per row.
        ROWS: Family = Family::new(0, OPEN);
    }
    /// Of the seed of a fit that keeps a baseline for `stonet monitor`.
    monitor_baseline {
        /// The rows that choose the edges of the buckets.
        EDGES: One = 0x6261_7365;
    }
    /// Of the training without penalty.
    without_penalty {
        /// The starting weights.
        START: One = 0;
        /// The training.
        FIT: One = 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn no_two_streams_of_a_scope_have_one_number() {
        for (scope, streams) in all() {
            let mut seen = HashMap::new();
            for (name, numbers) in streams {
                for n in numbers {
                    if let Some(other) = seen.insert(n, name) {
                        panic!("{scope}: {name} and {other} are both {n}");
                    }
                }
            }
        }
    }

    /// Every source file of the workspace, without its tests.
    fn sources(dir: &std::path::Path, found: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("tests.rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default().to_owned();
                found.push((path.display().to_string(), code));
            }
        }
    }

    #[test]
    fn numbers_of_streams_stand_nowhere_else() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut found = Vec::new();
        for crate_dir in std::fs::read_dir(root.join("crates")).unwrap() {
            sources(&crate_dir.unwrap().path().join("src"), &mut found);
        }
        sources(&root.join("bindings/python/src"), &mut found);
        assert!(found.len() > 100);
        for (file, code) in found {
            for line in code.lines().filter(|l| !l.trim_start().starts_with("//")) {
                let magic = line.split(".child(").skip(1).any(|a| a.starts_with(|c: char| c.is_ascii_digit()));
                assert!(!magic, "{file}: name this stream in streams.rs: {}", line.trim());
            }
        }
    }
}
