//! Smooth and debiased calibration errors, the tests of calibration, and risk against coverage, in an evaluation.

use ndarray::ArrayView2;
use stonet::base::streams::evaluation as streams;
use stonet::metrics::{JudgeSettings, Measured, TrustReport, TrustScores, judge_trust, trust_scores};
use stonet::{Result, Seed};

use super::ClassEvaluation;
use crate::evaluate::binomial::Proportion;
use crate::evaluate::text::Columns;
use crate::number::{count, percent, shown};

/// Coverages at which the text tells the risk.
const TOLD: [f64; 4] = [0.5, 0.8, 0.9, 1.0];

/// A test rejects below this p-value.
pub(crate) const REJECTED: f64 = 0.05;

/// Both reports: of the head, with its uncertainty, and of the network's own probabilities.
pub(super) fn judged(
    p: ArrayView2<'_, f64>,
    network: Option<ArrayView2<'_, f64>>,
    labels: &[usize],
    settings: &JudgeSettings,
    seed: Seed,
) -> Result<(TrustReport, Option<TrustScores<f64>>)> {
    let own = judge_trust(p, labels, settings, seed.child(streams::SCORES))?;
    let network = network.map(|p| trust_scores(p, labels, settings.bins)).transpose()?;
    Ok((own, network))
}

impl ClassEvaluation {
    /// Scores beyond bins by name: the measurement, and the value of the network's own probabilities.
    pub fn trust_scores(&self) -> Vec<(&'static str, &Measured, Option<f64>)> {
        let Some(report) = &self.trust else { return Vec::new() };
        let (s, own) = (&report.scores, self.network_trust.as_ref());
        vec![
            ("smooth_ece", &s.smooth_ece, own.map(|o| o.smooth_ece)),
            ("debiased_ece", &s.debiased_ece, own.map(|o| o.debiased_ece)),
            ("aurc", &s.aurc, own.map(|o| o.aurc)),
            ("excess_aurc", &s.excess_aurc, own.map(|o| o.excess_aurc)),
        ]
    }

    /// p-values by name.
    pub fn p_values(&self) -> Vec<(&'static str, f64)> {
        let report = self.trust.as_ref();
        let one = |name: &'static str, p: Option<f64>| p.map(|p| (name, p));
        let both = [one("p_top", report.and_then(|r| r.p_top)), one("p_classes", report.and_then(|r| r.p_classes))];
        both.into_iter().flatten().collect()
    }

    /// The tests in words.
    pub fn tested(&self) -> Vec<String> {
        let said = |(name, p): (&str, f64)| {
            let what = if name == "p_top" { "confidence in the guess" } else { "all probabilities" };
            let word = if p <= REJECTED { "rejected" } else { "not rejected" };
            format!("{what} {word} (p = {})", shown(p))
        };
        self.p_values().into_iter().map(said).collect()
    }

    /// The surest rows down to each of a few coverages: the coverage, the lowest confidence, and how often they are
    /// wrong.
    pub fn risks(&self) -> Vec<(f64, f64, Proportion)> {
        let Some(report) = &self.trust else { return Vec::new() };
        let at = |c: &f64| report.risk.iter().find(|r| r.coverage >= c - 1e-12);
        let mut found: Vec<_> = TOLD.iter().filter_map(at).collect();
        found.dedup_by_key(|r| r.rows);
        found.iter().map(|r| (r.coverage, r.confidence, Proportion::new(r.wrong as f64, r.rows))).collect()
    }

    /// Tests and risks as the text has them.
    pub(super) fn trust_text(&self) -> String {
        let mut out = String::new();
        let tested = self.tested();
        if !tested.is_empty() {
            out += &format!("\nTests of calibration: {}.\n", tested.join("; "));
        }
        let risks = self.risks();
        if !risks.is_empty() {
            let mut table = Columns::new(&["surest rows", "rows", "confidence from", "wrong", "95 % interval"]);
            for (coverage, confidence, wrong) in risks {
                table.row(vec![
                    percent(coverage),
                    count(wrong.rows, "row"),
                    percent(confidence),
                    percent(wrong.value),
                    format!("{}–{}", percent(wrong.low), percent(wrong.high)),
                ]);
            }
            out += &format!("\n{}", table.text());
        }
        out
    }
}
