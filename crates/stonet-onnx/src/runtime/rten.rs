//! The built-in runtime: rten, one thread per batch, as many batches at once as there are threads.

use std::sync::Arc;

use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value, ValueView};
use rten_tensor::Layout;
use stonet_io::caught;

use super::{Engine, Output};
use crate::feeds::Feed;

pub(super) struct Rten {
    model: Model,
    inputs: Vec<NodeId>,
    outputs: Vec<NodeId>,
    /// One thread each: sums are then in the same order, however many run.
    pools: Vec<Arc<ThreadPool>>,
}

impl Rten {
    pub(super) fn load(bytes: Vec<u8>, inputs: &[String], outputs: &[String], threads: usize) -> Result<Self, String> {
        let model = guarded(|| {
            let mut options = ModelOptions::with_all_ops();
            options.prepack_weights(true);
            options.load(bytes).map_err(|e| e.to_string())
        })?;
        let nodes = |names: &[String]| {
            names.iter().map(|n| model.node_id(n).map_err(|e| e.to_string())).collect::<Result<Vec<_>, _>>()
        };
        let (inputs, outputs) = (nodes(inputs)?, nodes(outputs)?);
        let pools = (0..threads.max(1)).map(|_| Arc::new(ThreadPool::with_num_threads(1))).collect();
        Ok(Rten { model, inputs, outputs, pools })
    }
}

impl Engine for Rten {
    fn workers(&self) -> usize {
        self.pools.len()
    }

    fn run(&self, worker: usize, feeds: &[Feed]) -> Result<Vec<Output>, String> {
        let mut given = Vec::new();
        for (&node, feed) in self.inputs.iter().zip(feeds) {
            let view = ValueView::from_shape(feed.shape.as_slice(), feed.values.as_slice());
            given.push((node, view.map_err(|e| e.to_string())?.into()));
        }
        let options = RunOptions::default().with_thread_pool(self.pools.get(worker).cloned());
        let ran = guarded(|| self.model.run(given, &self.outputs, Some(options)).map_err(|e| e.to_string()))?;
        ran.into_iter()
            .map(|value| match value {
                Value::FloatTensor(tensor) => Ok((tensor.shape().to_vec(), tensor.into_data())),
                other => Err(format!("an output is a tensor of {:?}, not of f32", other.dtype())),
            })
            .collect()
    }
}

/// rten panics at some settings that a file can have, such as a `Slice` of step 0, and a network is input. What it
/// cannot be kept from is to end the program where an operator asks for more memory than there is.
fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    caught(work).unwrap_or_else(|| Err("it stopped at an operator whose settings do not fit its inputs".into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::tag;
    use crate::tensor::{Axis, FLOAT, INT64};
    use crate::wire::Message;

    #[test]
    fn a_setting_that_makes_rten_panic_is_an_error() {
        let mut node = Message::default().text(tag::NODE_INPUT, "x");
        let mut graph = Message::default();
        // From 0 to 3 of axis 1, in steps of 0.
        for (name, value) in [("from", 0i64), ("to", 3), ("axis", 1), ("step", 0)] {
            node = node.text(tag::NODE_INPUT, name);
            let stored = Message::default()
                .number(tag::TENSOR_DIMS, 1)
                .number(tag::TENSOR_TYPE, INT64)
                .text(tag::TENSOR_NAME, name)
                .bytes(tag::TENSOR_RAW, &value.to_le_bytes());
            graph = graph.message(tag::GRAPH_INITIALISER, &stored);
        }
        let node = node.text(tag::NODE_OUTPUT, "y").text(tag::NODE_OP, "Slice");
        let axes = [Axis::Open("N".into()), Axis::Fixed(4)];
        let graph = graph
            .message(tag::GRAPH_NODE, &node)
            .message(tag::GRAPH_INPUT, &crate::proto::value_message("x", FLOAT, Some(&axes)))
            .message(tag::GRAPH_OUTPUT, &Message::default().text(tag::FIRST, "y"));
        let opset = Message::default().text(tag::FIRST, "").number(tag::SECOND, 17);
        let model = Message::default().number(tag::MODEL_IR, 8).message(tag::MODEL_GRAPH, &graph);
        let bytes = model.message(tag::MODEL_OPSET, &opset).into_bytes();
        let feed = Feed { shape: vec![1, 4], values: vec![0.0; 4] };
        let ran = Rten::load(bytes, &["x".into()], &["y".into()], 1).and_then(|rten| rten.run(0, &[feed]));
        assert!(ran.unwrap_err().contains("settings do not fit"));
    }
}
