//! One HTML page that needs nothing else: a verdict, figures, tables, and how the numbers came about.

mod accuracy;
mod classes;
mod comparison;
mod control;
mod html;
mod labels;
mod monitor;
mod regression;
mod reliability;
mod sets;
mod shared;
mod trust;

use std::collections::HashSet;
use std::fmt::Write;

use serde_json::Value;

pub use comparison::{Better, Column, Comparison, Method, Score, Unit};
pub use control::control_report;
pub use monitor::monitor_report;

use crate::svg::{Chart, escape};
use crate::{ClassEvaluation, LabelsEvaluation, RegressionEvaluation};
use html::Figure;

/// Weak spots that are listed at the top.
const NOTES: usize = 6;

const STYLE: &str = include_str!("style.css");

/// What a page is about, and how it came to be.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct About {
    /// The page's heading.
    pub title: String,
    /// The command that made it.
    pub command: String,
    /// Of the program.
    pub version: String,
    /// When it was made, as text; left out if empty.
    pub created: String,
    /// Whatever else was set: files, columns, seed.
    pub settings: Value,
}

/// How good the news is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// As promised.
    Good,
    /// Neither.
    Plain,
    /// Not as promised.
    Bad,
}

/// A page under construction: sections follow in the order they were added.
///
/// ```
/// use stonet_report::{About, Report, Tone};
/// let about = About { title: "Intervals of house prices".into(), ..About::default() };
/// let html = Report::new(&about).verdict(Tone::Good, "As promised", "90 % were to be held, and 90 % were.").html();
/// assert!(html.starts_with("<!doctype html>") && html.contains("90 % were."));
/// ```
#[derive(Debug, Clone)]
pub struct Report {
    about: About,
    body: String,
    ids: HashSet<String>,
    settings: Vec<(String, Value)>,
}

impl Report {
    /// A page with a heading.
    pub fn new(about: &About) -> Self {
        Report { about: about.clone(), body: String::new(), ids: HashSet::new(), settings: Vec::new() }
    }

    /// The result in one sentence, with a word that sums it up.
    pub fn verdict(mut self, tone: Tone, word: &str, sentence: &str) -> Self {
        self.announce(tone, word, sentence);
        self
    }

    /// Intervals judged on new rows.
    pub fn regression(mut self, evaluation: &RegressionEvaluation) -> Self {
        regression::add(&mut self, evaluation);
        self.settings.push(("The fit".into(), evaluation.settings.clone()));
        self
    }

    /// Probabilities judged on new rows.
    pub fn classes(mut self, evaluation: &ClassEvaluation) -> Self {
        classes::add(&mut self, evaluation);
        if !evaluation.settings.is_null() {
            self.settings.push(("The fit".into(), evaluation.settings.clone()));
        }
        self
    }

    /// Probabilities of many labels judged on new rows.
    pub fn labels(mut self, evaluation: &LabelsEvaluation) -> Self {
        labels::add(&mut self, evaluation);
        if !evaluation.settings.is_null() {
            self.settings.push(("The fit".into(), evaluation.settings.clone()));
        }
        self
    }

    /// Methods side by side.
    pub fn comparison(mut self, comparison: &Comparison) -> Self {
        comparison::add(&mut self, comparison);
        self
    }

    /// A section that begins here.
    pub fn section(mut self, title: &str, lead: &str) -> Self {
        self.heading(title, lead);
        self
    }

    /// A chart with a caption that says how to read it.
    pub fn chart(mut self, id: &str, title: &str, chart: &Chart, caption: &str) -> Self {
        let figure = self.figure(id, false, title, &chart.embed(), caption);
        self.figures(&[figure]);
        self
    }

    /// The whole page.
    pub fn html(&self) -> String {
        let title = escape(&self.about.title);
        let mut s = String::with_capacity(self.body.len() + 2 * STYLE.len());
        let _ = write!(
            s,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        );
        s.push_str(&self.body);
        s.push_str(&self.origin());
        s.push_str("</main>\n</body>\n</html>\n");
        s
    }

    /// The command, the versions and the settings.
    fn origin(&self) -> String {
        let mut content = String::new();
        if !self.about.command.is_empty() {
            let _ = writeln!(content, "<pre class=\"command\"><code>{}</code></pre>", escape(&self.about.command));
        }
        let given = (!self.about.settings.is_null()).then(|| ("The command".to_owned(), self.about.settings.clone()));
        for (of, settings) in given.iter().chain(&self.settings) {
            let text = serde_json::to_string_pretty(settings).unwrap_or_default();
            let _ = writeln!(
                content,
                "<details><summary>Settings: {}</summary><pre><code>{}</code></pre></details>",
                escape(of),
                escape(&text)
            );
        }
        let made = [("stonet ", &self.about.version), ("made ", &self.about.created)];
        let made: Vec<String> = made.iter().filter(|m| !m.1.is_empty()).map(|m| format!("{}{}", m.0, m.1)).collect();
        let caption = format!(
            "The same command, data and version give the same numbers.{}{}",
            if made.is_empty() { "" } else { " " },
            made.join(", ")
        );
        let figure = Figure::new("settings", true, "Command and settings", &content, &caption);
        format!("<h2>How this page was made</h2>\n{}", html::columns(&[figure]))
    }

    /// This id, or with a number where it is taken.
    fn unique(&mut self, id: &str) -> String {
        let numbered = |n: usize| if n == 1 { id.to_owned() } else { format!("{id}-{n}") };
        let free = (1..).map(numbered).find(|id| !self.ids.contains(id)).unwrap_or_default();
        self.ids.insert(free.clone());
        free
    }

    fn announce(&mut self, tone: Tone, word: &str, sentence: &str) {
        let class = match tone {
            Tone::Good => "good",
            Tone::Plain => "plain",
            Tone::Bad => "bad",
        };
        let id = self.unique("verdict");
        let _ = writeln!(
            self.body,
            r#"<div class="verdict {class}" id="{id}"><p><span class="word">{}</span>{}</p></div>"#,
            escape(word),
            escape(sentence)
        );
    }

    fn heading(&mut self, title: &str, lead: &str) {
        let _ = writeln!(self.body, "<h2>{}</h2>", escape(title));
        self.paragraph(lead);
    }

    fn paragraph(&mut self, text: &str) {
        if !text.is_empty() {
            let _ = writeln!(self.body, "<p class=\"soft\">{}</p>", escape(text));
        }
    }

    fn figure(&mut self, id: &str, wide: bool, title: &str, content: &str, caption: &str) -> Figure {
        let id = self.unique(id);
        Figure::new(&id, wide, title, content, caption)
    }

    fn figures(&mut self, figures: &[Figure]) {
        if !figures.is_empty() {
            self.body.push_str(&html::columns(figures));
        }
    }

    /// What the verdict does not say but its reader should know.
    fn notes(&mut self, notes: &[String]) {
        if notes.is_empty() {
            return;
        }
        self.body.push_str("<div class=\"notes\"><h3>Worth a look</h3>\n<ul>\n");
        notes.iter().take(NOTES).for_each(|n| {
            let _ = writeln!(self.body, "<li>{}</li>", escape(n));
        });
        if notes.len() > NOTES {
            let _ = writeln!(self.body, "<li>and {} more, marked in the tables below.</li>", notes.len() - NOTES);
        }
        self.body.push_str("</ul></div>\n");
    }

    /// Numbers to see first: (name, value, addition).
    fn tiles(&mut self, tiles: &[(&str, String, String)]) {
        self.body.push_str("<dl class=\"tiles\">\n");
        for (name, value, more) in tiles {
            let more = if more.is_empty() { String::new() } else { format!("<small>{}</small>", escape(more)) };
            let (name, value) = (escape(name), escape(value));
            let _ = writeln!(self.body, "<div class=\"tile\"><dt>{name}</dt><dd>{value}{more}</dd></div>");
        }
        self.body.push_str("</dl>\n");
    }
}

/// The page of one evaluation of intervals.
pub fn regression_report(evaluation: &RegressionEvaluation, about: &About) -> String {
    Report::new(about).regression(evaluation).html()
}

/// The page of one evaluation of probabilities.
pub fn class_report(evaluation: &ClassEvaluation, about: &About) -> String {
    Report::new(about).classes(evaluation).html()
}

/// The page of one evaluation of many labels.
pub fn labels_report(evaluation: &LabelsEvaluation, about: &About) -> String {
    Report::new(about).labels(evaluation).html()
}

/// The page of methods side by side, and of what else was compared beside them.
pub fn comparison_report(comparison: &Comparison, further: &[Comparison], about: &About) -> String {
    let report = Report::new(about).verdict(Tone::Plain, "Compared", &comparison.verdict()).comparison(comparison);
    further.iter().fold(report, Report::comparison).html()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_text_is_escaped() {
        let hostile = "</script><b>";
        let about = About {
            title: hostile.into(),
            command: hostile.into(),
            version: hostile.into(),
            created: hostile.into(),
            settings: serde_json::json!({ hostile: hostile }),
        };
        let chart = Chart::new(hostile, hostile, hostile);
        let html = Report::new(&about)
            .verdict(Tone::Bad, hostile, hostile)
            .section(hostile, hostile)
            .chart("one", hostile, &chart, hostile)
            .chart("one", hostile, &chart, hostile)
            .html();
        assert!(html.contains("id=\"one\"") && html.contains("id=\"one-2\""));
        assert!(!html.contains("<b>") && !html.contains("<script") && !html.contains("</script"));
    }
}
