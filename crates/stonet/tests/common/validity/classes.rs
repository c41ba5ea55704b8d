//! What one fit of a classification covers: every prediction set by every rule, and bounds of accuracy.

use stonet::classification::{AccuracySettings, SetScheme};
use stonet::conformal::{LabelPart, SetBy, SetRule, SetScore};
use stonet::metrics::top_class;
use stonet::{ClassInputs, ClassRows, ClassSets, FittedClassifier, Level, PostStoNetClassifier, Result, Seed};

use super::labels::{Rows, World};
use super::{NEW_ROWS, Share};

const LEVELS: [f64; 2] = [0.8, 0.9];
/// New rows whose true probabilities give the accuracy of a bin.
const MANY: usize = 4000;
pub const SCORES: [SetScore; 7] = [
    SetScore::Lac,
    SetScore::Aps { part: LabelPart::None },
    SetScore::Raps { part: LabelPart::None },
    SetScore::Saps { part: LabelPart::None },
    SetScore::Aps { part: LabelPart::Random },
    SetScore::Raps { part: LabelPart::Random },
    SetScore::Saps { part: LabelPart::Random },
];

/// Every rule that the scheme has.
fn rules(scheme: SetScheme) -> Vec<SetRule> {
    let by: &[SetBy] = match scheme {
        SetScheme::Split { .. } => &[SetBy::All, SetBy::Class, SetBy::Cluster],
        _ => &[SetBy::All],
    };
    // Nothing is added to what the scores give.
    let rule = |score, &by| SetRule { score, by, never_empty: false };
    SCORES.iter().flat_map(|&score| by.iter().map(move |by| rule(score, by))).collect()
}

fn rule_name(rule: SetRule) -> String {
    let (name, random) = match rule.score {
        SetScore::Lac => ("LAC", false),
        SetScore::Aps { part } => ("APS", part == LabelPart::Random),
        SetScore::Raps { part } => ("RAPS", part == LabelPart::Random),
        SetScore::Saps { part } => ("SAPS", part == LabelPart::Random),
        _ => ("other", false),
    };
    let by = match rule.by {
        SetBy::Class => " by class",
        SetBy::Cluster => " by cluster",
        _ => "",
    };
    format!("{name}{}{by}", if random { " randomised" } else { "" })
}

fn classifier(world: &World) -> PostStoNetClassifier {
    PostStoNetClassifier { method: world.method, ..Default::default() }
}

pub fn set_shares(world: &World, scheme: SetScheme, seed: Seed) -> Result<Vec<Share>> {
    let (rows, new) = (world.draw(world.rows, seed.child(0)), world.draw(NEW_ROWS, seed.child(1)));
    let data = ClassRows::new(ClassInputs::logits(rows.logits.view())?, &rows.labels, world.classes)?;
    let rules = rules(scheme);
    let sets = ClassSets { classifier: classifier(world), scheme, ..ClassSets::default() };
    let mut found = Vec::new();
    for (rule, fitted) in rules.iter().zip(sets.fit_rules(&data, &rules, seed.child(2), &|_, _| true)?) {
        for l in LEVELS {
            rule_shares(*rule, &fitted, &new, (l, seed.child(3)), &mut found)?;
        }
    }
    Ok(found)
}

fn rule_shares(
    rule: SetRule,
    fitted: &FittedClassifier,
    new: &Rows,
    (l, seed): (f64, Seed),
    found: &mut Vec<Share>,
) -> Result<()> {
    let level = Level::new(l)?;
    let sets = fitted.sets(&ClassInputs::logits(new.logits.view())?, level, seed)?;
    let covered = sets.covered(&new.labels)?;
    let promise = fitted.guarantee(level).and_then(|g| g.coverage);
    let full = sets.contains.outer_iter().filter(|row| row.iter().all(|c| *c)).count() as f64;
    let unbounded = full / new.labels.len() as f64;
    let mut push = |what: String, covered| found.push(Share { what, level: l, promise, covered, unbounded });
    let name = format!("{} {:.0} %", rule_name(rule), 100.0 * l);
    let all: Vec<usize> = (0..covered.len()).collect();
    let share = |rows: &[usize]| rows.iter().filter(|i| covered[**i]).count() as f64 / rows.len() as f64;
    push(name.clone(), share(&all));
    let groups = match (rule.by, fitted.class_sets()) {
        (SetBy::Class | SetBy::Cluster, Some(sets)) => sets.scores().groups().to_vec(),
        _ => return Ok(()),
    };
    let count = groups.iter().max().map_or(0, |g| g + 1);
    let of = |group: usize| all.iter().copied().filter(|&i| groups[new.labels[i]] == group).collect::<Vec<_>>();
    let filled: Vec<(usize, f64)> = (0..count)
        .map(|g| (g, of(g)))
        .filter(|(_, rows)| !rows.is_empty())
        .map(|(g, rows)| (g, share(&rows)))
        .collect();
    if rule.by == SetBy::Class && count <= 10 {
        filled.iter().for_each(|(class, covered)| push(format!("{name}, class {class}"), *covered));
    } else {
        // Clusters differ from one replication to the next, and many classes have few rows: what is promised to each
        // holds for their mean.
        let mean = filled.iter().map(|f| f.1).sum::<f64>() / filled.len() as f64;
        push(format!("{name}, mean over groups"), mean);
    }
    Ok(())
}

/// Whether the true accuracies of all bins lie in their bounds.
pub fn accuracy_shares(world: &World, scheme: Option<SetScheme>, seed: Seed) -> Result<Vec<Share>> {
    let (rows, many) = (world.draw(world.rows, seed.child(0)), world.draw(MANY, seed.child(1)));
    let data = ClassRows::new(ClassInputs::logits(rows.logits.view())?, &rows.labels, world.classes)?;
    let (settings, tick) = (AccuracySettings::default(), &|_: usize, _: usize| true);
    let fitted = match scheme {
        None => settings.fit(&classifier(world), &data, seed.child(2), tick)?,
        Some(scheme) => {
            let sets = ClassSets { classifier: classifier(world), scheme, ..ClassSets::default() };
            settings.fit_sets(&sets, &data, seed.child(2), tick)?
        }
    };
    let Some(bins) = fitted.accuracy_bins() else { return Ok(Vec::new()) };
    let p = fitted.probabilities(&ClassInputs::logits(many.logits.view())?)?;
    let mut sums = vec![(0.0, 0.0); bins.len()];
    for (p, truth) in p.outer_iter().zip(many.truth.outer_iter()) {
        let guess = top_class(p);
        let (sum, rows) = &mut sums[bins.bin(p[guess])];
        (*sum, *rows) = (*sum + truth[guess], *rows + 1.0);
    }
    let one = |l: f64| -> Result<Share> {
        let level = Level::new(l)?;
        let bounds = bins.bounds(level);
        // A bin that none of so many rows is in has no accuracy to speak of.
        let mut filled = bounds.bins().iter().zip(&sums).filter(|(_, (_, rows))| *rows > 0.0);
        let held = filled.all(|(b, (sum, rows))| b.lower <= sum / rows && sum / rows <= b.upper);
        let promise = fitted.accuracy_guarantee(level).and_then(|g| g.coverage);
        let what = format!("accuracy of all bins {:.0} %", 100.0 * l);
        Ok(Share { what, level: l, promise, covered: f64::from(u8::from(held)), unbounded: 0.0 })
    };
    LEVELS.iter().map(|&l| one(l)).collect()
}
