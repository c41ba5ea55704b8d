//! Counters and times of a server, in the text format of Prometheus.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::watch::Watcher;

/// The media type of what [`Metrics::text`] gives.
pub(crate) const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Which requests are counted together.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    path: &'static str,
    status: u16,
}

/// What is counted.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    rows: Counter,
    seconds: Histogram,
    under_way: Gauge<i64, AtomicI64>,
}

impl Metrics {
    /// Nothing counted yet, for a head of this task and fingerprint.
    pub(crate) fn new(task: &'static str, fingerprint: &str, watcher: Option<&Watcher>) -> Self {
        let mut registry = Registry::with_prefix("stonet");
        let (requests, rows) = (Family::<Answered, Counter>::default(), Counter::default());
        // From half a millisecond to about 16 s.
        let seconds = Histogram::new(exponential_buckets(0.0005, 2.0, 16));
        let under_way = Gauge::<i64, AtomicI64>::default();
        let head = Info::new(vec![("task", task.to_owned()), ("fingerprint", fingerprint.to_owned())]);
        registry.register("head", "The head that is served", head);
        registry.register("requests", "Requests that were answered, by path and status", requests.clone());
        registry.register("rows", "Rows that were predicted", rows.clone());
        registry.register(
            "predict_seconds",
            "Seconds from the first byte of a prediction's body to its answer",
            seconds.clone(),
        );
        registry.register("predictions_under_way", "Predictions that are being computed", under_way.clone());
        if let Some(watcher) = watcher {
            watcher.register(&mut registry);
        }
        Metrics { registry, requests, rows, seconds, under_way }
    }

    /// Counts an answer.
    pub(crate) fn answered(&self, path: &'static str, status: u16) {
        self.requests.get_or_create(&Answered { path, status }).inc();
    }

    /// Counts rows that were predicted, and the time that it took.
    pub(crate) fn predicted(&self, rows: usize, took: Duration) {
        self.rows.inc_by(rows as u64);
        self.seconds.observe(took.as_secs_f64());
    }

    /// Counts a prediction as long as the value lives.
    pub(crate) fn under_way(&self) -> UnderWay {
        self.under_way.inc();
        UnderWay(self.under_way.clone())
    }

    /// All numbers.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

/// A prediction that is being computed.
pub(crate) struct UnderWay(Gauge<i64, AtomicI64>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.inner().fetch_sub(1, Ordering::Relaxed);
    }
}
