//! Tensors and operators of a network, as people ask about them.

use std::fmt;

/// f32 among ONNX's types of numbers.
pub(crate) const FLOAT: i64 = 1;
/// i64 among them.
pub(crate) const INT64: i64 = 7;
const UINT8: i64 = 2;
const INT32: i64 = 6;
const FLOAT16: i64 = 10;
const DOUBLE: i64 = 11;

/// The type of a tensor's numbers, as ONNX counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElementType(pub(crate) i64);

impl ElementType {
    /// Whether the numbers are f32.
    pub fn is_f32(self) -> bool {
        self.0 == FLOAT
    }

    /// Whether the numbers are f64 or f16, of which f32 can be cast and which can be cast to f32.
    pub(crate) fn is_other_float(self) -> bool {
        matches!(self.0, FLOAT16 | DOUBLE)
    }

    /// The largest magnitude of the numbers, and whether they are whole, for all types that inputs can be cast to.
    pub(crate) fn range(self) -> Option<NumberRange> {
        let (least, most, whole) = match self.0 {
            FLOAT | DOUBLE => (f32::MIN, f32::MAX, false),
            FLOAT16 => (-65504.0, 65504.0, false),
            UINT8 => (0.0, 255.0, true),
            // All whole numbers up to here are f32; an id beyond it would be that of another row.
            INT32 | INT64 => (-16_777_216.0, 16_777_216.0, true),
            _ => return None,
        };
        Some(NumberRange { least, most, whole })
    }

    /// Bytes of one number; none for texts and for types that share bytes.
    pub(crate) fn bytes(self) -> Option<u64> {
        Some(match self.0 {
            2 | 3 | 9 | 17..=20 => 1,
            4 | 5 | 10 | 16 => 2,
            1 | 6 | 12 => 4,
            7 | 11 | 13 | 14 => 8,
            15 => 16,
            _ => return None,
        })
    }
}

/// Numbers that a type of input takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct NumberRange {
    least: f32,
    most: f32,
    whole: bool,
}

impl NumberRange {
    /// Those of f32.
    pub(crate) const SINGLE: NumberRange = NumberRange { least: f32::MIN, most: f32::MAX, whole: false };

    pub(crate) fn holds(self, value: f32) -> bool {
        (self.least..=self.most).contains(&value) && !(self.whole && value.fract() != 0.0)
    }
}

impl fmt::Display for NumberRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.whole { "whole numbers" } else { "numbers" };
        write!(f, "{kind} from {:?} to {:?}", self.least, self.most)
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 17] = [
            "unknown",
            "f32",
            "u8",
            "i8",
            "u16",
            "i16",
            "i32",
            "i64",
            "text",
            "bool",
            "f16",
            "f64",
            "u32",
            "u64",
            "complex64",
            "complex128",
            "bf16",
        ];
        match usize::try_from(self.0).ok().and_then(|i| NAMES.get(i)) {
            Some(name) => f.pad(name),
            None => write!(f, "type {}", self.0),
        }
    }
}

/// The size of an axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Axis {
    /// The same for all inputs.
    Fixed(usize),
    /// Known when the network runs; with the name it has in the file, if any.
    Open(String),
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Axis::Fixed(n) => write!(f, "{n}"),
            Axis::Open(name) if name.is_empty() => f.write_str("?"),
            Axis::Open(name) => f.write_str(name),
        }
    }
}

/// Axes as people write them: `N × 3 × 32 × 32`.
pub(crate) fn shape_text(shape: &[Axis]) -> String {
    if shape.is_empty() { "scalar".into() } else { shape.iter().map(Axis::to_string).collect::<Vec<_>>().join(" × ") }
}

/// An input or output of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// The name in the network.
    pub name: String,
    /// The type of its numbers; none where the file does not say, or where it is no tensor.
    pub element: Option<ElementType>,
    /// Its axes, the batch first; none where the file does not say.
    pub shape: Option<Vec<Axis>>,
}

impl fmt::Display for TensorInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = self.shape.as_deref().map_or("shape unknown".into(), shape_text);
        let element = self.element.map_or("type unknown".into(), |e| e.to_string());
        write!(f, "{}: {element} {shape}", self.name)
    }
}

/// A stored tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Initialiser {
    /// The name in the network.
    pub name: String,
    /// The type of its numbers.
    pub element: ElementType,
    /// Its axes.
    pub shape: Vec<usize>,
}

/// An operator at work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator {
    /// The node's name; may be empty.
    pub name: String,
    /// What it does, such as `Conv`.
    pub op: String,
    /// Whose operator it is; empty for ONNX's own.
    pub domain: String,
    /// The tensors it reads; empty names are inputs left out.
    pub inputs: Vec<String>,
    /// The tensors it writes.
    pub outputs: Vec<String>,
}
