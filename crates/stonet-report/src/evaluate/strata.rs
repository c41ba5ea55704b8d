//! Coverage in parts of the rows: by fifths of a value, and by subgroups that a column names.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use stonet::{Error, Result};

use super::binomial::{Judgement, Proportion};
use crate::number::real;

/// The most subgroups that get a row of their own.
pub const MOST_GROUPS: usize = 100;

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

/// Coverage by fifths of `value`, ascending. Rows of equal value share a stratum, so there may be fewer than five.
pub fn fifths(value: &[f64], hits: &[bool], lengths: &[f64], level: f64) -> Vec<Stratum> {
    const PARTS: usize = 5;
    let mut order: Vec<usize> = (0..value.len()).collect();
    order.sort_by(|&a, &b| value[a].total_cmp(&value[b]));
    let mut parts = vec![Vec::new(); PARTS];
    let mut first = 0;
    for (rank, &row) in order.iter().enumerate() {
        if value[row] != value[order[first]] {
            first = rank;
        }
        parts[first * PARTS / order.len()].push(row);
    }
    parts.retain(|rows| !rows.is_empty());
    let number = parts.len();
    let stratum = |rows: Vec<usize>| {
        let coverage = Proportion::new(rows.iter().filter(|&&r| hits[r]).count() as f64, rows.len());
        Stratum {
            low: value[rows[0]],
            high: value[rows[rows.len() - 1]],
            judgement: coverage.judge(level, number),
            coverage,
            mean_length: rows.iter().map(|&r| lengths[r]).sum::<f64>() / rows.len() as f64,
        }
    };
    parts.into_iter().map(stratum).collect()
}

/// The rows of every subgroup: the largest first, equal ones by name. Beyond [`MOST_GROUPS`] the smallest share a last entry.
pub fn subgroups(labels: &[String], rows: usize) -> Result<Vec<(String, Vec<usize>)>> {
    if labels.len() != rows {
        return Err(Error::Shape {
            what: "rows of the column of subgroups".into(),
            expected: rows,
            found: labels.len(),
        });
    }
    let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
    labels.iter().enumerate().for_each(|(row, name)| by_name.entry(name).or_default().push(row));
    let mut groups: Vec<(String, Vec<usize>)> = by_name.into_iter().map(|(n, r)| (n.to_owned(), r)).collect();
    groups.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| a.0.cmp(&b.0)));
    if groups.len() > MOST_GROUPS {
        let rest = groups.split_off(MOST_GROUPS - 1);
        let mut rows: Vec<usize> = rest.iter().flat_map(|(_, rows)| rows.iter().copied()).collect();
        rows.sort_unstable();
        groups.push((format!("all {} others", rest.len()), rows));
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifths_by_hand() {
        // Values 9, 8, …, 0; the two smallest (rows 9 and 8) are missed.
        let value: Vec<f64> = (0..10).map(|i| f64::from(9 - i)).collect();
        let hits: Vec<bool> = (0..10).map(|i| i < 8).collect();
        let parts = fifths(&value, &hits, &value, 0.9);
        assert_eq!(parts.len(), 5);
        assert_eq!((parts[0].low, parts[0].high, parts[0].coverage.value, parts[0].mean_length), (0.0, 1.0, 0.0, 0.5));
        assert_eq!((parts[4].low, parts[4].high, parts[4].coverage.value), (8.0, 9.0, 1.0));
        assert_eq!(parts.iter().map(|p| p.coverage.rows).sum::<usize>(), 10);
        // Equal widths are one stratum, not five made up by the order of rows.
        assert_eq!(fifths(&[2.0; 10], &hits, &value, 0.9).len(), 1);
        assert_eq!(fifths(&[f64::INFINITY, 1.0, 2.0], &[true; 3], &[1.0; 3], 0.9).len(), 3);
    }

    #[test]
    fn groups_come_by_size_then_name_and_the_smallest_share_a_row() {
        let own = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        let groups = subgroups(&own(&["b", "a", "c", "c", "a", "b", "c"]), 7).unwrap();
        assert_eq!(groups.iter().map(|g| g.0.as_str()).collect::<Vec<_>>(), ["c", "a", "b"]);
        assert_eq!(groups[1].1, [1, 4]);
        assert!(subgroups(&own(&["a"]), 2).is_err());
        let many: Vec<String> = (0..150).map(|i| format!("g{i:03}")).chain(own(&["g149", "g149"])).collect();
        let groups = subgroups(&many, 152).unwrap();
        assert_eq!((groups.len(), groups[0].0.as_str(), groups[0].1.len()), (100, "g149", 3));
        assert_eq!((groups[99].0.as_str(), groups[99].1.len()), ("all 51 others", 51));
    }
}
