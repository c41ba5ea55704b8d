//! Conditional cut-offs against their definition, and coverage over replications.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_distr::{Distribution, StandardNormal};

use stonet::conformal::{ConditionalScores, conformal_rank};
use stonet::{Level, Seed, Side};

fn level(l: f64) -> Level {
    Level::new(l).unwrap()
}

/// The largest residual of the last row over all regressions of least pinball loss, which are searched among those
/// through as many rows as there are functions. Where it is positive, the row's dual variable is at its upper end.
fn residual(rows: &[(f64, Vec<f64>)], tau: f64) -> f64 {
    let d = rows[0].1.len();
    let off = |(s, phi): &(f64, Vec<f64>), beta: &[f64]| s - phi.iter().zip(beta).map(|(p, b)| p * b).sum::<f64>();
    let pinball = |r: f64| if r > 0.0 { tau * r } else { (tau - 1.0) * r };
    let mut all: Vec<(f64, f64)> = Vec::new();
    for mask in (0u32..1 << rows.len()).filter(|m| m.count_ones() as usize == d) {
        let chosen = rows.iter().enumerate().filter(|(i, _)| mask >> i & 1 == 1);
        let Some(beta) = solve(chosen.map(|(_, r)| [&r.1[..], &[r.0]].concat()).collect()) else { continue };
        let loss = rows.iter().map(|r| pinball(off(r, &beta))).sum();
        all.push((loss, off(rows.last().unwrap(), &beta)));
    }
    let least = all.iter().map(|a| a.0).fold(f64::INFINITY, f64::min);
    all.iter().filter(|a| a.0 < least + 1e-9).map(|a| a.1).fold(f64::NEG_INFINITY, f64::max)
}

/// A small system of equations, by elimination.
fn solve(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let d = rows.len();
    for k in 0..d {
        let pivot = (k..d).max_by(|&a, &b| rows[a][k].abs().total_cmp(&rows[b][k].abs()))?;
        rows.swap(k, pivot);
        if rows[k][k].abs() < 1e-9 {
            return None;
        }
        for i in (0..d).filter(|&i| i != k) {
            let factor = rows[i][k] / rows[k][k];
            let from = rows[k].clone();
            rows[i].iter_mut().zip(&from).for_each(|(v, f)| *v -= factor * f);
        }
    }
    Some((0..d).map(|k| rows[k][d] / rows[k][k]).collect())
}

/// The largest imputed score that is not above the regression of all rows and itself, by halving.
fn by_definition(rows: &[(f64, Vec<f64>)], phi: &[f64], tau: f64) -> f64 {
    let with_one = |f: &[f64]| [&[1.0], f].concat();
    let mut all: Vec<(f64, Vec<f64>)> = rows.iter().map(|(s, f)| (*s, with_one(f))).collect();
    let phi = with_one(phi);
    all.push((0.0, phi));
    let mut inside = |score: f64| {
        all.last_mut().unwrap().0 = score;
        residual(&all, tau) <= 1e-8
    };
    let (mut low, mut high) = (-1e3, 1e3);
    if inside(high) {
        return f64::INFINITY;
    }
    while high - low > 1e-8 {
        let middle = 0.5 * (low + high);
        if inside(middle) { low = middle } else { high = middle }
    }
    low
}

#[test]
fn cutoffs_are_those_of_the_definition() {
    let mut rng = Seed::new(1).rng();
    let (mut finite, mut infinite) = (0, 0);
    for case in 0..200 {
        let (n, k) = (rng.random_range(4..10), rng.random_range(1..3));
        let binary = case % 2 == 0;
        let mut draw = || -> f64 { StandardNormal.sample(&mut rng) };
        let function = |z: f64| if binary { f64::from(u8::from(z > 0.0)) } else { z };
        let rows: Vec<(f64, Vec<f64>)> = (0..n).map(|_| (draw(), (0..k).map(|_| function(draw())).collect())).collect();
        let tau = [0.53, 0.62, 0.71, 0.79][case % 4];
        let scores = ConditionalScores::new(rows.clone()).unwrap();
        let cutoffs = scores.cutoffs(level(tau), Side::Upper);
        for _ in 0..3 {
            let phi: Vec<f64> = (0..k).map(|_| function(draw())).collect();
            // Columns that are combinations of others in all rows are known in new ones only if they are so there.
            let constant = (0..k).any(|j| rows.iter().all(|r| r.1[j] == rows[0].1[j]));
            let equal = k == 2 && rows.iter().all(|r| r.1[0] == r.1[1]);
            let opposite = k == 2 && rows.iter().all(|r| r.1[0] == 1.0 - r.1[1]);
            if binary && (constant || equal || opposite) {
                continue;
            }
            let (found, wanted) = (cutoffs.at(&phi), by_definition(&rows, &phi, tau));
            let same = found == wanted || (found - wanted).abs() < 1e-6;
            assert!(same, "{case}: n {n}, k {k}, {tau}: {found} {wanted}");
            assert_eq!(found.is_finite(), cutoffs.alone(&phi).is_finite());
            if found.is_finite() { finite += 1 } else { infinite += 1 }
        }
    }
    assert!(finite > 200 && infinite > 10, "{finite} {infinite}");
}

#[test]
fn without_functions_that_vary_it_is_the_conformal_rank() {
    for n in [9, 10, 19, 30, 99] {
        for l in [0.5, 0.8, 0.9] {
            let rows: Vec<(f64, Vec<f64>)> = (0..n).map(|i| (f64::from(i) + 1.0, vec![1.0])).collect();
            let cutoffs = ConditionalScores::new(rows).unwrap().cutoffs(level(l), Side::Upper);
            let wanted = conformal_rank(n as usize, level(l)).map_or(f64::INFINITY, |rank| rank as f64);
            let found = cutoffs.at(&[1.0]);
            assert!(found == wanted || (found - wanted).abs() < 1e-6, "{n} {l}: {found} {wanted}");
        }
    }
}

#[test]
fn disjoint_groups_have_their_own_ranks_and_order_does_not_matter() {
    let mut rng = Seed::new(2).rng();
    let mut rows: Vec<(f64, Vec<f64>)> = (0..60)
        .map(|i| {
            let group = i % 3;
            let score: f64 = StandardNormal.sample(&mut rng);
            (score * f64::from(group + 1), (0..3).map(|g| f64::from(u8::from(g == group))).collect())
        })
        .collect();
    let scores = ConditionalScores::new(rows.clone()).unwrap();
    let cutoffs = scores.cutoffs(level(0.8), Side::Both);
    for g in 0..3 {
        let mut own: Vec<f64> = rows.iter().filter(|r| r.1[g] == 1.0).map(|r| r.0.abs()).collect();
        own.sort_by(f64::total_cmp);
        let phi: Vec<f64> = (0..3).map(|k| f64::from(u8::from(k == g))).collect();
        let wanted = own[conformal_rank(20, level(0.8)).unwrap() - 1];
        assert!((cutoffs.at(&phi) - wanted).abs() < 1e-6, "{g}");
    }
    rows.shuffle(&mut rng);
    assert_eq!(ConditionalScores::new(rows).unwrap(), scores);
    let text = serde_json::to_string(&scores).unwrap();
    assert_eq!(serde_json::from_str::<ConditionalScores>(&text).unwrap(), scores);
    for wrong in [
        r#"{"signed":[],"functions":[],"columns":1}"#,
        r#"{"signed":[1.0],"functions":[1.0],"columns":2}"#,
        r#"{"signed":[1.0],"functions":[],"columns":0}"#,
    ] {
        assert!(serde_json::from_str::<ConditionalScores>(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn ties_end_and_stay_close_to_ranks() {
    let rows: Vec<(f64, Vec<f64>)> = (0..200)
        .map(|i| (f64::from(i % 4), vec![f64::from(u8::from(i % 2 == 0)), f64::from(u8::from(i % 3 == 0))]))
        .collect();
    let cutoffs = ConditionalScores::new(rows).unwrap().cutoffs(level(0.9), Side::Upper);
    for phi in [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]] {
        let found = cutoffs.at(&phi);
        assert!((1.99..=3.01).contains(&found), "{phi:?}: {found}");
    }
}

/// Two overlapping groups, and all rows: each is covered with at least the level, over independent replications.
#[test]
fn overlapping_groups_are_covered() {
    const REPLICATIONS: u32 = 6000;
    let mut rng = Seed::new(3).rng();
    let tau = 0.8;
    // Hits and rows in the first group, in the second, in neither.
    let mut found = [[0.0f64; 2]; 3];
    for _ in 0..REPLICATIONS {
        let mut row = || {
            let (a, b) = (rng.random::<f64>() < 0.4, rng.random::<f64>() < 0.3);
            let noise: f64 = StandardNormal.sample(&mut rng);
            let sd = 1.0 + 2.0 * f64::from(u8::from(a)) + 1.5 * f64::from(u8::from(b));
            (sd * noise, vec![f64::from(u8::from(a)), f64::from(u8::from(b))])
        };
        let rows: Vec<(f64, Vec<f64>)> = (0..60).map(|_| row()).collect();
        let (score, phi) = row();
        let cutoff = ConditionalScores::new(rows).unwrap().cutoffs(level(tau), Side::Both).at(&phi);
        let hit = f64::from(u8::from(score.abs() <= cutoff));
        for (g, inside) in [phi[0] == 1.0, phi[1] == 1.0, phi == [0.0, 0.0]].into_iter().enumerate() {
            if inside {
                found[g][0] += hit;
                found[g][1] += 1.0;
            }
        }
    }
    for (g, [hits, rows]) in found.into_iter().enumerate().take(2) {
        let (share, sd) = (hits / rows, (tau * (1.0 - tau) / rows).sqrt());
        // At least the level; interpolated rows, at most d of n + 1, add to it: d/(n + 1) over the group's share.
        assert!(share > tau - 4.5 * sd && share < tau + 0.2 + 4.5 * sd, "{g}: {share}");
    }
}
