//! Closed forms against fits without rows, both sides against each other, components and log scales.

use super::basis::Side;
use super::fits::LeftOut;
use super::*;
use crate::base::Seed;
use ndarray::array;
use rand_distr::{Distribution, StandardNormal};

fn data(n: usize, p: usize) -> (Array2<f64>, Array1<f64>) {
    let mut rng = Seed::new(4).rng();
    let x = Array2::from_shape_simple_fn((n, p), || StandardNormal.sample(&mut rng));
    let y = x
        .outer_iter()
        .map(|r| {
            2.0 + r[0] - 0.5 * r[r.len() / 2]
                + 0.7 * {
                    let e: f64 = StandardNormal.sample(&mut rng);
                    e
                }
        })
        .collect();
    (x, y)
}

/// The error at row `i` of a ridge regression of the other rows, by the normal equations of the augmented design:
/// an unpenalised intercept, and the scale of the columns not learned anew.
fn error_without(i: usize, x: &Array2<f64>, y: &Array1<f64>, penalty: f64) -> f64 {
    let (n, p) = x.dim();
    let rows: Vec<usize> = (0..n).filter(|&r| r != i).collect();
    let mut design = ndarray::concatenate![Axis(1), Array2::ones((n - 1, 1)), x.select(Axis(0), &rows)];
    let mut target = y.select(Axis(0), &rows).to_vec();
    for k in 0..p {
        let mut row = Array1::zeros(p + 1);
        row[k + 1] = penalty.sqrt();
        design.push_row(row.view()).unwrap();
        target.push(0.0);
    }
    let inverse = crate::linalg::dense::spd_inverse(design.t().dot(&design).view()).unwrap();
    let beta = inverse.dot(&design.t().dot(&Array1::from(target)));
    y[i] - beta[0] - beta.slice(ndarray::s![1..]).dot(&x.row(i))
}

/// Fits of a response at some penalties, with the rows that each leaves out.
struct Fitted {
    left_out: LeftOut,
    coefficients: Vec<Array1<f64>>,
    values: Vec<Array1<f64>>,
    /// Errors of groups that are left out, at every penalty.
    by_group: Vec<Array1<f64>>,
}

/// The fits on one side, with the last columns of `x` beside the others and at most `held` numbers of rotated rows
/// in memory.
fn fitted(
    (side, held): (Side, usize),
    x: &Array2<f64>,
    beside: usize,
    y: &Array1<f64>,
    penalties: &[f64],
    groups: &[usize],
) -> Fitted {
    let (n, features) = (x.nrows(), x.ncols() - beside);
    let all: Vec<usize> = (0..n).collect();
    let (first, rest) = x.view().split_at(Axis(1), features);
    let (clip, rest) = (Clip::fit(first, &all).unwrap(), Beside::new(rest).unwrap());
    let design = Spectrum::design(first, &all);
    let (rows, work) = (Rows { clip: &clip, design: &design, n }, Work::unwatched());
    let basis = Basis::of(side, &rows, &work).unwrap().unwrap();
    let frame = Frame::holding(&basis, &rows, held, &work).unwrap();
    let fits = Fits::new(&frame, &rest.columns, &work).unwrap();
    let at: Vec<At> = penalties.iter().map(|&p| fits.at(p)).collect();
    let centred = y - y.sum() / n as f64;
    let response = fits.response(&centred, &work).unwrap();
    let solutions: Vec<Solution> = at.iter().map(|at| fits.solve(at, &response)).collect();
    let left_out = left_out(&frame, &[(&fits, &at, Some((&response, &solutions)))], &work).unwrap().remove(0);
    let without = |k: usize| fits.without_groups(&at[k], left_out.residual(k), groups, &work).unwrap();
    Fitted {
        by_group: (0..at.len()).map(without).collect(),
        coefficients: solutions.iter().map(|s| fits.coefficients(s).unwrap()).collect(),
        values: solutions.iter().map(|s| fits.fitted(s, &work).unwrap()).collect(),
        left_out,
    }
}

/// Both sides, rotated rows held and made again.
const FORMS: [(Side, usize); 3] = [(Side::Columns, usize::MAX), (Side::Columns, 0), (Side::Rows, 0)];

/// All forms, with and without columns beside the features: leaving rows out one by one and refitting gives the
/// closed form.
#[test]
fn the_closed_form_is_the_error_of_leaving_rows_out() {
    for (n, p, beside) in [(25, 3, 0), (25, 24, 0), (12, 40, 0), (13, 13, 0), (25, 9, 5), (12, 40, 6), (14, 9, 8)] {
        let (x, y) = data(n, p);
        let x = Clip::fit(x.view(), &(0..n).collect::<Vec<_>>()).unwrap().apply(x.view()).unwrap();
        let penalties = [0.05, 0.1 * n as f64, 3.0 * n as f64];
        let brute = penalties.map(|c| (0..n).map(|i| error_without(i, &x, &y, c).powi(2)).sum::<f64>());
        for form in FORMS {
            let closed = fitted(form, &x, beside, &y, &penalties, &vec![0; n]).left_out.squares();
            for (closed, brute) in closed.iter().zip(brute) {
                assert!((closed / brute - 1.0).abs() < 1e-7, "{n} × {p}, {form:?}: {closed} {brute}");
            }
        }
    }
}

/// Left-out predictions of single rows and of groups are those of fits without them, in all forms; a group of rows
/// larger than the number of columns too.
#[test]
fn left_out_predictions_are_those_of_other_fits() {
    for (n, p, beside) in [(40, 3, 0), (40, 12, 0), (18, 60, 0), (40, 12, 4), (18, 60, 7)] {
        let (x, y) = data(n, p);
        let z = Clip::fit(x.view(), &(0..n).collect::<Vec<_>>()).unwrap().apply(x.view()).unwrap();
        let penalty = 0.1 * n as f64;
        let groups: Vec<usize> = (0..n).map(|i| if i % 3 == 0 { 0 } else { i / 4 }).collect();
        for form in FORMS {
            let fitted = fitted(form, &x, beside, &y, &[penalty], &groups);
            for (errors, groups) in [(fitted.left_out.errors(0), None), (fitted.by_group[0].clone(), Some(&groups))] {
                for i in 0..n {
                    let out = |j: usize| groups.map_or(j == i, |g| g[j] == g[i]);
                    let kept: Vec<usize> = (0..n).filter(|&j| !out(j)).collect();
                    let brute = y[i] - with_intercept(&z, &y, &kept, penalty).dot(&with_one(z.row(i)));
                    let near = (errors[i] - brute).abs() < 1e-4 * brute.abs().max(0.1);
                    assert!(near, "{n} × {p}, {form:?}: {} {brute}", errors[i]);
                }
            }
        }
    }
}

fn with_one(row: ArrayView1<'_, f64>) -> Array1<f64> {
    row.iter().copied().chain([1.0]).collect()
}

/// Coefficients and the intercept, which has no penalty, on these rows.
fn with_intercept(z: &Array2<f64>, y: &Array1<f64>, rows: &[usize], penalty: f64) -> Array1<f64> {
    let a =
        Array2::from_shape_fn((rows.len(), z.ncols() + 1), |(i, j)| if j < z.ncols() { z[[rows[i], j]] } else { 1.0 });
    let mut gram = a.t().dot(&a);
    (0..z.ncols()).for_each(|j| gram[[j, j]] += penalty);
    let inverse = crate::linalg::dense::spd_inverse(gram.view()).unwrap();
    inverse.dot(&a.t().dot(&y.select(Axis(0), rows)))
}

/// Components have variance one and no correlation, in both forms, and come with their largest weight positive.
#[test]
fn components_are_uncorrelated_and_of_variance_one() {
    for (n, p) in [(200, 12), (30, 90), (50, 3)] {
        let (mut x, _) = data(n, p);
        let twin = x.column(0).to_owned();
        x.column_mut(1).assign(&twin);
        let rows: Vec<usize> = (0..n).collect();
        let spectrum = Spectrum::new(x.view(), &rows, &Work::unwatched()).unwrap();
        let c = spectrum.components();
        let scores = c.clip().apply(x.view()).unwrap().dot(&c.weights().t());
        let covariance = scores.t().dot(&scores) / n as f64;
        assert!((&covariance - &Array2::<f64>::eye(scores.ncols())).iter().all(|d| d.abs() < 1e-8), "{covariance}");
        // Twins are one direction less.
        assert_eq!(c.weights().nrows(), 8.min(p - 1));
        let products = c.apply(x.view()).unwrap();
        assert_eq!(products.ncols(), c.products());
        assert!((products[[3, 1]] - scores[[3, 0]] * scores[[3, 1]]).abs() < 1e-12);
    }
}

/// A log scale on the first columns, with the others beside them; the first of those may be a log scale itself.
fn log_scale(
    x: ArrayView2<'_, f64>,
    features: usize,
    sizes: ArrayView1<'_, f64>,
    known: bool,
    penalty: f64,
) -> LogScale {
    let (rows, work): (Vec<usize>, _) = ((0..x.nrows()).collect(), Work::unwatched());
    let (first, rest) = x.split_at(Axis(1), features);
    let spectrum = Spectrum::new(first, &rows, &work).unwrap();
    let known = known.then(|| (0, rest.column(0)));
    let beside = Beside::new(rest).unwrap();
    LogScale::fit(&spectrum, (first, &rows), &beside, sizes, known, &[penalty], &work).unwrap()
}

/// Normal residuals whose log scale is linear: the slope is found within 4.5 standard errors of its efficiency, 88 %
/// of what normal likelihood would give (1/√(2n)), and better than by least squares on logarithms (40 %).
#[test]
fn the_laplace_scale_finds_a_slope_with_its_efficiency() {
    let (n, replications, truth) = (1000, 40, 0.6f64);
    let mut slopes = Vec::new();
    for replication in 0..replications {
        let mut draws = StandardNormal.sample_iter(Seed::new(100 + replication).rng());
        let x = Array2::<f64>::from_shape_simple_fn((n, 2), || draws.next().unwrap());
        let sizes: Array1<f64> =
            x.outer_iter().map(|row| (truth * row[0]).exp() * f64::abs(draws.next().unwrap())).collect();
        let fit = log_scale(x.view(), 1, sizes.view(), false, 1e-6);
        slopes.push(fit.ridge.coefficients()[0] / fit.ridge.clip().clamp(0).scale.recip());
        // Left-out values are the fitted ones but for their own row.
        let moved = (&fit.fitted - &fit.left_out).iter().fold(0.0, |m: f64, d| m.max(d.abs()));
        assert!(moved > 0.0 && moved < 0.3, "{moved}");
    }
    let (mean, sd) = crate::metrics::mean_sd(&slopes);
    let best = 1.0 / (2.0 * n as f64).sqrt();
    let expected = best / 0.88f64.sqrt();
    // The sd of 40 replications is within 4.5 of its own standard errors, and far below that of logarithms.
    assert!((mean - truth).abs() < 4.5 * expected / (replications as f64).sqrt(), "{mean}");
    assert!(sd < expected * (1.0 + 4.5 / (2.0 * 39.0f64).sqrt()) && sd < best / 0.4f64.sqrt(), "{sd} {expected}");
}

/// A column that is the log scale itself has slope 1 at an infinite penalty, where it is drawn to 1, and none where it
/// is drawn to 0; noise is drawn to 0.
#[test]
fn the_slope_of_a_known_log_scale_is_one() {
    let n = 500;
    let mut draws = StandardNormal.sample_iter(Seed::new(9).rng());
    let x = Array2::<f64>::from_shape_simple_fn((n, 2), || draws.next().unwrap());
    let sizes: Array1<f64> = x.outer_iter().map(|row| row[0].exp() * f64::abs(draws.next().unwrap())).collect();
    let swapped = x.select(Axis(1), &[1, 0]);
    let fit = |x: &Array2<f64>, known: bool| {
        let fit = log_scale(x.view(), 1, sizes.view(), known, f64::INFINITY);
        let again = fit.ridge.predict(x.view()).unwrap();
        assert!((&again - &fit.fitted).iter().all(|d| d.abs() < 1e-10));
        (0..2).map(|k| fit.ridge.coefficients()[k] * fit.ridge.clip().clamp(k).scale).collect::<Vec<_>>()
    };
    let near = |found: Vec<f64>, expected: [f64; 2]| {
        assert!(found.iter().zip(expected).all(|(f, e)| (f - e).abs() < 1e-10), "{found:?} and not {expected:?}");
    };
    near(fit(&x, false), [0.0, 0.0]);
    near(fit(&swapped, true), [0.0, 1.0]);
    near(fit(&x, true), [0.0, 0.0]);
}

/// The two forms are one regression: coefficients and left-out errors agree to rounding over the whole grid,
/// constant and repeated columns and repeated rows included, whatever the shape.
#[test]
fn the_kernel_form_is_the_primal_form() {
    let penalties = [1e-5, 1e-3, 0.1, 1.0, 3.0, f64::INFINITY];
    for (n, p) in [(30, 4), (30, 29), (30, 30), (30, 31), (30, 200), (300, 310), (5, 1)] {
        let (mut x, y) = data(n, p);
        if p > 3 {
            x.column_mut(3).fill(2.5);
            let twin = x.column(0).to_owned();
            x.column_mut(2).assign(&twin);
            let twin = x.row(1).to_owned();
            x.row_mut(2).assign(&twin);
        }
        let grid = penalties.map(|c| c * n as f64);
        for beside in [0, p / 4] {
            let [a, b, c] = FORMS.map(|form| fitted(form, &x, beside, &y, &grid, &vec![0; n]));
            let [primal, dual] = [&a, &c].map(|f| f.left_out.squares());
            let near = primal.iter().zip(&dual).all(|(a, b)| (a / b - 1.0).abs() < 1e-5);
            assert!(near, "{n} × {p}, {beside} beside: {primal} {dual}");
            for other in [&b, &c] {
                let pairs = a.coefficients.iter().zip(&other.coefficients).chain(a.values.iter().zip(&other.values));
                for ((a, b), penalty) in pairs.zip(grid.iter().cycle()) {
                    let size = a.iter().fold(1e-12, |m: f64, v| m.max(v.abs()));
                    let near = (a - b).iter().all(|d| d.abs() < 1e-7 * size);
                    assert!(near, "{n} × {p}, {beside} beside, at {penalty}");
                }
            }
        }
    }
}

/// Columns beside the features are columns like the others, whatever the penalty.
#[test]
fn columns_beside_the_features_are_columns_like_them() {
    let penalties = [1e-5, 1e-3, 0.1, 1.0, 3.0, f64::INFINITY];
    for (n, p, beside) in [(60, 12, 5), (60, 59, 20), (30, 80, 11), (300, 320, 40)] {
        let (mut x, y) = data(n, p);
        // A column that stands on both sides, and a constant one.
        let twin = x.column(0).to_owned();
        x.column_mut(p - 1).assign(&twin);
        x.column_mut(p - 2).fill(4.0);
        let grid = penalties.map(|c| c * n as f64);
        for form in FORMS {
            let [whole, parts] = [0, beside].map(|q| fitted(form, &x, q, &y, &grid, &vec![0; n]));
            let (a, b) = (whole.left_out.squares(), parts.left_out.squares());
            assert!(a.iter().zip(&b).all(|(a, b)| (a / b - 1.0).abs() < 1e-8), "{n} × {p}, {form:?}: {a} {b}");
            for ((a, b), penalty) in whole.coefficients.iter().zip(&parts.coefficients).zip(grid) {
                let size = a.iter().fold(1e-12, |m: f64, v| m.max(v.abs()));
                assert!((a - b).iter().all(|d| d.abs() < 1e-8 * size), "{n} × {p}, {form:?}, at {penalty}");
            }
        }
    }
}

/// At a tiny penalty and many columns 1 − h is below 1e-6, where 1 minus a sum would have lost it.
#[test]
fn a_fit_through_every_row_is_not_taken_for_a_good_one() {
    let (x, y) = data(20, 4000);
    let noise = Array1::from_iter((0..20).map(|i| y[(i * 7) % 20]));
    let errors = fitted((Side::Rows, 0), &x, 0, &noise, &[20.0 * 1e-9, 20.0 * 1e-5, 20.0], &[0; 20]).left_out.squares();
    // As λ → 0 the error converges to that of the least-norm interpolation, which is that of a mild penalty here.
    assert!(errors.iter().all(|e| (e / errors[2] - 1.0).abs() < 0.05), "{errors}");
}

#[test]
fn a_cancelled_fit_stops_in_both_forms() {
    for (n, p) in [(40, 5), (5, 40)] {
        let (x, y) = data(n, p);
        let rows: Vec<usize> = (0..n).collect();
        let fit = Ridge::fit(x.view(), &rows, y.view(), &[0.1], &Work::new(1, "fits", &|_, _| false));
        assert!(matches!(fit, Err(Error::Cancelled(_))));
    }
}

#[test]
fn it_finds_the_signal_and_an_infinite_penalty_is_the_mean() {
    let (x, y) = data(3000, 5);
    let rows: Vec<usize> = (0..3000).collect();
    let grid = [1e-5, 1e-3, 0.1, 1.0, f64::INFINITY];
    let fit = Ridge::fit(x.view(), &rows, y.view(), &grid, &Work::unwatched()).unwrap();
    let error = (&fit.predict(x.view()).unwrap() - &y).mapv(|e| e * e).sum() / 3000.0;
    // Noise variance .49, and sd of its estimate .49 √(2/3000).
    assert!((error - 0.49).abs() < 4.5 * 0.49 * (2.0f64 / 3000.0).sqrt(), "{error}");
    let flat = Ridge::fit(x.view(), &rows, y.view(), &[f64::INFINITY], &Work::unwatched()).unwrap();
    assert!(flat.predict(x.view()).unwrap().iter().all(|m| (m - y.sum() / 3000.0).abs() < 1e-12));
}

#[test]
fn new_rows_are_clipped_one_deviation_beyond_the_old_and_constants_stay_zero() {
    let clip = Clip::fit(array![[1.0, 7.1], [3.0, 7.1]].view(), &[0, 1]).unwrap();
    let new = clip.apply(array![[2.5, 9.0], [1e300, -9.0], [-50.0, 7.1]].view()).unwrap();
    assert_eq!(new, array![[0.5, 0.0], [2.0, 0.0], [-2.0, 0.0]]);
    assert!(clip.apply(array![[1.0]].view()).is_err());
    assert!(Clip::fit(array![[1e308], [1.7e308], [1.7e308]].view(), &[0, 1, 2]).is_ok());
    assert!(Clip::fit(array![[-1e308], [1.7e308], [1.7e308]].view(), &[0, 1, 2]).is_err());
}

#[test]
fn more_columns_than_rows_and_constant_columns_are_sound() {
    let (mut x, y) = data(20, 40);
    x.column_mut(7).fill(3.0);
    let rows: Vec<usize> = (0..20).collect();
    let grid = [1e-5, 0.01, 1.0, f64::INFINITY];
    let fit = Ridge::fit(x.view(), &rows, y.view(), &grid, &Work::unwatched()).unwrap();
    let mut far = x.clone();
    far.column_mut(7).fill(1e9);
    let (near, far) = (fit.predict(x.view()).unwrap(), fit.predict(far.view()).unwrap());
    assert!((near - far).iter().all(|d| d.abs() < 1e-9));
}
