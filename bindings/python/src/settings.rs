//! Settings as Python gives them: JSON of those that differ from the default, and errors in Python's words.

use pyo3::PyResult;
use pyo3::exceptions::PyValueError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Error, Map, Value};

use crate::error::Raise;

/// Settings that are arguments of their own in Python.
const ARGUMENTS: [&str; 3] = ["method", "folds", "level"];

/// The default with the given values in their places, however deep; names that do not exist are errors. `name` is the
/// argument in Python.
pub fn read<T: DeserializeOwned + Serialize + Default>(json: &str, name: &str) -> PyResult<T> {
    let default = serde_json::to_value(T::default()).raise()?;
    let whole = |given: Value| {
        let mut settings = default.clone();
        merge(&mut settings, given);
        serde_json::from_value(settings)
    };
    told(json, name, &whole)
}

/// The same where serde's own defaults are right, because settings are in the same words wherever they stand.
pub fn plain<T: DeserializeOwned>(json: &str, name: &str) -> PyResult<T> {
    told(json, name, &|given| serde_json::from_value(given))
}

/// A value as JSON.
pub fn text(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).raise()
}

/// Where a name is not there, what stands there is replaced as a whole: a variant with another name, or a mistake that
/// is then told.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) if from.keys().all(|name| into.contains_key(name)) => {
            from.into_iter().for_each(|(name, value)| merge(&mut into[&name], value));
        }
        (into, from) => *into = from,
    }
}

fn told<T>(json: &str, name: &str, whole: &dyn Fn(Value) -> Result<T, Error>) -> PyResult<T> {
    let given: Value = serde_json::from_str(json).raise()?;
    whole(given.clone()).map_err(|error| {
        let (path, error) = culprit(&given, Vec::new(), error, whole);
        PyValueError::new_err(words(name, &path, at(&given, &path), &error.to_string()))
    })
}

/// The deepest place whose value fails without the others, and how.
fn culprit<T>(
    given: &Value,
    path: Vec<String>,
    error: Error,
    whole: &dyn Fn(Value) -> Result<T, Error>,
) -> (Vec<String>, Error) {
    let Value::Object(here) = at(given, &path) else { return (path, error) };
    for key in here.keys() {
        let deeper: Vec<String> = path.iter().chain([key]).cloned().collect();
        // A field that is missing alone stands beside it in what was given.
        match whole(alone(&deeper, at(given, &deeper))) {
            Err(e) if !e.to_string().starts_with("missing field") => return culprit(given, deeper, e, whole),
            _ => {}
        }
    }
    (path, error)
}

fn at<'a>(value: &'a Value, path: &[String]) -> &'a Value {
    path.iter().fold(value, |v, key| &v[key.as_str()])
}

/// An object with this value at this place and nothing else.
fn alone(path: &[String], value: &Value) -> Value {
    path.iter().rev().fold(value.clone(), |v, key| Value::Object(Map::from_iter([(key.clone(), v)])))
}

/// What is wrong with the value at a place, with the place as Python writes it.
fn words(name: &str, path: &[String], value: &Value, error: &str) -> String {
    let place = |path: &[String]| match path {
        [one] if ARGUMENTS.contains(&one.as_str()) => one.clone(),
        _ => path.iter().fold(name.to_owned(), |place, key| format!("{place}[{key:?}]")),
    };
    let expected = |text: &str| text.split_once("expected ").map_or("something else", |(_, e)| e).to_owned();
    match (error, path) {
        (e, [above @ .., last]) if e.starts_with("unknown field") => {
            format!("{} has no {last:?}; it has {}", place(above), listed(&expected(e)))
        }
        (e, _) if e.starts_with("unknown variant") => {
            format!("{} is {}; it must be one of {}", place(path), shown(value), listed(&expected(e)))
        }
        (e, _) if e.starts_with("invalid") => {
            format!("{} is {}; it must be {}", place(path), shown(value), kind(&expected(e)))
        }
        (e, _) => format!("{}: {e}", place(path)),
    }
}

/// serde's list of names, without its quotes.
fn listed(expected: &str) -> String {
    expected.trim_start_matches("one of ").replace(" or ", ", ").replace('`', "")
}

/// A type of serde in Python's words.
fn kind(expected: &str) -> String {
    match expected {
        "usize" | "u64" | "u32" => "a whole number of at least 0".into(),
        "i64" | "i32" => "a whole number".into(),
        "f64" | "f32" => "a number".into(),
        "a boolean" => "True or False".into(),
        "a sequence" => "a list".into(),
        "a string" | "string or map" => "a text".into(),
        other if other.starts_with("struct ") || other == "a map" => "a dict".into(),
        other => other.to_owned(),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "None".into(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        Value::String(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}
