//! What `stonet fit` says about a head.

use serde::Serialize;
use serde_json::Value;

/// What `fit --json` prints.
#[derive(Serialize)]
pub struct Summary {
    pub schema: &'static str,
    pub task: &'static str,
    pub rows: usize,
    /// Rows that were drawn and fitted, those that calibrated the intervals, and all there are, where a sample was
    /// fitted.
    pub sampled: Option<usize>,
    pub calibration_rows: Option<u64>,
    pub total_rows: Option<u64>,
    pub features: usize,
    /// How many of them are further columns beside the last hidden layer.
    pub also: usize,
    pub logits: usize,
    pub targets: Vec<String>,
    pub classes: Option<Vec<String>>,
    /// The class of every output of the network, where there are outputs.
    pub class_columns: Vec<ClassColumn>,
    /// Many labels, where a head is fitted for each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<LabelSummary>>,
    /// Classes without a row to learn from.
    pub absent_classes: Vec<String>,
    pub level: Option<f64>,
    pub seed: u64,
    pub fingerprint: String,
    pub settings: Value,
    pub seconds: f64,
    /// What holds for the intervals or prediction sets at this level.
    pub guarantee: Option<String>,
    /// Regression: mean weight of StoNet, skip, ridge and network, per target.
    pub weights: Option<Vec<[f64; 4]>>,
    /// Classification: what became of every member.
    pub members: Option<Value>,
    /// Classification: the prediction sets, where there are any.
    pub sets: Option<Value>,
    /// The same for people.
    #[serde(skip)]
    pub shown_sets: Option<String>,
    /// Classification: the bounds of accuracy, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<Value>,
    /// The same for people, and what holds for them.
    #[serde(skip)]
    pub shown_accuracy: Option<(String, String)>,
    /// Inputs that at least half of the StoNets select.
    pub selected_features: Vec<String>,
    pub warnings: Vec<String>,
    pub head: String,
}

impl Summary {
    /// For people.
    pub fn text(&self) -> String {
        let seen = match (self.features, self.logits) {
            (f, 0) if self.also > 0 => {
                let columns = if self.also == 1 { "column" } else { "columns" };
                format!("{} features and {} further {columns}", f - self.also, self.also)
            }
            (f, 0) => format!("{f} features"),
            (0, z) => format!("{z} logits"),
            (f, z) => format!("{z} logits and {f} features"),
        };
        let of = self.total_rows.map(|total| format!(" of {total}")).unwrap_or_default();
        let then = self.calibration_rows.map(|n| format!(", calibrated on {n} others,")).unwrap_or_default();
        let mut text =
            format!("{}: fitted on {}{of} rows with {seen}{then} in {:.1} s\n", self.head, self.rows, self.seconds);
        if !self.class_columns.is_empty() {
            text += &format!("classes    {}\n", shown_columns(&self.class_columns));
        }
        if let Some(labels) = &self.labels {
            text += &format!("labels     {}\n", shown_labels(labels.iter().map(|l| (&l.column, &l.label))));
        }
        if let Some(sets) = &self.shown_sets {
            text += &format!("sets       {sets}\n");
        }
        if let Some(guarantee) = &self.guarantee {
            text += &format!("guarantee  {guarantee}\n");
        }
        if let Some((accuracy, guarantee)) = &self.shown_accuracy {
            text += &format!("accuracy   {accuracy}\nguarantee  {guarantee}\n");
        }
        for (target, w) in self.targets.iter().zip(self.weights.iter().flatten()) {
            text += &format!("weights    {target}: {}\n", weights(w));
        }
        if let Some(Value::Array(members)) = &self.members {
            let name = |m: &Value| {
                format!("{} {:.2}", m["method"].as_str().unwrap_or(""), m["weight"].as_f64().unwrap_or(0.0))
            };
            text += &format!("members    {}\n", members.iter().map(name).collect::<Vec<_>>().join(", "));
        }
        text
    }
}

/// At most this many columns are listed.
const LISTED: usize = 12;

/// An output of the network and the class that it belongs to.
#[derive(Serialize)]
pub struct ClassColumn {
    pub column: String,
    pub class: String,
}

/// A label, its column of 0 and 1, its output of the network, and what became of its head.
#[derive(Serialize)]
pub struct LabelSummary {
    pub label: String,
    pub target: String,
    pub column: String,
    /// The share of rows in which it is present.
    pub base_rate: f64,
    pub members: Value,
}

/// The outputs of a network with their labels, for people.
pub fn shown_labels<'a>(pairs: impl Iterator<Item = (&'a String, &'a String)>) -> String {
    let pairs: Vec<ClassColumn> =
        pairs.map(|(column, label)| ClassColumn { column: column.clone(), class: label.clone() }).collect();
    shown_columns(&pairs)
}

/// The outputs of a network with their classes; none where a head was fitted on features alone. The single output of a
/// binary classifier is that of the second class.
pub fn class_columns(columns: &[String], classes: &[String]) -> Vec<ClassColumn> {
    let classes = if columns.len() == 1 { classes.get(1..).unwrap_or_default() } else { classes };
    let pair = |(column, class): (&String, &String)| ClassColumn { column: column.clone(), class: class.clone() };
    columns.iter().zip(classes).map(pair).collect()
}

/// The same for people.
pub fn shown_columns(columns: &[ClassColumn]) -> String {
    let one = |c: &ClassColumn| format!("{} = {}", c.column, c.class);
    let shown: Vec<String> = columns.iter().take(LISTED).map(one).collect();
    match columns.last() {
        Some(last) if columns.len() > LISTED => format!("{} … {} ({})", shown.join(", "), one(last), columns.len()),
        _ => shown.join(", "),
    }
}

/// The members of a stack that count, by weight.
pub fn weights(w: &[f64; 4]) -> String {
    let names = ["StoNet", "skip", "ridge", "network"];
    let parts = names.iter().zip(w).filter(|(_, w)| **w >= 0.005).map(|(n, w)| format!("{n} {w:.2}"));
    parts.collect::<Vec<_>>().join(", ")
}
