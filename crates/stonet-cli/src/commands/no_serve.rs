//! `stonet serve` in a program that was built without it: says how to get it.

use std::ffi::OsString;

use clap::Args;

use crate::console::Console;
use crate::error::{Error, Result};

/// Serve a head over HTTP; this program was built without it
#[derive(Args)]
pub struct Serve {
    /// Whatever was asked for
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _arguments: Vec<OsString>,
}

impl Serve {
    pub fn run(self, _console: &Console) -> Result<()> {
        let why = "is not part of this program: install it by `cargo install --path crates/stonet-cli --features serve`, or use the \
                   command of the Python package";
        Err(Error::flag("serve", why))
    }
}
