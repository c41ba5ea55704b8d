//! The map from data to paper: ranges, logarithms, round ticks.

use super::{Axis, Chart, Mark, Scale};
use crate::number::grouped;

/// Beyond these, sums and differences of coordinates lose their meaning.
const LARGEST: f64 = 1e150;
/// Ticks that fit on a page's chart.
const PAGE_TICKS: f64 = 5.0;

/// One axis: its ends in data (or their logarithms) and on paper.
struct Map {
    scale: Scale,
    low: f64,
    high: f64,
    paper: (f64, f64),
    ticks: f64,
}

impl Map {
    fn new(axis: &Axis, seen: (f64, f64), paper: (f64, f64), ticks: f64) -> Self {
        let (low, high) = match (&axis.range, &axis.scale) {
            (Some(range), Scale::Log) => (range.0.max(1e-150).log10(), range.1.max(1e-150).log10()),
            (Some(range), _) => *range,
            (None, Scale::Names(names)) => (-0.5, names.len().max(1) as f64 - 0.5),
            (None, _) => widen(seen),
        };
        let high = if high > low { high } else { low + 1.0 };
        Map { scale: axis.scale.clone(), low, high, paper, ticks }
    }

    fn to_paper(&self, v: f64) -> f64 {
        // Ends of infinite intervals lie on the edge of the paper.
        let v = if self.scale == Scale::Log { v.max(1e-150).log10() } else { v };
        let part = ((v - self.low) / (self.high - self.low)).clamp(-0.02, 1.02);
        self.paper.0 + part * (self.paper.1 - self.paper.0)
    }

    fn ticks(&self) -> Vec<(f64, String)> {
        match &self.scale {
            Scale::Linear => ticks((self.low, self.high), self.ticks).into_iter().map(|t| (t, number(t))).collect(),
            Scale::Percent => {
                let percent = ticks((100.0 * self.low, 100.0 * self.high), self.ticks);
                percent.into_iter().map(|t| (t / 100.0, format!("{} %", number(t)))).collect()
            }
            Scale::Log => self.powers(),
            Scale::Names(names) => names.iter().enumerate().map(|(i, n)| (i as f64, n.clone())).collect(),
        }
    }

    /// Powers of ten, and 2 and 5 times them where there would be too few; every so many where there would be too many.
    fn powers(&self) -> Vec<(f64, String)> {
        let (first, last) = (self.low.floor() as i32, self.high.ceil() as i32);
        let factors: &[f64] = if self.high - self.low < 2.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let step = ((last - first) as usize / 7).max(1);
        let all = (first..=last).step_by(step).flat_map(|e| factors.iter().map(move |f| f * 10f64.powi(e)));
        all.filter(|t| (self.low..=self.high).contains(&t.log10())).map(|t| (t, number(t))).collect()
    }
}

fn widen((low, high): (f64, f64)) -> (f64, f64) {
    if !low.is_finite() {
        return (0.0, 1.0);
    }
    let margin = if high > low { 0.04 * (high - low) } else { 1.0f64.max(0.1 * low.abs()) };
    (low - margin, high + margin)
}

/// The chart's axes on paper of some size.
pub struct Frame {
    x: Map,
    y: Map,
    size: (f64, f64),
    /// Left, top, right and bottom edge of the plot.
    edges: [f64; 4],
    page: bool,
    intervals: usize,
}

impl Frame {
    /// 640 × 400 with room for a title.
    pub fn of_file(chart: &Chart) -> Self {
        Frame::new(chart, (640.0, 400.0), [62.0, 40.0, 624.0, 350.0], false)
    }

    /// Narrow, so that its letters are large enough on a phone.
    pub fn of_page(chart: &Chart) -> Self {
        let draft = Frame::new(chart, (420.0, 290.0), [50.0, 26.0, 402.0, 244.0], true);
        let widest = draft.y_ticks().iter().map(|t| t.1.chars().count()).max().unwrap_or(0);
        let left = (12.0 + 7.6 * widest as f64).clamp(30.0, 120.0);
        Frame::new(chart, (420.0, 290.0), [left, 26.0, 402.0, 244.0], true)
    }

    fn new(chart: &Chart, size: (f64, f64), edges: [f64; 4], page: bool) -> Self {
        let (xs, ys) = seen(chart);
        let (across, up) = if page { (PAGE_TICKS, PAGE_TICKS) } else { (6.0, 6.0) };
        Frame {
            x: Map::new(&chart.x, xs, (edges[0], edges[2]), across),
            y: Map::new(&chart.y, ys, (edges[3], edges[1]), up),
            size,
            edges,
            page,
            intervals: chart.marks.iter().filter(|m| matches!(m, Mark::Interval { .. })).count(),
        }
    }

    pub fn size(&self) -> (f64, f64) {
        self.size
    }

    pub fn left(&self) -> f64 {
        self.edges[0]
    }

    pub fn top(&self) -> f64 {
        self.edges[1]
    }

    pub fn right(&self) -> f64 {
        self.edges[2]
    }

    pub fn bottom(&self) -> f64 {
        self.edges[3]
    }

    /// Whether the chart is part of a page.
    pub fn page(&self) -> bool {
        self.page
    }

    pub fn px(&self, x: f64) -> f64 {
        self.x.to_paper(x)
    }

    pub fn py(&self, y: f64) -> f64 {
        self.y.to_paper(y)
    }

    pub fn x_ticks(&self) -> Vec<(f64, String)> {
        self.x.ticks()
    }

    pub fn y_ticks(&self) -> Vec<(f64, String)> {
        self.y.ticks()
    }

    /// Half the width of an interval's ends: none where there are many intervals.
    pub fn cap(&self) -> f64 {
        let room = 0.3 * (self.right() - self.left()) / self.intervals.max(1) as f64;
        if room < 1.5 { 0.0 } else { room.min(4.0) }
    }

    /// Whether a mark at this x can be drawn.
    pub fn has_x(&self, x: f64) -> bool {
        drawable(x, &self.x.scale)
    }

    /// Whether a mark at this y can be drawn.
    pub fn has_y(&self, y: f64) -> bool {
        drawable(y, &self.y.scale)
    }
}

fn drawable(v: f64, scale: &Scale) -> bool {
    v.is_finite() && v.abs() < LARGEST && (*scale != Scale::Log || v > 1.0 / LARGEST)
}

/// The ends of what can be drawn, as logarithms where the axis is logarithmic.
fn seen(chart: &Chart) -> ((f64, f64), (f64, f64)) {
    let mut ends = [(f64::INFINITY, f64::NEG_INFINITY); 2];
    let mut see = |axis: usize, v: f64| {
        let scale = if axis == 0 { &chart.x.scale } else { &chart.y.scale };
        if drawable(v, scale) {
            let v = if *scale == Scale::Log { v.log10() } else { v };
            ends[axis] = (ends[axis].0.min(v), ends[axis].1.max(v));
        }
    };
    for mark in &chart.marks {
        let (xs, ys): (Vec<f64>, Vec<f64>) = match mark {
            Mark::Line(points, ..) => points.iter().copied().unzip(),
            Mark::Interval { x, lower, upper, .. } => (vec![*x], vec![*lower, *upper]),
            Mark::Point { x, y, .. } => (vec![*x], vec![*y]),
            Mark::Estimate { x, y, lower, upper, .. } => (vec![*x], vec![*y, *lower, *upper]),
            Mark::Area { x, y, .. } => (vec![x.0, x.1], vec![y.0, y.1]),
            Mark::Band(points) => {
                (points.iter().map(|p| p.0).collect(), points.iter().flat_map(|p| [p.1, p.2]).collect())
            }
            Mark::Horizontal { y, .. } => (Vec::new(), vec![*y]),
            Mark::Vertical { .. } => (Vec::new(), Vec::new()),
        };
        xs.into_iter().for_each(|x| see(0, x));
        ys.into_iter().for_each(|y| see(1, y));
    }
    (ends[0], ends[1])
}

/// About `wanted` round numbers inside the range.
pub fn ticks((low, high): (f64, f64), wanted: f64) -> Vec<f64> {
    let raw = (high - low) / wanted;
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= raw).unwrap_or(10.0 * power);
    if !(step > 0.0 && step.is_finite()) {
        return Vec::new();
    }
    let first = (low / step).ceil();
    // More than a dozen cannot be; a range that is tiny beside its numbers must not run for ever.
    (0..=12).map(|i| (first + f64::from(i)) * step).take_while(|t| *t <= high + 1e-9 * step).collect()
}

/// Short: at most four decimals, powers of ten for what is very large or small.
pub fn number(t: f64) -> String {
    if t == 0.0 {
        return "0".to_owned();
    }
    if !(1e-3..1e6).contains(&t.abs()) {
        let text = format!("{t:.1e}");
        return text.replace(".0e", "e");
    }
    let text = format!("{t:.4}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" { "0".to_owned() } else { grouped(short) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks((0.0, 6.0), 6.0), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        for range in [(-3.7, 4.1), (0.001, 0.0042), (90.0, 100.0), (1e9, 1e9 + 1.0)] {
            let t = ticks(range, 6.0);
            assert!((4..=9).contains(&t.len()), "{range:?}: {t:?}");
            assert!(t.iter().all(|t| (range.0..=range.1 + 1e-9).contains(t)));
        }
        assert!(ticks((1.0, 1.0), 6.0).is_empty() && ticks((0.0, f64::INFINITY), 6.0).is_empty());
        assert_eq!((number(0.5), number(-0.0), number(20_000.0)), ("0.5".into(), "0".into(), "20,000".into()));
        assert_eq!((number(2e-5), number(1.5e7), number(-3e-4)), ("2e-5".into(), "1.5e7".into(), "-3e-4".into()));
    }

    #[test]
    fn logarithmic_ticks_are_powers_of_ten() {
        let map = |low: f64, high: f64| {
            let axis = Axis { scale: Scale::Log, range: Some((low, high)), ..Axis::default() };
            Map::new(&axis, (0.0, 1.0), (0.0, 100.0), 5.0)
        };
        let labels = |m: &Map| m.ticks().into_iter().map(|t| t.1).collect::<Vec<_>>();
        assert_eq!(labels(&map(0.001, 1.0)), ["0.001", "0.01", "0.1", "1"]);
        assert_eq!(labels(&map(0.01, 0.2)), ["0.01", "0.02", "0.05", "0.1", "0.2"]);
        assert!((map(0.01, 1.0).to_paper(0.1) - 50.0).abs() < 1e-9);
        assert!(labels(&map(1e-20, 1e20)).len() < 12);
    }
}
