//! Which members a stack of calibrators should have: the likelihood of rows held out, in folds of the *validation* rows
//! of the shared networks. No test row is looked at.
//!
//! ```sh
//! cargo run --release -p stonet-repro --example members -- DIR members.jsonl temperature-smooth,sms,skip sms,skip-prob
//! ```
//! Every further argument is a list of members; `+features` at its end gives them the features of the last layer where
//! a file has any. Each line of the output is one list on one fold of one network; what is there already is not computed
//! again. The table at the end is of all lines.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use ndarray::{Array2, Axis};
use serde::{Deserialize, Serialize};
use stonet::metrics::mean_sd;
use stonet::{ClassInputs, ClassMethod, ClassRows, PostStoNetClassifier, Seed};
use stonet_repro::cifar::{CifarSpec, Validation, validation};

const FOLDS: usize = 5;
const SEED: u64 = 1;

#[derive(Serialize, Deserialize)]
struct Line {
    network: String,
    fold: usize,
    members: String,
    /// The mean negative log-likelihood of the rows held out.
    nll: f64,
    seconds: f64,
    weights: Vec<(ClassMethod, f64)>,
}

fn part(rows: &Validation, held_out: usize, inside: bool) -> (Array2<f64>, Array2<f64>, Vec<usize>) {
    let chosen: Vec<usize> = (0..rows.labels.len()).filter(|i| (i % FOLDS == held_out) == inside).collect();
    let pick = |a: &Array2<f64>| a.select(Axis(0), &chosen);
    (pick(&rows.logits), pick(&rows.features), chosen.iter().map(|&i| rows.labels[i]).collect())
}

/// Two numbers of a fold, and the weights of its members.
type Fold = (f64, f64, Vec<(ClassMethod, f64)>);

fn fold(rows: &Validation, fold: usize, members: &str) -> Result<Fold, Box<dyn Error>> {
    let (names, features) = members.strip_suffix("+features").map_or((members, false), |names| (names, true));
    let members: Vec<ClassMethod> = names.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let (z, x, labels) = part(rows, fold, false);
    let (new, new_x, truth) = part(rows, fold, true);
    let inputs = |z, x| {
        let inputs = ClassInputs::logits(z)?;
        if features { inputs.with_features(x) } else { Ok(inputs) }
    };
    let classifier = PostStoNetClassifier { members: Some(members), ..PostStoNetClassifier::default() };
    let fit = ClassRows::new(inputs(z.view(), x.view())?, &labels, z.ncols())?;
    let begin = Instant::now();
    let fitted = classifier.fit(&fit, Seed::new(SEED), &|_, _| true)?;
    let seconds = begin.elapsed().as_secs_f64();
    let p = fitted.probabilities(&inputs(new.view(), new_x.view())?)?;
    let nll = -truth.iter().enumerate().map(|(i, &l)| p[[i, l]].ln()).sum::<f64>() / truth.len() as f64;
    Ok((nll, seconds, fitted.notes().iter().map(|n| (n.method, n.weight)).collect()))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [data, out, lists @ ..] = &arguments[..] else { return Err("members DIR OUT.jsonl LISTS...".into()) };
    let text = std::fs::read_to_string(out).unwrap_or_default();
    let mut lines: Vec<Line> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(out)?;
    for (i, network) in CifarSpec::shipped().networks.iter().enumerate() {
        let Some(rows) = validation(Path::new(data), i, 0, SEED)? else { continue };
        for members in lists.iter().filter(|l| !l.ends_with("+features") || rows.features.ncols() > 0) {
            for held_out in 0..FOLDS {
                let is = |l: &Line| l.network == network.file && l.members == *members && l.fold == held_out;
                if lines.iter().any(is) {
                    continue;
                }
                let (nll, seconds, weights) = fold(&rows, held_out, members)?;
                let line = Line {
                    network: network.file.clone(),
                    fold: held_out,
                    members: members.clone(),
                    nll,
                    seconds,
                    weights,
                };
                writeln!(file, "{}", serde_json::to_string(&line)?)?;
                lines.push(line);
            }
        }
    }
    let mut table: BTreeMap<(&str, &str), Vec<&Line>> = BTreeMap::new();
    lines.iter().for_each(|l| table.entry((&l.network, &l.members)).or_default().push(l));
    println!("| network | members | NLL (standard error) | seconds | mean weights |\n|---|---|---|---|---|");
    for ((network, members), lines) in table {
        let (mean, sd) = mean_sd(&lines.iter().map(|l| l.nll).collect::<Vec<_>>());
        let seconds = lines.iter().map(|l| l.seconds).sum::<f64>() / lines.len() as f64;
        let mut weights: BTreeMap<ClassMethod, f64> = BTreeMap::new();
        lines.iter().flat_map(|l| &l.weights).for_each(|(m, w)| *weights.entry(*m).or_default() += w);
        let weights: Vec<String> = weights.iter().map(|(m, w)| format!("{m} {:.2}", w / lines.len() as f64)).collect();
        let se = sd / (lines.len() as f64).sqrt();
        println!("| {network} | {members} | {mean:.5} ({se:.5}) | {seconds:.1} | {} |", weights.join(", "));
    }
    Ok(())
}
