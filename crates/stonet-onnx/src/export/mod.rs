//! Fitted models written as graphs of standard operators in f32: a head by its plan, a plain network layer by layer.

mod arithmetic;
mod below;
mod bins;
mod forms;
mod lowering;
mod maps;
mod perceptron;
mod ranks;
mod sets;

use stonet::classification::{ClassExtras, FittedLabels};
use stonet::rows::ClassOutput;
use stonet::score::{Asked, Decision, Quantity};
use stonet::{FittedClassifier, FittedRegressor, InputKind, Level, Side};
use stonet_io::{HeadAsked, Model, Resolved, below_name, quantile_name};

use crate::graph::HeadGraph;
use crate::{Error, Result};
use lowering::Lowering;
pub use perceptron::perceptron;

/// The features of the network's last hidden layer.
pub(crate) const FEATURES: &str = "features";
/// The network's own logits.
pub(crate) const LOGITS: &str = "logits";
/// The network's own probabilities.
pub(crate) const PROBABILITIES: &str = "network_probabilities";
/// The network's own predictions.
pub(crate) const PREDICTION: &str = "network_prediction";
/// The network's own lower quantiles.
pub(crate) const LOWER: &str = "network_lower";
/// The network's own upper quantiles.
pub(crate) const UPPER: &str = "network_upper";
/// The network's own standard deviations.
pub(crate) const SD: &str = "network_sd";
/// Values at which probabilities are asked.
pub(crate) const VALUES: &str = "values";
/// The number of a row's group.
pub(crate) const GROUPS: &str = "group";

/// The graph from `features` (and `network_prediction`, `network_lower`, `network_upper` and `network_sd`, where the
/// model reads them) to `prediction` and the ends that are asked for, one column per target each. The ends are `lower`
/// and `upper`; with several levels they are `lower_80`, `upper_80`, `lower_95`, …; a one-sided bound has one end.
/// Quantiles are `q05`, `q50`, …, P(y ≤ 100) is `below_100`, and the decision of a rule is `decision`: 1 for an answer and 0
/// otherwise. Where single precision cannot tell whether a row reaches the threshold, the rule abstains.
///
/// Where there are more than 400 scores per fold they are compressed, so that ends are at or beyond those of the model
/// itself, quantiles beyond theirs, and probabilities within 1/400 of theirs.
pub fn intervals(fitted: &FittedRegressor, asked: &Asked) -> Result<HeadGraph> {
    let names: Vec<String> = asked.levels.iter().map(|level| level.percent()).collect();
    let quantiles: Vec<String> = asked.quantiles.iter().map(|q| quantile_name(*q)).collect();
    let below: Vec<String> = asked.below.iter().map(|t| below_name(*t)).collect();
    let numbers = |levels: &[Level]| levels.iter().map(|l| l.get()).collect::<Vec<f64>>();
    let (levels, taus) = (numbers(&asked.levels), numbers(&asked.quantiles));
    for (setting, names, values) in
        [("level", &names, &levels), ("quantiles", &quantiles, &taus), ("below", &below, &asked.below)]
    {
        if let Some(i) = (1..names.len()).find(|&i| names[..i].contains(&names[i])) {
            return Err(Error::setting(setting, values[i], "different from the others"));
        }
    }
    let plan = fitted.plan(asked)?;
    let mut lowering = Lowering::new(&plan);
    lowering.output("prediction".into(), |q| matches!(q, Quantity::Prediction { .. }))?;
    for (number, name) in names.iter().enumerate() {
        let suffix = if names.len() == 1 { String::new() } else { format!("_{name}") };
        lowering.output(format!("lower{suffix}"), |q| matches!(q, Quantity::Lower { level, .. } if level == number))?;
        lowering.output(format!("upper{suffix}"), |q| matches!(q, Quantity::Upper { level, .. } if level == number))?;
    }
    for (i, name) in quantiles.into_iter().enumerate() {
        lowering.output(name, |q| matches!(q, Quantity::Quantile { number, .. } if number == i))?;
    }
    for (i, name) in below.into_iter().enumerate() {
        lowering.output(name, |q| matches!(q, Quantity::Below { number, .. } if number == i))?;
    }
    lowering.decision(asked.decision)?;
    let levels: Vec<String> = levels.iter().map(f64::to_string).collect();
    lowering.finish(vec![
        ("stonet.task", "regression".into()),
        ("stonet.intervals", fitted.settings().kind.to_string()),
        ("stonet.level", levels.join(",")),
        ("stonet.side", side(asked.side).into()),
        ("stonet.joint", asked.joint.to_string()),
    ])
}

/// The graph from the network's `logits` or `network_probabilities`, its `features`, or both to `probabilities` and
/// `class` (the number of the most probable one).
///
/// Probabilities agree with the model's own to 1e-4. Steps of `isotonic` can be steeper than single precision: there
/// the graph says what the model says of the network's probabilities p changed by at most 1e-5 · min(p, 1 − p); those
/// below 1e-38 are 0. If that decides whether every map sends a row to 0, which then keeps its own probabilities, the
/// graph may decide otherwise than the model.
pub fn classifier(fitted: &FittedClassifier, output: ClassOutput) -> Result<HeadGraph> {
    classifier_with(fitted, output, &ClassExtras::default())
}

/// The same with prediction sets: `in_set`, a column per class, 1 where it is in the set and 0 elsewhere, and `set_size`;
/// and with bounds of accuracy: `accuracy_lower` and `accuracy_upper`. With several levels they are `in_set_80`,
/// `set_size_80`, `in_set_95`, …, `accuracy_lower_80`, ….
///
/// A class is never lost by single precision: a set holds at most such classes more than the model's own whose score
/// lies within 2e-6 of the cut, beside those whose probability single precision changes by more. A row whose confidence
/// lies within 2e-6 of the edge between two bins has the lower of both lower bounds and the higher of both upper ones.
///
/// The decision of a rule is `decision`: 1 for an answer and 0 otherwise. A row within 2e-6 of the threshold is not answered,
/// unless the rule is about recall: then it is.
pub fn classifier_with(fitted: &FittedClassifier, output: ClassOutput, extras: &ClassExtras) -> Result<HeadGraph> {
    let plan = fitted.plan_with(output, extras)?;
    let mut lowering = Lowering::new(&plan);
    lowering.output("probabilities".into(), |q| matches!(q, Quantity::Probability { .. }))?;
    lowering.class("class")?;
    let mut notes =
        vec![("stonet.task", "classification".into()), ("stonet.method", fitted.settings().method.to_string())];
    let suffix = |levels: &[Level], number: usize| match levels.len() {
        1 => String::new(),
        _ => format!("_{}", levels[number].percent()),
    };
    for number in 0..extras.sets.len() {
        let suffix = suffix(&extras.sets, number);
        lowering
            .output(format!("in_set{suffix}"), |q| matches!(q, Quantity::InSet { level, .. } if level == number))?;
        lowering
            .output(format!("set_size{suffix}"), |q| matches!(q, Quantity::SetSize { level } if level == number))?;
    }
    for number in 0..extras.accuracy.len() {
        let suffix = suffix(&extras.accuracy, number);
        let (lower, upper) = (Quantity::AccuracyLower { level: number }, Quantity::AccuracyUpper { level: number });
        lowering.output(format!("accuracy_lower{suffix}"), |q| q == lower)?;
        lowering.output(format!("accuracy_upper{suffix}"), |q| q == upper)?;
    }
    lowering.decision(extras.decision)?;
    let levels = extras.levels();
    if !levels.is_empty() {
        let levels: Vec<String> = levels.iter().map(|l| l.get().to_string()).collect();
        notes.push(("stonet.level", levels.join(",")));
    }
    lowering.finish(notes)
}

/// The graph from the network's `logits` or `network_probabilities`, and its `features` where a head reads them, to
/// `probabilities`: one column per label, each by itself. The metadata have the names of the labels (`stonet.labels`, a
/// JSON list). Probabilities agree as those of [`classifier`] do.
pub fn labels(fitted: &FittedLabels, kind: InputKind) -> Result<HeadGraph> {
    let plan = fitted.plan(kind)?;
    let mut lowering = Lowering::new(&plan);
    lowering.output("probabilities".into(), |q| matches!(q, Quantity::Probability { .. }))?;
    let method = fitted.heads().first().map_or_else(String::new, |head| head.settings().method.to_string());
    lowering.finish(vec![
        ("stonet.task", "labels".into()),
        ("stonet.method", method),
        ("stonet.labels", list(fitted.names())),
    ])
}

/// The graph of a saved head and of what is asked of it; that of a classifier has the names of its classes in its
/// metadata (`stonet.classes`, a JSON list in the order of the columns of `probabilities`).
pub fn head_graph(model: &Model, resolved: &Resolved) -> Result<HeadGraph> {
    match resolved.of(model)? {
        HeadAsked::Intervals(head, asked) => intervals(head, asked),
        HeadAsked::Classes(head, output, extras) => {
            let graph = classifier_with(head, output, extras)?;
            Ok(match &model.labels {
                Some(classes) => graph.with_note("stonet.classes", list(classes.names())),
                None => graph,
            })
        }
        HeadAsked::Labels(head, kind) => labels(head, kind),
    }
}

impl Lowering<'_> {
    /// The output `decision`, where there is a rule.
    fn decision(&mut self, decision: Option<Decision>) -> Result<()> {
        decision.map_or(Ok(()), |_| self.output("decision".into(), |q| q == Quantity::Decision))
    }
}

/// A JSON list of texts.
fn list(names: &[String]) -> String {
    serde_json::Value::from(names).to_string()
}

fn side(side: Side) -> &'static str {
    match side {
        Side::Both => "both",
        Side::Lower => "lower",
        Side::Upper => "upper",
    }
}
