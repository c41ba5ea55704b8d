//! Fingerprints of rows: which rows a head was fitted on, and which of them are copies, in a few bytes per row.
//!
//! A row is hashed by its values as `f32`, so that the same row agrees between CSV, Parquet and arrays of either
//! precision, and −0 equals 0. The hash covers the inputs and the target: rows with the same inputs and another target
//! are other rows. That is what independent measurements of one discrete input look like, and judging a head on them is
//! legitimate.
//!
//! The callers hash what every evaluation of a head has at hand:
//!
//! | head | inputs | target |
//! |---|---|---|
//! | regression | the features; the network's predictions where there are no features | all targets |
//! | classification | the network's outputs as they stand in the table; the features where there are no outputs | number of the class |

mod copies;
mod overlap;
mod sketch;

use ndarray::ArrayView2;

pub use copies::Copies;
pub use overlap::Overlap;
pub use sketch::{FingerprintCounts, Fingerprints, FingerprintsBuilder};

use crate::base::{Error, Result};

/// Where every hash begins.
const START: u64 = 0x0073_746f_6e65_7431;
/// What keeps a row of zeros from hashing to zero (the increment of SplitMix64).
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// One 64-bit hash per row of its values in all `parts`, which have the same number of rows. Values count as `f32`, and
/// −0 as 0. The hash is the same on every machine and in every version; it is not a cryptographic one.
pub fn row_hashes(parts: &[ArrayView2<'_, f64>]) -> Result<Vec<u64>> {
    let rows = parts.first().map_or(0, ArrayView2::nrows);
    if let Some(other) = parts.iter().find(|p| p.nrows() != rows) {
        return Err(Error::Shape { what: "rows to hash".into(), expected: rows, found: other.nrows() });
    }
    let width: usize = parts.iter().map(ArrayView2::ncols).sum();
    let mut hashes = vec![mix(START ^ width as u64); rows];
    for part in parts {
        for (hash, row) in hashes.iter_mut().zip(part.outer_iter()) {
            *hash = row.iter().fold(*hash, |h, &v| mix(h.wrapping_add(STEP) ^ u64::from(canonical(v))));
        }
    }
    Ok(hashes)
}

/// The bits of a number as `f32`.
fn canonical(value: f64) -> u32 {
    let value = value as f32;
    if value == 0.0 { 0 } else { value.to_bits() }
}

/// The finaliser of SplitMix64: a bijection in which every bit of the result depends on every bit of the argument.
fn mix(mut h: u64) -> u64 {
    h = (h ^ (h >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    h = (h ^ (h >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    h ^ (h >> 31)
}

/// As 12.3 %, and nothing that looks like zero where it is not.
fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.001 { "below 0.1 %".into() } else { format!("{:.1} %", 100.0 * share) }
}
