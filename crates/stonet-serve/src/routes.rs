//! The paths of the server and what each answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::json;
use tokio::time::timeout;

use crate::error::{Error, Result, refused};
use crate::limits::Limits;
use crate::metrics::{self, Metrics};
use crate::openapi;
use crate::predictor::{Form, Predictor};

/// What all requests share.
pub(crate) struct App {
    pub(crate) predictor: Predictor,
    pub(crate) metrics: Metrics,
    pub(crate) limits: Limits,
    /// One description for all who ask.
    openapi: String,
}

impl App {
    pub(crate) fn new(predictor: Predictor, limits: Limits) -> Self {
        let metrics = Metrics::new(predictor.task(), &predictor.model().fingerprint, predictor.watcher());
        let openapi = openapi::describe(&predictor).to_string();
        App { predictor, metrics, limits, openapi }
    }
}

/// All paths.
pub(crate) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/predict", post(predict).fallback(|| method_not_allowed("POST")))
        .route("/health", get(health).fallback(|| method_not_allowed("GET")))
        .route("/metrics", get(told).fallback(|| method_not_allowed("GET")))
        .route("/openapi.json", get(described).fallback(|| method_not_allowed("GET")))
        .fallback(no_such_path)
        .with_state(app)
}

async fn method_not_allowed(method: &'static str) -> Response {
    let message = format!("this path takes {method} requests");
    let mut response = refused(StatusCode::METHOD_NOT_ALLOWED, &message);
    response.headers_mut().insert(header::ALLOW, header::HeaderValue::from_static(method));
    response
}

async fn no_such_path(State(app): State<Arc<App>>, uri: Uri) -> Response {
    app.metrics.answered("other", StatusCode::NOT_FOUND.as_u16());
    let message = format!("there is no path {}; there are /predict, /health, /metrics and /openapi.json", uri.path());
    refused(StatusCode::NOT_FOUND, &message)
}

async fn health(State(app): State<Arc<App>>) -> Response {
    app.metrics.answered("/health", 200);
    let model = app.predictor.model();
    let body = json!({
        "schema": "stonet.health/1",
        "status": "ok",
        "version": env!("CARGO_PKG_VERSION"),
        "task": app.predictor.task(),
        "fingerprint": model.fingerprint,
        "columns": app.predictor.columns(),
        "monitored": app.predictor.watcher().is_some(),
    });
    ([(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

async fn told(State(app): State<Arc<App>>) -> Response {
    app.metrics.answered("/metrics", 200);
    ([(header::CONTENT_TYPE, metrics::TYPE)], app.metrics.text()).into_response()
}

async fn described(State(app): State<Arc<App>>) -> Response {
    app.metrics.answered("/openapi.json", 200);
    ([(header::CONTENT_TYPE, "application/json")], app.openapi.clone()).into_response()
}

async fn predict(State(app): State<Arc<App>>, request: Request) -> Response {
    let response = predicted(&app, request).await.unwrap_or_else(Error::into_response);
    app.metrics.answered("/predict", response.status().as_u16());
    response
}

async fn predicted(app: &Arc<App>, request: Request) -> Result<Response> {
    let begin = Instant::now();
    let (parts, body) = request.into_parts();
    let Query(query) = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri)
        .map_err(|e| Error::Parameter { name: "list".into(), why: format!("cannot be read: {e}") })?;
    let settings = app.predictor.settings(&query)?;
    let forms = forms(&parts.headers)?;
    let bytes = read(body, &app.limits).await?;
    let under_way = app.metrics.under_way();
    let shared = app.clone();
    // Computing has threads of its own, so that other requests are read meanwhile. Work that takes too long goes on
    // without its client.
    let work = tokio::task::spawn_blocking(move || {
        let _under_way = under_way;
        shared.predictor.answer(&settings, bytes, forms)
    });
    let answer = timeout(app.limits.work, work).await.map_err(|_| Error::Long { seconds: seconds(app.limits.work) })?;
    // A panic is a fault of ours: the request fails, and the server goes on.
    let answer = answer.map_err(|_| Error::Failed { why: "the prediction ended unexpectedly".into() })??;
    app.metrics.predicted(answer.rows, begin.elapsed());
    let [_, to] = forms;
    Ok(([(header::CONTENT_TYPE, to.media())], answer.bytes).into_response())
}

fn seconds(duration: Duration) -> u64 {
    duration.as_secs_f64().ceil() as u64
}

/// The form of the body, and that of the answer: the one that is asked for by `Accept`, or else the same.
fn forms(headers: &HeaderMap) -> Result<[Form; 2]> {
    let text = |name: header::HeaderName| headers.get(name).and_then(|v| v.to_str().ok());
    let sent = text(header::CONTENT_TYPE).unwrap_or("none");
    let from = Form::of(sent).ok_or_else(|| Error::Type { found: sent.chars().take(100).collect() })?;
    let accepted = text(header::ACCEPT).unwrap_or_default();
    let to = accepted.split(',').find_map(Form::of).unwrap_or(from);
    Ok([from, to])
}

/// The bytes of a body that is not too large and does not take too long.
async fn read(body: Body, limits: &Limits) -> Result<Vec<u8>> {
    let collected = timeout(limits.read, Limited::new(body, limits.body).collect()).await;
    let collected = collected.map_err(|_| Error::Slow { seconds: seconds(limits.read) })?;
    match collected {
        Ok(bytes) => Ok(bytes.to_bytes().into()),
        Err(e) if e.is::<LengthLimitError>() => Err(Error::TooLarge { limit: limits.body }),
        Err(e) => Err(Error::Broken { why: e.to_string() }),
    }
}
