//! A head, perhaps behind a network, that turns the body of a request into the body of an answer.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use stonet::{Level, Side};
use stonet_io::{
    BatchInputs, BatchScorer, BatchTables, Head, Model, ModelScorer, SavedRule, ScoreSettings, SetColumns, Setting,
    arrow_stream,
};
use stonet_onnx::Front;

use crate::error::{Error, Result};
use crate::watch::{WatchPlan, Watcher};
use crate::{arrow, json};

/// What messages call the rows of a request.
const BODY: &str = "request body";

/// How many times its size a compressed body may unfold to.
const UNFOLDED: u64 = 64;

/// What a body is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Arrow,
}

impl Form {
    /// The form of a media type, whatever its parameters are.
    pub(crate) fn of(media: &str) -> Option<Self> {
        match media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
            "application/json" => Some(Form::Json),
            arrow::TYPE => Some(Form::Arrow),
            _ => None,
        }
    }

    /// Its media type.
    pub(crate) fn media(self) -> &'static str {
        match self {
            Form::Json => "application/json",
            Form::Arrow => arrow::TYPE,
        }
    }
}

/// The body of an answer, and how many rows are in it.
pub(crate) struct Answer {
    pub(crate) bytes: Vec<u8>,
    pub(crate) rows: usize,
}

/// A fitted head, perhaps with the network that stands in front of it.
pub struct Predictor {
    model: Arc<Model>,
    front: Option<Front>,
    inputs: BatchInputs,
    /// What is predicted where a request asks for nothing.
    usual: ScoreSettings,
    /// What looks at every row that is predicted, where that is wanted.
    watcher: Option<Watcher>,
}

impl Predictor {
    /// Rows have the columns that the head reads or, where there is a network, the columns that the network reads. With a
    /// rule every answer has its decisions.
    pub fn new(model: Model, front: Option<Front>, rule: Option<SavedRule>) -> Result<Self> {
        let inputs = match &front {
            Some(front) => BatchInputs::Network(front.columns().map(<[String]>::to_vec)),
            None => BatchInputs::default(),
        };
        let usual = ScoreSettings { rule, ..ScoreSettings::default() };
        // What cannot be predicted at all is refused before the first request.
        ModelScorer::of(&model, &model.resolve_as(&usual, parameter)?)?;
        Ok(Predictor { model: Arc::new(model), front, inputs, usual, watcher: None })
    }

    /// The same under watch: every row that is predicted is shown to a monitor, for which it needs all columns that the
    /// head was fitted on. Heads of many labels are refused.
    pub fn watched(self, plan: WatchPlan) -> Result<Self> {
        if self.front.is_some() && !self.model.columns.within.is_empty() {
            let why =
                "is not for a head that covers within groups behind a network; watch its features by `stonet monitor`";
            return Err(stonet_io::Error::Refused { setting: "--monitor", why: why.into() }.into());
        }
        let watcher = Some(Watcher::new(self.model.clone(), plan)?);
        Ok(Predictor { watcher, ..self })
    }

    /// The monitor.
    pub(crate) fn watcher(&self) -> Option<&Watcher> {
        self.watcher.as_ref()
    }

    /// The head.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The columns of a request, where they are known: of the network, or of the head.
    pub(crate) fn columns(&self) -> Option<Vec<String>> {
        match &self.front {
            Some(front) => front.columns().map(<[String]>::to_vec),
            None => {
                if self.watcher.is_some() {
                    return Some([self.model.columns.inputs(), self.model.columns.within.clone()].concat());
                }
                let scorer = ModelScorer::new(&self.model, &self.usual).ok()?;
                Some([scorer.inputs(), scorer.texts()].concat())
            }
        }
    }

    /// What the head predicts, in a word.
    pub(crate) fn task(&self) -> &'static str {
        match &self.model.head {
            Head::Regression(_) => "regression",
            Head::Classification(_) => "classification",
            Head::Labels(_) => "labels",
        }
    }

    /// What the query of an address asks for.
    pub(crate) fn settings(&self, query: &[(String, String)]) -> Result<ScoreSettings> {
        settings(&self.usual, query)
    }

    /// The status and the body, or the message, of an answer to a query and a body of JSON or of Arrow, without a server:
    /// for the fuzz target of bodies.
    #[doc(hidden)]
    pub fn try_answer(
        &self,
        query: &str,
        is_arrow: bool,
        body: Vec<u8>,
    ) -> std::result::Result<(u16, Vec<u8>), (u16, String)> {
        let pair =
            |p: &str| p.split_once('=').map_or((p.to_owned(), String::new()), |(n, v)| (n.to_owned(), v.to_owned()));
        let query: Vec<(String, String)> = query.split('&').filter(|p| !p.is_empty()).map(pair).collect();
        let form = if is_arrow { Form::Arrow } else { Form::Json };
        let answer = self.settings(&query).and_then(|settings| self.answer(&settings, body, [form, Form::Json]));
        answer.map(|a| (200, a.bytes)).map_err(|e| (e.status().as_u16(), e.to_string()))
    }

    /// Predictions for a body, in a form that may be another one.
    pub(crate) fn answer(&self, settings: &ScoreSettings, body: Vec<u8>, [from, to]: [Form; 2]) -> Result<Answer> {
        self.model.resolve_as(settings, parameter)?;
        let (schema, batches) = match from {
            Form::Json => {
                let batch = json::read(&body)?;
                (batch.schema(), vec![batch])
            }
            Form::Arrow => {
                let most = (body.len() as u64).saturating_mul(UNFOLDED);
                arrow_stream(BODY, body, most)?
            }
        };
        let (schema, scored) = self.scored(settings, &schema, &batches)?;
        let rows = scored.iter().map(RecordBatch::num_rows).sum();
        let bytes = match to {
            Form::Arrow => arrow::write(&schema, &scored)?,
            Form::Json => json::write(&schema, &scored)?,
        };
        Ok(Answer { bytes, rows })
    }

    /// Predictions for batches of one schema, with the schema of what comes out.
    fn scored(
        &self,
        settings: &ScoreSettings,
        schema: &SchemaRef,
        batches: &[RecordBatch],
    ) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        let Some(first) = batches.iter().find(|batch| batch.num_rows() > 0) else {
            return Ok((BatchScorer::schema_for(&self.model, settings, &[], BODY, schema)?, Vec::new()));
        };
        let scorer = BatchScorer::new(&self.model, settings, &self.inputs, &[], BODY, schema, Some(first))?;
        let columns = &self.model.columns;
        let seen = match (&self.watcher, &self.front) {
            (Some(_), None) => Some(BatchTables::new(&columns.inputs(), &columns.within, BODY, schema, Some(first))?),
            // What a network says has all columns of the head.
            _ => None,
        };
        let (mut scored, mut row, mut shown) = (Vec::new(), 0, Vec::new());
        for batch in batches {
            let empty = batch.num_rows() == 0;
            scored.push(match &self.front {
                Some(front) if !empty => {
                    let said = front.said(&self.model, &scorer, batch, row)?;
                    let answer = scorer.score_said(batch, &said, row)?;
                    shown.push(said);
                    answer
                }
                _ => {
                    let answer = scorer.score(batch, row)?;
                    if let (Some(tables), false) = (&seen, empty) {
                        shown.push(tables.table(batch, row)?);
                    }
                    answer
                }
            });
            row += batch.num_rows() as u64;
        }
        // Rows of a request that fails are not shown: its client sends them again.
        if let Some(watcher) = &self.watcher {
            shown.into_iter().for_each(|table| watcher.add(table));
        }
        Ok((scorer.schema(), scored))
    }
}

/// What a setting is called by those who send requests; the rule is a flag of the server.
fn parameter(setting: Setting) -> &'static str {
    if setting == Setting::Rule { "--rule" } else { setting.argument() }
}

/// The settings that the query of an address asks for, such as `level=0.8,0.95&side=lower`, beside the usual ones.
fn settings(usual: &ScoreSettings, query: &[(String, String)]) -> Result<ScoreSettings> {
    let mut settings = usual.clone();
    let mut seen: Vec<&str> = Vec::new();
    for (name, value) in query {
        let wrong = |why: String| Error::Parameter { name: name.clone(), why };
        if seen.contains(&name.as_str()) {
            return Err(wrong("is given twice; separate several values by commas".into()));
        }
        seen.push(name);
        let numbers = || {
            let one =
                |text: &str| text.trim().parse::<f64>().map_err(|_| wrong(format!("has `{text}`, which is no number")));
            value.split(',').map(one).collect::<Result<Vec<f64>>>()
        };
        let fractions = || {
            let level = |v: f64| Level::new(v).map_err(|_| wrong(format!("has {v}; give numbers between 0 and 1")));
            numbers()?.into_iter().map(level).collect::<Result<Vec<Level>>>()
        };
        let flag = || match value.as_str() {
            "" | "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            other => Err(wrong(format!("is {other}; give true or false"))),
        };
        match name.as_str() {
            "level" => settings.levels = fractions()?,
            "quantiles" => settings.quantiles = fractions()?,
            "below" => settings.below = numbers()?,
            "joint" => settings.joint = flag()?,
            "accuracy" => settings.accuracy = flag()?,
            "side" => {
                settings.side = match value.as_str() {
                    "both" => Side::Both,
                    "lower" => Side::Lower,
                    "upper" => Side::Upper,
                    other => return Err(wrong(format!("is {other}; give both, lower or upper"))),
                }
            }
            "sets" => {
                settings.sets = match value.as_str() {
                    "" | "text" | "true" => Some(SetColumns::Text),
                    "columns" => Some(SetColumns::Columns),
                    other => return Err(wrong(format!("is {other}; give text or columns"))),
                }
            }
            _ => {
                let known = "level, side, joint, quantiles, below, sets, accuracy";
                return Err(wrong(format!("is not known; there are {known}")));
            }
        }
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(query: &[(&str, &str)]) -> Result<ScoreSettings> {
        settings(
            &ScoreSettings::default(),
            &query.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect::<Vec<_>>(),
        )
    }

    #[test]
    fn queries_are_settings() {
        let found = asked(&[("level", "0.8, 0.95"), ("side", "lower"), ("below", "-1,2e3"), ("joint", "")]).unwrap();
        let levels: Vec<f64> = found.levels.iter().map(|l| l.get()).collect();
        assert_eq!(
            (levels, found.side, found.below, found.joint),
            (vec![0.8, 0.95], Side::Lower, vec![-1.0, 2000.0], true)
        );
        assert_eq!(asked(&[("sets", "columns")]).unwrap().sets, Some(SetColumns::Columns));
    }

    #[test]
    fn faults_of_queries_are_named() {
        for (name, value, words) in [
            ("level", "90", "between 0 and 1"),
            ("level", "x", "`x`, which is no number"),
            ("side", "left", "both, lower or upper"),
            ("joint", "maybe", "true or false"),
            ("sets", "list", "text or columns"),
            ("levels", "0.9", "there are level"),
        ] {
            let error = asked(&[(name, value)]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("parameter {name}")) && error.contains(words), "{error}");
        }
        assert!(asked(&[("level", "0.9"), ("level", "0.8")]).unwrap_err().to_string().contains("twice"));
    }

    #[test]
    fn media_types_may_have_parameters() {
        assert_eq!(Form::of("application/json; charset=utf-8"), Some(Form::Json));
        assert_eq!(Form::of("Application/Vnd.Apache.Arrow.Stream"), Some(Form::Arrow));
        assert_eq!(Form::of("text/csv"), None);
    }
}
