//! Figures that regression and classification share: the path of κ and the importance of features.

use stonet::KappaPath;

use super::Report;
use super::html::{Bar, Figure, Sign, bars, key};
use crate::number::{percent, shown};
use crate::svg::{Chart, Scale, Style, escape};
use crate::{Importance, choices, points};

/// Paths that are drawn; a stack has one per member and fold.
const PATHS: usize = 6;

/// One figure per path.
pub fn kappa_figures(report: &mut Report, paths: &[KappaPath]) -> Vec<Figure> {
    paths.iter().filter(|p| !points(p).is_empty()).take(PATHS).map(|p| kappa(report, p)).collect()
}

fn kappa(report: &mut Report, path: &KappaPath) -> Figure {
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
    let mut content =
        key(&[(Sign::Dot, "chosen"), (Sign::Line, "loss on held-out rows"), (Sign::Band, "± 1 standard error")]);
    content += &chart.embed();
    let meaning = match sign {
        "κ" | "λ" => format!("{sign} says how strongly weights are pushed to zero; "),
        _ => String::new(),
    };
    let rule = match (&path.coverage, path.chosen.iter().filter(|&&i| i == path.kappas.len()).count()) {
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

pub fn importance(report: &mut Report, importance: &Importance) -> Option<Figure> {
    let largest = importance.features.first().map(|f| f.increase).filter(|i| *i > 0.0)?;
    let bar = |f: &crate::Feature| Bar {
        name: f.name.clone(),
        value: if importance.fraction { percent(f.increase) } else { shown(f.increase) },
        note: f.selected.map_or(String::new(), selected),
        part: f.increase / largest,
        rest: false,
    };
    let mut content = bars(&importance.features.iter().map(bar).collect::<Vec<_>>());
    if importance.tried < importance.columns {
        content += &format!(
            "<p class=\"soft\">{}</p>\n",
            escape(&format!(
                "{} of {} columns were tried; the others are unused, or go least with the prediction.",
                importance.tried, importance.columns
            ))
        );
    }
    let caption = format!(
        "Each column in turn is shuffled among {} rows; its bar is the {}. \
         Columns that carry the same information share it, so both may look unimportant.",
        importance.rows, importance.measure
    );
    Some(report.figure("features", false, "What drives the prediction", &content, &caption))
}
