//! Calibrated classes as users meet them: every method on rows of known truth, absent classes, few classes, sets, saved
//! models.

use ndarray::{Array1, Array2, Axis, array};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use stonet::classification::SetScheme;
use stonet::conformal::SetScore;
use stonet::metrics::{ece, nll};
use stonet::network::Likelihood;
use stonet::{
    ClassInputs, ClassMethod, ClassRows, ClassSets, Error, FittedClassifier, Level, PostStoNetClassifier, Result, Seed,
};

/// Logits of a network that is three times too sure and leans to the first class, and classes drawn from the truth.
fn network(n: usize, k: usize, seed: u64) -> (Array2<f64>, Vec<usize>, Array2<f64>) {
    let mut rng = Seed::new(seed).rng();
    let scores = Array2::from_shape_simple_fn((n, k), || {
        let draw: f64 = StandardNormal.sample(&mut rng);
        1.5 * draw
    });
    let truth = Likelihood::Multinomial.mean(scores.clone());
    let labels = truth
        .outer_iter()
        .map(|p| {
            let mut u: f64 = rng.random();
            let drawn = p.iter().position(|&p| {
                u -= p;
                u < 0.0
            });
            drawn.unwrap_or(k - 1)
        })
        .collect();
    let mut logits = 3.0 * scores;
    logits.column_mut(0).mapv_inplace(|z| z + 2.0);
    (logits, labels, truth)
}

/// Short training: these tests ask what holds, not how well.
fn quick(method: ClassMethod) -> PostStoNetClassifier {
    let mut classifier = PostStoNetClassifier { method, paper_epochs: vec![20, 40], ..Default::default() };
    classifier.skip.hidden = 20;
    classifier.skip.asghmc.epochs = 20;
    classifier
}

fn fit(classifier: &PostStoNetClassifier, logits: &Array2<f64>, labels: &[usize]) -> Result<FittedClassifier> {
    let rows = ClassRows::new(ClassInputs::logits(logits.view())?, labels, logits.ncols())?;
    classifier.fit(&rows, Seed::new(1), &|_, _| true)
}

fn probabilities(fitted: &FittedClassifier, logits: &Array2<f64>) -> Array2<f64> {
    fitted.probabilities(&ClassInputs::logits(logits.view()).unwrap()).unwrap()
}

#[test]
fn every_method_gives_probabilities_and_is_the_same_after_saving() {
    let (logits, labels, _) = network(600, 4, 1);
    let (new, truth, _) = network(2000, 4, 2);
    let raw = nll(Likelihood::Multinomial.mean(new.clone()).view(), &truth).unwrap();
    for method in ClassMethod::possible(4, false) {
        let fitted = fit(&quick(method), &logits, &labels).unwrap();
        let p = probabilities(&fitted, &new);
        assert!(p.iter().all(|p| (0.0..=1.0 + 1e-12).contains(p)), "{method}");
        assert!((p.sum_axis(Axis(1)) - 1.0).iter().all(|d| d.abs() < 1e-9), "{method}");
        let loss = nll(p.view(), &truth).unwrap();
        assert!(if method == ClassMethod::None { loss == raw } else { loss < 0.8 * raw }, "{method}: {loss} of {raw}");
        let saved = serde_json::to_string(&fitted).unwrap();
        let back: FittedClassifier = serde_json::from_str(&saved).unwrap();
        assert_eq!(probabilities(&back, &new), p, "{method}");
        // A row's probabilities do not depend on the rows beside it (products of other sizes may round differently).
        let alone = probabilities(&fitted, &new.select(Axis(0), &[17]));
        assert!((&alone.row(0) - &p.row(17)).iter().all(|d| d.abs() < 1e-12), "{method}");
        let weights: f64 = fitted.notes().iter().map(|n| n.weight).sum();
        assert!((weights - 1.0).abs() < 1e-9, "{method}");
    }
}

#[test]
fn the_default_finds_what_temperature_scaling_cannot() {
    let (logits, labels, _) = network(2000, 3, 3);
    let (new, truth, p) = network(20_000, 3, 4);
    let loss = |m: ClassMethod| {
        let q = probabilities(
            &fit(&PostStoNetClassifier { method: m, ..Default::default() }, &logits, &labels).unwrap(),
            &new,
        );
        (nll(q.view(), &truth).unwrap(), ece(q.view(), &truth, 15).unwrap())
    };
    let ((temperature, _), (stack, error)) = (loss(ClassMethod::Temperature), loss(ClassMethod::Stack));
    let best = nll(p.view(), &truth).unwrap();
    // The lean to the first class costs temperature scaling far more than 2000 rows leave uncertain: q/2n for about 8
    // parameters.
    assert!(stack < temperature - 0.02, "{stack} against {temperature}");
    assert!(stack - best < 4.5 * 8.0 / (2.0 * 2000.0), "{stack} against {best}");
    assert!(error < 0.03, "{error}");
}

#[test]
fn logits_and_log_probabilities_are_the_same_to_the_skip_forms() {
    let (logits, labels, _) = network(300, 3, 5);
    let logs = Likelihood::Multinomial.mean(logits.clone()).mapv(f64::ln);
    for method in [ClassMethod::Temperature, ClassMethod::Skip, ClassMethod::SkipProb, ClassMethod::SkipLinear] {
        let a = probabilities(&fit(&quick(method), &logits, &labels).unwrap(), &logits);
        let b = probabilities(&fit(&quick(method), &logs, &labels).unwrap(), &logs);
        // Training runs in single precision.
        assert!((a - b).iter().all(|d| d.abs() < 2e-3), "{method}");
    }
}

/// P(class 1) by a logistic regression on both logits, fitted by Newton's method alone.
fn logistic(logits: &Array2<f64>, labels: &[usize]) -> Array1<f64> {
    let x = ndarray::concatenate![Axis(1), logits.view(), Array2::ones((logits.nrows(), 1))];
    let mut beta = Array1::<f64>::zeros(3);
    for _ in 0..50 {
        let p = x.dot(&beta).mapv(|f| 1.0 / (1.0 + (-f).exp()));
        let y: Array1<f64> = labels.iter().map(|&l| l as f64).collect();
        let gradient = x.t().dot(&(&y - &p));
        let w = p.mapv(|p| p * (1.0 - p)).insert_axis(Axis(1));
        let h = x.t().dot(&(&x * &w));
        beta += &solve3(&h, &gradient);
    }
    x.dot(&beta).mapv(|f| 1.0 / (1.0 + (-f).exp()))
}

/// Cramer's rule.
fn solve3(a: &Array2<f64>, b: &Array1<f64>) -> Array1<f64> {
    let det = |m: &Array2<f64>| {
        m[[0, 0]] * (m[[1, 1]] * m[[2, 2]] - m[[1, 2]] * m[[2, 1]])
            - m[[0, 1]] * (m[[1, 0]] * m[[2, 2]] - m[[1, 2]] * m[[2, 0]])
            + m[[0, 2]] * (m[[1, 0]] * m[[2, 1]] - m[[1, 1]] * m[[2, 0]])
    };
    (0..3)
        .map(|j| {
            let mut swapped = a.clone();
            swapped.column_mut(j).assign(b);
            det(&swapped) / det(a)
        })
        .collect()
}

#[test]
fn two_classes_are_logistic_regression() {
    let (logits, labels, _) = network(800, 2, 6);
    let matrix = probabilities(&fit(&quick(ClassMethod::Matrix), &logits, &labels).unwrap(), &logits);
    let exact = logistic(&logits, &labels);
    let worst = (&matrix.column(1) - &exact).iter().fold(0.0f64, |a, d| a.max(d.abs()));
    assert!(worst < 2e-4, "{worst}");
    // Two logits carry one number, so a slope and an intercept per class are the same model for centred ones.
    let centred = &logits - &logits.mean_axis(Axis(1)).unwrap().insert_axis(Axis(1));
    let vector = probabilities(&fit(&quick(ClassMethod::Vector), &centred, &labels).unwrap(), &centred);
    let f: Array1<f64> = vector.column(1).mapv(|p| (p / (1.0 - p)).ln());
    // The log-odds are a straight line in the difference of the logits.
    let d = &centred.column(1) - &centred.column(0);
    let (a, b) = ((f[1] - f[0]) / (d[1] - d[0]), f[0] - (f[1] - f[0]) / (d[1] - d[0]) * d[0]);
    assert!(f.iter().zip(&d).all(|(f, d)| (f - a * d - b).abs() < 1e-6));
}

#[test]
fn a_class_without_rows_or_with_a_single_one_is_no_obstacle() {
    let (logits, mut labels, _) = network(400, 5, 7);
    labels.iter_mut().filter(|l| **l == 3).for_each(|l| *l = 0);
    labels[11] = 4;
    let first = labels.iter().position(|&l| l == 4).unwrap();
    labels.iter_mut().enumerate().filter(|(i, l)| **l == 4 && *i != first).for_each(|(_, l)| *l = 1);
    for method in ClassMethod::possible(4, false) {
        let fitted = fit(&quick(method), &logits, &labels).unwrap();
        assert_eq!(fitted.absent_classes(), [3], "{method}");
        let p = probabilities(&fitted, &logits);
        assert!(p.iter().all(|p| p.is_finite()) && p.column(3).iter().all(|p| *p > 0.0), "{method}");
    }
}

#[test]
fn features_alone_do_for_the_methods_that_make_their_own_logits() {
    let (features, labels, _) = network(400, 3, 8);
    let rows = ClassRows::new(ClassInputs::features(features.view()).unwrap(), &labels, 3).unwrap();
    for method in ClassMethod::ALL {
        let fitted = quick(method).fit(&rows, Seed::new(1), &|_, _| true);
        if method.needs_logits() {
            assert!(matches!(fitted, Err(Error::NoLogits { .. })), "{method}");
        } else {
            let p = fitted.unwrap().probabilities(&ClassInputs::features(features.view()).unwrap()).unwrap();
            assert!(nll(p.view(), &labels).unwrap() < 0.9, "{method}");
        }
    }
    let fitted = quick(ClassMethod::PostLinear).fit(&rows, Seed::new(1), &|_, _| true).unwrap();
    let e = fitted.probabilities(&ClassInputs::logits(features.view()).unwrap()).unwrap_err();
    assert!(matches!(e, Error::NoFeatures { columns: 3 }), "{e}");
}

#[test]
fn settings_and_rows_that_make_no_sense_are_refused() {
    let (logits, labels, _) = network(60, 3, 9);
    let e = fit(&quick(ClassMethod::Stack), &logits, &vec![1; 60]).unwrap_err();
    assert!(e.to_string().contains("`1` is the only class"), "{e}");
    let e = fit(&quick(ClassMethod::VennAbers), &logits, &labels).unwrap_err();
    assert!(e.to_string().contains("2 for Venn-Abers prediction"), "{e}");
    let e = fit(&quick(ClassMethod::SkipFeatures), &logits, &labels).unwrap_err();
    assert!(e.to_string().contains("skip-features learns from features"), "{e}");
    let members = Some(vec![ClassMethod::Stack]);
    assert!(fit(&PostStoNetClassifier { members, ..Default::default() }, &logits, &labels).is_err());
    assert!(fit(&PostStoNetClassifier { folds: Some(1), ..Default::default() }, &logits, &labels).is_err());
    assert!(fit(&PostStoNetClassifier { folds: Some(40), ..Default::default() }, &logits, &labels).is_err());
    let e = fit(&quick(ClassMethod::Temperature), &logits, &labels)
        .unwrap()
        .probabilities(&ClassInputs::logits(array![[0.0, 1.0]].view()).unwrap())
        .unwrap_err();
    assert_eq!(e.to_string(), "logit columns, one per class: expected 3, found 2");
    let stop = |done: usize, _: usize| done < 2;
    let rows = ClassRows::new(ClassInputs::logits(logits.view()).unwrap(), &labels, 3).unwrap();
    let e = quick(ClassMethod::Stack).fit(&rows, Seed::new(1), &stop).unwrap_err();
    assert!(matches!(e, Error::Cancelled(_)), "{e}");
}

#[test]
fn perfect_and_senseless_networks_have_probabilities() {
    let labels: Vec<usize> = (0..90).map(|i| i % 3).collect();
    let right = Array2::from_shape_fn((90, 3), |(i, k)| if i % 3 == k { 8.0 + (i % 7) as f64 } else { (i % 5) as f64 });
    let flat = Array2::zeros((90, 3));
    for logits in [right, flat] {
        for method in ClassMethod::possible(4, false) {
            let p = probabilities(&fit(&quick(method), &logits, &labels).unwrap(), &logits);
            assert!(p.iter().all(|p| p.is_finite()), "{method}");
        }
    }
}

#[test]
fn two_classes_have_an_interval_of_their_own_by_venn_abers() {
    let (logits, labels, _) = network(500, 2, 11);
    let (new, truth, _) = network(4000, 2, 12);
    let fitted = fit(&quick(ClassMethod::VennAbers), &logits, &labels).unwrap();
    let inputs = ClassInputs::logits(new.view()).unwrap();
    let (p, ends) = (fitted.probabilities(&inputs).unwrap(), fitted.venn_abers(&inputs).unwrap().unwrap());
    for (p, ends) in p.outer_iter().zip(ends.outer_iter()) {
        assert!((p[1] - ends[1] / (1.0 - ends[0] + ends[1])).abs() < 1e-12 && (p.sum() - 1.0).abs() < 1e-12);
        assert!(ends[0] < ends[1] && ends[0] <= p[1] && p[1] <= ends[1]);
    }
    // The end under the row's own label is calibrated: its mean is that of the label.
    let own: Vec<f64> = truth.iter().zip(ends.outer_iter()).map(|(&l, ends)| l as f64 - ends[l]).collect();
    let (mean, sd) = stonet::metrics::mean_sd(&own);
    // The 500 calibration rows move the mean by their own error, √(500/4000) times smaller on the test rows.
    assert!(mean.abs() < 4.5 * sd * (1.0 / 500.0 + 1.0 / 4000f64).sqrt(), "{mean} {sd}");
    let back: FittedClassifier = serde_json::from_str(&serde_json::to_string(&fitted).unwrap()).unwrap();
    assert_eq!(back.probabilities(&inputs).unwrap(), p);
    assert!(fit(&quick(ClassMethod::Vector), &logits, &labels).unwrap().venn_abers(&inputs).unwrap().is_none());
}

#[test]
fn a_stack_of_many_classes_tells_what_it_leaves_out() {
    let (logits, labels, _) = network(600, 201, 13);
    let mut quick = quick(ClassMethod::Stack);
    quick.skip.hidden = 4;
    quick.skip.asghmc.epochs = 4;
    let fitted = fit(&quick, &logits, &labels).unwrap();
    let [sms, linear] = fitted.left_out() else { panic!("{:?}", fitted.left_out()) };
    assert!(sms.to_string().starts_with("sms is left out of the stack"), "{sms}");
    assert_eq!((linear.method, linear.limit), (ClassMethod::PostLinear, 100));
    let back: FittedClassifier = serde_json::from_str(&serde_json::to_string(&fitted).unwrap()).unwrap();
    assert_eq!(back.left_out(), fitted.left_out());
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let (logits, labels, _) = network(300, 3, 10);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fit(&quick(ClassMethod::Stack), &logits, &labels).unwrap())
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn sets_hold_the_truth_as_often_as_promised() {
    let (new, truth, _) = network(500, 4, 100);
    let level = Level::new(0.9).unwrap();
    let classifier = quick(ClassMethod::Temperature);
    let schemes = [SetScheme::Split { share: 0.5 }, SetScheme::CvPlus { folds: 4 }];
    for (scheme, rule) in schemes.into_iter().flat_map(|s| [(s, SetScore::Lac), (s, SetScore::APS)]) {
        let sets = ClassSets { classifier: classifier.clone(), rule: rule.into(), scheme, ..ClassSets::default() };
        let replications = 40;
        let coverage: Vec<f64> = (0..replications)
            .map(|r| {
                let (logits, labels, _) = network(200, 4, 200 + r);
                let rows = ClassRows::new(ClassInputs::logits(logits.view()).unwrap(), &labels, 4).unwrap();
                let fitted = sets.fit(&rows, Seed::new(r), &|_, _| true).unwrap();
                let inputs = ClassInputs::logits(new.view()).unwrap();
                if r == 0 {
                    let saved = serde_json::to_string(&fitted).unwrap();
                    assert_eq!(serde_json::from_str::<FittedClassifier>(&saved).unwrap(), fitted);
                    assert!(fitted.guarantee(level).unwrap().coverage.unwrap() <= 0.9);
                }
                fitted.sets(&inputs, level, Seed::new(1000 + r)).unwrap().coverage(&truth).unwrap()
            })
            .collect();
        let mean = coverage.iter().sum::<f64>() / replications as f64;
        // Over replications the mean varies by their own spread; over the 500 shared test rows by that of a proportion.
        let spread = coverage.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / (replications - 1) as f64;
        let sd = (spread / replications as f64 + 0.9 * 0.1 / 500.0).sqrt();
        assert!(mean > 0.9 - 4.5 * sd, "{scheme:?} {rule:?}: {mean}");
    }
}
