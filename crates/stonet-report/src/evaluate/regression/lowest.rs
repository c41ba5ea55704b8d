//! A diagnosis in words: the parts of the rows with the least coverage, and how they were found.

use stonet::diagnosis::Ert;

use super::diagnosis::{Diagnosis, FoundPart, Ranking};
use super::words::{ends, flag};
use crate::evaluate::binomial::{Judgement, Proportion};
use crate::evaluate::text::Columns;
use crate::number::{count, percent, points, shown, whole};

/// One part of the rows, ready to be shown.
pub struct Finding {
    /// Which part, in words.
    pub place: String,
    /// Its coverage.
    pub coverage: Proportion,
    /// Short where it is lower than chance explains.
    pub judgement: Judgement,
}

impl FoundPart {
    /// As `71.0 % were held for f12 > 1.300 (240 rows; 65.0–77.0).`
    pub fn sentence(&self) -> String {
        let (c, rows) = (&self.coverage, count(self.coverage.rows, "row"));
        format!("{} were held for {} ({rows}; {}).", percent(c.value), self.text, ends(c))
    }

    fn finding(&self, name: &str) -> Finding {
        let place = format!("worst {name}: {}", self.text);
        Finding { place, coverage: self.coverage, judgement: self.judgement }
    }
}

impl Diagnosis {
    /// The slice and the slab that were found.
    pub fn found(&self) -> impl Iterator<Item = &FoundPart> {
        let slice = self.worst_slice.iter().map(|s| &s.part);
        slice.chain(self.worst_slab.iter().map(|s| &s.part))
    }

    /// The parts with the least coverage.
    pub fn findings(&self) -> Vec<Finding> {
        let fifth = self.worst_fifth.iter().map(|f| {
            let by = if f.by == Ranking::Length { "length" } else { "prediction" };
            Finding {
                place: format!("worst fifth: {by} {} to {}", shown(f.low), shown(f.high)),
                coverage: f.coverage,
                judgement: if f.chance < 0.05 { Judgement::Short } else { Judgement::Kept },
            }
        });
        let slice = self.worst_slice.iter().map(|s| s.part.finding("slice"));
        let slab = self.worst_slab.iter().map(|s| s.part.finding("slab"));
        fifth.chain(slice).chain(slab).collect()
    }

    /// How the parts were found, and what chance explains.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        notes.extend(self.worst_fifth.iter().map(|f| {
            format!(
                "The worst fifth is the least of {}. If coverage were exact everywhere, the least of them would be {} \
                 on average, and at most {} with probability {}.",
                f.fifths,
                percent(f.expected),
                percent(f.coverage.value),
                probability(f.chance)
            )
        }));
        if let Some(part) = self.found().next() {
            let halves = [self.rows - self.rows / 2, self.rows / 2].map(whole);
            notes.push(format!(
                "Slice and slab were searched on {} rows and are judged on {} others, so the search does not lower \
                 their coverage there. Marks of slices and slabs allow for all {} that are judged (Bonferroni). Features \
                 of a slab are standardised.",
                halves[0], halves[1], part.comparisons
            ));
        }
        notes.extend(self.ert.iter().map(excess));
        notes
    }

    /// A short table and the notes; nothing where nothing was found.
    pub fn text(&self, of: &str) -> String {
        let findings = self.findings();
        if findings.is_empty() {
            return String::new();
        }
        let mut table = Columns::new(&[&format!("lowest coverage{of}"), "rows", "coverage", "95 % interval"]);
        for f in findings {
            let coverage = percent(f.coverage.value) + flag(f.judgement);
            table.row(vec![f.place, whole(f.coverage.rows), coverage, ends(&f.coverage)]);
        }
        let notes: String = self.notes().iter().map(|n| format!("  {n}\n")).collect();
        format!("\n{}{notes}", table.text())
    }
}

/// ERT, and what it means.
fn excess(ert: &Ert) -> String {
    let value = format!("ERT is {} (standard error {})", shown(ert.value), shown(ert.se));
    // Two standard errors: a chance of 2.3 % where there is nothing to find.
    if ert.value > 2.0 * ert.se {
        format!(
            "{value}: the features, the prediction and the length predict which rows are covered. The coverage given \
             them differs from the level by about {} points or more (root mean square).",
            points(ert.value.sqrt())
        )
    } else {
        format!("{value}: no sign that coverage depends on the features, the prediction or the length.")
    }
}

/// In per cent, and not below what a simulation can tell from nothing.
fn probability(p: f64) -> String {
    if p < 0.001 { "below 0.1 %".into() } else { percent(p) }
}
