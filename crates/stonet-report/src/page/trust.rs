//! Figures of smooth reliability and of risk against coverage.

use super::Report;
use super::html::{Figure, Sign, Table, key, numbers};
use crate::ClassEvaluation;
use crate::evaluate::REJECTED;
use crate::number::{percent, points, shown, whole};
use crate::svg::{Chart, Scale, Style};
use crate::{Proportion, evaluate::TrustReport};

/// Rows of the table below the risk–coverage curve.
const TABLE: usize = 10;

/// Both figures, where there is anything to draw.
pub fn figures(report: &mut Report, e: &ClassEvaluation) -> Vec<Figure> {
    let Some(trust) = &e.trust else { return Vec::new() };
    let mut figures = Vec::new();
    if trust.smooth.len() > 1 {
        figures.push(smooth(report, trust));
    }
    if trust.risk.len() > 1 {
        figures.push(risk(report, e, trust));
    }
    figures
}

fn smooth(report: &mut Report, trust: &TrustReport) -> Figure {
    let mut chart = Chart::new("Smooth reliability", "confidence", "accuracy");
    chart.scales(Scale::Percent, Scale::Percent);
    let low = trust.smooth.first().map_or(0.0, |p| p.confidence);
    chart.x_range(low, 1.0);
    chart.y_range(0.0, 1.0);
    chart.band(trust.smooth.iter().map(|p| (p.confidence, p.low, p.high)).collect());
    chart.line(vec![(low, low), (1.0, 1.0)], Style::Rule, None);
    chart.line(trust.smooth.iter().map(|p| (p.confidence, p.accuracy)).collect(), Style::Strong, None);
    let ece = &trust.scores.smooth_ece;
    let tests: Vec<String> = [("of the guess", trust.p_top), ("of all classes", trust.p_classes)]
        .into_iter()
        .filter_map(|(what, p)| p.map(|p| format!("{what} p = {}{}", shown(p), if p <= REJECTED { " ▼" } else { "" })))
        .collect();
    chart.describe(&format!("Smooth calibration error {} points.", points(ece.value)));
    let content = key(&[
        (Sign::Line, "accuracy around this confidence"),
        (Sign::Band, "95 % interval, point by point"),
        (Sign::Rule, "perfectly calibrated"),
    ]) + &chart.embed();
    let tested = if tests.is_empty() {
        String::new()
    } else {
        format!(" Test that probabilities are right: {}; ▼ marks a p-value of at most {REJECTED}.", tests.join(", "))
    };
    let caption = format!(
        "Accuracy among rows of similar confidence, without bins: neighbours count by a Gaussian of width {}. The smooth calibration \
         error is {} points (95 % interval {}–{}).{tested}",
        percent(trust.bandwidth),
        points(ece.value),
        points(ece.low),
        points(ece.high),
    );
    report.figure("smooth", false, "Smooth reliability", &content, &caption)
}

fn risk(report: &mut Report, e: &ClassEvaluation, trust: &TrustReport) -> Figure {
    let mut chart = Chart::new("Risk and coverage", "share of rows kept, the surest first", "wrong guesses");
    chart.scales(Scale::Percent, Scale::Percent);
    chart.x_range(0.0, 1.0);
    let all: Vec<(f64, f64, Proportion)> =
        trust.risk.iter().map(|r| (r.coverage, r.confidence, Proportion::new(r.wrong as f64, r.rows))).collect();
    let most = all.iter().filter(|r| r.0 >= 0.1).map(|r| r.2.high).fold(0.01, f64::max);
    chart.y_range(0.0, (1.05 * most).min(1.0));
    chart.band(all.iter().map(|(c, _, w)| (*c, w.low.min(most), w.high.min(most))).collect());
    chart.line(all.iter().map(|(c, _, w)| (*c, w.value)).collect(), Style::Strong, None);
    // The best order: all right guesses before the first wrong one.
    let error = 1.0 - e.accuracy.value;
    let best = |c: f64| (c, ((c - (1.0 - error)) / c).max(0.0));
    chart.line((1..=100).map(|i| best(f64::from(i) / 100.0)).collect(), Style::Rule, None);
    let mut table = Table::numeric(&["Rows kept", "Rows", "Confidence from", "Wrong", "95 % interval"]);
    let step = all.len().div_ceil(TABLE);
    let mut told = Vec::new();
    for (c, confidence, w) in all.iter().rev().step_by(step).rev() {
        table.row(vec![
            percent(*c).into(),
            whole(w.rows).into(),
            percent(*confidence).into(),
            percent(w.value).into(),
            format!("{}–{}", points(w.low), points(w.high)).into(),
        ]);
        told.push(format!("of the surest {} {} are wrong", percent(*c), percent(w.value)));
    }
    chart.describe(&told.join("; "));
    let content = key(&[
        (Sign::Line, "wrong among the rows kept"),
        (Sign::Band, "95 % interval"),
        (Sign::Rule, "best order of the same guesses"),
    ]) + &chart.embed()
        + &numbers(&table, "Risk and coverage");
    let caption = format!(
        "If only the surest guesses are kept, how many of them are wrong? The area below the line (AURC) is {}, of which {} lie above the \
         best order; perfect calibration does not make the order good, and a good order does not make confidence right.",
        shown(trust.scores.aurc.value),
        shown(trust.scores.excess_aurc.value),
    );
    report.figure("risk", false, "Risk and coverage", &content, &caption)
}
