//! How much memory one table may take: a quarter of what this process can still get.

use std::path::Path;

use crate::{Problem, Result};

/// A fit holds a table about three times: as read, as the chosen columns, and standardised.
const SHARE: u64 = 4;
/// A table of this size is always allowed.
const LEAST: u64 = 1 << 26;

/// Bytes that a table may take; no limit where the system does not say how much memory there is.
pub(crate) fn limit() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cgroup = |folder: &str, most: &str, used: &str| {
        let file = |name: &str| read(&format!("/sys/fs/cgroup/{folder}{name}"));
        left_in_group(&file(most), &file(used), &file("memory.stat"))
    };
    let left = [
        kilobytes(&read("/proc/meminfo"), "MemAvailable:"),
        cgroup("", "memory.max", "memory.current"),
        cgroup("memory/", "memory.limit_in_bytes", "memory.usage_in_bytes"),
        left_of_addresses(&read("/proc/self/limits"), &read("/proc/self/status")),
    ];
    share(left.into_iter().flatten().min())
}

fn share(left: Option<u64>) -> u64 {
    left.map_or(u64::MAX, |bytes| (bytes / SHARE).max(LEAST))
}

/// The number behind a label, in kilobytes there and in bytes here.
fn kilobytes(text: &str, label: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(label))?;
    rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// What a control group has left; none where it has no limit. Files that the system keeps in memory count as used
/// there, and are dropped when memory is needed.
fn left_in_group(most: &str, used: &str, statistics: &str) -> Option<u64> {
    let most: u64 = most.trim().parse().ok()?;
    let used: u64 = used.trim().parse().unwrap_or(0);
    let of = |name: &str| statistics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    let files = of("inactive_file ").unwrap_or(0).saturating_add(of("active_file ").unwrap_or(0));
    Some(most.saturating_sub(used.saturating_sub(files)))
}

/// What `ulimit -v` leaves; none where it is unlimited.
fn left_of_addresses(limits: &str, status: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let most: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(most.saturating_sub(kilobytes(status, "VmSize:").unwrap_or(0)))
}

/// Fails where the rows of a table that were read so far take more than the limit.
pub(crate) fn check(path: &Path, rows: u64, needed: u64, limit: u64) -> Result<()> {
    match needed > limit {
        true => Err(Problem::TooLarge { rows, limit: limit >> 20 }.of(path)),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_linux_says_is_understood() {
        let meminfo = "MemTotal:       16000000 kB\nMemFree:  1 kB\nMemAvailable:    8000000 kB\n";
        assert_eq!(kilobytes(meminfo, "MemAvailable:"), Some(8_192_000_000));
        assert_eq!(kilobytes("", "MemAvailable:"), None);
        assert_eq!(left_in_group("max\n", "5\n", ""), None);
        assert_eq!(left_in_group("1000\n", "300\n", ""), Some(700));
        let statistics = "anon 50\nfile 900\ninactive_file 600\nactive_file 200\n";
        assert_eq!(left_in_group("1000\n", "950\n", statistics), Some(850));
        let unlimited = "Max address space         unlimited            unlimited            bytes\n";
        assert_eq!(left_of_addresses(unlimited, ""), None);
        let limited = "Max address space         2048000              unlimited            bytes\n";
        assert_eq!(left_of_addresses(limited, "VmSize:\t    1000 kB\n"), Some(1_024_000));
    }

    #[test]
    fn a_quarter_is_allowed_and_small_tables_always() {
        assert_eq!(share(Some(1 << 40)), 1 << 38);
        assert_eq!(share(Some(0)), LEAST);
        assert_eq!(share(None), u64::MAX);
        assert!(check(Path::new("t.csv"), 7, 10, 10).is_ok());
        assert!(
            matches!(check(Path::new("t.csv"), 7, 11, 10), Err(e) if matches!(e.problem(), Some(Problem::TooLarge { rows: 7, .. })))
        );
    }
}
