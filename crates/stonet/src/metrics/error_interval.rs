//! Confidence intervals for calibration errors: sums over bins of |mean of probability − label|.
//!
//! Such a sum θ = Σ_b |μ_b| is bounded at zero, and its estimate Σ_b |m_b| is biased upwards: noise of either sign adds
//! to it. Resampling adds noise once more, so percentile intervals lie too high and may exclude the estimate itself.
//! Here the ends follow from bounds that hold for every μ, with ε = m − μ and s_b = sign(m_b):
//!
//! | end | bound on the error of the estimate |
//! |---|---|
//! | lower | Σ\|m_b\| − θ ≤ Σ_S s_b ε_b + Σ_R \|ε_b\|, the triangle inequality for the bins R whose sign is uncertain |
//! | upper | θ − Σ\|m_b\| ≤ −Σ_b sign(μ_b) ε_b, a mean over rows, since Σ\|m_b\| ≥ Σ_b sign(μ_b) m_b |
//!
//! The sign of a bin counts as certain (S) where |m_b| exceeds √(2 ln n) standard errors: moment selection as of
//! Andrews & Soares (2010). Quantiles of both bounds come from rows drawn anew; the larger of these and of those from
//! labels drawn anew is taken, because bins in which an event is rare show too little noise in the first.

use super::bins::{Binned, Tally, bin_of};

/// The three calibration errors, in the order in which they are kept here.
pub(super) const ERRORS: usize = 3;

/// By how much an estimate may exceed the population value, and fall short of it, in one draw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Moves {
    pub below: f64,
    pub above: f64,
}

/// The bins of one calibration error on the rows as they are.
pub(super) struct Signs {
    /// Σ (probability − label) in every bin.
    sums: Vec<f64>,
    sign: Vec<f64>,
    certain: Vec<bool>,
    /// From sums to parts of the error.
    unit: f64,
}

impl Signs {
    pub fn new(sums: &[f64], spread: &Spread, rows: usize, unit: f64) -> Self {
        let n = rows as f64;
        let limit = 2.0 * n.max(2.0).ln();
        let certain = |b: usize| {
            let own = spread.squares[b] - sums[b] * sums[b] / n;
            sums[b] * sums[b] > limit * own.max(spread.model[b])
        };
        Signs {
            sums: sums.to_vec(),
            sign: sums.iter().map(|s| s.signum()).collect(),
            certain: (0..sums.len()).map(certain).collect(),
            unit,
        }
    }

    /// Both bounds for noise ε = `noise(bin)`, as a sum over rows.
    pub fn moves(&self, noise: impl Fn(usize) -> f64) -> Moves {
        let (mut below, mut above) = (0.0, 0.0);
        for (b, sign) in self.sign.iter().enumerate() {
            let noise = noise(b);
            below += if self.certain[b] { sign * noise } else { noise.abs() };
            above -= sign * noise;
        }
        Moves { below: below * self.unit, above: above * self.unit }
    }
}

/// Sums over the rows of a bin that its standard error is made of.
pub(super) struct Spread {
    /// Σ (probability − label)².
    pub squares: Vec<f64>,
    /// Σ p (1 − p): the variance if the probabilities were right.
    pub model: Vec<f64>,
}

impl Spread {
    fn new(places: usize) -> Self {
        Spread { squares: vec![0.0; places], model: vec![0.0; places] }
    }

    fn add(&mut self, place: usize, p: f64, event: bool) {
        let excess = p - f64::from(u8::from(event));
        self.squares[place] += excess * excess;
        self.model[place] += p * (1.0 - p);
    }
}

/// The bins of ece, cece and adaptive ece on the rows as they are.
pub(super) struct ErrorBins([Signs; ERRORS]);

impl ErrorBins {
    /// Of these labels, whose sums are in `tally`.
    pub fn new(binned: &Binned, labels: &[usize], tally: &Tally<'_>) -> Self {
        let (n, k, bins) = (binned.rows(), binned.classes(), binned.bins);
        let [mut top, mut class, mut mass] = [bins, k * bins, bins].map(Spread::new);
        for (i, &y) in labels.iter().enumerate() {
            let guess = binned.top[i];
            top.add(guess.bin, guess.confidence, guess.class == y);
            mass.add(guess.mass_bin, guess.confidence, guess.class == y);
            for (c, &p) in binned.p.row(i).iter().enumerate() {
                class.add(c * bins + bin_of(p, bins), p, c == y);
            }
        }
        let unit = 1.0 / n as f64;
        let [t, c, m] = tally.sums();
        ErrorBins([
            Signs::new(t, &top, n, unit),
            Signs::new(c, &class, n, unit / k as f64),
            Signs::new(m, &mass, n, unit),
        ])
    }

    /// Of rows drawn anew, whose sums scatter around those of the rows as they are.
    pub fn of_rows(&self, sums: [&[f64]; ERRORS]) -> [Moves; ERRORS] {
        std::array::from_fn(|j| self.0[j].moves(|b| sums[j][b] - self.0[j].sums[b]))
    }

    /// Of labels drawn from the probabilities, whose sums scatter around zero.
    pub fn of_labels(&self, sums: [&[f64]; ERRORS]) -> [Moves; ERRORS] {
        std::array::from_fn(|j| self.0[j].moves(|b| sums[j][b]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn assert_moves(found: Moves, below: f64, above: f64) {
        let close = (found.below - below).abs() < 1e-15 && (found.above - above).abs() < 1e-15;
        assert!(close, "{found:?} for {below} and {above}");
    }

    #[test]
    fn bins_count_as_certain_by_the_larger_of_both_spreads() {
        // 2 ln 100 = 9.21: 25 > 9.21 · 1.75; .25 < 9.21 · .9975; 4 > 9.21 · .16; 4 < 9.21 · .5; 16 > 9.21 · 1.64; 0 is not above 0.
        let sums = [-5.0, 0.5, 2.0, 2.0, 4.0, 0.0];
        let spread = Spread { squares: vec![2.0, 1.0, 0.2, 0.2, 1.8, 0.0], model: vec![1.0, 1.0, 0.1, 0.5, 0.1, 0.0] };
        let signs = Signs::new(&sums, &spread, 100, 0.01);
        assert_eq!(signs.certain, [true, false, true, false, true, false]);
        let noise = [-0.1, 0.2, 0.3, -0.4, 0.5, -0.3];
        assert_moves(signs.moves(|b| noise[b]), 0.018, -0.004);
        // One row is counted as two: 1.44 > 2 ln 2.
        let one = Spread { squares: vec![1.44], model: vec![1.0] };
        assert_eq!(Signs::new(&[1.2], &one, 1, 1.0).certain, [true]);
    }

    #[test]
    fn spreads_by_hand() {
        let mut spread = Spread::new(2);
        spread.add(1, 0.75, true);
        spread.add(1, 0.25, false);
        spread.add(1, 0.5, false);
        assert_eq!((spread.squares, spread.model), (vec![0.0, 0.375], vec![0.0, 0.625]));
    }

    #[test]
    fn all_three_errors_by_hand() {
        // Sums of probability less label: [0, 1.5] of the guess, [-.75, .75, -.75, .75] of the classes, [.5, 1] in bins of
        // equal mass. Of all bins the second of the guess alone is certain: 2.25 > 2 ln 3 · (1.625 - .75).
        let binned = Binned::new(array![[0.75, 0.25], [0.25, 0.75], [1.0, 0.0]].view(), 2).unwrap();
        let labels = [0, 0, 1];
        let bins = ErrorBins::new(&binned, &labels, &binned.tally_of(&labels));
        let noise: [&[f64]; 3] = [&[0.1, -0.2], &[0.1, -0.2, 0.3, -0.4], &[0.1, 0.2]];
        let drawn: [&[f64]; 3] = [&[0.1, 1.3], &[-0.65, 0.55, -0.45, 0.35], &[0.6, 1.2]];
        for [guess, classes, mass] in [bins.of_labels(noise), bins.of_rows(drawn)] {
            assert_moves(guess, -0.1 / 3.0, 0.1 / 3.0);
            assert_moves(classes, 1.0 / 6.0, 1.0 / 6.0);
            assert_moves(mass, 0.1, -0.1);
        }
    }
}
