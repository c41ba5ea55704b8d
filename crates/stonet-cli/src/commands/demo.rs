//! `stonet demo`: the whole way on generated data: a network that overfits, its features on rows it has not seen,
//! honest intervals.

use std::path::PathBuf;

use clap::Args;
use ndarray::{Array1, Array2};
use rand_distr::{Distribution, StandardNormal};
use serde::Serialize;
use stonet::base::streams::{demo, simulated};
use stonet::metrics::{coverage, coverage_in_fifths, covered, mean_length, mean_sd, rmse, winkler};
use stonet::peers::baseline::{FittedBaseline, SplitConformal};
use stonet::peers::mlp::{Mlp, Training};
use stonet::rows::Scaling;
use stonet::train::Algorithm;
use stonet::{
    Dataset, FittedRegressor, Intervals, Kind, Level, PostStoNetRegressor, RegressionInputs, RegressionRows, Seed,
    Side, Ticker,
};
use stonet_compare::files;
use stonet_compare::simulated::{Model, inputs};
use stonet_compare::table::Table;
use stonet_report::svg::{Chart, Style};
use stonet_report::{Comparison, EvaluateSettings, Method, RegressionEvaluation, Report, Score};

use super::fit::weights;
use crate::args::SeedArg;
use crate::console::Console;
use crate::error::Result;
use crate::report;

/// Train a network that overfits, post-process it, and compare its intervals with split conformal's
///
/// y = 2 tanh(2x1 - x2) + 2 tanh(x3 - 2x4) - tanh(2x5) + noise that grows with x1, and fifteen more inputs without
/// influence.
#[derive(Args)]
#[command(after_help = "Example: stonet demo --quick --seed 7 --out demo")]
pub struct Demo {
    /// Kind of interval: stack, cv+, cv, paper, fast, split
    #[arg(long, default_value = "stack")]
    interval: Kind,
    /// Training algorithm of the StoNets: asghmc, iro, asghmc+iro
    #[arg(long, default_value = "asghmc")]
    trainer: Algorithm,
    /// Coverage level
    #[arg(long, default_value_t = 0.9)]
    level: f64,
    #[command(flatten)]
    seed: SeedArg,
    /// Two networks instead of five: coarser numbers, sooner
    #[arg(long)]
    quick: bool,
    /// Where the pictures and the report go
    #[arg(long, default_value = "stonet-out/demo")]
    out: PathBuf,
    /// Self-contained HTML report with all figures; report.html in the folder of --out if not given
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
}

const TRAINING_ROWS: usize = 500;
const CALIBRATION_ROWS: usize = 500;
const TEST_ROWS: usize = 1000;
/// Repetitions: the coverage of one is too noisy to judge by.
const SETS: u64 = 5;
/// Repetitions for those in a hurry: as few as give a standard error.
const QUICK_SETS: u64 = 2;
const HIDDEN: [usize; 2] = [200, 50];
const EPOCHS: usize = 300;
/// Levels of the curve of nominal against actual coverage.
const LEVELS: [f64; 7] = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98];

#[derive(Serialize)]
struct Summary {
    schema: &'static str,
    seed: u64,
    interval: Kind,
    trainer: Algorithm,
    level: f64,
    /// Networks, each with rows of its own.
    sets: u64,
    calibration_rows: usize,
    test_rows: usize,
    /// Mean over sets of the network's root mean squared error.
    network_train_rmse: f64,
    network_test_rmse: f64,
    /// Ours, then split conformal on the network's residuals.
    methods: Vec<MethodSummary>,
    /// What holds for the first set's intervals.
    guarantee: String,
    /// Mean weight of StoNet, skip, ridge and network in the stack; none for `paper` and `cv`.
    weights: Option<[f64; 4]>,
    files: Vec<String>,
}

/// A method's means over sets.
#[derive(Serialize)]
struct MethodSummary {
    name: String,
    coverage: f64,
    coverage_se: f64,
    mean_length: f64,
    winkler: f64,
    narrowest: f64,
    widest: f64,
    /// In all fifths by length, ascending.
    by_width: [f64; 5],
    /// Standard errors over sets of coverage, length, score and both fifths.
    #[serde(skip)]
    errors: [f64; 5],
}

/// Rows with a noise that grows with x1.
fn sample(rows: usize, seed: Seed) -> Result<Dataset> {
    let x = inputs(rows, seed.child(simulated::INPUTS));
    let mut rng = seed.child(simulated::RESPONSES).rng();
    let y: Array1<f64> = x
        .outer_iter()
        .map(|r| {
            let e: f64 = StandardNormal.sample(&mut rng);
            Model::One.mean(r) + 0.7 * (0.5 * r[0]).exp() * e
        })
        .collect();
    Ok(Dataset::single(x, y)?)
}

/// A trained network and the scale it was trained on.
struct Network {
    scaling: Scaling,
    mlp: Mlp,
}

/// Rows as the network's last hidden layer sees them.
struct Seen {
    features: Array2<f64>,
    prediction: Array2<f64>,
    y: Array2<f64>,
}

impl Network {
    fn train(rows: &Dataset, seed: Seed) -> Result<Self> {
        let scaling = Scaling::fit(rows)?;
        let training = Training { hidden: HIDDEN.to_vec(), epochs: EPOCHS, ..Training::default() };
        let mlp = training.fit(&scaling.apply(rows)?, seed, &mut ())?.network;
        Ok(Network { scaling, mlp })
    }

    fn see(&self, rows: &Dataset) -> Result<Seen> {
        let x = self.scaling.x.apply(rows.x())?;
        let prediction = self.scaling.y.undo(self.mlp.predict(x.view())?.view());
        Ok(Seen { features: self.mlp.features(x.view())?, prediction, y: rows.y().to_owned() })
    }
}

impl Seen {
    fn calibration(&self) -> Result<RegressionRows<'_>> {
        Ok(RegressionRows::new(self.features.view(), self.y.view())?.with_prediction(self.prediction.view())?)
    }

    fn new_rows(&self) -> Result<RegressionInputs<'_>> {
        Ok(RegressionInputs::new(self.features.view())?.with_prediction(self.prediction.view())?)
    }

    fn rmse(&self) -> Result<f64> {
        Ok(rmse(self.prediction.view(), self.y.view())?)
    }
}

/// One repetition.
struct Set {
    fitted: FittedRegressor,
    test: Seen,
    ours: Intervals,
    split_conformal: Intervals,
    train_rmse: f64,
}

impl Demo {
    pub fn run(self, console: &Console) -> Result<()> {
        let level = Level::new(self.level)?;
        report::check(self.report.as_deref(), &[])?;
        files::create_dir(&self.out)?;
        let count = if self.quick { QUICK_SETS } else { SETS };
        let sets: Vec<Set> = console.run("demo", |tick| {
            let set = |i: u64| {
                tick(i as usize, count as usize);
                self.set(level, Seed::new(self.seed.seed).child(i), &|_, _| tick(i as usize, count as usize))
            };
            (0..count).map(set).collect::<Result<_>>()
        })?;
        let pictures =
            [("intervals.svg".to_owned(), draw_intervals(&sets[0])?), ("levels.svg".to_owned(), draw_levels(&sets)?)];
        files::write_all(&self.out, &pictures)?;
        let page = self.report.clone().unwrap_or_else(|| self.out.join("report.html"));
        let mut files: Vec<String> = pictures.iter().map(|(f, _)| self.out.join(f).display().to_string()).collect();
        files.push(page.display().to_string());
        let summary = self.summary(&sets, level, files)?;
        files::write(&page, &self.page(&sets[0], &summary, level)?)?;
        console.result(&summary, || summary.text())?;
        console.next(format_args!(
            "open {}; then, with a table of your own: stonet train table.csv --task regression --target y -o network.onnx \
             --hold-out validation.csv=0.4 --hold-out test.csv=0.2",
            page.display()
        ));
        Ok(())
    }

    fn set(&self, level: Level, seed: Seed, tick: Ticker<'_>) -> Result<Set> {
        let train = sample(TRAINING_ROWS, seed.child(demo::TRAINING_ROWS))?;
        let network = Network::train(&train, seed.child(demo::NETWORK))?;
        let (rows, test) = (
            network.see(&sample(CALIBRATION_ROWS, seed.child(demo::CALIBRATION_ROWS))?)?,
            network.see(&sample(TEST_ROWS, seed.child(demo::TEST_ROWS))?)?,
        );
        let mut post = PostStoNetRegressor { kind: self.interval, level, ..PostStoNetRegressor::default() };
        post.stonet.algorithm = self.trainer;
        let fitted = post.fit(&rows.calibration()?, seed.child(demo::FIT), tick)?;
        let ours = fitted.intervals(&test.new_rows()?, level, Side::Both)?;
        let split = SplitConformal.fit(&rows.calibration()?, seed.child(demo::BASELINE), &|_, _| true)?;
        let split_conformal = split.intervals(&test.new_rows()?, level)?;
        let train_rmse = network.see(&train)?.rmse()?;
        Ok(Set { fitted, test, ours, split_conformal, train_rmse })
    }

    /// The first set in full, and the methods over all sets.
    fn page(&self, set: &Set, summary: &Summary, level: Level) -> Result<String> {
        let evaluation = RegressionEvaluation::new(
            &set.fitted,
            &set.test.new_rows()?,
            set.test.y.view(),
            &EvaluateSettings { target_names: vec!["y".into()], ..EvaluateSettings::new(level) },
        )?;
        let method = |m: &MethodSummary| {
            let values = [m.coverage, m.mean_length, m.winkler, m.narrowest, m.widest];
            let scores =
                values.into_iter().zip(m.errors).map(|(value, e)| Some(Score { value, error: Some(e) })).collect();
            Method { name: m.name.clone(), ours: m.name == self.interval.name(), scores }
        };
        let mut columns = report::interval_columns(level.get());
        columns.truncate(5);
        let comparison = Comparison {
            title: "Methods compared".into(),
            lead: format!(
                "Means over {} networks, each trained on {TRAINING_ROWS} rows of its own, post-processed on {CALIBRATION_ROWS} more \
                 and judged on another {TEST_ROWS}. The figures above are those of the first.",
                summary.sets
            ),
            columns,
            methods: summary.methods.iter().map(method).collect(),
            charts: vec![0, 1, 2],
        };
        let settings = serde_json::json!({ "seed": self.seed.seed, "level": self.level, "interval": self.interval });
        let about = report::about("StoNet demo: honest intervals for a network that overfits", settings);
        Ok(Report::new(&about).regression(&evaluation).comparison(&comparison).html())
    }

    fn summary(&self, sets: &[Set], level: Level, files: Vec<String>) -> Result<Summary> {
        let mean = |values: Vec<f64>| mean_sd(&values).0;
        let test_rmse = sets.iter().map(|s| s.test.rmse()).collect::<Result<Vec<_>>>()?;
        let weights: Option<Vec<[f64; 4]>> = sets.iter().map(|s| s.fitted.weights().map(|w| w[0])).collect();
        let average = |w: Vec<[f64; 4]>| [0, 1, 2, 3].map(|j| w.iter().map(|w| w[j]).sum::<f64>() / w.len() as f64);
        Ok(Summary {
            schema: "stonet.demo/2",
            seed: self.seed.seed,
            interval: self.interval,
            trainer: self.trainer,
            level: level.get(),
            sets: sets.len() as u64,
            calibration_rows: CALIBRATION_ROWS,
            test_rows: TEST_ROWS,
            network_train_rmse: mean(sets.iter().map(|s| s.train_rmse).collect()),
            network_test_rmse: mean(test_rmse),
            methods: vec![
                method(self.interval.name(), sets, |s| &s.ours)?,
                method("split-conformal", sets, |s| &s.split_conformal)?,
            ],
            guarantee: sets[0].fitted.guarantee(level).text,
            weights: weights.map(average),
            files,
        })
    }
}

fn method(name: &str, sets: &[Set], of: fn(&Set) -> &Intervals) -> Result<MethodSummary> {
    let judged: Vec<[f64; 8]> = sets
        .iter()
        .map(|s| {
            let (i, y) = (of(s), s.test.y.view());
            let [a, b, c, d, e] = coverage_in_fifths(i, y, (&i.upper - &i.lower).view())?;
            Ok([coverage(i, y)?, mean_length(i), winkler(i, y)?, a, b, c, d, e])
        })
        .collect::<Result<_>>()?;
    let at = |j: usize| mean_sd(&judged.iter().map(|v| v[j]).collect::<Vec<_>>());
    let errors = [0, 1, 2, 3, 7].map(|j| at(j).1 / (sets.len() as f64).sqrt());
    Ok(MethodSummary {
        name: name.to_owned(),
        coverage: at(0).0,
        coverage_se: errors[0],
        mean_length: at(1).0,
        winkler: at(2).0,
        narrowest: at(3).0,
        widest: at(7).0,
        by_width: [3, 4, 5, 6, 7].map(|j| at(j).0),
        errors,
    })
}

fn draw_intervals(set: &Set) -> Result<String> {
    let hits = covered(&set.ours, set.test.y.view())?;
    let title = format!("{} % intervals at 40 new rows", 100.0 * set.ours.level.get());
    let mut chart = Chart::new(&title, "row", "y");
    for r in 0..40 {
        chart.interval(r as f64 + 1.0, set.ours.lower[[r, 0]], set.ours.upper[[r, 0]]);
        chart.point(r as f64 + 1.0, set.test.y[[r, 0]], hits[[r, 0]]);
    }
    Ok(chart.render())
}

/// Nominal against actual coverage, over all sets.
fn draw_levels(sets: &[Set]) -> Result<String> {
    let mut chart = Chart::new("Nominal and actual coverage", "nominal", "actual");
    chart.line(LEVELS.map(|l| (l, l)).to_vec(), Style::Rule, None);
    let mut points = Vec::new();
    for nominal in LEVELS {
        let level = Level::new(nominal)?;
        let each = sets.iter().map(|s| {
            let i = s.fitted.intervals(&s.test.new_rows()?, level, Side::Both)?;
            Ok(coverage(&i, s.test.y.view())?)
        });
        points.push((nominal, mean_sd(&each.collect::<Result<Vec<_>>>()?).0));
    }
    chart.line(points, Style::Strong, Some("actual"));
    Ok(chart.render())
}

impl Summary {
    fn text(&self) -> String {
        let mut t =
            Table::new(&["method", "coverage % (se)", "mean length", "Winkler", "narrowest fifth %", "widest fifth %"]);
        for m in &self.methods {
            t.row(vec![
                m.name.clone(),
                format!("{:.1} ({:.1})", 100.0 * m.coverage, 100.0 * m.coverage_se),
                format!("{:.2}", m.mean_length),
                format!("{:.2}", m.winkler),
                format!("{:.1}", 100.0 * m.narrowest),
                format!("{:.1}", 100.0 * m.widest),
            ]);
        }
        let weights = self.weights.map_or(String::new(), |w| format!("weights    {}\n", weights(&w)));
        format!(
            "Networks 20-{}-{}-1 trained on {TRAINING_ROWS} rows, {} times:\n\
             root mean squared error {:.2} in training, {:.2} on new rows.\n\
             Their last hidden layers on {} rows they have not seen give {} % intervals,\n\
             judged on {} more:\n\n{t}\n\
             guarantee  {}\n{weights}figures    {}\n",
            HIDDEN[0],
            HIDDEN[1],
            self.sets,
            self.network_train_rmse,
            self.network_test_rmse,
            self.calibration_rows,
            100.0 * self.level,
            self.test_rows,
            self.guarantee,
            self.files.join(", "),
        )
    }
}
