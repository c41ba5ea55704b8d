//! A fitted classifier judged, with all that it tells of itself.

use ndarray::{Array2, ArrayView2, Axis};
use stonet::{ClassInputs, Error, FittedClassifier, Head, MemberNotes, Result};

use super::{ClassEvaluation, ClassSettings, Explain, MemberWeight};

/// The rows that a fitted classifier is judged on: logits, features, or both.
#[derive(Debug, Clone, Copy)]
pub struct HeadInputs<'a> {
    /// One column per class.
    pub logits: Option<ArrayView2<'a, f64>>,
    /// The last hidden layer.
    pub features: Option<ArrayView2<'a, f64>>,
    /// The names of the logits, then of the features.
    pub names: &'a [String],
}

impl ClassEvaluation {
    /// Judges a fitted classifier: beside its probabilities those of the network itself, the importance of every input, and how it was fitted.
    /// What `settings` say of the network and of inputs is put in their place.
    pub fn of_head(
        fitted: &FittedClassifier,
        rows: &HeadInputs<'_>,
        labels: &[usize],
        classes: &[String],
        settings: &ClassSettings<'_>,
    ) -> Result<Self> {
        let own = rows.logits.map(|z| Head::Multinomial.mean(z.to_owned()));
        let logits = rows.logits.map_or(0, |z| z.ncols());
        // Side by side, as importance shuffles them.
        let parts: Vec<ArrayView2<'_, f64>> = rows.logits.into_iter().chain(rows.features).collect();
        let values = ndarray::concatenate(Axis(1), &parts).map_err(|_| Error::Inconsistent {
            what: "logits and features have different numbers of rows, or there are neither",
        })?;
        if rows.names.len() != values.ncols() {
            let what = "names of the inputs".into();
            return Err(Error::Shape { what, expected: values.ncols(), found: rows.names.len() });
        }
        let predict = |x: ArrayView2<'_, f64>| -> Result<Array2<f64>> {
            let (z, f) = x.split_at(Axis(1), logits);
            let inputs = match (logits, f.ncols()) {
                (0, _) => ClassInputs::features(f)?,
                (_, 0) => ClassInputs::logits(z)?,
                _ => ClassInputs::logits(z)?.with_features(f)?,
            };
            fitted.probabilities(&inputs)
        };
        let settings = ClassSettings {
            network: own.as_ref().map(|p| p.view()),
            explain: Some(Explain { inputs: values.view(), names: rows.names, predict: &predict }),
            ..*settings
        };
        let p = predict(values.view())?;
        let mut evaluation = Self::new(p.view(), labels, classes, &settings)?;
        evaluation.settings = serde_json::to_value(fitted.settings()).unwrap_or_default();
        evaluation.kappa_paths = fitted.kappa_paths().to_vec();
        let weight = |n: &MemberNotes| MemberWeight { name: n.method.to_string(), weight: n.weight };
        evaluation.weights = fitted.notes().iter().map(weight).collect();
        Ok(evaluation)
    }
}
