//! The benchmark's protocol: no method sees what it is judged on, and groups stay whole.

use ndarray::{Array1, Array2};
use stonet::{Dataset, Seed, Ticker};
use stonet_compare::Error;
use stonet_compare::benchmark::{Method, Plan, Protocol, Record, Run, Set, Summary, network_errors, run, split};

const GO_ON: Ticker<'_> = &|_, _| true;

fn small() -> Protocol {
    Protocol { hidden: vec![12, 6], ..Protocol::shipped() }
}

fn set(y: impl Fn(usize, f64) -> f64, groups: Option<Vec<usize>>) -> Set {
    let x = Array2::from_shape_fn((200, 3), |(i, j)| ((i * (2 * j + 3)) as f64 * 0.37).sin());
    let y: Array1<f64> = x.outer_iter().enumerate().map(|(i, r)| y(i, r[0] - 0.5 * r[1])).collect();
    Set { name: "small".into(), data: Dataset::single(x, y).unwrap(), epochs: 5, groups, also: false }
}

fn noisy(i: usize, mean: f64) -> f64 {
    mean + 0.3 * ((i * i) as f64 * 0.71).sin()
}

#[test]
fn targets_of_test_rows_change_no_interval() {
    let seed = Seed::new(4);
    let before = split(&set(noisy, None), &small(), seed, GO_ON).unwrap();
    // All but those that need the network's own uncertainty.
    let methods: Vec<&str> = Method::ALL.into_iter().filter(|m| m.own().is_none()).map(Method::name).collect();
    assert_eq!((before.methods.len(), methods.len()), (methods.len(), Method::ALL.len() - 2));
    // Which rows are tested shows when targets are moved one at a time: the network's errors in training and
    // calibration stay.
    let tested: Vec<usize> = (0..200)
        .filter(|&row| {
            let moved = set(|i, m| noisy(i, m) + if i == row { 0.01 } else { 0.0 }, None);
            network_errors(&moved, &small(), seed).unwrap() == (before.train_mse, before.calibration_mse)
        })
        .collect();
    assert_eq!(tested.len(), 40);
    let changed = set(|i, m| if tested.contains(&i) { 77.0 + i as f64 } else { noisy(i, m) }, None);
    let after = split(&changed, &small(), seed, GO_ON).unwrap();
    for name in methods {
        let (a, b) = (&before.methods[name], &after.methods[name]);
        assert_eq!((a.mean_length, a.median_length), (b.mean_length, b.median_length), "{name}");
        assert_eq!(b.coverage, 0.0, "{name}");
    }
}

#[test]
fn inputs_change_the_methods_that_see_them_and_no_other() {
    let plain = set(noisy, None);
    let with = Set { also: true, ..plain.clone() };
    let [a, b] = [&plain, &with].map(|s| split(s, &small(), Seed::new(4), GO_ON).unwrap());
    for method in Method::ALL.into_iter().filter(|m| m.own().is_none()) {
        let [a, b] = [&a, &b].map(|s| s.methods[method.name()].winkler);
        assert_eq!(a != b, method.sees_further_columns(), "{}", method.name());
    }
    let seeing = Method::ALL.into_iter().filter(|m| m.sees_further_columns()).map(Method::name).collect::<Vec<_>>();
    assert_eq!(seeing, ["stack", "cv+", "fast", "split", "normalised-conformal", "cqr", "refit-conformal"]);
    // Other columns are other fits in the journal.
    let dir = tempfile::tempdir().unwrap();
    let mut run = Run::open(plan(0.9), dir.path()).unwrap();
    run.add(plan(0.9).record(&plain, 0, GO_ON).unwrap()).unwrap();
    let left = |set: &Set| run.left(std::slice::from_ref(set)).unwrap().len();
    assert_eq!((left(&plain), left(&with)), (1, 2));
    assert_eq!((run.summary(&plain).with_inputs.len(), run.summary(&with).with_inputs), (0, seeing));
    // Only methods that were run are told of.
    let told = run.summary(&with).columns();
    assert!(told.contains("laplace do not") && !told.contains("own"), "{told}");
    // 80 of 200 rows calibrate, which are too few to join by default.
    assert!(!small().joins_inputs(&plain.data));
    let x = Array2::from_shape_fn((500, 3), |(i, j)| (i + j) as f64);
    assert!(small().joins_inputs(&Dataset::single(x, Array1::zeros(500)).unwrap()));
}

#[test]
fn groups_are_whole_in_every_part() {
    let groups: Vec<usize> = (0..200).map(|i| i / 4).collect();
    let s = split(&set(noisy, Some(groups)), &small(), Seed::new(1), GO_ON).unwrap();
    assert!(s.methods.values().all(|m| m.mean_length > 0.0));
    let few: Vec<usize> = (0..200).map(|i| i / 20).collect();
    let e = split(&set(noisy, Some(few)), &small(), Seed::new(1), GO_ON).unwrap_err();
    assert!(e.to_string().contains("10 groups cannot be split"), "{e}");
}

fn plan(level: f64) -> Plan {
    Plan { protocol: Protocol { level, ..small() }, splits: 2, seed: 3 }
}

/// A summary without what a clock says.
fn timeless(mut summary: Summary) -> Summary {
    summary.training_seconds = 0.0;
    summary.methods.iter_mut().for_each(|m| m.seconds = 0.0);
    summary
}

#[test]
fn splits_from_elsewhere_give_the_same_summary_and_journal() {
    let dir = tempfile::tempdir().unwrap();
    let sets = [set(noisy, None)];
    let whole = run(&sets, plan(0.9), &dir.path().join("whole"), GO_ON).unwrap().remove(0);
    let out = dir.path().join("pieces");
    let mut pieces = Run::open(plan(0.9), &out).unwrap();
    let left: Vec<usize> = pieces.left(&sets).unwrap().iter().map(|(_, i)| *i).collect();
    assert_eq!(left, [0, 1]);
    // As text, in another order, and with a new start in between.
    for i in left.into_iter().rev() {
        let mut record = serde_json::to_value(plan(0.9).record(&sets[0], i, GO_ON).unwrap()).unwrap();
        if i == 1 {
            // Version 0.1.0 did not tell whose rows it had.
            record.as_object_mut().unwrap().remove("fingerprint").unwrap();
        }
        pieces.add(serde_json::from_str(&record.to_string()).unwrap()).unwrap();
        // A journal has one writer at a time.
        drop(pieces);
        pieces = Run::open(plan(0.9), &out).unwrap();
        assert_eq!(pieces.left(&sets).unwrap().len(), i);
    }
    assert_eq!(timeless(pieces.summary(&sets[0])), timeless(whole.clone()));
    let summary = pieces.summary(&sets[0]);
    drop(pieces);
    assert_eq!(run(&sets, plan(0.9), &out, GO_ON).unwrap(), [summary]);
    let pieces = Run::open(plan(0.9), &out).unwrap();
    // The name and the epochs are the same, the rows are not.
    let e = pieces.left(&[set(|i, m| 2.0 * noisy(i, m), None)]).unwrap_err();
    assert!(matches!(e, Error::OtherRows { .. }) && e.to_string().contains("`small`"), "{e}");
}

#[test]
fn intervals_without_end_survive_the_journal() {
    // 80 rows are too few for 99.9 %: split conformal can only say that anything may happen.
    let record = plan(0.999).record(&set(noisy, None), 0, GO_ON).unwrap();
    let text = serde_json::to_string(&record).unwrap();
    assert!(text.contains(r#""mean_length":"inf""#), "{text}");
    assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
}

#[test]
fn a_split_can_be_ended() {
    let e = plan(0.9).record(&set(noisy, None), 0, &|_, _| false).unwrap_err();
    assert!(matches!(e, Error::Core(stonet::Error::Cancelled(c)) if c.done == 1), "{e}");
}
