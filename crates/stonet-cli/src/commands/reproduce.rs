//! `stonet reproduce`: the paper's experiments, beside its published numbers.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use stonet::ClassMethod;
use stonet::train::Algorithm;
use stonet_compare::files;
use stonet_compare::simulated::Model;
use stonet_repro::simulation::{self, Options, Spec};
use stonet_repro::uci::{self, UciSet};
use stonet_repro::{cifar, consistency, fashion, selection};

use crate::args::SeedArg;
use crate::console::Console;
use crate::error::Result;

/// Rerun an experiment of the paper and compare the result with its published numbers
#[derive(Args)]
#[command(after_help = "Example: stonet reproduce simulation --models 1 --settings ii --replicates 10")]
pub struct Reproduce {
    #[command(subcommand)]
    experiment: Experiment,
}

#[derive(Subcommand)]
enum Experiment {
    /// Coverage of 95 % intervals on the illustrative example (Table 1)
    ///
    /// Each finished replicate is saved; the same command resumes after an interruption.
    #[command(after_help = "Example: stonet reproduce simulation --models 1 --settings ii --replicates 10")]
    Simulation(Simulation),
    /// Variable-selection paths on the illustrative example (Figure 2)
    #[command(after_help = "Example: stonet reproduce selection --out paths")]
    Selection(Selection),
    /// Prediction error and input selection as n grows, for every trainer and penalty (Theorem 3)
    ///
    /// Each finished fit is saved; the same command resumes after an interruption.
    #[command(
        after_help = "Example: stonet reproduce consistency --models 1 --trainer asghmc,asghmc+iro --replicates 5"
    )]
    Consistency(Consistency),
    /// Post-StoNet regression on the ten data sets of the paper (Table 2), every method side by side
    ///
    /// Each finished split is saved; the same command resumes after an interruption. The paper's 5000 epochs take an
    /// hour or more for all sets.
    #[command(after_help = "Example: stonet reproduce uci --data data --only liver,qsar --splits 3 --epochs 500")]
    Uci(Uci),
    /// Intervals without a penalty on Community: coverage collapses as training goes on
    #[command(after_help = "Example: stonet reproduce inconsistency --data data --splits 3")]
    Inconsistency(Inconsistency),
    /// Calibration of real networks' outputs on CIFAR-10 and CIFAR-100 (Tables 3 and 4), every method side by side
    ///
    /// Each finished split is saved; the same command resumes after an interruption.
    #[command(
        after_help = "Example: stonet reproduce cifar --data data --only densenet40_c10 --methods temperature,stack"
    )]
    Cifar(Cifar),
    /// Networks trained on Fashion-MNIST with cross-entropy, focal loss and MMCE, then calibrated by every method
    ///
    /// Each finished network is saved; the same command resumes after an interruption.
    #[command(after_help = "Example: stonet reproduce fashion --data data --repeats 1 --epochs 10")]
    Fashion(Fashion),
}

#[derive(Args)]
struct Simulation {
    /// Models to run
    #[arg(long, value_delimiter = ',', default_value = "1,2", value_parser = parse_model)]
    models: Vec<Model>,
    /// The paper's parameter settings to run
    #[arg(long, value_delimiter = ',', default_value = "i,ii,iii")]
    settings: Vec<String>,
    /// Training sets per model and setting
    #[arg(long, default_value_t = 100)]
    replicates: usize,
    #[command(flatten)]
    seed: SeedArg,
    /// Where the journal, tables and figures go
    #[arg(long, default_value = "stonet-out/simulation")]
    out: PathBuf,
}

#[derive(Args)]
struct Selection {
    /// Models to run
    #[arg(long, value_delimiter = ',', default_value = "1,2", value_parser = parse_model)]
    models: Vec<Model>,
    #[command(flatten)]
    seed: SeedArg,
    /// Where the table and figures go
    #[arg(long, default_value = "stonet-out/selection")]
    out: PathBuf,
}

#[derive(Args)]
struct Consistency {
    /// Models to run
    #[arg(long, value_delimiter = ',', default_value = "1,2", value_parser = parse_model)]
    models: Vec<Model>,
    /// Trainers to compare: asghmc, iro, asghmc+iro
    #[arg(long, value_delimiter = ',', default_value = "asghmc,iro,asghmc+iro")]
    trainer: Vec<Algorithm>,
    /// Training sets per model and n
    #[arg(long, default_value_t = 20)]
    replicates: usize,
    #[command(flatten)]
    seed: SeedArg,
    /// Where the journal, table and figures go
    #[arg(long, default_value = "stonet-out/consistency")]
    out: PathBuf,
}

#[derive(Args)]
struct Uci {
    /// Folder with the data sets, normalised or as UCI has them
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Sets to run, by name; all if not given
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    only: Option<Vec<UciSet>>,
    /// Random splits per set
    #[arg(long, default_value_t = 10)]
    splits: usize,
    /// Epochs of the networks; the paper's if not given
    #[arg(long)]
    epochs: Option<usize>,
    #[command(flatten)]
    seed: SeedArg,
    /// Where the journal, table and JSON go
    #[arg(long, default_value = "stonet-out/uci")]
    out: PathBuf,
}

#[derive(Args)]
struct Inconsistency {
    /// Folder with the data sets
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Random splits
    #[arg(long, default_value_t = 10)]
    splits: usize,
    /// Epochs of the networks; the paper's if not given
    #[arg(long)]
    epochs: Option<usize>,
    #[command(flatten)]
    seed: SeedArg,
    /// Where the journal, table and figure go
    #[arg(long, default_value = "stonet-out/inconsistency")]
    out: PathBuf,
}

#[derive(Args)]
struct Cifar {
    /// Folder with the networks' outputs (or the folder above `logits`)
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Files to run, by name; all if not given
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    only: Option<Vec<String>>,
    /// Methods to run, by name; all if not given
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    methods: Option<Vec<ClassMethod>>,
    /// Random splits of files with test rows only
    #[arg(long)]
    splits: Option<usize>,
    #[command(flatten)]
    seed: SeedArg,
    /// Where the journal, table and JSON go
    #[arg(long, default_value = "stonet-out/cifar")]
    out: PathBuf,
}

#[derive(Args)]
struct Fashion {
    /// Folder with the images in idx format (or a folder above it)
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Networks per loss
    #[arg(long)]
    repeats: Option<usize>,
    /// Epochs of the networks
    #[arg(long)]
    epochs: Option<usize>,
    /// Methods that calibrate, by name; all if not given
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    methods: Option<Vec<ClassMethod>>,
    #[command(flatten)]
    seed: SeedArg,
    /// Where the journal, table and JSON go
    #[arg(long, default_value = "stonet-out/fashion")]
    out: PathBuf,
}

fn parse_model(text: &str) -> std::result::Result<Model, String> {
    let id: u8 = text.parse().map_err(|_| format!("there is no model `{text}`; there are 1, 2"))?;
    Model::try_from(id)
}

impl Reproduce {
    pub fn run(self, console: &Console) -> Result<()> {
        match self.experiment {
            Experiment::Simulation(s) => s.run(console),
            Experiment::Selection(s) => s.run(console),
            Experiment::Consistency(c) => c.run(console),
            Experiment::Uci(u) => u.run(console),
            Experiment::Inconsistency(i) => i.run(console),
            Experiment::Cifar(c) => c.run(console),
            Experiment::Fashion(f) => f.run(console),
        }?;
        console.next("stonet benchmark table.csv --target y: the same methods on a table of your own");
        Ok(())
    }
}

impl Simulation {
    fn run(self, console: &Console) -> Result<()> {
        let options =
            Options { models: self.models, settings: self.settings, replicates: self.replicates, seed: self.seed.seed };
        let report = console.run("simulation", |tick| simulation::run(&Spec::shipped(), &options, &self.out, tick))?;
        let mut text = format!(
            "Coverage of nominal {} % intervals, variance `{}`:\n\n{}\nThe same fits under every named variance:\n\n{}",
            100.0 * report.level,
            report.variance,
            report.table(),
            report.variance_table()
        );
        for c in report.cells.iter().filter(|c| c.kappa_at_edge) {
            let (model, setting, kappa) = (c.model, &c.setting, c.kappa);
            text += &format!("\nnote: model {model}, setting {setting}: kappa {kappa} is at an end of its grid\n");
        }
        console.publish(&report, &text, "simulation", report.figures(), &self.out)
    }
}

impl Consistency {
    fn run(self, console: &Console) -> Result<()> {
        let options = consistency::Options {
            models: self.models,
            trainers: self.trainer,
            replicates: self.replicates,
            seed: self.seed.seed,
        };
        let spec = consistency::Spec::shipped();
        let report = console.run("consistency", |tick| consistency::run(&spec, &options, &self.out, tick))?;
        console.publish(&report, &report.table(), "consistency", report.figures(), &self.out)
    }
}

impl Uci {
    fn run(self, console: &Console) -> Result<()> {
        let options = uci::Options {
            data: self.data,
            sets: self.only.unwrap_or_else(|| UciSet::ALL.to_vec()),
            splits: self.splits,
            epochs: self.epochs,
            seed: self.seed.seed,
        };
        let report = console.run("uci", |tick| uci::run(&options, &self.out, tick))?;
        console.publish(&report, &report.text(), "uci", Vec::new(), &self.out)
    }
}

impl Cifar {
    fn run(self, console: &Console) -> Result<()> {
        let options = cifar::CifarOptions {
            data: self.data,
            only: self.only,
            methods: self.methods.unwrap_or_else(|| ClassMethod::possible(10, false)),
            splits: self.splits,
            seed: self.seed.seed,
        };
        let spec = cifar::CifarSpec::shipped();
        let report = console.run("cifar", |tick| cifar::cifar(&spec, &options, &self.out, tick))?;
        console.publish(&report, &report.text(), "cifar", Vec::new(), &self.out)
    }
}

impl Fashion {
    fn run(self, console: &Console) -> Result<()> {
        let options = fashion::FashionOptions {
            data: self.data,
            repeats: self.repeats,
            epochs: self.epochs,
            methods: self.methods.unwrap_or_else(|| ClassMethod::possible(10, false)),
            seed: self.seed.seed,
        };
        let report =
            console.run("fashion", |tick| fashion::run(&fashion::Spec::shipped(), &options, &self.out, tick))?;
        console.publish(&report, &report.text(), "fashion", Vec::new(), &self.out)
    }
}

impl Inconsistency {
    fn run(self, console: &Console) -> Result<()> {
        let report = console.run("inconsistency", |tick| {
            uci::inconsistency(&self.data, self.splits, self.epochs, self.seed.seed, &self.out, tick)
        })?;
        let nominal = 100.0 * report.level;
        let text = format!(
            "Community, kappa = 0: coverage of nominal {nominal} % intervals as the StoNet trains:\n\n{}",
            report.table()
        );
        let figure = ("inconsistency.svg".into(), report.figure());
        console.publish(&report, &text, "inconsistency", vec![figure], &self.out)
    }
}

impl Selection {
    fn run(self, console: &Console) -> Result<()> {
        files::create_dir(&self.out)?;
        let report =
            console.run("selection", |tick| selection::run(&Spec::shipped(), &self.models, self.seed.seed, tick))?;
        let mut text = format!("|average output gradient| at the chosen kappa:\n\n{}", report.table());
        let mut contents = Vec::new();
        for m in &report.models {
            text += &format!("\nModel {}, the chosen fit polished by IRO with MCP:\n{}", m.model, m.polished.text());
            contents.push((format!("path-{}.csv", m.model), m.csv()));
            contents.push((format!("path-{}.svg", m.model), m.svg()));
        }
        console.publish(&report, &text, "selection", contents, &self.out)
    }
}
