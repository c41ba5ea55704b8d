//! The paper's printed numbers, from the CSV files beside the experiments.

use std::str::FromStr;

use stonet_compare::simulated::Model;

/// One cell of Table `CItab`, as fractions; the CSV has per cent, as printed.
#[derive(Debug, Clone, PartialEq)]
pub struct CoverageCell {
    /// Regression function.
    pub model: Model,
    /// `i`, `ii` or `iii`.
    pub setting: String,
    /// Mean coverage of the nominal 95 %.
    pub coverage: f64,
    /// Printed standard deviation. It is that of a proportion of 100, so we read it as over test points, each over 100
    /// training sets.
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

/// One method on one network in Tables `post_stonet_result_100` and `post_stonet_cifar10`, over ten runs; all but the
/// NLL as fractions, each with its standard deviation.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibrationCell {
    /// `cifar100` or `cifar10`.
    pub dataset: String,
    /// Such as `DenseNet40`.
    pub network: String,
    /// `none`, `temperature`, `matrix`, `focal`, `mmce`, `post-linear` or `post-stonet`.
    pub method: String,
    /// Share of test images whose likeliest class is right.
    pub accuracy: [f64; 2],
    /// Mean negative log-likelihood.
    pub nll: [f64; 2],
    /// Expected calibration error of the likeliest class.
    pub ece: [f64; 2],
    /// Its mean over classes.
    pub cece: [f64; 2],
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

/// Tables `post_stonet_result_100` and `post_stonet_cifar10`.
pub fn cifar() -> Vec<CalibrationCell> {
    rows(include_str!("../paper/cifar.csv"))
        .map(|mut row| CalibrationCell {
            dataset: row.text(),
            network: row.text(),
            method: row.text(),
            accuracy: [row.per_cent(), row.per_cent()],
            nll: [row.number(), row.number()],
            ece: [row.per_cent(), row.per_cent()],
            cece: [row.per_cent(), row.per_cent()],
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

    #[test]
    fn the_calibration_tables_have_seven_methods_on_each_of_three_networks() {
        let cells = cifar();
        assert_eq!(cells.len(), 42);
        for (i, network) in cells.chunks(7).enumerate() {
            let dataset = if i < 3 { "cifar100" } else { "cifar10" };
            assert!(network.iter().all(|c| c.dataset == dataset && c.network == network[0].network));
            let methods: Vec<&str> = network.iter().map(|c| c.method.as_str()).collect();
            assert_eq!(methods, ["none", "temperature", "matrix", "focal", "mmce", "post-linear", "post-stonet"]);
            // Dividing logits by a number leaves the order of the classes.
            assert_eq!(network[0].accuracy, network[1].accuracy);
            // The paper's claim.
            assert!(network[..6].iter().all(|c| network[6].ece[0] < c.ece[0] && network[6].cece[0] < c.cece[0]));
        }
        let wide = &cells[41];
        assert_eq!(wide.network, "WideResNet-28-10");
        assert_eq!((wide.nll, cells[0].nll), ([0.1449, 0.0018], [1.5538, 0.0191]));
        let close = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).abs() < 1e-12 && (a[1] - b[1]).abs() < 1e-12;
        assert!(close(wide.accuracy, [0.9564, 0.0012]) && close(wide.ece, [0.0087, 0.0011]));
        assert!(close(wide.cece, [0.0025, 0.0002]) && close(cells[0].cece, [0.00404, 0.00004]));
    }
}
