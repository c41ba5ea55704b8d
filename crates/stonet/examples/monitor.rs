//! False alarms of a monitor over long streams without a change, and rows until the alarm after named changes.
//!
//! `monitor null RECORDS [STREAMS]` and `monitor delay RECORDS [STREAMS]` append one line of JSON per stream and leave out
//! those that are there; `class-null` and `class-delay` do the same for classifiers with prediction sets. `monitor table
//! RECORDS` prints what they say. `monitor dump DIR [STREAMS]` writes streams of `split` heads at n = 500 as CSV files, for
//! other programs.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;

use ndarray::{Array2, s};
use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};
use serde_json::{Value, json};
use stonet::classification::SetScheme;
use stonet::monitor::{Baseline, ClassMonitor, Family, MonitorSettings, RegressionMonitor, Watched};
use stonet::regression::StoNetSettings;
use stonet::{
    ClassInputs, ClassMethod, ClassRows, ClassSets, Kind, Level, PostStoNetClassifier, PostStoNetRegressor,
    RegressionInputs, RegressionRows, Seed,
};

const ROWS: usize = 20_000;
const CHUNK: usize = 1000;
const COLUMNS: usize = 4;
const ALARM: f64 = 0.05;
/// Rows without a change in front of each change.
const QUIET: usize = 2000;
/// Calibration rows.
const SIZES: [usize; 2] = [500, 5000];
/// Rows of a stream that are written for other programs.
const DUMPED: usize = 4000;
const CHANGES: [&str; 6] = ["mean up", "mean down", "noise up", "noise down", "target mix", "feature broken"];
const CLASSES: usize = 3;
const CLASS_CHANGES: [&str; 4] = ["class drift", "label noise", "label mix", "feature broken"];
const FAMILIES: [Family; 2] = [Family::Answers, Family::Inputs];
const KINDS: [&str; 2] = ["split", "cv+"];
const CLASS_KINDS: [&str; 2] = ["sets, split", "sets, cv+"];

/// Features, predictions of a network and targets.
struct Rows {
    x: Array2<f64>,
    d: Array2<f64>,
    y: Array2<f64>,
}

/// Rows of a stream, all of them before or after a change.
fn draw(n: usize, seed: Seed, change: Option<&str>) -> Rows {
    let mut normal = StandardNormal.sample_iter(seed.rng());
    let mut z = || -> f64 { normal.next().unwrap_or(0.0) };
    let mut rows = Rows { x: Array2::zeros((n, COLUMNS)), d: Array2::zeros((n, 1)), y: Array2::zeros((n, 1)) };
    for i in 0..n {
        let mut x = [z(), z(), z(), z()];
        if change == Some("target mix") {
            x[0] += 0.5;
        }
        let mut noise = (0.5 + 0.25 * x[1].abs()) * z();
        match change {
            Some("mean up") => noise += 0.25,
            Some("mean down") => noise -= 0.25,
            Some("noise up") => noise *= 1.4,
            Some("noise down") => noise *= 0.7,
            _ => {}
        }
        rows.y[[i, 0]] = 2.0 * x[0] - x[1] + (2.0 * x[2]).sin() + noise;
        if change == Some("feature broken") {
            x[0] = 0.0;
        }
        (0..COLUMNS).for_each(|k| rows.x[[i, k]] = x[k]);
        rows.d[[i, 0]] = 1.8 * x[0] - x[1];
    }
    rows
}

fn settings(kind: &str) -> PostStoNetRegressor {
    let stonet = StoNetSettings { steps: 20, kappas: Some(vec![0.05]), hidden: vec![3], ..StoNetSettings::default() };
    let kind = if kind == "split" { Kind::Split } else { Kind::Fast };
    PostStoNetRegressor { kind, stonet, ..PostStoNetRegressor::default() }
}

/// The rows of both families at which alarms were raised, of one stream.
fn stream(kind: &str, n: usize, seed: Seed, change: Option<&str>) -> stonet::Result<[Option<u64>; 2]> {
    let cal = draw(n, seed.child(0), None);
    let rows = RegressionRows::new(cal.x.view(), cal.y.view())?.with_prediction(cal.d.view())?;
    let head = settings(kind).fit(&rows, seed.child(1), &|_, _| true)?;
    let inputs = [cal.x.view(), cal.d.view()];
    let watched = Watched { inputs: &inputs, targets: Some(cal.y.view()), labels: None, logits: None };
    let baseline = Baseline::fit(&watched, seed.child(2))?;
    let level = Level::new(0.9)?;
    let settings = MonitorSettings { alarm: ALARM, seed: seed.child(3), ..MonitorSettings::new(level) };
    let mut watch = RegressionMonitor::new(&head, Some(&baseline), settings)?;
    for first in (0..ROWS).step_by(CHUNK) {
        let changed = change.filter(|_| first >= QUIET);
        let new = draw(CHUNK, seed.child(4 + first as u64), changed);
        let d = new.d.slice(s![.., ..]);
        watch.add(&RegressionInputs::new(new.x.view())?.with_prediction(d)?, Some(new.y.view()))?;
        if change.is_some() && FAMILIES.iter().all(|f| watch.state().alarm(*f).is_some()) {
            break;
        }
    }
    Ok(FAMILIES.map(|f| watch.state().alarm(f)))
}

/// Features, logits of a network and classes.
struct ClassDraw {
    x: Array2<f64>,
    z: Array2<f64>,
    labels: Vec<usize>,
}

/// A class drawn with these log-odds.
fn class_of(log_odds: [f64; CLASSES], rng: &mut impl Rng) -> usize {
    let weights = log_odds.map(f64::exp);
    let mut left = rng.random::<f64>() * weights.iter().sum::<f64>();
    let drawn = weights.iter().position(|w| {
        left -= w;
        left < 0.0
    });
    drawn.unwrap_or(CLASSES - 1)
}

/// Rows of a classifier's stream. The network's logits are 1.5 times the true ones: it is too sure.
fn draw_classes(n: usize, seed: Seed, change: Option<&str>) -> ClassDraw {
    let mut rng = seed.rng();
    let mut rows =
        ClassDraw { x: Array2::zeros((n, COLUMNS)), z: Array2::zeros((n, CLASSES)), labels: Vec::with_capacity(n) };
    let logits = |x: &[f64; COLUMNS]| [1.5 * x[0] - 0.5 * x[3], 1.5 * x[1], x[2]];
    while rows.labels.len() < n {
        let mut x: [f64; COLUMNS] = std::array::from_fn(|_| StandardNormal.sample(&mut rng));
        let mut truth = logits(&x);
        if change == Some("class drift") {
            truth[0] += 0.5;
        }
        let mut label = class_of(truth, &mut rng);
        // A mix in which class 0 is half as frequent beside the others.
        if change == Some("label mix") && label == 0 && rng.random::<f64>() < 0.5 {
            continue;
        }
        if change == Some("label noise") && rng.random::<f64>() < 0.1 {
            label = rng.random_range(0..CLASSES);
        }
        if change == Some("feature broken") {
            x[0] = 0.0;
        }
        let i = rows.labels.len();
        rows.x.row_mut(i).assign(&ndarray::aview1(&x));
        rows.z.row_mut(i).assign(&ndarray::aview1(&logits(&x).map(|z| 1.5 * z)));
        rows.labels.push(label);
    }
    rows
}

/// The rows of both families at which alarms were raised, of one stream of a classifier.
fn class_stream(kind: &str, n: usize, seed: Seed, change: Option<&str>) -> stonet::Result<[Option<u64>; 2]> {
    let cal = draw_classes(n, seed.child(0), None);
    let rows = ClassInputs::logits(cal.z.view())?.with_features(cal.x.view())?;
    let rows = ClassRows::new(rows, &cal.labels, CLASSES)?;
    let scheme = if kind == CLASS_KINDS[0] { SetScheme::Split { share: 0.5 } } else { SetScheme::CvPlus { folds: 5 } };
    let classifier = PostStoNetClassifier { method: ClassMethod::Temperature, ..PostStoNetClassifier::default() };
    let head = ClassSets { classifier, scheme, ..ClassSets::default() }.fit(&rows, seed.child(1), &|_, _| true)?;
    let inputs = [cal.z.view(), cal.x.view()];
    let labels = Some((&cal.labels[..], CLASSES));
    let watched = Watched { inputs: &inputs, targets: None, labels, logits: Some(cal.z.view()) };
    let baseline = Baseline::fit(&watched, seed.child(2))?;
    let settings = MonitorSettings { alarm: ALARM, seed: seed.child(3), ..MonitorSettings::new(Level::new(0.9)?) };
    let mut watch = ClassMonitor::new(&head, Some(&baseline), true, settings)?;
    for first in (0..ROWS).step_by(CHUNK) {
        let new = draw_classes(CHUNK, seed.child(4 + first as u64), change.filter(|_| first >= QUIET));
        watch.add(&ClassInputs::logits(new.z.view())?.with_features(new.x.view())?, Some(&new.labels))?;
        if change.is_some() && FAMILIES.iter().all(|f| watch.state().alarm(*f).is_some()) {
            break;
        }
    }
    Ok(FAMILIES.map(|f| watch.state().alarm(f)))
}

/// The seed of a stream: that of its number, its change, its kind of head and its size.
fn seed_of(number: u64, change: usize, kind: usize, n: usize) -> Seed {
    Seed::new(2026).child(number).child((change * 4 + kind) as u64).child(n as u64)
}

/// Calibration rows and the first rows of streams, with the same numbers as `delay` sees.
fn dump(folder: &str, streams: u64) -> std::io::Result<()> {
    let (n, kind) = (500, 0);
    for number in 0..streams {
        for (c, change) in CHANGES.iter().enumerate() {
            let seed = seed_of(number, c, kind, n);
            let name = change.replace(' ', "-");
            let mut file = std::io::BufWriter::new(std::fs::File::create(format!("{folder}/{name}.{number}.csv"))?);
            writeln!(file, "part,x0,x1,x2,x3,d,y")?;
            let mut put = |part: &str, rows: Rows| {
                (0..rows.y.nrows()).try_for_each(|i| {
                    let x = rows.x.row(i);
                    let (d, y) = (rows.d[[i, 0]], rows.y[[i, 0]]);
                    writeln!(file, "{part},{},{},{},{},{d},{y}", x[0], x[1], x[2], x[3])
                })
            };
            put("calibration", draw(n, seed.child(0), None))?;
            for first in (0..DUMPED).step_by(CHUNK) {
                let changed = Some(*change).filter(|_| first >= QUIET);
                put("new", draw(CHUNK, seed.child(4 + first as u64), changed))?;
            }
        }
    }
    Ok(())
}

fn key(v: &Value) -> (String, String, u64, u64) {
    let text = |k: &str| v[k].as_str().unwrap_or_default().to_owned();
    (text("kind"), text("change"), v["n"].as_u64().unwrap_or(0), v["stream"].as_u64().unwrap_or(0))
}

fn records(path: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|l| serde_json::from_str(l).ok()).collect()
}

fn run(
    path: &str,
    streams: u64,
    changes: &[Option<&str>],
    kinds: [&str; 2],
    stream: impl Fn(&str, usize, Seed, Option<&str>) -> stonet::Result<[Option<u64>; 2]>,
) -> Result<(), Box<dyn std::error::Error>> {
    let done: std::collections::HashSet<_> = records(path).iter().map(key).collect();
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    for number in 0..streams {
        for (c, change) in changes.iter().enumerate() {
            for (k, kind) in kinds.into_iter().enumerate() {
                for n in SIZES {
                    let about = json!({ "kind": kind, "change": change.unwrap_or("none"), "n": n, "stream": number });
                    if done.contains(&key(&about)) {
                        continue;
                    }
                    let seed = seed_of(number, c, k, n);
                    let [answers, inputs] = stream(kind, n, seed, *change)?;
                    let mut line = about;
                    line["answers"] = json!(answers);
                    line["inputs"] = json!(inputs);
                    writeln!(file, "{line}")?;
                }
            }
        }
    }
    Ok(())
}

/// Per kind, size and change: streams, alarms of each family, and the median rows from the change to the alarm.
fn table(path: &str) {
    let mut groups: BTreeMap<(String, String, u64), Vec<Value>> = BTreeMap::new();
    for record in records(path) {
        let (kind, change, n, _) = key(&record);
        groups.entry((change, kind, n)).or_default().push(record);
    }
    println!("| change | head | n | streams | answers | inputs |\n|---|---|---|---|---|---|");
    for ((change, kind, n), rows) in groups {
        let of = |family: &str| {
            let alarms = rows.iter().map(|r| r[family].as_u64());
            if change == "none" {
                return format!("{} alarms", alarms.flatten().count());
            }
            // Rows from the change to the alarm; streams with an alarm before the change are left out.
            let late = alarms.filter(|a| a.is_none_or(|a| a > QUIET as u64));
            let mut late: Vec<f64> = late.map(|a| a.map_or(f64::INFINITY, |a| (a - QUIET as u64) as f64)).collect();
            late.sort_unstable_by(f64::total_cmp);
            let median = (late[(late.len() - 1) / 2] + late[late.len() / 2]) / 2.0;
            let found = late.iter().filter(|d| d.is_finite()).count();
            let median = if median.is_finite() { format!("{median:.0}") } else { "–".into() };
            format!("{median} ({found} of {})", late.len())
        };
        println!("| {change} | {kind} | {n} | {} | {} | {} |", rows.len(), of("answers"), of("inputs"));
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (what, path) = match &arguments[..] {
        [what, path, ..] => (what.as_str(), path.as_str()),
        _ => {
            return Err(
                "monitor [class-]null|[class-]delay|table RECORDS [STREAMS], or monitor dump DIR [STREAMS]".into()
            );
        }
    };
    let streams: u64 = arguments.get(2).map_or(Ok(500), |s| s.parse())?;
    match what {
        "null" => run(path, streams, &[None], KINDS, stream)?,
        "delay" => run(path, streams, &CHANGES.map(Some), KINDS, stream)?,
        "class-null" => run(path, streams, &[None], CLASS_KINDS, class_stream)?,
        "class-delay" => run(path, streams, &CLASS_CHANGES.map(Some), CLASS_KINDS, class_stream)?,
        "dump" => dump(path, streams)?,
        _ => table(path),
    }
    Ok(())
}
