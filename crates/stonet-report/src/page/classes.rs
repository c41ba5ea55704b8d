//! The part of a page that judges class probabilities.

use super::html::{Bar, Cell, Figure, Sign, Table, key};
use super::reliability::Diagram;
use super::shared::{importance, kappa_figures, share_bars};
use super::{Report, Tone};
use crate::evaluate::seen::{short, voids};
use crate::number::{percent, points, share, shown, whole};
use crate::svg::{Chart, Scale, Style};
use crate::{ClassEvaluation, Judgement};

/// Scores as people call them, and whether larger is better.
const SCORES: [(&str, &str); 6] = [
    ("Accuracy", "larger is better"),
    ("Negative log-likelihood", "smaller is better"),
    ("Brier score", "smaller is better"),
    ("Calibration error (ECE)", "near chance is good"),
    ("Class-wise calibration error", "near chance is good"),
    ("ECE, bins of equal mass", "near chance is good"),
];

/// Scores without bins or without their bias, and of the order of guesses.
const TRUST: [(&str, &str); 4] = [
    ("Smooth calibration error", "near chance is good"),
    ("Debiased calibration error", "near 0 is good; below 0 is chance"),
    ("Area under risk and coverage", "smaller is better"),
    ("The same above the best order", "smaller is better"),
];

pub fn add(report: &mut Report, e: &ClassEvaluation) {
    let (tone, word) = match (e.calibrated(), e.judgement()) {
        _ if voids(e.seen.as_ref()) => (Tone::Bad, "Not new rows"),
        (true, _) => (Tone::Good, "Calibrated"),
        (false, Judgement::Short) => (Tone::Bad, "Overconfident"),
        (false, Judgement::Cautious) => (Tone::Plain, "Too modest"),
        (false, Judgement::Kept) => (Tone::Bad, "Not calibrated"),
    };
    report.announce(tone, word, &e.verdict());
    tiles(report, e);
    report.notes(&e.weak_spots());
    report.heading("Can its confidence be believed?", "");
    let mut figures = vec![reliability(report, e), confidence(report, e)];
    figures.extend(super::trust::figures(report, e));
    figures.push(scores(report, e));
    report.figures(&figures);
    report.heading("Class by class", "");
    figures = vec![classes(report, e)];
    figures.extend(confused(report, e));
    report.figures(&figures);
    subgroups(report, e);
    if let Some(sets) = &e.sets {
        super::sets::add(report, sets);
    }
    if let Some(bounds) = &e.accuracy_bounds {
        super::accuracy::add(report, bounds, e.names.len());
    }
    figures = e.importance.as_ref().and_then(|i| importance(report, i)).into_iter().collect();
    figures.extend(weights(report, e));
    figures.extend(kappa_figures(report, &e.kappa_paths));
    if !figures.is_empty() {
        report.heading("What is behind a prediction?", "");
        report.figures(&figures);
    }
}

fn tiles(report: &mut Report, e: &ClassEvaluation) {
    let chance = e.scores.ece.floor.map_or(String::new(), |f| format!("points; {} by chance", points(f.mean)));
    let own = |v: Option<String>| v.map_or(String::new(), |v| format!("the network's own: {v}"));
    let network = e.network.as_ref();
    let right = format!("95 % interval {}–{}", points(e.accuracy.low), points(e.accuracy.high));
    report.tiles(&[
        ("Calibration error (ECE)", points(e.scores.ece.value), chance),
        ("Accuracy", percent(e.accuracy.value), right),
        ("Mean confidence", percent(e.mean_confidence), "the accuracy it claims".into()),
        ("Log-likelihood loss", shown(e.scores.nll.value), own(network.map(|n| shown(n.nll.value)))),
        ("Rows", whole(e.rows), format!("{} classes; {}", whole(e.names.len()), short(e.seen.as_ref()))),
    ]);
}

fn reliability(report: &mut Report, e: &ClassEvaluation) -> Figure {
    let caption = "Rows with similar confidence are taken together: of those that say 80 %, 80 % should be right. Dots inside the grey \
                   band are as close to the dashed line as a perfect model would be on so few rows; dots below it are overconfident.";
    Diagram {
        title: "Confidence and accuracy",
        says: "confidence",
        is: "accuracy",
        rows: &e.reliability,
        network: &e.network_reliability,
    }
    .figure(report, caption)
}

fn confidence(report: &mut Report, e: &ClassEvaluation) -> Figure {
    let mut chart = Chart::new("How sure it is", "confidence", "rows");
    chart.scales(Scale::Percent, Scale::Linear);
    let used = e.confidence.iter().position(|b| b.right + b.wrong > 0).unwrap_or(0);
    let bins = &e.confidence[used..];
    chart.x_range(bins.first().map_or(0.0, |b| b.low), 1.0);
    let most = bins.iter().map(|b| b.right + b.wrong).max().unwrap_or(1).max(1);
    chart.y_range(0.0, 1.05 * most as f64);
    for b in bins {
        let (right, all) = (b.right as f64, (b.right + b.wrong) as f64);
        let tip = format!("{}–{} %: {} right, {} wrong", points(b.low), points(b.high), b.right, b.wrong);
        let gap = 0.06 * (b.high - b.low);
        let x = (b.low + gap, b.high - gap);
        chart.area(x, (0.0, right), Style::Strong, &tip);
        chart.area(x, (right, all), Style::Rule, &tip);
    }
    chart.describe(&format!("Mean confidence {}, accuracy {}.", percent(e.mean_confidence), percent(e.accuracy.value)));
    let content = key(&[(Sign::Bar, "right"), (Sign::Wrong, "wrong")]) + &chart.embed();
    let caption = "Number of rows by confidence. Bars on the right are confident guesses; few of them should be wrong.";
    report.figure("confidence", false, "How sure it is", &content, caption)
}

fn scores(report: &mut Report, e: &ClassEvaluation) -> Figure {
    let mut table = Table::new(&["Score", "Value", "95 % interval", "By chance", "Network's own"]);
    let own = e.network.as_ref().map(crate::evaluate::named);
    for (i, (_, m)) in e.named_scores().into_iter().enumerate() {
        let fractions = !matches!(i, 1 | 2);
        let text = |v: f64| if fractions { percent(v) } else { shown(v) };
        table.row(vec![
            Cell::text(SCORES[i].0).with(SCORES[i].1),
            text(m.value).into(),
            format!("{}–{}", text(m.low).replace(" %", ""), text(m.high)).into(),
            m.floor.map_or("–".into(), |f| text(f.mean)).into(),
            own.map_or("–".into(), |o| text(o[i].1.value)).into(),
        ]);
    }
    for (i, (_, m, own)) in e.trust_scores().into_iter().enumerate() {
        let text = |v: f64| if i < 2 { percent(v) } else { shown(v) };
        table.row(vec![
            Cell::text(TRUST[i].0).with(TRUST[i].1),
            text(m.value).into(),
            format!("{}–{}", text(m.low).replace(" %", ""), text(m.high)).into(),
            m.floor.map_or("–".into(), |f| text(f.mean)).into(),
            own.map_or("–".into(), text).into(),
        ]);
    }
    let caption = "By chance: what the same probabilities would score on as many rows if they were exactly right. \
                   Intervals are 95 % confidence intervals for the value on infinitely many rows. Chance makes calibration errors too \
                   large, so their intervals reach further down than up; 0 as the lower end means that perfect calibration is possible.";
    report.figure("scores", true, "Every score", &table.html("Scores"), caption)
}

fn classes(report: &mut Report, e: &ClassEvaluation) -> Figure {
    let mut table =
        Table::new(&["Class", "Rows", "Frequency", "Mean probability", "Recall", "Precision", "Calibration error"]);
    let optional = |v: Option<f64>| Cell::text(&v.map_or("–".into(), percent));
    for c in &e.classes {
        table.row(vec![
            c.name.clone().into(),
            whole(c.rows).into(),
            percent(c.frequency).into(),
            percent(c.mean_probability).into(),
            optional(c.recall),
            optional(c.precision),
            percent(c.calibration_error).into(),
        ]);
    }
    let caption = "A calibrated model gives each class a mean probability near its frequency. Recall: rows of the class that are found; \
                   precision: guesses for the class that are right.";
    report.figure("classes", true, "Every class", &table.html("Classes"), caption)
}

fn confused(report: &mut Report, e: &ClassEvaluation) -> Option<Figure> {
    if e.confused.is_empty() {
        return None;
    }
    let mut table = Table::pairs(&["True class", "Guessed", "Rows", "Of the class"]);
    for c in &e.confused {
        table.row(vec![c.truth.clone().into(), c.guess.clone().into(), whole(c.rows).into(), percent(c.share).into()]);
    }
    let caption = "Rows of the true class that were taken for the other one, most frequent first.";
    Some(report.figure("confused", true, "Most often mixed up", &table.html("Confusions"), caption))
}

fn subgroups(report: &mut Report, e: &ClassEvaluation) {
    let Some((column, groups)) = &e.subgroups else { return };
    let mut table = Table::new(&[column, "Rows", "Accuracy", "ECE", "By chance", "At most"]);
    for g in groups {
        let ece = percent(g.ece);
        table.row(vec![
            g.name.clone().into(),
            whole(g.accuracy.rows).into(),
            percent(g.accuracy.value).into(),
            if g.ece > g.floor.1 { Cell::marked(&format!("{ece} ▲"), "low") } else { ece.into() },
            percent(g.floor.0).into(),
            percent(g.floor.1).into(),
        ]);
    }
    let caption = format!(
        "Calibration for every value of {column}. ▲ marks errors above what chance shows in 97.5 % of all cases; of 40 honest groups one is so by chance."
    );
    report.heading("For which groups does it hold?", "");
    let figure =
        report.figure("subgroups", true, &format!("Calibration by {column}"), &table.html("Subgroups"), &caption);
    report.figures(&[figure]);
}

fn weights(report: &mut Report, e: &ClassEvaluation) -> Option<Figure> {
    if e.weights.is_empty() {
        return None;
    }
    let bar = |w: &crate::MemberWeight| Bar {
        name: w.name.clone(),
        value: share(w.weight),
        note: String::new(),
        part: w.weight,
        rest: false,
    };
    let content = share_bars(e.weights.iter().map(bar).collect());
    let caption =
        "The probabilities are a weighted mean of those of these members; weights are chosen on held-out rows.";
    Some(report.figure("weights", false, "What the stack is made of", &content, caption))
}
