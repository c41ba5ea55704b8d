//! What can be wrong with a request, with the status that says so.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// The result of every fallible call of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A request that cannot be answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The body is not what it says to be.
    #[error("the body is no {what}: {why}")]
    Malformed {
        /// What it should be.
        what: &'static str,
        /// What is wrong.
        why: String,
    },
    /// Something in the query of the address.
    #[error("parameter {name} {why}")]
    Parameter {
        /// The parameter.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// Rows or settings that the head refuses.
    #[error(transparent)]
    Rows(#[from] stonet_io::Error),
    /// Rows that the network in front of the head refuses.
    #[error(transparent)]
    Network(#[from] stonet_onnx::Error),
    /// A body of another type.
    #[error("the body has Content-Type {found}; send application/json or application/vnd.apache.arrow.stream")]
    Type {
        /// The type.
        found: String,
    },
    /// A body that is too large.
    #[error(
        "the body is larger than {limit} bytes; send fewer rows at a time, or start the server with a larger --max-body"
    )]
    TooLarge {
        /// The most that is taken.
        limit: usize,
    },
    /// A body that does not arrive.
    #[error("the body did not arrive within {seconds} s")]
    Slow {
        /// How long was waited.
        seconds: u64,
    },
    /// Work that takes too long.
    #[error("the predictions took longer than {seconds} s; send fewer rows at a time")]
    Long {
        /// How long was waited.
        seconds: u64,
    },
    /// A connection that ended within the body.
    #[error("the body ended early: {why}")]
    Broken {
        /// What was seen.
        why: String,
    },
    /// A fault of the server.
    #[error("the server failed: {why}")]
    Failed {
        /// What happened.
        why: String,
    },
}

impl Error {
    /// The status that it is answered with.
    pub fn status(&self) -> StatusCode {
        match self {
            Error::Malformed { .. } | Error::Parameter { .. } | Error::Broken { .. } => StatusCode::BAD_REQUEST,
            Error::Rows(_) | Error::Network(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Error::Type { .. } => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Error::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Error::Slow { .. } => StatusCode::REQUEST_TIMEOUT,
            Error::Long { .. } => StatusCode::SERVICE_UNAVAILABLE,
            Error::Failed { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// The body of every answer that is an error; the command's `--json` has the same form.
#[derive(Serialize)]
struct Body<'a> {
    schema: &'static str,
    error: Cause<'a>,
}

#[derive(Serialize)]
struct Cause<'a> {
    message: &'a str,
}

/// An answer with this status and this message.
pub(crate) fn refused(status: StatusCode, message: &str) -> Response {
    let body = Body { schema: "stonet.error/1", error: Cause { message } };
    let text = serde_json::to_string(&body).unwrap_or_default();
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        refused(self.status(), &self.to_string())
    }
}
