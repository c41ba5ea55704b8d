//! How κ was chosen, as it is drawn: the loss on held-out rows along its path.

use stonet::train::TuningCurve;

/// The points of a path that can be drawn: (κ, loss, standard error), all finite and κ positive.
pub(crate) fn points(path: &TuningCurve) -> Vec<(f64, f64, f64)> {
    let se = |i: usize| path.se.get(i).copied().filter(|s| s.is_finite()).unwrap_or(0.0);
    let all = path.values.iter().zip(&path.loss).enumerate().map(|(i, (&k, &l))| (k, l, se(i)));
    all.filter(|(k, l, _)| *k > 0.0 && k.is_finite() && l.is_finite()).collect()
}

/// Every κ that was chosen and how often, ascending.
pub(crate) fn choices(path: &TuningCurve) -> Vec<(f64, usize)> {
    let count = |i: usize| path.chosen.iter().filter(|&&c| c == i).count();
    let all = path.values.iter().enumerate().map(|(i, &k)| (k, count(i)));
    all.filter(|(k, n)| *n > 0 && *k > 0.0 && k.is_finite()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_that_cannot_be_drawn_are_left_out() {
        let path = TuningCurve {
            values: vec![0.0, 0.1, 1.0, 10.0],
            loss: vec![1.0, 0.5, f64::NAN, 2.0],
            se: vec![0.1, 0.2],
            chosen: vec![1, 3, 1, 99],
            ..TuningCurve::default()
        };
        assert_eq!(points(&path), [(0.1, 0.5, 0.2), (10.0, 2.0, 0.0)]);
        assert_eq!(choices(&path), [(0.1, 2), (10.0, 1)]);
    }
}
