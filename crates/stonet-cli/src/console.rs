//! What every command shares with the terminal: results, notes, progress, threads, and requests to stop.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Once, OnceLock};
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use stonet::base::{PARTS, Recording};
use stonet_compare::files;

use crate::error::{Error, Result};
use crate::narrow::narrow;
use crate::stdout::visible;
use crate::{failure, stages, stdout};

/// Work that is over by then needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long work has to end in order after Ctrl-C.
const GRACE: Duration = Duration::from_millis(500);

/// Whether the user has asked to stop.
static STOP: AtomicBool = AtomicBool::new(false);
/// Whether the command that is under way answers in JSON.
static JSON: AtomicBool = AtomicBool::new(false);
/// Whether the command that is under way ends by itself after a request to stop, however long that takes.
static IN_ORDER: AtomicBool = AtomicBool::new(false);
/// Whether a command is under way.
static RUNNING: AtomicBool = AtomicBool::new(false);

/// How results are shown; the same for every command.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Common options")]
pub struct Console {
    /// Print JSON instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// Number of threads; all cores if not given
    #[arg(long, global = true, value_name = "N")]
    jobs: Option<usize>,
    /// No progress and no notes, only results, warnings and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Print more details
    #[arg(short, long, global = true)]
    verbose: bool,
}

/// Runs a command that Ctrl-C and SIGTERM end. Work that asks whether to go on ends in order. Whatever else is being
/// computed when the signal comes, such as a large factorisation, is given [`GRACE`] and then left: the process exits
/// with 130. A second signal ends it at once. Files under their final names are whole in any case, and unfinished ones
/// are removed.
pub fn interruptible<T>(json: bool, command: impl FnOnce() -> T) -> T {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Where no handler can be had, the system's own way stays.
        let _ = ctrlc::set_handler(|| {
            let again = STOP.swap(true, Ordering::Relaxed);
            // A process that has run a command and does something else now, as Python may, ends as it would without a
            // handler.
            if again || !RUNNING.load(Ordering::Relaxed) {
                leave();
            }
            if IN_ORDER.load(Ordering::Relaxed) {
                return;
            }
            std::thread::spawn(|| {
                std::thread::sleep(GRACE);
                if RUNNING.load(Ordering::Relaxed) {
                    leave();
                }
            });
        });
    });
    JSON.store(json, Ordering::Relaxed);
    IN_ORDER.store(false, Ordering::Relaxed);
    RUNNING.store(true, Ordering::Relaxed);
    let outcome = command();
    RUNNING.store(false, Ordering::Relaxed);
    outcome
}

/// Ends the process while its threads still work.
fn leave() -> ! {
    stonet_io::discard_unfinished_files();
    // A progress bar may stand in this line.
    let clear = if std::io::stderr().is_terminal() { "\r\x1b[2K" } else { "" };
    let _ = writeln!(std::io::stderr(), "{clear}stopped");
    if RUNNING.load(Ordering::Relaxed) && JSON.load(Ordering::Relaxed) {
        // On a thread of its own: another one may hold standard output, and write to a pipe that nobody reads.
        let printed = std::thread::spawn(|| failure::print("stopped", "stopped", 130));
        let begin = Instant::now();
        while !printed.is_finished() && begin.elapsed() < GRACE {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    std::process::exit(130)
}

/// Leaves the end of the command that is under way to itself: a first signal is a request, and a second one ends it at
/// once.
#[cfg(feature = "serve")]
pub fn ends_in_order() {
    IN_ORDER.store(true, Ordering::Relaxed);
}

/// Whether the user has asked to stop.
pub fn stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Whether an error is the end of work that the user has stopped. Where a signal is the ordinary end, an error stays one.
pub fn cut_short() -> bool {
    stopped() && !IN_ORDER.load(Ordering::Relaxed)
}

impl Console {
    /// A result on standard output: JSON, or the text for people.
    pub fn result<T: Serialize>(&self, value: &T, text: impl FnOnce() -> String) -> Result<()> {
        match self.json {
            true => stdout::say(&files::pretty(value)),
            false => stdout::say(&narrow(&visible(&text()))),
        }
    }

    /// A report's files (beside `name.json` and `name.md`), written and announced; printed as JSON or as text.
    pub fn publish<T: Serialize>(
        &self,
        report: &T,
        text: &str,
        name: &str,
        contents: Vec<(String, String)>,
        out: &Path,
    ) -> Result<()> {
        files::publish(out, name, report, text, contents)?;
        self.result(report, || format!("{text}\nTables, figures and JSON are in {}\n", out.display()))
    }

    /// Fails where these flags cannot be followed; before any work.
    pub fn check(&self) -> Result<()> {
        match self.jobs {
            Some(0) => Err(stonet_compare::Error::Range { name: "--jobs", range: "at least 1" }.into()),
            Some(jobs) => Ok(stonet::base::check_threads("--jobs", jobs)?),
            None => Ok(()),
        }
    }

    /// Something worth knowing, on standard error.
    pub fn note(&self, text: impl std::fmt::Display) {
        if !self.quiet {
            eprintln!("note: {}", visible(&text.to_string()));
        }
    }

    /// The command that comes next, on standard error, for people alone.
    pub fn next(&self, command: impl std::fmt::Display) {
        if !self.quiet && !self.json {
            eprintln!("next: {}", visible(&command.to_string()));
        }
    }

    /// Something only those want to know who ask for more.
    pub fn detail(&self, text: impl std::fmt::Display) {
        if self.verbose {
            eprintln!("{}", visible(&text.to_string()));
        }
    }

    /// Runs a command, and prints where its time went to those who ask for more.
    pub fn staged<T>(&self, command: impl FnOnce() -> Result<T>) -> Result<T> {
        if !self.verbose {
            return command();
        }
        let recording = Recording::begin();
        let done = command();
        let (stages, seconds) = recording.end();
        self.detail(stages::table(&stages, seconds));
        done
    }

    /// Something that makes the result doubtful.
    pub fn warn(&self, text: impl std::fmt::Display) {
        eprintln!("warning: {}", visible(&text.to_string()));
    }

    /// Runs `work`, which asks nobody whether to stop, on as many threads as were asked for.
    pub fn compute<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        self.check()?;
        match rayon::ThreadPoolBuilder::new().num_threads(self.jobs.unwrap_or(0)).build() {
            Ok(pool) => pool.install(work),
            // Too many threads for the machine: the work itself does not need them.
            Err(_) => work(),
        }
    }

    /// The same of long work, which is handed a function that shows how far it is and tells it to stop.
    pub fn run<T: Send, E: Into<Error> + Send>(
        &self,
        what: &'static str,
        work: impl FnOnce(&(dyn Fn(usize, usize) -> bool + Sync)) -> std::result::Result<T, E> + Send,
    ) -> Result<T> {
        let progress = Progress::new(what, self.quiet);
        let tick = |done: usize, total: usize| progress.tick(done, total);
        let result = self.compute(|| work(&tick).map_err(Into::into));
        progress.bar.finish_and_clear();
        result
    }
}

/// A bar with the time that is left, on standard error; silent where that is no terminal.
struct Progress {
    bar: ProgressBar,
    begin: Instant,
    quiet: bool,
    /// What was finished before: only later work tells how long the rest takes.
    before: OnceLock<usize>,
}

/// Of counted work, and of work that is counted in thousandths of its cost.
const COUNTED: &str = "{msg} [{bar:30}] {human_pos}/{human_len}, {elapsed} elapsed, {prefix} left";
const BY_COST: &str = "{msg} [{bar:30}] {percent} %, {elapsed} elapsed, {prefix} left";

impl Progress {
    fn new(what: &'static str, quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
        let bar = bar.with_style(style(COUNTED)).with_message(what);
        Progress { bar, begin: Instant::now(), quiet, before: OnceLock::new() }
    }

    /// Moves the bar; false if the work is to stop.
    fn tick(&self, done: usize, total: usize) -> bool {
        if self.bar.is_hidden() && !self.quiet && self.begin.elapsed() > PATIENCE {
            self.bar.set_style(style(if total == PARTS { BY_COST } else { COUNTED }));
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        let before = *self.before.get_or_init(|| done);
        let left =
            seconds_left(self.begin.elapsed().as_secs_f64(), done.saturating_sub(before), total.max(done) - done);
        self.bar.set_prefix(left.map_or("?".into(), |s| HumanDuration(Duration::from_secs_f64(s)).to_string()));
        self.bar.set_length(total as u64);
        self.bar.set_position(done as u64);
        !stopped()
    }
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.progress_chars("=> ")
}

/// Seconds until the rest is done, at the mean speed so far; none before anything is done.
pub fn seconds_left(elapsed: f64, done: usize, rest: usize) -> Option<f64> {
    (done > 0).then(|| elapsed * rest as f64 / done as f64)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    /// Set in the child process of the test below: the folder that it works in.
    const FOLDER: &str = "STONET_TEST_FOLDER";

    /// Work that asks nobody, as a factorisation, with an unfinished file beside it. It does nothing unless the test
    /// below runs it.
    #[test]
    #[ignore = "the child process of another test"]
    fn child_that_computes_for_long() {
        let Some(folder) = std::env::var_os(FOLDER) else { return };
        let columns = vec![stonet_io::Column::new("x", stonet_io::Type::F64)];
        interruptible(true, || {
            let _writer = stonet_io::Writer::create(&Path::new(&folder).join("out.csv"), columns).unwrap();
            println!("working");
            std::thread::sleep(Duration::from_secs(600));
        })
    }

    #[test]
    fn a_signal_ends_work_that_never_asks_and_removes_its_unfinished_file() {
        for signal in ["INT", "TERM"] {
            let folder = tempfile::tempdir().unwrap();
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "console::tests::child_that_computes_for_long", "--ignored", "--nocapture"])
                .env(FOLDER, folder.path())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
            assert!(lines.any(|line| line.unwrap().contains("working")));
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
            let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap();
            assert!(sent.success());
            let out = child.wait_with_output().unwrap();
            assert_eq!(out.status.code(), Some(130), "{signal}");
            assert!(String::from_utf8_lossy(&out.stderr).contains("stopped"));
            let said: Vec<String> = lines.map(|line| line.unwrap()).collect();
            assert!(said.join("").contains("stonet.error/1"), "{said:?}");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }
}
