//! Perceptrons: they learn what they should, say what was wrong, and give the same bits every time.

use std::ops::ControlFlow;

use ndarray::{Array1, Array2, Axis, s};
use rand_distr::{Distribution, StandardNormal};
use stonet::peers::mlp::{EarlyStopping, Loss, Mlp, Training};
use stonet::train::{Progress, Stop};
use stonet::{Activation, Dataset, Error, Seed};

fn draws(rows: usize, columns: usize, seed: u64) -> Array2<f64> {
    let mut draws = StandardNormal.sample_iter(Seed::new(seed).rng());
    Array2::from_shape_simple_fn((rows, columns), || draws.next().unwrap())
}

/// y = sin(2 x0) + x1² / 2, without noise.
fn smooth(rows: usize, seed: u64) -> Dataset {
    let x = draws(rows, 2, seed);
    let y = x.outer_iter().map(|r| (2.0 * r[0]).sin() + 0.5 * r[1] * r[1]).collect();
    Dataset::single(x, y).unwrap()
}

fn quick() -> Training {
    Training { hidden: vec![30, 20], epochs: 60, rate: 5e-3, ..Training::default() }
}

fn mean_squared_error(net: &Mlp, data: &Dataset) -> f64 {
    (net.predict(data.x()).unwrap() - data.y()).mapv(|d| d * d).mean().unwrap()
}

#[test]
fn a_smooth_function_is_learned_with_every_activation() {
    let (train, test) = (smooth(2000, 1), smooth(1000, 2));
    let variance = test.y().column(0).var(0.0);
    for activation in Activation::ALL {
        let trained = Training { activation, ..quick() }.fit(&train, Seed::new(3), &mut ()).unwrap();
        let error = mean_squared_error(&trained.network, &test);
        assert!(error < 0.02 * variance, "{activation:?}: {error} of {variance}");
        assert_eq!((trained.epochs, trained.held_out), (60, None));
        assert!(trained.loss < 0.02 * variance);
    }
}

#[test]
fn features_carry_the_prediction() {
    let data = smooth(700, 4);
    for activation in Activation::ALL {
        let net = Training { activation, epochs: 2, ..quick() }.fit(&data, Seed::new(5), &mut ()).unwrap().network;
        assert_eq!(net.widths(), [2, 30, 20, 1]);
        let features = net.features(data.x()).unwrap();
        assert_eq!(features.dim(), (700, 20));
        let output = &net.layers()[2];
        let linear = features.dot(&output.weight.mapv(f64::from).t()) + output.bias.mapv(f64::from);
        let gap = (linear - net.predict(data.x()).unwrap()).fold(0.0, |a: f64, d| a.max(d.abs()));
        // Twenty terms of order 1 in single precision.
        assert!(gap < 20.0 * 1.2e-7, "{activation:?}: {gap}");
    }
}

#[test]
fn columns_in_any_layout_are_read_alike() {
    let data = smooth(300, 6);
    let net = Training { epochs: 1, ..quick() }.fit(&data, Seed::new(7), &mut ()).unwrap().network;
    let columns_first = data.x().t().as_standard_layout().into_owned();
    assert_eq!(net.predict(columns_first.t()), net.predict(data.x()));
    assert_eq!(net.predict(Array2::zeros((0, 2)).view()).unwrap().dim(), (0, 1));
}

#[test]
fn layers_from_elsewhere_may_lie_in_any_order() {
    let net = Training { epochs: 1, ..quick() }.fit(&smooth(50, 27), Seed::new(1), &mut ()).unwrap().network;
    let mut layers = net.layers().to_vec();
    for layer in &mut layers {
        layer.weight = layer.weight.t().as_standard_layout().into_owned().reversed_axes();
        let mut backwards: Array1<f32> = layer.bias.iter().rev().copied().collect();
        backwards.invert_axis(Axis(0));
        layer.bias = backwards;
    }
    let (same, x) = (Mlp::new(layers, net.activation()).unwrap(), draws(300, 2, 28));
    assert_eq!((same.predict(x.view()), &same), (net.predict(x.view()), &net));
}

#[test]
fn quantiles_have_their_nominal_coverage() {
    // Noise that grows with x, so that quantiles are curves of different slope.
    let simulate = |rows: usize, seed: u64| {
        let z = draws(rows, 2, seed);
        let y = z.outer_iter().map(|z| z[0] + (0.3 * z[0]).exp() * z[1]).collect();
        Dataset::single(z.slice(s![.., ..1]).to_owned(), y).unwrap()
    };
    let (n, fresh) = (4000, 20_000);
    let levels = vec![0.05, 0.5, 0.9];
    let training = Training { loss: Loss::Pinball { levels: levels.clone() }, hidden: vec![8], rate: 1e-3, ..quick() };
    let net = training.fit(&simulate(n, 8), Seed::new(9), &mut ()).unwrap().network;
    let test = simulate(fresh, 10);
    let quantiles = net.predict(test.x()).unwrap();
    assert_eq!(quantiles.ncols(), 3);
    // At the optimum the training rows below a quantile of k parameters are within k of their share (Koenker & Bassett
    // 1978); here k = 8·2 + 9. Fresh rows differ from training rows by the binomial noise of both.
    let (optimum, noise) = (25.0 / n as f64, 1.0 / n as f64 + 1.0 / fresh as f64);
    for (quantile, level) in quantiles.axis_iter(Axis(1)).zip(levels) {
        let below = test.y().column(0).iter().zip(quantile).filter(|(y, q)| y < q).count() as f64 / fresh as f64;
        let tolerance = optimum + 4.5 * (level * (1.0 - level) * noise).sqrt();
        assert!((below - level).abs() < tolerance, "{level}: {below}, tolerance {tolerance}");
    }
}

/// Three Gaussian clouds at distance 3 from each other.
fn clouds(rows: usize, seed: u64) -> Dataset {
    let mut x = draws(rows, 2, seed);
    let centres = [[0.0, 0.0], [3.0, 0.0], [1.5, 2.598]];
    x.outer_iter_mut().enumerate().for_each(|(i, mut r)| (0..2).for_each(|j| r[j] += centres[i % 3][j]));
    Dataset::classes(x, &(0..rows).map(|i| i % 3).collect::<Vec<_>>(), 3).unwrap()
}

fn accuracy(scores: &Array2<f64>, data: &Dataset) -> f64 {
    let top = |r: ndarray::ArrayView1<'_, f64>| (0..3).max_by(|&a, &b| r[a].total_cmp(&r[b])).unwrap();
    let right = scores.outer_iter().enumerate().filter(|(i, s)| data.y()[[*i, top(*s)]] == 1.0).count();
    right as f64 / data.rows() as f64
}

#[test]
fn classes_are_told_apart_as_well_as_can_be() {
    let (train, test) = (clouds(3000, 11), clouds(6000, 12));
    // Bayes: the nearest centre, which is the largest of linear scores c·x − ‖c‖²/2.
    let centres = ndarray::array![[0.0, 3.0, 1.5], [0.0, 0.0, 2.598]];
    let bayes = accuracy(&(test.x().dot(&centres) - ndarray::array![0.0, 4.5, 4.5]), &test);
    for loss in [Loss::CrossEntropy, Loss::FOCAL, Loss::Mmce { weight: 2.0 }] {
        let training = Training { loss: loss.clone(), hidden: vec![20], epochs: 15, ..quick() };
        let net = training.fit(&train, Seed::new(13), &mut ()).unwrap().network;
        let ours = accuracy(&net.predict(test.x()).unwrap(), &test);
        assert!(ours > bayes - 0.01, "{loss:?}: {ours}, Bayes {bayes}");
    }
}

#[test]
fn early_stopping_returns_the_network_where_the_held_out_loss_was_lowest() {
    // Forty rows of pure noise: whatever is learned is wrong.
    let x = draws(40, 5, 14);
    let data = Dataset::single(x, draws(40, 1, 15).column(0).to_owned()).unwrap();
    let early_stopping = Some(EarlyStopping { fraction: 0.25, patience: 5 });
    let training = Training { early_stopping, epochs: 500, ..quick() };
    let mut losses = Vec::new();
    let mut watch = |p: &Progress<'_>| {
        assert!(p.network().is_none());
        losses.push(p.held_out.unwrap());
        ControlFlow::Continue(())
    };
    let trained = training.fit(&data, Seed::new(16), &mut watch).unwrap();
    let lowest = losses.iter().copied().fold(f64::INFINITY, f64::min);
    let epoch_of_best = losses.iter().position(|&l| l == lowest).unwrap() + 1;
    assert_eq!(trained.held_out, Some(lowest));
    assert_eq!(trained.epochs, epoch_of_best + 5);
    assert!(trained.epochs < 500);
    // The same run, stopped by hand at that epoch, ends in the same network.
    let mut stop = |p: &Progress<'_>| match p.epoch == epoch_of_best {
        true => ControlFlow::Break(Stop::Early),
        false => ControlFlow::Continue(()),
    };
    let again = training.fit(&data, Seed::new(16), &mut stop).unwrap();
    assert_eq!((again.epochs, &again.network), (epoch_of_best, &trained.network));
}

#[test]
fn observers_stop_or_cancel() {
    let data = smooth(100, 17);
    let mut stop = |_: &Progress<'_>| ControlFlow::Break(Stop::Early);
    assert_eq!(quick().fit(&data, Seed::new(1), &mut stop).unwrap().epochs, 1);
    let mut cancel = |_: &Progress<'_>| ControlFlow::Break(Stop::Cancel);
    let e = quick().fit(&data, Seed::new(1), &mut cancel).unwrap_err();
    assert!(matches!(e, Error::Cancelled(c) if c.done == 1 && c.unit == "epochs"), "{e}");
}

#[test]
fn a_seed_means_the_same_bits_on_any_number_of_threads() {
    let data = smooth(1500, 18);
    let training = Training { epochs: 3, early_stopping: Some(EarlyStopping::default()), ..quick() };
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let trained = training.fit(&data, Seed::new(19), &mut ()).unwrap();
            let (predictions, features) = (trained.network.predict(data.x()), trained.network.features(data.x()));
            (trained, predictions, features)
        })
    };
    assert_eq!(run(1), run(4));
    assert_ne!(training.fit(&data, Seed::new(20), &mut ()).unwrap().network, run(1).0.network);
}

#[test]
fn weight_decay_shrinks_weights() {
    let data = smooth(300, 21);
    let norm = |weight_decay: f64| {
        let net = Training { weight_decay, epochs: 20, ..quick() }.fit(&data, Seed::new(22), &mut ()).unwrap().network;
        net.layers().iter().map(|l| l.weight.mapv(|w| w * w).sum()).sum::<f32>()
    };
    assert!(norm(1.0) < 0.8 * norm(0.0));
}

#[test]
fn settings_out_of_range_are_named() {
    let data = smooth(20, 23);
    let d = Training::default;
    let stopping = |fraction: f64, patience: usize| Some(EarlyStopping { fraction, patience });
    for (training, name) in [
        (Training { hidden: vec![], ..d() }, "hidden"),
        (Training { hidden: vec![5, 0], ..d() }, "hidden"),
        (Training { hidden: vec![usize::MAX, usize::MAX], ..d() }, "hidden"),
        (Training { epochs: 0, ..d() }, "epochs"),
        (Training { batch_size: 0, ..d() }, "batch_size"),
        (Training { rate: 0.0, ..d() }, "rate"),
        (Training { rate: f64::NAN, ..d() }, "rate"),
        (Training { betas: [0.9, 1.0], ..d() }, "betas"),
        (Training { epsilon: 0.0, ..d() }, "epsilon"),
        (Training { weight_decay: -1.0, ..d() }, "weight_decay"),
        (Training { early_stopping: stopping(1.0, 5), ..d() }, "early_stopping.fraction"),
        (Training { early_stopping: stopping(0.1, 0), ..d() }, "early_stopping.patience"),
        (Training { loss: Loss::Pinball { levels: vec![0.1, 1.5] }, ..d() }, "loss.levels"),
        (Training { loss: Loss::Focal { gamma: f64::NAN }, ..d() }, "loss.gamma"),
        (Training { loss: Loss::Mmce { weight: -1.0 }, ..d() }, "loss.weight"),
    ] {
        match training.fit(&data, Seed::new(1), &mut ()) {
            Err(Error::Setting { name: found, .. }) => assert_eq!(found, name),
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn data_that_do_not_suit_are_refused() {
    let fit = |loss: Loss, y: Array2<f64>| {
        let data = Dataset::new(Array2::zeros((y.nrows(), 2)), y).unwrap();
        Training { loss, ..quick() }.fit(&data, Seed::new(1), &mut ()).unwrap_err()
    };
    let e = fit(Loss::CrossEntropy, ndarray::array![[1.0, 0.0], [0.4, 0.6]]);
    assert!(e.to_string().contains("row 1: the targets of a classification are one-hot"), "{e}");
    let e = fit(Loss::Pinball { levels: vec![0.1, 0.9] }, Array2::zeros((3, 2)));
    assert_eq!(e, Error::Shape { what: "target columns of the pinball loss".into(), expected: 1, found: 2 });
    let e = fit(Loss::Squared, ndarray::array![[1.0], [1e300]]);
    assert!(e.to_string().contains("targets: row 1, column 0"), "{e}");
    let one = Dataset::single(Array2::zeros((1, 1)), Array1::zeros(1)).unwrap();
    let early_stopping = Some(EarlyStopping::default());
    let e = Training { early_stopping, ..quick() }.fit(&one, Seed::new(1), &mut ()).unwrap_err();
    assert!(matches!(e, Error::TooFewRows { needed: 2, .. }), "{e}");
    let none = Dataset::single(Array2::zeros((3, 0)), Array1::zeros(3)).unwrap();
    assert!(matches!(quick().fit(&none, Seed::new(1), &mut ()), Err(Error::Shape { .. })));
}

#[test]
fn overflow_ends_with_a_remedy() {
    let x = draws(100, 2, 24);
    let data = Dataset::single(&x * 1e30, x.column(0).to_owned() * 1e30).unwrap();
    let e = Training { activation: Activation::Relu, ..quick() }.fit(&data, Seed::new(1), &mut ()).unwrap_err();
    assert!(matches!(e, Error::Overflow { epoch: 1, .. }), "{e}");
    assert!(e.to_string().contains("choose a smaller `rate`"), "{e}");
}

#[test]
fn predictions_of_bad_inputs_are_refused() {
    let net = Training { epochs: 1, ..quick() }.fit(&smooth(50, 25), Seed::new(1), &mut ()).unwrap().network;
    let wide = Error::Shape { what: "input columns".into(), expected: 2, found: 3 };
    assert_eq!(net.predict(Array2::zeros((1, 3)).view()), Err(wide.clone()));
    assert_eq!(net.features(Array2::zeros((1, 3)).view()), Err(wide));
    for bad in [f64::NAN, f64::NEG_INFINITY, 1e39] {
        let mut x = Array2::zeros((600, 2));
        x[[555, 1]] = bad;
        let e = net.predict(x.view()).unwrap_err();
        assert!(matches!(e, Error::NotFinite { what: "inputs", row: 555, column: 1, .. }), "{e}");
    }
}

#[test]
fn networks_and_settings_survive_serde_and_hostile_files_are_refused() {
    let net = Training { hidden: vec![3], epochs: 1, ..quick() }.fit(&smooth(50, 26), Seed::new(1), &mut ());
    let net = net.unwrap().network;
    let text = serde_json::to_string(&net).unwrap();
    assert_eq!(serde_json::from_str::<Mlp>(&text).unwrap(), net);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let broken = |pointer: &str, new: serde_json::Value| {
        let mut value = value.clone();
        *value.pointer_mut(pointer).unwrap() = new;
        serde_json::from_value::<Mlp>(value).unwrap_err().to_string()
    };
    let array = |dim: &[usize]| serde_json::json!({"v": 1, "dim": dim, "data": vec![0.5; dim.iter().product()]});
    let e = broken("/layers/0/weight", array(&[4, 2]));
    assert!(e.contains("layer 1: bias entries: expected 4, found 3"), "{e}");
    let e = broken("/layers/1/weight", array(&[1, 4]));
    assert!(e.contains("layer 2: weight columns: expected 3, found 4"), "{e}");
    let e = broken("/layers/0/weight/data/2", 1e39.into());
    assert!(e.contains("weights: row 1, column 0"), "{e}");
    assert!(broken("/layers", serde_json::json!([])).contains("layers"));
    assert!(broken("/layers/0/weight/dim", serde_json::json!([u64::MAX, 2])).len() > 5);
    assert!(broken("/activation", "step".into()).contains("step"));
    let training = Training {
        loss: Loss::Pinball { levels: vec![0.1] },
        early_stopping: Some(EarlyStopping::default()),
        ..quick()
    };
    let text = serde_json::to_string(&training).unwrap();
    assert_eq!(serde_json::from_str::<Training>(&text).unwrap(), training);
    assert_eq!(serde_json::from_str::<Training>(r#"{"loss": {"focal": {}}}"#).unwrap().loss, Loss::FOCAL);
    assert_eq!(serde_json::from_str::<Training>(r#"{"loss": "cross_entropy"}"#).unwrap().loss, Loss::CrossEntropy);
    assert!(serde_json::from_str::<Training>(r#"{"epoch": 3}"#).is_err());
}
