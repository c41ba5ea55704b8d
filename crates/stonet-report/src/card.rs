//! Model cards in Markdown: what a head is for, what it promises, how it did on which rows, and what it is not good for.
//!
//! The order of sections is that of Mitchell et al. (2019): the model, its use, the data, results for all rows and for
//! groups of them, limits.

use std::fmt::Write;

use serde_json::Value;

use crate::evaluate::seen;
use crate::number::{percent, shown, whole};
use crate::page::About;
use crate::{ClassEvaluation, Judgement, LabelsEvaluation, Proportion, RegressionEvaluation};

/// A card under construction.
struct Card(String);

/// Text that Markdown takes for nothing else, in a table or outside.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            c if c.is_control() => {}
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' | '$' | '&' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// A setting in words; of a long list its ends.
fn brief(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(all) => match &all[..] {
            [first, _, .., last] if all.len() > 3 => format!("{} to {} ({})", brief(first), brief(last), all.len()),
            few => few.iter().map(brief).collect::<Vec<_>>().join(", "),
        },
        Value::Object(all) => {
            let given = all.iter().filter(|(_, v)| !v.is_null() && v.as_array().is_none_or(|a| !a.is_empty()));
            given.map(|(k, v)| format!("{k}: {}", brief(v))).collect::<Vec<_>>().join("; ")
        }
        other => other.to_string(),
    }
}

fn proportion(p: &Proportion) -> String {
    format!("{} ({} to {})", percent(p.value), percent(p.low), percent(p.high))
}

fn judged(judgement: Judgement) -> &'static str {
    match judgement {
        Judgement::Short => "**below the level, beyond chance**",
        Judgement::Kept => "as promised, within chance",
        Judgement::Cautious => "above the level, beyond chance",
    }
}

impl Card {
    fn new(about: &About, what: &str) -> Self {
        let mut card = Card(format!("# Model card: {}\n", plain(&about.title)));
        card.section("Model");
        card.line(what);
        card.line(&format!("Made by StoNet {}:", plain(&about.version)));
        // A fence that no text can close: commands have no line breaks in them.
        let _ = write!(card.0, "\n```sh\n{}\n```\n", about.command.replace(['\n', '\r', '`'], " "));
        card
    }

    fn section(&mut self, title: &str) {
        let _ = write!(self.0, "\n## {title}\n");
    }

    fn line(&mut self, text: &str) {
        let _ = write!(self.0, "\n{text}\n");
    }

    fn table(&mut self, header: &[&str], rows: &[Vec<String>]) {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let names: Vec<String> = header.iter().map(|h| (*h).to_owned()).collect();
        let rule: Vec<String> = header.iter().map(|_| "---".to_owned()).collect();
        self.0 += &format!("\n{}{}", line(&names), line(&rule));
        rows.iter().for_each(|row| self.0 += &line(row));
    }

    /// Files, columns and settings.
    fn data(&mut self, rows: usize, overlap: Option<&stonet::Overlap>, about: &About, settings: &Value) {
        self.section("Data");
        self.line(&format!("{} rows with known answers. {}", whole(rows), plain(&seen::sentence(overlap))));
        if let Value::Object(all) = &about.settings {
            let given = all.iter().filter(|(_, v)| !v.is_null() && !v.as_array().is_some_and(Vec::is_empty));
            let rows: Vec<Vec<String>> = given.map(|(k, v)| vec![plain(k), plain(&brief(v))]).collect();
            self.table(&["", ""], &rows);
        }
        if !settings.is_null() {
            self.line(&format!("Settings of the fit: {}.", plain(&brief(settings))));
        }
    }

    fn limits(&mut self, own: &[&str]) {
        self.section("Limits");
        let shared = [
            "Everything is promised and measured for rows that are like the calibration rows. `stonet monitor` tells when \
             they no longer are; `novelty` of `stonet predict --explain` tells of single rows.",
            "The promise is an average over rows. Groups that are not listed above may do worse than the average.",
            "The network must not have been trained on the calibration rows, nor on the rows of this card.",
        ];
        let _ = writeln!(self.0);
        shared.iter().chain(own).for_each(|text| {
            let _ = writeln!(self.0, "- {text}");
        });
    }
}

/// The card of a head that gives intervals.
pub fn regression_card(e: &RegressionEvaluation, about: &About) -> String {
    let names: Vec<String> = e.targets.iter().map(|t| format!("`{}`", t.name.replace('`', "'"))).collect();
    let what =
        format!("Prediction intervals for {} from the last hidden layer of a trained network.", names.join(", "));
    let mut card = Card::new(about, &what);
    card.section("Guarantee");
    card.line(&plain(&e.guarantee));
    card.data(e.rows, e.seen.as_ref(), about, &e.settings);
    card.section("Results");
    card.line(&plain(&e.verdict()));
    targets(&mut card, e);
    groups(
        &mut card,
        e.subgroups.as_ref().map(|(by, all)| {
            let row = |g: &crate::Subgroup| {
                vec![
                    plain(&g.name),
                    whole(g.coverage.rows),
                    proportion(&g.coverage),
                    shown(g.mean_length),
                    judged(g.judgement).into(),
                ]
            };
            (
                by.as_str(),
                ["rows", "coverage", "mean length", "judged together"].to_vec(),
                all.iter().map(row).collect(),
            )
        }),
    );
    card.limits(&[
        "An interval holds the value of a new row, and not its mean; long intervals are honest where values vary.",
    ]);
    card.0
}

/// Results of every target, for all rows and for fifths of them.
fn targets(card: &mut Card, e: &RegressionEvaluation) {
    let scores: Vec<Vec<String>> = e
        .targets
        .iter()
        .map(|t| {
            let s = &t.scores;
            let network = s.network_rmse.map_or_else(|| "–".into(), shown);
            vec![
                plain(&t.name),
                percent(s.level.get()),
                proportion(&s.coverage),
                shown(s.mean_length),
                shown(s.winkler),
                shown(s.rmse),
                network,
            ]
        })
        .collect();
    card.table(
        &[
            "target",
            "level",
            "coverage (95 % interval)",
            "mean length",
            "interval score",
            "RMSE",
            "RMSE of the network",
        ],
        &scores,
    );
    for t in &e.targets {
        for (title, unit, strata) in
            [("length of the interval", "lengths", &t.by_width), ("prediction", "predictions", &t.by_prediction)]
        {
            card.line(&format!("`{}` by fifths of the {title}:", t.name.replace('`', "'")));
            let row = |s: &crate::Stratum| {
                vec![
                    format!("{} to {}", shown(s.low), shown(s.high)),
                    whole(s.coverage.rows),
                    proportion(&s.coverage),
                    judged(s.judgement).into(),
                ]
            };
            card.table(&[unit, "rows", "coverage", "judged together"], &strata.iter().map(row).collect::<Vec<_>>());
        }
    }
}

/// The card of a classifier.
pub fn class_card(e: &ClassEvaluation, about: &About) -> String {
    let what = format!("Probabilities of {} classes from the outputs of a trained network.", whole(e.names.len()));
    let mut card = Card::new(about, &what);
    card.section("Guarantee");
    let promises: Vec<&str> = e
        .sets
        .iter()
        .map(|s| s.guarantee.as_str())
        .chain(e.accuracy_bounds.iter().map(|b| b.guarantee.as_str()))
        .collect();
    match promises.is_empty() {
        true => card.line("Probabilities are calibrated on held-out rows; nothing is proven for a given number of rows. Prediction sets (`fit --sets`) and bounds of accuracy (`fit --accuracy-bounds`) have proofs."),
        false => promises.iter().for_each(|text| card.line(&plain(text))),
    }
    card.data(e.rows, e.seen.as_ref(), about, &e.settings);
    card.section("Results");
    card.line(&plain(&e.verdict()));
    classes(&mut card, e);
    if let Some(sets) = &e.sets {
        card.line(&format!(
            "Prediction sets at {} %: coverage {}, {} classes in the mean.",
            sets.level.percent(),
            proportion(&sets.coverage),
            shown(sets.mean_size)
        ));
    }
    groups(
        &mut card,
        e.subgroups.as_ref().map(|(by, all)| {
            let row = |g: &crate::ClassGroup| {
                vec![
                    plain(&g.name),
                    whole(g.accuracy.rows),
                    proportion(&g.accuracy),
                    percent(g.ece),
                    percent(g.floor.1),
                ]
            };
            (
                by.as_str(),
                ["rows", "accuracy", "calibration error", "by chance alone at most"].to_vec(),
                all.iter().map(row).collect(),
            )
        }),
    );
    card.limits(&[
        "A calibrated probability is right on average over rows with this probability, and not for every kind of row.",
    ]);
    card.0
}

/// Scores of all rows beside those of the network, and every class.
fn classes(card: &mut Card, e: &ClassEvaluation) {
    let network = |of: fn(&stonet::metrics::ClassReport) -> stonet::metrics::Measured| {
        e.network.as_ref().map_or_else(|| "–".into(), |n| shown(of(n).value))
    };
    let row = |name: &str, of: fn(&stonet::metrics::ClassReport) -> stonet::metrics::Measured| {
        let m = of(&e.scores);
        vec![name.to_owned(), format!("{} ({} to {})", shown(m.value), shown(m.low), shown(m.high)), network(of)]
    };
    let scores = vec![
        row("accuracy", |r| r.accuracy),
        row("negative log-likelihood", |r| r.nll),
        row("Brier score", |r| r.brier),
        row("expected calibration error", |r| r.ece),
        row("class-wise calibration error", |r| r.cece),
    ];
    card.table(&["", "head (95 % interval)", "network"], &scores);
    card.line("By class:");
    let share = |v: Option<f64>| v.map_or_else(|| "–".into(), percent);
    let class = |c: &crate::ClassRow| {
        vec![
            plain(&c.name),
            whole(c.rows),
            share(c.recall),
            share(c.precision),
            percent(c.frequency),
            percent(c.mean_probability),
        ]
    };
    card.table(
        &["class", "rows", "recall", "precision", "frequency", "mean probability"],
        &e.classes.iter().map(class).collect::<Vec<_>>(),
    );
}

/// The card of a head of many labels.
pub fn labels_card(e: &LabelsEvaluation, about: &About) -> String {
    let what =
        format!("The probability of each of {} labels, of which a row may have any number.", whole(e.labels.len()));
    let mut card = Card::new(about, &what);
    card.section("Guarantee");
    card.line("Probabilities are calibrated on held-out rows; nothing is proven for a given number of rows.");
    card.data(e.rows, e.seen.as_ref(), about, &e.settings);
    card.section("Results");
    card.line(&plain(&e.verdict()));
    let row = |l: &crate::LabelRow| {
        vec![
            plain(&l.label),
            whole(l.rows),
            shown(l.scores.nll),
            shown(l.scores.brier),
            percent(l.scores.ece),
            percent(l.ece_limit),
        ]
    };
    card.table(
        &["label", "rows with it", "NLL", "Brier score", "calibration error", "by chance alone at most"],
        &e.labels.iter().map(row).collect::<Vec<_>>(),
    );
    groups(
        &mut card,
        e.subgroups.as_ref().map(|(by, all)| {
            let row = |g: &crate::LabelGroup| {
                vec![plain(&g.name), whole(g.rows), shown(g.mean.nll), percent(g.mean.ece), plain(&g.worst.label)]
            };
            (by.as_str(), ["rows", "NLL", "calibration error", "worst label"].to_vec(), all.iter().map(row).collect())
        }),
    );
    card.limits(&["Labels are judged one by one; nothing is said about which labels occur together."]);
    card.0
}

/// A column's name, the names of what is told of its values, and a row for each of them.
type Grouped<'a> = (&'a str, Vec<&'a str>, Vec<Vec<String>>);

/// Results by the values of a column, or the advice to ask for them.
fn groups(card: &mut Card, found: Option<Grouped<'_>>) {
    match found {
        Some((by, header, rows)) => {
            card.section(&format!("Results by {}", plain(by)));
            card.table(&[&["value"][..], &header].concat(), &rows);
        }
        None => {
            card.section("Results by group");
            card.line(
                "Not judged. `stonet evaluate --by COLUMN --report card.md` adds results for each value of a column.",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn names_of_users_stay_in_their_cells() {
        assert_eq!(plain("a|b\n# c `d` <e>"), "a\\|b \\# c \\`d\\` \\<e\\>");
    }
}
