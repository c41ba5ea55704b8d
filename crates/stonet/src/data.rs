//! Rows of inputs and targets, their standardisation, and their division into folds.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, Zip};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use crate::{Error, Result, Seed};

/// Inputs (n × p) with targets (n × d), all finite, n ≥ 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    x: Array2<f64>,
    y: Array2<f64>,
}

impl Dataset {
    /// Checks sizes and finiteness once, so that nothing behind it has to.
    pub fn new(x: Array2<f64>, y: Array2<f64>) -> Result<Self> {
        if x.nrows() != y.nrows() {
            return Err(Error::shape("rows of the targets", x.nrows(), y.nrows()));
        }
        if x.nrows() == 0 {
            return Err(Error::TooFewRows {
                what: "a data set",
                needed: 1,
                found: 0,
                remedy: "check that the file is not empty",
            });
        }
        if y.ncols() == 0 {
            return Err(Error::shape("columns of the targets (at least)", 1, 0));
        }
        check_finite("inputs", x.view())?;
        check_finite("targets", y.view())?;
        Ok(Dataset { x, y })
    }

    /// One target.
    pub fn single(x: Array2<f64>, y: Array1<f64>) -> Result<Self> {
        Self::new(x, y.insert_axis(Axis(1)))
    }

    /// One-hot targets from labels 0 … `classes` − 1.
    pub fn classes(x: Array2<f64>, labels: &[usize], classes: usize) -> Result<Self> {
        let mut y = Array2::zeros((labels.len(), classes));
        for (row, &label) in labels.iter().enumerate() {
            if label >= classes {
                return Err(Error::Label { row, label, classes });
            }
            y[[row, label]] = 1.0;
        }
        Self::new(x, y)
    }

    /// n.
    pub fn rows(&self) -> usize {
        self.x.nrows()
    }

    /// p.
    pub fn inputs(&self) -> usize {
        self.x.ncols()
    }

    /// d_{h+1}.
    pub fn outputs(&self) -> usize {
        self.y.ncols()
    }

    /// The inputs, n × p.
    pub fn x(&self) -> ArrayView2<'_, f64> {
        self.x.view()
    }

    /// The targets, n × d.
    pub fn y(&self) -> ArrayView2<'_, f64> {
        self.y.view()
    }

    /// The rows with these numbers, in this order.
    ///
    /// # Panics
    /// If a number is not below [`rows`](Self::rows), or if there are none.
    pub fn select(&self, rows: &[usize]) -> Dataset {
        assert!(!rows.is_empty(), "a data set keeps at least one row");
        Dataset { x: self.x.select(Axis(0), rows), y: self.y.select(Axis(0), rows) }
    }
}

/// Fails with the first NaN or infinity, by row and column.
pub(crate) fn check_finite(what: &'static str, a: ArrayView2<'_, f64>) -> Result<()> {
    // The usual case in whole vectors: 0 · v is 0 for a finite v and NaN otherwise. The indexed search is for the message.
    if let Some(values) = a.as_slice_memory_order() {
        let (chunks, rest) = values.as_chunks::<8>();
        let mut sums = [0.0; 8];
        chunks.iter().for_each(|c| (0..8).for_each(|i| sums[i] += 0.0 * c[i]));
        if sums.iter().sum::<f64>() + rest.iter().map(|v| 0.0 * v).sum::<f64>() == 0.0 {
            return Ok(());
        }
    }
    match a.indexed_iter().find(|(_, v)| !v.is_finite()) {
        None => Ok(()),
        Some(((row, column), v)) => Err(Error::NotFinite { what, row, column, value: v.to_string() }),
    }
}

/// Whether a column varies by no more than rounding: 1e-12 of its largest value.
pub(crate) fn is_constant(column: ArrayView1<'_, f64>) -> bool {
    let (low, high) = column.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &v| (l.min(v), h.max(v)));
    is_constant_range(low, high)
}

/// The same from the column's ends.
pub(crate) fn is_constant_range(low: f64, high: f64) -> bool {
    high - low <= 1e-12 * high.abs().max(low.abs())
}

/// Column means and standard deviations; a constant column keeps its scale, so it becomes zero and stays harmless.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Standardizer {
    mean: Array1<f64>,
    sd: Array1<f64>,
}

impl Standardizer {
    /// Learns means and standard deviations (divisor n) from the rows.
    pub fn fit(a: ArrayView2<'_, f64>) -> Self {
        let n = a.nrows().max(1) as f64;
        let mean = a.sum_axis(Axis(0)) / n;
        let sd = a
            .axis_iter(Axis(1))
            .zip(&mean)
            .map(|(column, &m)| {
                let sd = (column.iter().map(|v| (v - m).powi(2)).sum::<f64>() / n).sqrt();
                if is_constant(column) { 1.0 } else { sd }
            })
            .collect();
        Standardizer { mean, sd }
    }

    /// The same from some of the rows, none of which is copied, with the smallest and largest value of each column.
    pub(crate) fn fit_rows(a: ArrayView2<'_, f64>, rows: &[usize]) -> (Self, Array1<f64>, Array1<f64>) {
        let n = rows.len().max(1) as f64;
        let mut mean = Array1::<f64>::zeros(a.ncols());
        let mut low = Array1::from_elem(a.ncols(), f64::INFINITY);
        let mut high = Array1::from_elem(a.ncols(), f64::NEG_INFINITY);
        for &r in rows {
            Zip::from(&mut mean).and(&mut low).and(&mut high).and(a.row(r)).for_each(|m, l, h, &v| {
                *m += v / n;
                *l = l.min(v);
                *h = h.max(v);
            });
        }
        let mut variance = Array1::<f64>::zeros(a.ncols());
        for &r in rows {
            Zip::from(&mut variance).and(&mean).and(a.row(r)).for_each(|s, m, &v| *s += (v - m) * (v - m) / n);
        }
        (Standardizer::of_moments(mean, variance, &low, &high), low, high)
    }

    /// From column means, variances, and ends.
    pub(crate) fn of_moments(mean: Array1<f64>, variance: Array1<f64>, low: &Array1<f64>, high: &Array1<f64>) -> Self {
        let sd = Zip::from(&variance)
            .and(low)
            .and(high)
            .map_collect(|v, &l, &h| if is_constant_range(l, h) { 1.0 } else { v.sqrt() });
        Standardizer { mean, sd }
    }

    /// The map that changes nothing, for data already on the right scale.
    pub fn identity(columns: usize) -> Self {
        Standardizer { mean: Array1::zeros(columns), sd: Array1::ones(columns) }
    }

    /// How many columns it is for.
    pub(crate) fn columns(&self) -> usize {
        // Both lists have this length unless a file says otherwise; the shorter one is then found too short.
        self.mean.len().min(self.sd.len())
    }

    /// The centre of each column.
    pub fn mean(&self) -> &Array1<f64> {
        &self.mean
    }

    /// The scale of each column.
    pub fn sd(&self) -> &Array1<f64> {
        &self.sd
    }

    /// (a − mean) / sd.
    pub fn apply(&self, a: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        if a.ncols() != self.mean.len() {
            return Err(Error::shape("input columns", self.mean.len(), a.ncols()));
        }
        Ok((&a - &self.mean) / &self.sd)
    }

    /// a · sd + mean.
    pub fn undo(&self, a: ArrayView2<'_, f64>) -> Array2<f64> {
        &a * &self.sd + &self.mean
    }
}

/// A data set on standard scale, and the way back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// Of the inputs.
    pub x: Standardizer,
    /// Of the targets.
    pub y: Standardizer,
}

impl Scaling {
    /// Standardises inputs and targets on these rows; a constant target is an error, a constant input becomes zero.
    pub fn fit(data: &Dataset) -> Result<Self> {
        for (column, y) in data.y().axis_iter(Axis(1)).enumerate() {
            if is_constant(y) {
                return Err(Error::ConstantTarget { column, value: y[0] });
            }
        }
        Ok(Scaling { x: Standardizer::fit(data.x()), y: Standardizer::fit(data.y()) })
    }

    /// Leaves everything as it is.
    pub fn identity(inputs: usize, outputs: usize) -> Self {
        Scaling { x: Standardizer::identity(inputs), y: Standardizer::identity(outputs) }
    }

    /// The rows on standard scale.
    pub fn apply(&self, data: &Dataset) -> Result<Dataset> {
        Dataset::new(self.x.apply(data.x())?, self.y.apply(data.y())?)
    }
}

/// Row numbers held out by each of k folds: random, disjoint, sizes differing by at most one.
pub fn folds(rows: usize, k: usize, seed: Seed) -> Result<Vec<Vec<usize>>> {
    if k < 2 {
        return Err(Error::setting("folds", k, "at least 2"));
    }
    if rows < k {
        return Err(Error::TooFewRows {
            what: "cross-validation",
            needed: k,
            found: rows,
            remedy: "use fewer folds or more rows",
        });
    }
    let mut order: Vec<usize> = (0..rows).collect();
    order.shuffle(&mut seed.rng());
    Ok((0..k).map(|f| order.iter().skip(f).step_by(k).copied().collect()).collect())
}

/// The rows that fold `held_out` leaves for fitting, in ascending order.
pub fn complement(rows: usize, held_out: &[usize]) -> Vec<usize> {
    let mut keep = vec![true; rows];
    held_out.iter().for_each(|&r| keep[r] = false);
    (0..rows).filter(|&r| keep[r]).collect()
}

/// Row numbers held out by each of k random folds; rows of a group are in the same fold.
pub(crate) fn whole_folds(rows: usize, groups: Option<&[usize]>, k: usize, seed: Seed) -> Result<Vec<Vec<usize>>> {
    let Some(groups) = groups else { return folds(rows, k, seed) };
    let names = names(groups);
    let mut fold_of = vec![0; names.len()];
    for (f, members) in folds(names.len(), k, seed)?.iter().enumerate() {
        members.iter().for_each(|&g| fold_of[g] = f);
    }
    let mut parts = vec![Vec::new(); k];
    for (row, group) in groups.iter().enumerate() {
        parts[fold_of[names.partition_point(|n| n < group)]].push(row);
    }
    Ok(parts)
}

/// The groups there are, ascending.
pub(crate) fn names(groups: &[usize]) -> Vec<usize> {
    let mut names = groups.to_vec();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn a_bad_value_is_named_by_row_and_column() {
        let x = array![[1.0, 2.0], [3.0, f64::NAN]];
        let e = Dataset::single(x, array![0.0, 1.0]).unwrap_err();
        assert!(e.to_string().contains("inputs: row 1, column 1 is NaN"), "{e}");
        let e = Dataset::single(array![[1.0], [2.0]], array![f64::INFINITY, 1.0]).unwrap_err();
        assert!(e.to_string().contains("targets: row 0, column 0 is inf"), "{e}");
    }

    #[test]
    fn mismatched_or_empty_data_is_refused() {
        let e = Dataset::single(array![[1.0], [2.0]], array![1.0]).unwrap_err();
        assert_eq!(e, Error::shape("rows of the targets", 2, 1));
        assert!(Dataset::new(Array2::zeros((0, 3)), Array2::zeros((0, 1))).is_err());
        assert!(Dataset::new(Array2::zeros((3, 3)), Array2::zeros((3, 0))).is_err());
    }

    #[test]
    fn standardising_is_undone_exactly_enough_and_spares_constant_columns() {
        let a = array![[1.0, 7.1, 5.0], [2.0, 7.1, -5.0], [4.0, 7.1, 0.0]];
        let s = Standardizer::fit(a.view());
        let z = s.apply(a.view()).unwrap();
        assert!(z.column(1).iter().all(|&v| v.abs() < 1e-12));
        for c in [0, 2] {
            assert!(z.column(c).sum().abs() < 1e-12);
            assert!((z.column(c).mapv(|v| v * v).sum() / 3.0 - 1.0).abs() < 1e-12);
        }
        assert!((s.undo(z.view()) - a).iter().all(|d| d.abs() < 1e-12));
        assert!(s.apply(Array2::zeros((2, 2)).view()).is_err());
    }

    #[test]
    fn tiny_units_are_not_constants() {
        let s = Standardizer::fit(array![[1e-14], [3e-14]].view());
        assert!((s.sd()[0] - 1e-14).abs() < 1e-20);
    }

    #[test]
    fn a_constant_target_is_refused_by_name() {
        let d = Dataset::single(array![[1.0], [2.0]], array![3.0, 3.0]).unwrap();
        assert_eq!(Scaling::fit(&d), Err(Error::ConstantTarget { column: 0, value: 3.0 }));
    }

    #[test]
    fn folds_are_a_partition_of_near_equal_parts() {
        let parts = folds(23, 5, Seed::new(1)).unwrap();
        let mut all: Vec<usize> = parts.concat();
        all.sort_unstable();
        assert_eq!(all, (0..23).collect::<Vec<_>>());
        assert!(parts.iter().all(|p| (4..=5).contains(&p.len())));
        assert_eq!(complement(23, &parts[0]).len() + parts[0].len(), 23);
        assert!(folds(3, 5, Seed::new(1)).is_err());
        assert!(folds(3, 1, Seed::new(1)).is_err());
    }
}
