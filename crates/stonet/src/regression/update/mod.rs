//! New labelled rows join the scores of a fitted head: a sliding window, and levels that follow the misses over time.

mod levels;

use ndarray::ArrayView2;
use rand::RngExt;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

pub use levels::{Adaptive, LevelTracks, Track, Way};

use super::folds::FoldScorer;
use super::stack::FittedStack;
use super::{FittedRegressor, Model};
use crate::base::streams::update as streams;
use crate::base::{Error, Result, Seed};
use crate::conformal::ranks::Scores;
use crate::conformal::rows_needed;
use crate::rows::{Level, RegressionInputs};
use crate::score::Kept;

/// How a head is updated.
#[derive(Debug, Clone, PartialEq)]
pub struct UpdateSettings {
    /// The newest rows that are kept; all where none is given.
    pub window: Option<usize>,
    /// How levels are adapted, and the step size; nothing is adapted where none is given.
    pub adaptive: Option<(Adaptive, f64)>,
    /// The levels of the intervals that were issued, where levels are adapted.
    pub levels: Vec<Level>,
    /// Which fold a row joins is drawn from it.
    pub seed: Seed,
}

impl Default for UpdateSettings {
    fn default() -> Self {
        UpdateSettings { window: None, adaptive: None, levels: Vec::new(), seed: Seed::new(1) }
    }
}

/// What updates have done to a head.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Updated {
    /// Rows that have joined since the fit, also those that have left since.
    joined: u64,
    /// The window of the last update.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    window: Option<usize>,
    /// The number that the next row has in the order of arrival.
    next: u64,
    /// By target and fold, the numbers of the ascending scores in the order of arrival; empty where scores are counted.
    arrivals: Vec<Vec<Vec<u64>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    adapted: Option<LevelTracks>,
}

impl Updated {
    /// Rows that have joined since the fit, also those that have left since.
    pub fn joined(&self) -> u64 {
        self.joined
    }

    /// The newest rows that the last update kept, where it had a window.
    pub fn window(&self) -> Option<usize> {
        self.window
    }

    /// Levels that follow their misses, where there are any.
    pub fn level_tracks(&self) -> Option<&LevelTracks> {
        self.adapted.as_ref()
    }

    /// Fails unless the order of arrival is that of these scores, as it is unless a file says otherwise.
    pub(super) fn check(&self, stacks: &[FittedStack]) -> Result<()> {
        let counted = stacks.iter().all(|s| s.scores.is_counted());
        let fits = |(stack, arrivals): (&FittedStack, &Vec<Vec<u64>>)| {
            let lists: Vec<usize> = stack.scores.signed().map(|(values, _)| values.len()).collect();
            let mut all: Vec<u64> = arrivals.iter().flatten().copied().collect();
            all.sort_unstable();
            arrivals.iter().map(Vec::len).eq(lists)
                && all.windows(2).all(|w| w[0] < w[1])
                && all.last().is_none_or(|&l| l < self.next)
        };
        let plain = stacks.iter().all(|s| s.functions() == 0 && !s.scores.grouped());
        let one = self.adapted.is_none() || stacks.len() == 1;
        let arrived = match counted {
            true => self.arrivals.is_empty() && self.window.is_none(),
            false => self.arrivals.len() == stacks.len() && stacks.iter().zip(&self.arrivals).all(fits),
        };
        // Far from where the number of a row would overflow.
        match arrived && plain && one && self.joined < 1 << 60 && self.next < 1 << 60 {
            true => Ok(()),
            false => Err(Error::Inconsistent { what: "the order of arrival is not that of a head's scores" }),
        }
    }
}

/// An interval that was issued for every row before its target was known, at one level.
#[derive(Debug, Clone, Copy)]
pub struct Issued<'a> {
    /// Lower ends; −∞ where there is none.
    pub lower: &'a [f64],
    /// Upper ends; ∞ where there is none.
    pub upper: &'a [f64],
}

/// New rows on their way into a head, a batch after the other.
///
/// ```
/// use ndarray::{Array2, Axis, s};
/// use stonet::{Kind, Level, PostStoNetRegressor, RegressionInputs, RegressionRows, Seed, Side};
/// use stonet::regression::UpdateSettings;
/// let x = Array2::from_shape_fn((400, 3), |(i, j)| ((i * (j + 2)) as f64 * 0.7).sin());
/// let y = x.map_axis(Axis(1), |f| f[0] + (f[1] * 9.0).sin() * 0.3).insert_axis(Axis(1));
/// let rows = RegressionRows::new(x.slice(s![..300, ..]), y.slice(s![..300, ..]))?;
/// let head = PostStoNetRegressor { kind: Kind::Fast, ..PostStoNetRegressor::default() }.fit(&rows, Seed::new(1), &|_, _| true)?;
/// let mut update = head.update(UpdateSettings { window: Some(200), ..UpdateSettings::default() })?;
/// update.add(&RegressionInputs::new(x.slice(s![300.., ..]))?, y.slice(s![300.., ..]), &[])?;
/// let head = update.finish()?;
/// println!("{}", head.guarantee(Level::new(0.9)?));
/// # Ok::<(), stonet::Error>(())
/// ```
#[derive(Debug)]
pub struct Update<'a> {
    head: &'a FittedRegressor,
    stacks: &'a [FittedStack],
    scorer: FoldScorer<'a>,
    settings: UpdateSettings,
    joined: u64,
    /// By target: the fold that a new row joins and its score, in the order of arrival.
    new: Vec<Vec<(usize, f64)>>,
    /// The adapted levels, and the places of those that are issued.
    adapted: Option<(LevelTracks, Vec<usize>)>,
}

impl FittedRegressor {
    /// What updates have done to it; none of a head that is as it was fitted.
    pub fn updated(&self) -> Option<&Updated> {
        self.updated.as_ref()
    }

    /// Rows (or groups) whose scores are ranked; 0 for Eve's law.
    pub fn scored_rows(&self) -> usize {
        self.size().map_or(0, |(units, _)| units)
    }

    /// The levels that it adapts.
    pub fn level_tracks(&self) -> Option<&LevelTracks> {
        self.updated.as_ref().and_then(Updated::level_tracks)
    }

    /// Takes in labelled rows that came after the fit. They join the scores and nothing else: models, weights and scales
    /// stay what they are.
    pub fn update(&self, settings: UpdateSettings) -> Result<Update<'_>> {
        let (Model::Stacks(stacks), Some(scorer)) = (&self.model, FoldScorer::new(self)) else {
            return Err(cannot("intervals of Eve's law have no scores; fit stack, fast, cv+ or split"));
        };
        self.check_update(stacks, &settings)?;
        let joined = self.updated.as_ref().map_or(0, |u| u.joined);
        let adapted = self.adapting(stacks, &settings)?;
        Ok(Update { head: self, stacks, scorer, settings, joined, new: vec![Vec::new(); stacks.len()], adapted })
    }

    fn check_update(&self, stacks: &[FittedStack], settings: &UpdateSettings) -> Result<()> {
        let why = match () {
            () if self.groups => "its rows came in groups that count as one; fit it again with the new groups",
            () if self.within.is_some() => "it has ranks within groups; fit it again with the new rows",
            () if self.functions() > 0 => "it covers for functions of a row; fit it again with the new rows",
            () if self.adapted.is_some() => {
                "it was adapted to other rows than it was calibrated on; update the head that was adapted"
            }
            () if settings.window.is_some() && stacks.iter().any(|s| s.scores.is_counted()) => {
                "it was fitted on a sample and counts its scores, so that none can leave; update it without a window"
            }
            () => return self.check_window(settings.window),
        };
        Err(cannot(why))
    }

    fn check_window(&self, window: Option<usize>) -> Result<()> {
        let needed = rows_needed(self.settings.level);
        match window {
            Some(rows) if rows < needed => Err(Error::TooFewRows {
                what: "a window at the level of the fit",
                needed,
                found: rows,
                remedy: "use a longer window; below it all intervals are the whole line",
            }),
            _ => Ok(()),
        }
    }

    /// The levels that are adapted from here on, and the places of those that are issued.
    fn adapting(&self, stacks: &[FittedStack], settings: &UpdateSettings) -> Result<Option<(LevelTracks, Vec<usize>)>> {
        let Some((method, rate)) = settings.adaptive else {
            return match self.level_tracks() {
                Some(_) => Err(cannot("it adapts its level, which needs the intervals as they were issued; give them")),
                None => Ok(None),
            };
        };
        levels::check_rate(rate)?;
        if stacks.len() > 1 {
            return Err(cannot("it has several targets, and levels are adapted for one; fit a head per target"));
        }
        Error::check(!settings.levels.is_empty(), "levels", "empty", "those of the intervals that were issued")?;
        let mut adapted = match self.level_tracks() {
            Some(known) if known.method() != method => {
                return Err(cannot(
                    "its levels are adapted in another way; go on with that, or begin with the fitted head",
                ));
            }
            Some(known) => known.clone(),
            None => LevelTracks::new(method, rate),
        };
        adapted.set_rate(rate);
        let places: Vec<usize> = settings.levels.iter().map(|&l| adapted.follow(l, &stacks[0].scores)).collect();
        let left = adapted.tracks().iter().enumerate().find(|(i, _)| !places.contains(i));
        if let Some((_, track)) = left {
            return Err(cannot(format!(
                "it adapts level {} too; give the intervals of all its levels",
                track.level.get()
            )));
        }
        Ok(Some((adapted, places)))
    }
}

fn cannot(why: impl Into<String>) -> Error {
    Error::NoUpdate { why: why.into() }
}

impl Update<'_> {
    /// Rows in the order in which they came, their targets, and where levels are adapted the interval that was issued for
    /// each row, per level. Batches may be divided anywhere.
    pub fn add(&mut self, rows: &RegressionInputs<'_>, y: ArrayView2<'_, f64>, issued: &[Issued<'_>]) -> Result<()> {
        rows.check_values(y)?;
        self.head.settings.check_range(y)?;
        self.check_issued(y.nrows(), issued)?;
        let scores = self.scorer.scores(&self.scorer.at(rows)?, y)?;
        let folds = self.scorer.folds();
        for row in 0..y.nrows() {
            let fold = self.fold(folds);
            for (target, new) in self.new.iter_mut().enumerate() {
                new.push((fold, scores[target * folds + fold][row]));
            }
            if let Some((adapted, places)) = &mut self.adapted {
                let outside = |i: &Issued<'_>| y[[row, 0]] < i.lower[row] || y[[row, 0]] > i.upper[row];
                let missed: Vec<(usize, bool)> = places.iter().copied().zip(issued.iter().map(outside)).collect();
                adapted.see(scores[fold][row], &missed);
            }
            self.joined += 1;
        }
        Ok(())
    }

    /// The fold that the next row joins.
    fn fold(&self, folds: usize) -> usize {
        match folds {
            1 => 0,
            _ => self.settings.seed.child(streams::FOLDS.at(self.joined as usize)).rng().random_range(0..folds),
        }
    }

    fn check_issued(&self, rows: usize, issued: &[Issued<'_>]) -> Result<()> {
        let wanted = self.adapted.as_ref().map_or(0, |(_, places)| places.len());
        if issued.len() != wanted {
            return Err(Error::shape("levels of issued intervals", wanted, issued.len()));
        }
        for i in issued {
            if i.lower.len() != rows || i.upper.len() != rows {
                return Err(Error::shape("rows of issued intervals", rows, i.lower.len().min(i.upper.len())));
            }
            let wrong = |row: &usize| i.lower[*row].is_nan() || i.upper[*row].is_nan() || i.lower[*row] > i.upper[*row];
            if let Some(row) = (0..rows).find(wrong) {
                return Err(Error::NotIssued { row, lower: i.lower[row], upper: i.upper[row] });
            }
        }
        Ok(())
    }

    /// Rows that have joined since the fit, this update included.
    pub fn joined(&self) -> u64 {
        self.joined
    }

    /// The head with the new rows.
    pub fn finish(self) -> Result<FittedRegressor> {
        let Update { head, stacks, settings, joined, new, adapted, .. } = self;
        let before = head.updated.as_ref();
        let first = before.map_or_else(|| stacks[0].scores.units() as u64, |u| u.next);
        let window = settings.window;
        let (mut updated, mut arrivals) = (Vec::new(), Vec::new());
        for (target, (stack, new)) in stacks.iter().zip(&new).enumerate() {
            let folds = stack.folds().len();
            if stack.scores.is_counted() {
                let mut by_fold = vec![Vec::new(); folds];
                new.iter().for_each(|&(fold, score)| by_fold[fold].push(score));
                updated.push(stack.with_scores(stack.scores.clone().counted_with(&by_fold)?));
                continue;
            }
            let known = before.map(|u| u.arrivals[target].clone());
            let seed = settings.seed.child(streams::AGES.at(target));
            let mut all = aged(&stack.scores, known, seed);
            all.extend(new.iter().zip(first..).map(|(&(fold, score), age)| Aged { age, fold, score }));
            all.sort_unstable_by_key(|s| s.age);
            let gone = window.map_or(0, |rows| all.len().saturating_sub(rows));
            let (scores, ages) = by_fold(&all[gone..], folds);
            updated.push(stack.with_scores(scores));
            arrivals.push(ages);
        }
        let next = first + new.first().map_or(0, |n| n.len() as u64);
        let adapted = adapted.map(|(adapted, _)| adapted);
        let state = Updated { joined, window, next, arrivals, adapted };
        Ok(FittedRegressor {
            model: Model::Stacks(updated),
            updated: Some(state),
            scorers: Kept::default(),
            ..head.clone()
        })
    }
}

/// A score, the fold it is of, and its number in the order of arrival.
#[derive(Debug, Clone, Copy)]
struct Aged {
    age: u64,
    fold: usize,
    score: f64,
}

/// The scores of a head with their numbers; those of a fit are in random order, and older than all that follow.
fn aged(scores: &Scores, known: Option<Vec<Vec<u64>>>, seed: Seed) -> Vec<Aged> {
    let lists: Vec<&[f64]> = scores.signed().map(|(values, _)| values).collect();
    let mut ages: Vec<u64> = match known {
        Some(known) => known.concat(),
        None => {
            let mut ages: Vec<u64> = (0..lists.iter().map(|l| l.len() as u64).sum()).collect();
            ages.shuffle(&mut seed.rng());
            ages
        }
    };
    ages.reverse();
    let one = |(fold, list): (usize, &&[f64])| list.iter().map(|&score| (fold, score)).collect::<Vec<_>>();
    let all = lists.iter().enumerate().flat_map(one);
    all.map(|(fold, score)| Aged { age: ages.pop().unwrap_or(0), fold, score }).collect()
}

/// Scores fold by fold, and their numbers in the order of the ascending scores.
fn by_fold(all: &[Aged], folds: usize) -> (Scores, Vec<Vec<u64>>) {
    let mut lists = vec![Vec::new(); folds];
    all.iter().for_each(|s| lists[s.fold].push((s.score, s.age)));
    for list in &mut lists {
        list.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    }
    let part = |f: fn(&(f64, u64)) -> f64| lists.iter().map(|l| l.iter().map(f).collect()).collect::<Vec<Vec<f64>>>();
    let ages = lists.iter().map(|l| l.iter().map(|s| s.1).collect()).collect();
    // They ascend already, so that their order stays.
    (Scores::new(part(|s| s.0), None, all.len()), ages)
}
