//! What runs a network: batches of f32 in, tensors of f32 out.

#[cfg(feature = "onnxruntime")]
mod onnxruntime;
mod rten;

use std::fmt;
use std::str::FromStr;

use crate::casts::{Bordered, bordered};
use crate::feeds::Feed;
use crate::{Error, Network, Result};

/// The program that runs a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Runtime {
    /// `rten`: built in.
    #[default]
    Rten,
    /// `onnxruntime`: an installed library, the one that ORT_DYLIB_PATH names.
    Onnxruntime,
}

impl Runtime {
    /// All of them.
    pub const ALL: [Runtime; 2] = [Runtime::Rten, Runtime::Onnxruntime];

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            Runtime::Rten => "rten",
            Runtime::Onnxruntime => "onnxruntime",
        }
    }

    pub(crate) fn load(self, network: &Network, outputs: &[&str], threads: usize) -> Result<Box<dyn Engine>> {
        let failed = |what| Error::Runtime { path: network.path().into(), runtime: self.name(), what };
        network.fed()?;
        let Bordered { model, inputs, outputs } = bordered(network, outputs);
        match self {
            Runtime::Rten => Ok(Box::new(rten::Rten::load(model, &inputs, &outputs, threads).map_err(failed)?)),
            #[cfg(feature = "onnxruntime")]
            Runtime::Onnxruntime => {
                let environment = onnxruntime::find()?;
                let loaded = onnxruntime::Onnxruntime::load(environment, &model, inputs, outputs, threads);
                Ok(Box::new(loaded.map_err(failed)?))
            }
            #[cfg(not(feature = "onnxruntime"))]
            Runtime::Onnxruntime => Err(Error::NoOnnxruntime { what: "this program was built without it".into() }),
        }
    }
}

impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Runtime {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        let known = || Runtime::ALL.map(Runtime::name).join(" or ");
        Runtime::ALL.into_iter().find(|r| r.name() == name).ok_or_else(|| Error::setting("runtime", name, known()))
    }
}

/// A tensor that came out: axes and numbers.
pub(crate) type Output = (Vec<usize>, Vec<f32>);

/// A loaded network.
pub(crate) trait Engine: Send + Sync {
    /// How many batches it can run at once.
    fn workers(&self) -> usize;

    /// One batch; `worker` is below [`workers`](Self::workers), and no two batches run at once with the same one.
    fn run(&self, worker: usize, feeds: &[Feed]) -> std::result::Result<Vec<Output>, String>;
}
