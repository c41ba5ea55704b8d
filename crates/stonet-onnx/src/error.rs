//! Errors about network files: the place, what was found there, and the remedy.

use std::path::PathBuf;

/// The result of every fallible call of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A cause of failure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file that cannot be read.
    #[error("{path}: cannot be read: {source}", path = path.display())]
    Unreadable {
        /// The file with the fault.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Bytes that are no ONNX model.
    #[error("{path}: not a sound ONNX file: {what}; export the network or fetch the file again", path = path.display())]
    NotOnnx {
        /// The file with the fault.
        path: PathBuf,
        /// The fault.
        what: String,
    },
    /// A tensor that cannot be described for Triton.
    #[error("{path}: the {what} of tensor `{tensor}` is not one that Triton's configuration can state; export the network with shapes and plain types", path = path.display())]
    Triton {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Its type or its shape.
        what: String,
    },
    /// Weights beside the file, in a place that is not looked into.
    #[error("{path}: tensor `{tensor}` is stored in `{location}`, which is not in the network's own folder; save the network as one file, or its data beside it", path = path.display())]
    ExternalPath {
        /// The file with the fault.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Where it is said to be.
        location: String,
    },
    /// Weights beside the file that are not there, or too few.
    #[error("{path}: tensor `{tensor}` cannot be read from `{location}` beside the network: {what}; keep the data file beside the network, under the name it was saved with", path = path.display())]
    ExternalData {
        /// The file with the fault.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// The data file.
        location: String,
        /// The fault.
        what: String,
    },
    /// A tap that is not there.
    #[error("{path}: no tensor or node is called `{name}`; there are {known}", path = path.display())]
    UnknownTap {
        /// The file with the fault.
        path: PathBuf,
        /// What was asked for.
        name: String,
        /// The names there are, nearest first.
        known: String,
    },
    /// A network whose last hidden layer does not show.
    #[error("{path}: the last hidden layer was not found, because no output comes from a linear layer (Gemm or MatMul) behind others; name a tensor as the tap, such as one of {known}", path = path.display())]
    NoTap {
        /// The file with the fault.
        path: PathBuf,
        /// Some of the last tensors.
        known: String,
    },
    /// A network whose inputs cannot be filled from one row.
    #[error("{path}: the network has {count} inputs ({names}), and {why}", path = path.display())]
    Inputs {
        /// The file with the fault.
        path: PathBuf,
        /// The number of them.
        count: usize,
        /// Their names, types and axes.
        names: String,
        /// Why they cannot be filled, and what to do.
        why: &'static str,
    },
    /// An input of a type that numbers are not cast to.
    #[error("{path}: input `{name}` takes {found}, and rows can be given as f32, f64, f16, u8, i32 or i64; export the network with such an input", path = path.display())]
    InputType {
        /// The file with the fault.
        path: PathBuf,
        /// The input.
        name: String,
        /// The type that was found.
        found: String,
    },
    /// A number that an input cannot take.
    #[error(
        "row {row}, column {column} of the inputs is {value} (rows and columns count from 0), and the network takes {takes}; correct or rescale the column"
    )]
    InputNumber {
        /// Row, from 0.
        row: usize,
        /// Column of the row laid out in a line, from 0.
        column: usize,
        /// What stands there, scaled.
        value: String,
        /// What the network takes there.
        takes: String,
    },
    /// A NaN or an infinity that the network computed.
    #[error(
        "row {row}: the network computed {value} at place {column} of tensor `{tensor}` (rows and places count from 0); check that the inputs of this row are on the scale that the network was trained on"
    )]
    OutputNumber {
        /// Row, from 0.
        row: usize,
        /// Place in the row's numbers, from 0.
        column: usize,
        /// NaN or an infinity.
        value: String,
        /// The tensor.
        tensor: String,
    },
    /// Rows of another shape than the network takes.
    #[error("the network's input `{name}` takes rows of shape {expected}, and the data have {found}; {remedy}")]
    InputShape {
        /// The input.
        name: String,
        /// What it takes.
        expected: String,
        /// What there is.
        found: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// The runtime refused or failed.
    #[error("{path}: {runtime} cannot run the network: {what}", path = path.display())]
    Runtime {
        /// The file with the fault.
        path: PathBuf,
        /// Which runtime.
        runtime: &'static str,
        /// What it said.
        what: String,
    },
    /// A tensor that is not one row of f32 per row of inputs.
    #[error("tensor `{tensor}` has shape {shape:?} for {rows} rows: {what}; choose another tap")]
    NotRows {
        /// The tensor.
        tensor: String,
        /// Its shape.
        shape: Vec<usize>,
        /// Rows that went in.
        rows: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// No onnxruntime library.
    #[error(
        "onnxruntime cannot be used: {what}; install it (`pip install onnxruntime`) and let ORT_DYLIB_PATH name its library (…/onnxruntime/capi/libonnxruntime.so.*), or use the runtime rten"
    )]
    NoOnnxruntime {
        /// The reason.
        what: String,
    },
    /// The work was cancelled.
    #[error(transparent)]
    Cancelled(#[from] stonet::base::Cancelled),
    /// A setting outside its range.
    #[error("{name} must be {range}, but is {value}")]
    Setting {
        /// The setting.
        name: &'static str,
        /// What it was set to.
        value: String,
        /// What it may be.
        range: String,
    },
    /// A file that is no CIFAR binary.
    #[error("{path}: {bytes} bytes are not a whole number of CIFAR images (1 or 2 label bytes and 3072 bytes of pixels each); fetch the file again, or use another format", path = path.display())]
    NotCifar {
        /// The file with the fault.
        path: PathBuf,
        /// Its size.
        bytes: usize,
    },
    /// A network of operators too old or too new to be joined to.
    #[error("{path}: the network uses operator set {found}, and a head can be joined to sets {lowest} to {highest}; convert it (onnx.version_converter), or export the head alone", path = path.display())]
    Opset {
        /// The file with the fault.
        path: PathBuf,
        /// The network's.
        found: i64,
        /// The oldest that works.
        lowest: i64,
        /// The newest that is known to.
        highest: i64,
    },
    /// A head that needs a tensor of the network that was not named.
    #[error("the head needs {input}, and no tensor of the network was named for it; {remedy}")]
    HeadInput {
        /// The head's input.
        input: &'static str,
        /// The remedy.
        remedy: &'static str,
    },
    /// A tensor of another size than the head was fitted on.
    #[error("{path}: tensor `{tensor}` has {found} numbers per row, and the head was fitted on {expected} {input}; give the network that the head was fitted on, or name another tensor; further columns beside the features join only if the head was fitted with them as --also (also= in Python)", path = path.display())]
    HeadWidth {
        /// The network.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Its size.
        found: usize,
        /// The head's input.
        input: String,
        /// Its size.
        expected: usize,
    },
    /// A model that cannot be written with ONNX operators.
    #[error("{what} cannot be written as ONNX: {why}; {remedy}")]
    NotExportable {
        /// The model.
        what: String,
        /// The reason.
        why: String,
        /// What to do instead.
        remedy: &'static str,
    },
    /// The mathematics refused.
    #[error(transparent)]
    Core(#[from] stonet::Error),
    /// A file of inputs refused.
    #[error(transparent)]
    Io(#[from] stonet_io::Error),
}

impl Error {
    pub(crate) fn setting(name: &'static str, value: impl std::fmt::Debug, range: impl Into<String>) -> Self {
        Error::Setting { name, value: format!("{value:?}"), range: range.into() }
    }

    /// The same error where the rows were preceded by others.
    pub fn after_rows(mut self, first: usize) -> Self {
        if let Error::InputNumber { row, .. } | Error::OutputNumber { row, .. } = &mut self {
            *row += first;
        }
        self
    }
}
