//! Prediction sets judged on rows whose classes are known: coverage in all and by size, class and subgroup, and sizes.

use serde::{Deserialize, Serialize};
use stonet::conformal::PredictionSets;
use stonet::{FittedClassifier, Level, Result};

use crate::evaluate::binomial::{Judgement, Proportion};
use crate::evaluate::strata::Groups;
use crate::evaluate::text::Columns;
use crate::number::{count, percent, points, shown, whole};

/// Numbers of a [`SetEvaluation`] that can be required.
pub const SET_METRICS: [&str; 4] = ["set_coverage", "mean_set_size", "worst_class_coverage", "worst_size_coverage"];
/// The largest size of every row of the table by size; single sizes first.
const LARGEST: [usize; 10] = [0, 1, 2, 3, 4, 5, 10, 20, 50, 100];
/// Rows that a class or size needs to be called the worst.
const ENOUGH: usize = 20;
/// Classes that are listed in the text.
const LISTED: usize = 20;

/// Some rows: those of a class, of a size, or of a subgroup.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SetRow {
    /// The class, the sizes, or the subgroup.
    pub name: String,
    /// How often the set holds the true class.
    pub coverage: Proportion,
    /// The mean number of classes in a set.
    pub mean_size: f64,
}

/// Prediction sets judged on new rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SetEvaluation {
    /// The level.
    pub level: Level,
    /// What the head promises at this level, in words.
    pub guarantee: String,
    /// The score that the sets are cut at.
    pub score: String,
    /// How often a set holds the true class.
    pub coverage: Proportion,
    /// The mean number of classes in a set.
    pub mean_size: f64,
    /// The median number.
    pub median_size: f64,
    /// The share of sets without a class.
    pub empty: f64,
    /// The share of sets with all classes.
    pub full: f64,
    /// By size of the set: LAC is known to cover large sets less often than small ones.
    pub by_size: Vec<SetRow>,
    /// By true class; classes without a row are left out.
    pub by_class: Vec<SetRow>,
    /// By subgroup: the column, and they.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subgroups: Option<(String, Vec<SetRow>)>,
}

/// What is kept of every row's set.
#[derive(Debug, Clone, Default)]
pub(super) struct Kept {
    pub sizes: Vec<u32>,
    pub covered: Vec<bool>,
}

impl SetEvaluation {
    /// Judges the sets that a fitted classifier gave for rows of these classes.
    pub fn of(
        fitted: &FittedClassifier,
        sets: &PredictionSets,
        labels: &[usize],
        names: &[String],
    ) -> Result<SetEvaluation> {
        let sizes = sets.sizes().into_iter().map(|s| s as u32).collect();
        let kept = Kept { sizes, covered: sets.covered(labels)? };
        Ok(SetEvaluation::new(fitted, sets.level, &kept, labels, names, None))
    }

    /// The least coverage over classes with enough rows; NaN where there is none.
    pub fn worst_class(&self) -> f64 {
        worst(&self.by_class)
    }

    /// The least coverage over sizes with enough rows; NaN where there is none.
    pub fn worst_size(&self) -> f64 {
        worst(&self.by_size)
    }

    /// Judges the sets of these rows.
    pub(super) fn new(
        fitted: &FittedClassifier,
        level: Level,
        kept: &Kept,
        labels: &[usize],
        names: &[String],
        by: Option<(&str, &Groups)>,
    ) -> Self {
        let all: Vec<usize> = (0..labels.len()).collect();
        let part = |name: String, rows: &[usize]| {
            let hits = rows.iter().filter(|r| kept.covered[**r]).count();
            let sizes: f64 = rows.iter().map(|r| f64::from(kept.sizes[*r])).sum();
            let mean_size = sizes / rows.len().max(1) as f64;
            SetRow { name, coverage: Proportion::new(hits as f64, rows.len()), mean_size }
        };
        let share = |size: usize| {
            kept.sizes.iter().filter(|s| **s as usize == size).count() as f64 / kept.sizes.len().max(1) as f64
        };
        let mut by_size = Vec::new();
        let mut low = 0;
        for high in LARGEST.into_iter().chain([usize::MAX]) {
            let rows: Vec<usize> =
                all.iter().copied().filter(|r| (low..=high).contains(&(kept.sizes[*r] as usize))).collect();
            let name = match high {
                usize::MAX => format!("{low} and more"),
                _ if low == high => low.to_string(),
                _ => format!("{low} to {high}"),
            };
            by_size.extend((!rows.is_empty()).then(|| part(name, &rows)));
            low = high.saturating_add(1);
        }
        let mut of_class = vec![Vec::new(); names.len()];
        labels.iter().enumerate().for_each(|(r, &y)| of_class[y].push(r));
        let classes = of_class.iter().zip(names).filter(|(rows, _)| !rows.is_empty());
        let whole = part(String::new(), &all);
        SetEvaluation {
            level,
            guarantee: fitted.guarantee(level).map_or_else(String::new, |g| g.text),
            score: fitted.class_sets().map_or("", |s| s.scores().rule().score.name()).to_owned(),
            coverage: whole.coverage,
            mean_size: whole.mean_size,
            median_size: median(&kept.sizes),
            empty: share(0),
            full: share(names.len()),
            by_size,
            by_class: classes.map(|(rows, name)| part(name.clone(), rows)).collect(),
            subgroups: by.map(|(column, groups)| {
                let rows = groups.largest().into_iter().map(|(name, rows)| part(name, &rows)).collect();
                (column.to_owned(), rows)
            }),
        }
    }

    /// The number of this name.
    pub(super) fn metric(&self, name: &str) -> Option<f64> {
        match name {
            "set_coverage" => Some(self.coverage.value),
            "mean_set_size" => Some(self.mean_size),
            "worst_class_coverage" => Some(self.worst_class()),
            "worst_size_coverage" => Some(self.worst_size()),
            _ => None,
        }
    }

    /// Whether the level lies within the interval of the coverage.
    pub fn judgement(&self) -> Judgement {
        self.coverage.judge(self.level.get(), 1)
    }

    /// Sizes of sets that cover less often than the level, beyond chance.
    pub fn short_sizes(&self) -> Vec<&SetRow> {
        self.short(&self.by_size)
    }

    /// Those of some rows that cover less often than the level, beyond chance.
    pub(crate) fn short<'r>(&self, rows: &'r [SetRow]) -> Vec<&'r SetRow> {
        let short = |r: &&SetRow| r.coverage.judge(self.level.get(), rows.len()) == Judgement::Short;
        rows.iter().filter(short).collect()
    }

    /// The result in one plain sentence.
    pub fn verdict(&self) -> String {
        let Proportion { rows, value, low, high } = self.coverage;
        let word = match self.judgement() {
            Judgement::Short => "too seldom",
            Judgement::Kept => "as promised",
            Judgement::Cautious => "more often than asked for",
        };
        format!(
            "Prediction sets ({}) at {} % hold the true class in {} of {} (95 % interval {} to {}): {word}; a set has {} classes on average.",
            self.score,
            self.level.percent(),
            percent(value),
            count(rows, "row"),
            percent(low),
            percent(high),
            shown(self.mean_size)
        )
    }

    /// What the coverage hides: sizes and subgroups whose sets cover too seldom.
    pub fn weak_spots(&self) -> Vec<String> {
        let mut told: Vec<String> = (self.short_sizes().into_iter())
            .map(|r| format!("Sets of {} classes hold the true one in {} only.", r.name, percent(r.coverage.value)))
            .collect();
        if let Some((column, rows)) = &self.subgroups {
            let short = self.short(rows).into_iter();
            told.extend(short.map(|r| {
                format!("Sets hold the true class in {} only where {column} is {}.", percent(r.coverage.value), r.name)
            }));
        }
        told
    }

    /// The verdict and short tables.
    pub(super) fn text(&self) -> String {
        let mut out = format!("{}\n", self.verdict());
        self.weak_spots().iter().for_each(|s| out += &format!("! {s}\n"));
        out += &format!(
            "median size {}, empty {}, all classes {}\n{}\n",
            shown(self.median_size),
            percent(self.empty),
            percent(self.full),
            self.guarantee
        );
        let mut lowest: Vec<&SetRow> = self.by_class.iter().collect();
        let more = lowest.len().saturating_sub(LISTED);
        if more > 0 {
            lowest.sort_by(|a, b| a.coverage.value.total_cmp(&b.coverage.value));
            lowest.truncate(LISTED);
        }
        let mut tables = vec![("set size", self.by_size.iter().collect()), ("class", lowest)];
        tables.extend(self.subgroups.iter().map(|(column, rows)| (column.as_str(), rows.iter().collect())));
        for (name, rows) in tables {
            let mut table = Columns::new(&[name, "rows", "coverage", "95 % interval", "mean size"]);
            for r in rows {
                table.row(vec![
                    r.name.clone(),
                    whole(r.coverage.rows),
                    percent(r.coverage.value),
                    format!("{}–{}", points(r.coverage.low), points(r.coverage.high)),
                    shown(r.mean_size),
                ]);
            }
            out += &format!("\n{}", table.text());
        }
        if more > 0 {
            out += &format!("{more} classes of higher coverage are not shown.\n");
        }
        out
    }
}

fn worst(rows: &[SetRow]) -> f64 {
    rows.iter().filter(|r| r.coverage.rows >= ENOUGH).map(|r| r.coverage.value).fold(f64::NAN, f64::min)
}

fn median(sizes: &[u32]) -> f64 {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let at = |i: usize| sorted.get(i).map_or(f64::NAN, |s| f64::from(*s));
    let n = sorted.len();
    0.5 * (at(n.saturating_sub(1) / 2) + at(n / 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;
    use stonet::classification::SetScheme;
    use stonet::{ClassInputs, ClassMethod, ClassRows, ClassSets, PostStoNetClassifier, Seed};

    #[test]
    fn counts_by_hand() {
        let z = Array2::from_shape_fn((60, 3), |(i, k)| if i % 3 == k { 2.0 } else { (i % 5) as f64 / 4.0 });
        let labels: Vec<usize> = (0..60).map(|i| if i % 7 == 0 { (i + 1) % 3 } else { i % 3 }).collect();
        let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &labels, 3).unwrap();
        let classifier = PostStoNetClassifier { method: ClassMethod::Temperature, ..Default::default() };
        let sets = ClassSets { classifier, scheme: SetScheme::Split { share: 0.5 }, ..ClassSets::default() };
        let fitted = sets.fit(&rows, Seed::new(1), &|_, _| true).unwrap();
        let kept = Kept { sizes: vec![1, 1, 0, 3, 2, 2], covered: vec![true, false, false, true, true, true] };
        let names = ["a", "b", "c"].map(String::from);
        let level = Level::new(0.9).unwrap();
        let e = SetEvaluation::new(&fitted, level, &kept, &[0, 0, 0, 1, 1, 0], &names, None);
        assert_eq!((e.coverage.value, e.mean_size, e.median_size), (4.0 / 6.0, 1.5, 1.5));
        assert_eq!((e.empty, e.full), (1.0 / 6.0, 1.0 / 6.0));
        let sizes: Vec<(&str, f64)> = e.by_size.iter().map(|r| (r.name.as_str(), r.coverage.value)).collect();
        assert_eq!(sizes, [("0", 0.0), ("1", 0.5), ("2", 1.0), ("3", 1.0)]);
        let classes: Vec<(&str, usize)> = e.by_class.iter().map(|r| (r.name.as_str(), r.coverage.rows)).collect();
        assert_eq!(classes, [("a", 4), ("b", 2)]);
        assert!(e.metric("worst_class_coverage").unwrap().is_nan() && e.metric("set_coverage") == Some(4.0 / 6.0));
        assert!(e.text().contains("Prediction sets (lac) at 90 %") && e.text().contains("At least 90.0 %"));
    }
}
