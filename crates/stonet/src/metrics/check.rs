//! What rows of class probabilities and their labels have to be, checked once.

use ndarray::ArrayView2;

use crate::base::{Error, Result};
use crate::rows::dataset::check_finite;

/// How far a row's sum may lie from one: enough for probabilities that were computed in single precision.
const SUM_TOLERANCE: f64 = 1e-6;

/// Fails unless there are a row and a class, and every row is a distribution.
pub(crate) fn check_probabilities(p: ArrayView2<'_, f64>) -> Result<()> {
    if p.nrows() == 0 || p.ncols() == 0 {
        let what = if p.nrows() == 0 { "rows of probabilities (at least)" } else { "classes (at least)" };
        return Err(Error::shape(what, 1, 0));
    }
    check_finite("probabilities", p)?;
    for (row, values) in p.outer_iter().enumerate() {
        if let Some((column, &value)) = values.iter().enumerate().find(|(_, v)| !(0.0..=1.0).contains(*v)) {
            return Err(Error::NotAProbability { row, column, value });
        }
        let sum: f64 = values.iter().sum();
        if (sum - 1.0).abs() > SUM_TOLERANCE {
            return Err(Error::NotNormalised { row, what: "the probabilities", sum });
        }
    }
    Ok(())
}

/// Fails unless there is a label below `classes` for each of `rows`.
pub(crate) fn check_labels(labels: &[usize], rows: usize, classes: usize) -> Result<()> {
    if labels.len() != rows {
        return Err(Error::shape("labels (one per row of probabilities)", rows, labels.len()));
    }
    match labels.iter().position(|&label| label >= classes) {
        None => Ok(()),
        Some(row) => Err(Error::Label { row, label: labels[row], classes }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};

    #[test]
    fn every_fault_is_named() {
        assert!(check_probabilities(array![[0.3, 0.7], [0.0, 1.0]].view()).is_ok());
        let sum = check_probabilities(array![[0.3, 0.7], [0.25, 0.25]].view()).unwrap_err();
        assert_eq!(sum, Error::NotNormalised { row: 1, what: "the probabilities", sum: 0.5 });
        let outside = check_probabilities(array![[-0.5, 1.5]].view()).unwrap_err();
        assert_eq!(outside, Error::NotAProbability { row: 0, column: 0, value: -0.5 });
        assert!(matches!(check_probabilities(array![[f64::NAN, 1.0]].view()), Err(Error::NotFinite { .. })));
        for (shape, missing) in [((0, 3), "rows of probabilities (at least)"), ((3, 0), "classes (at least)")] {
            assert_eq!(check_probabilities(Array2::zeros(shape).view()), Err(Error::shape(missing, 1, 0)));
        }
        assert!(matches!(check_labels(&[0], 2, 2), Err(Error::Shape { expected: 2, found: 1, .. })));
        assert_eq!(check_labels(&[0, 2], 2, 2), Err(Error::Label { row: 1, label: 2, classes: 2 }));
    }
}
