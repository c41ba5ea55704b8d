//! Many more columns than rows: matrices of all columns are refused by name, and other forms give the same fit.

use ndarray::{Array1, Array2};
use rand_distr::{Distribution, StandardNormal};
use stonet::eve::Estimate;
use stonet::sparse::{Refit, Solver, SparseLinear, SparseMultinomial};
use stonet::*;

fn data(n: usize, p: usize) -> (Array2<f64>, Array1<f64>) {
    let mut draws = StandardNormal.sample_iter(Seed::new(6).rng());
    let mut next = || -> f64 { draws.next().unwrap() };
    let x = Array2::from_shape_simple_fn((n, p), &mut next);
    let y = x.outer_iter().map(|r| r[0] - r[1] + 0.3 * next()).collect();
    (x, y)
}

#[test]
fn a_whole_gram_matrix_of_very_many_columns_is_refused_and_others_solve_it() {
    let (x, y) = data(30, 4200);
    let y = y.insert_axis(ndarray::Axis(1));
    let solve = |solver| SparseLinear { solver, ..SparseLinear::default() }.fit(x.view(), y.view(), 0.5);
    let refused = solve(Solver::Gram).unwrap_err().to_string();
    assert!(refused.contains("solver") && refused.contains("workingset"), "{refused}");
    let (auto, named) = (solve(Solver::Auto).unwrap(), solve(Solver::WorkingSet).unwrap());
    let [a, b] = [&auto, &named].map(|fit| fit.predict(x.view()).unwrap());
    assert!((a - b).iter().all(|d| d.abs() < 1e-9));
}

#[test]
fn eves_law_refuses_a_neuron_with_too_many_inputs_and_names_the_remedy() {
    let (x, y) = data(12, 10_050);
    let net = StoNet::random(&[10_050, 1], Activation::Tanh, Seed::new(1)).unwrap();
    let data = Dataset::single(x, y).unwrap();
    let refused = Estimate::new(&net, &data, Refit::default(), vec![1.0]).unwrap_err();
    assert!(matches!(refused, Error::WideSupport { columns: 10_050, .. }), "{refused}");
    assert!(refused.to_string().contains("larger values of kappa"), "{refused}");
}

/// The multinomial regression builds its Gram matrix of the columns in use: padding the design with columns of zeros,
/// which no class uses, leads from the form for few columns to that for many and must not change the fit.
#[test]
fn columns_that_nobody_uses_do_not_change_a_multinomial_fit() {
    let (x, y) = data(120, 20);
    let labels: Vec<usize> = y.iter().map(|&y| usize::from(y > 0.5) + usize::from(y > -0.5)).collect();
    let mut wide = Array2::zeros((120, 600));
    wide.slice_mut(ndarray::s![.., ..20]).assign(&x);
    let settings = SparseMultinomial::default();
    let few = settings.fit(x.view(), &labels, 3, 0.05).unwrap();
    let many = settings.fit(wide.view(), &labels, 3, 0.05).unwrap();
    let [a, b] = [few.probabilities(x.view()).unwrap(), many.probabilities(wide.view()).unwrap()];
    assert!((a - b).iter().all(|d| d.abs() < 1e-5));
}
