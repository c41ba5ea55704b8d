//! Rows of a network with one output per label: columns of 0 and 1, each with its own output.

use std::path::PathBuf;

use ndarray::Array2;
use stonet::InputKind;
use stonet::classification::{LabelInputs, LabelRows, label_names, labels_by_name};
use stonet_io::{ModelColumns, Reading, Table};

use super::hints;
use super::parts::{Source, numbers, outputs_and_features, outputs_reading};
use crate::args::ColumnArgs;
use crate::error::{Error, Result};

/// What a file says about rows with many labels.
pub struct LabelFile {
    path: PathBuf,
    /// Outputs and targets in the same order.
    pub columns: ModelColumns,
    pub kind: InputKind,
    pub names: Vec<String>,
    /// As they stand in the file, n × K.
    outputs: Array2<f64>,
    features: Option<Array2<f64>>,
    pub present: Array2<bool>,
    /// Whether the names of the columns tell which output belongs to which label, and not their order.
    pub by_name: bool,
    /// What tells each row from others.
    pub hashes: Vec<u64>,
}

impl LabelFile {
    /// Columns by flags.
    pub fn read(source: &Source, flags: &ColumnArgs) -> Result<Self> {
        let (table, rows) = source.read(Self::reading(flags)?).map_err(|e| Self::hints(e, flags))?;
        Self::chosen(source, flags, &table, &rows)
    }

    /// The flags that help where columns do not fit.
    pub fn hints(error: Error, flags: &ColumnArgs) -> Error {
        hints::text_columns(hints::absent_target(error, &flags.target), &[])
    }

    /// What has to be read for these flags.
    pub fn reading(flags: &ColumnArgs) -> Result<Reading> {
        if !flags.said_columns().is_empty() || flags.groups.is_some() || !flags.also.is_empty() {
            let flags = "--prediction, --lower, --upper, --sd, --groups and --also";
            return Err(Error::flag(flags, "are for --task regression"));
        }
        if flags.classes.is_some() {
            let why = "is for --task classification; the columns of --target are the labels";
            return Err(Error::flag("--classes", why));
        }
        if flags.kind == Some(InputKind::Features) {
            let why = "features is for --task classification; --task labels needs one output of the network per label, so pass --kind \
                       logits or --kind probabilities";
            return Err(Error::flag("--kind", why));
        }
        outputs_reading(flags)
    }

    /// Columns by flags, in rows of a table that was read for them.
    pub fn chosen(source: &Source, flags: &ColumnArgs, table: &Table, rows: &[usize]) -> Result<Self> {
        let targets = table.text_names(&flags.target)?;
        let (inputs, features) = outputs_and_features(flags, table)?;
        // The same by name, where patterns stand for several columns.
        hints::not_targets("--inputs", &inputs, &targets)?;
        hints::not_targets("--features", &features, &targets)?;
        if targets.len() != inputs.len() {
            let (labels, outputs) = (targets.len(), inputs.len());
            let columns = if outputs == 1 { "column" } else { "columns" };
            let found = match &flags.inputs {
                Some(_) => format!("names {outputs} {columns}"),
                None => format!("is not given, which means all {outputs} other {columns} of numbers"),
            };
            let why = format!(
                "{found}, and --target names {labels}: every label needs one output of the network; name as many columns by both, such as \
                 --target 'y_*' --inputs 'z_*'"
            );
            return Err(Error::flag("--inputs", why));
        }
        // Labels stand in the order of the outputs, so that a network's tensor can take the place of the columns.
        let found = labels_by_name(&inputs, &targets);
        let by_name = found.is_some();
        let targets = match found {
            Some(places) => places.iter().map(|&i| targets[i].clone()).collect(),
            None => targets,
        };
        let columns = ModelColumns { features, logits: inputs, targets, ..ModelColumns::default() };
        let file = Self::of(source, columns, flags.kind, table, rows)?;
        Ok(LabelFile { by_name, ..file })
    }

    /// What has to be read for the columns that a head was fitted on, and for a column of subgroups.
    pub fn reading_like(columns: &ModelColumns, by: Option<&str>) -> Reading {
        let text = columns.targets.iter().cloned().chain(by.map(str::to_owned)).collect();
        Reading { numbers: Some(columns.inputs()), text, ..Reading::default() }
    }

    /// Columns that are known, in rows of a table that has them.
    pub fn known(
        source: &Source,
        columns: &ModelColumns,
        kind: InputKind,
        table: &Table,
        rows: &[usize],
    ) -> Result<Self> {
        Self::of(source, columns.clone(), Some(kind), table, rows)
    }

    fn of(
        source: &Source,
        columns: ModelColumns,
        kind: Option<InputKind>,
        table: &Table,
        rows: &[usize],
    ) -> Result<Self> {
        let outputs = numbers(table, &columns.logits, rows)?;
        let features = match columns.features.is_empty() {
            true => None,
            false => Some(numbers(table, &columns.features, rows)?),
        };
        let kind = kind.unwrap_or_else(|| LabelRows::guess_kind(outputs.view()));
        let mut present = Array2::default((rows.len(), columns.targets.len()));
        for (name, mut column) in columns.targets.iter().zip(present.columns_mut()) {
            let texts = table.text(name)?;
            for (&row, place) in rows.iter().zip(&mut column) {
                *place = parsed(&texts[row]).ok_or_else(|| Error::LabelValue {
                    path: source.path.clone(),
                    row,
                    column: name.clone(),
                    text: texts[row].clone(),
                })?;
            }
        }
        let y = present.mapv(|p| f64::from(u8::from(p)));
        let hashes = stonet_io::regression_hashes(outputs.view(), None, y.view())?;
        let names = label_names(&columns.targets);
        let path = source.path.clone();
        Ok(LabelFile { path, columns, kind, names, outputs, features, present, by_name: true, hashes })
    }

    /// The rows as the head takes them.
    pub fn inputs(&self) -> Result<LabelInputs<'_>> {
        let inputs = LabelInputs::new(self.kind, self.outputs.view()).and_then(|i| match &self.features {
            Some(features) => i.with_features(features.view()),
            None => Ok(i),
        });
        inputs.map_err(Error::labels(&self.path, &self.columns))
    }

    /// The rows to fit on.
    pub fn calibration(&self) -> Result<LabelRows<'_>> {
        LabelRows::new(self.inputs()?, self.present.view(), &self.names)
            .map_err(Error::labels(&self.path, &self.columns))
    }

    /// The share of rows in which each label is present.
    pub fn base_rates(&self) -> Vec<f64> {
        let share = |c: ndarray::ArrayView1<'_, bool>| c.iter().filter(|p| **p).count() as f64 / c.len() as f64;
        self.present.columns().into_iter().map(share).collect()
    }

    /// What tells these rows from others.
    pub fn fingerprint(&self) -> String {
        let y = self.present.mapv(|p| f64::from(u8::from(p)));
        let arrays: Vec<_> = [&self.outputs].into_iter().chain(&self.features).chain([&y]).map(|a| a.view()).collect();
        stonet_io::Model::fingerprint_of(&arrays)
    }
}

/// Whether a label is present, by what stands in its column.
fn parsed(text: &str) -> Option<bool> {
    let text = text.trim();
    match text.parse::<f64>() {
        Ok(1.0) => Some(true),
        Ok(0.0) => Some(false),
        Ok(_) => None,
        Err(_) if text.eq_ignore_ascii_case("true") => Some(true),
        Err(_) if text.eq_ignore_ascii_case("false") => Some(false),
        Err(_) => None,
    }
}
