//! Intervals for class probabilities: the textbook's where there is one, coverage over independent replications, and
//! honest refusals.

use ndarray::{Array1, Array2, Axis};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use stonet::classification::{Covariance, IntervalScale, SkipSettings, Trust};
use stonet::network::Likelihood;
use stonet::*;

/// What is to be learned about the logits z.
#[derive(Clone, Copy)]
enum Truth {
    /// softmax(z / 2).
    Temperature,
    /// A slope and an intercept per class.
    Vector,
    /// softmax(z/2 + b + Wz) on centred z, sparse W.
    Linear,
}

/// Logits, the true probabilities, and labels drawn from them.
fn sample(truth: Truth, classes: usize, rows: usize, seed: Seed) -> (Array2<f64>, Array2<f64>, Vec<usize>) {
    let mut rng = seed.rng();
    let z = Array2::from_shape_simple_fn((rows, classes), || {
        let draw: f64 = StandardNormal.sample(&mut rng);
        2.5 * draw
    });
    let centred = &z - &z.mean_axis(Axis(1)).unwrap().insert_axis(Axis(1));
    let bias = |k: usize| 0.4 * (1.3 * k as f64).sin();
    let f = Array2::from_shape_fn((rows, classes), |(i, k)| match truth {
        Truth::Temperature => 0.5 * z[[i, k]],
        Truth::Vector => (0.4 + 0.1 * k as f64) * z[[i, k]] + bias(k),
        Truth::Linear => 0.5 * z[[i, k]] + bias(k) + 0.125 * (k % 2) as f64 * centred[[i, (k + 1) % classes]],
    });
    let p = Likelihood::Multinomial.mean(f);
    let draw = |p: ndarray::ArrayView1<'_, f64>| {
        let mut left: f64 = rng.random();
        p.iter().position(|p| (left -= p, left < 0.0).1).unwrap_or(classes - 1)
    };
    let labels = p.outer_iter().map(draw).collect();
    (z, p, labels)
}

fn rows<'a>(z: &'a Array2<f64>, labels: &'a [usize]) -> ClassRows<'a> {
    ClassRows::new(ClassInputs::logits(z.view()).unwrap(), labels, z.ncols()).unwrap()
}

fn fit(method: ClassMethod, rows: &ClassRows<'_>) -> FittedClassifier {
    quick(method).fit(rows, Seed::new(5), &|_, _| true).unwrap()
}

/// One κ and few units: tests of intervals need no choice.
fn quick(method: ClassMethod) -> PostStoNetClassifier {
    let skip = SkipSettings { hidden: 30, kappas: Some(vec![1e-3]), ..Default::default() };
    PostStoNetClassifier { method, skip, ..Default::default() }
}

fn level() -> Level {
    Level::new(0.95).unwrap()
}

/// Mean coverage of the true probabilities at 95 %, and its standard error with a replication as the unit.
fn coverage(method: ClassMethod, truth: Truth, n: usize, replications: u64) -> (f64, f64) {
    let one = |r: u64| {
        let seed = Seed::new(2026).child(r);
        let (z, _, labels) = sample(truth, 3, n, seed.child(0));
        let (z_new, p, _) = sample(truth, 3, 50, seed.child(1));
        let rows = rows(&z, &labels);
        let fitted = quick(method).fit(&rows, seed.child(2), &|_, _| true).unwrap();
        let covariance = ProbabilityCovariance::fit(&fitted, &rows, Wald::default()).unwrap();
        let found = covariance.intervals(&fitted, &ClassInputs::logits(z_new.view()).unwrap(), level()).unwrap();
        let inside = p.indexed_iter().filter(|(at, p)| (found.lower[*at]..=found.upper[*at]).contains(*p));
        inside.count() as f64 / p.len() as f64
    };
    let each: Array1<f64> = (0..replications).into_par_iter().map(one).collect::<Vec<f64>>().into();
    (each.mean().unwrap(), each.std(1.0) / (replications as f64).sqrt())
}

#[test]
fn maximum_likelihood_covers_the_true_probabilities() {
    for (method, truth) in [
        (ClassMethod::Temperature, Truth::Temperature),
        (ClassMethod::Vector, Truth::Temperature),
        (ClassMethod::Vector, Truth::Vector),
        (ClassMethod::Matrix, Truth::Linear),
    ] {
        let (found, error) = coverage(method, truth, 1000, 300);
        assert!((found - 0.95).abs() < 4.5 * error, "{method}: {found} ± {error}");
    }
}

/// A penalty biases, which no variance knows: 88 % is the least that simulations of the design have shown. Early
/// stopping is undersmoothed, so where the correction is learned well the intervals are too long rather than too short.
#[test]
fn penalised_and_early_stopped_fits_cover_nearly() {
    for (method, replications) in [
        (ClassMethod::SkipLinear, 100),
        (ClassMethod::PostLinear, 100),
        (ClassMethod::Skip, 20),
        (ClassMethod::SkipProb, 20),
        (ClassMethod::Stack, 10),
    ] {
        let (found, error) = coverage(method, Truth::Linear, 1000, replications);
        println!("{method}: {found:.3} ± {error:.3}");
        assert!(found > 0.88, "{method}: {found} ± {error}");
    }
}

/// The inverse of a small positive definite matrix by elimination.
fn inverse(mut a: Array2<f64>) -> Array2<f64> {
    let n = a.nrows();
    let mut b = Array2::eye(n);
    for i in 0..n {
        let pivot = a[[i, i]];
        a.row_mut(i).mapv_inplace(|v| v / pivot);
        b.row_mut(i).mapv_inplace(|v| v / pivot);
        for j in (0..n).filter(|&j| j != i) {
            let (factor, row_a, row_b) = (a[[j, i]], a.row(i).to_owned(), b.row(i).to_owned());
            a.row_mut(j).scaled_add(-factor, &row_a);
            b.row_mut(j).scaled_add(-factor, &row_b);
        }
    }
    b
}

#[test]
fn two_classes_give_the_textbook_interval_of_a_logistic_regression() {
    let (z, _, labels) = sample(Truth::Vector, 2, 400, Seed::new(1));
    // logit p_1 = (b_1 − b_0) + w_1 z_1 − w_0 z_0: three parameters that the labels determine.
    let x = ndarray::concatenate![Axis(1), Array2::ones((400, 1)), z];
    let y: Array1<f64> = labels.iter().map(|&l| l as f64).collect();
    let mut beta = Array1::<f64>::zeros(3);
    let mut covariance = Array2::eye(3);
    for _ in 0..30 {
        let p = x.dot(&beta).mapv(|f| 1.0 / (1.0 + (-f).exp()));
        let weight = p.mapv(|p| p * (1.0 - p)).insert_axis(Axis(1));
        covariance = inverse(x.t().dot(&(&x * &weight)));
        beta = beta + covariance.dot(&x.t().dot(&(&y - &p)));
    }
    let rows = rows(&z, &labels);
    let fitted = fit(ClassMethod::Vector, &rows);
    let of = ProbabilityCovariance::fit(&fitted, &rows, Wald::default()).unwrap();
    assert!((of.degrees_of_freedom()[0] - 3.0).abs() < 1e-4 && of.trust() == Trust::Likelihood);
    let found = of.intervals(&fitted, &rows.inputs(), level()).unwrap();
    let plain = of.intervals_on(IntervalScale::Probability, &fitted, &rows.inputs(), level()).unwrap();
    for (i, x) in x.outer_iter().enumerate() {
        let (f, sd) = (x.dot(&beta), x.dot(&covariance.dot(&x)).sqrt());
        let expit = |f: f64| 1.0 / (1.0 + (-f).exp());
        // The fit stops at a gradient of 1e-4, some 1e-3 from the maximum in every parameter.
        let close = |a: f64, b: f64| (a - b).abs() < 3e-3;
        assert!(close(found.lower[[i, 1]], expit(f - 1.959964 * sd)), "row {i}");
        assert!(close(found.upper[[i, 1]], expit(f + 1.959964 * sd)), "row {i}");
        let (p, half) = (expit(f), 1.959964 * sd * expit(f) * expit(-f));
        assert!(close(plain.lower[[i, 1]], (p - half).max(0.0)) && close(plain.upper[[i, 1]], (p + half).min(1.0)));
        // Two classes have one probability.
        assert!((found.lower[[i, 0]] + found.upper[[i, 1]] - 1.0).abs() < 1e-9);
        assert!((found.probability[[i, 1]] - fitted.probabilities(&rows.inputs()).unwrap()[[i, 1]]).abs() < 1e-12);
    }
}

#[test]
fn the_sandwich_agrees_with_the_information_where_the_model_is_right() {
    let (z, _, labels) = sample(Truth::Vector, 3, 4000, Seed::new(3));
    let rows = rows(&z, &labels);
    let fitted = fit(ClassMethod::Vector, &rows);
    let length = |covariance| {
        let of = ProbabilityCovariance::fit(&fitted, &rows, Wald { covariance, ..Wald::default() }).unwrap();
        let found = of.intervals(&fitted, &rows.inputs(), level()).unwrap();
        (found.upper - found.lower).mean().unwrap()
    };
    let (a, b) = (length(Covariance::Observed), length(Covariance::Sandwich));
    // Scores with a kurtosis of 10 give a variance a relative sd of √(9/n), a length half of it.
    assert!((a / b - 1.0).abs() < 4.5 * 0.5 * (9.0f64 / 4000.0).sqrt(), "{a} {b}");
}

#[test]
fn a_pool_of_twins_has_the_intervals_of_one_of_them() {
    let (z, _, labels) = sample(Truth::Vector, 3, 500, Seed::new(4));
    let rows = rows(&z, &labels);
    let one = fit(ClassMethod::Vector, &rows);
    // Written and read back as a pool of the same member twice.
    let mut text = serde_json::to_value(&one).unwrap();
    let (member, mut notes) = (text["model"]["pool"][0].clone(), text["notes"][0].clone());
    notes["weight"] = 0.5.into();
    text["model"]["pool"] = vec![member.clone(), member].into();
    text["notes"] = vec![notes.clone(), notes].into();
    let twins: FittedClassifier = serde_json::from_value(text).unwrap();
    for covariance in [Covariance::Observed, Covariance::Sandwich] {
        let wald = Wald { covariance, ..Wald::default() };
        let ends = |f: &FittedClassifier| {
            let of = ProbabilityCovariance::fit(f, &rows, wald).unwrap();
            of.intervals(f, &rows.inputs(), level()).unwrap()
        };
        let (a, b) = (ends(&one), ends(&twins));
        assert!((a.lower - b.lower).iter().chain(&(a.upper - b.upper)).all(|d| d.abs() < 1e-6), "{covariance:?}");
    }
}

#[test]
fn the_number_of_threads_and_a_file_change_nothing_and_another_classifier_is_refused() {
    let (z, _, labels) = sample(Truth::Linear, 3, 600, Seed::new(6));
    let rows = rows(&z, &labels);
    let fitted = fit(ClassMethod::Skip, &rows);
    let ends = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let of = ProbabilityCovariance::fit(&fitted, &rows, Wald::default()).unwrap();
            let found = of.intervals(&fitted, &rows.inputs(), level()).unwrap();
            (of, found)
        })
    };
    let ((of, found), again) = (ends(1), ends(3));
    assert!(of == again.0 && found == again.1);
    let text = serde_json::to_string(&of).unwrap();
    let read: ProbabilityCovariance = serde_json::from_str(&text).unwrap();
    let near = read.intervals(&fitted, &rows.inputs(), level()).unwrap();
    assert!((near.lower - &found.lower).iter().all(|d| d.abs() < 1e-9));
    let other = fit(ClassMethod::Temperature, &rows);
    let e = of.intervals(&other, &rows.inputs(), level()).unwrap_err();
    assert!(e.to_string().contains("another classifier"), "{e}");
    let broken = text.replacen("\"classes\":3,\"parameters\":[", "\"classes\":3,\"parameters\":[1,", 1);
    assert!(serde_json::from_str::<ProbabilityCovariance>(&broken).is_err());
    // Every weight free is wider than weights that training holds, and both contain the probability.
    let length = |training| {
        let of = ProbabilityCovariance::fit(&fitted, &rows, Wald { training, ..Wald::default() }).unwrap();
        let found = of.intervals(&fitted, &rows.inputs(), level()).unwrap();
        assert!(
            (&found.probability - &found.lower).iter().chain(&(&found.upper - &found.probability)).all(|d| *d >= 0.0)
        );
        (found.upper - found.lower).mean().unwrap()
    };
    assert!(length(0.0) > length(0.1) && length(0.1) > length(1.0));
}

#[test]
fn where_no_honest_interval_is_known_the_error_says_why() {
    let why = |z: &Array2<f64>, labels: &[usize], method: ClassMethod| {
        let rows = rows(z, labels);
        let fitted = fit(method, &rows);
        match ProbabilityCovariance::fit(&fitted, &rows, Wald::default()) {
            Err(e @ Error::NoInterval(_)) => e.to_string(),
            other => panic!("{method}: {other:?}"),
        }
    };
    let (z, _, labels) = sample(Truth::Linear, 3, 200, Seed::new(7));
    assert!(why(&z, &labels, ClassMethod::Isotonic).contains("step function"));
    assert!(why(&z, &labels, ClassMethod::None).contains("estimates nothing"));
    let two: Vec<usize> = labels.iter().map(|&l| l % 2).collect();
    assert!(why(&z, &two, ClassMethod::Temperature).contains("class 2 has no row"));
    let (few, _, few_labels) = sample(Truth::Linear, 3, 30, Seed::new(8));
    let text = why(&few, &few_labels, ClassMethod::Matrix);
    assert!(text.contains("`matrix` uses") && text.contains("of 30 rows"), "{text}");
    let (many, _, many_labels) = sample(Truth::Linear, 21, 2000, Seed::new(9));
    assert!(why(&many, &many_labels, ClassMethod::Temperature).contains("21 classes, and beyond 20"));
    let rows = rows(&z, &labels);
    let fitted = fit(ClassMethod::Temperature, &rows);
    let bad = Wald { training: 1.5, ..Wald::default() };
    assert!(matches!(ProbabilityCovariance::fit(&fitted, &rows, bad), Err(Error::Setting { name: "training", .. })));
}
