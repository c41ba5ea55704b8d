//! The data of a multinomial regression, laid out for products over whole classes.

use ndarray::{Array1, Array2, ArrayView2, Axis, concatenate};

use crate::base::{Error, Result};
use crate::linalg::dense::gram;

/// So many columns have their Gram matrix in any case.
const SMALL: usize = 256;

/// The rows, and the classes that occur in them. "Class" below is a position in `present`.
pub(super) struct Problem {
    /// n × (1 + p), a leading column of ones.
    pub x: Array2<f64>,
    /// The same, columns first.
    pub columns: Array2<f64>,
    /// XᵀX/n, where there are no more columns than rows; otherwise it is made for the columns in use, which are few.
    gram: Option<Array2<f64>>,
    /// Every row's class.
    pub labels: Vec<usize>,
    /// The classes with rows, as the caller numbers them.
    pub present: Vec<usize>,
    /// The caller's offset, classes × n, all classes; nothing if there is none.
    pub offset: Option<Array2<f64>>,
    /// The caller's number of classes.
    pub classes: usize,
    /// v, with 0 for the intercept.
    pub weights: Array1<f64>,
    /// log of the class frequencies: the intercepts of the model without columns and without offset.
    pub base: Array1<f64>,
}

impl Problem {
    pub(super) fn new(
        x: ArrayView2<'_, f64>,
        labels: &[usize],
        classes: usize,
        offset: Option<ArrayView2<'_, f64>>,
        weights: Array1<f64>,
    ) -> Result<Self> {
        let n = labels.len();
        let mut counts = vec![0usize; classes];
        for (row, &label) in labels.iter().enumerate() {
            *counts.get_mut(label).ok_or(Error::Label { row, label, classes })? += 1;
        }
        let present: Vec<usize> = (0..classes).filter(|&c| counts[c] > 0).collect();
        match present[..] {
            [] => return Err(Error::TooFewRows { what: "a classification", needed: 2, found: 0, remedy: "add rows" }),
            [class] => return Err(Error::OneClass { name: class.to_string() }),
            _ => {}
        }
        let mut place = vec![0; classes];
        present.iter().enumerate().for_each(|(at, &c)| place[c] = at);
        let x = concatenate![Axis(1), Array2::ones((n, 1)), x];
        Ok(Problem {
            columns: x.t().as_standard_layout().into_owned(),
            gram: (x.ncols() <= n.max(SMALL)).then(|| gram(x.view()) / n as f64),
            x,
            labels: labels.iter().map(|&c| place[c]).collect(),
            base: present.iter().map(|&c| (counts[c] as f64 / n as f64).ln()).collect(),
            present,
            offset: offset.map(|o| o.t().as_standard_layout().into_owned()),
            classes,
            weights: concatenate![Axis(0), Array1::zeros(1), weights],
        })
    }

    pub(super) fn rows(&self) -> usize {
        self.labels.len()
    }

    /// XᵀX/n of some columns, stored by rows.
    pub(super) fn gram_of(&self, columns: &[usize]) -> Array2<f64> {
        match &self.gram {
            Some(all) => Array2::from_shape_fn((columns.len(), columns.len()), |(i, j)| all[[columns[i], columns[j]]]),
            None => gram(self.columns.select(Axis(0), columns).t()) / self.rows() as f64,
        }
    }

    /// The diagonal of XᵀX/n.
    pub(super) fn squares(&self) -> impl Iterator<Item = f64> {
        self.columns.outer_iter().map(|x| x.dot(&x) / self.rows() as f64)
    }

    /// The offsets of the classes with rows.
    pub(super) fn present_offset(&self) -> Option<Array2<f64>> {
        self.offset.as_ref().map(|o| o.select(Axis(0), &self.present))
    }
}
