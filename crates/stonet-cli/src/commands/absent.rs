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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        absent: Absent,
    }

    #[test]
    fn whatever_is_asked_the_answer_is_how_to_get_the_command() {
        for arguments in [vec!["serve"], vec!["serve", "head.stonet", "--port", "80"], vec!["serve", "--help-me", "-x"]]
        {
            let line = Line::try_parse_from(arguments).unwrap_or_else(|e| panic!("{e}"));
            let said = line.absent.run("serve").unwrap_err().to_string();
            assert!(said.starts_with("serve") && said.contains("--features serve -- serve"), "{said}");
        }
    }
}
