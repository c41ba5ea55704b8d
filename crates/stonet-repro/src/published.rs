//! The paper's printed numbers, from the CSV files beside the experiments.

use crate::model::Model;

/// One cell of Table `CItab`, as fractions; the CSV has per cent, as printed.
#[derive(Debug, Clone, PartialEq)]
pub struct CoverageCell {
    /// Regression function.
    pub model: Model,
    /// `i`, `ii` or `iii`.
    pub setting: String,
    /// Mean coverage of the nominal 95 %.
    pub coverage: f64,
    /// Printed standard deviation. It is that of a proportion of 100, so we read it as over test points, each over 100 training sets.
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
                coverage: next().parse::<f64>().expect("a number") / 100.0,
                sd: next().parse::<f64>().expect("a number") / 100.0,
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
        assert_eq!(cells[1].setting, "ii");
        assert!((cells[1].coverage - 0.94496).abs() < 1e-12 && (cells[1].sd - 0.02162).abs() < 1e-12);
    }
}
