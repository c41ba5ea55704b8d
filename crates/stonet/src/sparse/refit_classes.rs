//! The multinomial refit on the selected support: maximum likelihood without penalty, and Var(ŵ) from the observed
//! information.
//!
//! The softmax does not change when all classes move together, so the last class is the reference: its intercept is 0,
//! and a column that every class selected is left out of it. What is then still dependent is dependent in the data.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};

use super::multinomial::MultinomialFit;
use super::refit::Refit;
use crate::base::{Error, Result};
use crate::linalg::dense::{gram, matmul, symmetric_eigen};
use crate::network::Likelihood;
use crate::rows::Dataset;

/// Largest number of free parameters: their information matrix is dense.
const MAX_PARAMETERS: usize = 4000;
const MAX_STEPS: usize = 100;
/// Half the squared Newton decrement, per row, at which the likelihood is as large as it gets.
const CONVERGED: f64 = 1e-13;
/// A standard error on standardised columns beyond this means that the likelihood rises for ever.
const SEPARATED: f64 = 100.0;

/// A multinomial regression refitted on its support.
#[derive(Debug, Clone, PartialEq)]
pub struct MultinomialRefit {
    /// W, classes × columns, zero off the support.
    pub coefficients: Array2<f64>,
    /// b; 0 for the last class.
    pub intercepts: Array1<f64>,
    /// The free parameters, as (class, column) or (class, none) for an intercept: the order of `covariance`.
    pub parameters: Vec<(usize, Option<usize>)>,
    /// Var(ŵ): the inverse of the observed information, or its pseudo-inverse under `Refit::Mls`.
    pub covariance: Array2<f64>,
    /// The rank of the information: below the number of parameters where columns are dependent.
    pub rank: usize,
}

impl MultinomialRefit {
    /// The K × K covariance of the logits at one row of inputs.
    pub fn logit_covariance(&self, x: ArrayView1<'_, f64>) -> Result<Array2<f64>> {
        let (classes, columns) = self.coefficients.dim();
        if x.len() != columns {
            return Err(Error::shape("input columns", columns, x.len()));
        }
        let mut design = Array2::zeros((classes, self.parameters.len()));
        for (j, &(class, column)) in self.parameters.iter().enumerate() {
            design[[class, j]] = column.map_or(1.0, |k| x[k]);
        }
        Ok(matmul(matmul(design.view(), self.covariance.view()).view(), design.t()))
    }
}

impl MultinomialFit {
    /// Refits on the support by maximum likelihood. Dependent columns are an error under `Refit::Ols` and share their
    /// effect under `Refit::Mls`; classes that the support separates have no finite estimate, which is an error under
    /// both.
    pub fn refit(&self, x: ArrayView2<'_, f64>, labels: &[usize], refit: Refit) -> Result<MultinomialRefit> {
        let (classes, columns) = self.coefficients.dim();
        if x.ncols() != columns {
            return Err(Error::shape("input columns", columns, x.ncols()));
        }
        let data = Dataset::classes(x.to_owned(), labels, classes)?;
        let newton = Newton::new(self, &data)?;
        newton.run(self, refit)
    }
}

/// The standardised columns and which of them each class uses.
struct Newton {
    /// n × p, standardised.
    z: Array2<f64>,
    mean: Array1<f64>,
    sd: Array1<f64>,
    onehot: Array2<f64>,
    parameters: Vec<(usize, Option<usize>)>,
}

/// Where the iteration stands.
struct Point {
    theta: Array1<f64>,
    probability: Array2<f64>,
    loss: f64,
}

impl Newton {
    fn new(fit: &MultinomialFit, data: &Dataset) -> Result<Self> {
        let (classes, columns) = fit.coefficients.dim();
        let used = |c: usize, k: usize| fit.coefficients[[c, k]] != 0.0;
        let redundant = |c: usize, k: usize| c + 1 == classes && (0..classes).all(|c| used(c, k));
        let mut parameters = Vec::new();
        for class in 0..classes {
            if class + 1 < classes {
                parameters.push((class, None));
            }
            let selected = (0..columns).filter(|&k| used(class, k) && !redundant(class, k));
            parameters.extend(selected.map(|k| (class, Some(k))));
        }
        let small = parameters.len() <= MAX_PARAMETERS;
        Error::check(small, "support", parameters.len(), "at most 4000 parameters; use a larger λ")?;
        let n = data.rows() as f64;
        let mean = data.x().sum_axis(Axis(0)) / n;
        let centred = &data.x() - &mean;
        // A constant column has no effect of its own; its scale does not matter.
        let sd = centred.map_axis(Axis(0), |c| (c.dot(&c) / n).sqrt()).mapv(|s| if s > 0.0 { s } else { 1.0 });
        Ok(Newton { z: centred / &sd, mean, sd, onehot: data.y().to_owned(), parameters })
    }

    fn run(&self, fit: &MultinomialFit, refit: Refit) -> Result<MultinomialRefit> {
        let basis = self.basis(refit)?;
        let mut at = self.evaluate(self.start(fit));
        for _ in 0..MAX_STEPS {
            let reduced = matmul(matmul(basis.t(), self.information(&at).view()).view(), basis.view());
            // Only the likelihood can have lost this rank since the basis was chosen: it has become flat far out.
            let Some(inverse) = invert(reduced.view()) else { break };
            let covariance = matmul(matmul(basis.view(), inverse.view()).view(), basis.t());
            let gradient = self.gradient(&at);
            let step = covariance.dot(&gradient);
            if 0.5 * gradient.dot(&step) <= CONVERGED * self.z.nrows() as f64 {
                let widest = covariance.diag().fold(0.0f64, |a, v| a.max(v.sqrt()));
                if widest > SEPARATED {
                    break;
                }
                return Ok(self.finish(&at.theta, covariance, basis.ncols()));
            }
            at = self.improve(at, &step);
        }
        Err(Error::Separable)
    }

    /// Directions that the data can tell apart (columns), judged where every row has the classes' frequencies.
    fn basis(&self, refit: Refit) -> Result<Array2<f64>> {
        let q = self.parameters.len();
        if q == 0 {
            return Ok(Array2::zeros((0, 0)));
        }
        let n = self.z.nrows() as f64;
        let frequency = self.onehot.sum_axis(Axis(0)) / n;
        let probability = frequency.broadcast(self.onehot.dim()).expect("one per class").to_owned();
        let at = Point { theta: Array1::zeros(q), probability, loss: 0.0 };
        let (values, vectors) = symmetric_eigen((self.information(&at) / n).view()).ok_or(Error::Separable)?;
        let floor = match refit {
            Refit::Ols => 1e-12 * values[q - 1],
            Refit::Mls => n.powi(-2) * values[q - 1],
        };
        let kept: Vec<usize> = (0..q).filter(|&i| values[i] > floor).collect();
        if refit == Refit::Ols && kept.len() < q {
            return Err(Error::DependentSupport { parameters: q, rank: kept.len() });
        }
        Ok(vectors.select(Axis(1), &kept))
    }

    /// The penalised estimate on standardised columns, relative to the last class.
    fn start(&self, fit: &MultinomialFit) -> Array1<f64> {
        let last = fit.intercepts.len() - 1;
        let shift = |c: usize| fit.intercepts[c] + fit.coefficients.row(c).dot(&self.mean);
        let kept = |k: usize| self.parameters.contains(&(last, Some(k)));
        let value = |&(c, column): &(usize, Option<usize>)| match column {
            None => shift(c) - shift(last),
            Some(k) if kept(k) => fit.coefficients[[c, k]] * self.sd[k],
            Some(k) => (fit.coefficients[[c, k]] - fit.coefficients[[last, k]]) * self.sd[k],
        };
        self.parameters.iter().map(value).collect()
    }

    fn column(&self, column: Option<usize>) -> Array1<f64> {
        column.map_or_else(|| Array1::ones(self.z.nrows()), |k| self.z.column(k).to_owned())
    }

    fn evaluate(&self, theta: Array1<f64>) -> Point {
        let mut f = Array2::zeros(self.onehot.dim());
        for (&(class, column), &t) in self.parameters.iter().zip(&theta) {
            f.column_mut(class).scaled_add(t, &self.column(column));
        }
        let loss = -Likelihood::Multinomial.log_likelihood(self.onehot.view(), f.view()).sum();
        Point { theta, probability: Likelihood::Multinomial.mean(f), loss }
    }

    fn gradient(&self, at: &Point) -> Array1<f64> {
        let residual = &self.onehot - &at.probability;
        self.parameters.iter().map(|&(class, column)| residual.column(class).dot(&self.column(column))).collect()
    }

    /// Σ_i (diag p_i − p_i p_iᵀ) ⊗ z_i z_iᵀ over the parameters: one Gram matrix of √p-weighted rows, minus one of
    /// p-weighted ones.
    fn information(&self, at: &Point) -> Array2<f64> {
        let q = self.parameters.len();
        let weighted = |f: &dyn Fn(f64) -> f64| {
            let mut m = Array2::zeros((self.z.nrows(), q));
            for (j, &(class, column)) in self.parameters.iter().enumerate() {
                m.column_mut(j).assign(&(at.probability.column(class).mapv(f) * self.column(column)));
            }
            m
        };
        let mut own = gram(weighted(&f64::sqrt).view());
        for ((i, j), v) in own.indexed_iter_mut() {
            if self.parameters[i].0 != self.parameters[j].0 {
                *v = 0.0;
            }
        }
        own - gram(weighted(&|p| p).view())
    }

    /// A Newton step, halved until the likelihood rises.
    fn improve(&self, at: Point, step: &Array1<f64>) -> Point {
        let mut scale = 1.0;
        for _ in 0..30 {
            let next = self.evaluate(&at.theta + &(scale * step));
            if next.loss <= at.loss {
                return next;
            }
            scale *= 0.5;
        }
        at
    }

    /// Back to the columns as they came.
    fn finish(&self, theta: &Array1<f64>, covariance: Array2<f64>, rank: usize) -> MultinomialRefit {
        let q = self.parameters.len();
        let mut back = Array2::<f64>::zeros((q, q));
        for (j, &(class, column)) in self.parameters.iter().enumerate() {
            back[[j, j]] = column.map_or(1.0, |k| 1.0 / self.sd[k]);
            let Some(k) = column else { continue };
            for (i, _) in self.parameters.iter().enumerate().filter(|(_, p)| p.1.is_none()) {
                // The last class has no intercept to take up its shift, so the others take its opposite.
                let (own, reference) = (self.parameters[i].0 == class, class + 1 == self.onehot.ncols());
                back[[i, j]] = (f64::from(u8::from(reference)) - f64::from(u8::from(own))) * self.mean[k] / self.sd[k];
            }
        }
        let theta = back.dot(theta);
        let covariance = matmul(matmul(back.view(), covariance.view()).view(), back.t());
        let (classes, columns) = (self.onehot.ncols(), self.z.ncols());
        let mut coefficients = Array2::zeros((classes, columns));
        let mut intercepts = Array1::zeros(classes);
        for (&(class, column), &t) in self.parameters.iter().zip(&theta) {
            match column {
                None => intercepts[class] += t,
                Some(k) => coefficients[[class, k]] = t,
            }
        }
        MultinomialRefit { coefficients, intercepts, parameters: self.parameters.clone(), covariance, rank }
    }
}

/// The inverse of a positive definite matrix; nothing if it is numerically singular.
fn invert(a: ArrayView2<'_, f64>) -> Option<Array2<f64>> {
    if a.is_empty() {
        return Some(a.to_owned());
    }
    let (values, vectors) = symmetric_eigen(a)?;
    let sound = values[0] > 1e-13 * values[values.len() - 1];
    sound.then(|| matmul((&vectors / &values).view(), vectors.t()))
}
