//! The page of a head under watch: evidence over the rows, bounds that hold at all times, and what moved.

use stonet::monitor::Family;

use super::html::{Cell, Table};
use super::{About, Report, Tone};
use crate::number::{shown, whole};
use crate::svg::{Chart, Scale, Style};
use crate::{FamilyReport, MonitorReport};

/// Quantities that a table lists.
const LISTED: usize = 60;

/// The page of a monitor; the verdict is that of one family.
pub fn monitor_report(told: &MonitorReport, family: Family, about: &About) -> String {
    let mut report = Report::new(about);
    let (tone, word) = match told.family(family).alarm_row {
        Some(_) => (Tone::Bad, "Alarm"),
        None => (Tone::Good, "No alarm"),
    };
    report.announce(tone, word, &told.verdict(family));
    let percent = |v: f64| format!("{:.1} %", 100.0 * v);
    let mut tiles =
        vec![("rows", whole(told.rows as usize), format!("{} with answers", whole(told.answered as usize)))];
    for m in &told.measures {
        let bounds = format!("{} to {}, at all times", percent(m.lower), percent(m.upper));
        tiles.push((m.name.as_str(), percent(m.value), bounds));
    }
    report.tiles(&tiles);
    for (of, title, lead) in [
        (&told.answers, "Errors and targets", told.verdict(Family::Answers)),
        (&told.inputs, "What the network sees", told.verdict(Family::Inputs)),
    ] {
        report.heading(title, &lead);
        add(&mut report, of);
    }
    report.html()
}

/// The curves of a family and its table.
fn add(report: &mut Report, family: &FamilyReport) {
    let drawn = family.quantities.iter().filter(|q| q.path.len() > 1);
    let mut chart = Chart::new("Evidence of a change", "rows", "evidence");
    chart.scales(Scale::Linear, Scale::Log);
    let mut any = false;
    for q in drawn {
        // Evidence far below 1 says nothing more than that nothing has changed.
        let points = q.path.iter().map(|(row, v)| (*row as f64, 10f64.powf(v.clamp(-3.0, 12.0)))).collect();
        chart.line(points, if q.alarm_row.is_some() { Style::Strong } else { Style::Weak }, None);
        any = true;
    }
    if any {
        if let Some(q) = family.quantities.iter().find(|q| !q.path.is_empty()) {
            chart.horizontal(10f64.powf(q.log10_threshold), "alarm");
        }
        chart.describe("Evidence that rows have changed, over the rows, one curve per quantity");
        let caption = "A fair bet against the claim that nothing changed: how many times its stake each bettor has. \
                       The stronger curves have raised the alarm.";
        let figure = report.figure("evidence", true, "Evidence over the rows", &chart.embed(), caption);
        report.figures(&[figure]);
    }
    let mut table =
        Table::numeric(&["quantity", "evidence now", "largest", "alarm at", "alarm after row", "calibration rows"]);
    let mut order: Vec<_> = family.quantities.iter().collect();
    order.sort_by(|a, b| (b.log10_largest - b.log10_threshold).total_cmp(&(a.log10_largest - a.log10_threshold)));
    for q in order.into_iter().take(LISTED) {
        let power = |v: f64| Cell::text(&shown(10f64.powf(v.clamp(-99.0, 99.0))));
        let row = q.alarm_row.map_or_else(|| Cell::text("–"), |r| Cell::text(&whole(r as usize)));
        let past = whole(q.calibration_rows as usize);
        let cells = [q.log10_evidence, q.log10_largest, q.log10_threshold].map(power);
        let [now, largest, threshold] = cells;
        table.row(vec![Cell::text(&q.name), now, largest, threshold, row, Cell::text(&past)]);
    }
    let caption = "Those nearest to their alarm first. A quantity without calibration rows compares new rows with each other alone.";
    let figure = report.figure("quantities", true, "Watched quantities", &table.html("Watched quantities"), caption);
    report.figures(&[figure]);
}
