//! Sparse regressions: optimality of every penalty, agreement of both solvers, and what they do with awkward input.

use ndarray::{Array1, Array2, Axis, array};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
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
        // The Lasso is piecewise linear in λ, its slope bounded by √s over the smallest eigenvalue of an active Gram matrix;
        // twenty is far above that here, and a jump of a coefficient of size one far above the bound.
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

/// Lasso solutions are unique: ours must equal scikit-learn's. SCAD and MCP ones need not be, so skglm's must be stationary by
/// our own conditions, and ours no worse in objective where both start from zero.
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

/// Three classes whose logits are linear in four of the columns; standardised columns.
fn classes(n: usize, p: usize, scale: f64, seed: u64) -> (Array2<f64>, Vec<usize>) {
    let mut draws = StandardNormal.sample_iter(Seed::new(seed).rng());
    let mut next = || -> f64 { draws.next().unwrap() };
    let x = Array2::from_shape_simple_fn((n, p), &mut next);
    let labels = x
        .outer_iter()
        .map(|r| {
            let z = [scale * (r[0] - r[1]), scale * r[2], scale * (0.5 * r[3] - r[0])];
            // The largest of logits with Gumbel noise is a draw from their softmax; −ln of a squared pair of normals is one.
            let gumbel = |z: f64, a: f64, b: f64| z - (0.5 * (a * a + b * b)).ln();
            let noisy = z.map(|z| gumbel(z, next(), next()));
            (0..3).max_by(|&a, &b| noisy[a].total_cmp(&noisy[b])).unwrap()
        })
        .collect();
    (Standardizer::fit(x.view()).apply(x.view()).unwrap(), labels)
}

fn class_violation(fit: &MultinomialFit, x: &Array2<f64>, labels: &[usize], penalty: Penalty) -> f64 {
    let mut residual = -fit.probabilities(x.view()).unwrap();
    labels.iter().enumerate().for_each(|(i, &c)| residual[[i, c]] += 1.0);
    let n = x.nrows() as f64;
    let g = x.t().dot(&residual) / n;
    let free = (residual.sum_axis(Axis(0)) / n).fold(0.0f64, |a, r| a.max(r.abs()));
    let at = |(c, k): (usize, usize), w: f64| match w {
        0.0 => (g[[k, c]].abs() - fit.lambda).max(0.0),
        w => (g[[k, c]] - penalty.derivative(w, fit.lambda) * w.signum()).abs(),
    };
    fit.coefficients.indexed_iter().map(|(ck, &w)| at(ck, w)).fold(free, f64::max)
}

#[test]
fn every_penalty_reaches_optimality_for_classes_too() {
    for (n, p) in [(200, 8), (60, 80)] {
        let (x, labels) = classes(n, p, 1.5, 10);
        for penalty in PENALTIES {
            let sparse = SparseMultinomial { penalty, tolerance: 1e-9, max_passes: 20_000, ..Default::default() };
            let top = sparse.lambda_max(x.view(), &labels, 3).unwrap();
            for fraction in [1.0, 0.4, 0.1] {
                // With more columns than rows the classes separate; a penalty that is flat for large weights then has no
                // solution at small λ (`concave_penalties_do_not_hide_separable_classes`).
                if n < p && penalty != Penalty::Lasso && fraction < 0.4 {
                    continue;
                }
                let fit = sparse.fit(x.view(), &labels, 3, fraction * top).unwrap();
                let found = class_violation(&fit, &x, &labels, penalty);
                assert!(fit.converged && found < 1e-8, "{penalty:?} {n}x{p} at {fraction}: {found}");
                assert_eq!(fit.coefficients.iter().all(|&w| w == 0.0), fraction == 1.0);
            }
        }
    }
}

#[test]
fn a_class_path_is_continuous_and_equals_separate_fits() {
    let (x, labels) = classes(150, 10, 1.0, 11);
    let sparse = SparseMultinomial { tolerance: 1e-9, ..Default::default() };
    let top = sparse.lambda_max(x.view(), &labels, 3).unwrap();
    let lambdas: Vec<f64> = (0..30).map(|i| top * 0.85f64.powi(i)).collect();
    let path = sparse.path(x.view(), &labels, 3, &lambdas).unwrap();
    let alone = sparse.fit(x.view(), &labels, 3, lambdas[20]).unwrap();
    assert!((&alone.coefficients - &path[20].coefficients).iter().all(|d| d.abs() < 1e-4));
    for (w, l) in path.windows(2).zip(lambdas.windows(2)) {
        let step = (&w[0].coefficients - &w[1].coefficients).iter().fold(0.0f64, |a, d| a.max(d.abs()));
        // As for the linear path, with curvatures of at most a quarter: slopes stay below forty here, jumps would not.
        assert!(step < 40.0 * (l[0] - l[1]), "{step}");
    }
}

#[test]
fn separable_classes_converge_under_a_penalty_and_are_reported_without_one() {
    let x =
        Array2::from_shape_fn((40, 2), |(i, j)| if j == 0 { i as f64 / 10.0 - 2.0 } else { ((i * 7) as f64).sin() });
    let labels: Vec<usize> = (0..40).map(|i| usize::from(i >= 20)).collect();
    let penalised = SparseMultinomial::default().fit(x.view(), &labels, 2, 0.01).unwrap();
    assert!(penalised.converged && penalised.coefficients.iter().all(|w| w.is_finite()));
    let free = SparseMultinomial { tolerance: 1e-12, max_passes: 20, ..Default::default() };
    let fit = free.fit(x.view(), &labels, 2, 0.0).unwrap();
    assert!(!fit.converged && fit.coefficients.iter().all(|w| w.is_finite()));
    let right = fit.probabilities(x.view()).unwrap().outer_iter().zip(&labels).filter(|(p, c)| p[**c] > 0.5).count();
    assert_eq!(right, 40);
}

#[test]
fn concave_penalties_do_not_hide_separable_classes() {
    let (x, labels) = classes(60, 80, 1.5, 10);
    for penalty in [Penalty::SCAD, Penalty::MCP] {
        let largest = |max_passes: usize| {
            let sparse = SparseMultinomial { penalty, tolerance: 1e-9, max_passes, ..Default::default() };
            let top = sparse.lambda_max(x.view(), &labels, 3).unwrap();
            let fit = sparse.fit(x.view(), &labels, 3, 0.1 * top).unwrap();
            assert!(!fit.converged, "{penalty:?}");
            fit.coefficients.iter().fold(0.0f64, |a, w| a.max(w.abs())) / (0.1 * top)
        };
        // Weights beyond the flat point, 3.7 or 3 times λ, and still growing.
        let (early, late) = (largest(500), largest(2000));
        assert!(early > 3.7 && late > 1.05 * early, "{penalty:?}: {early} {late}");
    }
}

#[test]
fn bad_classes_are_refused_by_name() {
    let (x, mut labels) = classes(30, 4, 1.0, 12);
    let sparse = SparseMultinomial::default();
    let e = sparse.fit(x.view(), &labels, 4, 0.1).unwrap_err().to_string();
    assert!(e.contains("class 3 has no rows"), "{e}");
    assert!(sparse.fit(x.view(), &labels[1..], 3, 0.1).is_err());
    assert!(sparse.fit(x.view(), &labels, 1, 0.1).unwrap_err().to_string().contains("classes"));
    assert!(sparse.fit(x.view(), &labels, 3, -0.1).unwrap_err().to_string().contains("lambda"));
    labels[5] = 9;
    let e = sparse.fit(x.view(), &labels, 3, 0.1).unwrap_err().to_string();
    assert!(e.contains("row 5: label 9"), "{e}");
}

/// The K = 2 refit is textbook logistic regression: Var(ŵ) = (X̃ᵀ diag(p(1−p)) X̃)⁻¹ with the score at zero.
#[test]
fn a_binary_refit_is_the_textbook_logistic_regression() {
    let (x, labels) = classes(400, 4, 1.0, 5);
    let labels: Vec<usize> = labels.iter().map(|&l| usize::from(l == 0)).collect();
    let fit = SparseMultinomial::default().fit(x.view(), &labels, 2, 0.01).unwrap();
    let refit = fit.refit(x.view(), &labels, Refit::Ols).unwrap();
    assert!(refit.intercepts[1] == 0.0 && refit.rank == refit.parameters.len());
    let w = &refit.coefficients.row(0) - &refit.coefficients.row(1);
    let used: Vec<usize> = (0..4).filter(|&k| fit.coefficients.column(k).iter().any(|&w| w != 0.0)).collect();
    let design = ndarray::concatenate![Axis(1), Array2::ones((400, 1)), x.select(Axis(1), &used)];
    let p = (x.dot(&w) + refit.intercepts[0]).mapv(|f| 1.0 / (1.0 + (-f).exp()));
    let y: Array1<f64> = labels.iter().map(|&l| f64::from(u8::from(l == 0))).collect();
    let score = design.t().dot(&(&y - &p));
    assert!(score.iter().all(|s| s.abs() < 1e-4), "{score}");
    let weighted = &design * &p.mapv(|p| p * (1.0 - p)).insert_axis(Axis(1));
    let information = design.t().dot(&weighted);
    let z = array![0.4, -1.0, 0.7, 0.2];
    let mut point = vec![1.0];
    point.extend(used.iter().map(|&k| z[k]));
    let want = quadratic_form_of_inverse(&information, &Array1::from(point));
    let v = refit.logit_covariance(z.view()).unwrap();
    let got = v[[0, 0]] + v[[1, 1]] - 2.0 * v[[0, 1]];
    assert!((got / want - 1.0).abs() < 1e-6, "{got} {want}");
}

/// zᵀ A⁻¹ z by Gaussian elimination.
fn quadratic_form_of_inverse(a: &Array2<f64>, z: &Array1<f64>) -> f64 {
    let (mut a, mut b, n) = (a.clone(), z.clone(), z.len());
    for i in 0..n {
        for r in i + 1..n {
            let f = a[[r, i]] / a[[i, i]];
            for c in i..n {
                a[[r, c]] -= f * a[[i, c]];
            }
            b[r] -= f * b[i];
        }
    }
    for i in (0..n).rev() {
        for c in i + 1..n {
            let taken = a[[i, c]] * b[c];
            b[i] -= taken;
        }
        b[i] /= a[[i, i]];
    }
    z.dot(&b)
}

/// Var(ŵ) is the variance of ŵ over independent samples: standardised errors of a logit contrast have mean square 1.
#[test]
fn the_variance_of_a_multinomial_refit_is_that_over_samples() {
    let truth = array![[1.0, 0.0, -0.5], [0.0, 0.8, 0.0], [0.0, 0.0, 0.0]];
    let point = array![0.5, -0.5, 1.0];
    let (mut squares, replications) = (0.0, 300);
    for seed in 0..replications {
        let mut rng = Seed::new(900 + seed).rng();
        let x = Array2::from_shape_simple_fn((600, 3), || StandardNormal.sample(&mut rng));
        let p = Head::Multinomial.mean(x.dot(&truth.t()));
        let labels: Vec<usize> = p
            .outer_iter()
            .map(|p| {
                let u: f64 = rng.random();
                usize::from(u > p[0]) + usize::from(u > p[0] + p[1])
            })
            .collect();
        // The support is given, so that selection adds nothing of its own.
        let mut fit = SparseMultinomial::default().fit(x.view(), &labels, 3, 0.05).unwrap();
        fit.coefficients.assign(&truth);
        let refit = fit.refit(x.view(), &labels, Refit::Mls).unwrap();
        let f = refit.coefficients.dot(&point) + &refit.intercepts;
        let v = refit.logit_covariance(point.view()).unwrap();
        let want = truth.dot(&point);
        let error = (f[0] - f[1]) - (want[0] - want[1]);
        squares += error * error / (v[[0, 0]] + v[[1, 1]] - 2.0 * v[[0, 1]]);
    }
    let mean = squares / replications as f64;
    // Mean of 300 squares of nearly standard normals: sd √(2/300); maximum likelihood at n = 600 adds a few per cent.
    assert!((mean - 1.0).abs() < 4.5 * (2.0 / replications as f64).sqrt() + 0.05, "{mean}");
}

#[test]
fn dependent_supports_are_shared_or_refused_and_separated_classes_refused() {
    let (x, labels) = classes(300, 4, 1.0, 6);
    let doubled = ndarray::concatenate![Axis(1), x, x.select(Axis(1), &[0])];
    let mut fit = SparseMultinomial::default().fit(doubled.view(), &labels, 3, 0.01).unwrap();
    // Both copies of the first column are on the support of the first class, one of them on the second's.
    fit.coefficients[[0, 0]] = 0.3;
    fit.coefficients[[0, 4]] = 0.2;
    let e = fit.refit(doubled.view(), &labels, Refit::Ols).unwrap_err();
    assert!(matches!(e, Error::DependentSupport { .. }) && e.to_string().contains("Mls"), "{e}");
    let refit = fit.refit(doubled.view(), &labels, Refit::Mls).unwrap();
    assert!(refit.rank < refit.parameters.len());
    let mut single = fit.clone();
    single.coefficients[[0, 4]] = 0.0;
    let one = single.refit(doubled.view(), &labels, Refit::Mls).unwrap();
    let row = doubled.row(7);
    let (a, b) = (refit.logit_covariance(row).unwrap(), one.logit_covariance(row).unwrap());
    assert!((&a - &b).iter().all(|d| d.abs() < 1e-6 * a.diag().sum()), "{a} {b}");
    let f = |r: &MultinomialRefit| r.coefficients.dot(&row) + &r.intercepts;
    assert!((f(&refit) - f(&one)).iter().all(|d| d.abs() < 1e-5));

    // Separated completely, and only in one direction among noise.
    let wide: Vec<usize> = x.column(0).iter().map(|&v| usize::from(v > 0.0)).collect();
    let fit = SparseMultinomial::default().fit(x.view(), &wide, 2, 0.02).unwrap();
    for refit in [Refit::Ols, Refit::Mls] {
        assert!(matches!(fit.refit(x.view(), &wide, refit), Err(Error::Separable)));
    }
    let mut rng = Seed::new(8).rng();
    let mut part = x.clone();
    part.column_mut(1).mapv_inplace(|v| f64::from(u8::from(v > 1.0)));
    let quasi: Vec<usize> =
        part.outer_iter().map(|r| if r[1] == 1.0 { 1 } else { usize::from(rng.random::<f64>() > 0.5) }).collect();
    let fit = SparseMultinomial::default().fit(part.view(), &quasi, 2, 1e-3).unwrap();
    for refit in [Refit::Ols, Refit::Mls] {
        assert!(matches!(fit.refit(part.view(), &quasi, refit), Err(Error::Separable)));
    }
    assert!(fit.refit(x.slice(ndarray::s![.., ..2]), &quasi, Refit::Mls).is_err());
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
    let (x, labels) = classes(300, 4, 1.0, 6);
    let sparse = SparseMultinomial { tolerance: 1e-9, ..SparseMultinomial::default() };
    let cold = sparse.fit(x.view(), &labels, 3, 0.02).unwrap();
    let near = sparse.fit(x.view(), &labels, 3, 0.01).unwrap();
    let start = (near.coefficients.view(), near.intercepts.view());
    let warm = sparse.fit_from(x.view(), &labels, 3, 0.02, start).unwrap();
    let (a, b) = (cold.probabilities(x.view()).unwrap(), warm.probabilities(x.view()).unwrap());
    assert!((a - b).iter().all(|d| d.abs() < 1e-6));
}
