//! A head under watch, told: alarms with what raised them, coverage and accuracy with bounds that hold at all times.

use serde::Serialize;
use stonet::monitor::{Family, Monitor, Process, Quantity};

use crate::number::whole;

/// Names of what a head reads and predicts, for messages.
#[derive(Debug, Clone, Default)]
pub struct MonitorNames {
    /// The columns of the inputs, in the order of the head's baseline.
    pub columns: Vec<String>,
    /// The targets.
    pub targets: Vec<String>,
}

/// What a monitor has seen, as plain data.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MonitorReport {
    /// Rows so far.
    pub rows: u64,
    /// Rows with answers so far.
    pub answered: u64,
    /// The largest probability of a false alarm, of each family, at any time.
    pub alarm: f64,
    /// The confidence of the bounds.
    pub confidence: f64,
    /// Of the intervals or sets whose coverage is followed.
    pub level: f64,
    /// Scores and targets.
    pub answers: FamilyReport,
    /// What the network sees.
    pub inputs: FamilyReport,
    /// Coverage of intervals or sets, and of a classifier also accuracy and calibration error.
    pub measures: Vec<Measure>,
    /// The columns that moved, by name.
    pub moved_columns: Vec<String>,
}

/// One family of quantities.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FamilyReport {
    /// The row of the family, from 1, after which the alarm was raised.
    pub alarm_row: Option<u64>,
    /// Its quantities.
    pub quantities: Vec<QuantityReport>,
}

/// A watched quantity.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QuantityReport {
    /// What it is, in words.
    pub name: String,
    /// Calibration rows that new rows are ranked among; 0 where these are compared with each other alone.
    pub calibration_rows: u64,
    /// The power of ten of its evidence now.
    pub log10_evidence: f64,
    /// The largest so far.
    pub log10_largest: f64,
    /// The power of ten at which the alarm is raised.
    pub log10_threshold: f64,
    /// The row, from 1, after which it was raised.
    pub alarm_row: Option<u64>,
    /// Rows so far and the largest power of ten of a stretch of rows; empty for columns.
    pub path: Vec<(u64, f64)>,
}

/// A proportion with bounds that hold at all times.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measure {
    /// Such as `coverage of y`.
    pub name: String,
    /// Over all rows so far.
    pub value: f64,
    /// The lower bound.
    pub lower: f64,
    /// The upper bound.
    pub upper: f64,
}

fn words(quantity: &Quantity, names: &MonitorNames, folds: usize) -> String {
    let target = |t: usize| names.targets.get(t).map_or_else(|| format!("target {t}"), |n| format!("`{n}`"));
    let of_fold = |fold: usize| if folds > 1 { format!(", fold {}", fold + 1) } else { String::new() };
    match quantity {
        Quantity::Score { target: t, fold } => format!("errors of {}{}", target(*t), of_fold(*fold)),
        Quantity::ClassScore { fold } => format!("scores of the true class{}", of_fold(*fold)),
        Quantity::Target { target: t } => format!("values of {}", target(*t)),
        Quantity::Distance => "distance of the inputs from the calibration rows".into(),
        Quantity::PredictedClass => "predicted classes".into(),
        Quantity::Confidence => "probability of the predicted class".into(),
        Quantity::Prediction { target: t } => format!("predictions of {}", target(*t)),
        Quantity::Disagreement { target: t } => format!("disagreement of the models of {}", target(*t)),
        Quantity::Column { column } => {
            names.columns.get(*column).map_or_else(|| format!("column {column}"), |n| format!("column `{n}`"))
        }
        _ => "another quantity".into(),
    }
}

impl FamilyReport {
    fn new(monitor: &Monitor, family: Family, names: &MonitorNames) -> Self {
        let fold = |p: &Process| match p.quantity() {
            Quantity::Score { fold, .. } | Quantity::ClassScore { fold } => fold + 1,
            _ => 0,
        };
        let processes = monitor.processes(family);
        let folds = processes.iter().map(fold).max().unwrap_or(0);
        let ten = std::f64::consts::LN_10;
        let one = |p: &Process| QuantityReport {
            name: words(p.quantity(), names, folds),
            calibration_rows: p.past(),
            log10_evidence: p.log_capital() / ten,
            log10_largest: p.largest() / ten,
            log10_threshold: p.threshold() / ten,
            alarm_row: p.alarm(),
            path: p.path().map_or_else(Vec::new, |path| path.points().iter().map(|(r, v)| (*r, v / ten)).collect()),
        };
        FamilyReport { alarm_row: monitor.alarm(family), quantities: processes.iter().map(one).collect() }
    }

    /// The names of what raised the alarm, the first first.
    pub fn moved(&self) -> Vec<&str> {
        let mut moved: Vec<(u64, &str)> =
            self.quantities.iter().filter_map(|q| q.alarm_row.map(|row| (row, q.name.as_str()))).collect();
        moved.sort_unstable();
        moved.into_iter().map(|m| m.1).collect()
    }

    /// Whether new rows are compared with each other alone in some quantity.
    fn without_past(&self) -> usize {
        self.quantities.iter().filter(|q| q.calibration_rows == 0).count()
    }
}

impl MonitorReport {
    /// What a monitor has seen.
    pub fn new(monitor: &Monitor, names: &MonitorNames) -> Self {
        let settings = monitor.settings();
        let measure = |name: String, (value, lower, upper): (f64, f64, f64)| Measure { name, value, lower, upper };
        let classes = monitor.calibration();
        let covered = |t: usize| match names.targets.get(t).filter(|_| classes.is_none()) {
            Some(name) => format!("coverage of `{name}`"),
            None => "coverage of prediction sets".into(),
        };
        let coverage = monitor.coverage().into_iter().enumerate();
        let mut measures: Vec<Measure> = coverage.filter_map(|(t, c)| Some(measure(covered(t), c?))).collect();
        if let Some(classes) = classes {
            let alpha = monitor.miss();
            measures.extend(classes.accuracy(alpha).map(|a| measure("accuracy".into(), a)));
            measures.extend(classes.error(alpha).map(|e| measure("calibration error".into(), e)));
        }
        let column = |p: &Process| match p.quantity() {
            Quantity::Column { column } if p.alarm().is_some() => names.columns.get(*column).cloned(),
            _ => None,
        };
        MonitorReport {
            rows: monitor.rows(),
            answered: monitor.answered(),
            alarm: settings.alarm,
            confidence: settings.confidence.get(),
            level: settings.level.get(),
            answers: FamilyReport::new(monitor, Family::Answers, names),
            inputs: FamilyReport::new(monitor, Family::Inputs, names),
            measures,
            moved_columns: monitor.processes(Family::Inputs).iter().filter_map(column).collect(),
        }
    }

    /// A family by name.
    pub fn family(&self, family: Family) -> &FamilyReport {
        match family {
            Family::Answers => &self.answers,
            Family::Inputs => &self.inputs,
        }
    }

    /// The result about a family in a sentence.
    pub fn verdict(&self, family: Family) -> String {
        let (found, rows, what) = match family {
            Family::Answers => (&self.answers, self.answered, "errors and targets"),
            Family::Inputs => (&self.inputs, self.rows, "inputs"),
        };
        let chance = 100.0 * self.alarm;
        match found.alarm_row {
            Some(row) => format!(
                "The {what} are no longer like those of the calibration rows: alarm after row {} of {}, first in {}. If nothing had changed, an alarm would ever be raised with probability at most {chance} %.",
                whole(row as usize),
                whole(rows as usize),
                found.moved().first().copied().unwrap_or("a quantity"),
            ),
            None => format!("No alarm in {} rows: nothing shows that the {what} have changed.", whole(rows as usize)),
        }
    }

    /// The result as text.
    pub fn text(&self, family: Family) -> String {
        let mut text = match self.family(family).alarm_row {
            Some(_) => format!("ALARM      {}\n", self.verdict(family)),
            None => format!("no alarm   {}\n", self.verdict(family)),
        };
        if family == Family::Answers {
            let state = if self.inputs.alarm_row.is_some() { "moved" } else { "inputs" };
            text += &format!("{state:<10} {}\n", self.verdict(Family::Inputs));
        }
        for m in &self.measures {
            let [value, lower, upper] = [m.value, m.lower, m.upper].map(|v| 100.0 * v);
            let confidence = 100.0 * self.confidence;
            text += &format!("{}: {value:.1} % ({lower:.1} to {upper:.1} at all times with {confidence} %)\n", m.name);
        }
        let moved = self.family(family).moved().into_iter().chain(match family {
            Family::Answers => self.inputs.moved(),
            Family::Inputs => Vec::new(),
        });
        for name in moved.take(SHOWN) {
            text += &format!("changed    {name}\n");
        }
        let all = [&self.answers, &self.inputs];
        let alone: usize = all.iter().map(|f| f.without_past()).sum();
        if alone > 0 {
            text += &format!(
                "note       {alone} of {} quantities compare new rows with each other alone, since the head has no calibration rows for them: they see changes after the first rows\n",
                all.iter().map(|f| f.quantities.len()).sum::<usize>()
            );
        }
        text
    }
}

/// Changed quantities that are listed.
const SHOWN: usize = 20;
