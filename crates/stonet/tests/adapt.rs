//! Heads for rows from elsewhere: what holds with the true ratio of densities, and what is refused.

use ndarray::Array2;
use stonet::conformal::Ratio;
use stonet::regression::Adapt;
use stonet::rows::Within;
use stonet::{Error, FittedRegressor, Kind, PostStoNetRegressor, RegressionInputs, RegressionRows, Seed, Side};

#[path = "common/shifted.rs"]
mod shifted;
use shifted::{Rows, TILT, level, replicate, settings, simulated};

const QUIET: stonet::Ticker<'static> = &|_, _| true;

/// 200 replications of a split whose intervals fall short where new rows come from: with the true weights coverage is at
/// least 90 %, by a one-sided t-test at 1 %, and an estimated ratio comes near.
#[test]
fn true_weights_of_a_split_cover_where_new_rows_come_from() {
    let post = settings(Kind::Split, false);
    let runs = 200;
    let (mut known, mut before, mut estimated) = (Vec::new(), 0.0, 0.0);
    for run in 0..runs {
        let seed = Seed::new(7000 + run);
        let calibration = simulated(400, [0.0; 4], seed.child(10));
        let (unlabelled, new) = (simulated(300, TILT, seed.child(11)), simulated(200, TILT, seed.child(12)));
        let outcome = replicate(&post, &calibration, (&unlabelled, &new), &TILT, seed).unwrap();
        known.push(outcome.known.covered);
        before += outcome.before.covered / runs as f64;
        estimated += outcome.estimated.covered / runs as f64;
    }
    let n = runs as f64;
    let mean = known.iter().sum::<f64>() / n;
    let sd = (known.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    let t = (mean - 0.9) / (sd / n.sqrt());
    assert!(t > -2.35, "{mean} t {t}");
    // Without weights a fifth or so is missed, so that the weights have something to do.
    assert!(before < 0.83, "{before}");
    assert!(estimated > before + 0.04, "{estimated} {before}");
}

fn head(kind: Kind, rows: &Rows) -> (PostStoNetRegressor, FittedRegressor) {
    let post = settings(kind, true);
    let fitted = post.fit(&calibration(rows), Seed::new(1), QUIET).unwrap();
    (post, fitted)
}

fn calibration(rows: &Rows) -> RegressionRows<'_> {
    RegressionRows::new(rows.x.view(), rows.y.view()).unwrap()
}

#[test]
fn rows_may_come_in_any_order_and_weights_of_one_change_nothing() {
    let (rows, new) = (simulated(303, [0.0; 4], Seed::new(1)), simulated(120, TILT, Seed::new(2)));
    let inputs = RegressionInputs::new(new.x.view()).unwrap();
    for kind in [Kind::Fast, Kind::Split, Kind::CvPlus] {
        let (_, fitted) = head(kind, &rows);
        let turned = rows.select(&(0..303).rev().collect::<Vec<_>>());
        let constant = Adapt { ratio: Some(Ratio::tilt(&[0.0; 4]).unwrap()), ..Adapt::default() };
        let same = constant.regression(&fitted, Some(&calibration(&turned)), &inputs, QUIET).unwrap();
        for side in [Side::Both, Side::Lower, Side::Upper] {
            let (a, b) = (fitted.intervals(&inputs, level(), side), same.intervals(&inputs, level(), side));
            assert_eq!(a.unwrap(), b.unwrap(), "{kind}");
        }
        let told = same.adapted().unwrap();
        assert!((told.effective_rows - told.rows as f64).abs() < 1e-6 && told.infinite == 0 && told.known, "{told:?}");
        // The same rows in another order give the same head, and adapting again starts anew.
        let adapt = Adapt::default();
        let once = adapt.regression(&fitted, Some(&calibration(&rows)), &inputs, QUIET).unwrap();
        let kept = fitted.clone().keeping(&calibration(&rows)).unwrap();
        let by_kept = adapt.regression(&kept, None, &inputs, QUIET).unwrap();
        assert_eq!(once.adapted(), by_kept.adapted(), "{kind}");
        let twice = adapt.regression(&once, Some(&calibration(&rows)), &inputs, QUIET).unwrap();
        assert_eq!(once, twice, "{kind}");
        let exact = same.guarantee(level()).coverage;
        assert_eq!(exact, (kind == Kind::Split).then_some(0.9), "{kind}");
        assert!(once.guarantee(level()).coverage.is_none());
        assert!(once.guarantee(level()).text.contains("Approximately 90.0 %"), "{}", once.guarantee(level()));
    }
}

#[test]
fn what_cannot_be_adapted_is_refused_in_words() {
    let (rows, new) = (simulated(300, [0.0; 4], Seed::new(1)), simulated(120, TILT, Seed::new(2)));
    let inputs = RegressionInputs::new(new.x.view()).unwrap();
    let adapt = Adapt::default();
    let (post, fitted) = head(Kind::Fast, &rows);
    let why = |e: stonet::Result<FittedRegressor>| e.unwrap_err().to_string();

    assert!(matches!(adapt.regression(&fitted, None, &inputs, QUIET), Err(Error::NoRows)));
    let others = simulated(300, [0.0; 4], Seed::new(9));
    let e = adapt.regression(&fitted, Some(&calibration(&others)), &inputs, QUIET);
    assert!(matches!(e, Err(Error::OtherRows { scores: 300, missing }) if missing > 200), "{e:?}");
    assert!(matches!(fitted.clone().keeping(&calibration(&others)), Err(Error::OtherRows { .. })));

    let few = new.select(&(0..10).collect::<Vec<_>>());
    let few = RegressionInputs::new(few.x.view()).unwrap();
    assert!(why(adapt.regression(&fitted, Some(&calibration(&rows)), &few, QUIET)).contains("at least 20 rows"));

    // Rows where no calibration row is.
    let away = simulated(200, [9.0, 0.0, 0.0, 0.0], Seed::new(3));
    let away = RegressionInputs::new(away.x.view()).unwrap();
    let text = why(adapt.regression(&fitted, Some(&calibration(&rows)), &away, QUIET));
    assert!(text.contains("new rows would have infinite intervals at level 0.9"), "{text}");

    let groups: Vec<usize> = (0..300).map(|i| i / 3).collect();
    let grouped = calibration(&rows).with_groups(&groups).unwrap();
    let by_groups = post.fit(&grouped, Seed::new(1), QUIET).unwrap();
    assert!(why(adapt.regression(&by_groups, Some(&grouped), &inputs, QUIET)).contains("groups"));

    let labels: Vec<String> = (0..300).map(|i| ["a", "b"][i % 2].to_owned()).collect();
    let (within, numbers) = Within::learn(&[&labels]).unwrap();
    let inside = calibration(&rows).with_within(&within, &numbers).unwrap();
    let by_within = post.fit(&inside, Seed::new(1), QUIET).unwrap();
    assert!(why(adapt.regression(&by_within, Some(&inside), &inputs, QUIET)).contains("within"));

    let same =
        PostStoNetRegressor { nested: false, ..post.clone() }.fit(&calibration(&rows), Seed::new(1), QUIET).unwrap();
    assert!(why(adapt.regression(&same, Some(&calibration(&rows)), &inputs, QUIET)).contains("nested"));
    let eve = PostStoNetRegressor { kind: Kind::Cv, ..post }.fit(&calibration(&rows), Seed::new(1), QUIET).unwrap();
    assert!(why(adapt.regression(&eve, Some(&calibration(&rows)), &inputs, QUIET)).contains("Eve's law"));

    let wide = Array2::zeros((30, 5));
    let wide = RegressionInputs::new(wide.view()).unwrap();
    assert!(adapt.regression(&fitted, Some(&calibration(&rows)), &wide, QUIET).is_err());
}
