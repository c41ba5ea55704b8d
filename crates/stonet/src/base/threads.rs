//! How many threads a user may ask for.

use std::num::NonZero;

use super::{Error, Result};

/// The largest number of threads that can be asked for: four per core, and 64 on small machines. More cost memory and
/// gain nothing.
pub fn most_threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    (4 * cores).max(64)
}

/// Fails where more threads than [`most_threads`] are asked for, or none; `name` is the flag or argument.
pub fn check_threads(name: &'static str, threads: usize) -> Result<()> {
    if threads == 0 {
        return Err(Error::Setting { name, value: "0".into(), range: "at least 1, or leave it out for all cores" });
    }
    if threads > most_threads() {
        return Err(Error::TooManyThreads { name, threads, most: most_threads() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_threads_per_core_can_be_asked_for() {
        assert!(most_threads() >= 64);
        assert!(check_threads("jobs", 1).is_ok() && check_threads("jobs", most_threads()).is_ok());
        assert!(check_threads("jobs", 0).is_err());
        let e = check_threads("jobs", 99_999_999).unwrap_err().to_string();
        assert!(e.starts_with("jobs is 99999999") && e.contains(&most_threads().to_string()), "{e}");
    }
}
