//! Columns of numbers wherever they lie in memory: of a row-major or a column-major array, or one by one, in single or
//! double precision.

use ndarray::{Array2, ArrayView1, ArrayView2, Axis};

use super::kernels::{LANES, Tile};
use crate::linalg::simd::prefetch;

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

    fn is_contiguous(&self) -> bool {
        match self {
            Column::F64(c) => c.as_slice().is_some(),
            Column::F32(c) => c.as_slice().is_some(),
        }
    }

    /// The rows from `first` on; lanes behind the last row repeat it.
    fn load(&self, first: usize, tile: &mut Tile) {
        match self {
            Column::F64(c) => copy(c, first, tile, |v| v),
            Column::F32(c) => copy(c, first, tile, f64::from),
        }
    }
}

#[inline(always)]
fn copy<T: Copy>(column: &ArrayView1<'_, T>, first: usize, tile: &mut Tile, number: impl Fn(T) -> f64) {
    let values = column.as_slice().and_then(|values| values[first..].first_chunk::<LANES>());
    match values {
        Some(values) => (0..LANES).for_each(|l| tile[l] = number(values[l])),
        None => {
            let last = column.len() - 1;
            (0..LANES).for_each(|l| tile[l] = number(column[(first + l).min(last)]));
        }
    }
}

/// Fetches the rows from `first` on of all columns into the cache, as far as there are any.
pub(super) fn fetch(columns: &[Column<'_>], first: usize) {
    let one = |column: &Column<'_>, row: usize| match column {
        Column::F64(c) => c.get(row).into_iter().for_each(prefetch),
        Column::F32(c) => c.get(row).into_iter().for_each(prefetch),
    };
    // A line of the cache holds eight numbers of double precision.
    if columns.iter().all(Column::is_contiguous) {
        columns.iter().for_each(|c| (first..first + LANES).step_by(8).for_each(|row| one(c, row)));
    } else {
        let (some, last) = (columns.iter().step_by(8), columns.last());
        some.chain(last).for_each(|c| (first..first + LANES).for_each(|row| one(c, row)));
    }
}

/// The rows from `first` on of all columns, a tile each; lanes behind the last row repeat it.
pub(super) fn load(columns: &[Column<'_>], first: usize, tiles: &mut [Tile]) {
    let whole = columns.iter().all(|c| c.len() >= first + LANES);
    if !whole || columns.iter().all(Column::is_contiguous) {
        columns.iter().zip(tiles).for_each(|(column, tile)| column.load(first, tile));
        return;
    }
    // Columns lie in rows. Row after row is read, in the order of memory, so that the processor fetches what comes next
    // ahead of time.
    for l in 0..LANES {
        for (column, tile) in columns.iter().zip(&mut *tiles) {
            // SAFETY: row `first + l` is below the length of every column.
            tile[l] = unsafe {
                match column {
                    Column::F64(c) => *c.uget(first + l),
                    Column::F32(c) => f64::from(*c.uget(first + l)),
                }
            };
        }
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
                    load(&[column], first, std::slice::from_mut(&mut tile));
                    for (l, v) in tile.iter().enumerate() {
                        assert_eq!(*v, rows[[(first + l).min(39), k]]);
                    }
                    assert_eq!((column.len(), column.at(first)), (40, rows[[first, k]]));
                }
            }
        }
    }

    #[test]
    fn columns_of_any_length_and_layout_load_together() {
        for count in [1, 31, 32, 33, 70] {
            let rows = Array2::from_shape_fn((count, 20), |(i, j)| (i * 20 + j) as f64 * 0.25);
            let turned = rows.t().as_standard_layout().to_owned();
            let single = rows.mapv(|v| v as f32);
            let apart = Column::of(rows.view());
            let whole = Column::of(turned.t());
            let short: Vec<Column<'_>> = (0..20).map(|k| Column::F32(single.column(k))).collect();
            let mixed: Vec<Column<'_>> = (0..20).map(|k| [apart[k], whole[k], short[k]][k % 3]).collect();
            for columns in [apart, whole, short, mixed] {
                assert!(columns.iter().all(|c| c.len() == count && !c.is_empty()));
                for first in (0..count).step_by(LANES) {
                    let mut tiles = vec![[0.0; LANES]; 20];
                    load(&columns, first, &mut tiles);
                    fetch(&columns, first);
                    for (k, tile) in tiles.iter().enumerate() {
                        for (l, v) in tile.iter().enumerate() {
                            assert_eq!(*v, rows[[(first + l).min(count - 1), k]], "{count} rows from {first} on");
                        }
                    }
                }
            }
        }
        let none = Array2::zeros((0, 1));
        assert!(Column::of(none.view())[0].is_empty());
    }
}
