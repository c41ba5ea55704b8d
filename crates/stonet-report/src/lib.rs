//! Fitted intervals and probabilities judged on rows with known answers, told as text, as plain data and as one HTML
//! page.
//!
//! ```text
//! evaluate   RegressionEvaluation, ClassEvaluation: numbers with their uncertainty, a verdict in one sentence, `Requirement`
//! svg        charts, for files of their own and for pages
//! page       Report: sections of figures and tables in one file that needs nothing else
//! card       the same as a model card in Markdown
//! ```
#![deny(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod number;

mod evaluate;

pub mod svg;

mod page;

mod card;

pub use card::{class_card, labels_card, regression_card};
pub use evaluate::*;
pub use number::{real, whole};
pub use page::*;
