//! The paper's printed numbers, from the CSV files beside the experiments.

use crate::model::Model;

/// One cell of Table `CItab`, in per cent.
#[derive(Debug, Clone, PartialEq)]
pub struct CoverageCell {
    /// Regression function.
    pub model: Model,
    /// `i`, `ii` or `iii`.
    pub setting: String,
    /// Mean coverage of the nominal 95 %.
    pub coverage: f64,
    /// Printed standard deviation: over test points, each over 100 training sets.
    pub sd: f64,
}

/// Table `CItab`.
pub fn citab() -> Vec<CoverageCell> {
    include_str!("../paper/citab.csv")
        .lines()
        .skip(1)
        .map(|line| {
            let mut fields = line.split(',');
            let mut next = || fields.next().expect("four fields");
            let model = next().parse::<u8>().expect("a number");
            CoverageCell {
                model: Model::try_from(model).expect("1 or 2"),
                setting: next().to_owned(),
                coverage: next().parse().expect("a number"),
                sd: next().parse().expect("a number"),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_its_six_cells() {
        let cells = citab();
        assert_eq!(cells.len(), 6);
        assert_eq!((cells[1].setting.as_str(), cells[1].coverage, cells[1].sd), ("ii", 94.496, 2.162));
    }
}
