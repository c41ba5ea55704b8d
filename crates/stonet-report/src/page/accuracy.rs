//! The part of a page that judges bounds of accuracy.

use super::Report;
use super::html::{Cell, Sign, Table, key};
use crate::Judgement;
use crate::evaluate::AccuracyEvaluation;
use crate::number::{count, percent, points, whole};
use crate::svg::{Chart, Scale, Style};

/// Adds the figures for so many classes, below whose inverse no confidence lies.
pub fn add(report: &mut Report, e: &AccuracyEvaluation, classes: usize) {
    report.heading("Does the accuracy lie within its bounds?", &e.verdict());
    report.notes(&e.weak_spots());
    let least = 1.0 / classes.max(1) as f64;
    let mut chart = Chart::new("Bounds of accuracy", "confidence", "accuracy");
    chart.scales(Scale::Percent, Scale::Percent);
    chart.x_range(least, 1.0);
    chart.y_range(0.0, 1.0);
    let mut table = Table::numeric(&["Confidence", "Rows", "Accuracy", "95 % interval", "Promised", "Rows of the fit"]);
    let mut told = Vec::new();
    for b in &e.bins {
        let promised = format!("{}–{}", points(b.lower), points(b.upper));
        if b.to > least {
            let tip = format!("confidence {}: promised {promised} %", b.name);
            chart.area((b.from.max(least), b.to), (b.lower, b.upper), Style::Weak, &tip);
        }
        let mut seen: Vec<Cell> = ["0", "–", "–"].map(Cell::text).into();
        if let (Some(a), Some(confidence)) = (b.accuracy, b.confidence) {
            let tip = format!("confidence {}, accuracy {}, {}", b.name, percent(a.value), count(a.rows, "row"));
            chart.estimate(confidence, a.value, (a.low, a.high), &tip);
            told.push(format!("{tip}, promised {promised} %"));
            let found = percent(a.value);
            let marked = match b.judgement {
                Judgement::Kept => found.into(),
                Judgement::Short => Cell::marked(&format!("{found} ▼"), "low"),
                Judgement::Cautious => Cell::marked(&format!("{found} ▲"), "low"),
            };
            seen = vec![whole(a.rows).into(), marked, format!("{}–{}", points(a.low), points(a.high)).into()];
        }
        let mut row: Vec<Cell> = vec![b.name.clone().into()];
        row.extend(seen);
        row.extend([promised.into(), whole(b.counted).into()]);
        table.row(row);
    }
    chart.describe(&told.join("; "));
    let signs = [(Sign::Dot, "accuracy of these rows, with 95 % interval"), (Sign::Band, "promised bounds")];
    let chart = key(&signs) + &chart.embed();
    let caption = "Rows of similar confidence are taken together. The bands are the bounds that the head promises; dots are the accuracy \
                   of the rows on this page.";
    let table_caption =
        format!("▼ and ▲ mark an accuracy below or above its bounds, beyond chance over all bins. {}", e.guarantee);
    let figures = [
        report.figure("accuracy-bounds", false, "Bounds of accuracy", &chart, caption),
        report.figure(
            "accuracy-bins",
            true,
            "Every bin of confidence",
            &table.html("Bins of confidence"),
            &table_caption,
        ),
    ];
    report.figures(&figures);
}
