//! Plans of a few operations that the tests of this folder run.

use ndarray::{Array2, ArrayView2};

use super::{Builder, Column, Node, Port, Quantity, Scorer};
use crate::base::Result;

/// A table by its rows.
pub(super) fn table<const C: usize>(rows: impl IntoIterator<Item = [f64; C]>) -> Array2<f64> {
    let rows: Vec<[f64; C]> = rows.into_iter().collect();
    Array2::from_shape_fn((rows.len(), C), |(i, k)| rows[i][k])
}

/// Numbers without a pattern, between −1 and 1.
pub(super) fn numbers(rows: usize, columns: usize) -> Array2<f64> {
    Array2::from_shape_fn((rows, columns), |(i, k)| ((i * columns + k + 1) as f64 * 12.9898).sin())
}

/// Makes every column of a value an output, whether it is finite or not.
pub(super) fn output_all(plan: &mut Builder, node: Node) {
    (0..plan.width(node)).for_each(|k| plan.output(Quantity::WidthTerm { target: 0, term: k }, node, k, false));
}

/// The outputs of a scorer for a table that all of its columns are read of.
pub(super) fn run(scorer: &Scorer, table: ArrayView2<'_, f64>) -> Result<Vec<Vec<f64>>> {
    let columns: Vec<Column<'_>> = scorer.inputs().iter().map(|i| Column::F64(table.column(i.column))).collect();
    scorer.run(&columns, table.nrows())
}

/// The columns of a value that is built from features.
pub(super) fn computed(features: &Array2<f64>, value: impl FnOnce(&mut Builder, Node) -> Node) -> Vec<Vec<f64>> {
    let mut plan = Builder::default();
    let x = plan.port(Port::Features, features.ncols());
    let node = value(&mut plan, x);
    output_all(&mut plan, node);
    run(&Scorer::new(plan.finish()), features.view()).unwrap()
}

/// Fails unless these columns are those of a function of every row, within a tolerance.
pub(super) fn assert_rows<const C: usize, R: AsRef<[f64]>>(
    found: &[Vec<f64>],
    table: &Array2<f64>,
    tolerance: f64,
    want: impl Fn([f64; C]) -> R,
) {
    for (i, row) in table.outer_iter().enumerate() {
        let want = want(std::array::from_fn(|c| row[c]));
        assert_eq!(found.len(), want.as_ref().len());
        for (k, (found, &want)) in found.iter().zip(want.as_ref()).enumerate() {
            let found = found[i];
            assert!(found == want || (found - want).abs() <= tolerance, "row {i}, column {k}: {found} is not {want}");
        }
    }
}
