//! Counts behind the tables of a classifier: confidence, classes, confusions.

use std::collections::HashMap;

use ndarray::{ArrayView1, ArrayView2};
use stonet::metrics::{bin_of, top_class};

use super::{ClassRow, ConfidenceBin, Confusion};

/// Bars of the histogram of confidence.
const CONFIDENCE_BINS: usize = 20;
/// Pairs that are listed.
const CONFUSIONS: usize = 10;

/// The first of the most probable classes, and its probability.
pub fn guesses(p: ArrayView2<'_, f64>) -> Vec<(usize, f64)> {
    let guess = |row: ArrayView1<'_, f64>| (top_class(row), row.fold(f64::NEG_INFINITY, |best, v| best.max(*v)));
    p.outer_iter().map(guess).collect()
}

pub fn confidence_bins(guesses: &[(usize, f64)], labels: &[usize]) -> Vec<ConfidenceBin> {
    let at = |b: usize| b as f64 / CONFIDENCE_BINS as f64;
    let mut bins: Vec<ConfidenceBin> =
        (0..CONFIDENCE_BINS).map(|b| ConfidenceBin { low: at(b), high: at(b + 1), right: 0, wrong: 0 }).collect();
    for ((guess, confidence), label) in guesses.iter().zip(labels) {
        let bin = &mut bins[bin_of(*confidence, CONFIDENCE_BINS)];
        if guess == label { bin.right += 1 } else { bin.wrong += 1 }
    }
    bins
}

pub fn class_rows(
    p: ArrayView2<'_, f64>,
    labels: &[usize],
    names: &[String],
    guesses: &[(usize, f64)],
    bins: usize,
) -> Vec<ClassRow> {
    let n = labels.len() as f64;
    let (mut rows, mut guessed, mut right) = (vec![0; names.len()], vec![0; names.len()], vec![0; names.len()]);
    for ((guess, _), &label) in guesses.iter().zip(labels) {
        rows[label] += 1;
        guessed[*guess] += 1;
        right[label] += usize::from(*guess == label);
    }
    let share = |part: usize, whole: usize| (whole > 0).then(|| part as f64 / whole as f64);
    let one = |(k, name): (usize, &String)| {
        let mut excess = vec![0.0; bins];
        for (p, label) in p.column(k).iter().zip(labels) {
            excess[bin_of(*p, bins)] += p - f64::from(u8::from(*label == k));
        }
        ClassRow {
            name: name.clone(),
            rows: rows[k],
            frequency: rows[k] as f64 / n,
            mean_probability: p.column(k).sum() / n,
            recall: share(right[k], rows[k]),
            precision: share(right[k], guessed[k]),
            calibration_error: excess.iter().map(|e| e.abs()).sum::<f64>() / n,
        }
    };
    names.iter().enumerate().map(one).collect()
}

pub fn confusions(labels: &[usize], names: &[String], guesses: &[(usize, f64)]) -> Vec<Confusion> {
    let mut rows = vec![0usize; names.len()];
    let mut pairs: HashMap<(usize, usize), usize> = HashMap::new();
    for ((guess, _), &label) in guesses.iter().zip(labels) {
        rows[label] += 1;
        if *guess != label {
            *pairs.entry((label, *guess)).or_default() += 1;
        }
    }
    let mut pairs: Vec<((usize, usize), usize)> = pairs.into_iter().collect();
    pairs.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    pairs.truncate(CONFUSIONS);
    let one = |((truth, guess), count): ((usize, usize), usize)| Confusion {
        truth: names[truth].clone(),
        guess: names[guess].clone(),
        rows: count,
        share: count as f64 / rows[truth] as f64,
    };
    pairs.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};
    use stonet::metrics::class_wise_ece;

    fn names(k: usize) -> Vec<String> {
        (0..k).map(|k| format!("c{k}")).collect()
    }

    #[test]
    fn tables_by_hand() {
        let p = array![[0.7, 0.2, 0.1], [0.6, 0.3, 0.1], [0.1, 0.8, 0.1], [0.5, 0.5, 0.0]];
        let labels = [0, 1, 1, 1];
        let guesses = guesses(p.view());
        assert_eq!(guesses, [(0, 0.7), (0, 0.6), (1, 0.8), (0, 0.5)]);
        let rows = class_rows(p.view(), &labels, &names(3), &guesses, 5);
        assert_eq!((rows[1].rows, rows[1].frequency, rows[1].recall), (3, 0.75, Some(1.0 / 3.0)));
        assert_eq!((rows[0].precision, rows[2].precision, rows[2].recall), (Some(1.0 / 3.0), None, None));
        assert!((rows[0].mean_probability - 0.475).abs() < 1e-15);
        let confused = confusions(&labels, &names(3), &guesses);
        assert_eq!(confused.len(), 1);
        assert_eq!((confused[0].truth.as_str(), confused[0].guess.as_str(), confused[0].rows), ("c1", "c0", 2));
        let bins = confidence_bins(&guesses, &labels);
        assert_eq!(bins.iter().map(|b| b.right + b.wrong).sum::<usize>(), 4);
        // .5 lies on an edge and belongs to (.45, .5].
        assert_eq!((bins[9].wrong, bins[13].right, bins[15].right), (1, 1, 1));
    }

    #[test]
    fn the_mean_over_classes_is_the_class_wise_error() {
        let mut p = Array2::from_shape_fn((90, 4), |(i, k)| (1.3 * ((i * 7 + k * 3) as f64).sin()).exp());
        p.outer_iter_mut().for_each(|mut r| r /= r.sum());
        let labels: Vec<usize> = (0..90).map(|i| i * i % 4).collect();
        let rows = class_rows(p.view(), &labels, &names(4), &guesses(p.view()), 15);
        let mean = rows.iter().map(|r| r.calibration_error).sum::<f64>() / 4.0;
        assert!((mean - class_wise_ece(p.view(), &labels, 15).unwrap()).abs() < 1e-14);
    }
}
