//! Fashion-MNIST: networks trained under losses that calibrate and under one that does not, and what they say about
//! images that they have not seen.

mod images;
mod spec;

mod run;
mod train;

pub use images::{Images, Part};
pub use run::{Fashion, FashionOptions, run};
pub use spec::{NamedLoss, Spec};
pub use train::{Judged, Outputs, train};
