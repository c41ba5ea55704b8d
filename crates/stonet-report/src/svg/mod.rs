//! Small charts as SVG, for files of their own and for pages: lines, intervals, points, bars and bands over numeric,
//! logarithmic or named axes.

mod draw;
mod frame;

use std::fmt::Write;

use frame::Frame;

/// Plain colours first, for viewers that know neither variables nor colour schemes.
const STYLE: &str = "<style>
text { font: 12px system-ui, sans-serif; fill: #1b1f24; }
.title { font-size: 14px; font-weight: 600; }
.paper { fill: #ffffff; }
.axis { stroke: #1b1f24; stroke-width: 1; fill: none; }
.grid { stroke: #e4e7eb; stroke-width: 1; fill: none; }
.strong { stroke: #0b62c4; stroke-width: 1.8; fill: none; }
.span { stroke-width: 1; stroke-opacity: .45; }
.weak { stroke: #9aa4b0; stroke-width: 1; fill: none; }
.rule { stroke: #1b1f24; stroke-width: 1; stroke-dasharray: 4 3; fill: none; }
.in { fill: #1b1f24; }
.out { stroke: #c2410c; stroke-width: 1.6; fill: none; }
.clip, .dot { fill: #0b62c4; }
.area-strong { fill: #0b62c4; } .area-weak { fill: #c9d1da; } .area-rule { fill: #c2410c; }
@media (prefers-color-scheme: dark) {
text, .in { fill: #e6e8eb; }
.paper { fill: #15181c; }
.axis, .rule { stroke: #e6e8eb; }
.grid { stroke: #2a2f36; }
.strong { stroke: #62a8ff; }
.weak { stroke: #6b7580; }
.out { stroke: #ff9a5c; }
.clip, .dot { fill: #62a8ff; }
.area-strong { fill: #62a8ff; } .area-weak { fill: #3a424c; } .area-rule { fill: #ff9a5c; }
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
    /// A reference; of areas, what is wrong.
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

/// What the numbers of an axis are.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Scale {
    /// Numbers.
    #[default]
    Linear,
    /// Positive numbers by their powers of ten.
    Log,
    /// Fractions, written as per cent.
    Percent,
    /// Names at 0, 1, 2, …
    Names(Vec<String>),
}

#[derive(Debug)]
enum Mark {
    Line(Vec<(f64, f64)>, Style, Option<String>),
    Interval { x: f64, lower: f64, upper: f64, tip: String },
    Point { x: f64, y: f64, inside: bool, tip: String },
    Estimate { x: f64, y: f64, lower: f64, upper: f64, tip: String },
    Area { x: (f64, f64), y: (f64, f64), style: Style, tip: String },
    Band(Vec<(f64, f64, f64)>),
    Vertical { x: f64, label: String },
    Horizontal { y: f64, label: String },
}

#[derive(Debug, Default)]
struct Axis {
    label: String,
    scale: Scale,
    range: Option<(f64, f64)>,
}

/// A chart under construction; marks are drawn in the order they were added. What is not finite is cut off at the edge,
/// or left out.
#[derive(Debug)]
pub struct Chart {
    title: String,
    description: String,
    x: Axis,
    y: Axis,
    marks: Vec<Mark>,
}

impl Chart {
    /// An empty chart.
    pub fn new(title: &str, x_label: &str, y_label: &str) -> Self {
        let axis = |label: &str| Axis { label: label.to_owned(), ..Axis::default() };
        Chart {
            title: title.to_owned(),
            description: String::new(),
            x: axis(x_label),
            y: axis(y_label),
            marks: Vec::new(),
        }
    }

    /// What the chart shows, for readers who cannot see it.
    pub fn describe(&mut self, text: &str) {
        text.clone_into(&mut self.description);
    }

    /// What the numbers of the axes are.
    pub fn scales(&mut self, x: Scale, y: Scale) {
        (self.x.scale, self.y.scale) = (x, y);
    }

    /// Fixed ends of the horizontal axis, which otherwise follow from the marks.
    pub fn x_range(&mut self, low: f64, high: f64) {
        self.x.range = Some((low, high));
    }

    /// Fixed ends of the vertical axis.
    pub fn y_range(&mut self, low: f64, high: f64) {
        self.y.range = Some((low, high));
    }

    /// A line through the points, with its name at its last point.
    pub fn line(&mut self, points: Vec<(f64, f64)>, style: Style, name: Option<&str>) {
        self.marks.push(Mark::Line(points, style, name.map(str::to_owned)));
    }

    /// A vertical interval.
    pub fn interval(&mut self, x: f64, lower: f64, upper: f64) {
        self.interval_with(x, lower, upper, "");
    }

    /// A vertical interval that tells more when it is pointed at.
    pub fn interval_with(&mut self, x: f64, lower: f64, upper: f64, tip: &str) {
        self.marks.push(Mark::Interval { x, lower, upper, tip: tip.to_owned() });
    }

    /// A point: a dot where it lies inside its interval, a cross where it does not.
    pub fn point(&mut self, x: f64, y: f64, inside: bool) {
        self.point_with(x, y, inside, "");
    }

    /// A point that tells more when it is pointed at.
    pub fn point_with(&mut self, x: f64, y: f64, inside: bool, tip: &str) {
        self.marks.push(Mark::Point { x, y, inside, tip: tip.to_owned() });
    }

    /// A value with its uncertainty.
    pub fn estimate(&mut self, x: f64, y: f64, (lower, upper): (f64, f64), tip: &str) {
        self.marks.push(Mark::Estimate { x, y, lower, upper, tip: tip.to_owned() });
    }

    /// A rectangle: a bar, or a band of one bin.
    pub fn area(&mut self, x: (f64, f64), y: (f64, f64), style: Style, tip: &str) {
        self.marks.push(Mark::Area { x, y, style, tip: tip.to_owned() });
    }

    /// The area between two curves: (x, lower, upper).
    pub fn band(&mut self, points: Vec<(f64, f64, f64)>) {
        self.marks.push(Mark::Band(points));
    }

    /// A labelled vertical rule.
    pub fn vertical(&mut self, x: f64, label: &str) {
        self.marks.push(Mark::Vertical { x, label: label.to_owned() });
    }

    /// A labelled horizontal rule.
    pub fn horizontal(&mut self, y: f64, label: &str) {
        self.marks.push(Mark::Horizontal { y, label: label.to_owned() });
    }

    /// A file of its own.
    pub fn render(&self) -> String {
        let frame = Frame::of_file(self);
        let (width, height) = frame.size();
        let title = escape(&self.title);
        let mut s = String::new();
        let _ = writeln!(
            s,
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{title}">"#
        );
        s.push_str(STYLE);
        let _ = writeln!(s, r#"<rect class="paper" width="{width}" height="{height}"/>"#);
        let _ = writeln!(s, r#"<text class="title" x="{}" y="22">{title}</text>"#, frame.left());
        self.draw(&frame, &mut s);
        s.push_str("</svg>\n");
        s
    }

    /// A part of a page, whose style sheet has the classes and whose caption has the title.
    pub fn embed(&self) -> String {
        let frame = Frame::of_page(self);
        let (width, height) = frame.size();
        let mut s = String::new();
        let title = escape(&self.title);
        let _ = writeln!(s, r#"<svg class="chart" viewBox="0 0 {width} {height}" role="img" aria-label="{title}">"#);
        let _ = writeln!(s, "<title>{title}</title>\n<desc>{}</desc>", escape(&self.description));
        self.draw(&frame, &mut s);
        s.push_str("</svg>\n");
        s
    }

    fn draw(&self, frame: &Frame, s: &mut String) {
        draw::axes(frame, s, &self.x.label, &self.y.label);
        self.marks.iter().for_each(|m| draw::mark(frame, s, m));
        draw::names(frame, s, &self.marks);
    }
}

/// Text as it stands in HTML and SVG, between tags and in attributes.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Control characters are not allowed in XML at all.
            c if c.is_control() && !matches!(c, '\n' | '\t' | '\r') => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::draw::NAME_HEIGHT;
    use super::*;

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

    #[test]
    fn what_is_not_finite_never_reaches_the_page() {
        let bad = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, 1e300, 1e-300, 5.0];
        for scale in [Scale::Linear, Scale::Log, Scale::Percent, Scale::Names(vec!["</script><b>".into()])] {
            let mut c = Chart::new("</script><b>", "<i>", "'\"");
            c.scales(scale.clone(), scale);
            for x in bad {
                for y in bad {
                    c.line(vec![(x, y), (1.0, 2.0)], Style::Strong, Some("<u>"));
                    c.interval(x, y, f64::INFINITY);
                    c.point_with(x, y, y > 0.0, "</title>");
                    c.estimate(x, y, (f64::NEG_INFINITY, x), "<a>");
                    c.area((x, y), (y, x), Style::Weak, "");
                    c.band(vec![(x, y, x), (1.0, 2.0, 3.0)]);
                    c.vertical(x, "<v>");
                    c.horizontal(y, "<h>");
                }
            }
            for svg in [c.render(), c.embed()] {
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
                for tag in ["<b>", "<i>", "<u>", "<a>", "<v>", "<h>", "</script>"] {
                    assert!(!svg.contains(tag), "{tag}");
                }
            }
        }
    }

    #[test]
    fn an_infinite_interval_is_cut_off_and_marked() {
        let mut c = Chart::new("", "", "");
        c.interval(1.0, 0.0, f64::INFINITY);
        c.interval(2.0, 0.0, 1.0);
        assert_eq!(c.embed().matches(r#"class="clip""#).count(), 1);
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(
            escape("<a href=\"x\">'&'</a>\u{0}"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;\u{FFFD}"
        );
    }
}
