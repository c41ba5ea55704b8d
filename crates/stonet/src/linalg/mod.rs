//! The only place that knows faer: f64 products and factorisations for statistics, f32 products and element-wise passes
//! for the training step.

pub(crate) mod dense;
pub(crate) mod elementwise;
pub(crate) mod lbfgs;
pub(crate) mod perceptron;
pub(crate) mod product;
pub(crate) mod simd;
