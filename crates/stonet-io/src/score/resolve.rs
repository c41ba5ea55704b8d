//! What is asked of a saved head, resolved once for every front end: refusals, levels in effect, and the names of the
//! output columns.

use std::sync::Arc;

use stonet::InputKind;
use stonet::classification::{ClassExtras, FittedLabels};
use stonet::rows::{ClassOutput, LabelKind};
use stonet::score::{Asked, Decision, Quantity, Scorer};
use stonet::{FittedClassifier, FittedRegressor, Labels, Level, PostStoNetRegressor, Side};

use super::{DecisionColumn, ScoreSettings, SetColumns};
use crate::{Column, Error, Head, Model, Result, SavedRule, Type};

/// Why a prediction is refused by what was fitted without one.
pub const UNUSED_PREDICTION: &str =
    "is given, but this head was fitted without one, so it would be ignored; leave it out, or fit with one";

/// Why prediction sets are refused by a head that was fitted without them.
pub const NO_SETS: &str = "asks for prediction sets, and this head was fitted without them; fit it with them (`stonet fit --sets cv+`, or \
                           sets=\"cv+\" in Python)";

/// Why bounds of accuracy are refused by a head that was fitted without them.
pub const NO_ACCURACY: &str = "asks for bounds of accuracy, and this head was fitted without them; fit it with them (`stonet fit \
                               --accuracy-bounds`, or accuracy_bounds=True in Python)";

/// Why a head of many labels refuses settings of intervals and levels.
const MANY_LABELS: &str = "is not for heads of many labels, which give one probability for each label; leave it out";

/// Why a head of many labels refuses prediction sets.
const NO_LABEL_SETS: &str = "is not for heads of many labels: prediction sets hold one class of a row, and a row may have any number of \
                             labels; leave it out, and compare the probabilities with a threshold";

/// Why a head of many labels refuses rules of answers.
const NO_LABEL_RULE: &str = "is not for heads of many labels, of which each would need a rule of its own; leave it out";

/// Why a head of several targets refuses rules of answers.
const ONE_TARGET_RULE: &str = "is for heads of one target, and this head has several; fit a head for each target";

/// Why a head of many labels that was fitted without features refuses them.
const NO_LABEL_FEATURES: &str =
    "is given, but this head of many labels was fitted without features, so it would be ignored; leave it out";

/// A setting that some heads have no use for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// Levels of intervals.
    Level,
    /// Which ends of intervals.
    Side,
    /// Intervals of all targets at once.
    Joint,
    /// Quantiles.
    Quantiles,
    /// Values t of P(y ≤ t).
    Below,
    /// Columns with the network's own predictions.
    Prediction,
    /// Columns of features beside logits.
    Features,
    /// Prediction sets.
    Sets,
    /// Bounds of accuracy.
    Accuracy,
    /// A rule of answers.
    Rule,
}

impl Setting {
    /// What it is called as an argument: of functions in Python, and in the query of an address.
    pub fn argument(self) -> &'static str {
        match self {
            Setting::Level => "level",
            Setting::Side => "side",
            Setting::Joint => "joint",
            Setting::Quantiles => "quantiles",
            Setting::Below => "below",
            Setting::Prediction => "prediction",
            Setting::Features => "features",
            Setting::Sets => "sets",
            Setting::Accuracy => "accuracy",
            Setting::Rule => "rule",
        }
    }

    /// Its name in this library.
    fn name(self) -> &'static str {
        if self == Setting::Level { "levels" } else { self.argument() }
    }
}

/// The level where neither the settings nor a fit have one: 0.9.
pub fn default_level() -> Level {
    PostStoNetRegressor::default().level
}

impl ScoreSettings {
    /// The settings that are not at their default.
    pub fn given(&self) -> Vec<Setting> {
        let all = [
            (Setting::Level, !self.levels.is_empty()),
            (Setting::Side, self.side != Side::Both),
            (Setting::Joint, self.joint),
            (Setting::Quantiles, !self.quantiles.is_empty()),
            (Setting::Below, !self.below.is_empty()),
            (Setting::Sets, self.sets.is_some()),
            (Setting::Accuracy, self.accuracy),
            (Setting::Rule, self.rule.is_some()),
        ];
        all.into_iter().filter(|(_, given)| *given).map(|(setting, _)| setting).collect()
    }
}

/// What a head computes.
#[derive(Debug, Clone, PartialEq)]
pub enum Resolved {
    /// Predictions, and intervals at the levels in effect, quantiles and probabilities.
    Intervals {
        /// With at least one level, quantile or value.
        asked: Asked,
        /// What stands in the column of decisions.
        decision: DecisionColumn,
        /// Whether numbers are written with 32 bits.
        single: bool,
    },
    /// The most probable class, and the probability of each.
    Classes {
        /// What the network's output is.
        output: ClassOutput,
        /// Prediction sets and bounds of accuracy, where they are asked for.
        extras: ClassExtras,
        /// What prediction sets are written as.
        set_columns: SetColumns,
        /// What stands in the column of decisions.
        decision: DecisionColumn,
        /// Whether numbers are written with 32 bits.
        single: bool,
    },
    /// The probability of each label.
    Labels {
        /// What the network's outputs are.
        kind: InputKind,
        /// Whether numbers are written with 32 bits.
        single: bool,
    },
}

/// A head and what is asked of it.
#[derive(Debug, Clone, Copy)]
pub enum HeadAsked<'a> {
    /// Intervals at the levels in effect.
    Intervals(&'a FittedRegressor, &'a Asked),
    /// Class probabilities from this output of a network, and what is asked beside them.
    Classes(&'a FittedClassifier, ClassOutput, &'a ClassExtras),
    /// The probability of each label from a network's outputs of this kind.
    Labels(&'a FittedLabels, InputKind),
}

impl Model {
    /// The first of the given settings that this head has no use for, by the name that `name` has for it, and why.
    ///
    /// ```
    /// use stonet_io::{Model, ScoreSettings, Setting};
    /// fn check(model: &Model, settings: &ScoreSettings) -> Result<(), String> {
    ///     let flag = |setting| match setting {
    ///         Setting::Level => "--level",
    ///         Setting::Side => "--side",
    ///         _ => "--joint",
    ///     };
    ///     match model.refused(&settings.given(), flag) {
    ///         Some((flag, why)) => Err(format!("{flag} {why}")),
    ///         None => Ok(()),
    ///     }
    /// }
    /// ```
    pub fn refused<N>(&self, given: &[Setting], name: impl Fn(Setting) -> N) -> Option<(N, &'static str)> {
        given.iter().find_map(|&setting| self.refuses(setting).map(|why| (name(setting), why)))
    }

    /// Why this head has no use for a setting, if it has none.
    fn refuses(&self, setting: Setting) -> Option<&'static str> {
        use Setting::{Accuracy, Below, Features, Joint, Level, Prediction, Quantiles, Rule, Sets, Side};
        match (&self.head, setting) {
            (Head::Classification(head), Level | Sets) if head.class_sets().is_some() => None,
            (Head::Classification(head), Level | Accuracy) if head.accuracy_bins().is_some() => None,
            (Head::Labels(_), Sets) => Some(NO_LABEL_SETS),
            (Head::Labels(_), Rule) => Some(NO_LABEL_RULE),
            (Head::Regression(head), Rule) if head.outputs() > 1 => Some(ONE_TARGET_RULE),
            (Head::Labels(_), Features) if !self.columns.features.is_empty() => None,
            (Head::Labels(_), Features) => Some(NO_LABEL_FEATURES),
            (Head::Labels(_), _) => Some(MANY_LABELS),
            (Head::Classification(_), Sets) => Some(NO_SETS),
            (Head::Classification(_), Accuracy) => Some(NO_ACCURACY),
            (Head::Regression(_), Sets | Accuracy) => Some("is for class probabilities, and this head gives intervals"),
            (Head::Classification(_), Quantiles | Below) => {
                Some("is for numbers, and this head gives class probabilities")
            }
            (Head::Classification(_), Level | Side | Joint | Prediction) => {
                Some("is for intervals, and this head gives class probabilities")
            }
            (Head::Regression(_), Features) => Some("is for class probabilities, and this head gives intervals"),
            // Behind a prediction, or in its place, stands the network's own uncertainty.
            (Head::Regression(_), Prediction) if self.columns.prediction.is_empty() && self.columns.own().is_none() => {
                Some(UNUSED_PREDICTION)
            }
            _ => None,
        }
    }

    /// What these settings mean for this head: the level of the fit, or 0.9, where no level is given. Settings for
    /// intervals are an error where the head gives class probabilities, and so are two levels with the same name.
    pub fn resolve(&self, settings: &ScoreSettings) -> Result<Resolved> {
        self.resolve_as(settings, Setting::name)
    }

    /// The same with errors that call a setting as `name` does.
    pub fn resolve_as(&self, settings: &ScoreSettings, name: impl Fn(Setting) -> &'static str) -> Result<Resolved> {
        if let Some((setting, why)) = self.refused(&settings.given(), &name) {
            return Err(Error::Refused { setting, why: why.into() });
        }
        let (single, decision) = (settings.single, settings.decision);
        let decided = settings.rule.as_ref().map(|saved| self.decision_as(saved, &name)).transpose()?;
        match &self.head {
            Head::Regression(_) => {
                check_levels(&settings.levels, name(Setting::Level))?;
                check_names(
                    "two quantiles",
                    settings.quantiles.iter().map(|q| quantile_name(*q)),
                    name(Setting::Quantiles),
                )?;
                check_names("two values", settings.below.iter().map(|t| below_name(*t)), name(Setting::Below))?;
                if let Some(bad) = settings.below.iter().find(|t| !t.is_finite()) {
                    let why = format!("has {bad}; give a finite number, such as 100");
                    return Err(Error::Refused { setting: name(Setting::Below), why: why.into() });
                }
                let ScoreSettings { mut levels, side, joint, quantiles, below, .. } = settings.clone();
                if levels.is_empty() && quantiles.is_empty() && below.is_empty() {
                    levels.push(self.level.unwrap_or_else(default_level));
                }
                for (setting, given) in [(Setting::Side, side != Side::Both), (Setting::Joint, joint)] {
                    if given && levels.is_empty() {
                        let why =
                            format!("is for intervals, and none are asked for; give {} too", name(Setting::Level));
                        return Err(Error::Refused { setting: name(setting), why: why.into() });
                    }
                }
                let asked = Asked { levels, side, joint, quantiles, below, at_values: false, decision: decided };
                Ok(Resolved::Intervals { asked, decision, single })
            }
            Head::Classification(head) => {
                let unsound = |why: &str| Error::Unsound { why: why.into() };
                let kind = self.kind.ok_or_else(|| unsound("a classification needs the kind of its inputs"))?;
                self.labels.as_ref().ok_or_else(|| unsound("a classification needs its classes"))?;
                let output = ClassOutput { kind, columns: self.columns.logits.len() };
                if settings.sets.is_none() && !settings.accuracy && !settings.levels.is_empty() {
                    return Err(Error::Refused { setting: name(Setting::Level), why: nothing_at(head, name).into() });
                }
                if settings.sets.is_some()
                    && head.class_sets().is_some_and(|sets| sets.scores().rule().score.is_randomised())
                {
                    let why = format!("cannot be predicted: {}", stonet::Error::RandomSets);
                    return Err(Error::Refused { setting: name(Setting::Sets), why: why.into() });
                }
                check_levels(&settings.levels, name(Setting::Level))?;
                let mut levels = settings.levels.clone();
                if levels.is_empty() {
                    levels.push(self.level.unwrap_or_else(default_level));
                }
                let given = |asked: bool| if asked { levels.clone() } else { Vec::new() };
                let (sets, accuracy) = (given(settings.sets.is_some()), given(settings.accuracy));
                let extras = ClassExtras { sets, accuracy, decision: decided };
                let set_columns = settings.sets.unwrap_or_default();
                Ok(Resolved::Classes { output, extras, set_columns, decision, single })
            }
            Head::Labels(_) => match self.kind {
                Some(kind) => Ok(Resolved::Labels { kind, single }),
                None => Err(Error::Unsound { why: "a head of many labels needs the kind of its inputs".into() }),
            },
        }
    }
}

impl Model {
    /// How a rule decides with this head; a rule that was made for another one is an error, which calls the rule as `name`
    /// does.
    pub fn decision_as(&self, saved: &SavedRule, name: impl Fn(Setting) -> &'static str) -> Result<Decision> {
        if let Some((setting, why)) = self.refused(&[Setting::Rule], &name) {
            return Err(Error::Refused { setting, why: why.into() });
        }
        let refused = |why: String| Error::Refused { setting: name(Setting::Rule), why: why.into() };
        if let Some(why) = saved.misfit(self)? {
            return Err(refused(why));
        }
        saved.rule.decision(self.labels.as_ref()).map_err(|e| refused(format!("cannot be used: {e}")))
    }
}

/// Why a classifier is given levels for nothing, with the settings that they could be for.
fn nothing_at(head: &FittedClassifier, name: impl Fn(Setting) -> &'static str) -> String {
    let (sets, accuracy) = (name(Setting::Sets), name(Setting::Accuracy));
    let (what, give) = match (head.class_sets().is_some(), head.accuracy_bins().is_some()) {
        (true, true) => ("prediction sets and bounds of accuracy", format!("{sets} or {accuracy}")),
        (false, true) => ("bounds of accuracy", accuracy.to_owned()),
        _ => ("prediction sets", sets.to_owned()),
    };
    format!("is for {what}, and none are asked for; give {give} too")
}

impl Resolved {
    /// The levels in effect, of intervals, or of prediction sets and bounds of accuracy; none for class probabilities
    /// alone.
    pub fn levels(&self) -> Option<&[Level]> {
        match self {
            Resolved::Intervals { asked, .. } => Some(&asked.levels),
            Resolved::Classes { extras, .. } => Some(extras.levels()).filter(|levels| !levels.is_empty()),
            Resolved::Labels { .. } => None,
        }
    }

    /// Whether class probabilities come out.
    pub fn is_classes(&self) -> bool {
        matches!(self, Resolved::Classes { .. })
    }

    /// What prediction sets are written as, where they are asked for.
    pub fn set_columns(&self) -> Option<SetColumns> {
        match self {
            Resolved::Classes { extras, set_columns, .. } if !extras.sets.is_empty() => Some(*set_columns),
            _ => None,
        }
    }

    /// What stands in the column of decisions.
    pub(super) fn decision_column(&self) -> DecisionColumn {
        match self {
            Resolved::Intervals { decision, .. } | Resolved::Classes { decision, .. } => *decision,
            Resolved::Labels { .. } => DecisionColumn::default(),
        }
    }

    /// The same for logits in so many columns: one may stand for two.
    #[cfg(feature = "parquet")]
    pub(super) fn with_logits(mut self, columns: usize) -> Self {
        if let Resolved::Classes { output, .. } = &mut self {
            output.columns = columns;
        }
        self
    }

    /// The model's head with what is asked of it; a model of the other task is an error.
    pub fn of<'a>(&'a self, model: &'a Model) -> Result<HeadAsked<'a>> {
        match (&model.head, self) {
            (Head::Regression(head), Resolved::Intervals { asked, .. }) => Ok(HeadAsked::Intervals(head, asked)),
            (Head::Classification(head), Resolved::Classes { output, extras, .. }) => {
                Ok(HeadAsked::Classes(head, *output, extras))
            }
            (Head::Labels(head), Resolved::Labels { kind, .. }) => Ok(HeadAsked::Labels(head, *kind)),
            _ => Err(Error::Unsound { why: "what is asked was resolved for a head of the other task".into() }),
        }
    }

    /// The model's head, ready to compute this. A one-sided bound of Eve's law at a level of 0.5 and below is an error,
    /// as is a model of the other task.
    pub fn scorer(&self, model: &Model) -> Result<Arc<Scorer>> {
        Ok(match self.of(model)? {
            HeadAsked::Intervals(head, asked) => head.scorer(asked)?,
            HeadAsked::Classes(head, output, extras) => head.scorer_with(output, extras)?,
            HeadAsked::Labels(head, kind) => head.scorer(kind)?,
        })
    }

    /// The columns that come out: `prediction`, then `lower_90`, `upper_90`, … for every level, `q05` for a quantile and
    /// `below_100` for P(y ≤ 100), with the target's name in front where there are several; or `class` and `p_<label>` for
    /// every class, then the columns of [`SetColumns`], and `accuracy_lower` and `accuracy_upper`, with the level behind them
    /// where there are several; or `p_<label>` for each of many labels. Behind them `decision`, where there is a rule.
    pub fn outputs(&self, model: &Model) -> Vec<Column> {
        match self {
            Resolved::Intervals { asked, decision, single } => {
                let columns = interval_columns(&model.columns.targets, asked);
                let kind = |q: Quantity| match q {
                    Quantity::Decision => decision_type(*decision, *single),
                    _ => number(*single),
                };
                columns.into_iter().map(|(name, q)| Column::new(name, kind(q))).collect()
            }
            Resolved::Labels { single, .. } => match &model.head {
                Head::Labels(head) => {
                    head.names().iter().map(|n| Column::new(format!("p_{n}"), number(*single))).collect()
                }
                _ => Vec::new(),
            },
            Resolved::Classes { single, extras, set_columns, decision, .. } => {
                model.labels.as_ref().map_or_else(Vec::new, |labels| {
                    let mut columns = vec![Column::new("class", class_type(labels))];
                    columns.extend(labels.names().iter().map(|n| Column::new(format!("p_{n}"), number(*single))));
                    columns.extend(columns_of_sets(&extras.sets, *set_columns, labels, number(*single)));
                    columns.extend(columns_of_accuracy(&extras.accuracy, number(*single)));
                    columns.extend(extras.decision.map(|_| Column::new(DECISION, decision_type(*decision, *single))));
                    columns
                })
            }
        }
    }
}

/// The name of the column of decisions.
const DECISION: &str = "decision";

/// The type of the column of decisions.
fn decision_type(decision: DecisionColumn, single: bool) -> Type {
    if decision == DecisionColumn::Text { Type::Text } else { number(single) }
}

/// The columns of prediction sets: `set`, or `in_<label>` for every class, and `set_size`; with several levels
/// `set_80`, `in_<label>_80`, `set_size_80`.
fn columns_of_sets(levels: &[Level], written: SetColumns, labels: &Labels, number: Type) -> Vec<Column> {
    let mut columns = Vec::new();
    for behind in behind(levels) {
        match written {
            SetColumns::Text => columns.push(Column::new(format!("set{behind}"), Type::Text)),
            SetColumns::Columns => {
                columns.extend(labels.names().iter().map(|n| Column::new(format!("in_{n}{behind}"), number)));
            }
        }
        columns.push(Column::new(format!("set_size{behind}"), Type::Integer));
    }
    columns
}

/// The columns of bounds of accuracy: `accuracy_lower` and `accuracy_upper`; with several levels `accuracy_lower_80`, ….
fn columns_of_accuracy(levels: &[Level], number: Type) -> Vec<Column> {
    let both = |behind: String| ["lower", "upper"].map(|end| Column::new(format!("accuracy_{end}{behind}"), number));
    behind(levels).flat_map(both).collect()
}

/// What names of columns have behind them: nothing for a single level, and otherwise `_80`, `_95`, ….
fn behind(levels: &[Level]) -> impl Iterator<Item = String> {
    levels.iter().map(|level| if levels.len() == 1 { String::new() } else { format!("_{}", level.percent()) })
}

fn number(single: bool) -> Type {
    if single { Type::F32 } else { Type::F64 }
}

/// Fails where two levels would have the same name in columns. `setting` is what a front end calls the levels.
pub fn check_levels(levels: &[Level], setting: &'static str) -> Result<()> {
    check_names("two levels", levels.iter().map(|level| format!("{} %", level.percent())), setting)
}

/// Fails where two of several things have the same name.
fn check_names(two: &str, names: impl Iterator<Item = String>, setting: &'static str) -> Result<()> {
    let names: Vec<String> = names.collect();
    match (1..names.len()).find(|&i| names[..i].contains(&names[i])) {
        Some(i) => {
            let why = format!("has {two} of {}; leave one of them out", names[i]);
            Err(Error::Refused { setting, why: why.into() })
        }
        None => Ok(()),
    }
}

/// `q05` for the quantile 0.05, `q97.5` for 0.975.
pub fn quantile_name(quantile: Level) -> String {
    let percent = quantile.percent();
    let zero = if quantile.get() < 0.1 { "0" } else { "" };
    format!("q{zero}{percent}")
}

/// `below_100` for P(y ≤ 100).
pub fn below_name(value: f64) -> String {
    format!("below_{value}")
}

/// The names of predictions and ends, in the order of the scorer's outputs, and what stands in each column.
pub fn interval_columns(targets: &[String], asked: &Asked) -> Vec<(String, Quantity)> {
    let mut columns = Vec::new();
    for (target, name) in targets.iter().enumerate() {
        let prefix = if targets.len() == 1 { String::new() } else { format!("{name}_") };
        columns.push((format!("{prefix}prediction"), Quantity::Prediction { target }));
        for (level, percent) in asked.levels.iter().map(|l| l.percent()).enumerate() {
            if asked.side != Side::Upper {
                columns.push((format!("{prefix}lower_{percent}"), Quantity::Lower { target, level }));
            }
            if asked.side != Side::Lower {
                columns.push((format!("{prefix}upper_{percent}"), Quantity::Upper { target, level }));
            }
        }
        for (number, &quantile) in asked.quantiles.iter().enumerate() {
            columns.push((prefix.clone() + &quantile_name(quantile), Quantity::Quantile { target, number }));
        }
        for (number, &value) in asked.below.iter().enumerate() {
            columns.push((prefix.clone() + &below_name(value), Quantity::Below { target, number }));
        }
    }
    columns.extend(asked.decision.map(|_| (DECISION.to_owned(), Quantity::Decision)));
    columns
}

/// The type of the column of classes. Files of earlier versions do not tell the kind: their classes are text.
pub(super) fn class_type(labels: &Labels) -> Type {
    match labels.kind() {
        None | Some(LabelKind::Text) => Type::Text,
        Some(LabelKind::Integer) => Type::Integer,
        Some(LabelKind::Boolean) => Type::Boolean,
        Some(LabelKind::Date) => Type::Date,
        Some(LabelKind::Datetime) => Type::Datetime,
        Some(LabelKind::Float) => Type::F64,
    }
}
