//! A progress bar on standard error, silent when that is not a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar of so many pieces of work, with the time that is left.
pub fn bar(what: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} [{bar:30}] {pos}/{len}, {elapsed} gone, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(0).with_style(style.progress_chars("=> ")).with_message(what)
}

/// A function that moves the bar and never asks to stop.
pub fn ticker(bar: &ProgressBar) -> impl Fn(usize, usize) -> bool + Sync + '_ {
    |done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        true
    }
}
