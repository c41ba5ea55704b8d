//! What this process has used of the machine so far, where the system tells.

// Each example uses what it needs of this.
#![allow(dead_code)]

/// Seconds of processor time of all threads, in steps of a hundredth: what a core would take alone, whatever else the
/// machine does.
pub fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // User and system time are the 12th and the 13th number behind the name of the program.
    let numbers = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    numbers.filter_map(|n| n.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// The largest resident set, in bytes.
pub fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kb| kb * 1024.0)
}
