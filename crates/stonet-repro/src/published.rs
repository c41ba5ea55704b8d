//! The paper's printed numbers, from the CSV files beside the experiments.

use std::str::FromStr;

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

/// One method on one data set in Table `tab:regression`, over ten random splits; coverages as fractions.
#[derive(Debug, Clone, PartialEq)]
pub struct RegressionCell {
    /// Short name of the data set, such as `powerplant`.
    pub dataset: String,
    /// Printed number of rows.
    pub n: usize,
    /// Printed number of inputs.
    pub p: usize,
    /// `post-stonet`, `post-linear` or `split-conformal`.
    pub method: String,
    /// Mean coverage of the nominal 90 %.
    pub coverage: f64,
    /// Standard deviation of the coverage over splits.
    pub coverage_sd: f64,
    /// Mean length, in the units of the target.
    pub length: f64,
    /// Standard deviation of the length over splits.
    pub length_sd: f64,
}

/// Table `CItab`.
pub fn citab() -> Vec<CoverageCell> {
    rows(include_str!("../paper/citab.csv"))
        .map(|mut row| CoverageCell {
            model: Model::try_from(row.number::<u8>()).expect("1 or 2"),
            setting: row.text(),
            coverage: row.per_cent(),
            sd: row.per_cent(),
        })
        .collect()
}

/// Table `tab:regression`.
pub fn regression() -> Vec<RegressionCell> {
    rows(include_str!("../paper/regression.csv"))
        .map(|mut row| RegressionCell {
            dataset: row.text(),
            n: row.number(),
            p: row.number(),
            method: row.text(),
            coverage: row.per_cent(),
            coverage_sd: row.per_cent(),
            length: row.number(),
            length_sd: row.number(),
        })
        .collect()
}

/// The cells of one line, taken from left to right; these files are ours, so a fault in them is a fault of the code.
struct Line<'a>(std::str::Split<'a, char>);

fn rows(csv: &str) -> impl Iterator<Item = Line<'_>> {
    csv.lines().skip(1).map(|line| Line(line.split(',')))
}

impl Line<'_> {
    fn text(&mut self) -> String {
        self.0.next().expect("a cell per field").to_owned()
    }

    fn number<T: FromStr<Err: std::fmt::Debug>>(&mut self) -> T {
        self.text().parse().expect("a number")
    }

    fn per_cent(&mut self) -> f64 {
        self.number::<f64>() / 100.0
    }
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

    #[test]
    fn the_regression_table_has_three_methods_on_each_of_ten_sets() {
        let cells = regression();
        assert_eq!(cells.len(), 30);
        for set in cells.chunks(3) {
            assert!(set.iter().all(|c| (&c.dataset, c.n, c.p) == (&set[0].dataset, set[0].n, set[0].p)));
            let methods: Vec<&str> = set.iter().map(|c| c.method.as_str()).collect();
            assert_eq!(methods, ["post-stonet", "post-linear", "split-conformal"]);
        }
        let star = &cells[9];
        assert_eq!((star.dataset.as_str(), star.n, star.p), ("star", 2166, 39));
        assert!((star.coverage - 0.9085).abs() < 1e-12 && (star.coverage_sd - 0.0144).abs() < 1e-12);
        assert_eq!((star.length, star.length_sd), (840.7099, 33.8295));
        // Only on the liver data is another method's interval the shortest.
        let shortest = |set: &[RegressionCell]| set.iter().all(|c| set[0].length <= c.length);
        assert_eq!(
            cells.chunks(3).filter(|set| !shortest(set)).map(|s| s[0].dataset.as_str()).collect::<Vec<_>>(),
            ["liver"]
        );
    }
}
