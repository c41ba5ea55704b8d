//! The part of a page that judges the probabilities of many labels.

use super::html::{Cell, Figure, Table};
use super::reliability::Diagram;
use super::{Report, Tone};
use crate::evaluate::seen::{short, voids};
use crate::number::{capital, percent, points, shown, whole};
use crate::{LabelRow, LabelScores, LabelsEvaluation};

pub fn add(report: &mut Report, e: &LabelsEvaluation) {
    let (tone, word) = match e.calibrated() {
        _ if voids(e.seen.as_ref()) => (Tone::Bad, "Not new rows"),
        true => (Tone::Good, "Calibrated"),
        false => (Tone::Bad, "Not calibrated"),
    };
    report.announce(tone, word, &format!("{}.", capital(&e.verdict())));
    tiles(report, e);
    report.notes(&e.weak_spots());
    report.heading(
        "Can its probabilities be believed?",
        "The labels whose calibration error exceeds chance most come first.",
    );
    let figures: Vec<Figure> = e.reliability.iter().map(|r| diagram(report, &r.label, &r.bins)).collect();
    report.figures(&figures);
    report.heading("Label by label", "");
    let figure = labels(report, e);
    report.figures(&[figure]);
    subgroups(report, e);
}

fn tiles(report: &mut Report, e: &LabelsEvaluation) {
    let LabelScores { nll, brier, ece, ece_chance, .. } = e.mean;
    let over = "mean over labels".to_owned();
    let (labels, beyond) = (whole(e.labels.len()), whole(e.beyond_chance));
    report.tiles(&[
        ("Calibration error (ECE)", points(ece), format!("points; {} by chance; {over}", points(ece_chance))),
        ("Labels off by more than chance", beyond, format!("of {labels}; 1 of 40 by chance alone")),
        ("Log-likelihood loss", shown(nll), over.clone()),
        ("Brier score", shown(brier), over),
        ("Rows", whole(e.rows), short(e.seen.as_ref())),
    ]);
}

fn diagram(report: &mut Report, label: &str, rows: &[crate::ReliabilityRow]) -> Figure {
    let caption = "Rows with similar probabilities of the label are taken together: of those that say 80 %, 80 % should have the label. \
                   Dots inside the grey band are as close to the dashed line as a perfect model would be on so few rows.";
    Diagram { title: label, says: "probability", is: "share with the label", rows, network: &[] }
        .figure(report, caption)
}

fn labels(report: &mut Report, e: &LabelsEvaluation) -> Figure {
    let headings = [
        "Label",
        "Rows with it",
        "Share",
        "Log-likelihood loss",
        "Brier score",
        "ECE",
        "By chance",
        "At most",
        "Class-wise ECE",
    ];
    let mut table = Table::new(&headings);
    for l in &e.labels {
        table.row(row(l.label.clone(), whole(l.rows), &l.scores, Some(l)));
    }
    table.row(row("mean over labels".into(), "–".into(), &e.mean, None));
    let caption = "By chance: what the same probabilities would show on as many rows if they were exactly right. ▲ marks errors above what \
                   chance shows in 97.5 % of all cases; of 40 calibrated labels one is so by chance.";
    report.figure("labels", true, "Every label", &table.html("Labels"), caption)
}

/// The scores of one label, or of the mean, which has no limit.
fn row(name: String, rows: String, scores: &LabelScores, limit: Option<&LabelRow>) -> Vec<Cell> {
    let LabelScores { base_rate, nll, brier, ece, cece, ece_chance } = scores;
    let found = percent(*ece);
    let beyond = limit.is_some_and(LabelRow::beyond_chance);
    vec![
        name.into(),
        rows.into(),
        percent(*base_rate).into(),
        shown(*nll).into(),
        shown(*brier).into(),
        if beyond { Cell::marked(&format!("{found} ▲"), "low") } else { found.into() },
        percent(*ece_chance).into(),
        limit.map_or("–".into(), |l| percent(l.ece_limit)).into(),
        percent(*cece).into(),
    ]
}

fn subgroups(report: &mut Report, e: &LabelsEvaluation) {
    let Some((column, groups)) = &e.subgroups else { return };
    let mut table =
        Table::new(&[column, "Rows", "Log-likelihood loss", "ECE", "By chance", "Labels beyond chance", "Worst label"]);
    for g in groups {
        table.row(vec![
            g.name.clone().into(),
            whole(g.rows).into(),
            shown(g.mean.nll).into(),
            percent(g.mean.ece).into(),
            percent(g.mean.ece_chance).into(),
            whole(g.beyond_chance).into(),
            Cell::text(&g.worst.label).with(&format!("ECE {}", percent(g.worst.scores.ece))),
        ]);
    }
    let caption = format!(
        "Means over labels for every value of {column}, and the label whose calibration error exceeds chance most. Of 40 calibrated labels \
         one is beyond chance by chance alone."
    );
    report.heading("For which groups does it hold?", "");
    let figure =
        report.figure("subgroups", true, &format!("Calibration by {column}"), &table.html("Subgroups"), &caption);
    report.figures(&[figure]);
}
