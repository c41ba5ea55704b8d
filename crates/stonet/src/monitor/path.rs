//! A curve over any number of rows in little room: the largest value of every stretch of rows, at most 512 of them.

use serde::{Deserialize, Serialize};

use crate::base::{Error, Result};

/// Points that are kept.
const MOST: usize = 512;

/// The largest value of every stretch of `stride` rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Path {
    stride: u64,
    /// The rows of the last point.
    open: u64,
    points: Vec<f64>,
}

impl Default for Path {
    fn default() -> Self {
        Path { stride: 1, open: 0, points: Vec::new() }
    }
}

impl Path {
    /// Adds the value after another row.
    pub(crate) fn add(&mut self, value: f64) {
        if self.points.is_empty() || self.open == self.stride {
            if self.points.len() == MOST {
                self.points = self.points.chunks(2).map(|pair| pair[0].max(pair[1])).collect();
                self.stride *= 2;
            }
            self.points.push(value);
            self.open = 1;
            return;
        }
        if let Some(last) = self.points.last_mut() {
            *last = last.max(value);
        }
        self.open += 1;
    }

    /// Rows so far and the largest value of the stretch that ends there.
    pub fn points(&self) -> Vec<(u64, f64)> {
        let end = |i: usize| (i as u64 + 1) * self.stride;
        let last = self.points.len().saturating_sub(1) as u64 * self.stride + self.open;
        self.points.iter().enumerate().map(|(i, v)| (end(i).min(last), *v)).collect()
    }

    /// Fails unless it belongs to so many rows.
    pub(crate) fn check(&self, rows: u64) -> Result<()> {
        let whole = (self.points.len() as u64).saturating_sub(1).checked_mul(self.stride);
        let last = whole.and_then(|w| w.checked_add(if self.points.is_empty() { 0 } else { self.open }));
        let sound = self.stride.is_power_of_two()
            && self.open <= self.stride
            && self.points.len() <= MOST
            && self.points.iter().all(|v| v.is_finite())
            && last == Some(rows);
        if sound { Ok(()) } else { Err(Error::Inconsistent { what: "a curve does not belong to its rows" }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_values_stay_and_room_is_bounded() {
        let mut path = Path::default();
        assert!(path.points().is_empty() && path.check(0).is_ok());
        for row in 1..=10_000u64 {
            path.add(if row == 7_777 { 99.0 } else { -(row as f64) });
            assert!(path.points.len() <= MOST && path.check(row).is_ok(), "{row}");
        }
        let points = path.points();
        assert_eq!(points.last().unwrap().0, 10_000);
        assert_eq!(points.iter().filter(|p| p.1 == 99.0).count(), 1);
        assert!(points.windows(2).all(|w| w[0].0 < w[1].0));
        assert!(path.check(9_999).is_err());
    }
}
