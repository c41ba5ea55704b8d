//! A small HTTP server in front of a fitted head, for trials and as a sidecar of a model that is in use.
//!
//! | path | method | what it gives |
//! |---|---|---|
//! | `/predict` | POST | predictions for the rows of the body, JSON or an Arrow stream |
//! | `/health` | GET | whether the server answers, and what it serves |
//! | `/metrics` | GET | counters and times in the text format of Prometheus |
//! | `/openapi.json` | GET | a description of these paths and of the head's columns |
//!
//! Rows go through the same plan as `stonet predict`, so that the numbers are the same bit by bit. There is no
//! authentication and no TLS: put a proxy in front of it where others can reach it.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

// A module uses only modules above it; `tests/rooms.rs` of stonet-cli checks that.
mod error;
mod limits;
mod json;
mod arrow;
mod watch;
mod predictor;
mod metrics;
mod openapi;
mod routes;
mod server;

pub use error::{Error, Result};
pub use limits::Limits;
pub use predictor::Predictor;
pub use server::Server;
pub use watch::WatchPlan;
