//! Local solves of a trial: as many as we wait for, and stand-ins for the rest, since a round takes as long with either.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use motet_core::{Archive, ClientId, Memo, Vector, Work};
use serde::Serialize;

use super::PATIENCE;

/// Solves while there is time, and says how many there were.
pub(super) struct Solves {
    /// What stands in for a solve: where it would begin.
    start: Vector,
    seen: Mutex<Seen>,
}

#[derive(Clone, Copy, Default)]
struct Seen {
    began: Option<Instant>,
    made: u64,
    seconds: f64,
    stand_ins: u64,
}

/// How many solves were made, and what all would take.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Solved {
    made: u64,
    seconds: f64,
    /// Of how many clients, and for how long, if some were left out.
    left: Option<(u64, f64)>,
}

impl Solves {
    /// These, and a memo that asks them.
    pub(super) fn new(start: Vector) -> (Arc<Self>, Arc<Memo>) {
        let (solves, memo) = (Arc::new(Self { start, seen: Mutex::default() }), Arc::new(Memo::default()));
        memo.archive(|| Arc::clone(&solves) as _);
        (solves, memo)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What came of it for a problem of so many clients; `None` if nobody solved.
    pub(super) fn solved(&self, clients: u64) -> Option<Solved> {
        let seen = *self.seen();
        let each = seen.seconds / seen.made.max(1) as f64;
        let left = (seen.stand_ins > 0).then(|| (clients.max(seen.made), each * clients.max(seen.made) as f64));
        (seen.made > 0).then_some(Solved { made: seen.made, seconds: seen.seconds, left })
    }
}

impl Archive for Solves {
    fn get(&self, _: ClientId, _: u64) -> Option<(Vector, Work)> {
        let mut seen = self.seen();
        let late = seen.began.get_or_insert_with(Instant::now).elapsed() > PATIENCE && seen.made > 0;
        seen.stand_ins += u64::from(late);
        late.then(|| (self.start.clone(), Work::default()))
    }

    /// Keeps nothing: what was made stays in memory.
    fn put(&self, _: ClientId, _: u64, _: &Vector, _: Work) -> bool {
        let mut seen = self.seen();
        seen.made += 1;
        seen.seconds = seen.began.map_or(0.0, |began| began.elapsed().as_secs_f64());
        false
    }
}

impl Solved {
    pub(super) fn line(&self) -> String {
        let left = self
            .left
            .map(|(clients, seconds)| format!("; about {seconds:.0} s for one solve of each of {clients} clients, once for all runs"));
        format!("  local solves: {} made in {:.1} s{}\n", self.made, self.seconds, left.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_are_made_while_there_is_time_and_then_stood_in_for() {
        let (solves, _memo) = Solves::new(Vector::from(vec![0.5]));
        assert!(solves.get(ClientId(0), 1).is_none() && solves.solved(3).is_none());
        solves.put(ClientId(0), 1, &Vector::from(vec![2.0]), Work::default());
        let all = solves.solved(1).unwrap();
        assert_eq!((all.made, all.left), (1, None));
        solves.seen().began = Instant::now().checked_sub(2 * PATIENCE);
        let (vector, work) = solves.get(ClientId(1), 1).unwrap();
        assert_eq!((vector.f64s(), work), (&[0.5][..], Work::default()));
        let some = solves.solved(3).unwrap();
        assert_eq!(some.left.unwrap().0, 3);
        assert!(some.line().contains("of 3 clients"), "{}", some.line());
    }
}
