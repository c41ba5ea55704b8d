//! What an evaluation of many labels says: a verdict in one sentence, and short tables.

use super::{LabelScores, LabelsEvaluation};
use crate::evaluate::seen;
use crate::evaluate::text::Columns;
use crate::number::{count, points, whole};

impl LabelsEvaluation {
    /// One sentence.
    pub fn verdict(&self) -> String {
        let LabelScores { nll, ece, ece_chance, .. } = self.mean;
        let (labels, rows) = (count(self.labels.len(), "label"), seen::called(self.seen.as_ref(), "rows"));
        let addition = seen::addition(self.seen.as_ref());
        let beyond = match self.beyond_chance {
            0 => "no label is off by more than chance".to_owned(),
            1 => "1 label is off by more than chance".to_owned(),
            many => format!("{many} labels are off by more than chance"),
        };
        format!(
            "on {} {rows} the mean over {labels} is nll {nll:.4}, ece {ece:.4}, where {ece_chance:.4} would be chance alone; \
             {beyond}{addition}",
            self.rows
        )
    }

    /// Subgroups in which more labels are off by more than chance than chance explains.
    pub fn weak_spots(&self) -> Vec<String> {
        let Some((column, groups)) = &self.subgroups else { return Vec::new() };
        let off = groups.iter().filter(|g| !super::by_chance(g.beyond_chance, self.labels.len()));
        let told = off.map(|g| {
            let (label, ece, limit) = (&g.worst.label, points(g.worst.scores.ece), points(g.worst.ece_limit));
            format!(
                "Where {column} is {} ({}), {} of {} are off by more than chance; the worst is {label}, by {ece} points (at most {limit} by chance).",
                g.name,
                count(g.rows, "row"),
                g.beyond_chance,
                count(self.labels.len(), "label"),
            )
        });
        told.collect()
    }

    /// For people: a table with a line per label, and the means.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.verdict());
        self.weak_spots().iter().for_each(|s| text += &format!("! {s}\n"));
        text += &format!("rows       {} ({})\n", self.rows, seen::short(self.seen.as_ref()));
        let mut table = Columns::new(&["label", "base rate", "nll", "brier", "ece", "by chance", "cece"]);
        for l in &self.labels {
            table.row(line(&l.label, &l.scores, if l.beyond_chance() { " !" } else { "" }));
        }
        table.row(line("mean", &self.mean, ""));
        text += &table.text();
        if let Some((column, groups)) = &self.subgroups {
            let mut table = Columns::new(&[column, "rows", "nll", "brier", "ece", "by chance", "labels beyond chance"]);
            for g in groups {
                let LabelScores { nll, brier, ece, ece_chance, .. } = g.mean;
                let scores = [nll, brier, ece, ece_chance].map(|v| format!("{v:.4}"));
                let cells = [g.name.clone(), whole(g.rows)].into_iter().chain(scores);
                table.row(cells.chain([whole(g.beyond_chance)]).collect());
            }
            text += &format!("\n{}", table.text());
        }
        text
    }
}

/// The scores of one label in a table.
fn line(name: &str, scores: &LabelScores, flag: &str) -> Vec<String> {
    let LabelScores { base_rate, nll, brier, ece, cece, ece_chance } = scores;
    let mut cells = vec![name.to_owned()];
    cells.extend([base_rate, nll, brier].map(|v| format!("{v:.4}")));
    cells.extend([format!("{ece:.4}{flag}"), format!("{ece_chance:.4}"), format!("{cece:.4}")]);
    cells
}
