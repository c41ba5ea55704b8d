//! A saved model on Arrow record batches in memory: a batch in, a batch of predictions out.

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema, SchemaRef};
use stonet::score;

use super::{ModelScorer, ScoreSettings, Scored, Values};
use crate::arrow::columns::{self, Columns};
use crate::header::Header;
use crate::location::{Format, Location};
use crate::pattern::matches;
use crate::pieces::Piece;
use crate::reading::Ask;
use crate::write::columnar;
use crate::{Error, Model, ModelColumns, Problem, Reading, Result, Table};

/// Which columns of record batches go in, by name or pattern.
#[derive(Debug, Clone, PartialEq)]
pub enum BatchInputs {
    /// What the head sees; those called as they were at the fit where nothing is said. Other names stand for the head's
    /// inputs one by one, in the order asked for; the head's own names stand for themselves in any order.
    Head {
        /// The last hidden layer.
        features: Option<Vec<String>>,
        /// The network's own predictions, one per target; regression only.
        prediction: Option<Vec<String>>,
        /// The network's output per class or label; not for regression.
        logits: Option<Vec<String>>,
    },
    /// What a network sees, in its order: it stands between the batches and the head. All columns of numbers that are
    /// not kept, where nothing is said.
    Network(Option<Vec<String>>),
}

impl Default for BatchInputs {
    fn default() -> Self {
        BatchInputs::Head { features: None, prediction: None, logits: None }
    }
}

/// A model on record batches of one schema.
///
/// A row's predictions do not depend on the batch that it comes in.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{ArrayRef, Float64Array, RecordBatch};
/// # use ndarray::{Array2, Axis};
/// # use stonet::{RegressionRows, Kind, PostStoNetRegressor, Seed};
/// use stonet_io::{BatchInputs, BatchScorer, Head, Model, ModelColumns, ScoreSettings};
/// # let x = Array2::from_shape_fn((90, 2), |(i, j)| ((i * (j + 2)) as f64 * 0.7).sin());
/// # let y = x.map_axis(Axis(1), |f| f[0] + (f[1] * 9.0).sin() * 0.3).insert_axis(Axis(1));
/// # let rows = RegressionRows::new(x.view(), y.view())?;
/// # let fitted = PostStoNetRegressor { kind: Kind::Fast, ..PostStoNetRegressor::default() }.fit(&rows, Seed::new(1), &|_, _| true)?;
/// # let columns = ModelColumns {
/// #     features: vec!["f0".into(), "f1".into()],
/// #     targets: vec!["y".into()],
/// #     ..ModelColumns::default()
/// # };
/// # let head = Head::Regression(Box::new(fitted));
/// # let model = Model {
/// #     head, columns, kind: None, labels: None, level: None, seed: 1, fingerprint: String::new(), fingerprints: None, baseline: None, version: String::new(),
/// # };
/// // `model` was fitted on columns f0 and f1.
/// let column = |j: usize| Arc::new(Float64Array::from(x.column(j).to_vec())) as ArrayRef;
/// let batch = RecordBatch::try_from_iter([("id", column(0)), ("f0", column(0)), ("f1", column(1))])?;
/// let (settings, inputs) = (ScoreSettings::default(), BatchInputs::default());
/// let scorer = BatchScorer::new(&model, &settings, &inputs, &["id".into()], "rows", &batch.schema(), None)?;
/// let scored = scorer.score(&batch, 0)?;
/// assert_eq!(scored.num_rows(), 90);
/// let names: Vec<String> = scored.schema().fields().iter().map(|f| f.name().clone()).collect();
/// assert_eq!(names, ["id", "prediction", "lower_90", "upper_90"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct BatchScorer {
    source: PathBuf,
    scorer: ModelScorer,
    columns: Columns,
    /// The wanted columns in the order of the network, where there is one.
    inputs: Vec<String>,
    /// Where the scorer's inputs stand among the columns; empty where a network stands in between.
    places: Vec<usize>,
    /// Columns of the batches that stand in front of the predictions.
    kept: Vec<usize>,
    outputs: SchemaRef,
    schema: SchemaRef,
}

impl BatchScorer {
    /// Finds the columns of a schema, which `source` names in messages. `first` has the first row, which tells how long
    /// lists are; without it a column of lists is no input. Columns called `keep` stand in front of the predictions, as
    /// they are.
    pub fn new(
        model: &Model,
        settings: &ScoreSettings,
        inputs: &BatchInputs,
        keep: &[String],
        source: &str,
        schema: &Schema,
        first: Option<&RecordBatch>,
    ) -> Result<Self> {
        let at = Location::in_memory(source);
        let first = |wanted: &[usize]| {
            let some = first.map(|batch| batch.project(wanted));
            some.transpose().map_err(|e| at.damaged(e))
        };
        // Names that this schema has for what goes in, in the order of the fit or of the network.
        let (scorer, reading, inputs) = match inputs {
            BatchInputs::Head { .. } => {
                let all = Leaves::of(&at, schema, first)?;
                let scorer = ModelScorer::renamed(model, &all.named(model, inputs)?, settings)?;
                let names = scorer.inputs().to_vec();
                all.header.exact(&names)?;
                let text = scorer.texts().to_vec();
                (scorer, Reading { numbers: Some(names.clone()), text, ..Reading::default() }, names)
            }
            BatchInputs::Network(Some(names)) => {
                let names = Leaves::of(&at, schema, first)?.find(names)?;
                let scorer = ModelScorer::new(model, settings)?;
                let text = scorer.texts().to_vec();
                (scorer, Reading { numbers: Some(names.clone()), text, ..Reading::default() }, names)
            }
            BatchInputs::Network(None) => {
                let scorer = ModelScorer::new(model, settings)?;
                let text = scorer.texts().to_vec();
                (scorer, Reading { exclude: keep.to_vec(), text, ..Reading::default() }, Vec::new())
            }
        };
        let Shown { kept, outputs, schema: shown } = Shown::new(&scorer, keep, &at, schema)?;
        let ask = Ask { reading: &reading, among: false, name: None };
        let (columns, _, _) = Columns::new(&at, schema, &ask, first)?;
        let inputs = if inputs.is_empty() { columns.names().to_vec() } else { inputs };
        let place = |name: &String| columns.names().iter().position(|n| n == name);
        let places = scorer.inputs().iter().filter_map(place).collect();
        Ok(BatchScorer { source: at.path, scorer, columns, inputs, places, kept, outputs, schema: shown })
    }

    /// The schema of what comes out for batches of a schema, without a look at the inputs.
    pub fn schema_for(
        model: &Model,
        settings: &ScoreSettings,
        keep: &[String],
        source: &str,
        schema: &Schema,
    ) -> Result<SchemaRef> {
        Ok(Shown::new(&ModelScorer::new(model, settings)?, keep, &Location::in_memory(source), schema)?.schema)
    }

    /// The columns of a schema that go in, whether a prediction depends on them or not; columns that are missing are
    /// not told. Empty where a network takes whatever there is.
    pub fn taken(model: &Model, inputs: &BatchInputs, schema: &Schema) -> Vec<String> {
        let ModelColumns { features, prediction, logits, within, conditional, .. } = &model.columns;
        let patterns = match inputs {
            BatchInputs::Network(None) => Vec::new(),
            BatchInputs::Network(Some(names)) => [&names[..], within].concat(),
            BatchInputs::Head { features: f, prediction: p, logits: z } => {
                let given = [(f, features), (p, prediction), (z, logits)];
                let numbers = given.into_iter().flat_map(|(given, own)| given.as_ref().unwrap_or(own));
                let own = model.columns.own_columns().into_iter().flatten();
                numbers.chain(own).chain(within).chain(conditional).cloned().collect()
            }
        };
        taken_by(&patterns, schema)
    }

    /// The schema of what comes out: the columns that are kept, then the predictions.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// The columns that are read: of the head, or of the network before it.
    pub fn inputs(&self) -> &[String] {
        &self.inputs
    }

    /// The columns of the schema that are needed for them, by number.
    pub fn projection(&self) -> &[usize] {
        &self.columns.projection
    }

    /// Predictions for a batch of the schema, on the threads of the current rayon pool. `first_row` is the number of
    /// its first row in messages.
    pub fn score(&self, batch: &RecordBatch, first_row: u64) -> Result<RecordBatch> {
        if batch.num_rows() == 0 {
            return self.beside(batch, None);
        }
        let chosen = self.chosen(batch)?;
        let numbers = self.columns.numbers(first_row, &chosen)?;
        let columns: Vec<score::Column<'_>> = self.places.iter().map(|&i| numbers[i].view()).collect();
        let groups = self.groups(batch, first_row)?;
        let scored = self.scorer.run(&columns, groups.as_deref(), batch.num_rows()).map_err(|e| {
            // What is missing or infinite is named by its column.
            let bad = self.columns.check(first_row, &numbers);
            bad.err().unwrap_or_else(|| e.after_rows(first_row as usize))
        })?;
        self.beside(batch, Some(scored))
    }

    /// The inputs of a network for a batch, in its order.
    pub fn network_inputs(&self, batch: &RecordBatch, first_row: u64) -> Result<ndarray::Array2<f64>> {
        let table = self.table(batch, first_row)?;
        Ok(table.select(&table.find(&self.inputs)?))
    }

    /// The numbers of the rows' groups, where they matter.
    fn groups(&self, batch: &RecordBatch, first_row: u64) -> Result<Option<Vec<f64>>> {
        if self.scorer.texts().is_empty() {
            return Ok(None);
        }
        self.scorer.numbers(&self.table(batch, first_row)?).map_err(|e| e.after_rows(first_row as usize))
    }

    /// Predictions for a batch of which a network has [said](Model::said) something; `first_row` is the number of its
    /// first row in messages.
    pub fn score_said(&self, batch: &RecordBatch, said: &Table, first_row: u64) -> Result<RecordBatch> {
        if said.rows() != batch.num_rows() {
            let what = format!("{}: rows that the network gave back", self.source.display());
            return Err(stonet::Error::Shape { what, expected: batch.num_rows(), found: said.rows() }.into());
        }
        if said.rows() == 0 {
            return self.beside(batch, None);
        }
        let groups = self.groups(batch, first_row)?;
        self.beside(batch, Some(self.scorer.score_with(said, groups.as_deref())?))
    }

    /// Columns of row numbers that go into no network, since nobody named them.
    pub fn left_out(&self) -> &[String] {
        self.columns.left_out()
    }

    /// What messages call the rows.
    pub fn source(&self) -> &Path {
        &self.source
    }

    /// The columns of a batch that are read.
    fn chosen(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        batch.project(&self.columns.projection).map_err(|e| self.wrong(e))
    }

    fn wrong(&self, why: impl ToString) -> Error {
        Problem::Damaged { format: Format::Arrow.name(), why: why.to_string() }.of(self.source.clone())
    }

    fn table(&self, batch: &RecordBatch, first_row: u64) -> Result<Table> {
        table_of(&self.source, &self.columns, &self.chosen(batch)?, first_row)
    }

    /// Kept columns and predictions side by side.
    fn beside(&self, batch: &RecordBatch, scored: Option<Scored>) -> Result<RecordBatch> {
        let Some(scored) = scored else { return Ok(RecordBatch::new_empty(self.schema())) };
        let mut arrays: Vec<_> = self.kept.iter().map(|&i| batch.column(i).clone()).collect();
        for (values, field) in scored.columns.into_iter().zip(self.outputs.fields()) {
            arrays.push(match values {
                Values::Numbers(v) => columnar::owned(v, field),
                Values::Text(t) => columnar::parsed(&t, field).map_err(|e| self.wrong(e))?,
            });
        }
        RecordBatch::try_new(self.schema(), arrays).map_err(|e| self.wrong(e))
    }
}

/// Columns of a batch that are chosen, as a table.
fn table_of(source: &Path, columns: &Columns, chosen: &RecordBatch, first_row: u64) -> Result<Table> {
    let (names, texts) = (columns.names(), columns.text_names());
    let mut piece = Piece::new(vec![Vec::new(); names.len()], texts.len());
    columns.append_from(first_row, chosen, &mut piece)?;
    let table = Table::of_columns(source, names.to_vec(), piece.columns, piece.rows)?;
    Ok(table.with_texts(texts.into_iter().zip(piece.texts).collect()))
}

/// Some columns of record batches of one schema, as tables: all that a head was fitted on, whether a prediction depends on
/// them or not.
pub struct BatchTables {
    source: PathBuf,
    columns: Columns,
}

impl BatchTables {
    /// Finds the columns in a schema, which `source` names in messages; all that are missing are named at once. `first` has
    /// the first row, as for [`BatchScorer::new`]. `numbers` may be empty where only `text` is wanted.
    pub fn new(
        numbers: &[String],
        text: &[String],
        source: &str,
        schema: &Schema,
        first: Option<&RecordBatch>,
    ) -> Result<Self> {
        let at = Location::in_memory(source);
        let reading = Reading { numbers: Some(numbers.to_vec()), text: text.to_vec(), ..Reading::default() };
        let first = |wanted: &[usize]| {
            let some = first.map(|batch| batch.project(wanted));
            some.transpose().map_err(|e| at.damaged(e))
        };
        let ask = Ask { reading: &reading, among: false, name: None };
        let (columns, _, _) = Columns::new(&at, schema, &ask, first)?;
        Ok(BatchTables { source: at.path, columns })
    }

    /// The columns of a batch of the schema; `first_row` is the number of its first row in messages.
    pub fn table(&self, batch: &RecordBatch, first_row: u64) -> Result<Table> {
        let wrong = |why: arrow_schema::ArrowError| {
            Problem::Damaged { format: Format::Arrow.name(), why: why.to_string() }.of(self.source.clone())
        };
        let chosen = batch.project(&self.columns.projection).map_err(wrong)?;
        table_of(&self.source, &self.columns, &chosen, first_row)
    }
}

/// The fields that names or patterns mean, a list also where one of its places is meant.
fn taken_by(patterns: &[String], schema: &Schema) -> Vec<String> {
    let place = |pattern: &str, field: &str| {
        let number = pattern.strip_prefix(field).and_then(|rest| rest.strip_prefix('_'));
        number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    let meant = |field: &Field| {
        patterns.iter().any(|p| {
            let of_list =
                field.data_type().is_list() && (place(p, field.name()) || matches(p, &format!("{}_0", field.name())));
            p == field.name() || matches(p, field.name()) || of_list
        })
    };
    schema.fields().iter().filter(|f| meant(f)).map(|f| f.name().clone()).collect()
}

/// What comes out.
struct Shown {
    kept: Vec<usize>,
    outputs: SchemaRef,
    schema: SchemaRef,
}

impl Shown {
    fn new(scorer: &ModelScorer, keep: &[String], at: &Location, schema: &Schema) -> Result<Self> {
        let all = Header::new(&at.path, schema.fields().iter().map(|f| f.name().clone()).collect())?;
        let kept = all.exact(keep)?;
        let outputs = columnar::schema(scorer.outputs());
        if let Some(both) = outputs.fields().iter().find(|f| keep.contains(f.name())) {
            return Err(Problem::KeptOutput { name: both.name().clone() }.of(at.path.clone()));
        }
        let mut fields: Vec<Field> = kept.iter().map(|&i| schema.field(i).clone()).collect();
        fields.extend(outputs.fields().iter().map(|f| f.as_ref().clone()));
        Ok(Shown { kept, outputs, schema: SchemaRef::new(Schema::new(fields)) })
    }
}

/// All columns of numbers that a schema has, lists laid out.
struct Leaves {
    header: Header,
    /// The column of the schema that each one stands in, by name.
    columns: Vec<String>,
}

impl Leaves {
    fn of(at: &Location, schema: &Schema, first: impl FnOnce(&[usize]) -> Result<Option<RecordBatch>>) -> Result<Self> {
        let (leaves, header) = columns::leaves(at, schema, first)?;
        let columns = leaves.iter().map(|l| schema.field(l.column).name().clone()).collect();
        Ok(Leaves { header, columns })
    }

    /// The names that patterns stand for; the name of a column of lists stands for all of its places.
    fn find(&self, patterns: &[String]) -> Result<Vec<String>> {
        let whole = |pattern: &String| -> Vec<String> {
            let places = (0..self.columns.len()).filter(|&i| self.columns[i] == *pattern && !self.header.has(pattern));
            let places: Vec<String> = places.map(|i| self.header.names[i].clone()).collect();
            if places.is_empty() { vec![pattern.clone()] } else { places }
        };
        let names: Vec<String> = patterns.iter().flat_map(whole).collect();
        Ok(self.header.columns(&names)?.into_iter().map(|i| self.header.names[i].clone()).collect())
    }

    /// The head's columns by the names that the schema has for them.
    fn named(&self, model: &Model, inputs: &BatchInputs) -> Result<ModelColumns> {
        let mut columns = model.columns.clone();
        let BatchInputs::Head { features, prediction, logits } = inputs else { return Ok(columns) };
        let given = [features, prediction, logits];
        let known = [&mut columns.features, &mut columns.prediction, &mut columns.logits];
        for (patterns, names) in given.into_iter().zip(known) {
            let Some(patterns) = patterns else { continue };
            let found = self.find(patterns)?;
            let sorted = |names: &[String]| {
                let mut names = names.to_vec();
                names.sort_unstable();
                names
            };
            if sorted(&found) != sorted(names) {
                *names = found;
            }
        }
        Ok(columns)
    }
}
