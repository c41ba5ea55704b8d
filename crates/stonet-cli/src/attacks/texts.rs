//! Hostile settings and requirements: texts that a user hands over.

use std::path::Path;

use ndarray::Array2;
use serde::Serialize;
use serde::de::DeserializeOwned;
use stonet::{ClassInputs, ClassRows, PostStoNetRegressor, RegressionRows, Seed};
use stonet_report::Requirement;

use crate::commands::fit::{ClassTable, printed, settings_of};

/// A file of settings, for regression and for classification. What is accepted is checked by a fit that is stopped as
/// soon as it asks whether to go on.
pub fn settings(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let x = Array2::from_shape_fn((24, 2), |(i, j)| ((i * 7 + j * 3) % 11) as f64);
    if let Some(settings) = read::<PostStoNetRegressor>(text) {
        let rows = RegressionRows::new(x.view(), x.view()).unwrap();
        let _ = settings.fit(&rows, Seed::new(1), &|_, _| false);
    }
    let labels: Vec<usize> = (0..24).map(|i| i % 2).collect();
    let rows = ClassRows::new(ClassInputs::logits(x.view()).unwrap(), &labels, 2).unwrap();
    if let Some(table) = read::<ClassTable>(text) {
        let _ = table.wanted().fit(&rows, Seed::new(1), &|_, _| false);
    }
}

/// The settings; what `--print-settings` prints of them can be read again.
fn read<T: DeserializeOwned + Serialize>(text: &str) -> Option<T> {
    match settings_of::<T>(Path::new("settings.toml"), text) {
        Ok((settings, _)) => {
            let (written, _) = printed(&settings);
            settings_of::<T>(Path::new("printed.toml"), &written).expect("settings that were printed can be read");
            Some(settings)
        }
        Err(e) => {
            assert!(e.to_string().contains("settings.toml"), "{e}");
            None
        }
    }
}

/// A condition of `--require`; it is shown as what is read again.
pub fn require(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match text.parse::<Requirement>() {
        Ok(requirement) => {
            assert_eq!(requirement.to_string().parse::<Requirement>().as_ref(), Ok(&requirement), "{text}")
        }
        Err(e) => assert!(!e.to_string().is_empty()),
    }
}
