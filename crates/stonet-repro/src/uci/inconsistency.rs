//! `reproduce inconsistency`: without a penalty the intervals of Eve's law collapse as training goes on (section
//! `sect:non-consistency`).

use std::ops::ControlFlow;
use std::path::Path;

use serde::{Deserialize, Serialize};
use stonet::base::streams::{benchmark, without_penalty};
use stonet::eve::{Estimate, EveIntervals};
use stonet::metrics::{coverage, mean_sd};
use stonet::rows::{PredictInterval, Scaling};
use stonet::sparse::Refit;
use stonet::train::{Asghmc, Decay, Progress, Stop, Trainer};
use stonet::{Dataset, Level, RegressionRows, Seed, StoNet, Ticker};
use stonet_compare::benchmark::{Prepared, Protocol, Set, prepare};
use stonet_compare::files;
use stonet_compare::journal::{Journal, complete};
use stonet_compare::table::Table;
use stonet_report::svg::{Chart, Style};

use super::{UciSet, load};
use crate::{Error, Result};

const SCHEMA: &str = "stonet.reproduce.inconsistency/1";
/// Epochs of the StoNet after which its intervals are judged.
const CHECKPOINTS: [usize; 8] = [20, 50, 100, 200, 500, 1000, 2000, 5000];
/// The paper's coverage without a penalty, and its standard deviation.
const PRINTED: (f64, f64) = (0.2925, 0.0377);
const HIDDEN: usize = 20;

/// One checkpoint of one split.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Epochs of the StoNet.
    pub epochs: usize,
    /// Coverage on test rows.
    pub coverage: f64,
    /// Root mean squared error on the rows it was fitted to, over that of their mean.
    pub train_rmse: f64,
    /// The same on test rows.
    pub test_rmse: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Record {
    epochs: usize,
    index: usize,
    points: Vec<Point>,
}

/// The result of the experiment; its JSON is the command's `--json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inconsistency {
    /// Name and version of this layout.
    pub schema: &'static str,
    /// Root seed.
    pub seed: u64,
    /// Random splits.
    pub splits: usize,
    /// Epochs of the networks.
    pub epochs: usize,
    /// 1 − α.
    pub level: f64,
    /// The paper's coverage.
    pub printed_coverage: f64,
    /// Means over splits; the standard error is that of the coverage.
    pub points: Vec<(Point, f64)>,
}

/// Runs what `dir`'s journal does not hold yet and reports on all of it.
pub fn inconsistency(
    data: &Path,
    splits: usize,
    epochs: Option<usize>,
    seed: u64,
    dir: &Path,
    tick: Ticker<'_>,
) -> Result<Inconsistency> {
    if splits == 0 {
        return Err(Error::range("--splits", "at least 1"));
    }
    let set = UciSet::Community;
    let Some(loaded) = load(set, data)? else {
        return Err(Error::NoData { dir: data.to_owned(), sets: set.name().to_owned() });
    };
    let protocol = Protocol::shipped();
    let epochs = epochs.unwrap_or_else(|| protocol.epochs(set.name()));
    let community = Set { name: set.name().to_owned(), data: loaded.data, epochs, groups: None, also: false };
    files::create_dir(dir)?;
    let settings = serde_json::json!({ "seed": seed, "protocol": protocol, "version": env!("CARGO_PKG_VERSION") });
    let (journal, mut records) = Journal::<Record>::open(&dir.join("inconsistency.jsonl"), SCHEMA, settings)?;
    records.retain(|r| r.epochs == epochs && r.index < splits);
    let missing: Vec<usize> = (0..splits).filter(|i| !records.iter().any(|r| r.index == *i)).collect();
    let done = splits - missing.len();
    records.extend(complete(&journal, missing, (done, splits), tick, |index, tick| -> Result<Record> {
        let seed = Seed::new(seed).child(index as u64);
        let prepared = prepare(&community, &protocol, seed, tick)?;
        Ok(Record {
            epochs,
            index,
            points: without_penalty(&prepared, Level::new(protocol.level)?, seed.child(benchmark::WITHOUT_PENALTY))?,
        })
    })?);
    let point = |i: usize| {
        let of = |f: fn(&Point) -> f64| mean_sd(&records.iter().map(|r| f(&r.points[i])).collect::<Vec<_>>());
        let (coverage, sd) = of(|p| p.coverage);
        let (train_rmse, test_rmse) = (of(|p| p.train_rmse).0, of(|p| p.test_rmse).0);
        let epochs = CHECKPOINTS[i];
        (Point { epochs, coverage, train_rmse, test_rmse }, sd / (records.len() as f64).sqrt())
    };
    Ok(Inconsistency {
        schema: SCHEMA,
        seed,
        splits,
        epochs,
        level: protocol.level,
        printed_coverage: PRINTED.0,
        points: (0..CHECKPOINTS.len()).map(point).collect(),
    })
}

/// One StoNet with κ = 0, judged as it trains.
fn without_penalty(prepared: &Prepared, level: Level, seed: Seed) -> Result<Vec<Point>> {
    let rows: RegressionRows<'_> = prepared.calibration.calibration(&prepared.calibration.features)?;
    let data = Dataset::new(rows.features().to_owned(), rows.y().to_owned())?;
    let scaling = Scaling::fit(&data)?;
    let scaled = scaling.apply(&data)?;
    let trainer = Asghmc {
        epochs: CHECKPOINTS[CHECKPOINTS.len() - 1],
        kappa: vec![0.0],
        decay: Decay { from: 1.0, to: 1.0 },
        ..Asghmc::default()
    };
    let start = StoNet::random(&[data.inputs(), HIDDEN, 1], Default::default(), seed.child(without_penalty::START))?;
    let mut nets = Vec::new();
    let mut keep = |p: &Progress<'_>| {
        if CHECKPOINTS.contains(&p.epoch) {
            nets.extend(p.network());
        }
        ControlFlow::<Stop>::Continue(())
    };
    trainer.fit(&start, &scaled, seed.child(without_penalty::FIT), &mut keep)?;
    nets.iter().zip(CHECKPOINTS).map(|(net, epochs)| judge(net, epochs, &scaling, &scaled, prepared, level)).collect()
}

fn judge(
    net: &StoNet,
    epochs: usize,
    scaling: &Scaling,
    scaled: &Dataset,
    prepared: &Prepared,
    level: Level,
) -> Result<Point> {
    let mse =
        |d: &Dataset| -> Result<f64> { Ok((&d.y() - &net.predict(d.x())?).mapv(|e| e * e).sum() / d.rows() as f64) };
    let test = scaling.apply(&Dataset::new(prepared.test.features.clone(), prepared.test.y.clone())?)?;
    let train = mse(scaled)?;
    let estimate = Estimate::new(net, scaled, Refit::Mls, vec![train])?;
    let intervals =
        EveIntervals::new(scaling.clone(), vec![estimate])?.intervals(prepared.test.features.view(), level)?;
    Ok(Point {
        epochs,
        coverage: coverage(&intervals, prepared.test.y.view())?,
        train_rmse: train.sqrt(),
        test_rmse: mse(&test)?.sqrt(),
    })
}

impl Inconsistency {
    /// Coverage as training goes on.
    pub fn table(&self) -> Table {
        let mut t = Table::new(&["epochs", "coverage % (se)", "training RMSE", "test RMSE"]);
        for (p, se) in &self.points {
            t.row(vec![
                p.epochs.to_string(),
                format!("{:.1} ({:.1})", 100.0 * p.coverage, 100.0 * se),
                format!("{:.3}", p.train_rmse),
                format!("{:.3}", p.test_rmse),
            ]);
        }
        t
    }

    /// The same as a picture.
    pub fn figure(&self) -> String {
        let mut chart = Chart::new("Community without a penalty", "log10 epochs", "coverage");
        let line = |value: &dyn Fn(&Point) -> f64| {
            self.points.iter().map(|(p, _)| ((p.epochs as f64).log10(), value(p))).collect()
        };
        chart.line(line(&|_| self.level), Style::Rule, Some("nominal"));
        chart.line(line(&|_| self.printed_coverage), Style::Weak, Some("printed"));
        chart.line(line(&|p| p.coverage), Style::Strong, Some("coverage"));
        chart.render()
    }
}
