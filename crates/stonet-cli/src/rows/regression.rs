//! Rows of numbers to predict: features, targets, what the network says itself, groups.

use std::path::PathBuf;

use ndarray::{Array2, ArrayView2};
use stonet::rows::{Order, Within};
use stonet::{FittedRegressor, RegressionInputs, RegressionRows};
use stonet_io::{ModelColumns, Reading, Table};

use super::hints;
use super::parts::{Source, numbers, words};
use crate::args::ColumnArgs;
use crate::error::{Error, Result};

/// What a file says about rows of numbers.
pub struct RegressionFile {
    path: PathBuf,
    pub columns: ModelColumns,
    pub features: Array2<f64>,
    pub y: Array2<f64>,
    pub prediction: Option<Array2<f64>>,
    /// Lower and upper quantiles, standard deviations, or nothing.
    pub own: Vec<Array2<f64>>,
    pub groups: Option<Vec<usize>>,
    /// The labels of each column of groups within which intervals are to cover.
    labels: Vec<Vec<String>>,
    functions: Option<Array2<f64>>,
    within: Option<(Within, Vec<usize>)>,
    order: Option<Order>,
}

impl RegressionFile {
    /// Columns by flags.
    pub fn read(source: &Source, flags: &ColumnArgs) -> Result<Self> {
        let (table, rows) = source.read(Self::reading(flags)?).map_err(|e| Self::hints(e, flags))?;
        Self::chosen(source, flags, &table, &rows)
    }

    /// The flags that help where columns do not fit.
    pub fn hints(error: Error, flags: &ColumnArgs) -> Error {
        hints::text_columns(hints::absent_target(error, &flags.target), &flags.target)
    }

    /// What has to be read for these flags.
    pub fn reading(flags: &ColumnArgs) -> Result<Reading> {
        if flags.kind.is_some() || flags.features.is_some() || flags.classes.is_some() {
            return Err(Error::flag("--kind, --classes and --features", "are for --task classification"));
        }
        hints::not_targets("--inputs", flags.inputs.as_deref().unwrap_or_default(), &flags.target)?;
        hints::not_targets("--also", &flags.also, &flags.target)?;
        flags.said().into_iter().try_for_each(|(flag, columns)| hints::not_targets(flag, columns, &flags.target))?;
        hints::not_targets("--within", &flags.within, &flags.target)?;
        hints::not_targets("--conditional", &flags.conditional, &flags.target)?;
        let said = flags.said_columns();
        let named = |inputs: &[String]| [inputs, &flags.target, &said, &flags.conditional].concat();
        Ok(Reading {
            numbers: flags.regression_inputs()?.as_deref().map(named),
            text: flags.groups.iter().chain(&flags.within).chain(flags.time.iter().map(|t| &t.0)).cloned().collect(),
            exclude: flags.exclude.clone(),
            required: [&flags.target[..], &said, &flags.conditional].concat(),
            ..Reading::default()
        })
    }

    /// Columns by flags, in rows of a table that was read for them.
    pub fn chosen(source: &Source, flags: &ColumnArgs, table: &Table, rows: &[usize]) -> Result<Self> {
        let exclude: Vec<String> = flags.said_columns();
        let chosen = table.choose(flags.regression_inputs()?.as_deref(), &flags.target, &exclude)?;
        let names = |columns: &[usize]| columns.iter().map(|&c| table.names()[c].clone()).collect::<Vec<_>>();
        let also = match &flags.inputs {
            Some(inputs) => chosen.inputs.len() - table.choose(Some(inputs), &flags.target, &exclude)?.inputs.len(),
            None => 0,
        };
        let columns = ModelColumns {
            features: names(&chosen.inputs),
            also,
            prediction: names(&table.columns(&flags.prediction)?),
            lower: names(&table.columns(&flags.lower)?),
            upper: names(&table.columns(&flags.upper)?),
            sd: names(&table.columns(&flags.sd)?),
            targets: names(&chosen.targets),
            within: flags.within.clone(),
            conditional: names(&table.columns(&flags.conditional)?),
            ..ModelColumns::default()
        };
        let found = [&columns.prediction, &columns.lower, &columns.upper, &columns.sd];
        for ((flag, _), names) in flags.said().into_iter().zip(found) {
            // A pattern may fit the target too.
            hints::not_targets(flag, names, &columns.targets)?;
            let (found, expected) = (names.len(), columns.targets.len());
            if found != 0 && found != expected {
                return Err(Error::flag(flag, format!("names {found} columns, and there are {expected} targets")));
            }
        }
        if let Some(twice) = columns.lower.iter().find(|name| columns.upper.contains(name)) {
            return Err(Error::flag("--upper", format!("names `{twice}`, as --lower does; name two quantiles")));
        }
        let groups = flags.groups.as_ref().map(|g| words(table, g, rows)).transpose()?;
        let order = flags.time.as_ref().map(|time| ordered(source, time, table, rows)).transpose()?;
        let file = Self::of(source, columns, table, rows)?;
        Ok(RegressionFile { groups: groups.map(|g| super::number_groups(&g)), order, ..file })
    }

    /// The columns that a head was fitted on, found by name.
    pub fn like(source: &Source, columns: &ModelColumns) -> Result<Self> {
        let reading = Self::reading_like(columns, None);
        let (table, rows) = source.read(reading).map_err(|e| hints::absent_target(e, &columns.targets))?;
        Self::of(source, columns.clone(), &table, &rows)
    }

    /// What has to be read for the columns that a head was fitted on, and for a column of subgroups.
    pub fn reading_like(columns: &ModelColumns, by: Option<&str>) -> Reading {
        let wanted = columns.inputs().into_iter().chain(columns.targets.iter().cloned()).collect();
        let text = by.into_iter().map(str::to_owned).chain(columns.within.iter().cloned()).collect();
        Reading { numbers: Some(wanted), text, ..Reading::default() }
    }

    /// These columns, in rows of a table that has them.
    pub fn of(source: &Source, columns: ModelColumns, table: &Table, rows: &[usize]) -> Result<Self> {
        let prediction = (!columns.prediction.is_empty()).then(|| numbers(table, &columns.prediction, rows));
        let labels = columns.within.iter().map(|name| words(table, name, rows)).collect::<Result<Vec<_>>>()?;
        let within = match labels.is_empty() {
            true => None,
            false => Some(Within::learn(&slices(&labels)).map_err(Error::columns(&source.path, &columns))?),
        };
        let functions = (!columns.conditional.is_empty()).then(|| numbers(table, &columns.conditional, rows));
        Ok(RegressionFile {
            path: source.path.clone(),
            functions: functions.transpose()?,
            labels,
            within,
            features: numbers(table, &columns.features, rows)?,
            y: numbers(table, &columns.targets, rows)?,
            prediction: prediction.transpose()?,
            own: columns.own_columns().into_iter().map(|names| numbers(table, names, rows)).collect::<Result<_>>()?,
            groups: None,
            order: None,
            columns,
        })
    }

    /// The rows to fit on.
    pub fn calibration(&self) -> Result<RegressionRows<'_>> {
        let mut rows = RegressionRows::new(self.features.view(), self.y.view())
            .map_err(Error::columns(&self.path, &self.columns))?;
        if let Some(d) = &self.prediction {
            rows = rows.with_prediction(d.view()).map_err(Error::rows(&self.path))?;
        }
        if let Some(f) = &self.functions {
            rows = rows.with_conditional(f.view()).map_err(Error::rows(&self.path))?;
        }
        if let Some((within, numbers)) = &self.within {
            rows = rows.with_within(within, numbers).map_err(Error::rows(&self.path))?;
        }
        let wrong = Error::columns(&self.path, &self.columns);
        rows = match &self.own[..] {
            [] => rows,
            [sd] => rows.with_sd(sd.view()).map_err(wrong)?,
            [lower, upper, ..] => rows.with_quantiles(lower.view(), upper.view()).map_err(wrong)?,
        };
        if let Some(order) = &self.order {
            rows = rows.with_order(order).map_err(Error::rows(&self.path))?;
        }
        match &self.groups {
            Some(g) => rows.with_groups(g).map_err(Error::rows(&self.path)),
            None => Ok(rows),
        }
    }

    /// The numbers of the rows' groups for a head that covers within groups.
    pub fn numbers(&self, head: &FittedRegressor) -> Result<Option<Vec<f64>>> {
        let Some(within) = head.within() else { return Ok(None) };
        let numbers = within.encode(&slices(&self.labels)).map_err(Error::columns(&self.path, &self.columns))?;
        Ok(Some(numbers))
    }

    /// The groups of the rows in one text each.
    pub fn group_names(&self) -> Vec<String> {
        let name = |row: usize| self.labels.iter().map(|l| l[row].trim()).collect::<Vec<_>>().join(", ");
        (0..self.labels.first().map_or(0, Vec::len)).map(name).collect()
    }

    /// The rows to predict for.
    pub fn new_rows(&self) -> Result<RegressionInputs<'_>> {
        let mut rows = RegressionInputs::new(self.features.view()).map_err(Error::rows(&self.path))?;
        if let Some(f) = &self.functions {
            rows = rows.with_conditional(f.view()).map_err(Error::rows(&self.path))?;
        }
        if let Some(d) = &self.prediction {
            rows = rows.with_prediction(d.view()).map_err(Error::rows(&self.path))?;
        }
        let wrong = Error::columns(&self.path, &self.columns);
        match &self.own[..] {
            [] => Ok(rows),
            [sd] => rows.with_sd(sd.view()).map_err(wrong),
            [lower, upper, ..] => rows.with_quantiles(lower.view(), upper.view()).map_err(wrong),
        }
    }

    /// What tells each row from others.
    pub fn hashes(&self) -> Result<Vec<u64>> {
        let prediction = self.prediction.as_ref().map(|d| d.view());
        Ok(stonet_io::regression_hashes(self.features.view(), prediction, self.y.view())?)
    }

    /// The same of inputs and of targets alone.
    pub fn parts(&self) -> Result<Vec<Vec<u64>>> {
        let prediction = self.prediction.as_ref().map(|d| d.view());
        Ok(stonet_io::regression_parts(self.features.view(), prediction, self.y.view())?)
    }

    /// What tells these rows from others.
    pub fn fingerprint(&self) -> String {
        let arrays: Vec<ArrayView2<'_, f64>> =
            [&self.features, &self.y].into_iter().chain(&self.prediction).chain(&self.own).map(|a| a.view()).collect();
        stonet_io::Model::fingerprint_of(&arrays)
    }
}

/// The order of rows by a column of time, and the gap.
fn ordered(source: &Source, (column, gap): &(String, Option<usize>), table: &Table, rows: &[usize]) -> Result<Order> {
    Order::of_texts(&words(table, column, rows)?, *gap).map_err(|e| match e {
        stonet::Error::NotTime { row, text } => {
            Error::NotTime { path: source.path.clone(), row, column: column.clone(), text }
        }
        e => Error::rows(&source.path)(e),
    })
}

fn slices(columns: &[Vec<String>]) -> Vec<&[String]> {
    columns.iter().map(Vec::as_slice).collect()
}
