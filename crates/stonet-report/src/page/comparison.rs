//! Methods side by side: a table with the best of each column marked, and bars for the columns that matter most.

use serde::{Deserialize, Serialize};

use super::Report;
use super::html::{Bar, Cell, Figure, Table, bars};
use crate::number::{count, points, shown};

/// Which of two numbers is better.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// The smaller.
    Lower,
    /// The larger.
    Higher,
    /// The one nearer to this.
    Near(f64),
}

/// A column of numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// Which number is marked; none where there is no better.
    pub better: Option<Better>,
    /// Whether the numbers are fractions, to be shown in per cent.
    pub percent: bool,
}

/// A number, with its standard error where it is known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// The number.
    #[serde(with = "crate::number::real")]
    pub value: f64,
    /// Its standard error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
}

/// One method and its numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Method {
    /// Its name.
    pub name: String,
    /// Whether it is what the page is about.
    pub ours: bool,
    /// One per column; none where it was not measured.
    pub scores: Vec<Option<Score>>,
}

/// Methods compared on the same rows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Comparison {
    /// Heading of the table.
    pub title: String,
    /// What was compared, on how many rows.
    pub lead: String,
    /// What the numbers are.
    pub columns: Vec<Column>,
    /// The methods, in the order they are shown.
    pub methods: Vec<Method>,
    /// Columns, from 0, that are also drawn as bars.
    pub charts: Vec<usize>,
}

impl Comparison {
    /// The best number of a column among those that are finite.
    fn best(&self, column: usize) -> Option<f64> {
        let better = self.columns.get(column)?.better?;
        let badness = |v: f64| match better {
            Better::Lower => v,
            Better::Higher => -v,
            Better::Near(target) => (v - target).abs(),
        };
        self.methods.iter().filter_map(|m| m.value(column)).min_by(|a, b| badness(*a).total_cmp(&badness(*b)))
    }
}

impl Comparison {
    /// Which method is best in what, in one sentence.
    pub fn verdict(&self) -> String {
        let mut wins: Vec<(&str, Vec<&str>)> = Vec::new();
        for (i, column) in self.columns.iter().enumerate() {
            let Some(best) = self.best(i) else { continue };
            for m in self.methods.iter().filter(|m| m.value(i) == Some(best)) {
                match wins.iter_mut().find(|w| w.0 == m.name) {
                    Some(w) => w.1.push(&column.name),
                    None => wins.push((&m.name, vec![&column.name])),
                }
            }
        }
        if wins.is_empty() {
            return format!("{} side by side.", count(self.methods.len(), "method"));
        }
        // Stable: who wins most comes first, equals as in the table.
        wins.sort_by_key(|w| std::cmp::Reverse(w.1.len()));
        let told: Vec<String> = wins.iter().map(|(name, columns)| format!("{name} in {}", listed(columns))).collect();
        format!("Best of {}: {}.", count(self.methods.len(), "method"), told.join("; "))
    }
}

/// As `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

impl Method {
    fn score(&self, column: usize) -> Option<Score> {
        self.scores.get(column).copied().flatten()
    }

    fn value(&self, column: usize) -> Option<f64> {
        self.score(column).map(|s| s.value).filter(|v| v.is_finite())
    }
}

pub fn add(report: &mut Report, c: &Comparison) {
    report.heading(&c.title, &c.lead);
    let mut figures = vec![table(report, c)];
    figures.extend(c.charts.iter().filter_map(|&column| chart(report, c, column)));
    report.figures(&figures);
}

fn text(column: &Column, v: f64) -> String {
    if column.percent { points(v) } else { shown(v) }
}

/// Two digits are all that an error is known to.
fn error(column: &Column, v: f64) -> String {
    let v = if column.percent { 100.0 * v } else { v };
    let decimals = if v > 0.0 { (1.0 - v.log10().floor()).clamp(0.0, 9.0) as usize } else { 0 };
    format!("± {v:.decimals$}")
}

fn heading(column: &Column) -> String {
    let arrow = match column.better {
        Some(Better::Lower) => " ↓",
        Some(Better::Higher) => " ↑",
        _ => "",
    };
    format!("{}{}{arrow}", column.name, if column.percent { ", %" } else { "" })
}

fn table(report: &mut Report, c: &Comparison) -> Figure {
    let headings: Vec<String> = std::iter::once("Method".to_owned()).chain(c.columns.iter().map(heading)).collect();
    let mut table = Table::new(&headings.iter().map(String::as_str).collect::<Vec<_>>());
    let best: Vec<Option<f64>> = (0..c.columns.len()).map(|i| c.best(i)).collect();
    for m in &c.methods {
        let cell = |(i, column): (usize, &Column)| match m.score(i) {
            None => Cell::text("–"),
            Some(s) => {
                let shown = text(column, s.value);
                let best = best[i] == Some(s.value);
                let cell = if best { Cell::marked(&format!("★ {shown}"), "best") } else { shown.into() };
                match s.error.filter(|e| e.is_finite()) {
                    Some(e) => cell.with(&error(column, e)),
                    None => cell,
                }
            }
        };
        let cells = std::iter::once(Cell::text(&m.name)).chain(c.columns.iter().enumerate().map(cell)).collect();
        table.row_of(if m.ours { "ours" } else { "" }, cells);
    }
    let caption = "All methods on the same rows. ★ marks the best of a column; arrows say whether small or large numbers are good, \
                   and ± is a standard error: differences within it mean little.";
    report.figure("methods", true, "Methods compared", &table.html("Methods compared"), caption)
}

/// Bars from zero, so that lengths can be compared; none for numbers below it.
fn chart(report: &mut Report, c: &Comparison, column: usize) -> Option<Figure> {
    let about = c.columns.get(column)?;
    let values: Vec<f64> = c.methods.iter().filter_map(|m| m.value(column)).collect();
    let largest = values.iter().copied().fold(0.0, f64::max);
    if largest <= 0.0 || values.iter().any(|v| *v < 0.0) {
        return None;
    }
    let bar = |m: &Method| {
        let score = m.score(column)?;
        Some(Bar {
            name: m.name.clone(),
            value: text(about, score.value) + if about.percent { " %" } else { "" },
            note: score.error.filter(|e| e.is_finite()).map_or(String::new(), |e| error(about, e)),
            part: if score.value.is_finite() { score.value / largest } else { 1.0 },
            rest: !m.ours,
        })
    };
    let content = bars(&c.methods.iter().filter_map(bar).collect::<Vec<_>>());
    let caption = match about.better {
        Some(Better::Lower) => "Shorter bars are better.".to_owned(),
        Some(Better::Higher) => "Longer bars are better.".to_owned(),
        Some(Better::Near(v)) => format!("The nearer to {}, the better.", text(about, v)),
        None => String::new(),
    };
    Some(report.figure("methods-chart", false, &about.name, &content, &caption))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{About, comparison_report};

    fn column(name: &str, better: Better) -> Column {
        Column { name: name.into(), better: Some(better), percent: false }
    }

    fn method(name: &str, values: &[f64]) -> Method {
        let score = |v: &f64| Some(Score { value: *v, error: Some(0.1) });
        Method { name: name.into(), ours: name == "a", scores: values.iter().map(score).collect() }
    }

    #[test]
    fn the_best_of_every_column_is_marked() {
        let c = Comparison {
            columns: vec![column("l", Better::Lower), column("h", Better::Higher), column("n", Better::Near(0.9))],
            methods: vec![
                method("a", &[1.0, 5.0, 0.95]),
                method("b", &[f64::NEG_INFINITY, 7.0, 0.8]),
                method("</td><b>", &[]),
            ],
            charts: vec![0, 1, 2, 99],
            ..Comparison::default()
        };
        assert_eq!((c.best(0), c.best(1), c.best(2), c.best(3)), (Some(1.0), Some(7.0), Some(0.95), None));
        assert_eq!(c.verdict(), "Best of 3 methods: a in l and n; b in h.");
        assert_eq!(listed(&["x", "y", "z"]), "x, y and z");
        assert_eq!((error(&c.columns[0], 0.0642), error(&c.columns[0], 24.3)), ("± 0.064".into(), "± 24".into()));
        let html = comparison_report(&c, &About::default());
        assert_eq!(html.matches("class=\"best\"").count(), 3);
        assert!(html.contains("class=\"ours\"") && html.contains("★ 7.000") && html.contains("−∞"));
        assert!(!html.contains("<b>") && !html.contains("NaN"));
        assert_eq!(html.matches("id=\"methods-chart").count(), 3);
    }
}
