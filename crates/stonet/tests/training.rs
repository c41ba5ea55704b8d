//! The trainer as its users see it: reproducible, interruptible, robust, and clear about bad input.

use std::ops::ControlFlow;

use ndarray::{Array1, Array2, array};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use stonet::eve::{Eve, EveIntervals, Variance};
use stonet::network::Likelihood;
use stonet::rows::PredictInterval;
use stonet::rows::Scaling;
use stonet::train::{
    Asghmc, Collection, Decay, Fit, Iro, Kernel, Polished, Progress, Stop, Trainer, Walk, Warning, cross_validate,
    kappa_path,
};
use stonet::*;

/// y = tanh(2 x0 − x1) + noise, other inputs idle.
fn data(rows: usize, inputs: usize, noise: f64, seed: u64) -> Dataset {
    let mut draws = StandardNormal.sample_iter(Seed::new(seed).rng());
    let x: Array2<f64> = Array2::from_shape_simple_fn((rows, inputs), || draws.next().unwrap());
    let y: Array1<f64> = x.outer_iter().map(|r| (2.0 * r[0] - r[1]).tanh() + noise * draws.next().unwrap()).collect();
    Dataset::single(x, y).unwrap()
}

fn start(widths: &[usize]) -> StoNet {
    StoNet::random(widths, Activation::Tanh, Seed::new(3)).unwrap()
}

fn quick() -> Asghmc {
    Asghmc { epochs: 60, rates: vec![0.1], kappa: vec![0.005], ..Asghmc::default() }
}

#[test]
fn a_seeded_run_gives_the_golden_numbers() {
    let trainer = Asghmc { epochs: 3, noise: 0.1, ..quick() };
    let fit = trainer.fit(&start(&[3, 9, 1]), &data(100, 3, 0.3, 1), Seed::new(4), &mut ()).unwrap();
    let x = array![[0.0, 0.0, 0.0], [1.0, -1.0, 0.5], [-0.3, 2.0, 1.0]];
    let prediction = fit.network().predict(x.view()).unwrap();
    for (p, g) in prediction.iter().zip(GOLDEN) {
        assert!((p - g).abs() < 1e-6, "{prediction:?}");
    }
    assert!((fit.loss - GOLDEN_LOSS).abs() < 1e-6, "{}", fit.loss);
}

const GOLDEN: [f64; 3] = [0.194_787_218, 0.411_544_650, 0.062_586_911];
const GOLDEN_LOSS: f64 = 0.324_515_259;

#[test]
fn results_depend_on_the_seed_and_not_on_the_number_of_threads() {
    let (data, start) = (data(150, 4, 0.3, 2), start(&[4, 8, 1]));
    let trainer = Asghmc { noise: 0.05, ..quick() };
    let run = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let eve = Eve { variance: Variance::Cv { folds: 5 }, ..Eve::default() };
            let (model, fit) = EveIntervals::fit(&trainer, &start, &data, eve, Seed::new(seed), &mut ()).unwrap();
            let path = cross_validate(&trainer, &start, &data, &[0.001, 0.01], Walk::Warm, 4, Seed::new(seed)).unwrap();
            (model.intervals(data.x(), Level::new(0.9).unwrap()).unwrap(), fit, path)
        })
    };
    let one = run(1, 7);
    assert_eq!(one, run(4, 7));
    assert_eq!(one, run(3, 7));
    assert_ne!(one.1, run(1, 8).1);
}

#[test]
fn training_finds_the_signal_with_every_activation_and_penalty() {
    let (train, test) = (data(300, 5, 0.3, 3), data(1000, 5, 0.3, 4));
    let signal = data(1000, 5, 0.0, 4).y().var(0.0);
    for psi in Activation::ALL {
        for (penalty, kappa) in [(Penalty::Lasso, 0.003), (Penalty::SCAD, 0.02), (Penalty::MCP, 0.02)] {
            let trainer = Asghmc { epochs: 300, penalty, kappa: vec![kappa], ..quick() };
            let net = StoNet::random(&[5, 10, 1], psi, Seed::new(3)).unwrap();
            let fit = trainer.fit(&net, &train, Seed::new(1), &mut ()).unwrap();
            let rmse = metrics::rmse(fit.network().predict(test.x()).unwrap().view(), test.y()).unwrap();
            // Nine tenths of the signal's variance; the noise is 0.3.
            assert!(rmse.powi(2) < 0.09 + 0.1 * signal, "{psi:?} {penalty:?}: {rmse}");
            assert!(fit.network().nonzero_weights() < net.nonzero_weights(), "{psi:?} {penalty:?}");
        }
    }
}

#[test]
fn removing_dead_units_while_training_leaves_the_fit_as_it_was() {
    let train = data(300, 5, 0.3, 3);
    let trainer = Asghmc { epochs: 200, kappa: vec![0.01], ..quick() };
    let kept = Asghmc { compact_every: 0, ..trainer.clone() };
    let net = start(&[5, 40, 1]);
    let a = trainer.fit(&net, &train, Seed::new(1), &mut ()).unwrap();
    let b = kept.fit(&net, &train, Seed::new(1), &mut ()).unwrap();
    let (a, b) = (a.network().predict(train.x()).unwrap(), b.network().predict(train.x()).unwrap());
    // Far less than the fit's own error, noise · √(parameters/rows).
    assert!(metrics::rmse(a.view(), b.view()).unwrap() < 0.3 * 0.3 * (10.0f64 / 300.0).sqrt());
}

#[test]
fn a_collection_holds_m_different_estimates() {
    let collection = Collection { estimates: 4, spacing: 5, rate: 0.1, noise: 0.5 };
    let trainer = Asghmc { collection, ..quick() };
    let (data, start) = (data(150, 3, 0.3, 5), start(&[3, 8, 1]));
    let fit = trainer.fit(&start, &data, Seed::new(1), &mut ()).unwrap();
    assert_eq!(fit.networks.len(), 4);
    assert!(fit.networks.windows(2).all(|w| w[0] != w[1]));
    let (model, _) = EveIntervals::fit(&trainer, &start, &data, Eve::default(), Seed::new(1), &mut ()).unwrap();
    assert_eq!(model.estimates().len(), 4);
    let mut last = 0;
    let mut count = |p: &Progress<'_>| {
        assert_eq!(p.epochs, 60 + 3 * 5);
        last = p.epoch;
        ControlFlow::Continue(())
    };
    trainer.fit(&start, &data, Seed::new(1), &mut count).unwrap();
    assert_eq!(last, 75);
}

#[test]
fn observers_see_every_epoch_and_can_stop_or_cancel() {
    let (data, start) = (data(100, 3, 0.3, 6), start(&[3, 8, 1]));
    let mut seen = Vec::new();
    let mut watch = |p: &Progress<'_>| {
        seen.push((p.epoch, p.epochs));
        assert_eq!(p.network().map(|net| net.inputs()), Some(3));
        if p.epoch == 7 { ControlFlow::Break(Stop::Early) } else { ControlFlow::Continue(()) }
    };
    let early = quick().fit(&start, &data, Seed::new(1), &mut watch).unwrap();
    assert_eq!(seen, (1..=7).map(|e| (e, 60)).collect::<Vec<_>>());
    assert!(early.loss.is_finite());
    let mut cancel = |_: &Progress<'_>| ControlFlow::Break(Stop::Cancel);
    let e = quick().fit(&start, &data, Seed::new(1), &mut cancel).unwrap_err();
    assert!(matches!(e, Error::Cancelled(c) if (c.done, c.total) == (1, 60)), "{e}");
}

#[test]
fn rates_that_diverge_are_halved_and_then_refused() {
    let (data, start) = (data(100, 3, 0.3, 7), start(&[3, 50, 1]));
    let wild = Asghmc { rates: vec![0.1, 2.0], ..quick() };
    let fit = wild.fit(&start, &data, Seed::new(1), &mut ()).unwrap();
    assert!(fit.restarts > 0);
    assert!(fit.warnings.iter().any(|w| matches!(w, Warning::RatesHalved { .. })), "{:?}", fit.warnings);
    let hopeless = Asghmc { rates: vec![1e6], max_restarts: 2, ..quick() };
    let e = hopeless.fit(&start, &data, Seed::new(1), &mut ()).unwrap_err();
    assert!(matches!(e, Error::Diverged { attempts: 3, .. }), "{e}");
    assert!(e.to_string().contains("choose smaller `rates`"), "{e}");
}

#[test]
fn a_kappa_that_kills_every_unit_is_a_warning_and_a_sound_constant() {
    let (data, start) = (data(200, 3, 0.3, 8), start(&[3, 8, 1]));
    let trainer = Asghmc { kappa: vec![50.0], ..quick() };
    let (model, fit) = EveIntervals::fit(&trainer, &start, &data, Eve::default(), Seed::new(1), &mut ()).unwrap();
    assert!(fit.warnings.iter().any(|w| matches!(w, Warning::AllUnitsDead { .. })));
    let i = model.intervals(data.x(), Level::new(0.9).unwrap()).unwrap();
    let mean = data.y().mean().unwrap();
    assert!(i.prediction.iter().all(|p| (p - mean).abs() < 0.05), "{:?}", i.prediction);
    // A constant's interval is the normal one of the response; the mean costs one degree of freedom.
    let half = Level::new(0.9).unwrap().z() * data.y().std(1.0);
    assert!(i.upper.iter().zip(&i.prediction).all(|(u, p)| ((u - p) / half - 1.0).abs() < 0.02));
}

#[test]
fn fewer_rows_than_a_batch_and_constant_inputs_are_warnings() {
    let mut x = data(20, 3, 0.3, 9).x().to_owned();
    x.column_mut(2).fill(1.5);
    let y = x.column(0).mapv(|v| v + 0.1);
    let data = Dataset::single(x, y).unwrap();
    let fit = quick().fit(&start(&[3, 4, 1]), &data, Seed::new(1), &mut ()).unwrap();
    assert!(fit.warnings.contains(&Warning::BatchCut { batch_size: 50, rows: 20 }));
    assert!(fit.warnings.contains(&Warning::ConstantInput { column: 2 }));
    assert!(fit.warnings[0].to_string().contains("cut to the 20 rows"));
}

#[test]
fn settings_out_of_range_are_refused_by_name() {
    let (data, net) = (data(60, 3, 0.3, 1), start(&[3, 4, 1]));
    let bad: Vec<(&str, Asghmc)> = vec![
        ("epochs", Asghmc { epochs: 0, ..quick() }),
        ("batch_size", Asghmc { batch_size: 0, ..quick() }),
        ("hmc_steps", Asghmc { hmc_steps: 0, ..quick() }),
        ("rates", Asghmc { rates: vec![0.0], ..quick() }),
        ("rates", Asghmc { rates: vec![], ..quick() }),
        ("rates", Asghmc { rates: vec![0.1; 3], ..quick() }),
        ("step_ratio", Asghmc { step_ratio: vec![1e-31], ..quick() }),
        ("rates", Asghmc { rates: vec![5.0], penalty: Penalty::MCP, ..quick() }),
        ("kappa", Asghmc { kappa: vec![-0.1], ..quick() }),
        ("kappa", Asghmc { kappa: vec![f64::NAN], ..quick() }),
        ("step_ratio", Asghmc { step_ratio: vec![f64::INFINITY], ..quick() }),
        ("noise", Asghmc { noise: -1.0, ..quick() }),
        ("friction", Asghmc { friction: 1.5, ..quick() }),
        ("decay.to", Asghmc { decay: Decay { from: 0.5, to: 0.0 }, ..quick() }),
        ("collection", Asghmc { collection: Collection { estimates: 0, ..quick().collection }, ..quick() }),
        ("scad a", Asghmc { penalty: Penalty::Scad { a: 1.0 }, ..quick() }),
    ];
    for (name, trainer) in bad {
        let e = trainer.fit(&net, &data, Seed::new(1), &mut ()).unwrap_err().to_string();
        assert!(e.contains(name), "{name}: {e}");
    }
    let short = Asghmc { kappa: vec![0.1, 0.2], ..quick() };
    let e = short.fit(&start(&[3, 4, 4, 1]), &data, Seed::new(1), &mut ()).unwrap_err().to_string();
    assert!(e.contains("kappa: one per layer, or one for all: expected 3, found 2"), "{e}");
    for widths in [[4, 5, 1], [3, 5, 2]] {
        let e = quick().fit(&start(&widths), &data, Seed::new(1), &mut ()).unwrap_err().to_string();
        assert!(e.contains("columns: expected"), "{e}");
    }
}

#[test]
fn bad_new_rows_are_refused_by_place() {
    let (data, net) = (data(60, 3, 0.3, 1), start(&[3, 4, 1]));
    let (model, _) = EveIntervals::fit(&quick(), &net, &data, Eve::default(), Seed::new(1), &mut ()).unwrap();
    let level = Level::new(0.9).unwrap();
    let e = model.intervals(array![[0.0, 1.0]].view(), level).unwrap_err();
    assert_eq!(e.to_string(), "input columns: expected 3, found 2");
    let e = model.intervals(array![[0.0, 1.0, 2.0], [0.0, f64::NAN, 1.0]].view(), level).unwrap_err();
    assert!(e.to_string().contains("row 1, column 1 is NaN"), "{e}");
    for bad in [0.0, 1.0, -0.1, 95.0, f64::NAN] {
        assert!(Level::new(bad).is_err());
    }
}

#[test]
fn a_warm_path_survives_a_kappa_that_kills_a_cold_start() {
    let (data, net) = (data(300, 4, 0.3, 2), start(&[4, 30, 1]));
    let scaling = Scaling::fit(&data).unwrap();
    let data = scaling.apply(&data).unwrap();
    let trainer = Asghmc { epochs: 200, kappa: vec![1.0], ..quick() };
    let grid = [0.005, 0.02, 0.05, 0.13, 0.2];
    let warm = kappa_path(&trainer, &net, &data, &grid, Walk::Warm, Seed::new(1)).unwrap();
    let cold = trainer.with_kappa(0.2).fit(&net, &data, Seed::new(1), &mut ()).unwrap();
    assert!(cold.warnings.iter().any(|w| matches!(w, Warning::AllUnitsDead { .. })));
    assert!(!warm[4].network().selected_inputs().is_empty());
    let sizes: Vec<usize> = warm.iter().map(|f| f.network().nonzero_weights()).collect();
    assert!(sizes[4] < sizes[0], "{sizes:?}");
}

/// IRO after ASGHMC removes idle inputs that ASGHMC leaves, and predicts no worse than the fit's own uncertainty.
#[test]
fn iro_polishes_what_asghmc_began() {
    let (train, test) = (data(400, 10, 0.3, 3), data(2000, 10, 0.3, 4));
    let first = Asghmc { epochs: 200, kappa: vec![0.003], ..quick() };
    let rough = first.fit(&start(&[10, 20, 1]), &train, Seed::new(1).child(0), &mut ()).unwrap();
    let rmse = |f: &Fit| metrics::rmse(f.network().predict(test.x()).unwrap().view(), test.y()).unwrap();
    // A random walk needs more steps than a gradient to carry the residual into the latents.
    for (kernel, steps) in [(Kernel::Langevin, 5), (Kernel::Metropolis, 30)] {
        let then = Iro { kappa: 0.02, kernel, steps, iterations: 40, estimates: 3, ..Iro::default() };
        let trainer = Polished { first: first.clone(), then };
        let fit = trainer.fit(&start(&[10, 20, 1]), &train, Seed::new(1), &mut ()).unwrap();
        assert_eq!(fit.networks.len(), 3);
        let selected = fit.network().selected_inputs();
        assert!(selected.starts_with(&[0, 1]), "{selected:?}");
        assert!(selected.len() < rough.network().selected_inputs().len(), "{kernel:?}: {selected:?}");
        // The rough fit's own error: noise · √(parameters/rows).
        let own = 0.3 * (rough.network().nonzero_weights() as f64 / 400.0).sqrt();
        assert!(rmse(&fit).powi(2) < rmse(&rough).powi(2) + own * own, "{kernel:?}: {} {}", rmse(&fit), rmse(&rough));
    }
}

#[test]
fn iro_depends_on_the_seed_alone_and_obeys_its_observer() {
    let (data, net) = (data(300, 4, 0.3, 2), start(&[4, 5, 3, 1]));
    let trainer = Iro { iterations: 5, ..Iro::default() };
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| trainer.fit(&net, &data, Seed::new(7), &mut ()).unwrap())
    };
    assert_eq!(run(1), run(3));
    let mut early =
        |p: &Progress<'_>| if p.epoch == 2 { ControlFlow::Break(Stop::Early) } else { ControlFlow::Continue(()) };
    assert_eq!(trainer.fit(&net, &data, Seed::new(7), &mut early).unwrap().networks.len(), 1);
    let mut cancel = |_: &Progress<'_>| ControlFlow::Break(Stop::Cancel);
    let e = trainer.fit(&net, &data, Seed::new(7), &mut cancel).unwrap_err();
    assert!(matches!(e, Error::Cancelled(c) if c.done == 1), "{e}");
    for (name, bad) in [
        ("iterations", Iro { iterations: 0, ..Iro::default() }),
        ("kappa", Iro { kappa: f64::NAN, ..Iro::default() }),
        ("steps", Iro { steps: 0, ..Iro::default() }),
        ("step_size", Iro { step_size: 0.0, ..Iro::default() }),
        ("hidden_sd", Iro { hidden_sd: -1.0, ..Iro::default() }),
        ("noise", Iro { noise: -1.0, ..Iro::default() }),
        ("estimates", Iro { estimates: 101, ..Iro::default() }),
    ] {
        let e = bad.fit(&net, &data, Seed::new(1), &mut ()).unwrap_err().to_string();
        assert!(e.contains(name), "{name}: {e}");
    }
}

/// Three classes whose logits are (3 tanh(2 x0 − x1), 2 x2, 0); other inputs idle.
fn class_data(rows: usize, inputs: usize, seed: u64) -> (Dataset, Array2<f64>) {
    let mut rng = Seed::new(seed).rng();
    let x: Array2<f64> = Array2::from_shape_simple_fn((rows, inputs), || StandardNormal.sample(&mut rng));
    let logits = Array2::from_shape_fn((rows, 3), |(i, c)| match c {
        0 => 3.0 * (2.0 * x[[i, 0]] - x[[i, 1]]).tanh(),
        1 => 2.0 * x[[i, 2]],
        _ => 0.0,
    });
    let labels: Vec<usize> = (Likelihood::Multinomial.mean(logits.clone()).outer_iter())
        .map(|p| {
            let u: f64 = rng.random();
            usize::from(u > p[0]) + usize::from(u > p[0] + p[1])
        })
        .collect();
    (Dataset::classes(x, &labels, 3).unwrap(), logits)
}

#[test]
fn every_trainer_learns_class_probabilities() {
    let (train, _) = class_data(1000, 6, 1);
    let (test, logits) = class_data(4000, 6, 2);
    let start = start(&[6, 12, 3]).with_head(Likelihood::Multinomial);
    let asghmc = Asghmc { epochs: 150, kappa: vec![0.003], ..Asghmc::default() };
    let iro = Iro { kappa: 0.003, penalty: Penalty::Lasso, iterations: 10, ..Iro::default() };
    let best = Likelihood::Multinomial.loss(test.y(), logits.view());
    let trainers: [(&dyn Trainer, f64); 4] = [
        (&asghmc, 0.05),
        (&Polished { first: asghmc.clone(), then: iro.clone() }, 0.05),
        (&Polished { first: asghmc.clone(), then: Iro { penalty: Penalty::MCP, kappa: 0.02, ..iro.clone() } }, 0.05),
        // From a random start it learns, but stalls.
        (&Iro { iterations: 20, ..iro }, 0.25),
    ];
    for (i, (trainer, slack)) in trainers.into_iter().enumerate() {
        let fit = trainer.fit(&start, &train, Seed::new(5), &mut ()).unwrap();
        let p = fit.network().predict(test.x()).unwrap();
        assert!(p.sum_axis(ndarray::Axis(1)).iter().all(|s| (s - 1.0).abs() < 1e-12));
        let nll = -(&p.mapv(f64::ln) * &test.y()).sum() / 4000.0;
        assert!(nll < best + slack, "trainer {i}: {nll} against {best}");
    }
}

#[test]
fn heads_refuse_what_is_not_theirs() {
    let numeric = data(60, 3, 0.3, 1);
    let classes = start(&[3, 4, 1]).with_head(Likelihood::Multinomial);
    assert!(quick().fit(&classes, &numeric, Seed::new(1), &mut ()).unwrap_err().to_string().contains("at least 2"));
    let two = Dataset::new(numeric.x().to_owned(), Array2::from_elem((60, 2), 0.5)).unwrap();
    let classes = start(&[3, 4, 2]).with_head(Likelihood::Multinomial);
    assert!(matches!(quick().fit(&classes, &two, Seed::new(1), &mut ()), Err(Error::NotOneHot { row: 0 })));
    assert!(matches!(Iro::default().fit(&classes, &two, Seed::new(1), &mut ()), Err(Error::NotOneHot { row: 0 })));
    let e = EveIntervals::fit(&quick(), &classes, &two, Eve::default(), Seed::new(1), &mut ()).unwrap_err();
    assert!(e.to_string().contains("numeric"), "{e}");
    assert!(matches!(Dataset::classes(Array2::zeros((2, 1)), &[0, 2], 2), Err(Error::Label { row: 1, .. })));
}
