//! The regression data sets of Table `tab:regression`, from files that the user has.

mod layout;
mod layouts;

mod data;

pub use data::{Loaded, UciSet, load};
