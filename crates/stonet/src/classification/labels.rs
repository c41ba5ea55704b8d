//! Many labels: a network with one output per label, of which a row may have any number, as one binary head per label.

use ndarray::{Array2, ArrayView2, s};

use super::columns::common_prefix;
use super::{FittedClassifier, PostStoNetClassifier};
use crate::base::streams::labels as streams;
use crate::base::{Error, Result, Seed, Ticker};
use crate::rows::classes::looks_like_probabilities;
use crate::rows::{ClassInputs, ClassRows, InputKind};

/// Calibration rows of a network with one output per label.
///
/// **The network must not have been trained on these rows.** On rows it has seen it is right too often.
#[derive(Debug, Clone, Copy)]
pub struct LabelRows<'a> {
    kind: InputKind,
    outputs: ArrayView2<'a, f64>,
    present: ArrayView2<'a, bool>,
    names: &'a [String],
}

impl<'a> LabelRows<'a> {
    /// Outputs n × K of this kind, whether each label is present (n × K), and the K names. A label that every row has, or
    /// none, is an error, and so are logits that all look like probabilities.
    pub fn new(
        kind: InputKind,
        outputs: ArrayView2<'a, f64>,
        present: ArrayView2<'a, bool>,
        names: &'a [String],
    ) -> Result<Self> {
        check_names(names)?;
        check_kind(kind)?;
        if outputs.ncols() != names.len() {
            return Err(Error::shape("columns of outputs, one per label", names.len(), outputs.ncols()));
        }
        if present.ncols() != names.len() {
            return Err(Error::shape("columns of labels", names.len(), present.ncols()));
        }
        if present.nrows() != outputs.nrows() {
            return Err(Error::shape("rows of labels", outputs.nrows(), present.nrows()));
        }
        if kind == InputKind::Logits && Self::guess_kind(outputs) == InputKind::Probabilities {
            return Err(Error::LooksLikeProbabilities);
        }
        for (name, column) in names.iter().zip(present.columns()) {
            let count = column.iter().filter(|p| **p).count();
            if count == 0 || count == column.len() {
                let rows = if count == 0 { "no row" } else { "every row" };
                return Err(Error::ConstantLabel { label: name.clone(), rows });
            }
        }
        Ok(LabelRows { kind, outputs, present, names })
    }

    /// The number of rows, n.
    pub fn rows(&self) -> usize {
        self.outputs.nrows()
    }

    /// What a network's outputs are, where nobody says it: probabilities where every number lies between 0 and 1, as it
    /// is decided for the one output of a binary classifier, and logits otherwise.
    pub fn guess_kind(outputs: ArrayView2<'_, f64>) -> InputKind {
        let column = |k: usize| looks_like_probabilities(outputs.slice(s![.., k..=k]));
        let all = outputs.ncols() > 0 && (0..outputs.ncols()).all(column);
        if all { InputKind::Probabilities } else { InputKind::Logits }
    }
}

/// What stands between the parts of a name.
const SEPARATORS: [char; 7] = ['_', '.', '-', ':', '/', '|', ' '];

/// The names of labels by the names of their columns: what follows the last separator, such as `_`, of what all names
/// begin with, so that `y_cat` and `y_dog` are `cat` and `dog`. One name alone is kept, and so are all where nothing
/// would be left of one.
pub fn label_names(columns: &[String]) -> Vec<String> {
    let shared = columns.first().map_or("", |first| &first[..common_prefix(columns)]);
    let stem = shared.rfind(SEPARATORS).map_or(0, |at| at + 1);
    match columns.len() > 1 && columns.iter().all(|c| c.len() > stem) {
        true => columns.iter().map(|c| c[stem..].to_owned()).collect(),
        false => columns.to_vec(),
    }
}

/// For each of the columns of labels the column of outputs that ends like it, behind what the names on either side begin
/// with: `y_cat` and `z_cat`. None unless both sides have the same ends.
pub fn outputs_by_name(labels: &[String], outputs: &[String]) -> Option<Vec<usize>> {
    let (label, output) = (common_prefix(labels), common_prefix(outputs));
    let places: std::collections::HashMap<&str, usize> =
        outputs.iter().enumerate().map(|(i, name)| (&name[output..], i)).collect();
    let found = labels.iter().map(|name| places.get(&name[label..]).copied()).collect::<Option<Vec<usize>>>()?;
    (labels.len() == outputs.len()).then_some(found)
}

/// One binary head per label.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedLabels {
    names: Vec<String>,
    heads: Vec<FittedClassifier>,
}

impl PostStoNetClassifier {
    /// Fits each label by itself, with these settings and a stream of its own, on rows that the network has not seen.
    /// `tick(done, total)` follows the work and cancels it by returning false.
    ///
    /// ```
    /// use ndarray::Array2;
    /// use stonet::classification::LabelRows;
    /// use stonet::{ClassMethod, InputKind, PostStoNetClassifier, Seed};
    /// // Two labels; the network is too sure of both.
    /// let z = Array2::from_shape_fn((80, 2), |(i, k)| if (i >> k) & 1 == 1 { 8.0 } else { -8.0 });
    /// let present = Array2::from_shape_fn((80, 2), |(i, k)| ((i >> k) & 1 == 1) != (i % 5 == 0));
    /// let names = ["cat", "outdoors"].map(String::from);
    /// let rows = LabelRows::new(InputKind::Logits, z.view(), present.view(), &names)?;
    /// let classifier = PostStoNetClassifier { method: ClassMethod::Temperature, ..Default::default() };
    /// let fitted = classifier.fit_labels(&rows, Seed::new(1), &|_, _| true)?;
    /// let p = fitted.probabilities(InputKind::Logits, z.view())?;
    /// // One row of five is wrong.
    /// assert!((p[[1, 0]] - 0.8).abs() < 1e-6 && (p[[0, 1]] - 0.2).abs() < 1e-6);
    /// # Ok::<(), stonet::Error>(())
    /// ```
    pub fn fit_labels(&self, rows: &LabelRows<'_>, seed: Seed, tick: Ticker<'_>) -> Result<FittedLabels> {
        let labels = rows.names.len();
        let head = |k: usize| {
            let z = one_output(rows.kind, rows.outputs, k)?;
            let present: Vec<usize> = rows.present.column(k).iter().map(|&p| usize::from(p)).collect();
            let rows = ClassRows::new(ClassInputs::logits(z.view())?, &present, 2)?;
            let within = |done: usize, total: usize| tick(k * total + done, labels * total);
            self.fit(&rows, seed.child(streams::HEADS.at(k)), &within).map_err(|e| e.of_column(k))
        };
        let heads = (0..labels).map(head).collect::<Result<Vec<_>>>()?;
        FittedLabels::new(rows.names.to_vec(), heads)
    }
}

impl FittedLabels {
    /// Heads of two classes without prediction sets and bounds of accuracy, each with the name of its label.
    pub fn new(names: Vec<String>, heads: Vec<FittedClassifier>) -> Result<Self> {
        check_names(&names)?;
        if heads.len() != names.len() {
            return Err(Error::shape("heads, one per label", names.len(), heads.len()));
        }
        for head in &heads {
            if head.classes() != 2 {
                return Err(Error::shape("classes of the head of a label", 2, head.classes()));
            }
            if head.class_sets().is_some() || head.accuracy_bins().is_some() || head.features().is_some() {
                return Err(Error::shape("sets, bounds and features of the head of a label", 0, 1));
            }
        }
        Ok(FittedLabels { names, heads })
    }

    /// The names of the labels.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The heads in the order of the labels; the second class of each is that the label is present.
    pub fn heads(&self) -> &[FittedClassifier] {
        &self.heads
    }

    /// The probability that each label is present (n × K), from outputs n × K of this kind.
    pub fn probabilities(&self, kind: InputKind, outputs: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        check_kind(kind)?;
        if outputs.ncols() != self.heads.len() {
            return Err(Error::shape("columns of outputs, one per label", self.heads.len(), outputs.ncols()));
        }
        let mut p = Array2::zeros(outputs.dim());
        for (k, head) in self.heads.iter().enumerate() {
            let z = one_output(kind, outputs, k)?;
            let both = head.probabilities(&ClassInputs::logits(z.view())?)?;
            p.column_mut(k).assign(&both.column(1));
        }
        Ok(p)
    }
}

fn check_kind(kind: InputKind) -> Result<()> {
    Error::check(kind != InputKind::Features, "kind", kind, "logits, log-probabilities or probabilities")
}

fn check_names(names: &[String]) -> Result<()> {
    if names.is_empty() {
        return Err(Error::shape("labels (at least)", 1, 0));
    }
    let mut first = std::collections::HashMap::new();
    for (second, name) in names.iter().enumerate() {
        if let Some(first) = first.insert(name, second) {
            return Err(Error::DuplicateClass { name: name.clone(), first, second });
        }
    }
    Ok(())
}

/// The logits of both classes of one label.
fn one_output(kind: InputKind, outputs: ArrayView2<'_, f64>, k: usize) -> Result<Array2<f64>> {
    kind.logits(outputs.slice(s![.., k..=k]).to_owned()).map_err(|e| e.of_column(k))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(names: &[&str]) -> Vec<String> {
        names.iter().map(|&n| n.to_owned()).collect()
    }

    #[test]
    fn names_of_labels_follow_what_all_columns_begin_with() {
        let names = |columns: &[&str]| label_names(&all(columns));
        assert_eq!(names(&["y_cat", "y_car"]), ["cat", "car"]);
        assert_eq!(names(&["cat", "cow"]), ["cat", "cow"]);
        assert_eq!(names(&["y0", "y1"]), ["y0", "y1"]);
        assert_eq!(names(&["y_", "y_a"]), ["y_", "y_a"]);
        assert_eq!(names(&["y_cat"]), ["y_cat"]);
        assert_eq!(names(&["a.é_x", "a.è_x"]), ["é_x", "è_x"]);
        assert!(names(&[]).is_empty());
    }

    #[test]
    fn outputs_are_found_by_the_ends_of_names() {
        let found = |labels: &[&str], outputs: &[&str]| outputs_by_name(&all(labels), &all(outputs));
        assert_eq!(found(&["y_cat", "y_dog"], &["z_dog", "z_cat"]), Some(vec![1, 0]));
        assert_eq!(found(&["y1", "y0"], &["z0", "z1"]), Some(vec![1, 0]));
        assert_eq!(found(&["cat", "dog"], &["z_dog", "z_cat"]), Some(vec![1, 0]));
        assert_eq!(found(&["cat", "dog"], &["z0", "z1"]), None);
        assert_eq!(found(&["cat"], &["z0"]), Some(vec![0]));
        assert_eq!(found(&["cat", "dog"], &["z_dog", "z_cat", "z_owl"]), None);
    }
}
