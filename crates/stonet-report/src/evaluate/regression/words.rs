//! What an evaluation of intervals says: a verdict in one sentence, and short tables.

use super::{RegressionEvaluation, Subgroup, TargetEvaluation};
use crate::evaluate::binomial::{Judgement, Proportion};
use crate::evaluate::seen::{addition, called, sentence};
use crate::evaluate::text::Columns;
use crate::number::{count, level, percent, points, shown, whole};

impl RegressionEvaluation {
    /// Whether the promise was kept overall.
    pub fn judgement(&self) -> Judgement {
        self.overall.coverage.judge(self.overall.level.get(), 1)
    }

    /// The result in one plain sentence. Chance is allowed for: the promise counts as broken only where the exact 95 %
    /// interval of the coverage, for single targets with Bonferroni's correction, does not hold the level.
    pub fn verdict(&self) -> String {
        let (s, n) = (&self.overall, self.rows);
        let held = percent(s.coverage.value);
        let mut sentence = match self.targets.len() {
            1 => format!(
                "The {} intervals held {held} of {}",
                level(s.level.get()),
                count(n, &called(self.seen.as_ref(), "value"))
            ),
            m if self.joint => {
                format!(
                    "The joint {} boxes held {} of {held} of {}",
                    level(s.level.get()),
                    if m == 2 { "both targets".to_owned() } else { format!("all {m} targets") },
                    count(n, &called(self.seen.as_ref(), "row"))
                )
            }
            m => format!(
                "The {} intervals held {held} of the values of {m} targets in {}",
                level(s.level.get()),
                count(n, &called(self.seen.as_ref(), "row"))
            ),
        };
        sentence += &format!(" (95 % interval {}): ", ends(&s.coverage));
        sentence += match self.judgement() {
            Judgement::Kept => "as promised",
            Judgement::Short => "too few, the intervals are too short",
            Judgement::Cautious => "more than promised, the intervals are cautious",
        };
        sentence += &self.exceptions();
        sentence += &addition(self.seen.as_ref());
        sentence.push('.');
        sentence
    }

    /// Targets that fall short by themselves, where there are several.
    fn exceptions(&self) -> String {
        let short = |t: &&TargetEvaluation| {
            t.scores.coverage.judge(t.scores.level.get(), self.targets.len()) == Judgement::Short
        };
        if self.targets.len() < 2 {
            return String::new();
        }
        let names: Vec<String> = (self.targets.iter().filter(short))
            .map(|t| format!("`{}` ({})", t.name, percent(t.scores.coverage.value)))
            .collect();
        if names.is_empty() { String::new() } else { format!("; too few for {}", names.join(", ")) }
    }

    /// Parts of the rows where the promise is broken beyond chance, even if it is kept overall: the worst fifth by
    /// width and by prediction of every target, its worst slice and slab, and every subgroup.
    pub fn weak_spots(&self) -> Vec<String> {
        let mut spots = Vec::new();
        for t in &self.targets {
            let of = if self.targets.len() > 1 { format!("`{}`: only ", t.name) } else { "Only ".to_owned() };
            for (what, strata) in [("an interval of length", &t.by_width), ("a prediction from", &t.by_prediction)] {
                let short = strata.iter().filter(|s| s.judgement == Judgement::Short);
                let worst = short.min_by(|a, b| a.coverage.value.total_cmp(&b.coverage.value));
                spots.extend(worst.map(|s| {
                    let (held, low, high) = (percent(s.coverage.value), shown(s.low), shown(s.high));
                    format!("{of}{held} of the values with {what} {low} to {high} were held.")
                }));
            }
            let found = t.diagnosis.found().filter(|p| p.judgement == Judgement::Short);
            spots.extend(found.map(|p| format!("{of}{}", p.sentence())));
        }
        if let Some((column, groups)) = &self.subgroups {
            let short = groups.iter().filter(|g| g.judgement == Judgement::Short);
            spots.extend(short.map(|g| {
                let rows = count(g.coverage.rows, "row");
                format!("Only {} were held where {column} is {} ({rows}).", percent(g.coverage.value), g.name)
            }));
        }
        spots
    }

    /// What coverage within groups costs in length, where the head covers within groups.
    pub fn lengths_by_group(&self) -> Option<String> {
        let (_, groups) = self.subgroups.as_ref()?;
        groups.iter().find(|g| g.pooled.is_some())?;
        let by_length = |a: &&Subgroup, b: &&Subgroup| a.mean_length.total_cmp(&b.mean_length);
        let (short, long) = (groups.iter().min_by(by_length)?, groups.iter().max_by(by_length)?);
        let how = match long.mean_length.is_finite() && short.mean_length > 0.0 {
            true => format!("{} times as long as", shown(long.mean_length / short.mean_length)),
            false => "longer than".to_owned(),
        };
        Some(format!(
            "Pooled columns show the same head with the ranks of all rows. Equal coverage makes the intervals of some groups long: those of {} are {how} those of {}.",
            long.name, short.name
        ))
    }

    /// The verdict and short tables.
    pub fn text(&self) -> String {
        let mut out = format!("{}\n\n", self.verdict());
        let spots = self.weak_spots();
        spots.iter().for_each(|s| out += &format!("! {s}\n"));
        out += if spots.is_empty() { "" } else { "\n" };
        let mut table = Columns::new(&[
            "target",
            "coverage",
            "95 % interval",
            "mean length",
            "median",
            "Winkler",
            "RMSE",
            "network's",
        ]);
        let mut add = |name: &str, s: &super::IntervalScores| {
            table.row(vec![
                name.to_owned(),
                percent(s.coverage.value),
                ends(&s.coverage),
                shown(s.mean_length),
                shown(s.median_length),
                shown(s.winkler),
                shown(s.rmse),
                s.network_rmse.map_or("–".into(), shown),
            ]);
        };
        self.targets.iter().for_each(|t| add(&t.name, &t.scores));
        if self.targets.len() > 1 {
            add("all", &self.overall);
        }
        out += &table.text();
        let mut curve = Columns::new(&["level", "coverage", "95 % interval", "mean length"]);
        for p in &self.curve {
            curve.row(vec![level(p.level), percent(p.coverage.value), ends(&p.coverage), shown(p.mean_length)]);
        }
        out += &format!("\n{}", curve.text());
        for target in &self.targets {
            let of = if self.targets.len() > 1 { format!(" of {}", target.name) } else { String::new() };
            for (what, strata) in [("length", &target.by_width), ("prediction", &target.by_prediction)] {
                let mut table =
                    Columns::new(&[&format!("{what}{of}"), "rows", "coverage", "95 % interval", "mean length"]);
                for s in strata {
                    table.row(vec![
                        format!("{} to {}", shown(s.low), shown(s.high)),
                        whole(s.coverage.rows),
                        percent(s.coverage.value) + flag(s.judgement),
                        ends(&s.coverage),
                        shown(s.mean_length),
                    ]);
                }
                out += &format!("\n{}", table.text());
            }
            out += &target.diagnosis.text(&of);
            out += &target.distribution.as_ref().map_or_else(String::new, |d| d.text(&of));
        }
        if let Some((column, groups)) = &self.subgroups {
            let mut names = vec![column.as_str(), "rows", "coverage", "95 % interval", "mean length"];
            let pooled = groups.iter().any(|g| g.pooled.is_some());
            names.extend(["coverage, pooled", "length, pooled"].into_iter().filter(|_| pooled));
            let mut table = Columns::new(&names);
            for g in groups {
                let mut row = vec![
                    g.name.clone(),
                    whole(g.coverage.rows),
                    percent(g.coverage.value) + flag(g.judgement),
                    ends(&g.coverage),
                    shown(g.mean_length),
                ];
                row.extend(g.pooled.iter().flat_map(|p| [percent(p.coverage.value), shown(p.mean_length)]));
                table.row(row);
            }
            out += &format!("\n{}", table.text());
            out += &self.lengths_by_group().map_or(String::new(), |text| format!("{text}\n"));
        }
        out += &format!("\n{}\n{}\n", self.guarantee, sentence(self.seen.as_ref()));
        out
    }
}

/// As 88.0–90.7.
pub fn ends(p: &Proportion) -> String {
    format!("{}–{}", points(p.low), points(p.high))
}

/// A mark for parts that fall short beyond chance.
pub fn flag(j: Judgement) -> &'static str {
    if j == Judgement::Short { " !" } else { "" }
}
