//! How κ was chosen: the loss on held-out rows along its path, as plain data.

use serde::{Deserialize, Serialize};

/// The loss of one fit, or of the folds of one, at every κ, and which were chosen.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct KappaPath {
    /// Whose path it is.
    pub label: String,
    /// Sparsity strengths, ascending.
    pub kappas: Vec<f64>,
    /// Loss on held-out rows at each.
    pub loss: Vec<f64>,
    /// Its standard error; may be empty.
    pub se: Vec<f64>,
    /// The index chosen by each fold or fit.
    pub chosen: Vec<usize>,
    /// What the loss is.
    pub loss_name: String,
}

impl KappaPath {
    /// The points that can be drawn: (κ, loss, standard error), all finite and κ positive.
    pub fn points(&self) -> Vec<(f64, f64, f64)> {
        let se = |i: usize| self.se.get(i).copied().filter(|s| s.is_finite()).unwrap_or(0.0);
        let all = self.kappas.iter().zip(&self.loss).enumerate().map(|(i, (&k, &l))| (k, l, se(i)));
        all.filter(|(k, l, _)| *k > 0.0 && k.is_finite() && l.is_finite()).collect()
    }

    /// Every κ that was chosen and how often, ascending.
    pub fn choices(&self) -> Vec<(f64, usize)> {
        let count = |i: usize| self.chosen.iter().filter(|&&c| c == i).count();
        let all = self.kappas.iter().enumerate().map(|(i, &k)| (k, count(i)));
        all.filter(|(k, n)| *n > 0 && *k > 0.0 && k.is_finite()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_that_cannot_be_drawn_are_left_out() {
        let path = KappaPath {
            kappas: vec![0.0, 0.1, 1.0, 10.0],
            loss: vec![1.0, 0.5, f64::NAN, 2.0],
            se: vec![0.1, 0.2],
            chosen: vec![1, 3, 1, 99],
            ..KappaPath::default()
        };
        assert_eq!(path.points(), [(0.1, 0.5, 0.2), (10.0, 2.0, 0.0)]);
        assert_eq!(path.choices(), [(0.1, 2), (10.0, 1)]);
    }
}
