//! Many labels: a network with one output per label, of which a row may have any number, as one binary head per label.

use std::sync::Arc;

use ndarray::{Array2, ArrayView2, s};

use super::columns::common_prefix;
use super::{FittedClassifier, PostStoNetClassifier, same};
use crate::base::streams::labels as streams;
use crate::base::{Error, Result, Seed, Ticker, part_of};
use crate::calibration::lower::{self, Read};
use crate::rows::classes::looks_like_probabilities;
use crate::rows::dataset::check_finite;
use crate::rows::{ClassInputs, ClassRows, InputKind};
use crate::score::{Builder, Kept, Plan, Quantity, Scorer};

/// Rows of a network with one output per label: its outputs, and the features behind them where they are known.
#[derive(Debug, Clone, Copy)]
pub struct LabelInputs<'a> {
    kind: InputKind,
    outputs: ArrayView2<'a, f64>,
    features: Option<ArrayView2<'a, f64>>,
}

impl<'a> LabelInputs<'a> {
    /// Outputs n × K of this kind.
    pub fn new(kind: InputKind, outputs: ArrayView2<'a, f64>) -> Result<Self> {
        Error::check(kind != InputKind::Features, "kind", kind, "logits, log-probabilities or probabilities")?;
        check_finite("inputs", outputs)?;
        Ok(LabelInputs { kind, outputs, features: None })
    }

    /// With the features from which the outputs were computed.
    pub fn with_features(self, features: ArrayView2<'a, f64>) -> Result<Self> {
        let with = ClassInputs::features(features)?;
        if with.rows() != self.rows() {
            return Err(Error::shape("rows of the features", self.rows(), with.rows()));
        }
        Ok(LabelInputs { features: with.features, ..self })
    }

    /// The number of rows, n.
    pub fn rows(&self) -> usize {
        self.outputs.nrows()
    }

    /// The logits of both classes of one label.
    fn logits(&self, k: usize) -> Result<Array2<f64>> {
        self.kind.logits(self.outputs.slice(s![.., k..=k]).to_owned()).map_err(|e| e.of_column(k))
    }

    /// As they stand, as a plan reads them.
    fn columns(&self) -> ClassInputs<'a> {
        ClassInputs { logits: Some(self.outputs), features: self.features }
    }
}

/// Calibration rows of a network with one output per label.
///
/// **The network must not have been trained on these rows.** On rows it has seen it is right too often.
#[derive(Debug, Clone, Copy)]
pub struct LabelRows<'a> {
    inputs: LabelInputs<'a>,
    present: ArrayView2<'a, bool>,
    names: &'a [String],
}

impl<'a> LabelRows<'a> {
    /// Rows with K outputs, whether each label is present (n × K), and the K names. A label that every row has, or none,
    /// is an error, and so are logits that all look like probabilities.
    pub fn new(inputs: LabelInputs<'a>, present: ArrayView2<'a, bool>, names: &'a [String]) -> Result<Self> {
        check_names(names)?;
        let LabelInputs { kind, outputs, .. } = inputs;
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
        Ok(LabelRows { inputs, present, names })
    }

    /// The number of rows, n.
    pub fn rows(&self) -> usize {
        self.inputs.rows()
    }

    /// The number of labels, K.
    pub fn labels(&self) -> usize {
        self.names.len()
    }

    pub(super) fn features(&self) -> Option<ArrayView2<'a, f64>> {
        self.inputs.features
    }

    /// The logits of both classes of one label.
    pub(super) fn logits(&self, k: usize) -> Result<Array2<f64>> {
        self.inputs.logits(k)
    }

    /// The class of every row for one label: 1 where it is present.
    pub(super) fn present(&self, k: usize) -> Vec<usize> {
        self.present.column(k).iter().map(|&p| usize::from(p)).collect()
    }

    /// What a network's outputs are, where nobody says it: probabilities where every number lies between 0 and 1, as it
    /// is decided for the one output of a binary classifier, and logits otherwise.
    pub fn guess_kind(outputs: ArrayView2<'_, f64>) -> InputKind {
        let column = |k: usize| looks_like_probabilities(outputs.slice(s![.., k..=k]));
        let all = outputs.ncols() > 0 && (0..outputs.ncols()).all(column);
        if all { InputKind::Probabilities } else { InputKind::Logits }
    }

    /// A division into folds that left one side without the label, or with nothing else, by the label's name.
    fn too_rare(&self, error: Error, k: usize) -> Error {
        let Error::OneClass { .. } = error else { return error.of_column(k) };
        let present = self.present.column(k).iter().filter(|p| **p).count();
        Error::RareLabel { label: self.names[k].clone(), column: k, present, rows: self.rows() }
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

/// For each of the columns of outputs the column of labels that ends like it, behind what the names on either side begin
/// with: `z_cat` and `y_cat`. None unless both sides have the same ends.
pub fn labels_by_name(outputs: &[String], labels: &[String]) -> Option<Vec<usize>> {
    let (output, label) = (common_prefix(outputs), common_prefix(labels));
    let places: std::collections::HashMap<&str, usize> =
        labels.iter().enumerate().map(|(i, name)| (&name[label..], i)).collect();
    let found = outputs.iter().map(|name| places.get(&name[output..]).copied()).collect::<Option<Vec<usize>>>()?;
    (labels.len() == outputs.len()).then_some(found)
}

/// One binary head per label.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedLabels {
    names: Vec<String>,
    heads: Vec<FittedClassifier>,
    scorers: Kept<InputKind>,
}

impl PostStoNetClassifier {
    /// Fits each label by itself, with these settings and a stream of its own, on rows that the network has not seen.
    /// `tick(done, total)` follows the work and cancels it by returning false.
    ///
    /// ```
    /// use ndarray::Array2;
    /// use stonet::classification::{LabelInputs, LabelRows};
    /// use stonet::{ClassMethod, InputKind, PostStoNetClassifier, Seed};
    /// // Two labels; the network is too sure of both.
    /// let z = Array2::from_shape_fn((80, 2), |(i, k)| if (i >> k) & 1 == 1 { 8.0 } else { -8.0 });
    /// let present = Array2::from_shape_fn((80, 2), |(i, k)| ((i >> k) & 1 == 1) != (i % 5 == 0));
    /// let names = ["cat", "outdoors"].map(String::from);
    /// let inputs = LabelInputs::new(InputKind::Logits, z.view())?;
    /// let rows = LabelRows::new(inputs, present.view(), &names)?;
    /// let classifier = PostStoNetClassifier { method: ClassMethod::Temperature, ..Default::default() };
    /// let fitted = classifier.fit_labels(&rows, Seed::new(1), &|_, _| true)?;
    /// let p = fitted.probabilities(&inputs)?;
    /// // One row of five is wrong.
    /// assert!((p[[1, 0]] - 0.8).abs() < 1e-6 && (p[[0, 1]] - 0.2).abs() < 1e-6);
    /// # Ok::<(), stonet::Error>(())
    /// ```
    pub fn fit_labels(&self, rows: &LabelRows<'_>, seed: Seed, tick: Ticker<'_>) -> Result<FittedLabels> {
        let labels = rows.names.len();
        let head = |k: usize| {
            let (z, present) = (rows.logits(k)?, rows.present(k));
            let inputs = ClassInputs { features: rows.features(), ..ClassInputs::logits(z.view())? };
            let one = ClassRows::new(inputs, &present, 2)?;
            self.fit(&one, seed.child(streams::HEADS.at(k)), &part_of(tick, k, labels)).map_err(|e| rows.too_rare(e, k))
        };
        let heads = (0..labels).map(head).collect::<Result<Vec<_>>>()?;
        FittedLabels::new(rows.names.to_vec(), heads)
    }
}

impl FittedLabels {
    /// Heads of two classes without prediction sets and bounds of accuracy, each with the name of its label; those that
    /// read features read the same.
    pub fn new(names: Vec<String>, heads: Vec<FittedClassifier>) -> Result<Self> {
        check_names(&names)?;
        if heads.len() != names.len() {
            return Err(Error::shape("heads, one per label", names.len(), heads.len()));
        }
        for head in &heads {
            if head.classes() != 2 {
                return Err(Error::shape("classes of the head of a label", 2, head.classes()));
            }
            if head.class_sets().is_some() || head.accuracy_bins().is_some() {
                return Err(Error::shape("prediction sets and bounds of the head of a label", 0, 1));
            }
        }
        if !same(heads.iter().filter_map(FittedClassifier::features)) {
            return Err(Error::Inconsistent { what: "the heads of labels read different numbers of features" });
        }
        Ok(FittedLabels { names, heads, scorers: Kept::default() })
    }

    /// The names of the labels.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The heads in the order of the labels; the second class of each is that the label is present.
    pub fn heads(&self) -> &[FittedClassifier] {
        &self.heads
    }

    /// How many columns of features there are, where any head reads them.
    pub fn features(&self) -> Option<usize> {
        self.heads.iter().find_map(FittedClassifier::features)
    }

    /// The operations that compute the probability that each label is present from a network's outputs of this kind, one
    /// column per label.
    pub fn plan(&self, kind: InputKind) -> Result<Plan> {
        let mut b = Builder::default();
        for (k, head) in self.heads.iter().enumerate() {
            let p = head.lower(&mut b, Read::label(kind, k, self.heads.len()))?;
            let present = b.pick(p, [1]);
            b.output(Quantity::Probability { class: k }, present, 0, true);
        }
        Ok(b.finish())
    }

    /// What computes this for any number of rows. It is kept: asking for the same again costs nothing.
    pub fn scorer(&self, kind: InputKind) -> Result<Arc<Scorer>> {
        self.scorers.get(&kind, || Ok(Scorer::new(self.plan(kind)?)))
    }

    /// The probability that each label is present (n × K); a row's do not depend on the other rows.
    pub fn probabilities(&self, inputs: &LabelInputs<'_>) -> Result<Array2<f64>> {
        let (labels, found) = (self.heads.len(), inputs.outputs.ncols());
        if found != labels {
            return Err(Error::shape("columns of outputs, one per label", labels, found));
        }
        lower::run_columns(&*self.scorer(inputs.kind)?, labels, &inputs.columns())
    }
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
    fn labels_are_found_by_the_ends_of_names() {
        let found = |labels: &[&str], outputs: &[&str]| labels_by_name(&all(outputs), &all(labels));
        assert_eq!(found(&["y_cat", "y_dog"], &["z_dog", "z_cat"]), Some(vec![1, 0]));
        assert_eq!(found(&["y_a", "y_b", "y_c"], &["z_b", "z_c", "z_a"]), Some(vec![1, 2, 0]));
        assert_eq!(found(&["y1", "y0"], &["z0", "z1"]), Some(vec![1, 0]));
        assert_eq!(found(&["cat", "dog"], &["z_dog", "z_cat"]), Some(vec![1, 0]));
        assert_eq!(found(&["cat", "dog"], &["z0", "z1"]), None);
        assert_eq!(found(&["cat"], &["z0"]), Some(vec![0]));
        assert_eq!(found(&["cat", "dog"], &["z_dog", "z_cat", "z_owl"]), None);
    }
}
