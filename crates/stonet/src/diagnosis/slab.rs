//! The worst slab (Cauchois, Gupta & Duchi 2021): rows between two parallel planes in the space of the features,
//! searched on one half and judged on the other.

use ndarray::{Array1, Array2, ArrayView1, Axis};
use rand::seq::index;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

use super::{Covered, LEAST_ROWS, Tally, sums};
use crate::base::streams::diagnosis as streams;
use crate::base::{Result, Seed};
use crate::linalg::dense::matmul;
use crate::rows::Standardizer;

/// The least share of the searched rows that a slab may have.
pub const SLAB_SHARE: f64 = 0.2;
/// Directions that are tried.
const DIRECTIONS: usize = 200;
/// Features in every other direction: among many features, a mixture of all of them hides what a few do.
const FEW: usize = 3;
/// Parts between the places where a slab may begin and end: 1 % of the rows each.
const PARTS: usize = 100;

/// Rows with low ≤ v′z ≤ high, where z are the standardised features.
#[derive(Debug, Clone, PartialEq)]
pub struct Slab {
    /// v, of length one.
    pub direction: Array1<f64>,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// On the half that was searched, where the slab was chosen because it has few hits.
    pub searched: Tally,
    /// On the other half, which does not know of the search.
    pub judged: Tally,
}

/// The slab of least coverage on a random half of the rows, over 200 random directions: half of them Gaussian, half
/// along three features. Features are standardised on the searched rows. A slab has at least [`SLAB_SHARE`] of these
/// rows, and at least 50 of them. None where there are fewer than [`super::SEARCH_ROWS`] rows, no feature, or no slab
/// large enough.
pub fn worst_slab(rows: &Covered<'_>, seed: Seed) -> Result<Option<Slab>> {
    let columns = rows.features.ncols();
    let Some([search, judge]) = rows.halves(seed)?.filter(|_| columns > 0) else { return Ok(None) };
    let (scale, _, _) = Standardizer::fit_rows(rows.features, &search);
    let standard = |rows_of: &[usize]| -> Result<Array2<f64>> {
        let z = scale.apply(rows.features.select(Axis(0), rows_of).view())?;
        // The range of finite features may not be finite; such a column says nothing.
        Ok(z.mapv_into(|z| if z.is_finite() { z } else { 0.0 }))
    };
    let directions = directions(columns, seed.child(streams::DIRECTIONS));
    let projected = matmul(standard(&search)?.view(), directions.t());
    let best = |d: usize| worst_along(rows, &search, projected.column(d)).map(|slab| (d, slab));
    let all: Vec<Option<(usize, Slab)>> = (0..directions.nrows()).into_par_iter().map(best).collect();
    // The first of equal ones, whatever the number of threads.
    let by_coverage = |s: &Slab| s.searched.coverage();
    let worst = all.into_iter().flatten().min_by(|a, b| by_coverage(&a.1).total_cmp(&by_coverage(&b.1)));
    let Some((d, slab)) = worst else { return Ok(None) };
    let direction = directions.row(d).to_owned();
    // The same product as that of the search, so that a row's projection does not depend on its half.
    let of_others = matmul(standard(&judge)?.view(), directions.slice(ndarray::s![d..d + 1, ..]).t());
    let inside = |t: &f64| slab.low <= *t && *t <= slab.high;
    let judged = rows.tally(judge.iter().zip(of_others.column(0)).filter(|(_, t)| inside(t)).map(|(&r, _)| r));
    Ok(Some(Slab { direction, judged, ..slab }))
}

/// Unit vectors, one per row.
fn directions(columns: usize, seed: Seed) -> Array2<f64> {
    // Of one feature there is one direction.
    let number = if columns == 1 { 1 } else { DIRECTIONS };
    let mut all = Array2::<f64>::zeros((number, columns));
    for (d, mut v) in all.outer_iter_mut().enumerate() {
        let mut rng = seed.child(d as u64).rng();
        let few = if d % 2 == 1 { FEW.min(columns) } else { columns };
        for column in index::sample(&mut rng, columns, few) {
            v[column] = StandardNormal.sample(&mut rng);
        }
        let norm = v.dot(&v).sqrt();
        if norm > 0.0 { v /= norm } else { v[0] = 1.0 }
    }
    all
}

/// The slab of least coverage along one direction, judged by nobody yet.
fn worst_along(rows: &Covered<'_>, search: &[usize], projection: ArrayView1<'_, f64>) -> Option<Slab> {
    let n = search.len();
    let mut ranked: Vec<(f64, bool)> = projection.iter().zip(search).map(|(&t, &r)| (t, rows.hits[r])).collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    let hits = sums(ranked.iter().map(|r| r.1));
    // A slab holds all rows of equal projection or none, so it begins at the first of them.
    let mut ends: Vec<usize> = (0..PARTS)
        .map(|k| ranked[k * n / PARTS].0)
        .map(|value| ranked.partition_point(|r| r.0 < value))
        .chain([n])
        .collect();
    ends.dedup();
    let least = LEAST_ROWS.max((SLAB_SHARE * n as f64).ceil() as usize);
    let mut worst: Option<(f64, usize, usize)> = None;
    for (i, &from) in ends.iter().enumerate() {
        for &to in ends[i + 1..].iter().filter(|&&to| to - from >= least && to - from < n) {
            let coverage = (hits[to] - hits[from]) as f64 / (to - from) as f64;
            if worst.is_none_or(|(least, ..)| coverage < least) {
                worst = Some((coverage, from, to));
            }
        }
    }
    worst.map(|(_, from, to)| Slab {
        direction: Array1::zeros(0),
        low: ranked[from].0,
        high: ranked[to - 1].0,
        searched: Tally { rows: to - from, hits: hits[to] - hits[from] },
        judged: Tally::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{LEVEL, Simulated, judged_fairly};
    use super::*;

    #[test]
    fn the_other_half_does_not_know_of_the_search() {
        let found: Vec<(Tally, Tally)> = (0..200)
            .map(|r| {
                let rows = Simulated::new(600, 4, 1000 + r, |_| LEVEL);
                let slab = worst_slab(&rows.covered(), Seed::new(r)).unwrap().unwrap();
                assert!(slab.searched.rows >= 60 && (slab.direction.dot(&slab.direction) - 1.0).abs() < 1e-12);
                (slab.searched, slab.judged)
            })
            .collect();
        let searched = judged_fairly(&found);
        assert!(searched < LEVEL - 0.06, "{searched}");
    }

    /// A slab across two features, which no slice of a single one shows.
    #[test]
    fn a_planted_slab_is_found() {
        for r in 0..10 {
            // |x₀ − x₁| / √2 < .3 holds 24 % of the rows.
            let planted = |x: &[f64]| if (x[0] - x[1]).abs() < 0.3 * 2f64.sqrt() { 0.65 } else { LEVEL };
            let rows = Simulated::new(3000, 3, r, planted);
            let slab = worst_slab(&rows.covered(), Seed::new(r)).unwrap().unwrap();
            let along = (slab.direction[0] - slab.direction[1]).abs() / 2f64.sqrt();
            assert!(along > 0.9 && slab.low > -1.0 && slab.high < 1.0, "{slab:?}");
            let coverage = slab.judged.coverage();
            assert!(slab.judged.z(rows.covered().level) < -4.5, "{coverage}");
        }
    }

    #[test]
    fn features_of_one_value_or_an_endless_range_do_no_harm() {
        let mut rows = Simulated::new(300, 3, 1, |_| LEVEL);
        rows.features.column_mut(0).fill(7.0);
        rows.features.column_mut(1).iter_mut().enumerate().for_each(|(i, v)| {
            *v = if i.is_multiple_of(2) { 1.7e308 } else { -1.7e308 };
        });
        let slab = worst_slab(&rows.covered(), Seed::new(1)).unwrap().unwrap();
        assert!(slab.low.is_finite() && slab.high.is_finite() && slab.judged.rows > 0);
        rows.features.fill(1.0);
        assert_eq!(worst_slab(&rows.covered(), Seed::new(1)).unwrap(), None);
    }
}
