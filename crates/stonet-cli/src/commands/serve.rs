//! `stonet serve`: a head behind a small HTTP server, for trials and as a sidecar.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use stonet_io::{Model, SavedRule};
use stonet_onnx::{Front, Network, Preprocess, RunSettings};
use stonet_serve::{Limits, Predictor, Server};

use crate::console::{self, Console};
use crate::error::{Error, Result};

/// Serve a head over HTTP: POST rows to /predict, as JSON or as an Arrow stream
///
/// /health tells whether the server answers, /metrics has counters for Prometheus, and /openapi.json describes all of it.
/// There is no authentication and no encryption, so the server listens on this machine alone unless --host says otherwise.
/// Ctrl-C or SIGTERM ends it after the requests that are under way.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  stonet serve head.stonet --port 8080\n  stonet serve head.stonet --network network.onnx\n  curl -s localhost:8080/predict -H 'Content-Type: application/json' -d '{\"rows\": [{\"f0\": 1.5, \"f1\": 2}]}'"
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
        let model = Model::load(&self.head)?;
        let front = self.network.as_deref().map(|path| {
            let network = Network::open(path)?;
            Front::new(&network, self.tap.as_deref(), &RunSettings::default(), Preprocess::default())
        });
        let rule = self.rule.as_deref().map(SavedRule::load).transpose()?;
        let predictor = Predictor::new(model, front.transpose()?, rule)?;
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
        console.compute(|| {
            server.run(console::stopped);
            Ok(())
        })
    }
}
