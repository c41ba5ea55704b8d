//! Small charts as self-contained SVG: lines over a numeric axis, and intervals with points.

use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;
/// Least distance of two names.
const NAME_HEIGHT: f64 = 13.0;

/// Plain colours first, for viewers that know neither variables nor colour schemes.
const STYLE: &str = "<style>
text { font: 12px system-ui, sans-serif; fill: #1b1f24; }
.title { font-size: 14px; font-weight: 600; }
.paper { fill: #ffffff; }
.axis { stroke: #1b1f24; stroke-width: 1; fill: none; }
.strong { stroke: #0b62c4; stroke-width: 1.8; fill: none; }
.weak { stroke: #9aa4b0; stroke-width: 1; fill: none; }
.rule { stroke: #1b1f24; stroke-width: 1; stroke-dasharray: 4 3; fill: none; }
.in { fill: #1b1f24; }
.out { fill: #c2410c; }
@media (prefers-color-scheme: dark) {
text, .in { fill: #e6e8eb; }
.paper { fill: #15181c; }
.axis, .rule { stroke: #e6e8eb; }
.strong { stroke: #62a8ff; }
.weak { stroke: #6b7580; }
.out { fill: #ff9a5c; }
}
</style>
";

/// How a mark is drawn; colours follow the reader's light or dark scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// What the figure is about.
    Strong,
    /// What it is compared with.
    Weak,
    /// A reference.
    Rule,
}

impl Style {
    fn class(self) -> &'static str {
        match self {
            Style::Strong => "strong",
            Style::Weak => "weak",
            Style::Rule => "rule",
        }
    }
}

#[derive(Debug)]
enum Mark {
    Line(Vec<(f64, f64)>, Style, Option<String>),
    Interval { x: f64, lower: f64, upper: f64 },
    Point { x: f64, y: f64, inside: bool },
    Vertical { x: f64, label: String },
}

/// A chart under construction; marks are drawn in the order they were added.
#[derive(Debug)]
pub struct Chart {
    title: String,
    x_label: String,
    y_label: String,
    marks: Vec<Mark>,
}

impl Chart {
    /// An empty chart.
    pub fn new(title: &str, x_label: &str, y_label: &str) -> Self {
        let own = str::to_owned;
        Chart { title: own(title), x_label: own(x_label), y_label: own(y_label), marks: Vec::new() }
    }

    /// A line through the points, with its name at its last point.
    pub fn line(&mut self, points: Vec<(f64, f64)>, style: Style, name: Option<&str>) {
        self.marks.push(Mark::Line(points, style, name.map(str::to_owned)));
    }

    /// A vertical interval.
    pub fn interval(&mut self, x: f64, lower: f64, upper: f64) {
        self.marks.push(Mark::Interval { x, lower, upper });
    }

    /// A point, filled where it lies inside its interval.
    pub fn point(&mut self, x: f64, y: f64, inside: bool) {
        self.marks.push(Mark::Point { x, y, inside });
    }

    /// A labelled vertical rule.
    pub fn vertical(&mut self, x: f64, label: &str) {
        self.marks.push(Mark::Vertical { x, label: label.to_owned() });
    }

    /// The whole file.
    pub fn render(&self) -> String {
        let frame = Frame::around(&self.marks);
        let mut s = String::new();
        let title = escape(&self.title);
        let _ = writeln!(
            s,
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}">"#
        );
        s.push_str(STYLE);
        let _ = writeln!(s, r#"<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>"#);
        let _ = writeln!(s, r#"<text class="title" x="{LEFT}" y="22">{title}</text>"#);
        frame.axes(&mut s, &self.x_label, &self.y_label);
        self.marks.iter().for_each(|m| frame.mark(&mut s, m));
        frame.names(&mut s, &self.marks);
        s.push_str("</svg>\n");
        s
    }
}

/// The map from data to page.
struct Frame {
    x: (f64, f64),
    y: (f64, f64),
}

impl Frame {
    fn around(marks: &[Mark]) -> Self {
        let mut xs = (f64::INFINITY, f64::NEG_INFINITY);
        let mut ys = xs;
        let mut see = |x: f64, y: f64| {
            xs = (xs.0.min(x), xs.1.max(x));
            ys = (ys.0.min(y), ys.1.max(y));
        };
        for mark in marks {
            match mark {
                Mark::Line(points, ..) => points.iter().for_each(|&(x, y)| see(x, y)),
                Mark::Interval { x, lower, upper } => {
                    see(*x, *lower);
                    see(*x, *upper);
                }
                Mark::Point { x, y, .. } => see(*x, *y),
                Mark::Vertical { .. } => {}
            }
        }
        let widen = |(lo, hi): (f64, f64)| {
            let margin = if hi > lo { 0.04 * (hi - lo) } else { 1.0 };
            if lo.is_finite() { (lo - margin, hi + margin) } else { (0.0, 1.0) }
        };
        Frame { x: widen(xs), y: widen(ys) }
    }

    fn px(&self, x: f64) -> f64 {
        LEFT + (x - self.x.0) / (self.x.1 - self.x.0) * (WIDTH - LEFT - RIGHT)
    }

    fn py(&self, y: f64) -> f64 {
        HEIGHT - BOTTOM - (y - self.y.0) / (self.y.1 - self.y.0) * (HEIGHT - TOP - BOTTOM)
    }

    fn axes(&self, s: &mut String, x_label: &str, y_label: &str) {
        let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        let _ = writeln!(s, r#"<path class="axis" d="M{LEFT} {TOP}V{bottom}H{right}"/>"#);
        for t in ticks(self.x) {
            let (x, y) = (self.px(t), bottom + 18.0);
            let _ = writeln!(s, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="middle">{}</text>"#, number(t));
            let _ = writeln!(s, r#"<path class="axis" d="M{x:.1} {bottom}v4"/>"#);
        }
        for t in ticks(self.y) {
            let (x, y) = (LEFT - 8.0, self.py(t));
            let _ = writeln!(s, r#"<text x="{x:.1}" y="{:.1}" text-anchor="end">{}</text>"#, y + 4.0, number(t));
            let _ = writeln!(s, r#"<path class="axis" d="M{LEFT} {y:.1}h-4"/>"#);
        }
        let middle = (LEFT + right) / 2.0;
        let _ = writeln!(
            s,
            r#"<text x="{middle:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
            HEIGHT - 12.0,
            escape(x_label)
        );
        let centre = (TOP + bottom) / 2.0;
        let _ = writeln!(
            s,
            r#"<text transform="translate(16 {centre:.1}) rotate(-90)" text-anchor="middle">{}</text>"#,
            escape(y_label)
        );
    }

    /// Every line's name at its last point, moved down where it would lie on another's.
    fn names(&self, s: &mut String, marks: &[Mark]) {
        let mut names: Vec<(f64, f64, &str)> = marks
            .iter()
            .filter_map(|m| match m {
                Mark::Line(points, _, Some(name)) => {
                    points.last().map(|&(x, y)| (self.px(x), self.py(y) - 4.0, name.as_str()))
                }
                _ => None,
            })
            .collect();
        names.sort_by(|a, b| a.1.total_cmp(&b.1));
        for i in 1..names.len() {
            names[i].1 = names[i].1.max(names[i - 1].1 + NAME_HEIGHT);
        }
        // Names pushed off the page come back up, and push those above them.
        let mut limit = HEIGHT - BOTTOM;
        for name in names.iter_mut().rev() {
            name.1 = name.1.min(limit);
            limit = name.1 - NAME_HEIGHT;
        }
        for (x, y, name) in names {
            let _ = writeln!(s, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="end">{}</text>"#, escape(name));
        }
    }

    fn mark(&self, s: &mut String, mark: &Mark) {
        let _ = match mark {
            Mark::Line(points, style, _) => {
                let path: Vec<String> =
                    points.iter().map(|&(x, y)| format!("{:.1} {:.1}", self.px(x), self.py(y))).collect();
                writeln!(s, r#"<path class="{}" d="M{}"/>"#, style.class(), path.join("L"))
            }
            Mark::Interval { x, lower, upper } => {
                let (x, l, u) = (self.px(*x), self.py(*lower), self.py(*upper));
                let (a, b) = (x - 4.0, x + 4.0);
                writeln!(
                    s,
                    r#"<path class="strong" d="M{x:.1} {l:.1}V{u:.1}M{a:.1} {l:.1}H{b:.1}M{a:.1} {u:.1}H{b:.1}"/>"#
                )
            }
            Mark::Point { x, y, inside } => {
                let class = if *inside { "in" } else { "out" };
                writeln!(s, r#"<circle class="{class}" cx="{:.1}" cy="{:.1}" r="3"/>"#, self.px(*x), self.py(*y))
            }
            Mark::Vertical { x, label } => {
                let x = self.px(*x);
                let _ = writeln!(s, r#"<path class="rule" d="M{x:.1} {TOP}V{}"/>"#, HEIGHT - BOTTOM);
                writeln!(s, r#"<text x="{:.1}" y="{:.1}">{}</text>"#, x + 5.0, TOP + 12.0, escape(label))
            }
        };
    }
}

/// Four to nine round numbers inside the range.
fn ticks((lo, hi): (f64, f64)) -> Vec<f64> {
    let raw = (hi - lo) / 6.0;
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= raw).unwrap_or(10.0 * power);
    let first = (lo / step).ceil() as i64;
    (first..).map(|i| i as f64 * step).take_while(|t| *t <= hi).collect()
}

fn number(t: f64) -> String {
    let text = format!("{t:.4}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" { "0".to_owned() } else { short.to_owned() }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks((0.0, 6.0)), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        for range in [(-3.7, 4.1), (0.001, 0.0042), (90.0, 100.0)] {
            let t = ticks(range);
            assert!((4..=9).contains(&t.len()), "{range:?}: {t:?}");
            assert!(t.iter().all(|t| (range.0..=range.1).contains(t)));
        }
        assert_eq!((number(0.5), number(-0.0), number(2.0)), ("0.5".into(), "0".into(), "2".into()));
    }

    #[test]
    fn a_chart_is_well_formed_and_escapes_its_text() {
        let mut c = Chart::new("a < b & \"c\"", "x", "y");
        c.line(vec![(0.0, 1.0), (1.0, 3.0)], Style::Strong, Some("x1"));
        c.line(vec![(0.0, 0.0), (1.0, 3.0)], Style::Weak, Some("x2"));
        c.interval(0.5, 0.0, 2.0);
        c.point(0.5, 1.0, true);
        c.vertical(0.7, "chosen");
        let svg = c.render();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert!(svg.contains("a &lt; b &amp; &quot;c&quot;"));
        assert!(!svg.contains("NaN"));
        // Two names at the same point do not lie on each other.
        let height = |name: &str| {
            let line = svg.lines().find(|l| l.ends_with(&format!(">{name}</text>"))).unwrap();
            line.split("y=\"").nth(1).unwrap().split('"').next().unwrap().parse::<f64>().unwrap()
        };
        assert!((height("x1") - height("x2")).abs() >= NAME_HEIGHT - 0.11);
        assert!(!Chart::new("", "", "").render().contains("NaN"));
    }
}
