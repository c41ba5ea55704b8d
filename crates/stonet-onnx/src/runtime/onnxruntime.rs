//! An installed onnxruntime, opened at run time: one session that shares the threads.

use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};

use ort::environment::Environment;
use ort::session::Session;
use ort::session::builder::GraphOptimizationLevel;
use ort::value::TensorRef;

use super::{Engine, Output};
use crate::{Error, Result};

/// The library that ORT_DYLIB_PATH names, opened once.
pub(super) fn find() -> Result<&'static Environment> {
    static FOUND: OnceLock<std::result::Result<Environment, String>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let path = std::env::var_os("ORT_DYLIB_PATH").filter(|p| !p.is_empty()).map(PathBuf::from);
        let path = path.ok_or("ORT_DYLIB_PATH is not set")?;
        if !path.is_file() {
            return Err(format!("ORT_DYLIB_PATH is {}, and there is no such file", path.display()));
        }
        let failed = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
        let builder = ort::init_from(&path).map_err(|e| failed(&e))?;
        builder.with_name("stonet").with_telemetry(false).build().map_err(|e| failed(&e))
    });
    found.as_ref().map_err(|what| Error::NoOnnxruntime { what: what.clone() })
}

pub(super) struct Onnxruntime {
    session: Mutex<Session>,
    input: String,
    outputs: Vec<String>,
}

impl Onnxruntime {
    pub(super) fn load(
        environment: &Environment,
        bytes: &[u8],
        input: &str,
        outputs: &[&str],
        threads: usize,
    ) -> std::result::Result<Self, String> {
        let session = Session::builder(environment)
            .and_then(|b| Ok(b.with_optimization_level(GraphOptimizationLevel::Level3)?))
            .and_then(|b| Ok(b.with_intra_threads(threads)?))
            .and_then(|mut b| b.commit_from_memory(bytes))
            .map_err(|e| e.to_string())?;
        let outputs = outputs.iter().map(|&o| o.to_owned()).collect();
        Ok(Onnxruntime { session: Mutex::new(session), input: input.into(), outputs })
    }
}

impl Engine for Onnxruntime {
    fn workers(&self) -> usize {
        1
    }

    fn run(&self, _: usize, shape: &[usize], values: &[f32]) -> std::result::Result<Vec<Output>, String> {
        let tensor = TensorRef::from_array_view((shape.to_vec(), values)).map_err(|e| e.to_string())?;
        let mut session = self.session.lock().map_err(|_| "it failed in another thread".to_owned())?;
        let ran = session.run(ort::inputs![self.input.as_str() => tensor]).map_err(|e| e.to_string())?;
        let one = |name: &String| {
            let value = ran.get(name.as_str()).ok_or_else(|| format!("it gave no `{name}`"))?;
            let (shape, values) = value.try_extract_tensor::<f32>().map_err(|e| e.to_string())?;
            Ok((shape.iter().map(|&d| d.max(0) as usize).collect(), values.to_vec()))
        };
        self.outputs.iter().map(one).collect()
    }
}
