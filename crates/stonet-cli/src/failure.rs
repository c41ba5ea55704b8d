//! Errors as JSON on standard output, for programs that called with `--json`; people read the same on standard error.

use serde::Serialize;
use stonet_compare::files;

use crate::stdout;

/// What `--json` prints where a command fails.
#[derive(Serialize)]
struct Failure<'a> {
    schema: &'static str,
    error: Cause<'a>,
    exit_code: u8,
}

#[derive(Serialize)]
struct Cause<'a> {
    message: &'a str,
    /// `usage`, `setting`, `data`, `file`, `output`, `network`, `experiment` or `stopped`.
    kind: &'static str,
}

/// Prints the error; a closed standard output is ignored, since the exit code tells the same.
pub fn print(message: &str, kind: &'static str, exit_code: u8) {
    let failure = Failure { schema: "stonet.error/1", error: Cause { message, kind }, exit_code };
    let _ = stdout::say(&files::pretty(&failure));
}

/// A wrong call in one paragraph, without the usage and the hint at `--help`.
pub fn usage(e: &clap::Error) -> String {
    let text = e.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let end = text.find("\n\nUsage:").or_else(|| text.find("\n\nFor more information")).unwrap_or(text.len());
    text[..end].trim_end().to_owned()
}
