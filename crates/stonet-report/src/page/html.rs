//! The bricks of a page: tables, bars, keys and captions, all text escaped.

use std::fmt::Write;

use crate::svg::escape;

/// A cell of a table.
pub struct Cell {
    html: String,
    class: &'static str,
}

impl Cell {
    /// Plain text.
    pub fn text(text: &str) -> Self {
        Cell { html: escape(text), class: "" }
    }

    /// Text with a class of the style sheet.
    pub fn marked(text: &str, class: &'static str) -> Self {
        Cell { html: escape(text), class }
    }

    /// A smaller addition after the text.
    pub fn with(mut self, text: &str) -> Self {
        let _ = write!(self.html, r#" <span class="error">{}</span>"#, escape(text));
        self
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::text(&text)
    }
}

/// A table in a box of its own that scrolls; the first cell of a row is its heading.
pub struct Table {
    head: Vec<String>,
    body: String,
    class: &'static str,
}

impl Table {
    pub fn new(headings: &[&str]) -> Self {
        Table { head: headings.iter().map(|h| escape(h)).collect(), body: String::new(), class: "names" }
    }

    /// Whose rows are headed by numbers, which need little room and must not be broken.
    pub fn numeric(headings: &[&str]) -> Self {
        Table { class: "numeric", ..Table::new(headings) }
    }

    /// Whose second column has names, too.
    pub fn pairs(headings: &[&str]) -> Self {
        Table { class: "pairs", ..Table::new(headings) }
    }

    pub fn row(&mut self, cells: Vec<Cell>) {
        self.row_of("", cells);
    }

    /// A row with a class of the style sheet.
    pub fn row_of(&mut self, class: &str, cells: Vec<Cell>) {
        let attribute = |class: &str| if class.is_empty() { String::new() } else { format!(r#" class="{class}""#) };
        let _ = write!(self.body, "<tr{}>", attribute(class));
        for (i, cell) in cells.into_iter().enumerate() {
            let (open, close) = if i == 0 { (r#"th scope="row""#, "th") } else { ("td", "td") };
            let _ = write!(self.body, "<{open}{}>{}</{close}>", attribute(cell.class), cell.html);
        }
        self.body.push_str("</tr>\n");
    }

    pub fn html(&self, label: &str) -> String {
        let heads: String = self.head.iter().map(|h| format!(r#"<th scope="col">{h}</th>"#)).collect();
        // Reachable by keyboard, so that those without a mouse can scroll it.
        format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table class=\"{}\">\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
            escape(label),
            self.class,
            self.body
        )
    }
}

/// One horizontal bar.
pub struct Bar {
    pub name: String,
    pub value: String,
    pub note: String,
    /// Of the full width; below 0 and beyond 1 it is cut off.
    pub part: f64,
    /// Drawn in grey: what the others are compared with.
    pub rest: bool,
}

/// Bars as a list, whose text is text: it wraps, scales and can be read aloud.
pub fn bars(bars: &[Bar]) -> String {
    let mut s = String::from("<ul class=\"bars\">\n");
    for bar in bars {
        let width = if bar.part.is_finite() { 100.0 * bar.part.clamp(0.0, 1.0) } else { 0.0 };
        let note = if bar.note.is_empty() { String::new() } else { format!(" <small>{}</small>", escape(&bar.note)) };
        let _ = writeln!(
            s,
            r#"<li><span class="name">{}</span><span class="value">{}{note}</span><span class="track" aria-hidden="true"><span class="fill{}" style="width:{width:.1}%"></span></span></li>"#,
            escape(&bar.name),
            escape(&bar.value),
            if bar.rest { " rest" } else { "" }
        );
    }
    s.push_str("</ul>\n");
    s
}

/// What the marks of a chart mean.
#[derive(Clone, Copy)]
pub enum Sign {
    Dot,
    Point,
    Cross,
    Line,
    Weak,
    Rule,
    Band,
    Bar,
    Wrong,
}

pub fn key(entries: &[(Sign, &str)]) -> String {
    let mut s = String::from("<ul class=\"key\">");
    for (sign, text) in entries {
        let mark = match sign {
            Sign::Dot => r#"<circle class="dot" cx="12" cy="7" r="4.5"/>"#,
            Sign::Point => r#"<circle class="in" cx="12" cy="7" r="3"/>"#,
            Sign::Cross => r#"<path class="out" d="M8 3l8 8m0-8l-8 8"/>"#,
            Sign::Line => r#"<path class="strong" d="M1 7H23"/>"#,
            Sign::Weak => r#"<path class="weak" d="M1 7H23"/>"#,
            Sign::Rule => r#"<path class="rule" d="M1 7H23"/>"#,
            Sign::Band => r#"<rect class="area-weak" x="2" y="1" width="20" height="12"/>"#,
            Sign::Bar => r#"<rect class="area-strong" x="2" y="1" width="20" height="12"/>"#,
            Sign::Wrong => r#"<rect class="area-rule" x="2" y="1" width="20" height="12"/>"#,
        };
        let _ = write!(
            s,
            r#"<li><svg class="chart-key chart" viewBox="0 0 24 14" aria-hidden="true">{mark}</svg>{}</li>"#,
            escape(text)
        );
    }
    s.push_str("</ul>\n");
    s
}

/// Numbers behind a chart, folded away.
pub fn numbers(table: &Table, label: &str) -> String {
    format!("<details><summary>The numbers</summary>\n{}</details>\n", table.html(label))
}

/// A figure: heading, content, and how to read it.
pub struct Figure {
    html: String,
    wide: bool,
    /// In lines of text, about.
    height: usize,
}

impl Figure {
    pub fn new(id: &str, wide: bool, title: &str, content: &str, caption: &str) -> Self {
        let html = format!(
            "<figure id=\"{}\"{}>\n<h3>{}</h3>\n{content}<figcaption>{}</figcaption>\n</figure>\n",
            escape(id),
            if wide { " class=\"wide\"" } else { "" },
            escape(title),
            escape(caption)
        );
        // What is folded away takes one line.
        let open = content.split("<details>").next().unwrap_or_default();
        let count = |what: &str| open.matches(what).count();
        let height =
            4 + caption.len() / 60 + 15 * count("<svg class=\"chart\"") + 2 * (count("<tr>") + count("<li><span"));
        Figure { html, wide, height }
    }
}

/// Figures in two columns of about the same height, in reading order; wide ones across both. Columns are made here and
/// not by the browser, so that nothing jumps when something is unfolded.
pub fn columns(figures: &[Figure]) -> String {
    let mut s = String::from("<div class=\"figures\">\n");
    for run in figures.chunk_by(|a, b| !a.wide && !b.wide) {
        let html = |part: &[Figure]| part.iter().map(|f| f.html.as_str()).collect::<String>();
        if run.len() == 1 {
            s.push_str(&html(run));
            continue;
        }
        let sum = |part: &[Figure]| part.iter().map(|f| f.height).sum::<usize>();
        let uneven = |&k: &usize| sum(&run[..k]).abs_diff(sum(&run[k..]));
        let (left, right) = run.split_at((1..run.len()).min_by_key(uneven).unwrap_or(1));
        let _ =
            write!(s, "<div class=\"column\">\n{}</div>\n<div class=\"column\">\n{}</div>\n", html(left), html(right));
    }
    s.push_str("</div>\n");
    s
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "</script><b onload='x'>\"&";

    #[test]
    fn nothing_hostile_gets_through() {
        let mut table = Table::new(&[HOSTILE]);
        table.row(vec![Cell::text(HOSTILE).with(HOSTILE), Cell::marked(HOSTILE, "best"), HOSTILE.to_owned().into()]);
        let bar =
            Bar { name: HOSTILE.into(), value: HOSTILE.into(), note: HOSTILE.into(), part: f64::NAN, rest: false };
        for html in [
            table.html(HOSTILE),
            numbers(&table, HOSTILE),
            bars(&[bar]),
            key(&[(Sign::Dot, HOSTILE)]),
            columns(&[Figure::new(HOSTILE, false, HOSTILE, "", HOSTILE)]),
        ] {
            assert!(!html.contains("<b") && !html.contains("</script") && !html.contains("='x'"), "{html}");
            assert!(!html.contains("NaN"));
        }
    }

    #[test]
    fn columns_are_even_and_keep_the_order() {
        let figure = |id: &str, wide: bool, rows: usize| Figure::new(id, wide, "", &"<tr>".repeat(rows), "");
        let html = columns(&[
            figure("a", false, 20),
            figure("b", false, 5),
            figure("c", false, 5),
            figure("d", true, 1),
            figure("e", false, 1),
        ]);
        let at = |what: &str| html.find(what).unwrap();
        let second = html.match_indices("class=\"column\"").nth(1).unwrap().0;
        assert!(at("id=\"a\"") < second && second < at("id=\"b\"") && at("id=\"b\"") < at("id=\"c\""));
        assert!(at("id=\"c\"") < at("id=\"d\"") && at("id=\"d\"") < at("id=\"e\""));
        assert_eq!(html.matches("class=\"column\"").count(), 2);
    }
}
