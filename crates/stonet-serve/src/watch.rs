//! A monitor beside the server: every row that is predicted is shown to it, on a thread of its own.

use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family as Gauges;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use stonet::monitor::{Family, Monitor, MonitorSettings, Process, Quantity};
use stonet_io::{Model, MonitorState, Table, Watch};

use crate::error::{Error, Result};

/// Tables that wait to be looked at; requests wait where there are more, so that no row is left out.
const WAITING: usize = 64;
/// How often a state that has changed is written.
const SAVE: Duration = Duration::from_secs(60);

/// How a head is watched while it is served.
#[derive(Debug, Clone)]
pub struct WatchPlan {
    /// Of a new state.
    pub settings: MonitorSettings,
    /// What has been seen before.
    pub earlier: Option<Monitor>,
    /// Where the state is written, every minute and at the end.
    pub state: Option<PathBuf>,
}

/// The name of a quantity in `/metrics`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Named {
    quantity: String,
}

/// What `/metrics` tells of the monitor.
#[derive(Debug, Clone, Default)]
struct Numbers {
    rows: Gauge<i64, AtomicI64>,
    alarm: Gauge<i64, AtomicI64>,
    evidence: Gauges<Named, Gauge<f64, AtomicU64>>,
    threshold: Gauges<Named, Gauge<f64, AtomicU64>>,
    refused: Counter,
    unsaved: Counter,
}

impl Numbers {
    fn show(&self, state: &Monitor) {
        let whole = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        self.rows.set(whole(state.rows()));
        self.alarm.set(i64::from(state.alarm(Family::Inputs).is_some()));
        let ten = std::f64::consts::LN_10;
        let mut columns: Option<&Process> = None;
        for process in state.processes(Family::Inputs) {
            match name(process.quantity()) {
                Some(quantity) => self.set(quantity, process.log_capital() / ten, process.threshold() / ten),
                None if columns.is_none_or(|c| c.log_capital() < process.log_capital()) => columns = Some(process),
                None => {}
            }
        }
        if let Some(most) = columns {
            self.set("columns".into(), most.log_capital() / ten, most.threshold() / ten);
        }
    }

    fn set(&self, quantity: String, evidence: f64, threshold: f64) {
        let named = Named { quantity };
        self.evidence.get_or_create(&named).set(evidence);
        self.threshold.get_or_create(&named).set(threshold);
    }
}

/// The name of a quantity; none of a column, of which there may be thousands.
fn name(quantity: &Quantity) -> Option<String> {
    Some(match quantity {
        Quantity::Distance => "distance".into(),
        Quantity::PredictedClass => "predicted_class".into(),
        Quantity::Confidence => "confidence".into(),
        Quantity::Prediction { target } => format!("prediction_{target}"),
        Quantity::Disagreement { target } => format!("disagreement_{target}"),
        _ => return None,
    })
}

/// A monitor that runs.
pub(crate) struct Watcher {
    rows: SyncSender<Message>,
    numbers: Numbers,
    thread: Mutex<Option<JoinHandle<Result<()>>>>,
}

enum Message {
    Rows(Table),
    End,
}

impl Watcher {
    /// Begins to watch, or goes on.
    pub(crate) fn new(model: Arc<Model>, plan: WatchPlan) -> Result<Self> {
        let numbers = Numbers::default();
        // What cannot be watched is refused before the first request.
        numbers.show(begin(&model, &plan)?.state());
        let (rows, arrived) = sync_channel(WAITING);
        let shown = numbers.clone();
        let run = move || watch(&model, plan, &arrived, &shown);
        let thread = std::thread::Builder::new().name("monitor".into()).spawn(run);
        let thread = thread.map_err(|e| Error::Failed { why: format!("a thread cannot be started: {e}") })?;
        Ok(Watcher { rows, numbers, thread: Mutex::new(Some(thread)) })
    }

    /// Its numbers among those of a registry.
    pub(crate) fn register(&self, registry: &mut Registry) {
        let n = &self.numbers;
        registry.register("monitor_rows", "Rows that the monitor has seen, earlier runs included", n.rows.clone());
        registry.register("monitor_alarm", "1 after an alarm about the inputs, and 0 before", n.alarm.clone());
        registry.register("monitor_log10_evidence", "Power of ten of the evidence of a change", n.evidence.clone());
        registry.register("monitor_log10_threshold", "Power of ten at which the alarm is raised", n.threshold.clone());
        registry.register("monitor_refused_batches", "Batches that the monitor could not take", n.refused.clone());
        registry.register("monitor_failed_saves", "Times that the state could not be written", n.unsaved.clone());
    }

    /// Shows it rows.
    pub(crate) fn add(&self, table: Table) {
        // A monitor that has ended looks at nothing.
        let _ = self.rows.send(Message::Rows(table));
    }

    /// Waits until all rows have been looked at and the state is written.
    pub(crate) fn end(&self) -> Result<()> {
        let _ = self.rows.send(Message::End);
        match self.thread.lock().unwrap_or_else(PoisonError::into_inner).take().map(JoinHandle::join) {
            Some(Err(_)) => Err(Error::Failed { why: "the monitor ended unexpectedly".into() }),
            Some(Ok(ended)) => ended,
            None => Ok(()),
        }
    }
}

fn begin<'m>(model: &'m Model, plan: &WatchPlan) -> Result<Watch<'m>> {
    Ok(match plan.earlier.clone() {
        Some(earlier) => Watch::resume(model, earlier)?,
        None => Watch::new(model, plan.settings)?,
    })
}

fn watch(model: &Model, plan: WatchPlan, arrived: &Receiver<Message>, numbers: &Numbers) -> Result<()> {
    let (mut watch, head) = (begin(model, &plan)?, model.identity()?);
    let (mut changed, mut saved) = (false, Instant::now());
    let save = |watch: &Watch<'_>| match &plan.state {
        Some(path) => MonitorState { head: head.clone(), monitor: watch.state().clone() }.save(path),
        None => Ok(()),
    };
    loop {
        match arrived.recv_timeout(SAVE) {
            Ok(Message::Rows(table)) => match watch.add(&table) {
                Ok(()) => {
                    numbers.show(watch.state());
                    changed = true;
                }
                Err(_) => {
                    numbers.refused.inc();
                }
            },
            Ok(Message::End) | Err(RecvTimeoutError::Disconnected) => return Ok(save(&watch)?),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if changed && saved.elapsed() >= SAVE {
            // A disk that is full now may not be so in a minute, and predictions go on meanwhile.
            match save(&watch) {
                Ok(()) => changed = false,
                Err(_) => {
                    numbers.unsaved.inc();
                }
            }
            saved = Instant::now();
        }
    }
}
