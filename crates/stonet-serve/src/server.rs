//! Connections: accepted one by one, limited in number and time, and ended in order.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::error::Result;
use crate::limits::Limits;
use crate::predictor::Predictor;
use crate::routes::{App, router};
use crate::watch::Watcher;

/// How often it is looked whether to stop.
const LOOK: Duration = Duration::from_millis(50);

/// How long a failed accept is waited for, such as one for want of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// A server that listens and has not answered yet.
pub struct Server {
    runtime: tokio::runtime::Runtime,
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
}

impl Server {
    /// Listens at an address; port 0 is any that is free.
    pub fn bind(predictor: Predictor, address: SocketAddr, limits: Limits) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_io().enable_time().build()?;
        let listener = runtime.block_on(TcpListener::bind(address))?;
        let address = listener.local_addr()?;
        Ok(Server { runtime, listener, address, app: Arc::new(App::new(predictor, limits)) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until `stopped` is true; then no new connection is accepted, and requests that are under way are
    /// answered, and the state of the monitor is written, where there is one.
    pub fn run(self, stopped: impl Fn() -> bool) -> Result<()> {
        let Server { runtime, listener, app, .. } = self;
        let goodbye = app.limits.goodbye;
        runtime.block_on(serve(listener, app.clone(), stopped));
        runtime.shutdown_timeout(goodbye);
        app.predictor.watcher().map_or(Ok(()), Watcher::end)
    }
}

async fn serve(listener: TcpListener, app: Arc<App>, stopped: impl Fn() -> bool) {
    let limits = app.limits;
    let places = Arc::new(Semaphore::new(limits.connections));
    let service = TowerToHyperService::new(router(app));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.header);
    let connections = GracefulShutdown::new();
    while !stopped() {
        // Every wait is short, so that a request to stop is seen.
        let Ok(Ok(place)) = timeout(LOOK, places.clone().acquire_owned()).await else { continue };
        let stream = match timeout(LOOK, listener.accept()).await {
            Ok(Ok((stream, _))) => stream,
            Ok(Err(_)) => {
                sleep(PAUSE).await;
                continue;
            }
            Err(_) => continue,
        };
        // Answers are small and wanted at once.
        let _ = stream.set_nodelay(true);
        let connection = http.serve_connection(TokioIo::new(stream), service.clone());
        let connection = connections.watch(connection);
        tokio::spawn(async move {
            // A client that goes away, or is too slow, ends its own connection alone.
            let _ = connection.await;
            drop(place);
        });
    }
    drop(listener);
    let _ = timeout(limits.goodbye, connections.shutdown()).await;
}
