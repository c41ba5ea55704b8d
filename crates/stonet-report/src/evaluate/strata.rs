//! Coverage in parts of the rows: by fifths of a value, and by subgroups that a column names.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::binomial::{Judgement, Proportion};
use crate::number::real;

/// The most subgroups that get a row of their own.
pub const MOST_GROUPS: usize = 100;

/// Parts of about equal size.
const PARTS: usize = 5;

/// A fifth of the rows, by some value of theirs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stratum {
    /// The least value in it.
    #[serde(with = "real")]
    pub low: f64,
    /// The greatest.
    #[serde(with = "real")]
    pub high: f64,
    /// How many of its rows were covered.
    pub coverage: Proportion,
    /// Against the level, all strata taken together.
    pub judgement: Judgement,
    /// Mean length of the intervals.
    #[serde(with = "real")]
    pub mean_length: f64,
}

/// The rows in ascending order of a value; equal ones in their own order.
pub fn ranked(rows: usize, value: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows).collect();
    order.sort_unstable_by(|&a, &b| value(a).total_cmp(&value(b)).then(a.cmp(&b)));
    order
}

/// Coverage by fifths of the value that `order` is [ranked] by. Rows of equal value share a stratum, so there may be
/// fewer than five.
pub fn fifths(
    order: &[usize],
    value: impl Fn(usize) -> f64,
    hit: impl Fn(usize) -> bool,
    length: impl Fn(usize) -> f64,
    level: f64,
) -> Vec<Stratum> {
    let parts: Vec<&[usize]> = parts(order, &value, PARTS);
    let stratum = |rows: &&[usize]| {
        let coverage = Proportion::new(rows.iter().filter(|&&r| hit(r)).count() as f64, rows.len());
        Stratum {
            low: value(rows[0]),
            high: value(rows[rows.len() - 1]),
            judgement: coverage.judge(level, parts.len()),
            coverage,
            mean_length: rows.iter().map(|&r| length(r)).sum::<f64>() / rows.len() as f64,
        }
    };
    parts.iter().map(stratum).collect()
}

/// The number of every row's stratum among the [fifths] of the value that `order` is [ranked] by.
pub fn fifth_of(order: &[usize], value: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut of = vec![0; order.len()];
    for (number, part) in parts(order, &value, PARTS).into_iter().enumerate() {
        part.iter().for_each(|&row| of[row] = number);
    }
    of
}

/// At most so many parts of about equal size; none is empty, and rows of equal value are in the same.
fn parts<'o>(order: &'o [usize], value: &impl Fn(usize) -> f64, number: usize) -> Vec<&'o [usize]> {
    let mut parts = Vec::with_capacity(number);
    let (mut begin, mut first, mut current) = (0, 0, 0);
    for (rank, &row) in order.iter().enumerate() {
        if value(row) != value(order[first]) {
            first = rank;
        }
        let part = first * number / order.len();
        if part != current {
            parts.push(&order[begin..rank]);
            (begin, current) = (rank, part);
        }
    }
    parts.push(&order[begin..]);
    parts.retain(|part| !part.is_empty());
    parts
}

/// The subgroup of every row, by number: names are kept once.
#[derive(Debug, Clone, Default)]
pub struct Groups {
    numbers: HashMap<String, u32>,
    rows: Vec<u32>,
}

impl Groups {
    /// More rows with the names of their subgroups.
    pub fn add(&mut self, labels: &[String]) {
        for label in labels {
            let next = self.numbers.len() as u32;
            let number = match self.numbers.get(label) {
                Some(number) => *number,
                None => *self.numbers.entry(label.clone()).or_insert(next),
            };
            self.rows.push(number);
        }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The rows of every subgroup: the largest first, equal ones by name. Beyond [`MOST_GROUPS`] the smallest share a
    /// last entry.
    pub fn largest(&self) -> Vec<(String, Vec<usize>)> {
        let mut groups: Vec<(String, Vec<usize>)> = vec![Default::default(); self.numbers.len()];
        self.numbers.iter().for_each(|(name, &number)| groups[number as usize].0.clone_from(name));
        self.rows.iter().enumerate().for_each(|(row, &number)| groups[number as usize].1.push(row));
        groups.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| a.0.cmp(&b.0)));
        if groups.len() > MOST_GROUPS {
            let rest = groups.split_off(MOST_GROUPS - 1);
            let mut rows: Vec<usize> = rest.iter().flat_map(|(_, rows)| rows.iter().copied()).collect();
            rows.sort_unstable();
            groups.push((format!("all {} others", rest.len()), rows));
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifths_by_hand() {
        // Values 9, 8, …, 0; the two smallest (rows 9 and 8) are missed.
        let value: Vec<f64> = (0..10).map(|i| f64::from(9 - i)).collect();
        let hits: Vec<bool> = (0..10).map(|i| i < 8).collect();
        let by = |value: &[f64], hits: &[bool], lengths: &[f64]| {
            fifths(&ranked(value.len(), |r| value[r]), |r| value[r], |r| hits[r], |r| lengths[r], 0.9)
        };
        let parts = by(&value, &hits, &value);
        assert_eq!(parts.len(), 5);
        assert_eq!((parts[0].low, parts[0].high, parts[0].coverage.value, parts[0].mean_length), (0.0, 1.0, 0.0, 0.5));
        assert_eq!((parts[4].low, parts[4].high, parts[4].coverage.value), (8.0, 9.0, 1.0));
        assert_eq!(parts.iter().map(|p| p.coverage.rows).sum::<usize>(), 10);
        assert_eq!(fifth_of(&ranked(10, |r| value[r]), |r| value[r]), [4, 4, 3, 3, 2, 2, 1, 1, 0, 0]);
        // Equal widths are one stratum, not five made up by the order of rows.
        assert_eq!(by(&[2.0; 10], &hits, &value).len(), 1);
        assert_eq!(by(&[f64::INFINITY, 1.0, 2.0], &[true; 3], &[1.0; 3]).len(), 3);
    }

    #[test]
    fn groups_come_by_size_then_name_and_the_smallest_share_a_row() {
        let own = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        let subgroups = |labels: &[String]| {
            let mut groups = Groups::default();
            // The division into batches does not matter.
            labels.chunks(5).for_each(|part| groups.add(part));
            groups.largest()
        };
        let groups = subgroups(&own(&["b", "a", "c", "c", "a", "b", "c"]));
        assert_eq!(groups.iter().map(|g| g.0.as_str()).collect::<Vec<_>>(), ["c", "a", "b"]);
        assert_eq!(groups[1].1, [1, 4]);
        let many: Vec<String> = (0..150).map(|i| format!("g{i:03}")).chain(own(&["g149", "g149"])).collect();
        let groups = subgroups(&many);
        assert_eq!((groups.len(), groups[0].0.as_str(), groups[0].1.len()), (100, "g149", 3));
        assert_eq!((groups[99].0.as_str(), groups[99].1.len()), ("all 51 others", 51));
    }
}
