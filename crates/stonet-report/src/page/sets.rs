//! The part of a page that judges prediction sets.

use super::Report;
use super::html::{Cell, Figure, Table};
use crate::evaluate::{SetEvaluation, SetRow};
use crate::number::{percent, points, shown, whole};

/// Classes that are listed, those of the lowest coverage.
const LISTED: usize = 50;

pub fn add(report: &mut Report, e: &SetEvaluation) {
    report.heading("Do prediction sets hold the true class?", &e.verdict());
    report.tiles(&[
        (
            "Coverage of the sets",
            percent(e.coverage.value),
            format!(
                "95 % interval {}–{}; asked for {} %",
                points(e.coverage.low),
                points(e.coverage.high),
                e.level.percent()
            ),
        ),
        ("Mean size", shown(e.mean_size), format!("classes; median {}", shown(e.median_size))),
        ("Empty sets", percent(e.empty), String::new()),
        ("Sets of all classes", percent(e.full), String::new()),
    ]);
    report.notes(&e.weak_spots());
    let by_size = "Large sets are the rows that the network finds hard. Sets cut at one threshold of the probability (lac) cover them less \
                   often than small ones; other scores are more even. ▼ marks coverage below the level beyond chance.";
    let mut figures =
        vec![table(report, e, ("sets-by-size", "Coverage by size of the set", "Size"), &e.by_size, by_size)];
    let mut classes = e.by_class.clone();
    classes.sort_by(|a, b| a.coverage.value.total_cmp(&b.coverage.value));
    classes.truncate(LISTED);
    let caption = format!("By true class, lowest coverage first. {}", e.guarantee);
    figures.push(table(report, e, ("sets-by-class", "Coverage by class", "Class"), &classes, &caption));
    if let Some((column, rows)) = &e.subgroups {
        let caption = format!("Sets for every value of {column}.");
        let title = format!("Coverage by {column}");
        figures.push(table(report, e, ("sets-by-group", &title, column), rows, &caption));
    }
    report.figures(&figures);
}

fn table(
    report: &mut Report,
    e: &SetEvaluation,
    (id, title, name): (&'static str, &str, &str),
    rows: &[SetRow],
    caption: &str,
) -> Figure {
    let short: Vec<&str> = e.short(rows).iter().map(|r| r.name.as_str()).collect();
    let mut table = Table::new(&[name, "Rows", "Coverage", "95 % interval", "Mean size"]);
    for r in rows {
        let found = percent(r.coverage.value);
        let is_short = short.contains(&r.name.as_str());
        table.row(vec![
            r.name.clone().into(),
            whole(r.coverage.rows).into(),
            if is_short { Cell::marked(&format!("{found} ▼"), "low") } else { found.into() },
            format!("{}–{}", points(r.coverage.low), points(r.coverage.high)).into(),
            shown(r.mean_size).into(),
        ]);
    }
    report.figure(id, true, title, &table.html(title), caption)
}
