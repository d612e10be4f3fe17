//! What this process took of the machine.

use std::fs;
use std::time::Duration;

/// Processor time of all threads so far.
pub fn processor_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec.try_into().unwrap_or_default(), now.tv_nsec.try_into().unwrap_or_default())
}

/// The most memory that was resident since [`forget_peak`], where the system tells.
pub fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Begins anew with the most memory that was resident, where the system lets us.
pub fn forget_peak() {
    // Where it does not, the peak is that of all inputs so far.
    let _ = fs::write("/proc/self/clear_refs", "5");
}
