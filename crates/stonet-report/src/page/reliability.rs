//! The reliability diagram: what probabilities say against what happens.

use super::Report;
use super::html::{Cell, Figure, Sign, Table, key, numbers};
use crate::ReliabilityRow;
use crate::number::{capital, count, percent, points, whole};
use crate::svg::{Chart, Scale, Style};

/// Bins of probabilities with what happened in each.
pub struct Diagram<'a> {
    /// The heading.
    pub title: &'a str,
    /// What the probability is called.
    pub says: &'a str,
    /// What the share of rows in which it came true is called.
    pub is: &'a str,
    /// Ascending.
    pub rows: &'a [ReliabilityRow],
    /// Of the network's own probabilities; empty where they are not known.
    pub network: &'a [ReliabilityRow],
}

impl Diagram<'_> {
    /// The chart with its numbers.
    pub fn figure(&self, report: &mut Report, caption: &str) -> Figure {
        let Diagram { title, says, is, rows, network } = *self;
        let mut chart = Chart::new(title, says, is);
        chart.scales(Scale::Percent, Scale::Percent);
        let first = |rows: &[ReliabilityRow]| rows.first().map_or(1.0, |r| r.low);
        let low = first(rows).min(first(network));
        chart.x_range(low, 1.0);
        chart.y_range(0.0, 1.0);
        for r in rows {
            let tip = format!("by chance {}–{}", points(r.floor.0), points(r.floor.1));
            chart.area((r.low, r.high), r.floor, Style::Weak, &tip);
        }
        chart.line(vec![(low, low), (1.0, 1.0)], Style::Rule, None);
        if !network.is_empty() {
            chart.line(network.iter().map(|r| (r.confidence, r.accuracy.value)).collect(), Style::Weak, None);
        }
        let (said, found) = (capital(says), capital(is));
        let mut table = Table::numeric(&[&said, "Rows", "Mean", &found, "95 % interval", "By chance"]);
        let mut told = Vec::new();
        for r in rows {
            let a = &r.accuracy;
            let (mean, share, number) = (percent(r.confidence), percent(a.value), count(a.rows, "row"));
            let tip = format!("{says} {mean}, {is} {share}, {number}");
            chart.estimate(r.confidence, a.value, (a.low, a.high), &tip);
            let outside = a.value < r.floor.0 || a.value > r.floor.1;
            let arrow = if a.value < r.confidence { "▼" } else { "▲" };
            table.row(vec![
                format!("{}–{} %", points(r.low), points(r.high)).into(),
                whole(a.rows).into(),
                mean.into(),
                if outside { Cell::marked(&format!("{share} {arrow}"), "low") } else { share.into() },
                format!("{}–{}", points(a.low), points(a.high)).into(),
                format!("{}–{}", points(r.floor.0), points(r.floor.1)).into(),
            ]);
            told.push(tip);
        }
        chart.describe(&told.join("; "));
        let share = format!("{is}, with 95 % interval");
        let mut signs = vec![
            (Sign::Dot, share.as_str()),
            (Sign::Band, "where chance alone would put it"),
            (Sign::Rule, "perfectly calibrated"),
        ];
        if !network.is_empty() {
            signs.push((Sign::Weak, "the network's own"));
        }
        let content = key(&signs) + &chart.embed() + &numbers(&table, title);
        report.figure("reliability", false, title, &content, caption)
    }
}
