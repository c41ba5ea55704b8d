//! `reproduce uci`: our table beside Table `tab:regression`.

use serde::Serialize;
use stonet_compare::benchmark::{Summary, number};
use stonet_compare::table::Table;

use crate::published::{RegressionCell, regression};

/// Splits behind the printed standard deviations.
const PRINTED_SPLITS: f64 = 10.0;

/// The result of the experiment; its JSON is the command's `--json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Name and version of this layout.
    pub schema: &'static str,
    /// Root seed.
    pub seed: u64,
    /// Sets without a file.
    pub no_data: Vec<String>,
    /// Remarks about files.
    pub notes: Vec<String>,
    /// Our summaries.
    pub sets: Vec<Summary>,
    /// Ours against print.
    pub comparison: Vec<Comparison>,
    /// Geometric mean over sets of the default's Winkler score relative to split conformal's.
    pub winkler_ratio: f64,
}

/// One of our methods beside the printed one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The set.
    pub set: String,
    /// Ours.
    pub method: &'static str,
    /// Theirs.
    pub printed: String,
    /// Our coverage minus theirs, in standard errors of the difference.
    pub coverage_difference_se: f64,
    /// Our mean length over theirs.
    pub length_ratio: f64,
    /// Our mean length minus theirs, in standard errors of the difference.
    pub length_difference_se: f64,
}

/// Ours and the printed method it stands beside; our default is beside the paper's own method.
const PAIRS: [(&str, &str); 4] = [
    ("stack", "post-stonet"),
    ("paper", "post-stonet"),
    ("post-linear", "post-linear"),
    ("split-conformal", "split-conformal"),
];

impl Report {
    pub(super) fn new(seed: u64, sets: Vec<Summary>, no_data: Vec<String>, notes: Vec<String>) -> Self {
        let comparison = sets.iter().flat_map(|s| PAIRS.iter().filter_map(|&(a, b)| compare(s, a, b))).collect();
        let logs = sets.iter().filter_map(|s| s.method(s.default)).map(|m| m.winkler_ratio.ln());
        let winkler_ratio = (logs.sum::<f64>() / sets.len().max(1) as f64).exp();
        Report { schema: "stonet.reproduce.uci/1", seed, no_data, notes, sets, comparison, winkler_ratio }
    }

    /// The table beside print, then every set's own.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.beside_print());
        for line in &self.notes {
            text += &format!("{line}\n");
        }
        text += &format!(
            "\nInterval score of `{}` relative to split conformal, geometric mean over {} sets: {:.3}\n",
            self.sets.first().map_or("stack", |s| s.default),
            self.sets.len(),
            self.winkler_ratio
        );
        for s in &self.sets {
            text += &format!("\n{}\n\n{}", s.headline(), s.table());
        }
        text
    }

    fn beside_print(&self) -> Table {
        let header = [
            "set",
            "method",
            "coverage %",
            "printed",
            "difference (se)",
            "length",
            "printed length",
            "ratio",
            "difference in se",
        ];
        let mut t = Table::new(&header);
        for c in &self.comparison {
            let (Some(ours), Some(theirs)) = (
                self.sets.iter().find(|s| s.set == c.set).and_then(|s| s.method(c.method)),
                printed(&c.set, &c.printed),
            ) else {
                continue;
            };
            t.row(vec![
                c.set.clone(),
                format!("{} / {}", c.method, c.printed),
                format!("{:.1} ({:.1})", 100.0 * ours.coverage, 100.0 * ours.coverage_se),
                format!("{:.1}", 100.0 * theirs.coverage),
                format!("{:+.1}", c.coverage_difference_se),
                format!("{} ({})", number(ours.mean_length), number(ours.mean_length_se)),
                number(theirs.length),
                format!("{:.3}", c.length_ratio),
                format!("{:+.1}", c.length_difference_se),
            ]);
        }
        for set in &self.no_data {
            t.row(vec![set.clone(), "no data".into()]);
        }
        t
    }
}

fn printed(set: &str, method: &str) -> Option<RegressionCell> {
    regression().into_iter().find(|c| c.dataset == set && c.method == method)
}

fn compare(s: &Summary, ours: &'static str, theirs: &str) -> Option<Comparison> {
    let (m, p) = (s.method(ours)?, printed(&s.set, theirs)?);
    let se = |own: f64, sd: f64| (own * own + sd * sd / PRINTED_SPLITS).sqrt().max(f64::MIN_POSITIVE);
    Some(Comparison {
        set: s.set.clone(),
        method: ours,
        printed: theirs.to_owned(),
        coverage_difference_se: (m.coverage - p.coverage) / se(m.coverage_se, p.coverage_sd),
        length_ratio: m.mean_length / p.length,
        length_difference_se: (m.mean_length - p.length) / se(m.mean_length_se, p.length_sd),
    })
}
