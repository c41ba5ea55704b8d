//! The four files of Fashion-MNIST, found in a folder of data and checked to belong together.

use std::path::{Path, PathBuf};

use stonet_io::Idx;

use crate::{Error, Result};

/// Folders that are looked in, below the one that is named.
const FOLDERS: [&str; 3] = ["", "fashion_mnist", "images/fashion_mnist"];

/// Images as bytes, with their labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// One image per row.
    pub images: Idx,
    /// Class of each image.
    pub labels: Vec<usize>,
}

/// The set as published.
#[derive(Debug, Clone, PartialEq)]
pub struct Images {
    /// To train and to calibrate on.
    pub train: Part,
    /// To test on.
    pub test: Part,
}

impl Images {
    /// Reads the files from `dir` or from its folder `fashion_mnist` or `images/fashion_mnist`, compressed or not.
    pub fn load(dir: &Path) -> Result<Self> {
        Ok(Images { train: part(dir, "train")?, test: part(dir, "t10k")? })
    }
}

fn part(dir: &Path, name: &str) -> Result<Part> {
    let images = Idx::read(&find(dir, &format!("{name}-images-idx3-ubyte"))?)?;
    let path = find(dir, &format!("{name}-labels-idx1-ubyte"))?;
    let labels = Idx::read(&path)?.labels()?;
    if labels.len() != images.rows() {
        let what = format!("{}: labels", path.display());
        return Err(stonet::Error::Shape { what, expected: images.rows(), found: labels.len() }.into());
    }
    Ok(Part { images, labels })
}

fn find(dir: &Path, name: &str) -> Result<PathBuf> {
    let places = FOLDERS.iter().flat_map(|f| [name.to_owned(), format!("{name}.gz")].map(|n| dir.join(f).join(n)));
    let found = places.into_iter().find(|path| path.is_file());
    found.ok_or_else(|| Error::NoData { dir: dir.into(), sets: format!("Fashion-MNIST called {name}.gz") })
}
