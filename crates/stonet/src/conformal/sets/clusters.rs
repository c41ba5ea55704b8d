//! Groups of classes whose scores are alike (Ding et al. 2023), so that rare classes share thresholds.

use rand::RngExt;

use crate::base::Seed;
use crate::conformal::rows_needed;
use crate::rows::Level;

/// Quantiles that describe the scores of a class, beside that of the level.
const QUANTILES: [f64; 5] = [0.5, 0.6, 0.7, 0.8, 0.9];
/// Rows that judge per group, on average.
const JUDGES: usize = 200;
/// Starts of k-means, and the most steps of each.
const STARTS: usize = 10;
const STEPS: usize = 100;

type Point = [f64; QUANTILES.len() + 1];

/// The group of every class, by the scores of rows that do not judge. Classes with fewer rows than the level needs are
/// one group together, the last one.
pub(crate) fn clusters(
    scores: &[f64],
    labels: &[usize],
    classes: usize,
    level: Level,
    judges: usize,
    seed: Seed,
) -> Vec<usize> {
    let mut own = vec![Vec::new(); classes];
    scores.iter().zip(labels).for_each(|(&s, &y)| own[y].push(s));
    own.iter_mut().for_each(|s| s.sort_unstable_by(f64::total_cmp));
    let known: Vec<usize> = (0..classes).filter(|&k| own[k].len() >= rows_needed(level).max(2)).collect();
    let points: Vec<Point> = known.iter().map(|&k| point(&own[k], level)).collect();
    let weights: Vec<f64> = known.iter().map(|&k| (own[k].len() as f64).sqrt()).collect();
    let wanted = (judges / JUDGES).clamp(1, known.len().max(1));
    let found = k_means(&points, &weights, wanted, seed);
    // Groups without a class have no number.
    let mut numbers = vec![None; wanted];
    let mut next = 0;
    let mut groups = vec![usize::MAX; classes];
    for (&class, &group) in known.iter().zip(&found) {
        groups[class] = *numbers[group].get_or_insert_with(|| {
            next += 1;
            next - 1
        });
    }
    groups.iter_mut().filter(|g| **g == usize::MAX).for_each(|g| *g = next);
    groups
}

fn point(sorted: &[f64], level: Level) -> Point {
    let mut point = [0.0; QUANTILES.len() + 1];
    for (to, q) in point.iter_mut().zip(QUANTILES.into_iter().chain([level.get()])) {
        *to = sorted[((q * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len()) - 1];
    }
    point
}

fn apart(a: &Point, b: &Point) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// The group of every point: the best of several starts of weighted k-means.
fn k_means(points: &[Point], weights: &[f64], groups: usize, seed: Seed) -> Vec<usize> {
    if groups <= 1 || points.is_empty() {
        return vec![0; points.len()];
    }
    let mut rng = seed.rng();
    let mut best: Option<(f64, Vec<usize>)> = None;
    for _ in 0..STARTS {
        let mut centres: Vec<Point> = Vec::with_capacity(groups);
        // Each centre is a point, drawn by weight and squared distance from those before it.
        while centres.len() < groups {
            let nearest = |p: &Point| centres.iter().map(|c| apart(p, c)).fold(f64::INFINITY, f64::min).min(1.0);
            let masses: Vec<f64> = points.iter().zip(weights).map(|(p, w)| w * nearest(p)).collect();
            let mut left = rng.random::<f64>() * masses.iter().sum::<f64>();
            let drawn = masses.iter().position(|m| {
                left -= m;
                left < 0.0
            });
            centres.push(points[drawn.unwrap_or(0)]);
        }
        let mut of = vec![0; points.len()];
        for _ in 0..STEPS {
            let assigned: Vec<usize> = points.iter().map(|p| nearest(p, &centres).0).collect();
            let settled = assigned == of;
            of = assigned;
            if settled {
                break;
            }
            move_centres(&mut centres, points, weights, &of);
        }
        let loss: f64 = points.iter().zip(weights).map(|(p, w)| w * nearest(p, &centres).1).sum();
        if best.as_ref().is_none_or(|(least, _)| loss < *least) {
            best = Some((loss, of));
        }
    }
    best.map_or_else(Vec::new, |(_, of)| of)
}

/// The number of the nearest centre, and its squared distance.
fn nearest(p: &Point, centres: &[Point]) -> (usize, f64) {
    let all = centres.iter().map(|c| apart(p, c)).enumerate();
    all.fold((0, f64::INFINITY), |best, (k, d)| if d < best.1 { (k, d) } else { best })
}

fn move_centres(centres: &mut [Point], points: &[Point], weights: &[f64], of: &[usize]) {
    for (k, centre) in centres.iter_mut().enumerate() {
        let mut sum = [0.0; QUANTILES.len() + 1];
        let mut mass = 0.0;
        for ((p, w), _) in points.iter().zip(weights).zip(of).filter(|(_, g)| **g == k) {
            sum.iter_mut().zip(p).for_each(|(s, p)| *s += w * p);
            mass += w;
        }
        if mass > 0.0 {
            *centre = sum.map(|s| s / mass);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_like_scores_are_one_group_and_rare_ones_another() {
        // Classes 0, 2, 4 score low and 1, 3, 5 high; class 6 has three rows, class 7 none.
        let row =
            |i: usize| (i % 6, if i.is_multiple_of(2) { 0.1 } else { 0.6 } + 0.3 * ((i * 37 % 101) as f64 / 101.0));
        let mut rows: Vec<(usize, f64)> = (0..600).map(row).collect();
        rows.extend([(6, 0.2), (6, 0.3), (6, 0.9)]);
        let (labels, scores): (Vec<usize>, Vec<f64>) = rows.into_iter().unzip();
        let level = Level::new(0.9).unwrap();
        let groups = clusters(&scores, &labels, 8, level, 400, Seed::new(1));
        assert_eq!(groups[0], groups[2]);
        assert_eq!((groups[0], groups[1]), (groups[4], groups[3]));
        assert_ne!(groups[0], groups[1]);
        assert_eq!(groups[6..], [2, 2]);
        assert_eq!(clusters(&scores, &labels, 8, level, 100, Seed::new(1)), [0, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!(clusters(&[], &[], 3, level, 100, Seed::new(1)), [0; 3]);
    }
}
