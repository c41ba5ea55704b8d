//! The built-in runtime: rten, one thread per batch, as many batches at once as there are threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value, ValueView};
use rten_tensor::Layout;

use super::{Engine, Output};

pub(super) struct Rten {
    model: Model,
    input: NodeId,
    outputs: Vec<NodeId>,
    /// One thread each: sums are then in the same order, however many run.
    pools: Vec<Arc<ThreadPool>>,
}

impl Rten {
    pub(super) fn load(bytes: Vec<u8>, input: &str, outputs: &[&str], threads: usize) -> Result<Self, String> {
        let model = guarded(|| {
            let mut options = ModelOptions::with_all_ops();
            options.prepack_weights(true);
            options.load(bytes).map_err(|e| e.to_string())
        })?;
        let node = |name: &str| model.node_id(name).map_err(|e| e.to_string());
        let (input, outputs) = (node(input)?, outputs.iter().map(|o| node(o)).collect::<Result<_, _>>()?);
        let pools = (0..threads.max(1)).map(|_| Arc::new(ThreadPool::with_num_threads(1))).collect();
        Ok(Rten { model, input, outputs, pools })
    }
}

impl Engine for Rten {
    fn workers(&self) -> usize {
        self.pools.len()
    }

    fn run(&self, worker: usize, shape: &[usize], values: &[f32]) -> Result<Vec<Output>, String> {
        let view = ValueView::from_shape(shape, values).map_err(|e| e.to_string())?;
        let options = RunOptions::default().with_thread_pool(Some(self.pools[worker].clone()));
        let ran = guarded(|| {
            self.model.run(vec![(self.input, view.into())], &self.outputs, Some(options)).map_err(|e| e.to_string())
        })?;
        ran.into_iter()
            .map(|value| match value {
                Value::FloatTensor(tensor) => Ok((tensor.shape().to_vec(), tensor.into_data())),
                other => Err(format!("an output is a tensor of {:?}, not of f32", other.dtype())),
            })
            .collect()
    }
}

/// rten checks less than a file can get wrong (a slice beyond the end of an axis makes it panic, for one), and a network is input.
fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let ran = catch_unwind(AssertUnwindSafe(work));
    ran.unwrap_or_else(|_| Err("it stopped at an operator whose settings do not fit its inputs".into()))
}
