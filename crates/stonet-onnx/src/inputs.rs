//! Rows of numbers or images for a network: bytes or floats in memory, scaled and laid out as the network takes them, a
//! batch at a time.

use std::ops::Range;
use std::path::Path;

use ndarray::ArrayView2;
use stonet_io::Idx;

use crate::tensor::NumberRange;
use crate::{Error, Result};

/// Bytes of an image's pixels in a CIFAR file.
const CIFAR_PIXELS: usize = 3 * 32 * 32;

/// (scale · x − mean) / std, by channel.
#[derive(Debug, Clone, PartialEq)]
pub struct Preprocess {
    /// Every value is multiplied by it first; 1/255 for bytes.
    pub scale: f32,
    /// One number, or one per channel.
    pub mean: Vec<f32>,
    /// One number, or one per channel; positive.
    pub std: Vec<f32>,
}

impl Default for Preprocess {
    /// Values as they are.
    fn default() -> Self {
        Preprocess { scale: 1.0, mean: vec![0.0], std: vec![1.0] }
    }
}

#[derive(Debug, Clone)]
enum Values {
    Bytes(Vec<u8>),
    Floats(Vec<f32>),
    Idx(Idx),
}

/// Rows of one shape. Images are `channels × height × width` or `height × width × channels`; the network's input
/// decides.
#[derive(Debug, Clone)]
pub struct Inputs {
    values: Values,
    labels: Option<Vec<usize>>,
    rows: usize,
    shape: Vec<usize>,
    /// Factor and summand of every value of a channel.
    affine: Vec<(f32, f32)>,
    /// The axis of `shape` that counts channels, where they differ in scale.
    channels: Option<usize>,
}

impl Inputs {
    /// An array in C order; the first axis counts rows.
    pub fn array(values: Vec<f32>, shape: &[usize]) -> Result<Self> {
        let size = shape.iter().try_fold(1usize, |product, &d| product.checked_mul(d));
        let Some((&rows, rest)) = shape.split_first().filter(|_| size == Some(values.len())) else {
            return Err(Error::setting("shape", shape, format!("sizes whose product is {}", values.len())));
        };
        Ok(Self::new(Values::Floats(values), rows, rest.to_vec()))
    }

    /// Rows of a table; `axes` are those of one row. A number beyond f32 is an error with its place.
    pub fn table(values: ArrayView2<'_, f64>, axes: &[usize]) -> Result<Self> {
        let beyond = values.indexed_iter().find(|(_, v)| !(**v as f32).is_finite());
        if let Some(((row, column), value)) = beyond {
            let (value, takes) = (format!("{value:e}"), NumberRange::SINGLE.to_string());
            return Err(Error::InputNumber { row, column, value, takes });
        }
        let shape: Vec<usize> = [values.nrows()].into_iter().chain(axes.iter().copied()).collect();
        Self::array(values.iter().map(|&v| v as f32).collect(), &shape)
    }

    /// The images of an idx file.
    pub fn idx(idx: Idx) -> Self {
        let (rows, shape) = (idx.rows(), idx.shape().iter().skip(1).copied().collect());
        Self::new(Values::Idx(idx), rows, shape)
    }

    /// The images of a CIFAR-10 or CIFAR-100 binary: one label byte or two (the second is the finer), then three planes
    /// of 32 × 32.
    pub fn cifar(path: &Path) -> Result<Self> {
        let file = std::fs::read(path).map_err(|source| Error::Unreadable { path: path.into(), source })?;
        let whole = |labels: usize| !file.is_empty() && file.len() % (labels + CIFAR_PIXELS) == 0;
        let Some(labels) = [1, 2].into_iter().find(|&l| whole(l)) else {
            return Err(Error::NotCifar { path: path.into(), bytes: file.len() });
        };
        let records = file.chunks_exact(labels + CIFAR_PIXELS);
        let parts = records.map(|r| r.split_at(labels));
        let classes = parts.clone().filter_map(|(l, _)| l.last().copied().map(usize::from)).collect();
        let pixels: Vec<u8> = parts.flat_map(|(_, pixels)| pixels).copied().collect();
        let rows = pixels.len() / CIFAR_PIXELS;
        Ok(Inputs { labels: Some(classes), ..Self::new(Values::Bytes(pixels), rows, vec![3, 32, 32]) })
    }

    fn new(values: Values, rows: usize, shape: Vec<usize>) -> Self {
        Inputs { values, labels: None, rows, shape, affine: vec![(1.0, 0.0)], channels: None }
    }

    /// The same with every value scaled. Numbers per channel go to the first or the last axis of a row, whichever has
    /// as many.
    pub fn with_preprocess(mut self, p: &Preprocess) -> Result<Self> {
        let count = p.mean.len().max(p.std.len());
        let lengths = [p.mean.len(), p.std.len()].into_iter().all(|l| l == 1 || l == count);
        if !lengths || count == 0 {
            let lengths = (p.mean.len(), p.std.len());
            return Err(Error::setting("numbers of means and standard deviations", lengths, "1, or one per channel"));
        }
        let numbers = p.mean.iter().chain(&p.std).chain([&p.scale]).all(|v| v.is_finite());
        if !numbers {
            return Err(Error::setting("scale, mean and std", (p.scale, &p.mean, &p.std), "finite"));
        }
        if p.std.iter().any(|s| *s <= 0.0) {
            return Err(Error::setting("std", &p.std, "positive"));
        }
        // A single number is that of every channel.
        let at = |list: &[f32], c: usize| list.get(c).or(list.first()).copied().unwrap_or(1.0);
        self.affine = (0..count).map(|c| (p.scale / at(&p.std, c), -at(&p.mean, c) / at(&p.std, c))).collect();
        self.channels = match self.shape.as_slice() {
            _ if count == 1 => None,
            [first, ..] if *first == count => Some(0),
            [.., last] if *last == count => Some(self.shape.len() - 1),
            shape => {
                let range = format!("1, or as many as the first or the last of a row's axes {shape:?}");
                return Err(Error::setting("means or standard deviations", count, range));
            }
        };
        Ok(self)
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The axes of one row.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The labels that stand beside the images in a CIFAR binary.
    pub fn labels(&self) -> Option<&[usize]> {
        self.labels.as_deref()
    }

    /// Values of these rows, scaled.
    pub(crate) fn fill(&self, rows: Range<usize>, out: &mut Vec<f32>) {
        let width: usize = self.shape.iter().product();
        let place = rows.start * width..rows.end * width;
        out.clear();
        match &self.values {
            Values::Bytes(v) => out.extend(v.get(place).unwrap_or_default().iter().map(|&v| f32::from(v))),
            Values::Floats(v) => out.extend_from_slice(v.get(place).unwrap_or_default()),
            Values::Idx(idx) => out.extend(idx.matrix(&rows.collect::<Vec<_>>(), 1.0).iter().map(|&v| v as f32)),
        }
        self.scale(out, width);
    }

    fn scale(&self, values: &mut [f32], width: usize) {
        let one = |values: &mut [f32], (factor, summand): (f32, f32)| {
            values.iter_mut().for_each(|v| *v = *v * factor + summand);
        };
        match self.channels {
            _ if width == 0 || self.affine == [(1.0, 0.0)] => {}
            None => self.affine.iter().take(1).for_each(|&a| one(values, a)),
            Some(0) => {
                let plane = width / self.affine.len();
                values.chunks_exact_mut(plane).zip(self.affine.iter().cycle()).for_each(|(v, &a)| one(v, a));
            }
            Some(_) => {
                let channels = self.affine.iter().cycle();
                values.iter_mut().zip(channels).for_each(|(v, (factor, summand))| *v = *v * factor + summand);
            }
        }
    }
}
