//! The debiased calibration error: squared differences of confidence and accuracy per bin, less their sampling variance.
//!
//! E = Σ_b (n_b / n) (m_b² − v_b / n_b) over bins b of equal mass, where m_b is the mean and v_b the unbiased variance of
//! the residuals confidence − hit in the bin. This is the estimator of Kumar, Liang & Ma (2019; Bröcker 2012 for the
//! decomposition of the Brier score) with the variance of the residual in place of that of the label: both are the same
//! where the confidences of a bin are equal, and where they are not this one stays unbiased. E estimates a square and may
//! fall below 0. The score is its root with the sign kept, sign(E) √|E|: a negative score means that bins differ by less
//! than chance would make them. A bin of one row shows no variance and counts 0.

/// Sums of the residuals of one bin.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Residuals {
    pub rows: f64,
    pub sum: f64,
    pub squares: f64,
}

impl Residuals {
    /// A residual that is there `count` times.
    pub fn add(&mut self, residual: f64, count: f64) {
        self.rows += count;
        self.sum += count * residual;
        self.squares += count * residual * residual;
    }
}

/// E, before the root.
pub(super) fn debiased(bins: &[Residuals]) -> f64 {
    let n: f64 = bins.iter().map(|b| b.rows).sum();
    let one = |b: &Residuals| {
        if b.rows < 2.0 {
            return 0.0;
        }
        let mean = b.sum / b.rows;
        let variance = ((b.squares - b.sum * mean) / (b.rows - 1.0)).max(0.0);
        b.rows / n * (mean * mean - variance / b.rows)
    };
    bins.iter().map(one).sum()
}

/// Σ_b (n_b / n) m_b² of the bins that [`debiased`] counts: the value of which the rows as they are, taken for the
/// population, are an example.
pub(super) fn plain(bins: &[Residuals]) -> f64 {
    let n: f64 = bins.iter().map(|b| b.rows).sum();
    bins.iter().filter(|b| b.rows >= 2.0).map(|b| b.sum * b.sum / (b.rows * n)).sum()
}

/// The root with the sign kept.
pub(super) fn signed_root(e: f64) -> f64 {
    e.signum() * e.abs().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_confidences_give_the_formula_of_kumar_liang_and_ma() {
        // Confidence 0.7 and 7 rows of which 4 are right; confidence 0.9 and 5 rows of which all are right.
        let (mut a, mut b) = (Residuals::default(), Residuals::default());
        (0..7).for_each(|i| a.add(0.7 - f64::from(u8::from(i < 4)), 1.0));
        b.add(0.9 - 1.0, 5.0);
        let y = 4.0 / 7.0;
        let expected = 7.0 / 12.0 * ((0.7f64 - y).powi(2) - y * (1.0 - y) / 6.0) + 5.0 / 12.0 * 0.01;
        assert!((debiased(&[a, b]) - expected).abs() < 1e-15);
        let mut single = Residuals::default();
        single.add(0.4, 1.0);
        assert_eq!((debiased(&[single]), plain(&[single])), (0.0, 0.0));
        assert_eq!((signed_root(-0.04), signed_root(0.0)), (-0.2, 0.0));
    }

    #[test]
    fn bins_by_hand() {
        // Residuals .3, .3, -.1 in one bin, -.2, .4 in another, .5 alone in a third: six rows.
        let mut bins = [Residuals::default(); 3];
        bins[0].add(0.3, 2.0);
        bins[0].add(-0.1, 1.0);
        bins[1].add(-0.2, 1.0);
        bins[1].add(0.4, 1.0);
        bins[2].add(0.5, 1.0);
        assert_eq!((bins[0].rows, bins[2]), (3.0, Residuals { rows: 1.0, sum: 0.5, squares: 0.25 }));
        // Means 1/6 and .1, variances .16/3 and .18.
        let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-15, "{found} for {expected}");
        close(debiased(&bins), 0.5 * (1.0 / 36.0 - 0.16 / 9.0) + (0.01 - 0.09) / 3.0);
        close(plain(&bins), 0.5 / 36.0 + 0.01 / 3.0);
        assert_eq!(signed_root(0.25), 0.5);
    }
}
