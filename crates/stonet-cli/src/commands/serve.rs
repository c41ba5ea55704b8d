//! `stonet serve`: a head behind a small HTTP server, for trials and as a sidecar.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use stonet::monitor::{Monitor, MonitorSettings};
use stonet_io::{Model, SavedRule, default_level};
use stonet_onnx::{Front, Network, Preprocess, RunSettings};
use stonet_serve::{Limits, Predictor, Server, WatchPlan};

use crate::console::{self, Console};
use crate::error::{Error, Result};
use crate::output;
use crate::state::Held;

/// Serve a head over HTTP: POST rows to /predict, as JSON or as an Arrow stream
///
/// /health tells whether the server answers, /metrics has counters for Prometheus, and /openapi.json describes all of it.
/// There is no authentication and no encryption, so the server listens on this machine alone unless --host says otherwise.
/// Ctrl-C or SIGTERM ends it after the requests that are under way.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  stonet serve head.stonet --port 8080\n  stonet serve head.stonet --network network.onnx\n  stonet serve head.stonet --monitor --state inputs.json\n  curl -s localhost:8080/predict -H 'Content-Type: application/json' -d '{\"rows\": [{\"f0\": 1.5, \"f1\": 2}]}'"
)]
pub struct Serve {
    /// The head, made by `stonet fit`
    head: PathBuf,
    /// The network in front of the head: rows then hold the network's own inputs
    #[arg(long, value_name = "NETWORK.onnx")]
    network: Option<PathBuf>,
    /// The tensor with the features; the last hidden layer if not given
    #[arg(long, value_name = "TENSOR", requires = "network")]
    tap: Option<String>,
    /// A rule of answers, made by `stonet control` for this head: answers then have a column `decision`
    #[arg(long, value_name = "RULE")]
    rule: Option<PathBuf>,
    /// Show every row to a monitor of the inputs: /metrics then has its evidence and its alarm
    ///
    /// Rows then need all columns that the head was fitted on.
    #[arg(long)]
    monitor: bool,
    /// File that keeps what the monitor has seen: written every minute and at the end, and gone on with at the start
    ///
    /// It is the state of `stonet monitor --unlabelled`.
    #[arg(long, value_name = "FILE", requires = "monitor")]
    state: Option<PathBuf>,
    /// Probability that an alarm is ever raised although nothing has changed [default: 0.01, or that of the state]
    #[arg(long, value_name = "PROBABILITY", requires = "monitor")]
    alarm: Option<f64>,
    /// Address to listen at; 0.0.0.0 lets other machines in
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    host: IpAddr,
    /// Port to listen at; 0 takes a free one
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// Largest body of a request, in MiB
    #[arg(long, default_value_t = 64, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=4096))]
    max_body: u32,
    /// Seconds that a body may take to arrive, and predictions to be computed
    #[arg(long, default_value_t = 30, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=3600))]
    timeout: u32,
    /// Connections at once; others wait
    #[arg(long, default_value_t = 256, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536))]
    connections: u32,
}

impl Serve {
    pub fn run(self, console: &Console) -> Result<()> {
        if let Some(state) = &self.state {
            let read = [Some(&self.head), self.network.as_ref(), self.rule.as_ref()];
            output::check(state, &read.into_iter().flatten().map(PathBuf::as_path).collect::<Vec<_>>())?;
        }
        let model = Model::load(&self.head)?;
        // Held to the end, so that no other process goes on with the same state.
        let hold = |path| Held::new(path, &model.identity()?, self.alarm, None);
        let mut held = self.state.as_deref().map(hold).transpose()?;
        let earlier = held.as_mut().and_then(|h| h.earlier.take());
        let plan = self.monitor.then(|| self.plan(&model, earlier));
        let front = self.network.as_deref().map(|path| {
            let network = Network::open(path)?;
            Front::new(&network, self.tap.as_deref(), &RunSettings::default(), Preprocess::default())
        });
        let rule = self.rule.as_deref().map(SavedRule::load).transpose()?;
        let mut predictor = Predictor::new(model, front.transpose()?, rule)?;
        if let Some(plan) = plan {
            predictor = predictor.watched(plan)?;
        }
        let time = Duration::from_secs(self.timeout.into());
        let limits = Limits {
            body: (self.max_body as usize) << 20,
            read: time,
            work: time,
            connections: self.connections as usize,
            ..Limits::default()
        };
        let wanted = SocketAddr::new(self.host, self.port);
        let server = Server::bind(predictor, wanted, limits).map_err(|e| {
            Error::flag(
                "--port",
                format!("{}: cannot listen at {wanted} ({e}); choose another port or --host", self.port),
            )
        })?;
        let address = server.address();
        if !address.ip().is_loopback() {
            console.warn(format_args!(
                "{address} can be reached from other machines, without a password and without encryption; put a proxy in front of it"
            ));
        }
        let started =
            json!({ "schema": "stonet.serve/1", "address": address.to_string(), "url": format!("http://{address}") });
        console.result(&started, || format!("Listening at http://{address}/predict; Ctrl-C ends it.\n"))?;
        console.next(format_args!("curl -s http://{address}/openapi.json"));
        console::ends_in_order();
        console.compute(|| Ok(server.run(console::stopped)?))
    }

    /// How the head is watched: with a new state, or with one that goes on.
    fn plan(&self, model: &Model, earlier: Option<Monitor>) -> WatchPlan {
        let new = MonitorSettings::new(model.level.unwrap_or_else(default_level));
        let settings = MonitorSettings { alarm: self.alarm.unwrap_or(new.alarm), ..new };
        WatchPlan { settings, earlier, state: self.state.clone() }
    }
}
