//! Bounds of accuracy judged on rows whose classes are known: in every bin of confidence, what was promised and what is
//! seen.

use serde::{Deserialize, Serialize};
use stonet::classification::{AccuracyBins, AccuracyInterval};
use stonet::{FittedClassifier, Level};

use crate::evaluate::binomial::{Judgement, Proportion};
use crate::evaluate::text::Columns;
use crate::number::{count, percent, points, whole};

/// Numbers of an [`AccuracyEvaluation`] that can be required.
pub const ACCURACY_METRICS: [&str; 1] = ["accuracy_bins_kept"];

/// Digits behind the point of an end of a bin, at most.
const MOST_DIGITS: usize = 9;

/// Rows of similar confidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AccuracyRow {
    /// The bin as people read it.
    pub name: String,
    /// Lower end of the bin of confidence, which does not belong to it.
    pub from: f64,
    /// Upper end, which does.
    pub to: f64,
    /// Rows of the fit that were counted in it.
    pub counted: usize,
    /// The lower bound of the accuracy that the head promises.
    pub lower: f64,
    /// The upper bound.
    pub upper: f64,
    /// Mean confidence of the new rows; none where there are no such rows.
    pub confidence: Option<f64>,
    /// Right guesses among the new rows; none where there are no such rows.
    pub accuracy: Option<Proportion>,
    /// Whether what is seen agrees with the bounds: short where the accuracy lies below them beyond chance, cautious
    /// where it lies above.
    pub judgement: Judgement,
}

/// Bounds of accuracy judged on new rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AccuracyEvaluation {
    /// The level at which all bounds hold at once.
    pub level: Level,
    /// What the head promises at this level, in words.
    pub guarantee: String,
    /// Every bin, in ascending order of confidence.
    pub bins: Vec<AccuracyRow>,
}

impl AccuracyEvaluation {
    /// Judges the bounds of a fitted classifier on rows with these classes: the guess and its confidence, and the class.
    pub(super) fn new(
        fitted: &FittedClassifier,
        bins: &AccuracyBins,
        level: Level,
        guesses: &[(usize, f64)],
        labels: &[usize],
    ) -> Self {
        let mut sums = vec![(0usize, 0usize, 0.0); bins.len()];
        for (&(guess, confidence), &y) in guesses.iter().zip(labels) {
            let (rows, right, sum) = &mut sums[bins.bin(confidence)];
            (*rows, *right, *sum) = (*rows + 1, *right + usize::from(guess == y), *sum + confidence);
        }
        let filled = sums.iter().filter(|s| s.0 > 0).count();
        let bounds = bins.bounds(level);
        let one = |((bin, name), &(rows, right, sum)): ((&AccuracyInterval, String), &(usize, usize, f64))| {
            let accuracy = Proportion::new(right as f64, rows);
            let below = accuracy.judge(bin.lower, filled) == Judgement::Short;
            let above = accuracy.judge(bin.upper, filled) == Judgement::Cautious;
            AccuracyRow {
                name,
                from: bin.from,
                to: bin.to,
                counted: bin.rows,
                lower: bin.lower,
                upper: bin.upper,
                confidence: (rows > 0).then(|| sum / rows as f64),
                accuracy: (rows > 0).then_some(accuracy),
                judgement: match (rows, below, above) {
                    (0, ..) => Judgement::Kept,
                    (_, true, _) => Judgement::Short,
                    (_, _, true) => Judgement::Cautious,
                    _ => Judgement::Kept,
                },
            }
        };
        AccuracyEvaluation {
            level,
            guarantee: fitted.accuracy_guarantee(level).map_or_else(String::new, |g| g.text),
            bins: bounds.bins().iter().zip(bin_names(bounds.bins())).zip(&sums).map(one).collect(),
        }
    }

    /// The bins that have new rows.
    fn filled(&self) -> impl Iterator<Item = &AccuracyRow> {
        self.bins.iter().filter(|b| b.accuracy.is_some())
    }

    /// Bins whose accuracy contradicts the bounds, beyond chance.
    pub fn contradicted(&self) -> Vec<&AccuracyRow> {
        self.filled().filter(|b| b.judgement != Judgement::Kept).collect()
    }

    /// The share of the bins with rows in which what is seen agrees with the bounds.
    pub fn kept(&self) -> f64 {
        let filled = self.filled().count();
        (filled - self.contradicted().len()) as f64 / filled as f64
    }

    /// The number of this name.
    pub(super) fn metric(&self, name: &str) -> Option<f64> {
        (name == ACCURACY_METRICS[0]).then(|| self.kept())
    }

    /// The result in one plain sentence.
    pub fn verdict(&self) -> String {
        let (all, against) = (self.filled().count(), self.contradicted().len());
        let what = format!("Bounds of accuracy at {} % for {}", self.level.percent(), count(self.bins.len(), "bin"));
        match against {
            0 => format!("{what} of confidence agree with the accuracy seen wherever there are new rows."),
            _ => {
                format!("{what} of confidence disagree with the accuracy seen in {against} of the {all} with new rows.")
            }
        }
    }

    /// Bins whose accuracy contradicts the bounds, in words.
    pub fn weak_spots(&self) -> Vec<String> {
        let told = |b: &&AccuracyRow| {
            let seen = b.accuracy.map_or(f64::NAN, |a| a.value);
            format!(
                "Guesses of a confidence of {} are right in {}, and {}–{} was promised.",
                b.name,
                percent(seen),
                points(b.lower),
                percent(b.upper)
            )
        };
        self.contradicted().iter().map(told).collect()
    }

    /// The verdict and a short table.
    pub(super) fn text(&self) -> String {
        let mut out = format!("{}\n", self.verdict());
        self.weak_spots().iter().for_each(|s| out += &format!("! {s}\n"));
        out += &format!("{}\n\n", self.guarantee);
        let mut table = Columns::new(&["confidence", "rows", "accuracy", "95 % interval", "promised", "agree"]);
        for b in &self.bins {
            table.row(vec![
                b.name.clone(),
                whole(b.accuracy.map_or(0, |a| a.rows)),
                b.accuracy.map_or("–".into(), |a| percent(a.value)),
                b.accuracy.map_or("–".into(), |a| format!("{}–{}", points(a.low), points(a.high))),
                format!("{}–{}", points(b.lower), points(b.upper)),
                b.word().into(),
            ]);
        }
        out + &table.text()
    }
}

/// Bins as people read them, such as `99.3–99.8 %`, with as many digits as tell each end from the next ones.
pub fn bin_names(bins: &[AccuracyInterval]) -> Vec<String> {
    let ends: Vec<f64> = bins.iter().take(1).map(|b| b.from).chain(bins.iter().map(|b| b.to)).collect();
    let shown = |i: usize, digits: usize| format!("{:.digits$}", 100.0 * ends[i]);
    let apart = |i: usize, digits: usize| {
        (i == 0 || shown(i, digits) != shown(i - 1, digits))
            && (i + 1 == ends.len() || shown(i, digits) != shown(i + 1, digits))
    };
    let end = |i: usize| shown(i, (1..MOST_DIGITS).find(|digits| apart(i, *digits)).unwrap_or(MOST_DIGITS));
    (0..bins.len()).map(|b| format!("{}–{} %", end(b), end(b + 1))).collect()
}

impl AccuracyRow {
    /// Whether what is seen agrees with the bounds, in a word.
    pub fn word(&self) -> &'static str {
        match (self.accuracy, self.judgement) {
            (None, _) => "no rows",
            (_, Judgement::Kept) => "yes",
            (_, Judgement::Short) => "too low",
            (_, Judgement::Cautious) => "too high",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;
    use stonet::classification::AccuracySettings;
    use stonet::{ClassInputs, ClassMethod, ClassRows, PostStoNetClassifier, Seed};

    #[test]
    fn ends_of_bins_are_told_apart() {
        let ends = [0.0, 0.5, 0.99994, 0.99997, 1.0];
        let bin = |e: &[f64]| AccuracyInterval { from: e[0], to: e[1], rows: 1, right: 1, lower: 0.0, upper: 1.0 };
        let names = bin_names(&ends.windows(2).map(bin).collect::<Vec<_>>());
        assert_eq!(names, ["0.0–50.0 %", "50.0–99.99 %", "99.99–99.997 %", "99.997–100.000 %"]);
        assert_eq!(bin_names(&[bin(&[0.0, 1.0])]), ["0.0–100.0 %"]);
    }

    #[test]
    fn bins_by_hand() {
        let z = Array2::from_shape_fn((400, 2), |(i, k)| if i % 2 == k { (i % 9) as f64 } else { 0.0 });
        let labels: Vec<usize> = (0..400).map(|i| if i % 5 == 0 { (i + 1) % 2 } else { i % 2 }).collect();
        let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &labels, 2).unwrap();
        let classifier = PostStoNetClassifier { method: ClassMethod::Temperature, ..Default::default() };
        let settings = AccuracySettings { bins: Some(2), ..Default::default() };
        let fitted = settings.fit(&classifier, &rows, Seed::new(1), &|_, _| true).unwrap();
        let (bins, level) = (fitted.accuracy_bins().unwrap(), Level::new(0.9).unwrap());
        let bounds = bins.bounds(level);
        // 60 rows of the upper bin, all wrong; none of the lower one.
        let (guesses, labels) = (vec![(0, 1.0); 60], vec![1; 60]);
        let e = AccuracyEvaluation::new(&fitted, bins, level, &guesses, &labels);
        assert_eq!((e.bins[0].accuracy, e.bins[0].confidence, e.bins[0].word()), (None, None, "no rows"));
        let upper = &e.bins[1];
        assert_eq!(
            (upper.lower, upper.upper, upper.counted),
            (bounds.bins()[1].lower, bounds.bins()[1].upper, bounds.bins()[1].rows)
        );
        assert_eq!((upper.accuracy.unwrap().value, upper.word(), upper.confidence), (0.0, "too low", Some(1.0)));
        assert_eq!((e.metric("accuracy_bins_kept"), e.metric("accuracy")), (Some(0.0), None));
        assert!(e.verdict().contains("disagree with the accuracy seen in 1 of the 1 with new rows"), "{}", e.verdict());
        assert!(e.text().contains("! Guesses of a confidence of") && e.text().contains("at least 90 %"));
        // What the bounds allow agrees with them.
        let right = (60.0 * 0.5 * (upper.lower + upper.upper)) as usize;
        let labels: Vec<usize> = (0..60).map(|i| usize::from(i >= right)).collect();
        let e = AccuracyEvaluation::new(&fitted, bins, level, &guesses, &labels);
        assert_eq!((e.kept(), e.bins[1].word()), (1.0, "yes"));
        assert!(e.verdict().contains("agree with the accuracy seen wherever"));
    }
}
