//! How rows are dealt out to the inputs of a network.

use std::ops::Range;

use crate::tensor::{Axis, NumberRange, shape_text};
use crate::{Error, Inputs, Network, Result, TensorInfo};

/// Numbers for one input: all axes, the batch first, and the values in C order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Feed {
    pub shape: Vec<usize>,
    pub values: Vec<f32>,
}

/// Which columns of a row go to which input, and how they are laid out there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    parts: Vec<Part>,
    width: usize,
}

#[derive(Debug, Clone, PartialEq)]
struct Part {
    columns: Range<usize>,
    /// Axes of one row.
    shape: Vec<usize>,
    takes: NumberRange,
    moved: Option<Moved>,
}

/// Channels that stand first in a file and last in the network, or the other way round: groups of so many values that
/// are interleaved.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Moved {
    groups: usize,
    size: usize,
}

/// The axes behind the batch; none where the file does not say.
fn row_axes(input: &TensorInfo) -> Option<&[Axis]> {
    input.shape.as_deref().and_then(|s| s.get(1..))
}

/// How many numbers of a row an input takes, where the file says.
fn row_size(input: &TensorInfo) -> Option<usize> {
    row_axes(input)?.iter().try_fold(1usize, |p, a| if let Axis::Fixed(n) = a { p.checked_mul(*n) } else { None })
}

impl Network {
    /// The inputs, all of a type that numbers can be cast to.
    pub(crate) fn fed(&self) -> Result<&[TensorInfo]> {
        let inputs = self.inputs();
        if inputs.is_empty() {
            return Err(self.bad_inputs("there is nothing to give rows to; export it with an input"));
        }
        for input in inputs {
            if let Some(found) = input.element.filter(|e| e.range().is_none()) {
                let (path, name) = (self.path().to_owned(), input.name.clone());
                return Err(Error::InputType { path, name, found: found.to_string() });
            }
        }
        Ok(inputs)
    }

    /// How many rows the network takes at once, where that is fixed.
    pub(crate) fn fixed_batch(&self) -> Result<Option<usize>> {
        let batch = |i: &TensorInfo| match i.shape.as_deref().and_then(|s| s.first()) {
            Some(Axis::Fixed(n)) => Some(*n),
            _ => None,
        };
        let mut all = self.fed()?.iter().map(batch);
        let first = all.next().flatten();
        match all.all(|b| b == first) {
            true => Ok(first),
            false => Err(self.bad_inputs("their first axes, which count rows, differ; export it with one batch axis")),
        }
    }

    /// How many numbers of a row all inputs take, where the file says.
    pub(crate) fn input_size(&self) -> Option<usize> {
        self.inputs().iter().try_fold(0usize, |sum, input| sum.checked_add(row_size(input)?))
    }

    /// The names of the columns of a table for a network of several inputs; none for one input, and where sizes are not
    /// fixed.
    pub(crate) fn input_columns(&self) -> Option<Vec<String>> {
        let inputs = self.inputs();
        let names = |input: &TensorInfo| -> Option<Vec<String>> {
            let size = row_size(input).filter(|s| *s <= 1 << 20)?;
            Some(if size == 1 {
                vec![input.name.clone()]
            } else {
                (0..size).map(|i| format!("{}_{i}", input.name)).collect()
            })
        };
        let all: Vec<Vec<String>> = inputs.iter().map(names).collect::<Option<_>>()?;
        (inputs.len() > 1).then(|| all.concat())
    }

    /// The axes of one row of zeros, and as many zeros, for every input whose axes are fixed.
    pub(crate) fn zeros(&self, rows: usize) -> Option<Vec<Feed>> {
        let zeros = |input: &TensorInfo| {
            let axes = row_axes(input)?.iter().map(|a| if let Axis::Fixed(n) = a { Some(*n) } else { None });
            let shape: Vec<usize> = [Some(rows)].into_iter().chain(axes).collect::<Option<_>>()?;
            // No memory holds axes of a typing error; then the file's own word has to do.
            let size = shape.iter().try_fold(1usize, |p, &d| p.checked_mul(d)).filter(|&p| p < 1 << 28)?;
            Some(Feed { shape, values: vec![0.0; size] })
        };
        self.inputs().iter().map(zeros).collect()
    }

    fn bad_inputs(&self, why: &'static str) -> Error {
        let inputs = self.inputs();
        let names = inputs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        Error::Inputs { path: self.path().to_owned(), count: inputs.len(), names, why }
    }
}

impl Plan {
    /// How the network takes rows; an error that says why it cannot.
    pub(crate) fn new(inputs: &Inputs, network: &Network) -> Result<Self> {
        let given = inputs.shape();
        let width = given.iter().product();
        let fed = network.fed()?;
        let takes = |input: &TensorInfo| input.element.and_then(|e| e.range()).unwrap_or(NumberRange::SINGLE);
        if let [input] = fed {
            let (shape, moved) = laid_out(given, input)?;
            return Ok(Plan { parts: vec![Part { columns: 0..width, shape, takes: takes(input), moved }], width });
        }
        let mut parts = Vec::new();
        let mut place = 0usize;
        for input in fed {
            let size = row_size(input).zip(row_axes(input));
            let Some((size, axes)) = size else {
                let why = "a row is dealt out to them by their sizes, which must be fixed; export it with fixed axes behind the batch";
                return Err(network.bad_inputs(why));
            };
            let shape = axes.iter().filter_map(|a| if let Axis::Fixed(n) = a { Some(*n) } else { None }).collect();
            let end = place.saturating_add(size);
            parts.push(Part { columns: place..end, shape, takes: takes(input), moved: None });
            place = end;
        }
        if place != width {
            return Err(Error::InputShape {
                name: fed.iter().map(|i| i.name.as_str()).collect::<Vec<_>>().join("`, `"),
                expected: format!("{place} numbers in all"),
                found: width.to_string(),
                remedy: "give the columns of all inputs, in the order of the inputs",
            });
        }
        Ok(Plan { parts, width })
    }

    /// Numbers of so many rows.
    pub(crate) fn size(&self, rows: usize) -> Option<usize> {
        rows.checked_mul(self.width)
    }

    /// Rows as the inputs take them, filled up with zeros to `batch` rows. `first` is the number of the first row.
    pub(crate) fn feeds(&self, values: &[f32], batch: usize, first: usize) -> Result<Vec<Feed>> {
        self.check(values, first)?;
        let width = self.width.max(1);
        let feed = |part: &Part| {
            let own = |row: &[f32]| row.get(part.columns.clone()).unwrap_or_default().to_vec();
            let mut numbers: Vec<f32> = match self.parts.len() {
                1 => values.to_vec(),
                _ => values.chunks_exact(width).flat_map(own).collect(),
            };
            if let Some(moved) = part.moved {
                numbers.chunks_exact_mut(width).for_each(|row| moved.turn(row));
            }
            numbers.resize(batch * part.columns.len(), 0.0);
            Feed { shape: [batch].into_iter().chain(part.shape.iter().copied()).collect(), values: numbers }
        };
        Ok(self.parts.iter().map(feed).collect())
    }

    /// Fails at a number that an input cannot take.
    fn check(&self, values: &[f32], first: usize) -> Result<()> {
        let width = self.width.max(1);
        for (row, numbers) in values.chunks_exact(width).enumerate() {
            for part in &self.parts {
                let own = numbers.get(part.columns.clone()).unwrap_or_default();
                if let Some((column, value)) = own.iter().enumerate().find(|(_, v)| !part.takes.holds(**v)) {
                    let (row, column, takes) = (first + row, part.columns.start + column, part.takes.to_string());
                    return Err(Error::InputNumber { row, column, value: format!("{value:?}"), takes });
                }
            }
        }
        Ok(())
    }
}

impl Moved {
    fn turn(self, row: &mut [f32]) {
        let turned = row.to_vec();
        for (i, v) in turned.into_iter().enumerate() {
            if let Some(place) = row.get_mut(i % self.size * self.groups + i / self.size) {
                *place = v;
            }
        }
    }
}

/// The axes that one input takes rows of these axes in, and how channels move.
fn laid_out(given: &[usize], input: &TensorInfo) -> Result<(Vec<usize>, Option<Moved>)> {
    let Some(wanted) = row_axes(input) else { return Ok((given.to_vec(), None)) };
    let fits = |shape: &[usize]| {
        shape.len() == wanted.len()
            && wanted.iter().zip(shape).all(|(w, &s)| matches!(w, Axis::Open(_)) || *w == Axis::Fixed(s))
    };
    if fits(given) {
        return Ok((given.to_vec(), None));
    }
    if let &[a, b, c] = given {
        // Channels first in the file and last in the network, or the other way round.
        let moves =
            [([b, c, a], Moved { groups: a, size: b * c }, a), ([c, a, b], Moved { groups: a * b, size: c }, c)];
        let found = moves.into_iter().find(|(shape, _, channels)| fits(shape) && *channels <= 4);
        if let Some((shape, moved, _)) = found {
            return Ok((shape.to_vec(), Some(moved)));
        }
    }
    // An axis of size 1 more or less, or all values in a row, changes no value's place.
    let count: usize = given.iter().product();
    let fixed: Option<Vec<usize>> =
        wanted.iter().map(|w| if let Axis::Fixed(n) = w { Some(*n) } else { None }).collect();
    let shape = match (fixed, wanted.len()) {
        (Some(fixed), _) => fixed,
        (None, 1) => vec![count],
        (None, _) => Vec::new(),
    };
    let without_ones = |s: &[usize]| s.iter().copied().filter(|&d| d != 1).collect::<Vec<_>>();
    if !shape.is_empty() && (shape == [count] || without_ones(&shape) == without_ones(given)) {
        return Ok((shape, None));
    }
    let text = |s: &[usize]| shape_text(&s.iter().map(|&d| Axis::Fixed(d)).collect::<Vec<_>>());
    Err(Error::InputShape {
        name: input.name.clone(),
        expected: shape_text(wanted),
        found: text(given),
        remedy: "give the data that the network was made for, in the shape that it takes",
    })
}
