//! Where intervals cover less than they promise: the least coverage of several parts of the rows, and what it is by
//! chance.

mod least;

pub use least::{Least, PART_ROWS, least_by_chance};
