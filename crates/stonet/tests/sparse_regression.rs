//! Sparse regressions: optimality of every penalty, agreement of both solvers, and what they do with awkward input.

use ndarray::{Array2, Axis, array};
use rand_distr::{Distribution, StandardNormal};
use stonet::sparse::{LinearFit, Solver, SparseLinear};
use stonet::*;

const PENALTIES: [Penalty; 3] = [Penalty::Lasso, Penalty::SCAD, Penalty::MCP];

/// Correlated columns of unit scale and means that are not zero; three responses with five true columns each.
fn data(n: usize, p: usize, seed: u64) -> (Array2<f64>, Array2<f64>) {
    let mut draws = StandardNormal.sample_iter(Seed::new(seed).rng());
    let mut next = || -> f64 { draws.next().unwrap() };
    let mut x = Array2::zeros((n, p));
    for mut row in x.outer_iter_mut() {
        let shared = next();
        row.mapv_inplace(|_: f64| 2.0 + 0.5 * shared + next());
    }
    let mut y = Array2::zeros((n, 3));
    for (mut y, x) in y.outer_iter_mut().zip(x.outer_iter()) {
        for j in 0..3 {
            let signal: f64 = (0..5).map(|k| x[(j + 2 * k) % p] * (1.0 - 0.35 * k as f64)).sum();
            y[j] = 3.0 + signal + 0.5 * next();
        }
    }
    (x, y)
}

/// The gradient Xᵀ(y − ŷ)/n of a solution, columns × responses, from nothing but its predictions.
fn gradient(fit: &LinearFit, x: &Array2<f64>, y: &Array2<f64>) -> Array2<f64> {
    let residual = y - &fit.predict(x.view()).unwrap();
    assert!(residual.sum_axis(Axis(0)).iter().all(|r| r.abs() < 1e-8 * y.len() as f64), "intercepts are not free");
    x.t().dot(&residual) / x.nrows() as f64
}

/// The optimality conditions, written out: |g| ≤ λv at zero, g = ρ′(|w|) sign w elsewhere.
fn largest_violation(
    fit: &LinearFit,
    x: &Array2<f64>,
    y: &Array2<f64>,
    penalty: Penalty,
    weights: Option<&[f64]>,
) -> f64 {
    let g = gradient(fit, x, y);
    let at = |(j, k): (usize, usize), w: f64| {
        let lambda = fit.lambda * weights.map_or(1.0, |v| v[k]);
        match w {
            0.0 => (g[[k, j]].abs() - lambda).max(0.0),
            w => (g[[k, j]] - penalty.derivative(w, lambda) * w.signum()).abs(),
        }
    };
    fit.coefficients.indexed_iter().map(|(jk, &w)| at(jk, w)).fold(0.0, f64::max)
}

#[test]
fn every_penalty_and_both_solvers_reach_optimality_on_request() {
    for (n, p) in [(120, 10), (80, 60), (40, 90)] {
        let (x, y) = data(n, p, 1);
        for penalty in PENALTIES {
            for solver in [Solver::Gram, Solver::WorkingSet] {
                let sparse = SparseLinear { penalty, solver, tolerance: 1e-10, ..SparseLinear::default() };
                let top = sparse.lambda_max(x.view(), y.view()).unwrap();
                for fraction in [0.5, 0.1, 0.03] {
                    let fit = sparse.fit(x.view(), y.view(), fraction * top).unwrap();
                    assert!(fit.converged, "{penalty:?} {solver:?} {n}x{p} at {fraction}: {}", fit.kkt_residual);
                    let found = largest_violation(&fit, &x, &y, penalty, None);
                    assert!(found < 1e-8, "{penalty:?} {solver:?} {n}x{p} at {fraction}: {found}");
                    assert!((found - fit.kkt_residual).abs() < 1e-8);
                }
            }
        }
    }
}

#[test]
fn both_solvers_find_the_same_lasso() {
    let (x, y) = data(60, 100, 2);
    let fit = |solver| {
        let sparse = SparseLinear { solver, tolerance: 1e-11, ..SparseLinear::default() };
        let top = sparse.lambda_max(x.view(), y.view()).unwrap();
        sparse.path(x.view(), y.view(), &[top, 0.3 * top, 0.05 * top]).unwrap()
    };
    for (a, b) in fit(Solver::Gram).iter().zip(&fit(Solver::WorkingSet)) {
        assert!((&a.coefficients - &b.coefficients).iter().all(|d| d.abs() < 1e-7));
        assert!((&a.intercepts - &b.intercepts).iter().all(|d| d.abs() < 1e-7));
    }
}

#[test]
fn at_lambda_max_all_is_zero_and_just_below_it_something_is_not() {
    let (x, y) = data(100, 20, 3);
    let sparse = SparseLinear { tolerance: 1e-9, ..SparseLinear::default() };
    let top = sparse.lambda_max(x.view(), y.view()).unwrap();
    for (lambda, any) in [(2.0 * top, false), (top, false), (0.999 * top, true)] {
        let fit = sparse.fit(x.view(), y.view(), lambda).unwrap();
        assert_eq!(fit.coefficients.iter().any(|&w| w != 0.0), any, "{lambda}");
    }
    let constant = sparse.fit(x.view(), y.view(), top).unwrap();
    let mean = y.mean_axis(Axis(0)).unwrap();
    assert!((&constant.intercepts - &mean).iter().all(|d| d.abs() < 1e-12));
}

#[test]
fn without_a_penalty_it_is_least_squares() {
    let (x, y) = data(200, 8, 4);
    let sparse = SparseLinear { tolerance: 1e-12, ..SparseLinear::default() };
    let fit = sparse.fit(x.view(), y.view(), 0.0).unwrap();
    assert!(gradient(&fit, &x, &y).iter().all(|g| g.abs() < 1e-8));
}

#[test]
fn a_path_is_continuous_and_equals_separate_fits() {
    let (x, y) = data(100, 30, 5);
    let sparse = SparseLinear { tolerance: 1e-10, ..SparseLinear::default() };
    let top = sparse.lambda_max(x.view(), y.view()).unwrap();
    let lambdas: Vec<f64> = (0..100).map(|i| top * 0.95f64.powi(i)).collect();
    let path = sparse.path(x.view(), y.view(), &lambdas).unwrap();
    for (i, w) in path.windows(2).enumerate() {
        let step = (&w[0].coefficients - &w[1].coefficients).iter().fold(0.0f64, |a, d| a.max(d.abs()));
        // The Lasso is piecewise linear in λ, its slope bounded by √s over the smallest eigenvalue of an active Gram
        // matrix; twenty is far above that here, and a jump of a coefficient of size one far above the bound.
        assert!(step < 20.0 * (lambdas[i] - lambdas[i + 1]), "{i}: {step}");
    }
    let alone = sparse.fit(x.view(), y.view(), lambdas[60]).unwrap();
    assert!((&alone.coefficients - &path[60].coefficients).iter().all(|d| d.abs() < 1e-7));
}

#[test]
fn weights_scale_the_penalty_and_zero_frees_a_column() {
    let (x, y) = data(100, 12, 6);
    let mut weights = vec![1.0; 12];
    weights[7] = 0.0;
    weights[0] = 1e6;
    let sparse = SparseLinear { weights: Some(weights.clone()), tolerance: 1e-10, ..SparseLinear::default() };
    for lambda in [0.1, 10.0] {
        let fit = sparse.fit(x.view(), y.view(), lambda).unwrap();
        assert!(fit.coefficients.column(7).iter().all(|&w| w != 0.0));
        assert!(fit.coefficients.column(0).iter().all(|&w| w == 0.0));
        assert!(largest_violation(&fit, &x, &y, Penalty::Lasso, Some(&weights)) < 1e-8);
    }
}

#[test]
fn constant_and_repeated_columns_do_no_harm() {
    let (mut x, y) = data(50, 6, 7);
    x.column_mut(2).fill(4.0);
    let copy = x.column(0).to_owned();
    x.column_mut(5).assign(&copy);
    for solver in [Solver::Gram, Solver::WorkingSet] {
        let sparse = SparseLinear { solver, tolerance: 1e-9, ..SparseLinear::default() };
        for lambda in [0.0, 0.05] {
            let fit = sparse.fit(x.view(), y.view(), lambda).unwrap();
            assert!(fit.coefficients.iter().all(|w| w.is_finite()));
            assert!(fit.coefficients.column(2).iter().all(|&w| w == 0.0));
            assert!(largest_violation(&fit, &x, &y, Penalty::Lasso, None) < 1e-6);
        }
    }
    let constant = Array2::from_elem((50, 1), 2.5);
    let fit = SparseLinear::default().fit(x.view(), constant.view(), 0.1).unwrap();
    assert!(fit.converged && fit.coefficients.iter().all(|&w| w == 0.0) && fit.intercepts[0] == 2.5);
}

#[test]
fn bad_input_is_refused_by_name() {
    let (x, y) = data(30, 4, 8);
    let sparse = SparseLinear::default();
    let mut broken = x.clone();
    broken[[3, 2]] = f64::NAN;
    let e = sparse.fit(broken.view(), y.view(), 0.1).unwrap_err().to_string();
    assert!(e.contains("inputs: row 3, column 2"), "{e}");
    for lambda in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(sparse.fit(x.view(), y.view(), lambda).unwrap_err().to_string().contains("lambda"));
    }
    assert!(sparse.fit(x.view(), Array2::zeros((29, 1)).view(), 0.1).is_err());
    assert!(sparse.fit(Array2::zeros((0, 4)).view(), Array2::zeros((0, 1)).view(), 0.1).is_err());
    for weights in [vec![1.0; 3], vec![-1.0; 4], vec![f64::NAN; 4]] {
        let bad = SparseLinear { weights: Some(weights), ..sparse.clone() };
        assert!(bad.fit(x.view(), y.view(), 0.1).unwrap_err().to_string().contains("weights"));
    }
    let flat = SparseLinear { penalty: Penalty::MCP, ..sparse.clone() };
    let e = flat.fit((&x * 0.1).view(), y.view(), 0.1).unwrap_err().to_string();
    assert!(e.contains("column 0: curvature") && e.contains("standardise"), "{e}");
    let fit = sparse.fit(x.view(), y.view(), 0.1).unwrap();
    assert!(fit.predict(array![[1.0]].view()).is_err());
    assert!(sparse.path(x.view(), y.view(), &[]).unwrap().is_empty());
}

#[test]
fn too_few_sweeps_are_reported_and_not_hidden() {
    let (x, y) = data(100, 30, 9);
    let hurried = SparseLinear { max_sweeps: 1, tolerance: 1e-12, ..SparseLinear::default() };
    let fit = hurried.fit(x.view(), y.view(), 0.01).unwrap();
    assert!(!fit.converged && fit.kkt_residual > 0.0);
}

/// Lasso solutions are unique: ours must equal scikit-learn's. SCAD and MCP ones need not be, so skglm's must be
/// stationary by our own conditions, and ours no worse in objective where both start from zero.
#[test]
fn solutions_agree_with_scikit_learn_and_skglm() {
    let fixture: serde_json::Value = serde_json::from_str(include_str!("fixtures/sparse_linear.json")).unwrap();
    let numbers =
        |v: &serde_json::Value| -> Vec<f64> { v.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect() };
    let rows: Vec<Vec<f64>> = fixture["x"].as_array().unwrap().iter().map(numbers).collect();
    let x = Array2::from_shape_vec((rows.len(), rows[0].len()), rows.concat()).unwrap();
    let y = Array2::from_shape_vec((rows.len(), 1), numbers(&fixture["y"])).unwrap();
    for theirs in fixture["fits"].as_array().unwrap() {
        let name = theirs["penalty"].as_str().unwrap();
        let penalty = match name {
            "lasso" => Penalty::Lasso,
            "scad" => Penalty::SCAD,
            _ => Penalty::MCP,
        };
        let lambda = theirs["lambda"].as_f64().unwrap();
        let objective = |fit: &LinearFit| {
            let residual = &y - &fit.predict(x.view()).unwrap();
            let loss = residual.iter().map(|r| r * r).sum::<f64>() / (2.0 * x.nrows() as f64);
            loss + fit.coefficients.iter().map(|&w| penalty.value(w, lambda)).sum::<f64>()
        };
        let sparse = SparseLinear { penalty, tolerance: 1e-12, ..SparseLinear::default() };
        let ours = sparse.fit(x.view(), y.view(), lambda).unwrap();
        let coefficients = Array2::from_shape_vec((1, x.ncols()), numbers(&theirs["coefficients"])).unwrap();
        let intercepts = y.mean_axis(Axis(0)).unwrap() - coefficients.dot(&x.mean_axis(Axis(0)).unwrap());
        let theirs = LinearFit { coefficients, intercepts, ..ours.clone() };
        assert!(largest_violation(&theirs, &x, &y, penalty, None) < 1e-6, "{name} at {lambda}");
        assert!(objective(&ours) <= objective(&theirs) + 1e-10, "{name} at {lambda}");
        if penalty == Penalty::Lasso {
            assert!((&ours.coefficients - &theirs.coefficients).iter().all(|d| d.abs() < 1e-6));
        }
    }
}

/// A start changes the way, not the Lasso's solution.
#[test]
fn a_warm_start_ends_at_the_same_lasso() {
    let (x, y) = data(200, 12, 31);
    for solver in [Solver::Gram, Solver::WorkingSet] {
        let sparse = SparseLinear { solver, tolerance: 1e-10, ..SparseLinear::default() };
        let cold = sparse.fit(x.view(), y.view(), 0.05).unwrap();
        let near = sparse.fit(x.view(), y.view(), 0.04).unwrap();
        let warm = sparse.fit_from(x.view(), y.view(), 0.05, near.coefficients.view()).unwrap();
        assert!((&cold.coefficients - &warm.coefficients).iter().all(|d| d.abs() < 1e-8));
        assert!(sparse.fit_from(x.view(), y.view(), 0.05, x.view()).is_err());
    }
}
