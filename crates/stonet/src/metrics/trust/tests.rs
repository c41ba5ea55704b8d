//! Scores, intervals and curves of confidence, by hand and by naive definitions.

use super::*;
use ndarray::array;

/// Probabilities of three classes, some of them equal, and labels that the guess misses where it is sure.
fn example(n: usize) -> (Array2<f64>, Vec<usize>) {
    let p = Array2::from_shape_fn((n, 3), |(i, k)| {
        let top = 0.4 + 0.55 * ((i * 7 % n) / 2 * 2) as f64 / n as f64;
        if k == i % 3 { top } else { 0.5 * (1.0 - top) }
    });
    let labels = (0..n).map(|i| if i * 7 % n > n / 2 && i % 4 != 0 { (i + 1) % 3 } else { i % 3 }).collect();
    (p, labels)
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12 * (1.0 + expected.abs()), "{found} for {expected}");
}

fn draws(of: impl Fn(f64) -> f64) -> Vec<f64> {
    (0..=40).map(|i| of(f64::from(i))).collect()
}

#[test]
fn an_area_has_an_interval_in_log_odds() {
    // Standard deviation .1 of .1, .2, .3; odds ¼ times and over exp(1.96 · .1 / .16).
    let m = area_interval(0.2, &[0.1, 0.2, 0.3]);
    let factor = (1.959_964f64 * 0.1 / 0.16).exp();
    close(m.low, 0.25 / factor / (1.0 + 0.25 / factor));
    close(m.high, 0.25 * factor / (1.0 + 0.25 * factor));
    assert_eq!((m.value, m.floor), (0.2, None));
    // 0 and 1 have no log odds: percentiles, and the value itself.
    let hundredths = draws(|i| i / 100.0);
    let ends = |value: f64| area_interval(value, &hundredths);
    assert_eq!((ends(0.0).low, ends(0.0).high), (0.0, 0.39));
    assert_eq!((ends(1.0).low, ends(1.0).high), (0.01, 1.0));
}

fn found(debiased: f64) -> Found {
    let scores = TrustScores { smooth_ece: 0.0, debiased_ece: 0.0, aurc: 0.0, excess_aurc: 0.0 };
    Found { scores, bandwidth: 0.0, debiased, classes: 0.0 }
}

#[test]
fn the_wider_of_both_counts_at_each_end_of_a_debiased_square() {
    // Percentiles −.009 and .029 around the plain square of .5; −.034 and .004 around 0.
    let of_rows: Vec<Drawn> = draws(|i| 0.5 + (i - 10.0) / 1000.0)
        .iter()
        .map(|&debiased| Drawn { aurc: 0.0, excess: 0.0, debiased })
        .collect();
    let of_labels: Vec<Found> = draws(|i| (i - 35.0) / 1000.0).into_iter().map(found).collect();
    let both = debiased_interval(&found(0.04), &of_rows, &of_labels, 0.5);
    close(both.value, 0.2);
    close(both.low, 0.011f64.sqrt());
    close(both.high, 0.074f64.sqrt());
    close(debiased_interval(&found(0.04), &of_rows, &[], 0.5).high, 0.049f64.sqrt());
    // Ends stay between −1 and 1, with the sign kept.
    assert_eq!(debiased_interval(&found(0.99), &of_rows, &of_labels, 0.5).high, 1.0);
    assert_eq!(debiased_interval(&found(-0.98), &of_rows, &of_labels, 0.5).low, -1.0);
    close(debiased_interval(&found(0.01), &of_rows, &of_labels, 0.5).low, -(0.019f64.sqrt()));
}

#[test]
fn scores_by_hand() {
    // Confidences .9, .8, .7, .6, wrong at the second: risks 0, ½, ⅓, ¼, at best ¼ alone.
    let p = array![[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.4, 0.6]];
    let scores = trust_scores(p.view(), &[0, 1, 1, 1], 2).unwrap();
    close(scores.aurc, (0.5 + 1.0 / 3.0 + 0.25) / 4.0);
    close(scores.excess_aurc, (0.5 + 1.0 / 3.0) / 4.0);
    assert_eq!(aurc(p.view(), &[0, 1, 1, 1]).unwrap(), (scores.aurc, scores.excess_aurc));
    // Residuals −.1, .8 in the bin of the surer half, −.3, −.4 in the other.
    let square = 0.5 * (0.35f64.powi(2) - 0.405 / 2.0) + 0.5 * (0.35f64.powi(2) - 0.005 / 2.0);
    close(scores.debiased_ece, square.signum() * square.abs().sqrt());
    close(debiased_ece(p.view(), &[0, 1, 1, 1], 2).unwrap(), scores.debiased_ece);
    let all = trust_scores(p.view(), &[0, 1, 1, 1], super::super::BINS).unwrap();
    assert_eq!(smooth_ece(p.view(), &[0, 1, 1, 1]).unwrap(), all.smooth_ece);
    // Where it is smECE at its own bandwidth.
    let at = smooth_ece_at(p.view(), &[0, 1, 1, 1], all.smooth_ece).unwrap();
    assert!((at - all.smooth_ece).abs() < 1e-6);
    assert!(smooth_ece_at(p.view(), &[0, 1, 1, 1], 1.01).is_err() && aurc(p.view(), &[0]).is_err());
}

#[test]
fn tests_count_the_draws_that_show_at_least_as_much() {
    let settings = JudgeSettings { resamples: 3, redraws: 19, ..JudgeSettings::default() };
    // Labels of sure rows are always the same, so that all draws show what came.
    let sure = Array2::from_shape_fn((10, 2), |(_, k)| [1.0, 0.0][k]);
    let report = judge_trust(sure.view(), &[0; 10], &settings, Seed::new(1)).unwrap();
    assert_eq!((report.p_top, report.p_classes), (Some(1.0), Some(1.0)));
    // Nearly sure and always wrong: no draw shows that much.
    let wrong = Array2::from_shape_fn((10, 2), |(_, k)| [0.99, 0.01][k]);
    let report = judge_trust(wrong.view(), &[1; 10], &settings, Seed::new(1)).unwrap();
    assert_eq!((report.p_top, report.p_classes), (Some(0.05), Some(0.05)));
    let bare = JudgeSettings { redraws: 0, ..settings };
    let report = judge_trust(wrong.view(), &[1; 10], &bare, Seed::new(1)).unwrap();
    assert_eq!((report.p_top, report.p_classes, report.scores.aurc.floor), (None, None, None));
    assert!(judge_trust(wrong.view(), &[1; 10], &JudgeSettings { resamples: 0, ..bare }, Seed::new(1)).is_err());
}

#[test]
fn a_report_holds_the_scores_the_floors_of_labels_drawn_anew_and_both_curves() {
    let (p, labels) = example(120);
    let settings = JudgeSettings { resamples: 40, redraws: 30, ..JudgeSettings::default() };
    let report = judge_trust(p.view(), &labels, &settings, Seed::new(5)).unwrap();
    let values = trust_scores(p.view(), &labels, settings.bins).unwrap();
    let binned = Binned::new(p.view(), settings.bins).unwrap();
    // The same labels drawn anew, scored one set after the other.
    struct Drawn(Vec<usize>);
    impl Labelled for Drawn {
        fn add(&mut self, _: usize, y: usize) {
            self.0.push(y);
        }
    }
    let seed = Seed::new(5).child(streams::TRUST_REDRAWS);
    let sets = redrawn(&binned.p, 30, seed, || Drawn(Vec::new()), |labels| labels.0.clone());
    let scored: Vec<_> = sets.iter().map(|y| trust_scores(p.view(), y, settings.bins).unwrap()).collect();
    type Of = fn(&TrustScores<f64>) -> f64;
    let all: [(Measured, Of); 4] = [
        (report.scores.smooth_ece, |s| s.smooth_ece),
        (report.scores.debiased_ece, |s| s.debiased_ece),
        (report.scores.aurc, |s| s.aurc),
        (report.scores.excess_aurc, |s| s.excess_aurc),
    ];
    for (measured, of) in all {
        close(measured.value, of(&values));
        let draws: Vec<f64> = scored.iter().map(of).collect();
        let (floor, expected) = (measured.floor.unwrap(), band(&mut draws.iter()));
        close(floor.mean, expected.mean);
        close(floor.low, expected.low);
        close(floor.high, expected.high);
        assert!(measured.low < measured.value && measured.value < measured.high, "{measured:?}");
    }
    assert!((report.bandwidth - values.smooth_ece).abs() < 1e-6);
    assert_eq!(report.risk, curve(&binned, &labels));
}

#[test]
fn a_resample_is_its_rows_written_out() {
    let (p, labels) = example(50);
    let binned = Binned::new(p.view(), 4).unwrap();
    let rows = Rows::new(&binned);
    let resampled = Resampled::new(&rows, &labels, 3, Seed::new(8));
    for (r, drawn) in resampled.drawn.iter().enumerate() {
        let mut rng = Seed::new(8).child(r as u64).rng();
        let drawn_rows: Vec<usize> = (0..50).map(|_| rows.order.rows[rng.random_range(0..50)]).collect();
        let mut bins = vec![Residuals::default(); 4];
        let [mut residuals, mut counts, mut hits] = [(); 3].map(|()| vec![0.0; CELLS + 1]);
        for &i in &drawn_rows {
            let (top, hit) = (binned.top[i], f64::from(u8::from(binned.top[i].class == labels[i])));
            bins[top.mass_bin].add(top.confidence - hit, 1.0);
            rows.places[i].add(&mut residuals, top.confidence - hit);
            rows.places[i].add(&mut counts, 1.0);
            rows.places[i].add(&mut hits, hit);
        }
        close(drawn.debiased, debiased(&bins));
        for (found, expected) in
            [(&resampled.residuals, &residuals), (&resampled.counts, &counts), (&resampled.hits, &hits)]
        {
            found.row(r).iter().zip(expected).for_each(|(found, expected)| close(*found, *expected));
        }
        // Rows of equal confidence in every order: AURC by the weights of the rows drawn.
        let own = p.select(Axis(0), &drawn_rows);
        let own_labels: Vec<usize> = drawn_rows.iter().map(|&i| labels[i]).collect();
        let (area, excess) = aurc(own.view(), &own_labels).unwrap();
        close(drawn.aurc, area);
        close(drawn.excess, excess);
    }
}

#[test]
fn the_smooth_curve_is_the_share_of_hits_around_each_point() {
    // Of few rows some places, or all, have less than five within reach.
    let points = [8, 10, 12, 14, 60].map(points_of_the_curve);
    assert!(points[0] == 0 && points[4] > 40 && points.iter().any(|p| (1..40).contains(p)), "{points:?}");
}

fn points_of_the_curve(n: usize) -> usize {
    const SIGMA: f64 = 0.05;
    let (p, labels) = example(n);
    let binned = Binned::new(p.view(), 4).unwrap();
    let rows = Rows::new(&binned);
    let resampled = Resampled::new(&rows, &labels, 41, Seed::new(8));
    let curve = resampled.smooth(&rows, &labels, SIGMA);
    let kernel = |t: f64, c: f64| {
        let one = |d: f64| (-0.5 * (d / SIGMA).powi(2)).exp() / (SIGMA * (2.0 * std::f64::consts::PI).sqrt());
        one(t - c) + one(t + c) + one(t + c - 2.0)
    };
    let sums = |t: f64| {
        binned.top.iter().zip(&labels).fold((0.0, 0.0), |(rows, hits), (top, &y)| {
            let k = kernel(t, top.confidence);
            (rows + k, hits + if top.class == y { k } else { 0.0 })
        })
    };
    let range = binned.top.iter().fold((1.0f64, 0.0f64), |r, t| (r.0.min(t.confidence), r.1.max(t.confidence)));
    let (first, last) = ((range.0 * 1024.0).floor() as usize, (range.1 * 1024.0).ceil() as usize);
    let nodes = (0..64).map(|i| (first + (last - first) * i / 63) as f64 / 1024.0);
    // Rows within reach: Σ K over the height of the kernel, which is 1 / (2 σ √π).
    let seen = nodes.filter(|&t| sums(t).0 * 2.0 * SIGMA * std::f64::consts::PI.sqrt() >= 5.0);
    assert_eq!(curve.iter().map(|c| c.confidence).collect::<Vec<_>>(), seen.collect::<Vec<_>>());
    // Every fourth point, because the kernels of all resamples take long.
    for point in curve.iter().step_by(4) {
        let (rows, hits) = sums(point.confidence);
        // Sharing between two nodes, and images beyond the next.
        assert!((point.accuracy - hits / rows).abs() < 1e-3, "{point:?} for {}", hits / rows);
        // Each resample at the same place.
        let at = |nodes: &Array2<f64>, r: usize| -> f64 {
            let nodes = nodes.row(r);
            nodes.iter().enumerate().map(|(j, n)| n * kernel(point.confidence, j as f64 / 1024.0)).sum()
        };
        let draws: Vec<f64> = (0..41).map(|r| at(&resampled.hits, r) / at(&resampled.counts, r)).collect();
        let expected = band(&mut draws.iter());
        assert!((point.low - expected.low.min(point.accuracy)).abs() < 1e-6, "{point:?} {expected:?}");
        assert!((point.high - expected.high.max(point.accuracy)).abs() < 1e-6, "{point:?} {expected:?}");
    }
    curve.len()
}

#[test]
fn smooth_ece_moves_by_at_most_what_its_bins_do() {
    let (p, labels) = example(60);
    let binned = Binned::new(p.view(), 4).unwrap();
    let rows = Rows::new(&binned);
    let own = Found { bandwidth: 0.1, ..found(0.0) };
    let row = |value: &dyn Fn(usize) -> f64| {
        let mut nodes = vec![0.0; CELLS + 1];
        (0..60).for_each(|i| rows.places[i].add(&mut nodes, value(i)));
        nodes
    };
    let residual = |i: usize| binned.top[i].confidence - f64::from(u8::from(binned.top[i].class == labels[i]));
    let nodes = row(&residual);
    // Three sets of rows and two of labels.
    let times = |r: usize, i: usize| ((i * (r + 3) + r) % 4) as f64 * 0.6;
    let resampled = stacked(&[0, 1, 2].map(|r| row(&|i| times(r, i) * residual(i))));
    let signs = |r: usize, i: usize| if (i * (r + 5)).is_multiple_of(3) { -0.4 } else { 0.3 };
    let redrawn = stacked(&[0, 1].map(|r| row(&|i| signs(r, i))));
    // The definition, a row and a place of the mesh after the other.
    let mesh = mesh(0.1);
    let at: Vec<usize> = mesh.iter().map(|m| m.0).collect();
    let kernel = kernel(0.1, &at);
    let reaches = |i: usize, b: usize, power: i32| {
        let Place { below, share } = rows.places[i];
        let k = |node: usize| (mesh[b].1 * kernel[[node, b]]).powi(power);
        (1.0 - share) * k(below) + share * k(below + 1)
    };
    let sum =
        |b: usize, power: i32, of: &dyn Fn(usize) -> f64| (0..60).map(|i| reaches(i, b, power) * of(i)).sum::<f64>();
    let c = |i: usize| binned.top[i].confidence;
    let moves = |noise: &dyn Fn(usize) -> f64| {
        (0..mesh.len()).fold((0.0, 0.0), |(below, above), b| {
            let total = sum(b, 1, &residual);
            let own = sum(b, 2, &|i| residual(i).powi(2)) - total * total / 60.0;
            let certain = total * total > 2.0 * 60f64.ln() * own.max(sum(b, 2, &|i| c(i) * (1.0 - c(i))));
            let (sign, noise) = (total.signum(), noise(b));
            (below + if certain { sign * noise } else { noise.abs() } / 60.0, above - sign * noise / 60.0)
        })
    };
    let of_rows = [0, 1, 2].map(|r| moves(&|b| sum(b, 1, &|i| (times(r, i) - 1.0) * residual(i))));
    let of_labels = [0, 1].map(|r| moves(&|b| sum(b, 1, &|i| signs(r, i))));
    let high = |draws: &[f64]| band(&mut draws.iter()).high.max(0.0);
    let expected = [
        high(&of_rows.map(|m| m.0)).max(high(&of_labels.map(|m| m.0))),
        high(&of_rows.map(|m| m.1)).max(high(&of_labels.map(|m| m.1))),
    ];
    let reach =
        |resampled: &Array2<f64>, redrawn: &Array2<f64>| smooth_reach(&rows, &labels, &own, &nodes, resampled, redrawn);
    let found = reach(&resampled, &redrawn);
    close(found[0], expected[0]);
    close(found[1], expected[1]);
    // Without labels drawn anew the rows alone count.
    let alone = reach(&resampled, &stacked(&[]));
    close(alone[0], high(&of_rows.map(|m| m.0)));
    close(alone[1], high(&of_rows.map(|m| m.1)));
}
