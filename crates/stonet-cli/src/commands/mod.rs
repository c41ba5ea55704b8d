//! One file per subcommand, and what they share.

pub mod benchmark;
pub mod compare;
pub mod demo;
pub mod reproduce;

use std::io::Write;
use std::path::Path;

use stonet_repro::{Error, Result, files};

/// Runs `work` on this many threads, or on all cores.
fn on_threads<T: Send>(jobs: Option<usize>, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    if jobs == Some(0) {
        return Err(Error::Range { name: "--jobs", range: "at least 1" });
    }
    match rayon::ThreadPoolBuilder::new().num_threads(jobs.unwrap_or(0)).build() {
        Ok(pool) => pool.install(work),
        // Too many threads for the machine: the work itself does not need them.
        Err(_) => work(),
    }
}

/// Writes files into a directory, each whole or not at all.
fn write_all(dir: &Path, contents: &[(String, String)]) -> Result<()> {
    files::create_dir(dir)?;
    contents.iter().try_for_each(|(name, text)| files::write(&dir.join(name), text))
}

/// Indented JSON with a final line end.
fn pretty<T: serde::Serialize>(value: &T) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("plain data serialises");
    text.push('\n');
    text
}

/// A report's files (beside `name.json` and `name.md`), written and announced; printed as JSON or as text.
fn publish<T: serde::Serialize>(
    report: &T,
    text: &str,
    name: &str,
    mut contents: Vec<(String, String)>,
    out: &Path,
    json: bool,
) -> Result<()> {
    let data = pretty(report);
    contents.push((format!("{name}.json"), data.clone()));
    contents.push((format!("{name}.md"), text.to_owned()));
    write_all(out, &contents)?;
    if json { say(&data) } else { say(&format!("{text}\nTables, figures and JSON are in {}\n", out.display())) }
}

/// Prints to standard output. A reader that has seen enough (`| head`) is no error.
fn say(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::Io { path: "standard output".into(), action: "write", source: e })
        }
        _ => Ok(()),
    }
}
