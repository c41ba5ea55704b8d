//! `stonet completions`: what makes a shell complete the command.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::console::Console;
use crate::error::Result;
use crate::stdout::say;

/// Print a script that lets a shell complete commands and flags
#[derive(Args)]
#[command(after_help = "Example: stonet completions bash > ~/.local/share/bash-completion/completions/stonet")]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub fn run(self, _: &Console) -> Result<()> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut crate::Cli::command(), "stonet", &mut script);
        say(&String::from_utf8_lossy(&script))
    }
}
