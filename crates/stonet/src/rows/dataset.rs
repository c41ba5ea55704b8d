//! Rows of inputs and targets, their standardisation, and their division into folds.

use std::collections::BTreeMap;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, Zip};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use crate::base::{Error, Result, Seed};

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

    /// The number of rows, n.
    pub fn rows(&self) -> usize {
        self.x.nrows()
    }

    /// The number of input columns, p.
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
    // The usual case in whole vectors: 0 · v is 0 for a finite v and NaN otherwise. The indexed search is for the
    // message.
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

/// Whole tiles of every kernel of matrix products: those of f64 and of f32 have up to 48 rows, and 64 is a multiple of
/// what they divide into.
pub(crate) const TILE: usize = 64;

/// Some rows, row after row in memory, and behind them the last one over and over until they are a multiple of
/// [`TILE`]: a product of matrices of other shapes or layouts adds up its terms in another order, and a row's result
/// would depend on the rows that come with it.
pub(crate) fn whole_tiles(a: ArrayView2<'_, f64>, rows: std::ops::Range<usize>) -> Array2<f64> {
    let mut padded = Array2::zeros((rows.len().next_multiple_of(TILE), a.ncols()));
    let at = |i: usize| rows.start + i.min(rows.len().saturating_sub(1));
    padded.outer_iter_mut().enumerate().for_each(|(i, mut row)| row.assign(&a.row(at(i))));
    padded
}

/// The largest feature that can be standardised.
pub(crate) const LARGEST_FEATURE: f64 = 1e300;
/// The largest target or prediction, and the reciprocal of the smallest range of a target: sums of squares of
/// residuals, also of those that leave-one-out divides by 1e-6, stay finite and above zero.
pub(crate) const LARGEST_TARGET: f64 = 1e140;
/// The range of a column whose squares need no care.
const COMFORTABLE: f64 = 1e140;
/// A column that varies by less has a scale without a reciprocal.
const LEAST_RANGE: f64 = 1e-290;
/// Columns that are this many times their range away from zero are centred before they are averaged.
const FAR: f64 = 1e9;

/// Fails with the first number that is larger than `most`, by row and column.
pub(crate) fn check_magnitude(what: &'static str, a: ArrayView2<'_, f64>, most: f64) -> Result<()> {
    if a.fold(true, |fine, v| fine & (v.abs() <= most)) {
        return Ok(());
    }
    match a.indexed_iter().find(|(_, v)| v.abs() > most) {
        None => Ok(()),
        Some(((row, column), &value)) => Err(Error::Magnitude { what, row, column, value }),
    }
}

/// Fails where a target is constant, too large, or varies too little for its squares.
pub(crate) fn check_targets(y: ArrayView2<'_, f64>) -> Result<()> {
    check_magnitude("targets", y, LARGEST_TARGET)?;
    for (column, y) in y.axis_iter(Axis(1)).enumerate() {
        let (low, high) = ends(y);
        if is_constant_target(low, high) {
            return Err(Error::ConstantTarget { column, value: y[0] });
        }
        if high - low < 1.0 / LARGEST_TARGET {
            return Err(Error::SmallRange { column, range: high - low });
        }
    }
    Ok(())
}

/// Fails with the first result that is not finite, by row and column.
pub(crate) fn check_results(what: &'static str, a: ArrayView2<'_, f64>) -> Result<()> {
    check_finite(what, a).map_err(|e| match e {
        Error::NotFinite { what, row, column, value } => Error::Unbounded { what, row, column, value },
        e => e,
    })
}

/// The smallest and the largest value.
pub(crate) fn ends(column: ArrayView1<'_, f64>) -> (f64, f64) {
    column.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &v| (l.min(v), h.max(v)))
}

/// Whether a target varies by no more than rounding. Offsets are no reason to call it constant: they are taken away
/// before it is fitted.
pub(crate) fn is_constant_target(low: f64, high: f64) -> bool {
    high - low <= 8.0 * f64::EPSILON * high.abs().max(low.abs())
}

/// Whether a column lies so far from zero that its sum would lose the digits in which it varies.
pub(crate) fn is_far(low: f64, high: f64) -> bool {
    high.abs().max(low.abs()) > FAR * (high - low)
}

/// The mean of a target; of one that lies far from zero without the loss of digits.
pub(crate) fn target_mean(y: ArrayView1<'_, f64>) -> f64 {
    let n = y.len() as f64;
    let (low, high) = ends(y);
    if is_far(low, high) { low + y.iter().map(|v| v - low).sum::<f64>() / n } else { y.sum() / n }
}

/// A power of two near the range of a column whose squares leave the range of numbers; otherwise 1.
fn unit(low: f64, high: f64) -> f64 {
    let range = high - low;
    match range.is_finite() && range >= LEAST_RANGE && !(1.0 / COMFORTABLE..=COMFORTABLE).contains(&range) {
        true => range.log2().floor().exp2(),
        false => 1.0,
    }
}

/// Whether a column varies by no more than rounding: 1e-12 of its largest value.
pub(crate) fn is_constant(column: ArrayView1<'_, f64>) -> bool {
    let (low, high) = ends(column);
    is_constant_range(low, high)
}

/// The same from the column's ends.
pub(crate) fn is_constant_range(low: f64, high: f64) -> bool {
    high - low <= 1e-12 * high.abs().max(low.abs()) || high - low < LEAST_RANGE
}

/// The unit of every column's squares.
fn units(low: &Array1<f64>, high: &Array1<f64>) -> Array1<f64> {
    Zip::from(low).and(high).map_collect(|&l, &h| unit(l, h))
}

/// variance += ((row − mean) / unit)² / n.
fn add_squares(variance: &mut Array1<f64>, row: ArrayView1<'_, f64>, mean: &Array1<f64>, units: &Array1<f64>, n: f64) {
    Zip::from(variance).and(row).and(mean).and(units).for_each(|s, v, m, u| *s += ((v - m) / u) * ((v - m) / u) / n);
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
        Self::fit_unless(a, is_constant_range)
    }

    /// The same of targets, for which only rounding counts as constant.
    pub(crate) fn fit_targets(a: ArrayView2<'_, f64>) -> Self {
        Self::fit_unless(a, is_constant_target)
    }

    fn fit_unless(a: ArrayView2<'_, f64>, constant: fn(f64, f64) -> bool) -> Self {
        let n = a.nrows().max(1) as f64;
        let mut mean = a.sum_axis(Axis(0)) / n;
        let sd = a
            .axis_iter(Axis(1))
            .zip(&mut mean)
            .map(|(column, m)| {
                let (low, high) = ends(column);
                if !m.is_finite() || (is_far(low, high) && !constant(low, high)) {
                    *m = low + column.iter().map(|v| (v - low) / n).sum::<f64>();
                }
                let unit = unit(low, high);
                let sd = unit * (column.iter().map(|v| ((v - *m) / unit).powi(2)).sum::<f64>() / n).sqrt();
                if constant(low, high) { 1.0 } else { sd }
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
        for k in (0..a.ncols()).filter(|&k| is_far(low[k], high[k]) && !is_constant_range(low[k], high[k])) {
            mean[k] = low[k] + rows.iter().map(|&r| (a[[r, k]] - low[k]) / n).sum::<f64>();
        }
        let units = units(&low, &high);
        let mut variance = Array1::<f64>::zeros(a.ncols());
        for &r in rows {
            add_squares(&mut variance, a.row(r), &mean, &units, n);
        }
        (Standardizer::of_moments(mean, variance, &units, &low, &high), low, high)
    }

    /// The columns of two scales, one after the other.
    pub(crate) fn beside(&self, other: &Standardizer) -> Self {
        let both = |a: &Array1<f64>, b: &Array1<f64>| a.iter().chain(b).copied().collect();
        Standardizer { mean: both(&self.mean, &other.mean), sd: both(&self.sd, &other.sd) }
    }

    /// From column means, variances in squares of `units`, and ends.
    fn of_moments(
        mean: Array1<f64>,
        variance: Array1<f64>,
        units: &Array1<f64>,
        low: &Array1<f64>,
        high: &Array1<f64>,
    ) -> Self {
        let sd = Zip::from(&variance)
            .and(units)
            .and(low)
            .and(high)
            .map_collect(|v, u, &l, &h| if is_constant_range(l, h) { 1.0 } else { u * v.sqrt() });
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
        check_magnitude("inputs", data.x(), LARGEST_FEATURE)?;
        check_targets(data.y())?;
        Ok(Scaling { x: Standardizer::fit(data.x()), y: Standardizer::fit_targets(data.y()) })
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

/// Row numbers by group, in the order of the groups; `groups[r]` is the group of row r.
pub fn by_group(rows: impl IntoIterator<Item = usize>, groups: &[usize]) -> Vec<Vec<usize>> {
    let mut members = BTreeMap::<usize, Vec<usize>>::new();
    rows.into_iter().for_each(|r| members.entry(groups[r]).or_default().push(r));
    members.into_values().collect()
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

/// A random share of the rows, ascending: at least one, where there is one.
pub(crate) fn divided(rows: usize, share: f64, seed: Seed) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows).collect();
    order.shuffle(&mut seed.rng());
    order.truncate(((share * rows as f64).round() as usize).clamp(1, rows.max(1)));
    order.sort_unstable();
    order
}

/// Row numbers held out by each of k random folds; rows of a group are in the same fold.
pub(crate) fn whole_folds(rows: usize, groups: Option<&[usize]>, k: usize, seed: Seed) -> Result<Vec<Vec<usize>>> {
    let Some(groups) = groups else { return folds(rows, k, seed) };
    let names = names(groups);
    let mut fold_of = vec![0; names.len()];
    let grouped = |e| match e {
        Error::TooFewRows { what, needed, found, .. } => {
            Error::too_few(true, what, needed, found, "use fewer folds or more groups")
        }
        e => e,
    };
    for (f, members) in folds(names.len(), k, seed).map_err(grouped)?.iter().enumerate() {
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
