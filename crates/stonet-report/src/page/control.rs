//! The page of a rule of answers: the trade-off between rows that are answered and the risk, and the point that was chosen.

use stonet::control::{Control, Controlled, TradeOff};

use super::html::{Sign, Table, key, numbers};
use super::{About, Report, Tone};
use crate::number::{percent, shown, whole};
use crate::svg::{Chart, Scale, Style};

/// Rows of the table below the curve.
const TABLE: usize = 20;

/// The page of what became of a wish.
pub fn control_report(control: &Control, controlled: &Controlled, about: &About) -> String {
    let mut report = Report::new(about);
    match &controlled.rule {
        Ok(rule) => {
            let sentence = format!("{}. {}", rule.condition(), rule.guarantee().text);
            report.announce(Tone::Good, "Promised", &crate::number::capital(&sentence));
            report.tiles(&tiles(&rule.chosen));
        }
        Err(refusal) => {
            report.announce(Tone::Bad, "Not promised", &refusal.text);
            if let Some(closest) = &refusal.closest {
                report.tiles(&tiles(closest));
            }
        }
    }
    if controlled.curve.len() > 1 {
        report.heading("What would another threshold do?", "");
        trade_off(&mut report, control, controlled);
    }
    report.html()
}

fn tiles(at: &TradeOff) -> [(&'static str, String, String); 3] {
    let answered = format!("{} of {} rows counted", whole(at.answered), whole(at.rows));
    let errors = format!("{} of {}", whole(at.errors), whole(at.of));
    [
        ("Answered", percent(at.share()), answered),
        ("Errors", percent(at.risk), errors),
        ("Bound of the risk", percent(at.bound), "for this threshold alone".into()),
    ]
}

fn trade_off(report: &mut Report, control: &Control, controlled: &Controlled) {
    let curve = &controlled.curve;
    let mut chart = Chart::new("Risk and answers", "share of rows answered, the surest first", "risk");
    chart.scales(Scale::Percent, Scale::Percent);
    chart.x_range(0.0, 1.0);
    let (limit, drawn) = (control.want.risk(), |p: &&TradeOff| p.share() >= 0.02);
    let most =
        curve.iter().filter(drawn).map(|p| p.bound.min(p.risk + 4.0 * limit)).fold(2.0 * limit, f64::max).min(1.0);
    chart.y_range(0.0, most);
    chart.band(curve.iter().map(|p| (p.share(), p.risk.min(most), p.bound.min(most))).collect());
    chart.line(curve.iter().map(|p| (p.share(), p.risk.min(most))).collect(), Style::Strong, None);
    chart.horizontal(limit, &control.want.to_string());
    if let Ok(rule) = &controlled.rule {
        chart.vertical(rule.chosen.share(), "chosen");
    }
    let mut table = Table::numeric(&["Threshold", "Answered", "Rows", "Errors", "Risk", "Bound"]);
    let mut told = Vec::new();
    for p in curve.iter().step_by(curve.len().div_ceil(TABLE)) {
        table.row(vec![
            p.threshold.map_or("every row".into(), shown).into(),
            percent(p.share()).into(),
            whole(p.answered).into(),
            format!("{} of {}", whole(p.errors), whole(p.of)).into(),
            percent(p.risk).into(),
            percent(p.bound).into(),
        ]);
        told.push(format!("{} answered: risk {}, bound {}", percent(p.share()), percent(p.risk), percent(p.bound)));
    }
    chart.describe(&told.join("; "));
    let bound = match control.confidence {
        Some(confidence) => {
            format!("exact upper bound with a confidence of {} %, for one threshold alone", confidence.percent())
        }
        None => "(errors + 1) / (rows + 1), which conformal risk control compares with the wish".to_owned(),
    };
    let content = key(&[(Sign::Line, "risk of the rows counted"), (Sign::Band, &bound)])
        + &chart.embed()
        + &numbers(&table, "Risk and answers");
    let caption = "Every threshold answers the rows of which the head is surest. The bound of one threshold holds for it alone; the rule \
                   that was chosen has the promise above, whatever the other thresholds are.";
    let figure = report.figure("trade-off", true, "Risk and answers", &content, caption);
    report.figures(&[figure]);
}
