//! Time and memory of a fit before it starts: fits on a few of its rows, timed on this machine, and what the plan of the
//! work says about all of them.

use std::time::Instant;

use rand::seq::SliceRandom;

use super::streams::estimate::SAMPLE;
use super::{Cost, Error, Result, Seed};

/// A fit of some rows that takes so long tells how long one of all rows takes.
const ENOUGH: f64 = 0.4;
/// Seconds after which no larger sample is tried.
const PATIENCE: f64 = 1.5;
/// The next sample is so many times as large.
const GROWTH: usize = 3;

/// What a fit is expected to take on this machine, with as many threads as were used here.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct FitEstimate {
    /// Rows.
    pub rows: usize,
    /// Columns that are read of every row, targets not counted.
    pub columns: usize,
    /// Expected seconds of the fit, without reading and writing.
    pub seconds: f64,
    /// Expected bytes of memory at the peak, rows included.
    pub memory: f64,
    /// Rows of the largest sample that was fitted.
    pub sample_rows: usize,
    /// Seconds that it took.
    pub sample_seconds: f64,
}

/// Seconds of a fit on `rows` rows, and the rows and seconds of the last sample. `fit` fits these rows, the samples grow
/// from `least` rows on, and `cost` is that of a fit on so many.
pub(crate) fn seconds(
    rows: usize,
    least: usize,
    seed: Seed,
    cost: impl Fn(usize) -> Result<Cost>,
    fit: impl Fn(&[usize]) -> Result<()>,
) -> Result<(f64, usize, f64)> {
    let mut order: Vec<usize> = (0..rows).collect();
    order.shuffle(&mut seed.child(SAMPLE).rng());
    let (begin, mut size) = (Instant::now(), least.clamp(1, rows.max(1)));
    loop {
        let mut sample = order[..size].to_vec();
        sample.sort_unstable();
        let start = Instant::now();
        let taken = match fit(&sample) {
            Ok(()) => Some(start.elapsed().as_secs_f64()),
            Err(e @ Error::Cancelled(_)) => return Err(e),
            // Too few rows for a fit, perhaps.
            Err(_) if size < rows => None,
            Err(e) => return Err(e),
        };
        let enough = |taken: f64| size == rows || taken > ENOUGH || begin.elapsed().as_secs_f64() > PATIENCE;
        match taken {
            Some(taken) if enough(taken) => {
                let ratio = cost(rows)?.get() / cost(size)?.get().max(1.0);
                return Ok((taken * ratio.max(1.0), size, taken));
            }
            _ => size = size.saturating_mul(GROWTH).min(rows),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Cancelled;

    #[test]
    fn a_sample_stands_for_all_rows_by_the_cost_of_both() {
        let cost = |rows: usize| Ok(Cost::of((rows * rows) as f64));
        let slow = |_: &[usize]| {
            std::thread::sleep(std::time::Duration::from_secs_f64(1.1 * ENOUGH));
            Ok(())
        };
        let (all, rows, taken) = seconds(1000, 100, Seed::new(1), cost, slow).unwrap();
        assert_eq!(rows, 100);
        assert!((all - 100.0 * taken).abs() < 1e-6 * all);
    }

    #[test]
    fn samples_grow_until_they_tell_and_to_all_rows_where_none_does() {
        let sizes = std::sync::Mutex::new(Vec::new());
        let fit = |rows: &[usize]| {
            sizes.lock().unwrap().push(rows.len());
            assert!(rows.is_sorted());
            // Too few rows.
            if rows.len() < 300 { Err(Error::NoGroups) } else { Ok(()) }
        };
        let (_, rows, _) = seconds(1000, 100, Seed::new(1), |n| Ok(Cost::of(n as f64)), fit).unwrap();
        assert_eq!((rows, sizes.into_inner().unwrap()), (1000, vec![100, 300, 900, 1000]));
        // What fails with all rows fails, and a cancelled fit ends at once.
        let never = |_: &[usize]| Err(Error::NoGroups);
        assert!(matches!(seconds(10, 5, Seed::new(1), |_| Ok(Cost::default()), never), Err(Error::NoGroups)));
        let cancelled = |_: &[usize]| Err(Cancelled::rows(0, 0).into());
        let stopped = seconds(10, 5, Seed::new(1), |_| Ok(Cost::default()), cancelled);
        assert!(matches!(stopped, Err(Error::Cancelled(_))));
    }
}
