//! Marks and axes as SVG elements.

use std::fmt::Write;

use super::frame::Frame;
use super::{Mark, Style, escape};

/// Least distance of two names.
pub const NAME_HEIGHT: f64 = 13.0;

pub fn axes(f: &Frame, s: &mut String, x_label: &str, y_label: &str) {
    let (left, top, right, bottom) = (f.left(), f.top(), f.right(), f.bottom());
    for (t, label) in f.y_ticks() {
        let y = f.py(t);
        if f.page() {
            let _ = writeln!(s, r#"<path class="grid" d="M{left} {y:.1}H{right}"/>"#);
        } else {
            let _ = writeln!(s, r#"<path class="axis" d="M{left} {y:.1}h-4"/>"#);
        }
        let (x, y) = (left - 8.0, y + 4.0);
        let _ = writeln!(s, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="end">{}</text>"#, escape(&label));
    }
    let start = if f.page() { bottom } else { top };
    let _ = writeln!(s, r#"<path class="axis" d="M{left} {start}V{bottom}H{right}"/>"#);
    for (t, label) in f.x_ticks() {
        let (x, y) = (f.px(t), bottom + 18.0);
        let _ = writeln!(s, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="middle">{}</text>"#, escape(&label));
        let _ = writeln!(s, r#"<path class="axis" d="M{x:.1} {bottom}v4"/>"#);
    }
    let (middle, low) = ((left + right) / 2.0, f.size().1 - if f.page() { 8.0 } else { 12.0 });
    let _ = writeln!(s, r#"<text x="{middle:.1}" y="{low:.1}" text-anchor="middle">{}</text>"#, escape(x_label));
    if f.page() {
        // Upright above its axis: nobody turns a phone to read a label.
        let _ = writeln!(s, r#"<text x="2" y="13">{}</text>"#, escape(y_label));
    } else {
        let centre = (top + bottom) / 2.0;
        let _ = writeln!(
            s,
            r#"<text transform="translate(16 {centre:.1}) rotate(-90)" text-anchor="middle">{}</text>"#,
            escape(y_label)
        );
    }
}

/// Every line's name at its last point, moved down where it would lie on another's.
pub fn names(f: &Frame, s: &mut String, marks: &[Mark]) {
    let mut names: Vec<(f64, f64, &str)> = marks
        .iter()
        .filter_map(|m| match m {
            Mark::Line(points, _, Some(name)) => {
                let last = points.iter().rev().find(|(x, y)| f.has_x(*x) && f.has_y(*y));
                last.map(|&(x, y)| (f.px(x), f.py(y) - 4.0, name.as_str()))
            }
            _ => None,
        })
        .collect();
    names.sort_by(|a, b| a.1.total_cmp(&b.1));
    for i in 1..names.len() {
        names[i].1 = names[i].1.max(names[i - 1].1 + NAME_HEIGHT);
    }
    // Names pushed off the page come back up, and push those above them.
    let mut limit = f.bottom();
    for name in names.iter_mut().rev() {
        name.1 = name.1.min(limit);
        limit = name.1 - NAME_HEIGHT;
    }
    for (x, y, name) in names {
        let _ = writeln!(s, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="end">{}</text>"#, escape(name));
    }
}

pub fn mark(f: &Frame, s: &mut String, mark: &Mark) {
    match mark {
        Mark::Line(points, style, _) => line(f, s, points, *style),
        Mark::Interval { x, lower, upper, tip } if f.has_x(*x) => interval(f, s, *x, (*lower, *upper), tip),
        Mark::Estimate { x, y, lower, upper, tip } if f.has_x(*x) && f.has_y(*y) => {
            interval(f, s, *x, (*lower, *upper), tip);
            let (x, y, end) = (f.px(*x), f.py(*y), close("circle", tip));
            let _ = writeln!(s, r#"<circle class="dot" cx="{x:.1}" cy="{y:.1}" r="4.5"{end}"#);
        }
        Mark::Point { x, y, inside, tip } if f.has_x(*x) && f.has_y(*y) => {
            point(f, s, (f.px(*x), f.py(*y)), *inside, tip);
        }
        Mark::Area { x, y, style, tip } if f.has_x(x.0) && f.has_x(x.1) && f.has_y(y.0) && f.has_y(y.1) => {
            area(f, s, *x, *y, *style, tip);
        }
        Mark::Band(points) => band(f, s, points),
        Mark::Vertical { x, label } if f.has_x(*x) => {
            let (x, low) = (f.px(*x), f.bottom());
            let _ = writeln!(s, r#"<path class="rule" d="M{x:.1} {}V{low}"/>"#, f.top());
            // A label near the right edge stands on the other side of its rule.
            let (at, anchor) = if x > 0.7 * f.right() { (x - 5.0, "end") } else { (x + 5.0, "start") };
            let y = f.top() + 12.0;
            let _ = writeln!(s, r#"<text x="{at:.1}" y="{y:.1}" text-anchor="{anchor}">{}</text>"#, escape(label));
        }
        Mark::Horizontal { y, label } if f.has_y(*y) => {
            let y = f.py(*y);
            let _ = writeln!(s, r#"<path class="rule" d="M{} {y:.1}H{}"/>"#, f.left(), f.right());
            let (x, y) = (f.right() - 2.0, y - 5.0);
            let _ = writeln!(s, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="end">{}</text>"#, escape(label));
        }
        _ => {}
    }
}

/// The end of an element: with what is told when it is pointed at, where there is anything to tell.
fn close(tag: &str, tip: &str) -> String {
    if tip.is_empty() { "/>".to_owned() } else { format!("><title>{}</title></{tag}>", escape(tip)) }
}

fn line(f: &Frame, s: &mut String, points: &[(f64, f64)], style: Style) {
    let seen = points.iter().filter(|(x, y)| f.has_x(*x) && f.has_y(*y));
    let path: Vec<String> = seen.map(|&(x, y)| format!("{:.1} {:.1}", f.px(x), f.py(y))).collect();
    if !path.is_empty() {
        let _ = writeln!(s, r#"<path class="{}" d="M{}"/>"#, style.class(), path.join("L"));
    }
}

fn interval(f: &Frame, s: &mut String, x: f64, (lower, upper): (f64, f64), tip: &str) {
    if lower.is_nan() || upper.is_nan() {
        return;
    }
    let (x, cap) = (f.px(x), f.cap());
    let mut d = String::new();
    let mut heads = String::new();
    let ends = [(lower, f.bottom(), -1.0), (upper, f.top(), 1.0)];
    let at: Vec<f64> = ends.iter().map(|&(v, edge, _)| if f.has_y(v) { f.py(v) } else { edge }).collect();
    let _ = write!(d, "M{x:.1} {:.1}V{:.1}", at[0], at[1]);
    for (&(v, edge, up), y) in ends.iter().zip(&at) {
        if !f.has_y(v) {
            // An arrow: it goes on beyond the edge.
            let base = edge + 6.0 * up;
            let (a, b) = (x - 3.0, x + 3.0);
            let _ = writeln!(heads, r#"<path class="clip" d="M{a:.1} {base:.1}H{b:.1}L{x:.1} {edge:.1}Z"/>"#);
        } else if cap > 0.0 {
            let _ = write!(d, "M{:.1} {y:.1}H{:.1}", x - cap, x + cap);
        }
    }
    // Many intervals lie on each other: thin and pale, so that points stand out.
    let class = if cap > 0.0 { "strong" } else { "strong span" };
    let _ = writeln!(s, r#"<path class="{class}" d="{d}"{}"#, close("path", tip));
    s.push_str(&heads);
}

fn point(f: &Frame, s: &mut String, (x, y): (f64, f64), inside: bool, tip: &str) {
    let r = if f.page() { 2.2 } else { 3.0 };
    let _ = if inside {
        writeln!(s, r#"<circle class="in" cx="{x:.1}" cy="{y:.1}" r="{r}"{}"#, close("circle", tip))
    } else {
        // A cross: colour alone does not reach everybody.
        let (a, b) = (x - 3.5, y - 3.5);
        writeln!(s, r#"<path class="out" d="M{a:.1} {b:.1}l7 7m0-7l-7 7"{}"#, close("path", tip))
    };
}

fn area(f: &Frame, s: &mut String, x: (f64, f64), y: (f64, f64), style: Style, tip: &str) {
    let ends = |a: f64, b: f64| (a.min(b), (a - b).abs());
    let ((x, width), (y, height)) = (ends(f.px(x.0), f.px(x.1)), ends(f.py(y.0), f.py(y.1)));
    let _ = writeln!(
        s,
        r#"<rect class="area-{}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}"{}"#,
        style.class(),
        close("rect", tip)
    );
}

fn band(f: &Frame, s: &mut String, points: &[(f64, f64, f64)]) {
    let seen: Vec<_> = points.iter().filter(|(x, l, u)| f.has_x(*x) && f.has_y(*l) && f.has_y(*u)).collect();
    if seen.is_empty() {
        return;
    }
    let at = |x: f64, y: f64| format!("{:.1} {:.1}", f.px(x), f.py(y));
    let there = seen.iter().map(|p| at(p.0, p.1));
    let back = seen.iter().rev().map(|p| at(p.0, p.2));
    let path: Vec<String> = there.chain(back).collect();
    let _ = writeln!(s, r#"<path class="area-weak" d="M{}Z"/>"#, path.join("L"));
}
