//! What goes wrong: every fault ends with exit code 2, a message that names it, and no file under the name of the
//! output.

#[path = "../common/mod.rs"]
mod common;
mod files;
mod networks;
mod output;
mod rows;
mod stop;
mod tables;
