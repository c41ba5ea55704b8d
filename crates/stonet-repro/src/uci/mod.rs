//! The regression data sets of Table `tab:regression`, from files that the user has.

mod layout;
mod layouts;

mod data;

mod inconsistency;
mod report;
mod run;

pub use data::{Loaded, UciSet, load};
pub use inconsistency::{Inconsistency, Point, inconsistency};
pub use report::{Comparison, Report};
pub use run::{Options, run};
