//! The only place that knows how matrices are multiplied: faer for f64 statistics, own kernels for the f32 training step.

pub(crate) mod dense;
pub(crate) mod elementwise;
pub(crate) mod kernels;
mod simd;
