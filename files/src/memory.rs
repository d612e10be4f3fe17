//! What memory there is.

use std::fs;

/// Bytes of memory that this program can still have, where the system tells: what is free in the machine, in the container, and
/// below the limit of the process.
pub fn free_memory() -> Option<u64> {
    [in_the_machine(), in_the_container(), below_the_limit()].into_iter().flatten().min()
}

fn in_the_machine() -> Option<u64> {
    kilobytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

/// What the control group of a container leaves.
fn in_the_container() -> Option<u64> {
    let number = |name: &str| fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?.trim().parse::<u64>().ok();
    Some(number("memory.max")?.saturating_sub(number("memory.current")?))
}

/// What `ulimit -v` leaves.
fn below_the_limit() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let soft = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?.split_whitespace().next()?;
    let used = kilobytes(&fs::read_to_string("/proc/self/status").ok()?, "VmSize:")?;
    Some(soft.parse::<u64>().ok()?.saturating_sub(used))
}

/// The number of a line `Name:   12345 kB`, in bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// A number of bytes for people: `6.27 TB`.
pub fn told(bytes: u64) -> String {
    const UNITS: [(&str, f64); 6] = [("EB", 1e18), ("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    let bytes = bytes as f64;
    match UNITS.iter().find(|(_, factor)| bytes >= *factor) {
        Some((name, factor)) => format!("{:.2} {name}", bytes / factor),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_system_are_read() {
        assert_eq!(kilobytes("MemTotal: 5 kB\nMemAvailable:     1024 kB\n", "MemAvailable:"), Some(1 << 20));
        assert_eq!(kilobytes("MemAvailable: many kB", "MemAvailable:"), None);
        assert_eq!((told(999), told(6_270_000_000)), ("999 B".into(), "6.27 GB".into()));
    }
}
