//! Time and memory of a classification fit before it starts.

use super::cost::Sizes;
use super::{ClassMethod, LabelRows, PostStoNetClassifier};
use crate::base::{FitEstimate, Result, Seed, Ticker, estimate};
use crate::rows::{ClassInputs, ClassRows};

/// Rows of the first sample, per class, and in all.
const LEAST: (usize, usize) = (20, 300);
/// Bytes of a number.
const NUMBER: f64 = 8.0;

impl PostStoNetClassifier {
    /// What a fit on these rows takes on this machine. Fits samples of them for about a second.
    pub fn estimate(&self, rows: &ClassRows<'_>, seed: Seed, tick: Ticker<'_>) -> Result<FitEstimate> {
        self.estimate_of(rows, seed, &|some| self.fit(some, seed, tick).map(drop))
    }

    /// The same of a fit that is made of fits of this classifier, such as that of prediction sets.
    pub fn estimate_of(
        &self,
        rows: &ClassRows<'_>,
        seed: Seed,
        fit: &dyn Fn(&ClassRows<'_>) -> Result<()>,
    ) -> Result<FitEstimate> {
        self.check()?;
        let (number, least) = (rows.rows(), (LEAST.0 * rows.classes()).max(LEAST.1));
        let some = |chosen: &[usize]| fit(&rows.select(chosen).view());
        let (seconds, sample_rows, sample_seconds) =
            estimate::seconds(number, least, seed, |number| self.cost(rows, number), some)?;
        let ClassInputs { logits, features } = rows.inputs();
        let columns = [logits, features].into_iter().flatten().map(|table| table.ncols()).sum();
        let memory = self.memory(rows, columns);
        Ok(FitEstimate { rows: number, columns, seconds, memory, sample_rows, sample_seconds })
    }

    /// The same for many labels, each of which is fitted by itself: that of the first, as often as there are labels.
    pub fn estimate_labels(&self, rows: &LabelRows<'_>, seed: Seed, tick: Ticker<'_>) -> Result<FitEstimate> {
        let (labels, z, present) = (rows.labels(), rows.logits(0)?, rows.present(0));
        let inputs = ClassInputs { features: rows.features(), ..ClassInputs::logits(z.view())? };
        let one = self.estimate(&ClassRows::new(inputs, &present, 2)?, seed, tick)?;
        let features = rows.features().map_or(0, |x| x.ncols());
        let others = NUMBER * (rows.rows() * (labels - 1)) as f64;
        let (seconds, memory) = (one.seconds * labels as f64, one.memory + others);
        Ok(FitEstimate { columns: labels + features, seconds, memory, ..one })
    }

    /// Bytes at the peak of a fit: the rows, those of the folds, and what the fits that run at once hold.
    fn memory(&self, rows: &ClassRows<'_>, columns: usize) -> f64 {
        let sizes = Sizes::of(rows);
        let (n, k) = (sizes.rows as f64, sizes.classes as f64);
        let data = NUMBER * n * columns as f64;
        let folds = match self.method {
            ClassMethod::Stack => self.folds.unwrap_or(if sizes.classes >= 50 { 2 } else { 3 }) as f64,
            _ => 1.0,
        };
        let threads = rayon::current_num_threads() as f64;
        data * (1.0 + folds) + threads * NUMBER * n * (3.0 * k + columns as f64)
    }
}
