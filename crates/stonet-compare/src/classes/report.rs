//! Means over splits of every method on every network, and what a default has to show there.

use serde::{Deserialize, Serialize};
use stonet::ClassMethod;
use stonet::metrics::mean_sd;

use super::Judged;
use crate::table::Table;

/// How much above the larger of floor and temperature scaling an ECE may be.
const ECE_MARGIN: f64 = 1.25;
/// How much above the best method's an NLL may be.
const NLL_MARGIN: f64 = 1.02;
/// Accuracy that calibration may cost.
const ACCURACY_MARGIN: f64 = 0.002;

/// One finished split of one network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The network, or how it was trained.
    pub group: String,
    /// Number of the split, from 0.
    pub split: usize,
    /// Every method.
    pub methods: Vec<Judged>,
}

/// A method's means (and standard deviations) over splits; fractions, not per cent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MethodSummary {
    /// The method.
    pub name: ClassMethod,
    /// Accuracy.
    pub accuracy: [f64; 2],
    /// NLL.
    pub nll: [f64; 2],
    /// ECE.
    pub ece: [f64; 2],
    /// Class-wise ECE.
    pub cece: [f64; 2],
    /// Mean noise floor of the ECE.
    pub ece_floor: f64,
    /// Mean ends of its 95 % band.
    pub ece_band: [f64; 2],
    /// Mean noise floor of the class-wise ECE.
    pub cece_floor: f64,
    /// Mean seconds to fit.
    pub seconds: f64,
    /// Splits on which it is not converged.
    pub unconverged: usize,
}

/// All methods on one network.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// The network, or how it was trained.
    pub name: String,
    /// Splits.
    pub splits: usize,
    /// Every method.
    pub methods: Vec<MethodSummary>,
    /// What the default shows.
    pub verdict: Verdict,
}

/// Whether the default holds what it has to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// NLL below temperature scaling's.
    pub nll_below_temperature: bool,
    /// NLL within 2 % of the best method's.
    pub nll_near_best: bool,
    /// ECE at most 1.25 × the larger of the floor and temperature scaling's.
    pub ece_bounded: bool,
    /// ECE below temperature scaling's, or inside the 95 % band of the floor.
    pub ece_good: bool,
    /// Accuracy at most 0.2 points below the network's.
    pub accuracy_kept: bool,
}

impl Verdict {
    fn marks(self) -> Vec<String> {
        let all = [self.nll_below_temperature, self.nll_near_best, self.ece_bounded, self.ece_good, self.accuracy_kept];
        all.map(|b| if b { "yes" } else { "no" }.to_owned()).to_vec()
    }
}

/// The groups in the order of their first record.
pub fn summarise(records: &[Record]) -> Vec<Group> {
    let mut names: Vec<&str> = Vec::new();
    for r in records {
        if !names.contains(&r.group.as_str()) {
            names.push(&r.group);
        }
    }
    names.into_iter().map(|name| group(name, records)).collect()
}

fn group(name: &str, records: &[Record]) -> Group {
    let records: Vec<&Record> = records.iter().filter(|r| r.group == name).collect();
    let methods = ClassMethod::ALL.into_iter().filter_map(|m| summary(m, &records)).collect::<Vec<_>>();
    let verdict = verdict(&methods);
    Group { name: name.to_owned(), splits: records.len(), methods, verdict }
}

fn summary(method: ClassMethod, records: &[&Record]) -> Option<MethodSummary> {
    let all: Vec<&Judged> = records.iter().flat_map(|r| &r.methods).filter(|j| j.name == method).collect();
    if all.is_empty() {
        return None;
    }
    let both = |f: fn(&Judged) -> f64| {
        let (mean, sd) = mean_sd(&all.iter().map(|j| f(j)).collect::<Vec<_>>());
        [mean, sd]
    };
    let mean = |f: fn(&Judged) -> f64| both(f)[0];
    Some(MethodSummary {
        name: method,
        accuracy: both(|j| j.accuracy),
        nll: both(|j| j.nll),
        ece: both(|j| j.ece),
        cece: both(|j| j.cece),
        ece_floor: mean(|j| j.ece_floor),
        ece_band: [mean(|j| j.ece_band[0]), mean(|j| j.ece_band[1])],
        cece_floor: mean(|j| j.cece_floor),
        seconds: mean(|j| j.seconds),
        unconverged: all.iter().filter(|j| !j.converged()).count(),
    })
}

fn verdict(methods: &[MethodSummary]) -> Verdict {
    let find = |name: ClassMethod| methods.iter().find(|m| m.name == name);
    let (ours, temperature, raw) =
        (find(ClassMethod::default()), find(ClassMethod::Temperature), find(ClassMethod::None));
    let (Some(ours), Some(temperature), Some(raw)) = (ours, temperature, raw) else {
        let no = false;
        return Verdict {
            nll_below_temperature: no,
            nll_near_best: no,
            ece_bounded: no,
            ece_good: no,
            accuracy_kept: no,
        };
    };
    let best = methods.iter().map(|m| m.nll[0]).fold(f64::INFINITY, f64::min);
    Verdict {
        nll_below_temperature: ours.nll[0] < temperature.nll[0],
        nll_near_best: ours.nll[0] <= NLL_MARGIN * best,
        ece_bounded: ours.ece[0] <= ECE_MARGIN * ours.ece_floor.max(temperature.ece[0]),
        ece_good: ours.ece[0] < temperature.ece[0] || ours.ece[0] <= ours.ece_band[1],
        accuracy_kept: ours.accuracy[0] >= raw.accuracy[0] - ACCURACY_MARGIN,
    }
}

impl Group {
    /// The methods side by side, means with standard deviations over splits.
    pub fn table(&self) -> Table {
        let mut t =
            Table::new(&["method", "accuracy %", "NLL", "ECE %", "floor % (band)", "CECE %", "floor %", "seconds"]);
        let pair = |[mean, sd]: [f64; 2], scale: f64, digits: usize| match self.splits {
            1 => format!("{:.digits$}", scale * mean),
            _ => format!("{:.digits$} ({:.digits$})", scale * mean, scale * sd),
        };
        for m in &self.methods {
            let open = match m.unconverged {
                0 => String::new(),
                n => format!(" (not converged on {n})"),
            };
            t.row(vec![
                format!("{}{open}", m.name),
                pair(m.accuracy, 100.0, 2),
                pair(m.nll, 1.0, 4),
                pair(m.ece, 100.0, 2),
                format!("{:.2} ({:.2} to {:.2})", 100.0 * m.ece_floor, 100.0 * m.ece_band[0], 100.0 * m.ece_band[1]),
                pair(m.cece, 100.0, 3),
                format!("{:.3}", 100.0 * m.cece_floor),
                format!("{:.2}", m.seconds),
            ]);
        }
        t
    }
}

/// What the default shows on every group.
pub fn verdicts(groups: &[Group]) -> Table {
    let mut t = Table::new(&[
        "network",
        "NLL below temperature's",
        "NLL within 2 % of the best",
        "ECE ≤ 1.25 max(floor, temperature's)",
        "ECE below temperature's or in the band",
        "accuracy kept to 0.2",
    ]);
    for g in groups {
        t.row([vec![g.name.clone()], g.verdict.marks()].concat());
    }
    t
}
