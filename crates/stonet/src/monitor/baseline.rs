//! What calibration rows looked like, kept with a head: counts of every input and target in cells whose edges other
//! calibration rows chose.
//!
//! A quarter of the rows, drawn at random, chooses the edges, the centre and the scales; the others are counted. Given
//! the first, the others and new rows are exchangeable, so ranks among them are exact.

use ndarray::{ArrayView1, ArrayView2};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::cells::{Cells, Counts};
use crate::base::streams::monitor_baseline::EDGES;
use crate::base::{Error, Result, Seed};
use crate::metrics::top_class;
use crate::network::likelihood::log_sum_exp;
use crate::rows::{ClassRows, RegressionRows};

/// One row of so many chooses edges.
const SHARE: usize = 4;
/// Edges of a column: quantiles of the rows that choose.
const COUNT: usize = 15;
/// Values of the rows that choose, in the upper tail of the distance, that are edges too: at most so many. A p-value of
/// a row far away is then as small as the calibration rows allow.
const TAIL: usize = 64;
/// One row of so many is in that tail.
const TAIL_SHARE: usize = 8;
/// Multiples of the largest distance that are edges too.
const BEYOND: [f64; 5] = [1.1, 1.25, 1.5, 2.0, 3.0];
/// Standard deviations beyond which a column adds no more to the distance.
const FAR: f64 = 10.0;

/// What a baseline is made of.
#[derive(Debug, Clone, Copy)]
pub struct Watched<'a> {
    /// Tables of inputs, whose columns are numbered one after the other.
    pub inputs: &'a [ArrayView2<'a, f64>],
    /// The targets, where they are numbers.
    pub targets: Option<ArrayView2<'a, f64>>,
    /// The classes, and how many there are.
    pub labels: Option<(&'a [usize], usize)>,
    /// The network's logits, where it tells classes apart.
    pub logits: Option<ArrayView2<'a, f64>>,
}

/// Counts of calibration rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Baseline {
    pub(super) columns: Vec<Histogram>,
    pub(super) targets: Vec<Histogram>,
    pub(super) distance: Histogram,
    /// Of every column, for the distance; a scale of 0 leaves the column out.
    centre: Vec<f64>,
    scale: Vec<f64>,
    /// The predicted class and its probability.
    pub(super) outputs: Option<[Histogram; 2]>,
}

/// Cells and how many rows lie in each.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Histogram {
    pub(super) cells: Cells,
    pub(super) filled: Vec<(usize, u64)>,
}

impl Histogram {
    fn new(cells: Cells, values: impl IntoIterator<Item = f64>) -> Self {
        let mut counts = Counts::new(cells.len());
        values.into_iter().for_each(|v| counts.add(cells.of(v), 1));
        Histogram { cells, filled: counts.filled() }
    }

    /// Edges by the first values, counts of the second.
    fn chosen(choosing: &mut [f64], counted: impl IntoIterator<Item = f64>) -> Self {
        Histogram::new(Cells::Edges(quantiles(choosing)), counted)
    }

    /// The same with more edges in the upper tail and beyond.
    fn with_tail(choosing: &mut [f64], counted: impl IntoIterator<Item = f64>) -> Self {
        let mut edges = quantiles(choosing);
        let tail = &choosing[choosing.len() - choosing.len().div_ceil(TAIL_SHARE)..];
        // Evenly, the largest always among them.
        edges.extend(tail.iter().rev().step_by(tail.len().div_ceil(TAIL)));
        let largest = choosing[choosing.len() - 1];
        edges.extend(BEYOND.iter().map(|factor| factor * largest));
        edges.sort_unstable_by(f64::total_cmp);
        edges.dedup();
        Histogram::new(Cells::Edges(edges), counted)
    }

    /// How many rows lie in each cell or in one above it.
    fn reaching(&self) -> Vec<u64> {
        let mut all = vec![0; self.cells.len()];
        self.filled.iter().for_each(|&(cell, count)| all[cell] = count);
        for cell in (1..all.len()).rev() {
            all[cell - 1] += all[cell];
        }
        all
    }

    fn rows(&self) -> u64 {
        self.filled.iter().map(|f| f.1).sum()
    }
}

/// Quantiles of values, which are sorted for it.
fn quantiles(choosing: &mut [f64]) -> Vec<f64> {
    choosing.sort_unstable_by(f64::total_cmp);
    let quantile = |i: usize| choosing[(i * choosing.len() / (COUNT + 1)).min(choosing.len() - 1)] + 0.0;
    let mut edges: Vec<f64> = (1..=COUNT).map(quantile).collect();
    edges.dedup();
    edges
}

/// Mean square of a row in units of the scales, cut where a column is very far.
fn distance(row: impl Iterator<Item = f64>, centre: &[f64], scale: &[f64]) -> f64 {
    let (mut sum, mut used) = (0.0, 0.0f64);
    for ((x, c), s) in row.zip(centre).zip(scale).filter(|(_, s)| **s > 0.0) {
        sum += ((x - c) / s).clamp(-FAR, FAR).powi(2);
        used += 1.0;
    }
    sum / used.max(1.0)
}

/// The most probable class of every row and its probability.
pub(super) fn network_classes(logits: ArrayView2<'_, f64>) -> [Vec<f64>; 2] {
    let top: Vec<usize> = logits.outer_iter().map(top_class).collect();
    // Row by row: a row's numbers must not depend on those that come with it.
    let confidence = |(z, &k): (ArrayView1<'_, f64>, &usize)| (z[k] - log_sum_exp(z.iter().copied())).exp();
    let confidence = logits.outer_iter().zip(&top).map(confidence).collect();
    [top.into_iter().map(|k| k as f64).collect(), confidence]
}

impl Baseline {
    /// Counts calibration rows.
    pub fn fit(rows: &Watched<'_>, seed: Seed) -> Result<Self> {
        let n = rows.inputs.first().map_or(0, |t| t.nrows());
        let needed = 2 * SHARE;
        if n < needed {
            let remedy = "use more rows";
            return Err(Error::TooFewRows { what: "a baseline", needed, found: n, remedy });
        }
        let mut order: Vec<usize> = (0..n).collect();
        order.shuffle(&mut seed.child(EDGES).rng());
        let (choosing, counted) = order.split_at(n / SHARE);
        let of = |values: ArrayView1<'_, f64>| {
            let mut first: Vec<f64> = choosing.iter().map(|&i| values[i]).collect();
            Histogram::chosen(&mut first, counted.iter().map(|&i| values[i]))
        };
        let inputs = || rows.inputs.iter().flat_map(|t| t.columns());
        let columns = inputs().map(of).collect();
        let (centre, scale): (Vec<f64>, Vec<f64>) = inputs().map(|c| moments(c, choosing)).unzip();
        let far = |i: usize| distance(inputs().map(|c| c[i]), &centre, &scale);
        let mut first: Vec<f64> = choosing.iter().map(|&i| far(i)).collect();
        let far_rows = Histogram::with_tail(&mut first, counted.iter().map(|&i| far(i)));
        let mut targets: Vec<Histogram> = rows.targets.iter().flat_map(|y| y.columns()).map(of).collect();
        targets.extend(rows.labels.map(|(labels, classes)| {
            Histogram::new(Cells::Classes(classes), counted.iter().map(|&i| labels[i] as f64))
        }));
        let outputs = rows.logits.map(|z| {
            let [top, confidence] = network_classes(z);
            let top = Histogram::new(Cells::Classes(z.ncols()), counted.iter().map(|&i| top[i]));
            [top, of(ArrayView1::from(&confidence[..]))]
        });
        Ok(Baseline { columns, targets, distance: far_rows, centre, scale, outputs })
    }

    /// Counts the calibration rows of a regression; none where they are too few, or come in groups: then they are not
    /// exchangeable one by one.
    pub fn of_regression(rows: &RegressionRows<'_>, seed: Seed) -> Option<Self> {
        let tables: Vec<ArrayView2<'_, f64>> =
            [rows.features()].into_iter().chain(rows.prediction()).chain(rows.own_tables()).collect();
        let watched = Watched { inputs: &tables, targets: Some(rows.y()), labels: None, logits: None };
        // Rows that come in groups or in order of time are not exchangeable one by one.
        let alone = rows.groups().is_none() && rows.order().is_none();
        alone.then(|| Baseline::fit(&watched, seed).ok()).flatten()
    }

    /// Counts the calibration rows of a classifier; none where they are too few.
    pub fn of_classes(rows: &ClassRows<'_>, seed: Seed) -> Option<Self> {
        let inputs = rows.inputs();
        let tables: Vec<ArrayView2<'_, f64>> = inputs.logits.into_iter().chain(inputs.features).collect();
        let labels = Some((rows.labels(), rows.classes()));
        Baseline::fit(&Watched { inputs: &tables, targets: None, labels, logits: inputs.logits }, seed).ok()
    }

    /// How many rows are counted.
    pub fn rows(&self) -> u64 {
        self.distance.rows()
    }

    /// How many of the counted rows are of each class, where rows have classes.
    pub fn class_counts(&self) -> Option<Vec<f64>> {
        let [Histogram { cells: Cells::Classes(classes), filled }] = &self.targets[..] else { return None };
        let mut counts = vec![0.0; *classes];
        filled.iter().for_each(|&(class, rows)| counts[class] += rows as f64);
        Some(counts)
    }

    /// How many columns of inputs it knows.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// How strange every row of these tables is, whose columns are those of the calibration rows: a conformal p-value, the
    /// share of calibration rows, the row itself among them, that are at least as far away. Of rows like the calibration
    /// rows it is at most p with probability at most p.
    pub fn novelty(&self, inputs: &[ArrayView2<'_, f64>]) -> Result<Vec<f64>> {
        let columns: usize = inputs.iter().map(|t| t.ncols()).sum();
        if columns != self.columns() {
            return Err(Error::shape("columns of the inputs", self.columns(), columns));
        }
        let (reaching, all) = (self.distance.reaching(), self.rows() as f64 + 1.0);
        let p = |d: f64| (reaching[self.distance.cells.of(d)] as f64 + 1.0) / all;
        Ok(self.distances(inputs).into_iter().map(p).collect())
    }

    /// The distance of every row of these tables.
    pub(super) fn distances(&self, inputs: &[ArrayView2<'_, f64>]) -> Vec<f64> {
        let columns: Vec<ArrayView1<'_, f64>> = inputs.iter().flat_map(|t| t.columns().into_iter()).collect();
        let rows = columns.first().map_or(0, |c| c.len());
        (0..rows).map(|i| distance(columns.iter().map(|c| c[i]), &self.centre, &self.scale)).collect()
    }
}

/// Mean and standard deviation of some rows; a deviation that is rounding alone is 0.
fn moments(column: ArrayView1<'_, f64>, rows: &[usize]) -> (f64, f64) {
    let n = rows.len() as f64;
    let mean = rows.iter().map(|&i| column[i] / n).sum::<f64>();
    let sd = rows.iter().map(|&i| (column[i] - mean).powi(2) / n).sum::<f64>().sqrt();
    (mean, if sd.is_finite() && sd > 1e-12 * mean.abs() { sd } else { 0.0 })
}

/// What is written to files: lists of all histograms one after the other, columns first, then targets, the distance, and
/// what the network's output says.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    columns: usize,
    targets: usize,
    outputs: bool,
    /// Edges per histogram; of one of classes none.
    lengths: Vec<u64>,
    /// Classes per histogram; 0 of one with edges.
    classes: Vec<u64>,
    edges: Vec<f64>,
    /// Cells with rows per histogram.
    filled: Vec<u64>,
    cells: Vec<u64>,
    counts: Vec<u64>,
    centre: Vec<f64>,
    scale: Vec<f64>,
}

impl From<Baseline> for Parts {
    fn from(b: Baseline) -> Self {
        let all: Vec<&Histogram> =
            b.columns.iter().chain(&b.targets).chain([&b.distance]).chain(b.outputs.iter().flatten()).collect();
        let edges = |h: &&Histogram| match &h.cells {
            Cells::Edges(edges) => edges.clone(),
            _ => Vec::new(),
        };
        let classes = |h: &&Histogram| match h.cells {
            Cells::Classes(classes) => classes as u64,
            _ => 0,
        };
        Parts {
            columns: b.columns.len(),
            targets: b.targets.len(),
            outputs: b.outputs.is_some(),
            lengths: all.iter().map(|h| edges(h).len() as u64).collect(),
            classes: all.iter().map(classes).collect(),
            edges: all.iter().flat_map(edges).collect(),
            filled: all.iter().map(|h| h.filled.len() as u64).collect(),
            cells: all.iter().flat_map(|h| h.filled.iter().map(|f| f.0 as u64)).collect(),
            counts: all.iter().flat_map(|h| h.filled.iter().map(|f| f.1)).collect(),
            centre: b.centre.clone(),
            scale: b.scale.clone(),
        }
    }
}

impl TryFrom<Parts> for Baseline {
    type Error = Error;
    fn try_from(p: Parts) -> Result<Self> {
        let wrong = || Error::Inconsistent { what: "the parts of a baseline do not belong together" };
        let (mut edges, mut rows) = (p.edges.iter().copied(), p.cells.iter().zip(&p.counts));
        let mut all = Vec::new();
        if p.lengths.len() != p.classes.len() || p.lengths.len() != p.filled.len() || p.cells.len() != p.counts.len() {
            return Err(wrong());
        }
        for ((&length, &classes), &filled) in p.lengths.iter().zip(&p.classes).zip(&p.filled) {
            let own: Vec<f64> = edges.by_ref().take(length as usize).collect();
            let filled_cells: Vec<(usize, u64)> =
                rows.by_ref().take(filled as usize).map(|(cell, count)| (*cell as usize, *count)).collect();
            let whole = own.len() as u64 == length && filled_cells.len() as u64 == filled;
            let cells = if classes > 0 { Cells::Classes(classes as usize) } else { Cells::Edges(own) };
            if !whole || (classes > 0 && length > 0) {
                return Err(wrong());
            }
            cells.check()?;
            Counts::of(cells.len(), &filled_cells)?;
            all.push(Histogram { cells, filled: filled_cells });
        }
        let numbers = p.centre.iter().all(|c| c.is_finite()) && p.scale.iter().all(|s| s.is_finite() && *s >= 0.0);
        let sizes = p.centre.len() == p.columns && p.scale.len() == p.columns;
        let expected = p.columns.checked_add(p.targets).and_then(|n| n.checked_add(if p.outputs { 3 } else { 1 }));
        let left = edges.next().is_some() || rows.next().is_some();
        if !numbers || !sizes || expected != Some(all.len()) || left {
            return Err(wrong());
        }
        let outputs = p.outputs.then(|| all.split_off(all.len() - 2)).and_then(|o| <[Histogram; 2]>::try_from(o).ok());
        let distance = all.pop().ok_or_else(wrong)?;
        let targets = all.split_off(p.columns);
        let (columns, centre, scale) = (all, p.centre, p.scale);
        Ok(Baseline { columns, targets, distance, centre, scale, outputs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::binomial::{binomial_cdf, binomial_upper_tail};
    use ndarray::Array2;
    use rand_distr::{Distribution, StandardNormal};

    /// One new row per replication, so that replications are independent: P(p ≤ a) ≤ a, and not much less in the tail.
    #[test]
    fn novelty_is_a_p_value_of_rows_like_the_calibration_rows_and_small_for_others() {
        const REPLICATIONS: usize = 4000;
        let (mut p_values, mut strange) = (Vec::new(), 0);
        for r in 0..REPLICATIONS {
            let mut draws = StandardNormal.sample_iter(Seed::new(r as u64).rng());
            let x = Array2::from_shape_simple_fn((201, 3), || -> f64 { draws.next().unwrap() });
            let (old, new) = x.view().split_at(ndarray::Axis(0), 200);
            let rows = Watched { inputs: &[old], targets: None, labels: None, logits: None };
            let baseline = Baseline::fit(&rows, Seed::new(r as u64)).unwrap();
            p_values.push(baseline.novelty(&[new]).unwrap()[0]);
            let far = Array2::from_elem((1, 3), 6.0);
            strange += usize::from(baseline.novelty(&[far.view()]).unwrap()[0] < 0.02);
        }
        for a in [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.9] {
            let below = p_values.iter().filter(|p| **p <= a).count();
            assert!(binomial_upper_tail(below, REPLICATIONS, a) > 1e-4, "{below} of {REPLICATIONS} at {a}");
            // Cells make it coarse: at most the mass of two cells is lost, 1/8 in the middle and 1/25 in the tail.
            let least = if a <= 0.1 { a - 1.0 / 25.0 } else { a - 1.0 / 8.0 };
            assert!(least <= 0.0 || binomial_cdf(below, REPLICATIONS, least) > 1e-4, "{below} at {a}");
        }
        // An extreme row among those that choose the cells makes the outer cells wide, in less than one of 1000 replications.
        assert!(strange >= REPLICATIONS - REPLICATIONS / 1000, "{strange}: rows six standard deviations away");
    }

    #[test]
    fn novelty_wants_the_columns_of_the_calibration_rows() {
        let x = Array2::from_shape_fn((40, 2), |(i, j)| ((i * (j + 3)) as f64).sin());
        let rows = Watched { inputs: &[x.view()], targets: None, labels: None, logits: None };
        let baseline = Baseline::fit(&rows, Seed::new(1)).unwrap();
        assert!(baseline.novelty(&[x.view(), x.view()]).is_err());
        let back: Baseline = Parts::from(baseline.clone()).try_into().unwrap();
        assert_eq!(back, baseline);
    }
}
