//! What a run will take of the machine, from a short trial.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use motet_core::{ClientId, LastReplies, Roster, Slot, Wire};
use motet_runtime::KEPT;
use serde::Serialize;

use crate::config::{Size, StoreSection, free_memory};
use crate::method::AnyMethod;
use crate::session::Sizes;

/// Bytes that one run needs.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Needs {
    /// One client's state, as it sleeps.
    pub(super) state_bytes: u64,
    /// One client's local solve; 0 if the method needs none.
    pub(super) solve_bytes: u64,
    /// Clients that will have worked.
    pub(super) clients: u64,
    /// What the server keeps.
    pub(super) server_bytes: u64,
    /// Memory of states and solves, as far as the store lets them stay there.
    pub(super) memory_bytes: u64,
    /// States, solves and checkpoints on disk.
    pub(super) disk_bytes: u64,
    /// Memory of what is at work, whoever sleeps.
    #[serde(skip)]
    pub(super) work_bytes: u64,
    /// Where states and solves sleep.
    #[serde(skip)]
    pub(super) store: StoreSection,
}

/// Copies of the model that a client at work holds: the model, its gradient, what it sends, and what the layers keep.
const COPIES: u64 = 6;
/// Versions of a state on disk: the last three checkpoints may each name another.
const VERSIONS: u64 = 2;

/// What a trial saw.
pub(super) struct Seen {
    pub(super) roster: Roster,
    /// What was heard in so many rounds.
    pub(super) heard: LastReplies,
    pub(super) trial: u64,
    /// Rounds of the run.
    pub(super) rounds: u64,
    pub(super) state_bytes: u64,
    pub(super) server_bytes: u64,
    pub(super) model_bytes: u64,
    pub(super) threads: u64,
    pub(super) store: StoreSection,
}

impl Needs {
    pub(super) fn of(method: &dyn AnyMethod, seen: &Seen) -> Self {
        let most = match &seen.roster {
            Roster::Listed(ids) => ids.len() as u64,
            Roster::Counted(n) => u64::from(*n),
            Roster::Unbounded => u64::from(u32::MAX),
        };
        let clients = touched(most, entries(&seen.heard), seen.trial, seen.rounds);
        let shares = (0..most.min(1000) as u32).any(|k| method.has_objective() && method.share(ClientId(k)) < 1.0);
        let solve_bytes = if shares { seen.model_bytes } else { 0 };
        let asleep = clients.saturating_mul(seen.state_bytes + solve_bytes);
        let at_work = seen.threads * COPIES * seen.model_bytes + 3 * seen.server_bytes;
        let states_on_disk = clients.saturating_mul(VERSIONS * seen.state_bytes + solve_bytes);
        Self {
            state_bytes: seen.state_bytes,
            solve_bytes,
            clients,
            server_bytes: seen.server_bytes,
            memory_bytes: asleep.min(seen.store.limit()).saturating_add(at_work),
            disk_bytes: states_on_disk.saturating_add((KEPT as u64 + 1) * seen.server_bytes),
            work_bytes: at_work,
            store: seen.store,
        }
    }

    /// Memory of the states and solves that sleep on each of so many ranks, of which so many are on its machine.
    pub(super) fn asleep_on_each(&self, ranks: usize, neighbours: usize) -> u64 {
        let all = self.clients.saturating_mul(self.state_bytes + self.solve_bytes);
        (all / ranks.max(1) as u64).min(self.store.limit_of_each(neighbours))
    }

    /// `states 1.2 GB of 340 clients, ...`
    pub(super) fn line(&self) -> String {
        format!(
            "  needs: {} clients with states of {} and solves of {}: {} of memory, {} on disk\n",
            self.clients,
            Size(self.state_bytes),
            Size(self.solve_bytes),
            Size(self.memory_bytes),
            Size(self.disk_bytes)
        )
    }
}

/// How many clients were heard: the rest of what is encoded is as long for each.
fn entries(heard: &LastReplies) -> u64 {
    let each = Slot { round: 0, attempt: 0, exchange: 0 }.bytes() + 0u32.bytes();
    (heard.bytes() - LastReplies::default().bytes()) / each
}

/// How many of n clients `rounds` rounds meet, if `trial` rounds met so many: all that a round takes, drawn again and again.
fn touched(n: u64, met: u64, trial: u64, rounds: u64) -> u64 {
    if met >= n || trial == 0 {
        return met.min(n);
    }
    let (n, met) = (n as f64, met as f64);
    // (1 − c/n)^trial is the share not met yet.
    let missed = (1.0 - met / n).powf(rounds as f64 / trial as f64);
    (n * (1.0 - missed)).round() as u64
}

/// Why it cannot fit, if it cannot.
pub(super) fn misfit(data: u64, needs: &[Needs], folder: &Path) -> Option<String> {
    let memory = data.saturating_add(needs.iter().map(|n| n.memory_bytes).max().unwrap_or(0));
    let disk = needs.iter().map(|n| n.disk_bytes).max().unwrap_or(0);
    if let Some(free) = free_memory().filter(|free| *free < memory) {
        return Some(format!(
            "needs about {} of memory ({} of data), and {} are free: lower run.store.memory, take fewer threads or a smaller problem",
            Size(memory),
            Size(data),
            Size(free)
        ));
    }
    let free = free_disk(folder).filter(|free| *free < disk)?;
    Some(format!(
        "needs about {} on disk, and {} are free here: run it where there is more room (--out), with fewer rounds or fewer clients",
        Size(disk),
        Size(free)
    ))
}

/// Bytes free on the disk of a folder, where the system tells.
#[cfg(unix)]
fn free_disk(folder: &Path) -> Option<u64> {
    let about = rustix::fs::statvfs(folder).ok()?;
    Some(about.f_bavail * about.f_frsize)
}

#[cfg(not(unix))]
fn free_disk(_: &Path) -> Option<u64> {
    None
}

/// How large client states are, each as it was put to sleep last: within a round there may be more versions of a state than
/// sleep after it.
#[derive(Default)]
pub(super) struct Scales(Mutex<BTreeMap<ClientId, u64>>);

impl Scales {
    /// Bytes of the largest state asleep.
    pub(super) fn largest(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().copied().max().unwrap_or(0)
    }
}

impl Sizes for Scales {
    fn note(&self, client: ClientId, bytes: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(client, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_met_are_counted_on_from_the_trial() {
        assert_eq!(touched(8, 8, 5, 300), 8);
        assert_eq!(touched(342_477, 250, 5, 5), 250);
        // 3000 draws of ten among 3400: 1 − e^(−0.88) of them.
        assert!((1980..2010).contains(&touched(3400, 50, 5, 300)), "{}", touched(3400, 50, 5, 300));
    }

    #[test]
    fn each_rank_keeps_its_share_as_far_as_it_may() {
        use crate::config::StoreSection::{Disk, Memory};
        let needs = |store| Needs { state_bytes: 60, solve_bytes: 40, clients: 1_000, store, ..Needs::default() };
        let asleep = |store, ranks| needs(store).asleep_on_each(ranks, 8);
        assert_eq!([asleep(Memory, 1), asleep(Memory, 64)], [100_000, 1_562]);
        // A limit that somebody gave is each rank's.
        assert_eq!([8, 64].map(|ranks| asleep(Disk { memory: Size(5_000) }, ranks)), [5_000, 1_562]);
        let free = StoreSection::Auto.limit_of_each(1);
        assert!(free == 0 || StoreSection::Auto.limit_of_each(64) < free / 32, "all ranks of a machine share what is free");
    }

    #[test]
    fn what_cannot_fit_is_told_with_what_is_free() {
        let small = Needs { memory_bytes: 1000, disk_bytes: 1000, ..Needs::default() };
        assert_eq!(misfit(0, &[small], Path::new(".")), None);
        let memory = Needs { memory_bytes: 1 << 60, ..small };
        assert!(misfit(0, &[small, memory], Path::new(".")).unwrap().contains("of memory"));
        let disk = Needs { disk_bytes: 1 << 60, ..small };
        assert!(cfg!(not(unix)) || misfit(0, &[disk], Path::new(".")).unwrap().contains("on disk"));
    }
}
