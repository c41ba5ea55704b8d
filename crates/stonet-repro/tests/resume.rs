//! A run that is cut short and taken up again ends with the same table, whatever the number of threads.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use stonet_compare::simulated::Model;
use stonet_repro::Error;
use stonet_repro::simulation::{Options, Report, Spec, run};

/// The shipped experiment, made small enough for a test.
fn small() -> Spec {
    let mut spec = Spec::shipped();
    spec.rows = 100;
    spec.test_rows = 30;
    spec.epochs = 20;
    spec.pilots = 2;
    spec.folds = 2;
    // Few units and a strong penalty: a hundred rows must leave degrees of freedom for the variance.
    spec.kappas = vec![0.05, 0.1];
    for m in &mut spec.models {
        let last = m.widths.len() - 1;
        m.widths[1..last].fill(5);
    }
    spec
}

fn options(replicates: usize) -> Options {
    let settings = ["i", "iii"].map(String::from).to_vec();
    Options { models: vec![Model::One, Model::Two], settings, replicates, seed: 5 }
}

/// Runs on so many threads, and asks to stop after `limit` pieces of work.
fn on(threads: usize, replicates: usize, dir: &Path, limit: usize) -> Result<Report, Error> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let calls = AtomicUsize::new(0);
    let tick = |_: usize, _: usize| calls.fetch_add(1, Ordering::Relaxed) < limit;
    pool.install(|| run(&small(), &options(replicates), dir, &tick))
}

#[test]
fn an_interrupted_run_ends_with_the_same_report() {
    let [whole, cut] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let expected = on(2, 3, whole.path(), usize::MAX).unwrap();
    assert_eq!(expected.cells.len(), 4);
    let mut interruptions = 0;
    let resumed = loop {
        match on(1 + interruptions % 3, 3, cut.path(), 5) {
            Err(Error::Compare(stonet_compare::Error::Cancelled(_))) => interruptions += 1,
            other => break other.unwrap(),
        }
        // A kill in the middle of a write leaves half a line.
        let journal = cut.path().join("simulation.jsonl");
        let text = std::fs::read_to_string(&journal).unwrap();
        std::fs::write(&journal, format!("{text}{{\"kind\":\"repl")).unwrap();
    };
    assert!(interruptions >= 2, "{interruptions}");
    assert_eq!(resumed, expected);
    assert_eq!(resumed.table().to_string(), expected.table().to_string());
}

#[test]
fn more_replicates_build_on_fewer() {
    let dir = tempfile::tempdir().unwrap();
    let journal = dir.path().join("simulation.jsonl");
    on(2, 1, dir.path(), usize::MAX).unwrap();
    let before = std::fs::read_to_string(&journal).unwrap();
    let more = on(2, 2, dir.path(), usize::MAX).unwrap();
    let after = std::fs::read_to_string(&journal).unwrap();
    assert!(after.starts_with(&before));
    assert_eq!(after.lines().count(), before.lines().count() + 4);
    assert!(more.cells.iter().all(|c| c.replicates == 2));
}

#[test]
fn other_settings_do_not_mix_with_a_journal() {
    let dir = tempfile::tempdir().unwrap();
    on(2, 1, dir.path(), usize::MAX).unwrap();
    let other = Options { seed: 6, ..options(1) };
    let e = run(&small(), &other, dir.path(), &|_, _| true).unwrap_err();
    assert!(e.to_string().contains("choose another --out"), "{e}");
}

mod growing {
    use super::*;
    use stonet::train::Algorithm;
    use stonet_repro::consistency::{Options, Report, Spec, run};

    /// The shipped experiment, made small enough for a test.
    fn small() -> Spec {
        let mut spec = Spec::shipped();
        (spec.rows, spec.pilot_rows, spec.pilots, spec.test_rows) = (vec![60, 90], 60, 1, 50);
        (spec.steps, spec.iterations) = (60, 3);
        spec.methods.iter_mut().for_each(|m| m.kappas.truncate(2));
        for m in &mut spec.models {
            let last = m.widths.len() - 1;
            m.widths[1..last].fill(4);
        }
        spec
    }

    fn on(threads: usize, trainers: &[Algorithm], dir: &Path, limit: usize) -> Result<Report, Error> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let calls = AtomicUsize::new(0);
        let tick = |_: usize, _: usize| calls.fetch_add(1, Ordering::Relaxed) < limit;
        let options =
            Options { models: vec![Model::One, Model::Two], trainers: trainers.to_vec(), replicates: 2, seed: 3 };
        pool.install(|| run(&small(), &options, dir, &tick))
    }

    #[test]
    fn consistency_resumes_and_reports_every_method_at_every_n() {
        let [whole, cut] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let expected = on(2, &Algorithm::ALL, whole.path(), usize::MAX).unwrap();
        assert_eq!(expected.rows.len(), 2 * 9 * 2);
        assert!(expected.rows.iter().all(|r| r.error.is_finite() && (0.0..=1.0).contains(&r.kept)));
        let mut interruptions = 0;
        let resumed = loop {
            match on(1 + interruptions % 3, &Algorithm::ALL, cut.path(), 9) {
                Err(Error::Compare(stonet_compare::Error::Cancelled(_))) => interruptions += 1,
                other => break other.unwrap(),
            }
        };
        assert!(interruptions >= 2, "{interruptions}");
        assert_eq!(resumed, expected);
        assert!(resumed.table().contains("asghmc+iro mcp"));
        assert_eq!(resumed.figures().len(), 4);
    }

    /// A polish needs what it polishes, asked for or not.
    #[test]
    fn a_polish_brings_its_first_fit_along() {
        let dir = tempfile::tempdir().unwrap();
        let report = on(2, &[Algorithm::Polished], dir.path(), usize::MAX).unwrap();
        assert!(report.rows.iter().any(|r| r.method == "asghmc lasso"));
        assert!(!report.rows.iter().any(|r| r.method.starts_with("iro")));
    }
}
