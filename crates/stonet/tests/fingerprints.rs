//! Fingerprints of rows: the same row in every format, sets with the stated error rate, overlap, copies.

use ndarray::{Array2, array, s};
use rand::RngExt;
use stonet::rows::{Copies, FingerprintCounts, FingerprintsBuilder, row_hashes};
use stonet::{Fingerprints, Seed};

/// Most fingerprints that a set keeps.
const CAPACITY: usize = 1 << 16;

/// The hash of a row with this number.
fn mix(number: u64) -> u64 {
    row_hashes(&[Array2::from_elem((1, 1), number as f64).view()]).unwrap()[0]
}

#[test]
fn values_count_as_f32_and_zeros_are_equal() {
    let wide = array![[0.1, -0.0, 1e30], [0.5, 2.0, -3.0]];
    let narrow = wide.mapv(|v: f64| f64::from(v as f32) + 0.0);
    assert_eq!(row_hashes(&[wide.view()]).unwrap(), row_hashes(&[narrow.view()]).unwrap());
    let text = wide.mapv(|v: f64| (v as f32).to_string().parse::<f64>().unwrap());
    assert_eq!(row_hashes(&[wide.view()]).unwrap(), row_hashes(&[text.view()]).unwrap());
}

#[test]
fn the_order_of_values_matters_and_the_order_in_memory_does_not() {
    let a = array![[1.0, 2.0], [2.0, 1.0], [0.0, 0.0]];
    let hashes = row_hashes(&[a.view()]).unwrap();
    assert!(hashes[0] != hashes[1] && hashes[2] != 0);
    let columns = a.t().as_standard_layout().into_owned();
    assert_eq!(row_hashes(&[columns.t()]).unwrap(), hashes);
    assert_eq!(row_hashes(&[a.slice(s![.., ..1]), a.slice(s![.., 1..])]).unwrap(), hashes);
    assert_ne!(row_hashes(&[a.slice(s![2.., ..1])]).unwrap()[0], hashes[2]);
    assert!(row_hashes(&[a.view(), a.slice(s![1.., ..])]).is_err());
    assert!(row_hashes(&[]).unwrap().is_empty());
}

#[test]
fn known_hashes_stay_what_they_are() {
    let rows = array![[0.0, 0.0], [1.5, -2.0]];
    assert_eq!(row_hashes(&[rows.view()]).unwrap(), [0x774a_0662_b844_b398, 0x0763_9d6f_3137_a63a]);
}

fn hashes(n: usize, seed: u64) -> Vec<u64> {
    let mut rng = Seed::new(seed).rng();
    (0..n).map(|_| rng.random()).collect()
}

#[test]
fn order_and_pieces_do_not_matter() {
    let all = hashes(200_000, 1);
    let whole = Fingerprints::new(&all);
    let mut builder = FingerprintsBuilder::default();
    let mut turned = all.clone();
    turned.reverse();
    turned.chunks(777).for_each(|c| builder.add(c));
    assert_eq!(builder.finish(), whole);
    let FingerprintCounts { rows, sampled, repeated, halvings } = whole.counts();
    assert_eq!((rows, repeated, halvings), (200_000, 0, 2));
    assert!(sampled as usize <= CAPACITY && whole.values().len() as u64 <= sampled);
    assert_eq!(Fingerprints::from_parts(whole.counts(), whole.values().to_vec()), Ok(whole));
}

#[test]
fn the_false_positive_rate_is_as_stated() {
    const TESTS: usize = 4_000_000;
    for n in [CAPACITY, 3 * CAPACITY] {
        let set = Fingerprints::new(&hashes(n, 2));
        let overlap = set.overlap(&hashes(TESTS, 3));
        let expected = set.false_positive_rate() * overlap.checked as f64;
        // Poisson: ± 4.5 standard deviations.
        let found = overlap.matched as f64;
        assert!((found - expected).abs() < 4.5 * expected.sqrt(), "{n}: {found} of {expected}");
        assert!(set.false_positive_rate() < 1.6e-5);
        assert!(!overlap.any() && overlap.share < 1e-5, "{overlap:?}");
    }
}

#[test]
fn overlap_is_estimated_from_a_sample() {
    let fitted = hashes(1_000_000, 4);
    let set = Fingerprints::new(&fitted);
    assert!(set.counts().halvings >= 4);
    for (old, new) in [(0usize, 40_000usize), (2_000, 38_000), (20_000, 20_000), (40_000, 0)] {
        let rows: Vec<u64> = fitted[..old].iter().copied().chain(hashes(new, 5)).collect();
        let overlap = set.overlap(&rows);
        let share = old as f64 / 40_000.0;
        let sd = (share * (1.0 - share) / overlap.checked as f64).sqrt();
        assert!((overlap.share - share).abs() <= 4.5 * sd + 1e-4, "{overlap:?}");
        assert_eq!((overlap.any(), overlap.too_many()), (old > 0, old > 0), "{overlap:?}");
    }
}

#[test]
fn forged_parts_are_refused() {
    let good = Fingerprints::new(&hashes(10, 6));
    let (counts, values) = (good.counts(), good.values().to_vec());
    let refused = |counts, values: Vec<u32>| Fingerprints::from_parts(counts, values).is_err();
    assert!(refused(counts, values.iter().rev().copied().collect()));
    assert!(refused(counts, vec![values[0]; 10]));
    assert!(refused(FingerprintCounts { sampled: 9, ..counts }, values.clone()));
    assert!(refused(FingerprintCounts { repeated: 11, ..counts }, values.clone()));
    assert!(refused(FingerprintCounts { rows: 9, ..counts }, values.clone()));
    assert!(refused(FingerprintCounts { halvings: 33, ..counts }, values));
    let many = FingerprintCounts { rows: 1 << 20, sampled: 1 << 20, ..counts };
    assert!(refused(many, (0..CAPACITY as u32 + 1).collect()));
}

#[test]
fn a_single_known_row_is_reported_and_does_not_refuse() {
    let fitted: Vec<u64> = (1..=500).map(mix).collect();
    let set = Fingerprints::new(&fitted);
    let rows: Vec<u64> = (500..900).map(mix).collect();
    let overlap = set.overlap(&rows);
    assert!(overlap.any() && !overlap.too_many(), "{overlap:?}");
    assert_eq!(overlap.text(), "1 of these 400 rows (0.2 %) are among the rows that were fitted on");
    assert!(set.overlap(&fitted[..5].repeat(2)).too_many());
    assert!(!set.overlap(&[]).any() && !set.overlap(&[]).too_many());
}

/// Rows of independent cells of very different probability: new rows equal old ones as often as old ones equal each
/// other.
#[test]
fn discrete_rows_never_refuse_and_the_same_rows_do() {
    let mut refused = 0;
    for seed in 0..200 {
        let mut rng = Seed::new(seed).rng();
        let cells = [30.0, 300.0, 3e3, 3e4][seed as usize % 4];
        let mut draw = |n: usize| -> Vec<u64> {
            let cell = |u: f64| mix((u * u * cells) as u64 + 1);
            (0..n).map(|_| cell(rng.random())).collect()
        };
        let (fitted, new) = (draw(600), draw(400));
        let set = Fingerprints::new(&fitted);
        refused += usize::from(set.overlap(&new).too_many());
        if set.duplicate_rate() < 0.8 {
            assert!(set.overlap(&fitted[1..]).too_many(), "{seed}: {}", set.duplicate_rate());
        }
    }
    assert_eq!(refused, 0);
}

/// Copies among rows whose inputs and targets, each alone, have these hashes.
fn found(rows: &[u64], parts: &[&[u64]]) -> Option<Copies> {
    let mut builder = FingerprintsBuilder::default();
    builder.add(rows);
    builder.copies(rows, &parts.iter().map(|p| p.to_vec()).collect::<Vec<_>>())
}

#[test]
fn copies_are_found_whatever_the_target() {
    let rows: Vec<u64> = (1..=500).map(mix).collect();
    assert_eq!(found(&rows, &[&rows, &rows]), None);
    for times in 2..5 {
        let copied = rows.repeat(times);
        let n = copied.len() as u64;
        assert_eq!(found(&copied, &[]), Some(Copies { rows: n, repeated: n }));
    }
    // Two in a hundred: with a continuous target that is no coincidence, of classes nobody knows.
    let some = [&rows[..], &rows[..5]].concat();
    assert_eq!(found(&some, &[&some, &some]), Some(Copies { rows: 505, repeated: 10 }));
    assert_eq!(found(&some, &[]), None);
    let few = [&rows[..], &rows[..2]].concat();
    assert_eq!(found(&few, &[&few, &few]), None);
    // Inputs that never change, and a rounded target: rows are equal where targets are.
    let same = vec![1; 505];
    assert_eq!(found(&some, &[&same, &some]), None);
    // A discrete table, every row of it twice.
    let cells: Vec<u64> = rows.iter().map(|h| mix(h % 300)).collect();
    assert_eq!(found(&cells, &[]), None);
    assert!(found(&cells.repeat(2), &[]).is_some());
}

#[test]
fn independent_discrete_rows_are_no_copies() {
    for seed in 0..60 {
        let mut rng = Seed::new(seed).rng();
        let (n, cells) = ([200, 1000, 60_000][seed as usize % 3], [10.0, 100.0, 1e3, 1e4][seed as usize % 4]);
        let power = [1, 2, 4][seed as usize % 3];
        let rows: Vec<u64> = (0..n).map(|_| mix((rng.random::<f64>().powi(power) * cells) as u64 + 1)).collect();
        // Ten possible targets.
        let targets: Vec<u64> = rows.iter().map(|r| r % 10).collect();
        assert_eq!(found(&rows, &[&rows, &targets]), None, "{seed}");
    }
}
