//! Every method fitted on the same validation rows and judged on the same test rows.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use stonet::base::{Work, streams};
use stonet::classification::MemberNotes;
use stonet::metrics::{Band, ClassReport, JudgeSettings, Measured, judge};
use stonet::{ClassInputs, ClassMethod, ClassRows, PostStoNetClassifier, Seed, Ticker};

use super::SetComparison;
use crate::table::Table;
use crate::{Error, Result};

/// The layout of `stonet compare --json`.
const SCHEMA: &str = "stonet.compare.classification/1";

/// Rows to judge on.
#[derive(Debug, Clone, Copy)]
pub struct TestRows<'a> {
    /// What the network says.
    pub inputs: ClassInputs<'a>,
    /// The true classes.
    pub labels: &'a [usize],
}

/// One method on the test rows; fractions, not per cent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The method.
    pub name: ClassMethod,
    /// Share of rows whose likeliest class is right.
    pub accuracy: f64,
    /// Mean negative log-likelihood.
    pub nll: f64,
    /// Mean squared error of the probabilities, summed over classes.
    pub brier: f64,
    /// Expected calibration error of the likeliest class, 15 bins.
    pub ece: f64,
    /// Class-wise expected calibration error.
    pub cece: f64,
    /// Calibration error in bins of equal mass.
    pub adaptive_ece: f64,
    /// What a perfectly calibrated model would show as ECE on so many rows.
    pub ece_floor: f64,
    /// Where 95 % of such ECEs lie.
    pub ece_band: [f64; 2],
    /// The floor of the class-wise error.
    pub cece_floor: f64,
    /// 95 % confidence intervals of accuracy, NLL and ECE.
    pub intervals: Intervals,
    /// Every score with its 95 % confidence interval and its noise floor; kept out of the journals of experiments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scores: Option<ClassReport>,
    /// Seconds to fit.
    pub seconds: f64,
    /// Members of a stack with their weights; what was chosen, and how well it converged.
    pub members: Vec<MemberNotes>,
}

/// 95 % confidence intervals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Intervals {
    /// Of the accuracy.
    pub accuracy: [f64; 2],
    /// Of the NLL.
    pub nll: [f64; 2],
    /// Of the ECE; it accounts for the upward bias of the estimate.
    pub ece: [f64; 2],
}

/// A method that could not be had on these rows, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The method.
    pub name: ClassMethod,
    /// The reason.
    pub reason: String,
}

/// All methods on one split; its JSON is that of `stonet compare`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Name and version of this layout.
    pub schema: &'static str,
    /// `classification`.
    pub task: &'static str,
    /// What is used where nothing is said.
    pub default: ClassMethod,
    /// Class names, in the order of the probabilities.
    pub classes: Vec<String>,
    /// Rows that were fitted on.
    pub validation_rows: usize,
    /// Rows that judge.
    pub test_rows: usize,
    /// Classes without a validation row.
    pub absent_classes: Vec<String>,
    /// Random seed.
    pub seed: u64,
    /// The settings, but for the method.
    pub settings: PostStoNetClassifier,
    /// One entry per method.
    pub methods: Vec<Judged>,
    /// Methods that these rows do not allow.
    pub refused: Vec<Refused>,
    /// Kinds of prediction sets, where they are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sets: Option<SetComparison>,
}

/// Fits and judges each method in turn. A method that needs logits where there are only features, or that no row
/// allows, is listed as refused.
///
/// Fits and judgements have the streams of `stonet fit` and `stonet evaluate`, so that the same seed gives the same
/// numbers.
pub fn compare(
    rows: &ClassRows<'_>,
    test: TestRows<'_>,
    classes: &[String],
    methods: &[ClassMethod],
    seed: u64,
    tick: Ticker<'_>,
) -> Result<Comparison> {
    let root = Seed::new(seed);
    let seeds = Seeds { number: seed, fit: root, judgement: root.child(streams::evaluation::SCORES) };
    compare_with(rows, test, classes, methods, seeds, tick)
}

/// Where the random numbers of a comparison come from; all methods have the same.
#[derive(Debug, Clone, Copy)]
pub struct Seeds {
    number: u64,
    fit: Seed,
    judgement: Seed,
}

impl Seeds {
    /// Those of an experiment, two streams of `root`.
    pub fn of(number: u64, root: Seed) -> Self {
        use streams::calibration::{FIT, JUDGEMENT};
        Seeds { number, fit: root.child(FIT), judgement: root.child(JUDGEMENT) }
    }
}

/// The same with these random numbers.
pub fn compare_with(
    rows: &ClassRows<'_>,
    test: TestRows<'_>,
    classes: &[String],
    methods: &[ClassMethod],
    seeds: Seeds,
    tick: Ticker<'_>,
) -> Result<Comparison> {
    let settings = PostStoNetClassifier::default();
    let (mut judged, mut refused) = (Vec::new(), Vec::new());
    let work = Work::new(methods.len(), "methods", tick);
    for &method in methods {
        let stop = |_: usize, _: usize| work.check().is_ok();
        match one(rows, test, &PostStoNetClassifier { method, ..settings.clone() }, seeds, &stop) {
            Ok(j) => judged.push(j),
            Err(Error::Core(stonet::Error::Cancelled(c))) => return Err(c.into()),
            Err(Error::Core(e)) => refused.push(Refused { name: method, reason: e.to_string() }),
            Err(e) => return Err(e),
        }
        work.advance()?;
    }
    if let (true, Some(first)) = (judged.is_empty(), refused.first()) {
        return Err(Error::NoMethod { reason: format!("{}: {}", first.name, first.reason) });
    }
    let absent = rows.absent().into_iter().map(|k| classes[k].clone()).collect();
    Ok(Comparison {
        schema: SCHEMA,
        task: "classification",
        default: settings.method,
        classes: classes.to_vec(),
        validation_rows: rows.rows(),
        test_rows: test.labels.len(),
        absent_classes: absent,
        seed: seeds.number,
        settings,
        methods: judged,
        refused,
        sets: None,
    })
}

/// One method, fitted and judged.
fn one(
    rows: &ClassRows<'_>,
    test: TestRows<'_>,
    method: &PostStoNetClassifier,
    seeds: Seeds,
    tick: Ticker<'_>,
) -> Result<Judged> {
    let begin = Instant::now();
    let fitted = method.fit(rows, seeds.fit, tick)?;
    let seconds = begin.elapsed().as_secs_f64();
    let p = fitted.probabilities(&test.inputs)?;
    let report = judge(p.view(), test.labels, &JudgeSettings::default(), seeds.judgement)?;
    let floor = |m: &Measured| m.floor.unwrap_or(Band { mean: 0.0, low: 0.0, high: 0.0 });
    let ends = |m: &Measured| [m.low, m.high];
    Ok(Judged {
        name: method.method,
        accuracy: report.accuracy.value,
        nll: report.nll.value,
        brier: report.brier.value,
        ece: report.ece.value,
        cece: report.cece.value,
        adaptive_ece: report.adaptive_ece.value,
        ece_floor: floor(&report.ece).mean,
        ece_band: [floor(&report.ece).low, floor(&report.ece).high],
        cece_floor: floor(&report.cece).mean,
        intervals: Intervals { accuracy: ends(&report.accuracy), nll: ends(&report.nll), ece: ends(&report.ece) },
        scores: Some(report),
        seconds,
        members: fitted.notes().to_vec(),
    })
}

impl Judged {
    /// Whether every member reached its optimum, where it has one.
    pub fn converged(&self) -> bool {
        self.members.iter().all(|m| m.converged)
    }
}

impl Comparison {
    /// The methods as a journal keeps them, without every score's interval.
    pub fn brief(self) -> Vec<Judged> {
        self.methods.into_iter().map(|j| Judged { scores: None, ..j }).collect()
    }

    /// The methods side by side, percentages where they are usual.
    pub fn table(&self) -> Table {
        let header = ["method", "accuracy %", "NLL", "ECE %", "floor % (95 % band)", "CECE %", "seconds"];
        let mut t = Table::new(&header);
        for m in &self.methods {
            let mark = if m.name == self.default { " (default)" } else { "" };
            let open = if m.converged() { "" } else { " (not converged)" };
            t.row(vec![
                format!("{}{mark}{open}", m.name),
                format!("{:.2}", 100.0 * m.accuracy),
                format!("{:.4}", m.nll),
                format!("{:.2}", 100.0 * m.ece),
                format!("{:.2} ({:.2} to {:.2})", 100.0 * m.ece_floor, 100.0 * m.ece_band[0], 100.0 * m.ece_band[1]),
                format!("{:.3}", 100.0 * m.cece),
                format!("{:.2}", m.seconds),
            ]);
        }
        t
    }

    /// The result in words around the table.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{} classes, {} validation rows, {} test rows\n\n{}",
            self.classes.len(),
            self.validation_rows,
            self.test_rows,
            self.table()
        );
        let find = |name: ClassMethod| self.methods.iter().find(|m| m.name == name);
        if let (Some(ours), Some(raw)) = (find(self.default), find(ClassMethod::None)) {
            let inside = ours.ece <= ours.ece_band[1];
            text += &format!(
                "\nThe default, `{}`, brings the NLL from {:.4} to {:.4} and the ECE from {:.2} to {:.2} %{}\n",
                self.default,
                raw.nll,
                ours.nll,
                100.0 * raw.ece,
                100.0 * ours.ece,
                if inside { ", no more than a perfectly calibrated model may show on so many rows." } else { "." }
            );
        }
        if let Some(stack) = find(ClassMethod::Stack) {
            let parts: Vec<String> = stack.members.iter().map(|m| format!("{} {:.2}", m.method, m.weight)).collect();
            text += &format!("Its members by weight: {}.\n", parts.join(", "));
        }
        if let Some(MemberNotes { residual: Some(kkt), setting: Some(lambda), .. }) =
            find(ClassMethod::PostLinear).and_then(|m| m.members.first())
        {
            text += &format!("post-linear: λ = {lambda:.2e} by cross-validation, KKT residual {kkt:.1e} of λ_max.\n");
        }
        if !self.absent_classes.is_empty() {
            text += &format!("note: no validation row is of class {}\n", self.absent_classes.join(", "));
        }
        for r in &self.refused {
            text += &format!("note: {} is not there: {}\n", r.name, r.reason);
        }
        if let Some(sets) = &self.sets {
            text += &format!("\n{}", sets.text());
        }
        text
    }
}
