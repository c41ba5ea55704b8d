//! A command in a program that was built without it: says how to get it.

use std::ffi::OsString;

use clap::Args;

use crate::error::{Error, Result};

/// This program was built without this command
#[derive(Args)]
pub struct Absent {
    /// Whatever was asked for
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _arguments: Vec<OsString>,
}

impl Absent {
    /// The error, for the command and the feature of this name.
    pub fn run(self, name: &'static str) -> Result<()> {
        let why = format!(
            "is not part of this program: install it by `cargo install --path crates/stonet-cli --features serve,reproduce`, or run \
             `cargo run --release --features {name} -- {name}` in a clone"
        );
        Err(Error::flag(name, why))
    }
}
