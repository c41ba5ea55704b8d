//! Every interval method on the user's own features: fitted on the same validation rows, judged on the same test rows.

use ndarray::{ArrayView2, Axis};
use serde::Serialize;
use stonet::base::Work;
use stonet::metrics::rmse;
use stonet::rows::OwnKind;
use stonet::{Level, RegressionInputs, RegressionRows, Seed, Ticker};

use super::methods::{Test, judge};
use super::report::columns;
use super::{DEFAULT, Judged, Method, number};
use crate::table::Table;
use crate::{Error, Result};

/// One method on the test rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// The name of the method.
    pub name: &'static str,
    /// What it shows.
    #[serde(flatten)]
    pub judged: Judged,
}

/// A method that these rows do not allow, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// The name of the method.
    pub name: &'static str,
    /// The reason.
    pub reason: String,
}

/// All methods on one split; its JSON is that of `stonet compare`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IntervalComparison {
    /// Name and version of this layout.
    pub schema: &'static str,
    /// `regression`.
    pub task: &'static str,
    /// What is used where nothing is said.
    pub default: &'static str,
    /// 1 − α.
    pub level: f64,
    /// Rows that were fitted on.
    pub validation_rows: usize,
    /// Rows that judge.
    pub test_rows: usize,
    /// Features per row.
    pub features: usize,
    /// Further columns beside them.
    pub also: usize,
    /// Methods that saw the further columns.
    pub with_further: Vec<&'static str>,
    /// Root mean squared error of the network's own prediction on the test rows, where it is given.
    pub network_rmse: Option<f64>,
    /// Random seed.
    pub seed: u64,
    /// One entry per method.
    pub methods: Vec<Compared>,
    /// Methods that these rows do not allow.
    pub refused: Vec<Refused>,
}

/// Why a method was not fitted, with the flag that helps.
fn reason(e: &stonet::Error) -> String {
    match e {
        stonet::Error::NoPrediction { what } => {
            format!("{what} needs the network's own predictions; pass --prediction COLUMN")
        }
        stonet::Error::NoOwn { what } => {
            let flags = if *what == OwnKind::Sd.names()[0] { "--sd COLUMN" } else { "--lower COLUMN --upper COLUMN" };
            format!("it needs the network's own {what}; pass {flags}")
        }
        e => e.to_string(),
    }
}

fn without_last(columns: ArrayView2<'_, f64>, also: usize) -> ArrayView2<'_, f64> {
    let kept = columns.ncols().saturating_sub(also);
    columns.split_at(Axis(1), kept).0
}

/// Fits and judges each method in turn; `methods` are names of [`Method::ALL`], or none for all of them that the
/// network's own uncertainty allows. Each is fitted
/// with the seed itself, as `stonet fit` does, so that the same seed gives the same fit. A method that needs the
/// network's own prediction where there is none is listed as refused. The last `also` features are further columns,
/// which a method sees only if [it has a place for them](Method::sees_further_columns).
pub fn compare_intervals<'a>(
    rows: &RegressionRows<'_>,
    test: (RegressionInputs<'a>, ArrayView2<'a, f64>),
    also: usize,
    methods: &[String],
    level: Level,
    seed: u64,
    tick: Ticker<'_>,
) -> Result<IntervalComparison> {
    let chosen = methods.iter().map(|name| name.parse()).collect::<Result<Vec<Method>>>()?;
    let chosen = match chosen.is_empty() {
        true => Method::ALL.into_iter().filter(|m| m.own().is_none_or(|own| rows.own() == Some(own))).collect(),
        false => chosen,
    };
    test.0.check_values(test.1)?;
    let hidden_rows = rows.with_features(without_last(rows.features(), also))?;
    let hidden_test = test.0.with_features(without_last(test.0.features(), also))?;
    let (mut judged, mut refused) = (Vec::new(), Vec::new());
    let work = Work::new(chosen.len(), "methods", tick);
    for &method in &chosen {
        let name = method.name();
        let stop = |_: usize, _: usize| work.check().is_ok();
        let (fit, new) = match method.sees_further_columns() {
            true => (rows, test.0),
            false => (&hidden_rows, hidden_test),
        };
        match judge(method, fit, Test { new, y: test.1 }, level, Seed::new(seed), &stop) {
            Ok(j) => judged.push(Compared { name, judged: j }),
            Err(Error::Core(stonet::Error::Cancelled(c))) => return Err(c.into()),
            Err(Error::Core(e)) => refused.push(Refused { name, reason: reason(&e) }),
            Err(e) => return Err(e),
        }
        work.advance()?;
    }
    if let (true, Some(first)) = (judged.is_empty(), refused.first()) {
        return Err(Error::NoMethod { reason: format!("{}: {}", first.name, first.reason) });
    }
    Ok(IntervalComparison {
        schema: "stonet.compare.regression/1",
        task: "regression",
        default: DEFAULT,
        level: level.get(),
        validation_rows: rows.rows(),
        test_rows: test.1.nrows(),
        features: hidden_rows.features().ncols(),
        also,
        with_further: judged.iter().map(|m| m.name).filter(|n| also > 0 && sees(n)).collect(),
        network_rmse: test.0.prediction().map(|d| rmse(d, test.1)).transpose()?,
        seed,
        methods: judged,
        refused,
    })
}

/// Whether the method of this name sees further columns.
fn sees(name: &str) -> bool {
    name.parse::<Method>().is_ok_and(Method::sees_further_columns)
}

impl IntervalComparison {
    /// The methods side by side.
    pub fn table(&self) -> Table {
        let header = [
            "method",
            "coverage %",
            "mean length",
            "median",
            "Winkler",
            "narrowest fifth %",
            "widest fifth %",
            "seconds",
        ];
        let mut t = Table::new(&header);
        for m in &self.methods {
            let (mark, j) = (if m.name == self.default { " (default)" } else { "" }, &m.judged);
            t.row(vec![
                format!("{}{mark}", m.name),
                format!("{:.1}", 100.0 * j.coverage),
                number(j.mean_length),
                number(j.median_length),
                number(j.winkler),
                format!("{:.1}", 100.0 * j.narrowest),
                format!("{:.1}", 100.0 * j.widest),
                format!("{:.2}", j.seconds),
            ]);
        }
        t
    }

    /// The result in words around the table.
    pub fn text(&self) -> String {
        let error = self
            .network_rmse
            .map_or(String::new(), |e| format!("; the network's root mean squared error is {}", number(e)));
        let mut text = format!(
            "{} features, {} validation rows, {} test rows, intervals at {} %{error}\n\n{}",
            self.features,
            self.validation_rows,
            self.test_rows,
            (1e4 * self.level).round() / 100.0,
            self.table()
        );
        if self.also > 0 {
            let further = format!("{} further columns", self.also);
            text += &format!("\n{}\n", columns(&self.with_further, self.methods.iter().map(|m| m.name), &further));
        }
        for r in &self.refused {
            text += &format!("note: {} is not there: {}\n", r.name, r.reason);
        }
        text
    }
}
