//! Settings as Python gives them: JSON of those that differ from the default.

use pyo3::PyResult;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::Raise;

/// The default with the given values in their places, however deep; names that do not exist are errors.
pub fn read<T: DeserializeOwned + Serialize + Default>(json: &str) -> PyResult<T> {
    let mut settings = serde_json::to_value(T::default()).raise()?;
    merge(&mut settings, serde_json::from_str(json).raise()?);
    serde_json::from_value(settings).raise()
}

/// A value as JSON.
pub fn text(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).raise()
}

/// Where a name is not there, what stands there is replaced as a whole: a variant with another name, or a mistake that is then told.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) if from.keys().all(|name| into.contains_key(name)) => {
            from.into_iter().for_each(|(name, value)| merge(&mut into[&name], value));
        }
        (into, from) => *into = from,
    }
}
