//! Rows in order of time: blocks of neighbours that stay together, and the rows beside a block that are left out.

use std::cmp::Ordering;

use super::LabelKind;
use crate::base::{Error, Result};

/// The default gap is the number of rows divided by this.
const GAP_SHARE: usize = 100;

/// The order of rows that may depend on their neighbours, and how many rows beside a block are left out of what judges it.
///
/// Rows of one time are never apart: they stand in one block, and a gap ends with the last of them. Blocks are as equal as
/// that allows.
///
/// ```
/// use stonet::rows::Order;
/// let order = Order::new(&[3.0, 1.0, 2.0, 2.0], Some(0))?;
/// assert_eq!(order.rows(), [1, 2, 3, 0]);
/// let days = ["2024-02-01", "2024-01-31"].map(String::from);
/// assert_eq!(Order::of_texts(&days, None)?.rows(), [1, 0]);
/// # Ok::<(), stonet::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Row numbers, the earliest first; rows of one time in the order in which they stand.
    sorted: Vec<usize>,
    /// By row, its place among them.
    place: Vec<usize>,
    /// By place, the first and the last place with the same time.
    same: Vec<(usize, usize)>,
    gap: usize,
}

impl Order {
    /// By a number per row, such as a time in seconds; without a gap it is a hundredth of the rows, rounded up.
    pub fn new(times: &[f64], gap: Option<usize>) -> Result<Self> {
        if let Some(row) = times.iter().position(|t| !t.is_finite()) {
            let value = times[row].to_string();
            return Err(Error::NotFinite { what: "the column of time", row, column: 0, value });
        }
        // −0 is 0.
        Ok(Self::by(times.len(), gap, |a, b| (times[a] + 0.0).total_cmp(&(times[b] + 0.0))))
    }

    /// By a text per row: all numbers, all dates (`2024-02-29`), or all times (`2024-02-29T12:30:00`).
    pub fn of_texts(texts: &[String], gap: Option<usize>) -> Result<Self> {
        let number = |t: &String| t.trim().parse::<f64>().ok().filter(|v| v.is_finite());
        if texts.iter().all(|t| number(t).is_some()) {
            let times: Vec<f64> = texts.iter().filter_map(number).collect();
            return Self::new(&times, gap);
        }
        // A midnight reads as a date too, so what counts is how far each reading gets.
        let of_day = |text: &str| LabelKind::days(text).map(i64::from);
        let read = |read: fn(&str) -> Option<i64>| texts.iter().map_while(|t| read(t)).collect::<Vec<i64>>();
        let (days, times) = (read(of_day), read(LabelKind::microseconds));
        let times = if days.len() > times.len() { days } else { times };
        match texts.get(times.len()) {
            Some(text) => Err(Error::NotTime { row: times.len(), text: text.trim().chars().take(40).collect() }),
            None => Ok(Self::by(times.len(), gap, |a, b| times[a].cmp(&times[b]))),
        }
    }

    fn by(rows: usize, gap: Option<usize>, compare: impl Fn(usize, usize) -> Ordering) -> Self {
        let mut sorted: Vec<usize> = (0..rows).collect();
        sorted.sort_by(|&a, &b| compare(a, b));
        let (mut place, mut same) = (vec![0; rows], vec![(0, 0); rows]);
        let mut first = 0;
        for (at, &row) in sorted.iter().enumerate() {
            place[row] = at;
            if compare(sorted[first], row).is_ne() {
                first = at;
            }
            same[at].0 = first;
        }
        let mut last = rows.saturating_sub(1);
        for at in (0..rows).rev() {
            if same[at].0 != same[last].0 {
                last = at;
            }
            same[at].1 = last;
        }
        Order { sorted, place, same, gap: gap.unwrap_or(rows.div_ceil(GAP_SHARE)) }
    }

    /// The order of some of the rows, with a gap of the same share.
    pub(crate) fn select(&self, chosen: &[usize]) -> Self {
        let time = |i: usize| self.same[self.place[chosen[i]]].0;
        let gap = self.gap * chosen.len() / self.sorted.len().max(1);
        Self::by(chosen.len(), Some(gap), |a, b| time(a).cmp(&time(b)))
    }

    /// Row numbers, the earliest first.
    pub fn rows(&self) -> &[usize] {
        &self.sorted
    }

    /// How many rows on each side of a block are left out.
    pub fn gap(&self) -> usize {
        self.gap
    }

    /// These rows in order.
    fn in_order(&self, rows: &[usize]) -> Vec<usize> {
        let mut places: Vec<usize> = rows.iter().map(|&r| self.place[r]).collect();
        places.sort_unstable();
        places
    }

    /// Two parts of these rows: at least about this many of the earliest, and the others; no time is in both.
    pub(crate) fn split(&self, rows: &[usize], first: usize) -> (Vec<usize>, Vec<usize>) {
        let places = self.in_order(rows);
        let cut = self.cut(&places, first);
        let of = |part: &[usize]| part.iter().map(|&at| self.sorted[at]).collect();
        (of(&places[..cut]), of(&places[cut..]))
    }

    /// These rows in k blocks of neighbours, the earliest first; blocks are empty where there are too few times.
    pub(crate) fn blocks(&self, rows: &[usize], k: usize) -> Vec<Vec<usize>> {
        let places = self.in_order(rows);
        let cuts: Vec<usize> = (0..=k).map(|i| self.cut(&places, i * places.len() / k)).collect();
        let block = |w: &[usize]| places[w[0]..w[1]].iter().map(|&at| self.sorted[at]).collect();
        cuts.windows(2).map(block).collect()
    }

    /// The first cut at or behind this one that does not divide a time.
    fn cut(&self, places: &[usize], mut cut: usize) -> usize {
        let divided =
            |cut: usize| cut > 0 && cut < places.len() && self.same[places[cut]].0 == self.same[places[cut - 1]].0;
        while divided(cut) {
            cut += 1;
        }
        cut
    }

    /// Those of the rows that are in none of the blocks and further than the gap from each.
    pub(crate) fn apart(&self, rows: &[usize], blocks: &[&[usize]]) -> Vec<usize> {
        let top = self.sorted.len().saturating_sub(1);
        let range = |block: &&[usize]| {
            let places = || block.iter().map(|&r| self.place[r]);
            let (low, high) = (places().min()?, places().max()?);
            // Without a gap the block alone, which holds whole times.
            Some((self.same[low.saturating_sub(self.gap)].0, self.same[(high + self.gap).min(top)].1))
        };
        let out: Vec<(usize, usize)> = blocks.iter().filter_map(range).collect();
        let far = |r: &&usize| out.iter().all(|&(low, high)| self.place[**r] < low || self.place[**r] > high);
        let mut left: Vec<usize> = rows.iter().filter(far).copied().collect();
        left.sort_unstable();
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(all: &[&str]) -> Vec<String> {
        all.iter().map(|t| t.to_string()).collect()
    }

    #[test]
    fn blocks_are_neighbours_and_a_gap_lies_around_them() {
        let times: Vec<f64> = (0..20).map(|i| f64::from((i * 7) % 20)).collect();
        let order = Order::new(&times, Some(2)).unwrap();
        let all: Vec<usize> = (0..20).collect();
        let blocks = order.blocks(&all, 4);
        for (k, block) in blocks.iter().enumerate() {
            let mut found: Vec<f64> = block.iter().map(|&r| times[r]).collect();
            found.sort_by(f64::total_cmp);
            assert_eq!(found, (5 * k..5 * k + 5).map(|t| t as f64).collect::<Vec<_>>());
            let left: Vec<f64> = order.apart(&all, &[block]).iter().map(|&r| times[r]).collect();
            let far = |t: f64| t < 5.0 * k as f64 - 2.0 || t > 5.0 * k as f64 + 6.0;
            assert!(left.iter().all(|&t| far(t)) && left.len() == (0..20).filter(|&t| far(f64::from(t))).count());
        }
        let left = order.apart(&all, &[&blocks[0], &blocks[3]]);
        assert_eq!(left.len(), 6);
        let (early, late) = order.split(&all, 14);
        assert!(early.iter().all(|&r| times[r] < 14.0) && late.iter().all(|&r| times[r] >= 14.0));
    }

    #[test]
    fn rows_of_one_time_are_never_apart() {
        let times: Vec<f64> = (0..24).map(|i| f64::from(i / 3)).collect();
        for gap in 0..5 {
            let order = Order::new(&times, Some(gap)).unwrap();
            let all: Vec<usize> = (0..24).collect();
            let blocks = order.blocks(&all, 5);
            assert_eq!(blocks.iter().map(Vec::len).sum::<usize>(), 24);
            for block in &blocks {
                let left = order.apart(&all, &[block]);
                assert!(left.iter().all(|&l| block.iter().all(|&b| times[l] != times[b])));
                // Whole times are left out.
                assert!(left.iter().filter(|&&l| times[l] == times[left[0]]).count() == 3);
            }
        }
        // One time has one block, and the others are empty.
        let blocks = Order::new(&[1.0; 6], None).unwrap().blocks(&[0, 1, 2, 3, 4, 5], 3);
        assert_eq!(blocks.iter().filter(|b| b.is_empty()).count(), 2);
    }

    #[test]
    fn numbers_dates_and_times_are_read_and_others_are_named() {
        let rows = |t: &[&str]| Order::of_texts(&texts(t), Some(0)).map(|o| o.rows().to_vec());
        assert_eq!(rows(&["10", "9.5", " -1"]).unwrap(), [2, 1, 0]);
        assert_eq!(rows(&["2024-02-29", "2023-12-01"]).unwrap(), [1, 0]);
        assert_eq!(rows(&["2024-02-29T12:30:00", "2024-02-29 09:30:00"]).unwrap(), [1, 0]);
        assert_eq!(rows(&["2024-02-29T00:00:00.000000", "2024-02-28T23:00:00.000000"]).unwrap(), [1, 0]);
        assert_eq!(rows(&["2024-02-29", "monday"]).unwrap_err(), Error::NotTime { row: 1, text: "monday".into() });
        assert!(rows(&["1", "2024-02-29"]).is_err());
        assert!(Order::new(&[1.0, f64::NAN], None).is_err());
        assert_eq!(Order::new(&[0.0; 250], None).unwrap().gap(), 3);
    }
}
