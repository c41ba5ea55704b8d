//! Figures that regression and classification share: the path of κ and the importance of features.

use stonet::train::TuningCurve;

use super::Report;
use super::html::{Bar, Figure, Sign, bars, key};
use crate::number::{count, percent, shown, whole};
use crate::svg::{Chart, Scale, Style, escape};
use crate::{Importance, choices, points};

/// Paths that are drawn; a stack has one per member and fold.
const PATHS: usize = 6;

/// One figure per path.
pub fn kappa_figures(report: &mut Report, paths: &[TuningCurve]) -> Vec<Figure> {
    paths.iter().filter(|p| !points(p).is_empty()).take(PATHS).map(|p| kappa(report, p)).collect()
}

fn kappa(report: &mut Report, path: &TuningCurve) -> Figure {
    let points = points(path);
    let (sign, axis) = match path.setting.as_str() {
        "" | "kappa" => ("κ", "κ (larger: fewer weights)"),
        "lambda" => ("λ", "λ (larger: fewer weights)"),
        other => (other, other),
    };
    let whose = if path.label.is_empty() { String::new() } else { format!(": {}", path.label) };
    let title = format!("How {sign} was chosen{whose}");
    let mut chart = Chart::new(&title, axis, &path.loss_name);
    chart.scales(Scale::Log, Scale::Linear);
    let band = points.iter().map(|&(k, l, se)| (k, l - se, l + se)).collect();
    let choices = choices(path);
    let told: Vec<String> = choices.iter().map(|(k, n)| format!("{} ({n}×)", shown(*k))).collect();
    chart.describe(&format!(
        "Loss on held-out rows at {} values of {sign}; chosen: {}.",
        points.len(),
        told.join(", ")
    ));
    if points.iter().any(|p| p.2 > 0.0) {
        chart.band(band);
    }
    chart.line(points.iter().map(|p| (p.0, p.1)).collect(), Style::Strong, None);
    for &(k, l, _) in &points {
        let count = choices.iter().find(|c| c.0 == k).map_or(0, |c| c.1);
        let tip = format!("{sign} = {}: {}", shown(k), shown(l));
        if count > 0 {
            chart.estimate(k, l, (l, l), &format!("{tip}, chosen {count} times"));
        } else {
            chart.point_with(k, l, true, &tip);
        }
    }
    let several = path.chosen.len() > 1;
    for (k, n) in &choices {
        chart.vertical(*k, &if several { format!("{n}×") } else { format!("{sign} = {}", shown(*k)) });
    }
    let mut signs = vec![(Sign::Dot, "chosen"), (Sign::Line, "loss on held-out rows")];
    if points.iter().any(|p| p.2 > 0.0) {
        signs.push((Sign::Band, "± 1 standard error"));
    }
    let content = key(&signs) + &chart.embed();
    let meaning = match sign {
        "κ" | "λ" => format!("{sign} says how strongly weights are pushed to zero; "),
        _ => String::new(),
    };
    let rule = match (&path.coverage, path.chosen.iter().filter(|&&i| i == path.values.len()).count()) {
        (Some(_), _) => {
            " Here the choice is the one whose held-out coverage is nearest to the level, not the lowest point."
        }
        (None, 0) => "",
        _ => " Some folds did best without any correction and are not marked.",
    };
    let caption = format!(
        "{meaning}the lowest point of the line predicts held-out rows best. A flat line means that the choice hardly matters; a choice at \
         the very end means that the grid should be widened.{rule}"
    );
    report.figure("kappa", false, &title, &content, &caption)
}

/// By how many StoNets.
fn selected(share: f64) -> String {
    match share {
        s if s >= 1.0 => "selected".to_owned(),
        s if s > 0.0 => format!("selected by {:.0} % of StoNets", 100.0 * s),
        _ => "not selected".to_owned(),
    }
}

/// Shares that are rounded to nothing are told together, below the bars.
const LEAST: f64 = 0.000_5;

pub fn importance(report: &mut Report, importance: &Importance) -> Option<Figure> {
    let largest = importance.features.first().map(|f| importance.share(f)).filter(|share| *share > 0.0)?;
    let (drawn, small): (Vec<_>, Vec<_>) = importance.features.iter().partition(|f| importance.share(f) >= LEAST);
    let bar = |f: &&crate::Feature| Bar {
        name: f.name.clone(),
        value: percent(importance.share(f)),
        note: f.selected.map_or(String::new(), selected),
        part: importance.share(f) / largest,
        rest: false,
    };
    let mut content = bars(&drawn.iter().map(bar).collect::<Vec<_>>());
    let mut note = |text: String| content += &format!("<p class=\"soft\">{}</p>\n", escape(&text));
    let unlisted = importance.tried.saturating_sub(importance.features.len());
    match (small.len(), unlisted) {
        (0, 0) => {}
        (0, rest) => note(format!("Not listed: {} of smaller share.", count(rest, "column"))),
        (n, rest) => note(format!("Not listed: {} with less than 0.1 % each.", count(n + rest, "column"))),
    }
    if importance.tried < importance.columns {
        note(format!(
            "{} of {} columns were tried; the others are unused, or correlate less with the prediction.",
            whole(importance.tried),
            whole(importance.columns)
        ));
    }
    let caption = format!(
        "Each column in turn is shuffled among {}; its bar is its share of the total {} over all columns. \
         Columns that carry the same information share it, so both may look unimportant.",
        count(importance.rows, "row"),
        // What follows the comma is a unit, which a share has not.
        importance.measure.split(',').next().unwrap_or_default()
    );
    Some(report.figure("features", false, "What drives the prediction", &content, &caption))
}

/// Bars of shares that add up to one; those of exactly nothing are named below.
pub fn share_bars(parts: Vec<Bar>) -> String {
    let (drawn, none): (Vec<Bar>, Vec<Bar>) = parts.into_iter().partition(|b| b.part > 0.0);
    let mut content = bars(&drawn);
    if !none.is_empty() {
        let names: Vec<String> = none.into_iter().map(|b| b.name).collect();
        content += &format!("<p class=\"soft\">{}</p>\n", escape(&format!("Without any share: {}.", names.join("; "))));
    }
    content
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{About, Feature};

    #[test]
    fn drivers_are_shares_of_a_whole_and_none_is_shown_as_nothing() {
        // As growth of the error in units of the target's variance, the first would be 211.2 %.
        let increases = [2.112, 0.3, 1e-9, 0.0, -0.1];
        let feature = |(i, v): (usize, &f64)| Feature { name: format!("x{i}"), increase: *v, selected: None };
        let features: Vec<Feature> = increases.iter().enumerate().map(feature).collect();
        let measure = "growth of the mean squared error, as a part of the target's variance".to_owned();
        let told = Importance { measure, fraction: true, rows: 1500, columns: 5, tried: 5, total: 2.412, features };
        let mut report = Report::new(&About::default());
        let figure = importance(&mut report, &told).unwrap();
        report.figures(&[figure]);
        let html = report.html();
        assert!(html.contains("87.6 %") && html.contains("12.4 %") && html.contains("among 1,500 rows"), "{html}");
        assert!(!html.contains("211.2") && !html.contains(">0.0 %"), "{html}");
        assert!(html.contains("Not listed: 3 columns with less than 0.1 % each."), "{html}");
    }

    #[test]
    fn a_part_without_a_share_is_named_and_not_drawn() {
        let bar = |name: &str, part: f64| Bar {
            name: name.into(),
            value: crate::number::share(part),
            note: String::new(),
            part,
            rest: false,
        };
        let html = share_bars(vec![bar("ridge", 0.9998), bar("stonet", 0.0002), bar("network", 0.0)]);
        assert!(html.contains("&lt; 0.1 %") && html.contains("Without any share: network."), "{html}");
        assert_eq!(html.matches("<li>").count(), 2);
    }
}
