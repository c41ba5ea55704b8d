//! Every body that is compiled for an instruction set gives what the plain one gives. A test fails where a function of
//! `dispatch!` did not run with every instruction set that the processor has.
#![cfg(test)]

use ndarray::{Array2, s};

use super::compare::is_single;
use super::tests::{classes, fit, new_rows, quick, scored};
use crate::base::Seed;
use crate::classification::{ClassMethod, PostStoNetClassifier};
use crate::linalg::elementwise::*;
use crate::linalg::perceptron::*;
use crate::linalg::simd::{InstructionSet, assert_all_ran, forced};
use crate::network::prox::{prox_lasso, prox_mcp, prox_scad};
use crate::regression::Kind;
use crate::rows::{ClassInputs, ClassRows, Level, RegressionInputs};
use crate::score::Asked;

/// A function or its result, with the name for messages.
type Named<F> = (&'static str, F);
type Map = fn(&mut [f32], &[f32]);
type Update = fn(LatentSlices<'_>, LatentStep);
type Slope = fn(&mut [f32], &[f32], &mut [f32]);
type Change<'a> = &'a dyn Fn(&mut [f32]);

/// Numbers of both signs, some of them 0, others large.
fn numbers(n: usize, seed: usize, size: f64) -> Vec<f64> {
    let of = |i: usize| ((i * 37 + seed * 101) as f64 * 0.71).sin() * size * if i % 11 == 3 { 20.0 } else { 1.0 };
    (0..n).map(|i| if i % 13 == 5 { 0.0 } else { of(i) }).collect()
}

fn single(n: usize, seed: usize) -> Vec<f32> {
    numbers(n, seed, 1.5).into_iter().map(|v| v as f32).collect()
}

/// What every function of single precision makes of n numbers.
fn singles(n: usize) -> Vec<Named<Vec<f32>>> {
    let mut all = Vec::new();
    let f = single(n, 1);
    let maps: [Named<Map>; 3] = [("tanh_all", tanh_all), ("sigmoid_all", sigmoid_all), ("relu_all", relu_all)];
    for (name, map) in maps {
        let mut a = vec![0.0; n];
        map(&mut a, &f);
        all.push((name, a));
    }
    let mut e: Vec<f32> = f.iter().map(|v| -v.abs()).collect();
    exp_not_positive(&mut e);
    all.push(("exp_not_positive", e));
    let step = LatentStep { from_above: 0.01, from_below: 0.02, momentum: 0.9 };
    let updates: [Named<Update>; 3] =
        [("latent_tanh", latent_tanh), ("latent_sigmoid", latent_sigmoid), ("latent_relu", latent_relu)];
    for (name, update) in updates {
        let [mut back, mut y, mut e, mut v] = [2, 3, 4, 5].map(|seed| single(n, seed));
        let mut a: Vec<f32> = y.iter().map(|y| y.tanh().abs()).collect();
        update(LatentSlices { back: &mut back, y: &mut y, a: &mut a, e: &mut e, v: &mut v }, step);
        all.push((name, [back, y, a, e, v].concat()));
    }
    let proxes: [Named<Change<'_>>; 3] = [
        ("prox_lasso", &|w| prox_lasso(w, 0.3)),
        ("prox_scad", &|w| prox_scad(w, 0.5, 0.4, 3.7)),
        ("prox_mcp", &|w| prox_mcp(w, 0.5, 0.4, 3.0)),
    ];
    for (name, prox) in proxes {
        let mut w = single(n, 6);
        prox(&mut w);
        all.push((name, w));
    }
    all
}

/// What the functions of perceptrons make of `rows` rows of so many columns.
fn perceptrons(rows: usize, columns: usize) -> Vec<Named<Vec<f32>>> {
    let (n, bias) = (rows * columns, single(columns, 7));
    let mut all = Vec::new();
    let layers: [Named<Map>; 4] =
        [("bias_tanh", bias_tanh), ("bias_sigmoid", bias_sigmoid), ("bias_relu", bias_relu), ("bias_only", bias_only)];
    for (name, layer) in layers {
        let mut a = single(n, 8);
        layer(&mut a, &bias);
        all.push((name, a));
    }
    let a: Vec<f32> = single(n, 9).iter().map(|v| v.abs().min(1.0)).collect();
    let slopes: [Named<Slope>; 3] =
        [("slope_tanh", slope_tanh), ("slope_sigmoid", slope_sigmoid), ("slope_relu", slope_relu)];
    for (name, slope) in slopes {
        let (mut delta, mut sums) = (single(n, 10), vec![0.0; columns]);
        slope(&mut delta, &a, &mut sums);
        all.push((name, [delta, sums].concat()));
    }
    let mut sums = vec![0.0; columns];
    column_sums(&single(n, 10), &mut sums);
    all.push(("column_sums", sums));
    let [mut w, mut m, g] = [11, 12, 13].map(|seed| single(n, seed));
    let mut v: Vec<f32> = single(n, 14).iter().map(|v| v * v).collect();
    let step = AdamStep { beta1: 0.9, beta2: 0.999, rate: 0.01, root_scale: 1.5, epsilon: 1e-8, keep: 0.99 };
    adam(&mut w, &mut m, &mut v, &g, step);
    all.push(("adam", [w, m, v].concat()));
    all
}

/// What every function of double precision makes of n numbers.
fn doubles(n: usize) -> Vec<Named<Vec<f64>>> {
    let (x, f) = (numbers(n, 1, 1.5), single(n, 2));
    let (mut tanh, mut exp, mut below) = (x.clone(), x.clone(), vec![0.0; n]);
    tanh_in_place(&mut tanh);
    exp_in_place(&mut exp);
    exp_below(&mut below, &x, &numbers(n, 3, 2.0));
    let (mut y, mut wide, mut dot) = (x.clone(), x.clone(), 0.0);
    axpy(&mut y, 0.7, &numbers(n, 4, 1.0));
    axpy_single(&mut wide, 0.7, &f);
    dot_single(&mut dot, &f, &x);
    // Rows of three columns, of which some are left over after those that are added together.
    let mut sums = vec![0.0; 3];
    add_rows(&mut sums, &x[..n - n % 3]);
    vec![
        ("add_rows", sums),
        ("tanh_in_place", tanh),
        ("exp_in_place", exp),
        ("exp_below", below),
        ("axpy", y),
        ("axpy_single", wide),
        ("dot_single", vec![dot]),
    ]
}

/// Lengths below, at and beyond those of vectors, and what is left over after them.
const LENGTHS: [usize; 9] = [0, 1, 3, 7, 8, 16, 31, 64, 129];

#[test]
fn functions_of_vectors_agree() {
    let near = |a: f64, b: f64, most: f64| (a - b).abs() <= most * b.abs().max(1.0);
    for n in LENGTHS {
        let run = || {
            let singles = singles(n).into_iter().chain(perceptrons(3, n.max(1)));
            (singles.collect::<Vec<_>>(), doubles(n))
        };
        let plain = forced(InstructionSet::Plain, run).unwrap();
        for &set in InstructionSet::ALL {
            let Some(found) = forced(set, run) else { continue };
            for ((name, a), (_, b)) in found.0.iter().zip(&plain.0) {
                // Sums of n numbers up to 30 round n times.
                let most = 1e-6 * (10.0 + n as f64);
                let all = a.iter().zip(b).all(|(a, b)| near(f64::from(*a), f64::from(*b), most));
                assert!(all, "{name} of {n} with {set:?}: {a:?} {b:?}");
            }
            for ((name, a), (_, b)) in found.1.iter().zip(&plain.1) {
                let all = a.iter().zip(b).all(|(a, b)| near(*a, *b, 1e-14 * (10.0 + n as f64)));
                assert!(all, "{name} of {n} with {set:?}: {a:?} {b:?}");
            }
        }
    }
    assert_all_ran(&[
        include_str!("../linalg/elementwise.rs"),
        include_str!("../linalg/perceptron.rs"),
        include_str!("../network/prox.rs"),
    ]);
}

/// To 1e-9 in double precision, to 1e-5 of the length in single.
#[test]
fn scores_agree() {
    // Two hidden layers have a full covariance between them.
    let deep = (Kind::Cv, vec![4, 3]);
    for (kind, hidden) in Kind::ALL.into_iter().map(|kind| (kind, vec![5])).chain([deep]) {
        let fitted = fit(&quick(kind, hidden, vec![0.001]), 1, true, false);
        let new = new_rows();
        let asked = Asked::at(&[Level::new(0.8).unwrap()]);
        let single = is_single(&fitted.scorer(&asked).unwrap());
        let mut rows = RegressionInputs::new(new.features.view()).unwrap();
        if fitted.needs_prediction() {
            rows = rows.with_prediction(new.prediction.slice(s![.., ..1])).unwrap();
        }
        let all: Vec<Vec<Vec<f64>>> =
            InstructionSet::ALL.iter().filter_map(|&set| forced(set, || scored(&fitted, &asked, &rows))).collect();
        for (found, first) in all.iter().map(|a| (a, &all[0])) {
            for r in 0..new.features.nrows() {
                let length = first[2][r] - first[1][r];
                for (a, b) in found.iter().zip(first) {
                    let most = if single { 1e-5 * length } else { 1e-9 * b[r].abs().max(1e-3) };
                    assert!((a[r] - b[r]).abs() <= most, "{kind}: {} and {}", a[r], b[r]);
                }
            }
        }
    }
    let (z, x, labels) = classes(160, 3);
    let inputs = ClassInputs::logits(z.view()).unwrap().with_features(x.view()).unwrap();
    let rows = ClassRows::new(inputs, &labels, 4).unwrap();
    let settings = PostStoNetClassifier { method: ClassMethod::Temperature, ..Default::default() };
    let fitted = settings.fit(&rows, Seed::new(2), &|_, _| true).unwrap();
    let plain: Array2<f64> = fitted.probabilities(&inputs).unwrap();
    for &set in InstructionSet::ALL {
        let other = forced(set, || fitted.probabilities(&inputs).unwrap());
        assert!(other.iter().flatten().zip(&plain).all(|(a, b)| (a - b).abs() < 1e-12), "{set:?}");
    }
    assert_all_ran(&[include_str!("../score/kernels.rs"), include_str!("../score/tile.rs")]);
}
