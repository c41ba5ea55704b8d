//! The `stonet` command as a function of its arguments, for the program and for the Python package: parse, dispatch,
//! and turn the outcome into an exit code.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

// A module uses only modules above it; `tests/rooms.rs` checks that.
mod error;
mod stages;
mod stdout;
mod failure;
mod narrow;
mod console;
mod numbers;
mod args;
mod asked;
mod output;
mod seen;
mod state;
mod rows;
mod report;
mod commands;
// Tests and fuzz targets alone use it; cargo-fuzz sets `fuzzing`.
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod attacks;

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use console::Console;

/// Honest prediction intervals and calibrated probabilities for networks that are already trained, by sparse stochastic
/// neural networks
#[derive(Parser)]
#[command(
    name = "stonet",
    version,
    after_help = "Workflow: train (or your own network) -> features -> fit -> evaluate -> predict or export -> monitor. Example: `stonet demo`.\n\nExit codes: 0 done, 1 a required threshold was missed, a wish cannot be promised or a monitor raised an alarm, 2 error, 130 stopped by Ctrl-C. With --json an error is a JSON object on standard output as well."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    console: Console,
}

#[derive(Subcommand)]
enum Command {
    Demo(commands::demo::Demo),
    Doctor(commands::doctor::Doctor),
    Train(commands::train::Train),
    Features(commands::features::Features),
    Fit(commands::fit::Fit),
    Predict(commands::predict::Predict),
    Evaluate(commands::evaluate::Evaluate),
    Control(commands::control::Control),
    Monitor(commands::monitor::Monitor),
    Update(commands::update::Update),
    Adapt(commands::adapt::Adapt),
    Export(commands::export::Export),
    Inspect(commands::inspect::Inspect),
    #[cfg(feature = "serve")]
    Serve(commands::serve::Serve),
    #[cfg(not(feature = "serve"))]
    #[command(hide = true)]
    Serve(commands::absent::Absent),
    Compare(commands::compare::Compare),
    Benchmark(commands::benchmark::Benchmark),
    #[cfg(feature = "reproduce")]
    Reproduce(commands::reproduce::Reproduce),
    #[cfg(not(feature = "reproduce"))]
    #[command(hide = true)]
    Reproduce(commands::absent::Absent),
    Completions(commands::completions::Completions),
}

/// What a command that ran to its end says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done,
    /// A required threshold was missed, or a monitor raised an alarm.
    Missed,
}

fn dispatch(command: Command, console: &Console) -> error::Result<Outcome> {
    match command {
        Command::Demo(c) => c.run(console)?,
        Command::Doctor(c) => c.run(console)?,
        Command::Train(c) => c.run(console)?,
        Command::Features(c) => c.run(console)?,
        Command::Fit(c) => c.run(console)?,
        Command::Predict(c) => c.run(console)?,
        Command::Evaluate(c) => return c.run(console),
        Command::Control(c) => return c.run(console),
        Command::Monitor(c) => return c.run(console),
        Command::Update(c) => c.run(console)?,
        Command::Adapt(c) => c.run(console)?,
        Command::Export(c) => c.run(console)?,
        Command::Inspect(c) => c.run(console)?,
        #[cfg(feature = "serve")]
        Command::Serve(c) => c.run(console)?,
        #[cfg(not(feature = "serve"))]
        Command::Serve(c) => c.run("serve")?,
        Command::Compare(c) => c.run(console)?,
        Command::Benchmark(c) => c.run(console)?,
        #[cfg(feature = "reproduce")]
        Command::Reproduce(c) => c.run(console)?,
        #[cfg(not(feature = "reproduce"))]
        Command::Reproduce(c) => c.run("reproduce")?,
        Command::Completions(c) => c.run(console)?,
    }
    Ok(Outcome::Done)
}

/// What the program says that is called without a command. The exit code is that of a wrong call, so that a script which
/// has lost its arguments does not go on.
const WELCOME: &str = "\
Honest intervals and calibrated probabilities for a network you already have.

  stonet demo --quick
      shows it on generated data, in seconds
  stonet fit validation.csv --task regression --prediction prediction --target y -o head.stonet
      learns from rows that the network was not trained on: its last hidden layer, its prediction, the answer
  stonet evaluate head.stonet test.csv --report report.html
      judges the intervals on other rows

All commands: `stonet --help`. Without a network: `stonet train --help`. For bug reports: `stonet doctor`.
";

/// Runs the command line, the program's name first, and returns the exit code: 0 done, 1 a required threshold was
/// missed or a monitor raised an alarm, 2 error, 130 stopped by Ctrl-C.
pub fn run(arguments: Vec<OsString>) -> u8 {
    if arguments.len() <= 1 {
        eprint!("{WELCOME}");
        return 2;
    }
    report::remember(&arguments);
    let json = arguments.iter().skip(1).take_while(|a| *a != "--").any(|a| a == "--json");
    let parsed = numbers::negative_allowed(Cli::command()).try_get_matches_from(arguments);
    let Cli { command, console } = match parsed.and_then(|m| Cli::from_arg_matches(&m)) {
        Ok(cli) => cli,
        Err(e) => {
            // Help and versions come this way too. A closed output is ignored.
            let _ = e.print();
            let code = u8::try_from(e.exit_code()).unwrap_or(2);
            if json && e.use_stderr() {
                failure::print(&failure::usage(&e), "usage", code);
            }
            return code;
        }
    };
    let work = || {
        console
            .check()
            .and_then(|()| console.staged(|| dispatch(command, &console)))
            .map_err(rows::hints::features_first)
    };
    match console::interruptible(console.json, work) {
        Ok(Outcome::Done) => 0,
        Ok(Outcome::Missed) => 1,
        Err(e) if e.is_closed_pipe() => 0,
        Err(e) => {
            let (word, kind, code) =
                if console::cut_short() { ("stopped", "stopped", 130) } else { ("error", e.kind(), 2) };
            eprintln!("{word}: {}", stdout::visible(&e.to_string()));
            if console.json {
                failure::print(&e.to_string(), kind, code);
            }
            code
        }
    }
}
