//! Methods side by side: a table with the best of each column marked, and bars for the columns that matter most.

use serde::{Deserialize, Serialize};

use super::Report;
use super::html::{Bar, Cell, Figure, Table, bars};
use crate::number::{count, duration, grouped, points, shown};

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
    /// What the numbers are.
    pub unit: Unit,
}

/// What the numbers of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Numbers in a unit of their own.
    #[default]
    Number,
    /// Fractions, to be shown in per cent.
    Percent,
    /// Times in seconds.
    Seconds,
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
    /// The name of the method.
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

/// Standard errors of the difference that a winner has to be ahead by: 95 % of all differences by chance alone are
/// smaller.
const CLEAR: f64 = 1.96;

impl Better {
    fn badness(self, v: f64) -> f64 {
        match self {
            Better::Lower => v,
            Better::Higher => -v,
            Better::Near(target) => (v - target).abs(),
        }
    }
}

impl Comparison {
    /// The method that is better than every other in a column by more than chance: the difference exceeds 1.96 of its
    /// standard errors, as if the methods had been judged on different rows, which overstates the error of most
    /// differences. None where an error is unknown.
    fn winner(&self, column: usize) -> Option<usize> {
        let better = self.columns.get(column)?.better?;
        let scores: Vec<(usize, Score)> = (self.methods.iter().enumerate())
            .filter_map(|(i, m)| m.score(column).filter(|s| s.value.is_finite()).map(|s| (i, s)))
            .collect();
        let badness = |s: &Score| better.badness(s.value);
        let &(winner, best) = scores.iter().min_by(|a, b| badness(&a.1).total_cmp(&badness(&b.1)))?;
        let clear = |other: &Score| match (best.error, other.error) {
            (Some(a), Some(b)) => badness(other) - badness(&best) > CLEAR * a.hypot(b),
            _ => false,
        };
        let others = scores.iter().filter(|(i, _)| *i != winner);
        (scores.len() > 1 && others.clone().all(|(_, s)| clear(s))).then_some(winner)
    }

    /// Which method is best in what beyond chance, in one sentence.
    pub fn verdict(&self) -> String {
        let mut wins: Vec<(usize, Vec<&str>)> = Vec::new();
        for (i, column) in self.columns.iter().enumerate() {
            let Some(winner) = self.winner(i) else { continue };
            match wins.iter_mut().find(|w| w.0 == winner) {
                Some(w) => w.1.push(&column.name),
                None => wins.push((winner, vec![&column.name])),
            }
        }
        let methods = count(self.methods.len(), "method");
        if wins.is_empty() {
            return format!("{methods} compared; none is better than all others by more than chance.");
        }
        // Stable: who wins most comes first, equals as in the columns.
        wins.sort_by_key(|w| std::cmp::Reverse(w.1.len()));
        let told: Vec<String> =
            wins.iter().map(|(m, columns)| format!("{} in {}", self.methods[*m].name, listed(columns))).collect();
        format!("Best of {methods} by more than chance: {}.", told.join("; "))
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
    match column.unit {
        Unit::Percent => points(v),
        Unit::Seconds => duration(v),
        Unit::Number => shown(v),
    }
}

/// Two digits are all that an error is known to.
fn error(column: &Column, v: f64) -> String {
    if column.unit == Unit::Seconds {
        return format!("± {}", duration(v));
    }
    let v = if column.unit == Unit::Percent { 100.0 * v } else { v };
    let decimals = if v > 0.0 { (1.0 - v.log10().floor()).clamp(0.0, 9.0) as usize } else { 0 };
    format!("± {}", grouped(&format!("{v:.decimals$}")))
}

fn heading(column: &Column) -> String {
    let arrow = match column.better {
        Some(Better::Lower) => " ↓",
        Some(Better::Higher) => " ↑",
        _ => "",
    };
    format!("{}{}{arrow}", column.name, if column.unit == Unit::Percent { ", %" } else { "" })
}

fn table(report: &mut Report, c: &Comparison) -> Figure {
    let headings: Vec<String> = std::iter::once("Method".to_owned()).chain(c.columns.iter().map(heading)).collect();
    let mut table = Table::new(&headings.iter().map(String::as_str).collect::<Vec<_>>());
    let winners: Vec<Option<usize>> = (0..c.columns.len()).map(|i| c.winner(i)).collect();
    for (number, m) in c.methods.iter().enumerate() {
        let cell = |(i, column): (usize, &Column)| match m.score(i) {
            None => Cell::text("–"),
            Some(s) => {
                let shown = text(column, s.value);
                let cell = if winners[i] == Some(number) {
                    Cell::marked(&format!("★ {shown}"), "best")
                } else {
                    shown.into()
                };
                match s.error.filter(|e| e.is_finite()) {
                    Some(e) => cell.with(&error(column, e)),
                    None => cell,
                }
            }
        };
        let cells = std::iter::once(Cell::text(&m.name)).chain(c.columns.iter().enumerate().map(cell)).collect();
        table.row_of(if m.ours { "ours" } else { "" }, cells);
    }
    let mut caption = String::from("All methods on the same rows. Arrows say whether small or large numbers are good.");
    if winners.iter().any(Option::is_some) {
        caption += " ★ marks a method that is better than every other in its column by more than chance.";
    } else if c.columns.iter().any(|c| c.better.is_some()) {
        caption += " No method is better than all others in a column by more than chance.";
    }
    if c.methods.iter().flat_map(|m| m.scores.iter().flatten()).any(|s| s.error.is_some_and(f64::is_finite)) {
        caption += " ± is a standard error; differences of less than about three of them may be chance.";
    }
    report.figure("methods", true, &c.title, &table.html(&c.title), &caption)
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
            value: text(about, score.value) + if about.unit == Unit::Percent { " %" } else { "" },
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
        Column { name: name.into(), better: Some(better), unit: Unit::Number }
    }

    fn method(name: &str, error: Option<f64>, values: &[f64]) -> Method {
        let score = |v: &f64| Some(Score { value: *v, error });
        Method { name: name.into(), ours: name == "a", scores: values.iter().map(score).collect() }
    }

    fn three(error: Option<f64>) -> Comparison {
        Comparison {
            columns: vec![column("l", Better::Lower), column("h", Better::Higher), column("n", Better::Near(0.9))],
            methods: vec![
                method("a", error, &[1.0, 5.0, 0.95]),
                method("b", error, &[f64::NEG_INFINITY, 7.0, 0.8]),
                method("c", error, &[2.0, 6.0]),
                method("</td><b>", error, &[]),
            ],
            charts: vec![0, 1, 2, 99],
            ..Comparison::default()
        }
    }

    #[test]
    fn a_clear_winner_of_a_column_is_marked() {
        let c = three(Some(0.01));
        assert_eq!((c.winner(0), c.winner(1), c.winner(2), c.winner(3)), (Some(0), Some(1), Some(0), None));
        assert_eq!(c.verdict(), "Best of 4 methods by more than chance: a in l and n; b in h.");
        assert_eq!(listed(&["x", "y", "z"]), "x, y and z");
        assert_eq!((error(&c.columns[0], 0.0642), error(&c.columns[0], 24.3)), ("± 0.064".into(), "± 24".into()));
        let html = comparison_report(&c, &[], &About::default());
        assert_eq!(html.matches("class=\"best\"").count(), 3);
        assert!(html.contains("class=\"ours\"") && html.contains("★ 7.000") && html.contains("−∞"));
        assert!(html.contains("★ marks") && html.contains("± is a standard error"));
        assert!(!html.contains("<b>") && !html.contains("NaN"));
        assert_eq!(html.matches("id=\"methods-chart").count(), 3);
    }

    #[test]
    fn nothing_is_marked_where_a_difference_may_be_chance() {
        // The nearest differ by 1, with standard errors of 0.6 each: 1.2 standard errors of the difference.
        for error in [Some(0.6), None] {
            let c = three(error);
            assert_eq!((c.winner(0), c.winner(1), c.winner(2)), (None, None, None));
            assert_eq!(c.verdict(), "4 methods compared; none is better than all others by more than chance.");
            let html = comparison_report(&c, &[], &About::default());
            assert!(!html.contains('★'), "{html}");
            assert_eq!(html.contains('±'), error.is_some());
        }
    }

    #[test]
    fn seconds_have_units() {
        let seconds = Column { name: "time".into(), better: None, unit: Unit::Seconds };
        let c = Comparison {
            columns: vec![seconds],
            methods: vec![method("a", None, &[2.68e-5]), method("b", None, &[0.25])],
            ..Comparison::default()
        };
        let html = comparison_report(&c, &[], &About::default());
        assert!(html.contains("26.8 µs") && html.contains("250 ms") && !html.contains("e-5"), "{html}");
        assert!(!html.contains('★') && !html.contains("by more than chance.</figcaption>"));
    }
}
