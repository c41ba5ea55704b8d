//! Long arrays of numbers, taken out of a JSON value into tensors and put back, bit for bit.

use std::collections::HashMap;

use safetensors::Dtype;
use serde_json::{Map, Number, Value, json};

/// Shorter arrays stay in the JSON, where they take less room than a tensor's entry in the header.
const LONG: usize = 16;
/// The key that stands for an `ndarray` value: `{"$tensor": "head.0"}`.
const ARRAY: &str = "$tensor";
/// The key that stands for a plain list: `{"$list": "head.1"}`.
const LIST: &str = "$list";

/// Numbers of a type and a shape, little-endian.
pub(super) struct Tensor<B> {
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
    pub(super) bytes: B,
}

/// Tensors of sections that are to be written, each with the section's name in front of its own: `head.0`, `head.1`, ….
#[derive(Default)]
pub(super) struct Tensors {
    pub(super) all: Vec<(String, Tensor<Vec<u8>>)>,
    section: &'static str,
    /// Where those of the section begin.
    from: usize,
}

impl Tensors {
    /// Begins a section.
    pub(super) fn section(&mut self, name: &'static str) {
        (self.section, self.from) = (name, self.all.len());
    }

    /// Adds a tensor to the section; returns its name.
    pub(super) fn push(&mut self, tensor: Tensor<Vec<u8>>) -> String {
        let name = format!("{}.{}", self.section, self.all.len() - self.from);
        self.all.push((name.clone(), tensor));
        name
    }
}

/// The value without its long arrays, which become tensors of the section. Keys come out sorted, so that the text does
/// not depend on how `serde_json` was built.
pub(super) fn take_out(value: Value, tensors: &mut Tensors) -> Value {
    match value {
        Value::Object(map) => match array_of(&map) {
            Some(tensor) => stand_in(ARRAY, tensor, tensors),
            None => {
                let mut entries: Vec<(String, Value)> = map.into_iter().collect();
                entries.sort_by(|a, b| a.0.cmp(&b.0));
                Value::Object(entries.into_iter().map(|(k, v)| (k, take_out(v, tensors))).collect())
            }
        },
        Value::Array(items) => match encode(&items) {
            Some((dtype, bytes)) => stand_in(LIST, Tensor { dtype, shape: vec![items.len()], bytes }, tensors),
            None => items.into_iter().map(|v| take_out(v, tensors)).collect(),
        },
        other => other,
    }
}

fn stand_in(key: &str, tensor: Tensor<Vec<u8>>, tensors: &mut Tensors) -> Value {
    json!({ key: tensors.push(tensor) })
}

/// The array behind what `ndarray` makes of it: `{"v": 1, "dim": [2, 3], "data": […]}`.
fn array_of(map: &Map<String, Value>) -> Option<Tensor<Vec<u8>>> {
    if map.len() != 3 || map.get("v") != Some(&json!(1)) {
        return None;
    }
    let sizes = map.get("dim")?.as_array()?.iter();
    let shape = sizes.map(|d| d.as_u64().and_then(|d| usize::try_from(d).ok())).collect::<Option<_>>()?;
    let (dtype, bytes) = encode(map.get("data")?.as_array()?)?;
    Some(Tensor { dtype, shape, bytes })
}

/// Many numbers, all of them floating-point or all of them counts.
fn encode(items: &[Value]) -> Option<(Dtype, Vec<u8>)> {
    if items.len() < LONG {
        return None;
    }
    let float = |v: &Value| v.as_f64().filter(|_| v.is_f64()).map(f64::to_le_bytes);
    let count = |v: &Value| v.as_u64().map(u64::to_le_bytes);
    let floats: Option<Vec<[u8; 8]>> = items.iter().map(float).collect();
    let counts = || items.iter().map(count).collect::<Option<Vec<[u8; 8]>>>();
    let (dtype, numbers) = match floats {
        Some(floats) => (Dtype::F64, floats),
        None => (Dtype::U64, counts()?),
    };
    Some((dtype, numbers.concat()))
}

/// Puts the tensors back in their places, each exactly once: a file cannot unfold into more than it holds.
pub(super) fn put_back(value: Value, tensors: &mut HashMap<String, Tensor<&[u8]>>) -> Result<Value, String> {
    match value {
        Value::Object(map) => {
            let only = if map.len() == 1 { map.iter().next() } else { None };
            if let Some((key, name)) = only.filter(|(key, _)| *key == ARRAY || *key == LIST) {
                let name = name.as_str().ok_or_else(|| format!("`{key}` has no name behind it"))?;
                let tensor = tensors.remove(name);
                let tensor = tensor.ok_or_else(|| format!("tensor `{name:.40}` is missing or is used twice"))?;
                let numbers = decode(name, &tensor)?;
                return Ok(if key == ARRAY {
                    json!({ "v": 1, "dim": tensor.shape, "data": numbers })
                } else {
                    numbers
                });
            }
            map.into_iter().map(|(k, v)| Ok((k, put_back(v, tensors)?))).collect()
        }
        Value::Array(items) => items.into_iter().map(|v| put_back(v, tensors)).collect(),
        other => Ok(other),
    }
}

fn decode(name: &str, tensor: &Tensor<&[u8]>) -> Result<Value, String> {
    let (words, _) = tensor.bytes.as_chunks::<8>();
    let number: fn([u8; 8]) -> Option<Number> = match tensor.dtype {
        Dtype::F64 => |word| Number::from_f64(f64::from_le_bytes(word)),
        Dtype::U64 => |word| Some(u64::from_le_bytes(word).into()),
        other => return Err(format!("tensor `{name}` is of type {other:?}, where F64 or U64 has to stand")),
    };
    let numbers = words.iter().map(|&word| number(word).map(Value::Number));
    numbers.collect::<Option<_>>().map(Value::Array).ok_or_else(|| format!("tensor `{name}` holds NaN or an infinity"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(value: &Value) -> (Value, Vec<Dtype>, Value) {
        let mut tensors = Tensors::default();
        tensors.section("head");
        let left = take_out(value.clone(), &mut tensors);
        let types = tensors.all.iter().map(|(_, t)| t.dtype).collect();
        let mut named = HashMap::new();
        for (name, tensor) in &tensors.all {
            let (dtype, shape) = (tensor.dtype, tensor.shape.clone());
            named.insert(name.clone(), Tensor { dtype, shape, bytes: &tensor.bytes[..] });
        }
        let back = put_back(left.clone(), &mut named).unwrap();
        assert!(named.is_empty());
        (left, types, back)
    }

    #[test]
    fn long_arrays_leave_and_come_back() {
        let floats: Vec<f64> = (0..20).map(|i| f64::from(i) / 7.0 - 0.0 * f64::from(i)).chain([-0.0, 5e-324]).collect();
        let mixed: Vec<Value> = (0..20).map(|i| if i == 3 { json!(null) } else { json!(0.5) }).collect();
        let value = json!({
            "z": { "v": 1, "dim": [2, 11], "data": floats },
            "short": { "v": 1, "dim": [1], "data": [0.25] },
            "counts": (0..16u64).map(|i| u64::MAX - i).collect::<Vec<_>>(),
            "negative": (0..16i64).map(|i| i - 8).collect::<Vec<_>>(),
            "lists": [floats, "word", mixed],
        });
        let (left, types, back) = there_and_back(&value);
        assert_eq!(types, [Dtype::U64, Dtype::F64, Dtype::F64]);
        assert_eq!((&left["z"], &left["lists"][0]), (&json!({"$tensor": "head.2"}), &json!({"$list": "head.1"})));
        assert_eq!(back.to_string(), value.to_string());
        let zero = &back["z"]["data"][20];
        assert!(zero.as_f64().unwrap().is_sign_negative(), "{zero}");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let bytes = [0xff; 8];
        let put = |value: Value, dtype| {
            let tensor = Tensor { dtype, shape: vec![1], bytes: &bytes[..] };
            put_back(value, &mut [("t0".to_owned(), tensor)].into()).unwrap_err()
        };
        assert!(put(json!({"$list": "t0"}), Dtype::F64).contains("NaN"));
        assert!(put(json!({"$list": "t0"}), Dtype::I64).contains("type I64"));
        assert!(put(json!([{"$list": "t0"}, {"$list": "t0"}]), Dtype::U64).contains("used twice"));
        assert!(put(json!({"$tensor": "t1"}), Dtype::U64).contains("missing"));
        assert!(put(json!({"$tensor": 0}), Dtype::U64).contains("no name"));
    }
}
