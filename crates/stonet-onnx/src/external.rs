//! Weights that are stored beside a network: brought into its own bytes, from files in its own folder and from nowhere
//! else.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use crate::proto::{DEPTH, TOO_DEEP, expected_bytes, initialiser, tag};
use crate::wire::{Broken, Field, Message, fields};
use crate::{Error, Result};

/// The model with all weights in it; none if they are already. `path` is the model's own.
pub(crate) fn inlined(model: &[u8], path: &Path) -> Result<Option<Vec<u8>>> {
    let broken = |what: Broken| Error::NotOnnx { path: path.into(), what: what.into() };
    let mut folder = Folder { path, files: HashMap::new() };
    let mut changed = false;
    let mut out = Message::default();
    for field in fields(model) {
        let field = field.map_err(broken)?;
        match (field.number, field.bytes()) {
            (tag::MODEL_GRAPH, Ok(graph)) => match folder.graph(graph, 0)? {
                Some(graph) => {
                    changed = true;
                    out = out.message(tag::MODEL_GRAPH, &graph);
                }
                None => out = out.raw(field.raw),
            },
            _ => out = out.raw(field.raw),
        }
    }
    Ok(changed.then(|| out.into_bytes()))
}

/// What becomes of a field with bytes in it; none if it stays.
type Replacing<'f> = &'f dyn Fn(&mut Folder<'_>, &Field<'_>, &[u8]) -> Result<Option<Message>>;

/// Files beside the model, opened once.
struct Folder<'a> {
    path: &'a Path,
    files: HashMap<String, File>,
}

impl Folder<'_> {
    /// The graph with its stored tensors and those of `Constant` nodes brought in; none if there is nothing to bring.
    fn graph(&mut self, graph: &[u8], depth: usize) -> Result<Option<Message>> {
        if depth > DEPTH {
            return Err(self.broken(TOO_DEEP));
        }
        self.replace(graph, &|this, field, bytes| match field.number {
            tag::GRAPH_INITIALISER => this.tensor(bytes),
            tag::GRAPH_NODE => this.replace(bytes, &|this, field, bytes| match field.number {
                tag::NODE_ATTRIBUTE => this.replace(bytes, &|this, field, bytes| match field.number {
                    tag::ATTRIBUTE_TENSOR => this.tensor(bytes),
                    tag::ATTRIBUTE_GRAPH | tag::ATTRIBUTE_GRAPHS => this.graph(bytes, depth + 1),
                    _ => Ok(None),
                }),
                _ => Ok(None),
            }),
            _ => Ok(None),
        })
    }

    /// The message with some of its fields replaced; none if none is.
    fn replace(&mut self, message: &[u8], new: Replacing<'_>) -> Result<Option<Message>> {
        let mut replaced = HashMap::new();
        for (i, field) in fields(message).enumerate() {
            let field = field.map_err(|what| self.broken(what))?;
            if let Ok(bytes) = field.bytes()
                && let Some(message) = new(self, &field, bytes)?
            {
                replaced.insert(i, message);
            }
        }
        if replaced.is_empty() {
            return Ok(None);
        }
        let mut out = Message::default();
        for (i, field) in fields(message).flatten().enumerate() {
            out = match replaced.get(&i) {
                Some(message) => out.message(field.number, message),
                None => out.raw(field.raw),
            };
        }
        Ok(Some(out))
    }

    fn tensor(&mut self, tensor: &[u8]) -> Result<Option<Message>> {
        let mut entries = HashMap::new();
        let mut rest = Message::default();
        for field in fields(tensor) {
            let field = field.map_err(|what| self.broken(what))?;
            match field.number {
                tag::TENSOR_EXTERNAL => {
                    let (key, value) = entry(&field).map_err(|what| self.broken(what))?;
                    entries.insert(key, value);
                }
                tag::TENSOR_LOCATION => {}
                _ => rest = rest.raw(field.raw),
            }
        }
        let Some(location) = entries.get("location") else { return Ok(None) };
        let stored = initialiser(tensor).map_err(|what| self.broken(what))?;
        let number = |key: &str| entries.get(key).map(|v| v.parse::<u64>());
        let what = "its place in the data file is not a number, or its type is unknown".to_owned();
        let place = (number("offset").unwrap_or(Ok(0)), expected_bytes(&stored).map_err(|what| self.broken(what))?);
        let (Ok(offset), Some(length)) = place else { return Err(self.failed(&stored.name, location, what)) };
        if number("length").is_some_and(|l| l != Ok(length)) {
            let what = format!("its axes announce {length} bytes, and its place in the data file is of another size");
            return Err(self.failed(&stored.name, location, what));
        }
        let bytes = self.read(&stored.name, location, offset, length)?;
        Ok(Some(rest.bytes(tag::TENSOR_RAW, &bytes)))
    }

    fn read(&mut self, tensor: &str, location: &str, offset: u64, length: u64) -> Result<Vec<u8>> {
        if !self.files.contains_key(location) {
            let file = File::open(self.inside(tensor, location)?);
            let file = file.map_err(|e| self.failed(tensor, location, e.to_string()))?;
            self.files.insert(location.into(), file);
        }
        let Some(file) = self.files.get_mut(location) else { unreachable!("it was put there") };
        let mut bytes = Vec::new();
        // Memory grows with what the file has, not with what the model promises.
        let read = file.seek(SeekFrom::Start(offset)).and_then(|_| file.take(length).read_to_end(&mut bytes));
        match read {
            Ok(found) if found as u64 == length => Ok(bytes),
            Ok(found) => {
                let what = format!("it ends after {found} of the tensor's {length} bytes");
                Err(self.failed(tensor, location, what))
            }
            Err(e) => Err(self.failed(tensor, location, e.to_string())),
        }
    }

    /// The path of a data file, which has to lie in the model's folder or below it, whatever links say.
    fn inside(&self, tensor: &str, location: &str) -> Result<PathBuf> {
        let outside =
            || Error::ExternalPath { path: self.path.into(), tensor: tensor.into(), location: location.into() };
        let relative = Path::new(location);
        let plain = |c: Component<'_>| matches!(c, Component::Normal(_) | Component::CurDir);
        if location.is_empty() || location.contains('\\') || !relative.components().all(plain) {
            return Err(outside());
        }
        let folder = match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let real = |p: &Path| p.canonicalize().map_err(|e| self.failed(tensor, location, e.to_string()));
        let (folder, file) = (real(folder)?, real(&folder.join(relative))?);
        if file.starts_with(&folder) { Ok(file) } else { Err(outside()) }
    }

    fn failed(&self, tensor: &str, location: &str, what: String) -> Error {
        Error::ExternalData { path: self.path.into(), tensor: tensor.into(), location: location.into(), what }
    }

    fn broken(&self, what: Broken) -> Error {
        Error::NotOnnx { path: self.path.into(), what: what.into() }
    }
}

fn entry(field: &Field<'_>) -> std::result::Result<(String, String), Broken> {
    let (mut key, mut value) = (String::new(), String::new());
    for field in fields(field.bytes()?) {
        let field = field?;
        match field.number {
            tag::FIRST => key = field.text()?,
            tag::SECOND => value = field.text()?,
            _ => {}
        }
    }
    Ok((key, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(location: &str, length: &str) -> Vec<u8> {
        let entry = |key: &str, value: &str| Message::default().text(tag::FIRST, key).text(tag::SECOND, value);
        let tensor = Message::default()
            .number(tag::TENSOR_DIMS, 2)
            .number(tag::TENSOR_TYPE, 1)
            .text(tag::TENSOR_NAME, "w")
            .message(tag::TENSOR_EXTERNAL, &entry("location", location))
            .message(tag::TENSOR_EXTERNAL, &entry("offset", "4"))
            .message(tag::TENSOR_EXTERNAL, &entry("length", length))
            .number(tag::TENSOR_LOCATION, 1);
        let graph = Message::default().text(tag::GRAPH_NAME, "g").message(tag::GRAPH_INITIALISER, &tensor);
        Message::default().number(tag::MODEL_IR, 8).message(tag::MODEL_GRAPH, &graph).into_bytes()
    }

    #[test]
    fn weights_beside_the_network_are_brought_in_and_those_elsewhere_refused() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("nets");
        std::fs::create_dir(&folder).unwrap();
        let path = folder.join("net.onnx");
        let mut data = vec![0; 4];
        data.extend([1.5f32, -2.0].iter().flat_map(|v| v.to_le_bytes()));
        for place in [folder.join("w.data"), dir.path().join("w.data")] {
            std::fs::write(place, &data).unwrap();
        }
        let whole = inlined(&model("w.data", "8"), &path).unwrap().unwrap();
        assert!(whole.windows(8).any(|w| w == &data[4..]) && !whole.windows(8).any(|w| w == b"location"));
        assert_eq!(inlined(&whole, &path).unwrap(), None);
        let outside = dir.path().join("w.data");
        for location in ["../w.data", outside.to_str().unwrap(), "a/../../w.data", "..\\w.data", ""] {
            let e = inlined(&model(location, "8"), &path).unwrap_err();
            assert!(matches!(e, Error::ExternalPath { .. }), "{location}: {e}");
        }
        for (location, length) in [("w.data", "4"), ("w.data", "x"), ("none.data", "8")] {
            let e = inlined(&model(location, length), &path).unwrap_err();
            assert!(matches!(e, Error::ExternalData { .. }), "{location} {length}: {e}");
        }
        std::fs::write(folder.join("w.data"), &data[..8]).unwrap();
        let e = inlined(&model("w.data", "8"), &path).unwrap_err();
        assert!(e.to_string().contains("4 of the tensor's 8 bytes"), "{e}");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_the_folder_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("nets");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(dir.path().join("w.data"), [0; 12]).unwrap();
        std::os::unix::fs::symlink(dir.path().join("w.data"), folder.join("w.data")).unwrap();
        let e = inlined(&model("w.data", "8"), &folder.join("net.onnx")).unwrap_err();
        assert!(matches!(e, Error::ExternalPath { .. }), "{e}");
    }
}
