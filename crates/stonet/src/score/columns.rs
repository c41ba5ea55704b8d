//! Columns of numbers wherever they lie in memory: of a row-major or a column-major array, or one by one, in single or double precision.

use std::ops::Range;

use ndarray::{Array2, ArrayView1, ArrayView2, Axis};

use super::kernels::Tile;

/// A column of numbers at any stride.
#[derive(Debug, Clone, Copy)]
pub enum Column<'a> {
    /// In double precision.
    F64(ArrayView1<'a, f64>),
    /// In single precision; computed with in double precision like any other.
    F32(ArrayView1<'a, f32>),
}

impl<'a> Column<'a> {
    /// All columns of an array.
    pub fn of(array: ArrayView2<'a, f64>) -> Vec<Self> {
        (0..array.ncols()).map(|k| Column::F64(array.index_axis_move(Axis(1), k))).collect()
    }

    /// How many rows it has.
    pub fn len(&self) -> usize {
        match self {
            Column::F64(c) => c.len(),
            Column::F32(c) => c.len(),
        }
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number in a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn at(&self, row: usize) -> f64 {
        match self {
            Column::F64(c) => c[row],
            Column::F32(c) => f64::from(c[row]),
        }
    }

    /// The rows from `first` on in some lanes of a tile; lanes behind the last row repeat it.
    #[inline]
    pub(super) fn load(&self, first: usize, lanes: Range<usize>, tile: &mut Tile) {
        match self {
            Column::F64(c) => load(c, first, lanes, tile, |v| v),
            Column::F32(c) => load(c, first, lanes, tile, f64::from),
        }
    }
}

#[inline]
fn load<T: Copy>(
    column: &ArrayView1<'_, T>,
    first: usize,
    lanes: Range<usize>,
    tile: &mut Tile,
    number: impl Fn(T) -> f64,
) {
    let rows = lanes.start + (column.len() - first).saturating_sub(lanes.start).min(lanes.len());
    let from = first + lanes.start;
    match column.as_slice() {
        Some(values) => {
            let some = tile[lanes.start..rows].iter_mut();
            some.zip(&values[from.min(values.len())..]).for_each(|(to, &v)| *to = number(v));
        }
        None => {
            let (start, stride) = (column.as_ptr(), column.strides()[0]);
            for (i, to) in tile[lanes.start..rows].iter_mut().enumerate() {
                // SAFETY: row from + i is below the length of the column, so its element is `stride` times that away from the first one.
                *to = number(unsafe { *start.offset((from + i) as isize * stride) });
            }
        }
    }
    if rows < lanes.end {
        let last = number(column[column.len() - 1]);
        tile[rows.max(lanes.start)..lanes.end].fill(last);
    }
}

/// Columns side by side as an array with its rows in memory one after the other.
pub(crate) fn beside(columns: &[Vec<f64>], rows: usize) -> Array2<f64> {
    let mut all = Array2::zeros((rows, columns.len()));
    // Few rows at a time, so that they stay in the cache while column after column is written.
    for (part, mut block) in all.axis_chunks_iter_mut(Axis(0), 64).enumerate() {
        let first = part * 64;
        for (column, mut to) in columns.iter().zip(block.columns_mut()) {
            to.iter_mut().zip(&column[first..]).for_each(|(to, v)| *to = *v);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::kernels::LANES;
    use super::*;

    #[test]
    fn columns_side_by_side_are_rows() {
        let columns: Vec<Vec<f64>> = (0..3).map(|k| (0..150).map(|i| (10 * i + k) as f64).collect()).collect();
        let all = beside(&columns, 150);
        assert!(all.indexed_iter().all(|((i, k), v)| *v == (10 * i + k) as f64) && all.is_standard_layout());
        assert_eq!(beside(&[], 4).dim(), (4, 0));
    }

    #[test]
    fn every_layout_loads_the_same_tile() {
        let rows = Array2::from_shape_fn((40, 3), |(i, j)| (i * 3 + j) as f64 * 0.25);
        let turned = rows.t().as_standard_layout().to_owned();
        let single = rows.mapv(|v| v as f32);
        for first in [0, 8, 32] {
            let mut tile = [0.0; LANES];
            for k in 0..3 {
                let all = [Column::of(rows.view())[k], Column::of(turned.t())[k], Column::F32(single.column(k))];
                for column in all {
                    (0..LANES).step_by(8).for_each(|l| column.load(first, l..l + 8, &mut tile));
                    for (l, v) in tile.iter().enumerate() {
                        assert_eq!(*v, rows[[(first + l).min(39), k]]);
                    }
                    assert_eq!((column.len(), column.at(first)), (40, rows[[first, k]]));
                }
            }
        }
    }
}
