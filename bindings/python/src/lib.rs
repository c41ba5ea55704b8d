//! The module `stonet._core`: numpy arrays into the types of the Rust crates and back, nothing else.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

// A module uses only modules above it; `tests/rooms.rs` of stonet-cli checks that.
mod error;
mod pools;
mod work;
mod settings;
mod arrays;
mod tables;
mod asked;
mod export;
mod seen;
mod metrics;
mod model;
mod control;
mod monitor;
mod explain;
mod ready;
mod labels;
mod regression;
mod update;
mod classification;
mod load;
mod arrow;
mod network;
mod baseline;
mod benchmark;
mod command;

/// What `import stonet._core` gives.
#[pyo3::pymodule]
mod _core {
    #[pymodule_export]
    use crate::arrow::{Scorer, network_bytes};
    #[pymodule_export]
    use crate::asked::{interval_columns, joins_inputs, sees_further_columns};
    #[pymodule_export]
    use crate::baseline::Baseline;
    #[pymodule_export]
    use crate::benchmark::{Benchmark, benchmark_split};
    #[pymodule_export]
    use crate::classification::Classification;
    #[pymodule_export]
    use crate::command::cli;
    #[pymodule_export]
    use crate::control::describe_rule;
    #[pymodule_export]
    use crate::labels::ManyLabels;
    #[pymodule_export]
    use crate::load::load;
    #[pymodule_export]
    use crate::metrics::{
        accuracy_bounds, class_scores, crps, interval_scores, judge_classes, judge_trust, pinball, pit_distance,
        reliability, risk_coverage, rows_needed, trust_scores,
    };
    #[pymodule_export]
    use crate::monitor::{StateClaim, Watched};
    #[pymodule_export]
    use crate::network::OnnxRunner;
    #[pymodule_export]
    use crate::ready::Ready;
    #[pymodule_export]
    use crate::regression::Regression;
    #[pymodule_export]
    use crate::tables::finite;
    #[pymodule_export]
    use crate::update::{describe_updates, update_regression};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(m: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::work::remember_process();
        m.add("MOST_INPUTS", stonet::Kind::MOST_INPUTS)?;
        m.add("UNUSED_PREDICTION", stonet_io::UNUSED_PREDICTION)?;
        m.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
