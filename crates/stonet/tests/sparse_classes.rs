//! Sparse multinomial regressions: optimality of every penalty, offsets, classes without rows, and the refit on the
//! support.

use ndarray::{Array1, Array2, Axis, array};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use stonet::network::Likelihood;
use stonet::rows::Standardizer;
use stonet::sparse::{MultinomialFit, MultinomialRefit, Refit, SparseMultinomial};
use stonet::*;

const PENALTIES: [Penalty; 3] = [Penalty::Lasso, Penalty::SCAD, Penalty::MCP];

/// Three classes whose logits are linear in four of the columns; standardised columns.
fn classes(n: usize, p: usize, scale: f64, seed: u64) -> (Array2<f64>, Vec<usize>) {
    let mut draws = StandardNormal.sample_iter(Seed::new(seed).rng());
    let mut next = || -> f64 { draws.next().unwrap() };
    let x = Array2::from_shape_simple_fn((n, p), &mut next);
    let labels = x
        .outer_iter()
        .map(|r| {
            let z = [scale * (r[0] - r[1]), scale * r[2], scale * (0.5 * r[3] - r[0])];
            // The largest of logits with Gumbel noise is a draw from their softmax; −ln of a squared pair of normals is
            // one.
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
                // With more columns than rows the classes separate; a penalty that is flat for large weights then has
                // no solution at small λ (`concave_penalties_do_not_hide_separable_classes`).
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
    let point = Array1::from(point);
    let want = point.dot(&solve(&information, &point));
    let v = refit.logit_covariance(z.view()).unwrap();
    let got = v[[0, 0]] + v[[1, 1]] - 2.0 * v[[0, 1]];
    assert!((got / want - 1.0).abs() < 1e-6, "{got} {want}");
}

/// A⁻¹ z by Gaussian elimination.
fn solve(a: &Array2<f64>, z: &Array1<f64>) -> Array1<f64> {
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
    b
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
        let p = Likelihood::Multinomial.mean(x.dot(&truth.t()));
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
fn a_warm_start_ends_at_the_same_lasso_of_classes() {
    let (x, labels) = classes(300, 4, 1.0, 6);
    let sparse = SparseMultinomial { tolerance: 1e-9, ..SparseMultinomial::default() };
    let cold = sparse.fit(x.view(), &labels, 3, 0.02).unwrap();
    let near = sparse.fit(x.view(), &labels, 3, 0.01).unwrap();
    let start = (near.coefficients.view(), near.intercepts.view());
    let warm = sparse.fit_from(x.view(), &labels, 3, 0.02, start).unwrap();
    let (a, b) = (cold.probabilities(x.view()).unwrap(), warm.probabilities(x.view()).unwrap());
    assert!((a - b).iter().all(|d| d.abs() < 1e-6));
}

/// The gradient of the mean loss with an offset, by central differences in one coefficient or (column none) an
/// intercept.
fn slope_with_offset(
    fit: &MultinomialFit,
    x: &Array2<f64>,
    labels: &[usize],
    offset: &Array2<f64>,
    at: (usize, Option<usize>),
) -> f64 {
    let loss = |d: f64| {
        let mut moved = fit.clone();
        match at {
            (class, Some(k)) => moved.coefficients[[class, k]] += d,
            (class, None) => moved.intercepts[class] += d,
        }
        let p = Likelihood::Multinomial.mean(offset + &moved.logits(x.view()).unwrap());
        labels.iter().enumerate().map(|(i, &c)| -p[[i, c]].ln()).sum::<f64>() / labels.len() as f64
    };
    (loss(1e-5) - loss(-1e-5)) / 2e-5
}

#[test]
fn a_fit_with_an_offset_is_optimal_beside_it() {
    let (x, labels) = classes(200, 6, 1.0, 13);
    let offset = Array2::from_shape_fn((200, 3), |(i, c)| ((i * 3 + c) as f64 * 0.77).sin() + 0.5 * x[[i, c]]);
    for penalty in PENALTIES {
        let sparse = SparseMultinomial { penalty, tolerance: 1e-8, max_passes: 20_000, ..Default::default() };
        let top = sparse.lambda_max_with_offset(x.view(), &labels, 3, offset.view()).unwrap();
        let lambdas = [1.001 * top, 0.999 * top, 0.3 * top];
        let path = sparse.path_with_offset(x.view(), &labels, 3, offset.view(), &lambdas).unwrap();
        assert!(path[0].coefficients.iter().all(|&w| w == 0.0));
        assert!(path[1].coefficients.iter().any(|&w| w != 0.0));
        for fit in &path {
            assert!(fit.converged);
            for class in 0..3 {
                assert!(slope_with_offset(fit, &x, &labels, &offset, (class, None)).abs() < 1e-7);
                for k in 0..6 {
                    let (w, g) =
                        (fit.coefficients[[class, k]], -slope_with_offset(fit, &x, &labels, &offset, (class, Some(k))));
                    let violation = match w {
                        0.0 => (g.abs() - fit.lambda).max(0.0),
                        w => (g - penalty.derivative(w, fit.lambda) * w.signum()).abs(),
                    };
                    assert!(violation < 1e-7, "{penalty:?}, class {class}, column {k}: {violation}");
                }
            }
        }
    }
    let sparse = SparseMultinomial::default();
    for bad in [Array2::zeros((199, 3)), Array2::zeros((200, 2)), Array2::from_elem((200, 3), f64::NAN)] {
        let e = sparse.path_with_offset(x.view(), &labels, 3, bad.view(), &[0.1]).unwrap_err().to_string();
        assert!(e.contains("offset"), "{e}");
    }
}

/// Without a penalty an offset that the columns can express changes the coefficients by its own, up to a shift common
/// to all classes.
#[test]
fn a_linear_offset_is_taken_out_of_the_solution() {
    let (x, labels) = classes(300, 4, 1.0, 14);
    let w = array![[0.5, -0.2, 0.0, 0.3], [0.0, 0.4, -0.6, 0.0], [0.1, 0.0, 0.2, -0.3]];
    let offset = x.dot(&w.t());
    let sparse = SparseMultinomial { tolerance: 1e-10, ..Default::default() };
    let plain = sparse.fit(x.view(), &labels, 3, 0.0).unwrap();
    let beside = sparse.path_with_offset(x.view(), &labels, 3, offset.view(), &[0.0]).unwrap().remove(0);
    assert!(plain.converged && beside.converged);
    let centred = |z: Array2<f64>| &z - &z.mean_axis(Axis(1)).unwrap().insert_axis(Axis(1));
    let (a, b) = (centred(plain.logits(x.view()).unwrap()), centred(offset + beside.logits(x.view()).unwrap()));
    assert!((a - b).iter().all(|d| d.abs() < 1e-7));
}

#[test]
fn a_class_without_rows_changes_nothing_for_the_others() {
    let (x, labels) = classes(150, 5, 1.0, 15);
    let gap: Vec<usize> = labels.iter().map(|&c| if c == 0 { 0 } else { c + 1 }).collect();
    let offset = Array2::from_shape_fn((150, 4), |(i, c)| ((i * 5 + c) as f64 * 0.37).cos());
    let without = offset.select(Axis(1), &[0, 2, 3]);
    for penalty in PENALTIES {
        let sparse = SparseMultinomial { penalty, tolerance: 1e-9, max_passes: 20_000, ..Default::default() };
        let fits = [
            (sparse.fit(x.view(), &labels, 3, 0.05), sparse.fit(x.view(), &gap, 4, 0.05)),
            (
                sparse.path_with_offset(x.view(), &labels, 3, without.view(), &[0.05]).map(|mut p| p.remove(0)),
                sparse.path_with_offset(x.view(), &gap, 4, offset.view(), &[0.05]).map(|mut p| p.remove(0)),
            ),
        ];
        for (with_offset, (three, four)) in fits.into_iter().enumerate() {
            let (three, four) = (three.unwrap(), four.unwrap());
            assert!(four.converged && four.coefficients.row(1).iter().all(|&w| w == 0.0));
            assert_eq!(three.coefficients, four.coefficients.select(Axis(0), &[0, 2, 3]));
            assert_eq!(three.intercepts, four.intercepts.select(Axis(0), &[0, 2, 3]));
            // Half a row in all, counted by its odds against the others.
            let p = Likelihood::Multinomial.mean(with_offset as f64 * &offset + &four.logits(x.view()).unwrap());
            let odds: f64 = p.column(1).iter().map(|p| p / (1.0 - p)).sum();
            assert!((odds - 0.5).abs() < 1e-9, "{odds}");
        }
    }
    let e = SparseMultinomial::default().fit(x.view(), &[2; 150], 4, 0.1).unwrap_err().to_string();
    assert!(e.contains("`2` is the only class"), "{e}");
    let none = Array2::zeros((0, 5));
    assert!(SparseMultinomial::default().fit(none.view(), &[], 3, 0.1).is_err());
}

/// Two classes are logistic regression: without a penalty the difference of their weights is the one that Newton's
/// method finds; with one, the weights are opposite and the gradient in their difference is λ where it is not zero.
#[test]
fn two_classes_are_logistic_regression() {
    let (x, labels) = classes(300, 4, 1.0, 16);
    let labels: Vec<usize> = labels.iter().map(|&c| usize::from(c == 0)).collect();
    let y: Array1<f64> = labels.iter().map(|&c| c as f64).collect();
    let design = ndarray::concatenate![Axis(1), Array2::ones((300, 1)), x];
    let expit = |f: Array1<f64>| f.mapv(|f| 1.0 / (1.0 + (-f).exp()));
    let mut newton = Array1::<f64>::zeros(5);
    for _ in 0..20 {
        let p = expit(design.dot(&newton));
        let information = design.t().dot(&(&design * &p.mapv(|p| p * (1.0 - p)).insert_axis(Axis(1))));
        newton += &solve(&information, &design.t().dot(&(&y - &p)));
    }
    let sparse = SparseMultinomial { tolerance: 1e-10, ..Default::default() };
    let difference = |fit: &MultinomialFit| {
        let mut w = vec![fit.intercepts[1] - fit.intercepts[0]];
        w.extend(&fit.coefficients.row(1) - &fit.coefficients.row(0));
        Array1::from(w)
    };
    let free = sparse.fit(x.view(), &labels, 2, 0.0).unwrap();
    assert!((difference(&free) - &newton).iter().all(|d| d.abs() < 1e-6));
    let lambda = 0.04;
    let fit = sparse.fit(x.view(), &labels, 2, lambda).unwrap();
    let w = difference(&fit);
    let gradient = design.t().dot(&(&y - &expit(design.dot(&w)))) / 300.0;
    assert!(gradient[0].abs() < 1e-9 && w.iter().any(|&w| w == 0.0));
    for k in 1..5 {
        let wanted = if w[k] == 0.0 { gradient[k].clamp(-lambda, lambda) } else { lambda * w[k].signum() };
        assert!((gradient[k] - wanted).abs() < 1e-9, "column {k}");
        assert!(fit.coefficients[[0, k - 1]] * fit.coefficients[[1, k - 1]] <= 0.0);
    }
}
