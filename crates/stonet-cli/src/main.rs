//! The `stonet` command: parse, dispatch, and turn the outcome into an exit code (0 done, 2 error).
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod class_data;
mod commands;
mod progress;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Honest prediction intervals for networks that are already trained, by sparse stochastic neural networks.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Benchmark(commands::benchmark::Benchmark),
    Compare(commands::compare::Compare),
    Demo(commands::demo::Demo),
    Reproduce(commands::reproduce::Reproduce),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Benchmark(benchmark) => benchmark.run(),
        Command::Compare(compare) => compare.run(),
        Command::Demo(demo) => demo.run(),
        Command::Reproduce(reproduce) => reproduce.run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::from(2)
        }
    }
}
