//! The `stonet` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    stonet_cli::run(std::env::args_os().collect()).into()
}
