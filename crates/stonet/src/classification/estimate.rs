//! Time and memory of a classification fit before it starts.

use super::{ClassMethod, LabelRows, PostStoNetClassifier};
use crate::base::{FitEstimate, Result, Seed, Ticker, estimate};
use crate::rows::{ClassInputs, ClassRows};

/// Rows of the first sample, per class, and in all.
const LEAST: (usize, usize) = (20, 300);
/// Bytes of a number.
const NUMBER: f64 = 8.0;
/// Bytes of a process with its threads before there are rows.
const PROCESS: f64 = 6e6;
/// Copies of the rows that a thread holds in a stack, and of one method alone.
const COPIES: f64 = 12.0;
const ALONE: f64 = 3.0;

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

    /// Bytes at the peak of a process that fits: the rows, those of the folds, and what the fits that run at once hold.
    fn memory(&self, rows: &ClassRows<'_>, columns: usize) -> f64 {
        let data = NUMBER * (rows.rows() * columns) as f64;
        let threads = rayon::current_num_threads() as f64;
        let (folds, copies) = match self.method {
            ClassMethod::Stack => (self.folds.unwrap_or(3), COPIES),
            _ => (1, ALONE),
        };
        PROCESS + data * (1.0 + folds as f64 + threads * copies)
    }
}
