//! What a client may ask for at most.

use std::time::Duration;

/// What a client may ask for at most.
///
/// | name | default | purpose | range |
/// |---|---|---|---|
/// | `body` | 64 MiB | bytes of a body | |
/// | `header` | 10 s | time for the headers of a request, also between two requests of a connection | |
/// | `read` | 30 s | time for a body | |
/// | `work` | 60 s | time for predictions | |
/// | `connections` | 256 | connections at once; others wait | ≥ 1 |
/// | `goodbye` | 10 s | time for requests that are under way when the server is stopped | |
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Bytes of a body.
    pub body: usize,
    /// Time for the headers of a request.
    pub header: Duration,
    /// Time for a body.
    pub read: Duration,
    /// Time for predictions.
    pub work: Duration,
    /// Connections at once.
    pub connections: usize,
    /// Time for requests that are under way when the server is stopped.
    pub goodbye: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Limits {
            body: 64 << 20,
            header: seconds(10),
            read: seconds(30),
            work: seconds(60),
            connections: 256,
            goodbye: seconds(10),
        }
    }
}
