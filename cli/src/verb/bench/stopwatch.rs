//! How long rounds take.

use std::time::Instant;

use motet_core::{Abort, Algorithm, Answer, ClientId, Fleet, Probe, Roster, Score, Slot, Wave};

/// A fleet that notes when each exchange begins; a round of this workload is one exchange.
pub(super) struct Stopwatch<F> {
    inner: F,
    laps: Vec<Instant>,
}

impl<F> Stopwatch<F> {
    pub(super) fn new(inner: F, rounds: u64) -> Self {
        Self { inner, laps: Vec::with_capacity(rounds as usize + 2) }
    }

    /// Seconds of the median round after the first few.
    pub(super) fn median(&self, skip: usize) -> f64 {
        let mut laps: Vec<f64> = self.laps.windows(2).skip(skip).map(|w| (w[1] - w[0]).as_secs_f64()).collect();
        laps.sort_by(f64::total_cmp);
        laps.get(laps.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

impl<A: Algorithm, F: Fleet<A>> Fleet<A> for Stopwatch<F> {
    fn roster(&self) -> Roster {
        self.inner.roster()
    }
    fn exchange(&mut self, slot: Slot, wave: Wave<'_, A::Ask>, each: &mut dyn FnMut(ClientId, Answer<A::Reply>)) -> Result<(), Abort> {
        self.laps.push(Instant::now());
        self.inner.exchange(slot, wave, each)
    }
    fn probe(&mut self, probe: &Probe<'_>, each: &mut dyn FnMut(ClientId, Score)) -> Result<(), Abort> {
        self.laps.push(Instant::now());
        self.inner.probe(probe, each)
    }
}

/// The most memory this process ever held, where the system tells.
pub(super) fn peak_memory_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kb| kb / 1024.0)
}
