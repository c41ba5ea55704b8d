//! Further columns beside the last hidden layer, and where a network's own inputs hold them.

use std::path::Path;

use ndarray::{Array2, ArrayView2, Axis};

use super::ModelColumns;
use crate::{Problem, Result};

/// What went into a network, in its order.
#[derive(Debug, Clone, Copy)]
pub struct NetworkInputs<'a> {
    /// The names of the columns; one for each.
    pub names: &'a [String],
    /// Rows of numbers, before any preprocessing.
    pub values: ArrayView2<'a, f64>,
}

impl NetworkInputs<'_> {
    /// The further columns of a head.
    pub(super) fn further(&self, columns: &ModelColumns, source: &Path) -> Result<Array2<f64>> {
        let places = columns.further_among(Some(self.names), self.values.ncols());
        let places = places.map_err(|why| Problem::NotInputs { why }.of(source))?;
        Ok(self.values.select(Axis(1), &places))
    }
}

impl ModelColumns {
    /// The features that are the last hidden layer.
    pub fn hidden(&self) -> &[String] {
        &self.features[..self.features.len().saturating_sub(self.also)]
    }

    /// The features that are further columns beside it.
    pub fn further(&self) -> &[String] {
        &self.features[self.hidden().len()..]
    }

    /// Where each further column stands among a network's `count` inputs, of which the names may be known. Columns are
    /// found by name; `x0`, `x1`, …, as inputs without names are called, stand for as many inputs one by one. The error
    /// says in words why they are not the network's inputs.
    pub fn further_among(&self, inputs: Option<&[String]>, count: usize) -> std::result::Result<Vec<usize>, String> {
        let further = self.further();
        let place = |name: &String| inputs.and_then(|all| all.iter().position(|n| n == name));
        if let Some(places) = further.iter().map(place).collect::<Option<Vec<usize>>>() {
            return Ok(places);
        }
        let list = |names: &[String]| match names {
            [first, second, .., last] if names.len() > 4 => format!("`{first}`, `{second}`, … `{last}`"),
            names => names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", "),
        };
        let head = format!("the head was fitted on further columns beside the features, {}", list(further));
        let numbered = further.iter().enumerate().all(|(i, name)| *name == format!("x{i}"));
        match (numbered, inputs) {
            (true, _) if further.len() == count => Ok((0..count).collect()),
            (true, _) => Err(format!("{head}: {} of them, and the network has {count} inputs", further.len())),
            (false, Some(all)) => Err(format!("{head}, and they are not all among the network's inputs {}", list(all))),
            (false, None) => Err(format!("{head}, and the network does not name its inputs")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(features: &[&str], also: usize) -> ModelColumns {
        let features = features.iter().map(|&n| n.into()).collect();
        ModelColumns { features, also, ..ModelColumns::default() }
    }

    #[test]
    fn further_columns_are_found_by_name_or_by_number() {
        let names = |all: &[&str]| all.iter().map(|&n| n.to_owned()).collect::<Vec<_>>();
        let inputs = names(&["size", "age", "rooms"]);
        let head = columns(&["f0", "f1", "rooms", "size"], 2);
        assert_eq!((head.hidden(), head.further()), (&names(&["f0", "f1"])[..], &names(&["rooms", "size"])[..]));
        assert_eq!(head.further_among(Some(&inputs), 3).unwrap(), [2, 0]);
        let e = head.further_among(None, 2).unwrap_err();
        assert!(e.contains("`rooms`, `size`") && e.contains("does not name its inputs"), "{e}");
        let e = head.further_among(Some(&inputs[..2]), 2).unwrap_err();
        assert!(e.contains("not all among the network's inputs `size`, `age`"), "{e}");
        let head = columns(&["f0", "x0", "x1", "x2"], 3);
        assert_eq!(head.further_among(Some(&inputs), 3).unwrap(), [0, 1, 2]);
        assert_eq!(head.further_among(None, 3).unwrap(), [0, 1, 2]);
        assert!(head.further_among(None, 4).unwrap_err().contains("3 of them, and the network has 4 inputs"));
        // Other names, and numbers in another order, say nothing about places.
        assert!(columns(&["f0", "x1", "x0"], 2).further_among(None, 2).is_err());
        assert!(columns(&["f0", "also0", "also1"], 2).further_among(None, 2).is_err());
    }
}
