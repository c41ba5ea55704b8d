//! What an evaluation of probabilities says: a verdict in one sentence, and short tables.

use stonet::metrics::Measured;

use super::ClassEvaluation;
use crate::evaluate::binomial::Judgement;
use crate::evaluate::seen::{addition, called, sentence};
use crate::evaluate::text::Columns;
use crate::number::{count, percent, points, shown, whole};

impl ClassEvaluation {
    /// Whether the calibration error of the guess is no larger than chance alone makes it.
    pub fn calibrated(&self) -> bool {
        within_chance(&self.scores.ece)
    }

    /// Whether the guesses are right as often as they say: short where they are surer than right.
    pub fn judgement(&self) -> Judgement {
        self.accuracy.judge(self.mean_confidence, 1)
    }

    /// The result in one plain sentence; chance is what labels drawn from the probabilities themselves would show on as
    /// many rows.
    pub fn verdict(&self) -> String {
        let ece = &self.scores.ece;
        let mut sentence = format!(
            "On {}, confidence is off by {} points on average (ECE)",
            count(self.rows, &called(self.seen.as_ref(), "row")),
            points(ece.value)
        );
        if let Some(floor) = &ece.floor {
            sentence += &format!(", where {} would be chance alone", points(floor.mean));
            if !self.calibrated() {
                sentence += &format!(" and {} its limit", points(floor.high));
            }
        }
        sentence += match (self.calibrated(), self.judgement()) {
            (true, _) => ": calibrated",
            (false, Judgement::Short) => ": overconfident",
            (false, Judgement::Cautious) => ": too modest",
            (false, Judgement::Kept) => ": not calibrated",
        };
        if !self.calibrated() && self.judgement() != Judgement::Kept {
            let (says, is) = (percent(self.mean_confidence), percent(self.accuracy.value));
            sentence += &format!(", it says {says} and is right in {is} of the rows");
        }
        if let Some(own) = &self.network {
            sentence += &format!("; the network's own confidence is off by {}", points(own.ece.value));
        }
        sentence += &addition(self.seen.as_ref());
        sentence.push('.');
        sentence
    }

    /// Subgroups whose confidence is off by more than chance, even if it is right overall.
    pub fn weak_spots(&self) -> Vec<String> {
        let Some((column, groups)) = &self.subgroups else { return Vec::new() };
        let off = groups.iter().filter(|g| g.ece > g.floor.1);
        let told = off.map(|g| {
            let (ece, most, rows) = (points(g.ece), points(g.floor.1), count(g.accuracy.rows, "row"));
            format!(
                "Confidence is off by {ece} points where {column} is {} ({rows}; at most {most} by chance).",
                g.name
            )
        });
        told.collect()
    }

    /// The verdict and short tables.
    pub fn text(&self) -> String {
        let mut out = format!("{}\n\n", self.verdict());
        let spots = self.weak_spots();
        spots.iter().for_each(|s| out += &format!("! {s}\n"));
        out += if spots.is_empty() { "" } else { "\n" };
        let mut table = Columns::new(&["score", "value", "95 % interval", "by chance", "network's"]);
        let network = self.network.as_ref().map(super::named);
        for (i, (name, m)) in self.named_scores().into_iter().enumerate() {
            table.row(vec![
                name.to_owned(),
                shown(m.value),
                format!("{}–{}", shown(m.low), shown(m.high)),
                m.floor.map_or("–".into(), |f| shown(f.mean)),
                network.map_or("–".into(), |n| shown(n[i].1.value)),
            ]);
        }
        for (name, m, network) in self.trust_scores() {
            table.row(vec![
                name.to_owned(),
                shown(m.value),
                format!("{}–{}", shown(m.low), shown(m.high)),
                m.floor.map_or("–".into(), |f| shown(f.mean)),
                network.map_or("–".into(), shown),
            ]);
        }
        out += &table.text();
        out += &self.trust_text();
        let mut table = Columns::new(&["class", "rows", "frequency", "mean p", "recall", "precision", "error"]);
        let optional = |v: Option<f64>| v.map_or("–".into(), percent);
        for c in &self.classes {
            table.row(vec![
                c.name.clone(),
                whole(c.rows),
                percent(c.frequency),
                percent(c.mean_probability),
                optional(c.recall),
                optional(c.precision),
                points(c.calibration_error),
            ]);
        }
        out += &format!("\n{}", table.text());
        if let Some((column, groups)) = &self.subgroups {
            let mut table = Columns::new(&[column, "rows", "accuracy", "ECE", "by chance", "at most"]);
            for g in groups {
                let flag = if g.ece > g.floor.1 { " !" } else { "" };
                table.row(vec![
                    g.name.clone(),
                    whole(g.accuracy.rows),
                    percent(g.accuracy.value),
                    points(g.ece) + flag,
                    points(g.floor.0),
                    points(g.floor.1),
                ]);
            }
            out += &format!("\n{}", table.text());
        }
        if let Some(sets) = &self.sets {
            out += &format!("\n{}", sets.text());
        }
        if let Some(bounds) = &self.accuracy_bounds {
            out += &format!("\n{}", bounds.text());
        }
        out + &format!("\n{}\n", sentence(self.seen.as_ref()))
    }
}

/// Without a floor nothing is known against it.
fn within_chance(m: &Measured) -> bool {
    m.floor.is_none_or(|f| m.value <= f.high)
}
