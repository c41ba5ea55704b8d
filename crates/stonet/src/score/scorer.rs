//! A plan made ready to run on tiles of rows: columns in, columns out.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use ndarray::Array2;
use rayon::prelude::*;

use super::kernels::{LANES, NarrowSparse};
use super::memory::{Memory, Place};
use super::op::Op;
use super::plan::{Input, Output, Plan};
use super::tile::Room;
use super::{Column, Port};
use crate::base::{Error, Result};
use crate::conformal::Cutoffs;
use crate::conformal::below::GroupBelow;
use crate::conformal::own::GroupEnds;
use crate::conformal::weighted::WeightedEnds;

/// Rows that one thread takes at a time.
pub(crate) const BLOCK: usize = 1024;

/// A [`Plan`] ready to run on any number of rows; a row's results do not depend on the other rows, on threads or on
/// batches.
///
/// ```
/// use ndarray::{Array2, Axis};
/// use stonet::score::{Asked, Column};
/// use stonet::{RegressionRows, Kind, Level, PostStoNetRegressor, Seed};
/// let features = Array2::from_shape_fn((90, 3), |(i, j)| ((i * (j + 2)) as f64 * 0.7).sin());
/// let y = features.map_axis(Axis(1), |f| f[0] + (f[1] * 9.0).sin() * 0.3).insert_axis(Axis(1));
/// let rows = RegressionRows::new(features.view(), y.view())?;
/// let fitted = PostStoNetRegressor { kind: Kind::Fast, ..PostStoNetRegressor::default() }.fit(&rows, Seed::new(1), &|_, _| true)?;
/// let scorer = fitted.scorer(&Asked::at(&[Level::new(0.9)?]))?;
/// // The columns that are read, of whatever layout.
/// let columns: Vec<Column<'_>> = scorer.inputs().iter().map(|i| Column::F64(features.column(i.column))).collect();
/// let scored = scorer.run(&columns, features.nrows())?;
/// let [prediction, lower, upper] = &scored[..] else { unreachable!("as many as scorer.outputs()") };
/// assert!((0..90).all(|i| lower[i] <= prediction[i] && prediction[i] <= upper[i]));
/// # Ok::<(), stonet::Error>(())
/// ```
#[derive(Debug)]
pub struct Scorer {
    plan: Plan,
    pub(super) steps: Vec<Step>,
    memory: Memory,
    /// Room of threads that are done, for the next ones.
    rooms: Mutex<Vec<Room>>,
}

/// One operation that is needed, with where its result goes and what is prepared for it.
#[derive(Debug)]
pub(super) struct Step {
    pub value: usize,
    pub prepared: Prepared,
}

/// What an operation needs beside its own description.
#[derive(Debug)]
pub(super) enum Prepared {
    Nothing,
    /// Where the columns of an input stand among all inputs.
    Input(Range<usize>),
    Narrow(NarrowSparse),
    /// Factors and first tiles of the parts of a sum.
    Sum(Vec<(f64, usize)>),
    Ends(Box<GroupEnds>),
    Weighted(Box<WeightedEnds>),
    Cutoffs(Box<Cutoffs>),
    Below(Box<GroupBelow>),
    /// Per group of classes, how many smaller scores leave a class out.
    Ranks(Vec<usize>),
}

impl Scorer {
    /// Prepares a plan.
    pub fn new(plan: Plan) -> Self {
        let needed = plan.needed();
        let memory = Memory::of(&plan, &needed);
        let prepare = |value: usize| {
            let prepared = match &plan.values[value].op {
                Op::Input { port, columns } => {
                    let first = plan.inputs.partition_point(|i| i.port < *port);
                    Prepared::Input(first..first + columns.len())
                }
                Op::Combine { of, weights } if plan.values[of.index()].single => {
                    Prepared::Narrow(NarrowSparse::new(weights))
                }
                Op::Sum { parts, .. } => {
                    Prepared::Sum(parts.iter().map(|(f, n)| (*f, memory.places[n.index()].tiles.start)).collect())
                }
                Op::Ends { scores, weight: Some(_), level, side, .. } => {
                    Prepared::Weighted(Box::new(scores.weighted(*level, *side)))
                }
                Op::Ends { scores, within, level, side, .. } => {
                    let groups = within.as_ref().map_or(&[][..], |w| &w.scores);
                    Prepared::Ends(Box::new(GroupEnds::new(scores, groups, *level, *side)))
                }
                Op::Below { scores, within, .. } => {
                    let groups = within.as_ref().map_or(&[][..], |w| &w.scores);
                    Prepared::Below(Box::new(GroupBelow::new(scores, groups)))
                }
                Op::Conditional { scores, level, side, .. } => {
                    Prepared::Cutoffs(Box::new(scores.cutoffs(*level, *side)))
                }
                Op::Members { scores, level, .. } => Prepared::Ranks(scores.ranks(*level)),
                _ => Prepared::Nothing,
            };
            Step { value, prepared }
        };
        let steps = (0..plan.values.len()).filter(|&i| needed[i]).map(prepare).collect();
        Scorer { plan, steps, memory, rooms: Mutex::new(Vec::new()) }
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The columns that it reads, in the order of [`run`](Self::run).
    pub fn inputs(&self) -> &[Input] {
        &self.plan.inputs
    }

    /// The columns that it computes, in the order of [`run`](Self::run).
    pub fn outputs(&self) -> &[Output] {
        &self.plan.outputs
    }

    pub(super) fn place(&self, value: usize) -> &Place {
        &self.memory.places[value]
    }

    /// All outputs for the rows of these columns, which are the [inputs](Self::inputs) in their order. Large tables are
    /// shared out among the threads of the current rayon pool.
    pub fn run(&self, columns: &[Column<'_>], rows: usize) -> Result<Vec<Vec<f64>>> {
        self.check(columns, rows)?;
        let mut out = vec![vec![0.0; rows]; self.plan.outputs.len()];
        let blocks = rows.div_ceil(BLOCK);
        let mut parts: Vec<Vec<&mut [f64]>> = (0..blocks).map(|_| Vec::with_capacity(out.len())).collect();
        for column in &mut out {
            parts.iter_mut().zip(column.chunks_mut(BLOCK)).for_each(|(part, chunk)| part.push(chunk));
        }
        self.blocks(columns, rows, parts.into_iter().map(Block::Columns).collect())?;
        Ok(out)
    }

    /// The first `width` outputs as an array with its rows in memory one after the other.
    pub(crate) fn run_rows(&self, columns: &[Column<'_>], rows: usize, width: usize) -> Result<Array2<f64>> {
        self.check(columns, rows)?;
        let mut out = Array2::zeros((rows, width));
        if let (Some(values), true) = (out.as_slice_mut(), width > 0) {
            let parts = values.chunks_mut(BLOCK * width).map(|values| Block::Rows { values, width }).collect();
            self.blocks(columns, rows, parts)?;
        }
        Ok(out)
    }

    fn blocks(&self, columns: &[Column<'_>], rows: usize, mut parts: Vec<Block<'_>>) -> Result<()> {
        let one = |(number, part): (usize, &mut Block<'_>)| {
            let first = number * BLOCK;
            self.block(columns, first..(first + BLOCK).min(rows), part)
        };
        match &mut parts[..] {
            // A few rows are not worth a second thread.
            [only] => one((0, only)),
            // The first of several faults, whichever thread finds one first.
            all => all.par_iter_mut().enumerate().map(one).collect::<Vec<_>>().into_iter().collect(),
        }
    }

    fn check(&self, columns: &[Column<'_>], rows: usize) -> Result<()> {
        if columns.len() != self.plan.inputs.len() {
            return Err(Error::shape("columns that are used", self.plan.inputs.len(), columns.len()));
        }
        match columns.iter().find(|c| c.len() != rows) {
            Some(other) => Err(Error::shape("rows of a column", rows, other.len())),
            None => Ok(()),
        }
    }

    fn block(&self, columns: &[Column<'_>], rows: Range<usize>, out: &mut Block<'_>) -> Result<()> {
        if let Err(wrong) = self.check_kind(columns, rows.clone()) {
            return Err(self.not_finite(columns, rows).unwrap_or(wrong));
        }
        if let Some(wrong) = self.not_positive(columns, rows.clone()) {
            return Err(self.not_finite(columns, rows).unwrap_or(wrong));
        }
        let free = self.rooms.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut room = free.unwrap_or_else(|| Room::new(&self.memory));
        let done = self.tiles(columns, &rows, out, &mut room);
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner).push(room);
        done
    }

    /// Fails with the first row whose logits are not of the plan's kind.
    fn check_kind(&self, columns: &[Column<'_>], rows: Range<usize>) -> Result<()> {
        let Plan { kind, each, .. } = self.plan;
        let logits = columns.iter().zip(&self.plan.inputs).filter(|(_, i)| i.port == Port::Logits);
        let logits: Vec<(Column<'_>, usize)> = logits.map(|(c, i)| (*c, i.column)).collect();
        if !each {
            return kind.check(rows, logits.len(), |row, k| logits[k].0.at(row));
        }
        logits.iter().try_for_each(|(column, k)| {
            kind.check(rows.clone(), 1, |row, _| column.at(row)).map_err(|e| e.of_column(*k))
        })
    }

    fn tiles(&self, columns: &[Column<'_>], rows: &Range<usize>, out: &mut Block<'_>, room: &mut Room) -> Result<()> {
        for first in rows.clone().step_by(LANES) {
            let count = LANES.min(rows.end - first);
            if !room.load(self, columns, first)
                && let Some(bad) = self.not_finite(columns, first..first + count)
            {
                return Err(bad);
            }
            room.run(self, &self.plan, count);
            for (number, output) in self.plan.outputs.iter().take(out.width()).enumerate() {
                let tile = room.column(self.place(output.node.index()), output.column);
                // Finite inputs can still overflow.
                if let Some(row) = tile[..count].iter().position(|v| output.finite && !v.is_finite()) {
                    let (what, column) = output.quantity.place();
                    return Err(Error::Unbounded { what, row: first + row, column, value: tile[row].to_string() });
                }
                out.store(number, first - rows.start, &tile[..count]);
            }
        }
        Ok(())
    }

    /// The first standard deviation of these rows that is none.
    fn not_positive(&self, columns: &[Column<'_>], mut rows: Range<usize>) -> Option<Error> {
        let sds: Vec<usize> = (0..columns.len()).filter(|&k| self.plan.inputs[k].port == Port::Sd).collect();
        if sds.is_empty() {
            return None;
        }
        let bad = |row: usize| sds.iter().find(|&&k| columns[k].at(row) <= 0.0).map(|&k| (row, k));
        let (row, k) = rows.find_map(bad)?;
        let Input { port, column } = self.plan.inputs[k];
        Some(Error::NotPositive { what: port.name(), row, column, value: columns[k].at(row) })
    }

    /// The first number of these rows that is not finite.
    fn not_finite(&self, columns: &[Column<'_>], mut rows: Range<usize>) -> Option<Error> {
        let bad = |row: usize| columns.iter().position(|c| !c.at(row).is_finite()).map(|k| (row, k));
        let (row, k) = rows.find_map(bad)?;
        let Input { port, column } = self.plan.inputs[k];
        Some(Error::NotFinite { what: port.name(), row, column, value: columns[k].at(row).to_string() })
    }
}

/// Where the results of some rows go.
enum Block<'o> {
    /// One slice per output.
    Columns(Vec<&'o mut [f64]>),
    /// Row after row.
    Rows { values: &'o mut [f64], width: usize },
}

impl Block<'_> {
    /// How many outputs are wanted.
    fn width(&self) -> usize {
        match self {
            Block::Columns(columns) => columns.len(),
            Block::Rows { width, .. } => *width,
        }
    }

    fn store(&mut self, output: usize, first: usize, tile: &[f64]) {
        match self {
            Block::Columns(columns) => columns[output][first..first + tile.len()].copy_from_slice(tile),
            Block::Rows { values, width } => {
                let places = values[first * *width + output..].iter_mut().step_by(*width);
                places.zip(tile).for_each(|(to, v)| *to = *v);
            }
        }
    }
}

impl Clone for Scorer {
    fn clone(&self) -> Self {
        Scorer::new(self.plan.clone())
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Axis;

    use super::super::op::Sparse;
    use super::*;
    use crate::rows::InputKind;
    use crate::score::tests::{assert_rows, numbers, output_all, run};
    use crate::score::{Builder, Quantity};

    /// x₀ + 2 x₁ + 1 and x₂².
    fn scorer() -> Scorer {
        let mut plan = Builder::default();
        let x = plan.port(Port::Features, 3);
        let mut weights = Sparse::default();
        weights.push([(0, 1.0), (1, 2.0)], 1.0);
        let line = plan.combine(x, weights, false);
        let last = plan.pick(x, [2]);
        let square = plan.op(Op::Product(last, last));
        plan.output(Quantity::Prediction { target: 0 }, line, 0, true);
        plan.output(Quantity::Mean { model: 0 }, square, 0, true);
        Scorer::new(plan.finish())
    }

    fn by_hand(x: [f64; 3]) -> [f64; 2] {
        [x[0] + 2.0 * x[1] + 1.0, x[2] * x[2]]
    }

    #[test]
    fn rows_of_any_number_have_the_results_of_each_row_alone() {
        let scorer = scorer();
        for rows in [0, 1, 31, 32, 33, BLOCK, BLOCK + 1, 3 * BLOCK + 45] {
            let x = numbers(rows, 3);
            let found = run(&scorer, x.view()).unwrap();
            assert_rows(&found, &x, 1e-14, by_hand);
            assert_eq!(found, run(&scorer.clone(), x.view()).unwrap());
            // A row's result is the same to the bit in every batch.
            for first in [0, 7, BLOCK].into_iter().filter(|&first| first < rows) {
                let part = run(&scorer, x.slice_axis(Axis(0), (first..).into())).unwrap();
                assert!(part.iter().zip(&found).all(|(part, all)| part[..] == all[first..]));
            }
            // The first outputs, row after row.
            let columns = Column::of(x.view());
            for width in 0..=2 {
                let array = scorer.run_rows(&columns, rows, width).unwrap();
                assert_eq!(array.dim(), (rows, width));
                assert!(array.indexed_iter().all(|((i, k), v)| *v == found[k][i]));
            }
        }
    }

    #[test]
    fn numbers_of_single_precision_are_computed_with_in_double_precision() {
        let x = numbers(100, 3).mapv(|v| v as f32);
        let columns: Vec<Column<'_>> = (0..3).map(|k| Column::F32(x.column(k))).collect();
        let found = scorer().run(&columns, 100).unwrap();
        assert_rows(&found, &x.mapv(f64::from), 1e-14, by_hand);
    }

    #[test]
    fn columns_have_to_be_as_many_and_as_long_as_is_said() {
        let (scorer, x) = (scorer(), numbers(5, 3));
        let columns = Column::of(x.view());
        let few = scorer.run(&columns[..2], 5);
        assert_eq!(few, Err(Error::Shape { what: "columns that are used".into(), expected: 3, found: 2 }));
        let long = Err(Error::Shape { what: "rows of a column".into(), expected: 4, found: 5 });
        assert_eq!(
            (scorer.run(&columns, 4), scorer.run_rows(&columns, 4, 1).map(|_| Vec::new())),
            (long.clone(), long)
        );
        assert_eq!(scorer.inputs().len(), 3);
        assert_eq!(scorer.outputs()[1].quantity, Quantity::Mean { model: 0 });
    }

    #[test]
    fn the_first_number_that_is_not_finite_is_named() {
        let scorer = scorer();
        for (first, column) in [(0, 2), (3, 0), (40, 1), (BLOCK - 1, 2), (BLOCK + 70, 0)] {
            for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let mut x = numbers(2 * BLOCK + 5, 3);
                x[[first, column]] = bad;
                x[[first + 1, 1]] = f64::NAN;
                x[[2 * BLOCK + 1, 0]] = f64::NAN;
                let wrong = Error::NotFinite { what: "features", row: first, column, value: bad.to_string() };
                assert_eq!(run(&scorer, x.view()), Err(wrong));
            }
        }
    }

    #[test]
    fn a_result_that_overflows_is_named_where_it_has_to_be_finite() {
        for (first, finite) in [0, 40, BLOCK + 40].into_iter().flat_map(|row| [(row, true), (row, false)]) {
            let mut plan = Builder::default();
            let x = plan.port(Port::Features, 2);
            let square = plan.op(Op::Product(x, x));
            plan.output(Quantity::Prediction { target: 4 }, square, 0, finite);
            plan.output(Quantity::Scale { model: 3 }, square, 1, true);
            let (scorer, mut x) = (Scorer::new(plan.finish()), numbers(BLOCK + 45, 2));
            x[[first, 0]] = 1e200;
            x[[first + 1, 1]] = -1e200;
            let value = "inf".to_owned();
            let (what, row, column) = if finite { ("the prediction", first, 4) } else { ("the scale", first + 1, 3) };
            assert_eq!(run(&scorer, x.view()), Err(Error::Unbounded { what, row, column, value }));
            x[[first + 1, 1]] = 0.5;
            if !finite {
                assert_eq!(run(&scorer, x.view()).unwrap()[0][first], f64::INFINITY);
            }
        }
    }

    #[test]
    fn standard_deviations_are_positive() {
        let mut plan = Builder::default();
        let x = plan.port(Port::Features, 1);
        let sd = plan.port(Port::Sd, 2);
        let both = plan.join(vec![x, sd]);
        output_all(&mut plan, both);
        let scorer = Scorer::new(plan.finish());
        // A feature may be negative.
        let mut x = numbers(50, 3);
        x.column_mut(0).fill(-1.0);
        x.slice_axis_mut(Axis(1), (1..).into()).mapv_inplace(|sd| sd.abs() + 0.1);
        let all = |x: &Array2<f64>| scorer.run(&Column::of(x.view()), 50);
        assert_rows(&all(&x).unwrap(), &x, 0.0, |x: [f64; 3]| x);
        for (row, column, value) in [(49, 1, 0.0), (40, 0, -0.5), (3, 1, -2.0)] {
            x[[row, 1 + column]] = value;
            assert_eq!(all(&x), Err(Error::NotPositive { what: "standard deviations", row, column, value }));
        }
        // What is no number at all is named first.
        x[[45, 0]] = f64::NAN;
        let value = "NaN".to_owned();
        assert_eq!(all(&x), Err(Error::NotFinite { what: "features", row: 45, column: 0, value }));
    }

    #[test]
    fn logits_are_of_the_kind_of_the_plan() {
        let scorer = |each: bool| {
            let mut plan = Builder::default();
            let (x, p) = (plan.port(Port::Features, 1), plan.port(Port::Logits, 2));
            let both = plan.join(vec![x, p]);
            output_all(&mut plan, both);
            plan.set_kind(InputKind::Probabilities, each);
            Scorer::new(plan.finish())
        };
        let (classes, labels) = (scorer(false), scorer(true));
        let all = |scorer: &Scorer, x: &Array2<f64>| scorer.run(&Column::of(x.view()), 40);
        // Features are no probabilities.
        let mut x = Array2::from_elem((40, 3), 0.5);
        x.column_mut(0).fill(7.0);
        assert!(all(&classes, &x).is_ok() && all(&labels, &x).is_ok());
        // Probabilities of labels need not sum to 1.
        (x[[30, 1]], x[[30, 2]]) = (0.75, 1.0);
        let wrong = Error::NotNormalised { row: 30, what: "the probabilities", sum: 1.75 };
        assert_eq!(all(&classes, &x), Err(wrong));
        assert_rows(&all(&labels, &x).unwrap(), &x, 0.0, |x: [f64; 3]| x);
        x[[33, 2]] = -0.25;
        assert_eq!(all(&labels, &x), Err(Error::NotAProbability { row: 33, column: 1, value: -0.25 }));
        x[[39, 0]] = f64::INFINITY;
        let wrong = Error::NotFinite { what: "features", row: 39, column: 0, value: "inf".into() };
        assert_eq!((all(&classes, &x), all(&labels, &x)), (Err(wrong.clone()), Err(wrong)));
    }
}
