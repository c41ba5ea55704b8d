//! Standard output.

use std::io::Write;

use crate::error::Result;

/// Prints to standard output. A reader that has seen enough (`| head`) is no error.
pub fn say(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(source) if source.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(stonet_compare::Error::Io { path: "standard output".into(), action: "write", source }.into())
        }
        _ => Ok(()),
    }
}
