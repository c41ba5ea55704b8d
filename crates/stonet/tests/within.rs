//! Intervals that cover within groups: coverage over independent replications, fall-back to all rows, groups that are
//! not known, and the order of rows.

use ndarray::{Array2, Axis};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use stonet::conformal::conformal_rank;
use stonet::regression::StoNetSettings;
use stonet::rows::Within;
use stonet::score::Asked;
use stonet::{
    FittedRegressor, Intervals, Kind, Level, PostStoNetRegressor, RegressionInputs, RegressionRows, Seed, Side,
};

/// Rows of groups whose noise differs: 0.3, 1 and 3.
struct Rows {
    x: Array2<f64>,
    y: Array2<f64>,
    names: Vec<String>,
}

const NAMES: [&str; 3] = ["north", "south", "west"];

/// So many rows of each group, in an order that mixes them.
fn rows(counts: [usize; 3], seed: u64) -> Rows {
    let mut rng = Seed::new(seed).rng();
    let mut groups: Vec<usize> = (0..3).flat_map(|g| vec![g; counts[g]]).collect();
    rand::seq::SliceRandom::shuffle(&mut groups[..], &mut rng);
    let n = groups.len();
    let x = Array2::from_shape_simple_fn((n, 2), || StandardNormal.sample(&mut rng));
    let noise = |g: usize, e: f64| [0.3, 1.0, 3.0][g] * e;
    let y = (0..n).map(|i| x[[i, 0]] + noise(groups[i], StandardNormal.sample(&mut rng))).collect::<Vec<f64>>();
    let y = Array2::from_shape_vec((n, 1), y).unwrap();
    Rows { x, y, names: groups.iter().map(|&g| NAMES[g].to_owned()).collect() }
}

fn level(l: f64) -> Level {
    Level::new(l).unwrap()
}

fn settings(kind: Kind) -> PostStoNetRegressor {
    let stonet = StoNetSettings { steps: 10, kappas: Some(vec![0.05]), hidden: vec![2], ..StoNetSettings::default() };
    let (split_share, learned_scale) = (0.5, false);
    PostStoNetRegressor { kind, stonet, split_share, learned_scale, ..PostStoNetRegressor::default() }
}

fn fit(post: &PostStoNetRegressor, rows: &Rows, seed: u64) -> FittedRegressor {
    let (within, numbers) = Within::learn(&[&rows.names]).unwrap();
    let data = RegressionRows::new(rows.x.view(), rows.y.view()).unwrap().with_within(&within, &numbers).unwrap();
    post.fit(&data, Seed::new(seed), &|_, _| true).unwrap()
}

fn intervals(head: &FittedRegressor, rows: &Rows, asked: &Asked) -> Vec<Intervals> {
    let numbers = head.within().unwrap().encode(&[&rows.names]).unwrap();
    let new = RegressionInputs::new(rows.x.view()).unwrap().with_within(&numbers).unwrap();
    head.all_intervals(&new, asked).unwrap()
}

/// Hits of one new row of each group.
fn hits(head: &FittedRegressor, test: &Rows, asked: &Asked) -> [f64; 3] {
    let i = intervals(head, test, asked).remove(0);
    let hit = |r: usize| f64::from(u8::from(i.lower[[r, 0]] <= test.y[[r, 0]] && test.y[[r, 0]] <= i.upper[[r, 0]]));
    let mut found = [0.0; 3];
    (0..3).for_each(|r| found[NAMES.iter().position(|n| *n == test.names[r]).unwrap()] = hit(r));
    found
}

/// Share of hits per group over replications, with ranks of their own and with those of all rows.
fn replicated(post: &PostStoNetRegressor, counts: [usize; 3], asked: &Asked, replications: u64) -> [[f64; 3]; 2] {
    let mut share = [[0.0; 3]; 2];
    for seed in 0..replications {
        let head = fit(post, &rows(counts, 2 * seed), seed);
        let test = rows([1, 1, 1], 2 * seed + 1);
        let own = hits(&head, &test, asked);
        let new = RegressionInputs::new(test.x.view()).unwrap();
        let pooled = head.pooled().all_intervals(&new, asked).unwrap().remove(0);
        for (r, name) in test.names.iter().enumerate() {
            let g = NAMES.iter().position(|n| n == name).unwrap();
            let inside = pooled.lower[[r, 0]] <= test.y[[r, 0]] && test.y[[r, 0]] <= pooled.upper[[r, 0]];
            share[0][g] += own[g] / replications as f64;
            share[1][g] += f64::from(u8::from(inside)) / replications as f64;
        }
    }
    share
}

fn sd(p: f64, n: u64) -> f64 {
    (p * (1.0 - p) / n as f64).sqrt()
}

#[test]
fn a_split_is_exact_within_every_group_and_pooled_ranks_are_not() {
    const REPLICATIONS: u64 = 1500;
    for side in [Side::Both, Side::Upper] {
        let asked = Asked::at(&[level(0.8)]).with_side(side);
        let [own, pooled] = replicated(&settings(Kind::Split), [60, 60, 20], &asked, REPLICATIONS);
        for (g, scored) in [(0, 30), (1, 30), (2, 10)] {
            let exact = conformal_rank(scored, level(0.8)).unwrap() as f64 / (scored as f64 + 1.0);
            assert!((own[g] - exact).abs() < 4.5 * sd(exact, REPLICATIONS), "{side:?} {g}: {} {exact}", own[g]);
        }
        // Ranks of all rows cover the quiet group always and the loud one far too rarely.
        assert!(pooled[0] > 0.88 && pooled[2] < 0.72, "{side:?}: {pooled:?}");
    }
}

#[test]
fn folds_are_even_within_every_group_and_its_bound_holds() {
    const REPLICATIONS: u64 = 600;
    let post = settings(Kind::Fast);
    let asked = Asked::at(&[level(0.8)]);
    let [own, _] = replicated(&post, [44, 40, 21], &asked, REPLICATIONS);
    for (g, share) in own.into_iter().enumerate() {
        // Usually close to the level; the bound itself is far below.
        assert!((share - 0.8).abs() < 0.04 + 4.5 * sd(0.8, REPLICATIONS), "{g}: {share}");
    }
    let head = fit(&post, &rows([44, 40, 21], 1), 1);
    let units: Vec<usize> = head.group_sizes(level(0.8), false).unwrap().iter().map(|g| g.units).collect();
    // Each group in five folds of one size.
    assert_eq!(units, [40, 40, 20]);
    let guarantee = head.guarantee(level(0.8));
    assert_eq!(guarantee.coverage, Some(stonet::conformal::cv_plus_guarantee(20, 5, level(0.8))));
    assert!(guarantee.text.contains("within each of 3 groups (north: 40; south: 40; west: 20)"), "{guarantee}");
}

#[test]
fn groups_with_too_few_rows_and_unknown_ones_use_the_ranks_of_all_rows() {
    for kind in [Kind::Split, Kind::Fast] {
        let head = fit(&settings(kind), &rows([60, 60, 7], 3), 1);
        let sizes = head.group_sizes(level(0.9), false).unwrap();
        assert_eq!(sizes.iter().map(|g| g.enough).collect::<Vec<_>>(), [true, true, false], "{kind}");
        let text = head.guarantee(level(0.9)).text;
        assert!(text.contains("within each of 2 groups") && text.contains("west"), "{kind}: {text}");
        assert!(head.pooled_groups(level(0.9), false).unwrap().unwrap().contains("west"));
        assert!(head.pooled_groups(level(0.5), false).unwrap().is_none());
        let mut test = rows([5, 5, 5], 4);
        let plain = RegressionInputs::new(test.x.view()).unwrap();
        let pooled = head.pooled().intervals(&plain, level(0.9), Side::Both).unwrap();
        test.names.iter_mut().for_each(|n| *n = "east".into());
        let unknown = intervals(&head, &test, &Asked::at(&[level(0.9)])).remove(0);
        assert_eq!(unknown, pooled);
        // A known group with too few rows is never inside its own widest interval.
        test.names.iter_mut().for_each(|n| *n = "west".into());
        let few = intervals(&head, &test, &Asked::at(&[level(0.9)])).remove(0);
        assert!(few.lower.iter().zip(&pooled.lower).all(|(f, p)| f <= p), "{kind}");
        assert!(few.upper.iter().zip(&pooled.upper).all(|(f, p)| f >= p), "{kind}");
        assert_eq!(head.intervals(&plain, level(0.9), Side::Both), Err(stonet::Error::NoGroups));
        assert!(head.predict(&plain).is_ok());
    }
}

#[test]
fn levels_nest_and_rows_do_not_depend_on_each_other() {
    let asked = Asked::at(&[0.5, 0.8, 0.9, 0.95, 0.99].map(level));
    for (kind, learned_scale) in [(Kind::Split, true), (Kind::Fast, true), (Kind::CvPlus, false)] {
        let post = PostStoNetRegressor { learned_scale, ..settings(kind) };
        let head = fit(&post, &rows([70, 50, 21], 5), 1);
        let test = rows([30, 30, 30], 6);
        let all = intervals(&head, &test, &asked);
        for pair in all.windows(2) {
            assert!(pair[0].lower.iter().zip(&pair[1].lower).all(|(a, b)| b <= a), "{kind}");
            assert!(pair[0].upper.iter().zip(&pair[1].upper).all(|(a, b)| b >= a), "{kind}");
        }
        let mut order: Vec<usize> = (0..90).collect();
        rand::seq::SliceRandom::shuffle(&mut order[..], &mut Seed::new(7).rng());
        let moved = Rows {
            x: test.x.select(Axis(0), &order),
            y: test.y.select(Axis(0), &order),
            names: order.iter().map(|&r| test.names[r].clone()).collect(),
        };
        for (before, after) in all.iter().zip(intervals(&head, &moved, &asked)) {
            assert_eq!(before.lower.select(Axis(0), &order), after.lower, "{kind}");
            assert_eq!(before.upper.select(Axis(0), &order), after.upper, "{kind}");
        }
    }
}

#[test]
fn units_of_rows_several_targets_and_joint_intervals_work_within_groups() {
    let data = rows([60, 60, 30], 8);
    let mut rng = Seed::new(9).rng();
    let y = ndarray::concatenate(Axis(1), &[data.y.view(), data.y.mapv(|v| v * rng.random::<f64>()).view()]).unwrap();
    // Units of three rows of one group, in the order of the rows of each group.
    let mut seen = std::collections::HashMap::new();
    let unit = |name: &String| {
        let count = seen.entry(name.clone()).or_insert(0usize);
        *count += 1;
        (*count - 1) / 3 * 3 + NAMES.iter().position(|n| n == name).unwrap()
    };
    let units: Vec<usize> = data.names.iter().map(unit).collect();
    let (within, numbers) = Within::learn(&[&data.names]).unwrap();
    let all = RegressionRows::new(data.x.view(), y.view()).unwrap().with_within(&within, &numbers).unwrap();
    let all = all.with_groups(&units).unwrap();
    for kind in [Kind::Split, Kind::Fast] {
        let head = settings(kind).fit(&all, Seed::new(1), &|_, _| true).unwrap();
        let units: Vec<usize> = head.group_sizes(level(0.5), false).unwrap().iter().map(|g| g.units).collect();
        assert_eq!(units, if kind == Kind::Split { [10, 10, 5] } else { [20, 20, 10] }, "{kind}");
        let codes = within.encode(&[&data.names]).unwrap();
        let new = RegressionInputs::new(data.x.view()).unwrap().with_within(&codes).unwrap();
        let each = head.intervals(&new, level(0.6), Side::Both).unwrap();
        let joint = head.joint_intervals(&new, level(0.6), Side::Both).unwrap();
        assert!(joint.lower.iter().zip(&each.lower).all(|(j, e)| j <= e), "{kind}");
        assert!(joint.upper.iter().all(|v| v.is_finite()), "{kind}");
        let coverage = head.guarantee(level(0.6)).coverage;
        assert_eq!(coverage.is_some(), kind == Kind::Split, "{kind}");
        let text = serde_json::to_string(&head).unwrap();
        assert_eq!(serde_json::from_str::<FittedRegressor>(&text).unwrap(), head);
    }
}

#[test]
fn a_sample_calibrates_by_group_whatever_the_batches() {
    let post = settings(Kind::Split);
    let (sample, others) = (rows([40, 40, 0], 10), rows([200, 100, 30], 11));
    let calibrated = |size: usize| {
        let (within, numbers) = Within::learn(&[&sample.names]).unwrap();
        let data = RegressionRows::new(sample.x.view(), sample.y.view()).unwrap();
        let data = data.with_within(&within, &numbers).unwrap();
        let mut head = post.fit_sample(&data, Seed::new(1), &|_, _| true).unwrap();
        for first in (0..330).step_by(size) {
            let part = first..(first + size).min(330);
            let (within, numbers) = Within::learn(&[&others.names[part.clone()]]).unwrap();
            let slice = ndarray::s![part, ..];
            let rows = RegressionRows::new(others.x.slice(slice), others.y.slice(slice)).unwrap();
            head.calibrate(&rows.with_within(&within, &numbers).unwrap()).unwrap();
        }
        head.finish().unwrap()
    };
    let head = calibrated(330);
    assert_eq!(calibrated(17), head);
    let units: Vec<usize> = head.group_sizes(level(0.9), false).unwrap().iter().map(|g| g.units).collect();
    assert_eq!(units, [200, 100, 30]);
    let lengths = intervals(&head, &others, &Asked::at(&[level(0.9)])).remove(0);
    let mean = |name: &str| {
        let rows = (0..330).filter(|&r| others.names[r] == name);
        let all: Vec<f64> = rows.map(|r| lengths.upper[[r, 0]] - lengths.lower[[r, 0]]).collect();
        all.iter().sum::<f64>() / all.len() as f64
    };
    assert!(mean("north") < mean("south") && mean("south") < mean("west"));
}

#[test]
fn eves_law_has_no_ranks_and_says_so() {
    let data = rows([30, 30, 30], 12);
    let (within, numbers) = Within::learn(&[&data.names]).unwrap();
    let rows = RegressionRows::new(data.x.view(), data.y.view()).unwrap().with_within(&within, &numbers).unwrap();
    for kind in [Kind::Paper, Kind::Cv] {
        let refused = settings(kind).fit(&rows, Seed::new(1), &|_, _| true).unwrap_err().to_string();
        assert!(refused.contains("stack, fast, cv+ or split"), "{refused}");
    }
}
