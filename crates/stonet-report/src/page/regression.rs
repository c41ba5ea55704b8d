//! The part of a page that judges intervals.

use super::html::{Bar, Cell, Figure, Sign, Table, key, numbers};
use super::shared::{importance, kappa_figures, share_bars};
use super::{Report, Tone};
use crate::evaluate::seen::{short, voids};
use crate::number::{count, level, percent, points, share, shown, whole};
use crate::svg::{Chart, Scale, Style};
use crate::{
    CurvePoint, Diagnosis, DistributionScores, IntervalScores, Judgement, Proportion, QuantilePoint,
    RegressionEvaluation, Stratum, TargetEvaluation, VarianceSplit,
};

/// Targets that get figures of their own; the table has all of them.
const TARGETS: usize = 6;

pub fn add(report: &mut Report, e: &RegressionEvaluation) {
    let (tone, word) = match e.judgement() {
        _ if voids(e.seen.as_ref()) => (Tone::Bad, "Not new rows"),
        Judgement::Kept => (Tone::Good, "As promised"),
        Judgement::Short => (Tone::Bad, "Too few"),
        Judgement::Cautious => (Tone::Plain, "Cautious"),
    };
    report.announce(tone, word, &e.verdict());
    tiles(report, &e.overall, e.rows, e.seen.as_ref());
    report.notes(&e.weak_spots());
    report.heading("Do the intervals keep their promise?", &format!("What is proven beforehand: {}", e.guarantee));
    if e.targets.len() == 1 {
        let figures = target_figures(report, &e.targets[0], "");
        report.figures(&figures);
    } else {
        let figures = [coverage(report, &e.curve, "", true), targets(report, e)];
        report.figures(&figures);
        for target in e.targets.iter().take(TARGETS) {
            report.heading(&format!("Target {}", target.name), "");
            let figures = target_figures(report, target, &target.name);
            report.figures(&figures);
        }
    }
    subgroups(report, e);
    report.heading("What is behind a prediction?", "");
    let mut figures: Vec<Figure> = importance(report, &e.importance).into_iter().collect();
    for target in e.targets.iter().take(TARGETS) {
        let of = if e.targets.len() > 1 { format!(": {}", target.name) } else { String::new() };
        figures.extend(target.variance.as_ref().map(|v| variance(report, v, &of)));
        figures.extend(weights(report, target, &of));
    }
    figures.extend(kappa_figures(report, &e.kappa_paths));
    report.figures(&figures);
}

fn tiles(report: &mut Report, s: &IntervalScores, rows: usize, seen: Option<&stonet::Overlap>) {
    let held = format!("{} promised, 95 % interval {}", level(s.level.get()), ends(&s.coverage));
    let error = s.network_rmse.map_or(String::new(), |n| format!("the network's own: {}", shown(n)));
    report.tiles(&[
        ("Coverage", percent(s.coverage.value), held),
        ("Mean length", shown(s.mean_length), format!("median {}", shown(s.median_length))),
        ("Error (RMSE)", shown(s.rmse), error),
        ("Interval score (Winkler)", shown(s.winkler), "smaller is better".into()),
        ("Rows", whole(rows), short(seen)),
    ]);
}

/// As 88.0–90.7.
fn ends(p: &Proportion) -> String {
    format!("{}–{}", points(p.low), points(p.high))
}

/// The coverage, marked where it falls short beyond chance.
fn held(p: &Proportion, judgement: Judgement) -> Cell {
    let text = percent(p.value);
    if judgement == Judgement::Short { Cell::marked(&format!("{text} ▼"), "low") } else { Cell::text(&text) }
}

fn coverage(report: &mut Report, curve: &[CurvePoint], of: &str, wide: bool) -> Figure {
    let title = format!("Promised and actual coverage{of}");
    let mut chart = Chart::new(&title, "promised", "actual");
    chart.scales(Scale::Percent, Scale::Percent);
    chart.line(vec![(0.45, 0.45), (1.0, 1.0)], Style::Rule, None);
    let mut table = Table::numeric(&["Promised", "Actual", "95 % interval", "Mean length"]);
    let mut told = Vec::new();
    for p in curve {
        let c = &p.coverage;
        let tip = format!("promised {}, actual {} ({})", level(p.level), percent(c.value), ends(c));
        chart.estimate(p.level, c.value, (c.low, c.high), &tip);
        table.row(vec![
            level(p.level).into(),
            held(c, c.judge(p.level, curve.len())),
            ends(c).into(),
            shown(p.mean_length).into(),
        ]);
        told.push(tip);
    }
    chart.describe(&told.join("; "));
    let drawn = key(&[(Sign::Dot, "actual, with 95 % interval"), (Sign::Rule, "exactly as promised")]) + &chart.embed();
    let told = table.html("Coverage at several levels");
    // Side by side where there is room.
    let content = if wide { format!("<div class=\"pair\"><div>{drawn}</div>{told}</div>\n") } else { drawn + &told };
    let caption = "Intervals were made at seven levels; dots on the dashed line are exactly as honest as they claim, dots below it \
                   promise too much. A bar that crosses the line is what chance allows.";
    report.figure("coverage", wide, &title, &content, caption)
}

fn target_figures(report: &mut Report, t: &TargetEvaluation, name: &str) -> Vec<Figure> {
    let of = if name.is_empty() { String::new() } else { format!(": {name}") };
    let promised = t.scores.level.get();
    let mut figures = vec![coverage(report, &t.curve, &of, false), intervals(report, t, &of)];
    for (id, title, value, words, strata) in [
        ("width-fifths", "Coverage by width", "Length", ["narrowest", "widest"], &t.by_width),
        ("prediction-fifths", "Coverage by prediction", "Prediction", ["lowest", "highest"], &t.by_prediction),
    ] {
        let title = format!("{title}{of}");
        if strata.len() < 2 {
            let content =
                format!("<p>All rows have the same {}, so there is nothing to compare.</p>\n", value.to_lowercase());
            figures.push(report.figure(id, false, &title, &content, ""));
            continue;
        }
        let content = fifths(&title, value, words, strata, promised);
        let caption = format!(
            "Rows in {} parts, from the {} to the {} {}. The promised coverage should hold in every part: \
             every bar should reach the dashed line.",
            strata.len(),
            words[0],
            words[1],
            if value == "Length" { "intervals" } else { "predictions" }
        );
        figures.push(report.figure(id, false, &title, &content, &caption));
    }
    figures.extend(lowest(report, &t.diagnosis, &of));
    figures.extend(t.distribution.as_ref().map(|d| distribution(report, d, &of)));
    figures
}

/// The histogram of the PIT, and a table of quantiles.
fn distribution(report: &mut Report, d: &DistributionScores, of: &str) -> Figure {
    let title = format!("The whole distribution{of}");
    let rows: usize = d.pit.iter().sum();
    let mut chart = Chart::new(&title, "P(y ≤ observed value)", "share of the rows");
    chart.scales(Scale::Percent, Scale::Percent);
    let (bars, mut told) = (d.pit.len() as f64, Vec::new());
    for (i, &count) in d.pit.iter().enumerate() {
        let (low, high, part) = (i as f64 / bars, (i as f64 + 1.0) / bars, Proportion::new(count as f64, rows));
        let tip = format!("{} to {}: {} of the rows ({})", level(low), level(high), percent(part.value), ends(&part));
        chart.area((low, high), (0.0, part.value), Style::Weak, &tip);
        chart.estimate(0.5 * (low + high), part.value, (part.low, part.high), &tip);
        told.push(tip);
    }
    chart.horizontal(1.0 / bars, "uniform");
    chart.describe(&told.join("; "));
    let mut table = Table::numeric(&["Quantile", "Values below", "95 % interval", "Pinball loss"]);
    for q in &d.quantiles {
        table.row(vec![q.name().into(), below(q), ends(&q.below).into(), shown(q.pinball).into()]);
    }
    let signs = key(&[(Sign::Dot, "share of a tenth, with 95 % interval"), (Sign::Rule, "uniform")]);
    let content = format!(
        "<div class=\"pair\"><div>{signs}{}</div>{}</div>\n",
        chart.embed(),
        table.html("Quantiles and the values below them")
    );
    let caption = format!(
        "Where distributions are right, the probability of the observed value or less (PIT) is uniform: every bar reaches the \
         dashed line but for chance. Bars that are high at both ends mean distributions that are too narrow. ◆ marks quantiles \
         with too few or too many values below by more than chance. {}",
        d.pit_sentence()
    );
    report.figure("distribution", true, &title, &content, &caption)
}

/// The share of values below a quantile, marked where it is off by more than chance.
fn below(q: &QuantilePoint) -> Cell {
    let text = percent(q.below.value);
    if q.judgement() == Judgement::Kept { Cell::text(&text) } else { Cell::marked(&format!("{text} ◆"), "low") }
}

/// The parts of the rows with the least coverage, and how they were found.
fn lowest(report: &mut Report, d: &Diagnosis, of: &str) -> Option<Figure> {
    let findings = d.findings();
    if findings.is_empty() {
        return None;
    }
    let title = format!("Where coverage is lowest{of}");
    let mut table = Table::new(&["Part of the rows", "Rows", "Coverage", "95 % interval"]);
    for f in findings {
        table.row(vec![
            f.place.into(),
            whole(f.coverage.rows).into(),
            held(&f.coverage, f.judgement),
            ends(&f.coverage).into(),
        ]);
    }
    let caption = d.notes().join(" ") + " ▼ marks coverage below the promise by more than chance.";
    Some(report.figure("lowest-coverage", true, &title, &table.html(&title), &caption))
}

fn fifths(title: &str, value: &str, words: [&str; 2], strata: &[Stratum], promised: f64) -> String {
    let mut chart = Chart::new(title, "fifth of the rows", "actual coverage");
    let name = |i: usize| match i {
        0 => words[0].to_owned(),
        i if i + 1 == strata.len() => words[1].to_owned(),
        i => (i + 1).to_string(),
    };
    chart.scales(Scale::Names((0..strata.len()).map(name).collect()), Scale::Percent);
    let mut table = Table::numeric(&[value, "Rows", "Coverage", "95 % interval", "Mean length"]);
    let mut told = Vec::new();
    chart.horizontal(promised, "");
    for (i, s) in strata.iter().enumerate() {
        let range = format!("{} to {}", shown(s.low), shown(s.high));
        let tip = format!("{value} {range}: {} of {}", percent(s.coverage.value), count(s.coverage.rows, "row"));
        chart.estimate(i as f64, s.coverage.value, (s.coverage.low, s.coverage.high), &tip);
        table.row(vec![
            range.into(),
            whole(s.coverage.rows).into(),
            held(&s.coverage, s.judgement),
            ends(&s.coverage).into(),
            shown(s.mean_length).into(),
        ]);
        told.push(tip);
    }
    chart.describe(&told.join("; "));
    let promise = format!("{} promised", level(promised));
    let mut content = key(&[(Sign::Dot, "actual, with 95 % interval"), (Sign::Rule, &promise)]);
    content += &chart.embed();
    content += &numbers(&table, title);
    content
}

fn intervals(report: &mut Report, t: &TargetEvaluation, of: &str) -> Figure {
    let title = format!("Intervals and true values{of}");
    let mut chart = Chart::new(&title, "rows, by prediction", &t.name);
    let inside = |r: &crate::SampleRow| r.lower <= r.truth && r.truth <= r.upper;
    let missed = t.sample.iter().filter(|r| !inside(r)).count();
    for (i, r) in t.sample.iter().enumerate() {
        let tip = format!(
            "row {}: {} to {}, predicted {}, true {}",
            r.row,
            shown(r.lower),
            shown(r.upper),
            shown(r.prediction),
            shown(r.truth)
        );
        chart.interval_with(i as f64, r.lower, r.upper, &tip);
        chart.point_with(i as f64, r.truth, inside(r), &tip);
    }
    chart.x_range(-1.0, t.sample.len() as f64);
    chart.describe(&format!("{} intervals with their true values, {missed} of which lie outside.", t.sample.len()));
    let mut content =
        key(&[(Sign::Line, "interval"), (Sign::Point, "true value inside"), (Sign::Cross, "true value outside")]);
    content += &chart.embed();
    let infinite = t.sample.iter().any(|r| !(r.lower.is_finite() && r.upper.is_finite()));
    let caption = format!(
        "{} in the order of their predictions, {} outside their intervals; about {} would be as promised.{}",
        count(t.sample.len(), "row"),
        missed,
        ((1.0 - t.scores.level.get()) * t.sample.len() as f64).round(),
        if infinite {
            " Arrows are intervals without an end: there are too few calibration rows for this level."
        } else {
            ""
        }
    );
    report.figure("intervals", false, &title, &content, &caption)
}

fn targets(report: &mut Report, e: &RegressionEvaluation) -> Figure {
    let mut table = Table::new(&[
        "Target",
        "Promised",
        "Coverage",
        "95 % interval",
        "Mean length",
        "Winkler",
        "RMSE",
        "Network's RMSE",
    ]);
    let mut add = |name: &str, s: &IntervalScores, comparisons: usize| {
        table.row(vec![
            name.to_owned().into(),
            level(s.level.get()).into(),
            held(&s.coverage, s.coverage.judge(s.level.get(), comparisons)),
            ends(&s.coverage).into(),
            shown(s.mean_length).into(),
            shown(s.winkler).into(),
            shown(s.rmse).into(),
            s.network_rmse.map_or("–".into(), shown).into(),
        ]);
    };
    e.targets.iter().for_each(|t| add(&t.name, &t.scores, e.targets.len()));
    add(if e.joint { "all at once" } else { "all" }, &e.overall, 1);
    let caption = "Each target by itself, and all of them. ▼ marks coverage below its promise by more than chance.";
    report.figure("targets", true, "Target by target", &table.html("Target by target"), caption)
}

fn subgroups(report: &mut Report, e: &RegressionEvaluation) {
    let Some((column, groups)) = &e.subgroups else { return };
    let mut names = vec![column.as_str(), "Rows", "Coverage", "95 % interval", "Mean length"];
    let pooled = groups.iter().any(|g| g.pooled.is_some());
    names.extend(["Coverage, pooled", "Length, pooled"].into_iter().filter(|_| pooled));
    let mut table = Table::new(&names);
    for g in groups {
        let mut row = vec![
            g.name.clone().into(),
            whole(g.coverage.rows).into(),
            held(&g.coverage, g.judgement),
            ends(&g.coverage).into(),
            shown(g.mean_length).into(),
        ];
        let columns = g.pooled.iter().flat_map(|p| [percent(p.coverage.value), shown(p.mean_length)]);
        row.extend(columns.map(Into::into));
        table.row(row);
    }
    let mut caption = format!(
        "Coverage for every value of {column}. ▼ marks groups that fall short of {} by more than chance, all groups taken together.",
        level(e.overall.level.get())
    );
    caption += &e.lengths_by_group().map_or(String::new(), |text| format!(" {text}"));
    report.heading("For which groups do they hold?", "");
    let figure = report.figure("subgroups", true, &format!("Coverage by {column}"), &table.html("Subgroups"), &caption);
    report.figures(&[figure]);
}

fn variance(report: &mut Report, split: &VarianceSplit, of: &str) -> Figure {
    let last = split.parts.len().saturating_sub(1);
    let bar = |(i, p): (usize, &crate::Part)| Bar {
        name: p.source.clone(),
        value: share(p.share),
        note: format!("sd {}", shown(p.sd)),
        part: p.share,
        rest: i == last,
    };
    let content = share_bars(split.parts.iter().enumerate().map(bar).collect());
    let how = if split.eve {
        "Eve's law splits the variance of a new value into what the uncertain weights of each layer add and the noise that remains"
    } else {
        "The variance of a new value is split into how much fits on different folds disagree and how far values lie from predictions"
    };
    let caption = format!(
        "{how} (mean over {}). More calibration rows shrink all parts but the last; only a better network or better features shrink that.",
        count(split.rows, "row")
    );
    report.figure("variance", false, &format!("Where the uncertainty comes from{of}"), &content, &caption)
}

fn weights(report: &mut Report, target: &TargetEvaluation, of: &str) -> Option<Figure> {
    let w = target.weights?;
    let bar = |(name, part): (&str, f64)| Bar {
        name: name.to_owned(),
        value: share(part),
        note: String::new(),
        part,
        rest: false,
    };
    let members = [
        ("StoNet on the features", w.stonet),
        ("skip (the network plus a StoNet)", w.skip),
        ("ridge regression on the features", w.ridge),
        ("the network itself", w.network),
    ];
    let content = share_bars(members.map(bar).into());
    let caption = "The prediction is a weighted sum of these members; weights are chosen on held-out rows and averaged over the folds.";
    Some(report.figure("weights", false, &format!("What the stack is made of{of}"), &content, caption))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortfalls_are_marked_by_more_than_colour() {
        let p = Proportion::new(50.0, 100);
        let mut table = Table::new(&["a"]);
        table.row(vec![Cell::text("x"), held(&p, Judgement::Short), held(&p, Judgement::Kept)]);
        let html = table.html("");
        assert!(html.contains("<td class=\"low\">50.0 % ▼</td><td>50.0 %</td>"), "{html}");
    }
}
