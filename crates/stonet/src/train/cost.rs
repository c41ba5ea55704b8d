//! What training costs, and how a training counts it: progress and estimates of time build on both.

use std::ops::ControlFlow;

use super::{Progress, Stop};
use crate::base::{Cost, Piece};

/// Nanoseconds per row of a step.
const ROW: f64 = 20.0;
/// Nanoseconds per row and weight; like the others measured at 100-20-1, 20-500-100-1 and 8-100-8.
const WEIGHT: f64 = 0.06;
/// Nanoseconds per row and unit above the inputs.
const UNIT: f64 = 3.2;

/// Of so many epochs on so many rows, for a network of these widths.
pub(crate) fn training(widths: &[usize], rows: usize, epochs: usize) -> Cost {
    let weights: usize = widths.windows(2).map(|w| w[0] * w[1]).sum();
    let units: usize = widths.iter().skip(1).sum();
    Cost::of((ROW + WEIGHT * weights as f64 + UNIT * units as f64) * rows as f64 * epochs as f64)
}

/// An observer that counts a training of this cost as a part of a piece of work, epoch by epoch, and cancels it with the
/// work.
pub(crate) fn spending<'a>(
    piece: &'a Piece<'_, '_>,
    cost: Cost,
) -> impl FnMut(&Progress<'_>) -> ControlFlow<Stop> + 'a {
    move |p| match piece.advance(Cost::of(cost.get() / p.epochs.max(1) as f64)) {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(Stop::Cancel),
    }
}
