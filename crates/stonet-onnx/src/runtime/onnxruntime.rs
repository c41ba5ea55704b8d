//! An installed onnxruntime, opened at run time: one session that shares the threads.

use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};

use ort::environment::Environment;
use ort::session::builder::GraphOptimizationLevel;
use ort::session::{Session, SessionInputValue};
use ort::value::TensorRef;

use super::{Engine, Output};
use crate::feeds::Feed;
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
    inputs: Vec<String>,
    outputs: Vec<String>,
}

impl Onnxruntime {
    pub(super) fn load(
        environment: &Environment,
        bytes: &[u8],
        inputs: Vec<String>,
        outputs: Vec<String>,
        threads: usize,
    ) -> std::result::Result<Self, String> {
        let session = Session::builder(environment)
            .and_then(|b| Ok(b.with_optimization_level(GraphOptimizationLevel::Level3)?))
            .and_then(|b| Ok(b.with_intra_threads(threads)?))
            .and_then(|mut b| b.commit_from_memory(bytes))
            .map_err(|e| e.to_string())?;
        Ok(Onnxruntime { session: Mutex::new(session), inputs, outputs })
    }
}

impl Engine for Onnxruntime {
    fn workers(&self) -> usize {
        1
    }

    fn run(&self, _: usize, feeds: &[Feed]) -> std::result::Result<Vec<Output>, String> {
        let mut given: Vec<(&str, SessionInputValue<'_>)> = Vec::new();
        for (name, feed) in self.inputs.iter().zip(feeds) {
            let tensor = TensorRef::from_array_view((feed.shape.clone(), feed.values.as_slice()));
            given.push((name, tensor.map_err(|e| e.to_string())?.into()));
        }
        let mut session = self.session.lock().map_err(|_| "it failed in another thread".to_owned())?;
        let ran = session.run(given).map_err(|e| e.to_string())?;
        let one = |name: &String| {
            let value = ran.get(name.as_str()).ok_or_else(|| format!("it gave no `{name}`"))?;
            let (shape, values) = value.try_extract_tensor::<f32>().map_err(|e| e.to_string())?;
            Ok((shape.iter().map(|&d| d.max(0) as usize).collect(), values.to_vec()))
        };
        self.outputs.iter().map(one).collect()
    }
}
