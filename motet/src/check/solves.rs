//! Local solves of a trial: as many as we wait for, and stand-ins for the rest, since a round takes as long with either.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use motet_core::{Archive, ClientId, Memo, Vector, Work};
use serde::Serialize;

use super::PATIENCE;

/// Solves of all problems together end after this.
const PATIENCE_FOR_ALL: Duration = Duration::from_secs(30);

/// When the first solve on any problem began.
pub(super) type Clock = Arc<OnceLock<Instant>>;

/// Solves while there is time, and says how many there were.
pub(super) struct Solves {
    /// What stands in for a solve: where it would begin.
    start: Vector,
    /// When the first solve began, on this problem and on any.
    began: OnceLock<Instant>,
    first: Clock,
    seen: Mutex<Seen>,
}

#[derive(Clone, Copy, Default)]
struct Seen {
    made: u64,
    seconds: f64,
    /// Solves that were ended before they were done.
    cut: u64,
    stand_ins: u64,
}

/// How many solves were made, and what all would take.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Solved {
    made: u64,
    seconds: f64,
    /// Of how many clients, and for how long, if some were left out; how long is not known if not one was made.
    left: Option<(u64, Option<f64>)>,
}

impl Solves {
    /// These, and a memo that asks them.
    pub(super) fn new(start: Vector, first: Clock) -> (Arc<Self>, Arc<Memo>) {
        let solves = Arc::new(Self { start, began: OnceLock::new(), first, seen: Mutex::default() });
        let memo = Arc::new(Memo::default());
        memo.archive(|| Arc::clone(&solves) as _);
        (solves, memo)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Was every solve that was asked for made?
    pub(super) fn are_all_made(&self) -> bool {
        let seen = *self.seen();
        seen.cut == 0 && seen.stand_ins == 0
    }

    /// What came of it for a problem of so many clients; `None` if nobody solved.
    pub(super) fn solved(&self, clients: u64) -> Option<Solved> {
        let seen = *self.seen();
        let clients = clients.max(seen.made);
        let all = (seen.made > 0).then(|| seen.seconds / seen.made as f64 * clients as f64);
        let left = (!self.are_all_made()).then_some((clients, all));
        (seen.made + seen.cut > 0).then_some(Solved { made: seen.made, seconds: seen.seconds, left })
    }
}

impl Archive for Solves {
    fn get(&self, _: ClientId, _: u64) -> Option<(Vector, Work)> {
        let now = Instant::now();
        self.began.get_or_init(|| now);
        self.first.get_or_init(|| now);
        let late = self.is_enough();
        self.seen().stand_ins += u64::from(late);
        late.then(|| (self.start.clone(), Work::default()))
    }

    /// Keeps nothing: what was made stays in memory.
    fn put(&self, _: ClientId, _: u64, _: &Vector, _: Work) -> bool {
        let (cut, mut seen) = (self.is_enough(), self.seen());
        if cut {
            seen.cut += 1;
        } else {
            seen.made += 1;
            seen.seconds = self.began.get().map_or(0.0, |began| began.elapsed().as_secs_f64());
        }
        false
    }

    fn is_enough(&self) -> bool {
        let is_over = |began: &OnceLock<Instant>, patience| began.get().is_some_and(|began| began.elapsed() > patience);
        is_over(&self.began, PATIENCE) || is_over(&self.first, PATIENCE_FOR_ALL)
    }
}

impl Solved {
    pub(super) fn line(&self) -> String {
        if self.made == 0 {
            return format!("  local solves: none was finished in {:.0} s, so their time is not known\n", PATIENCE.as_secs_f64());
        }
        let left = self.left.and_then(|(clients, seconds)| {
            Some(format!("; about {:.0} s for one solve of each of {clients} clients, once for all runs", seconds?))
        });
        format!("  local solves: {} made in {:.1} s{}\n", self.made, self.seconds, left.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(ago: Duration) -> Solves {
        let began = Instant::now().checked_sub(ago).unwrap();
        Solves { start: Vector::from(vec![0.5]), began: began.into(), first: Clock::default(), seen: Mutex::default() }
    }

    #[test]
    fn solves_are_made_while_there_is_time_and_then_stood_in_for() {
        let (solves, _memo) = Solves::new(Vector::from(vec![0.5]), Clock::default());
        assert!(solves.get(ClientId(0), 1).is_none() && solves.solved(3).is_none());
        solves.put(ClientId(0), 1, &Vector::from(vec![2.0]), Work::default());
        let all = solves.solved(1).unwrap();
        assert_eq!((all.made, all.left), (1, None));
        let late = Solves { seen: Mutex::new(*solves.seen()), ..begun(2 * PATIENCE) };
        let (vector, work) = late.get(ClientId(1), 1).unwrap();
        assert_eq!((vector.f64s(), work), (&[0.5][..], Work::default()));
        let some = late.solved(3).unwrap();
        assert_eq!(some.left.unwrap().0, 3);
        assert!(some.line().contains("of 3 clients"), "{}", some.line());
    }

    #[test]
    fn a_solve_that_takes_too_long_is_ended_and_not_counted() {
        let late = begun(2 * PATIENCE);
        assert!(late.is_enough() && !begun(PATIENCE / 2).is_enough());
        late.put(ClientId(0), 1, &Vector::from(vec![2.0]), Work::default());
        let solved = late.solved(3).unwrap();
        assert_eq!((solved.made, solved.left), (0, Some((3, None))));
        assert!(solved.line().contains("none was finished in 5 s"), "{}", solved.line());
        assert!(!late.are_all_made());
        let long_ago = Instant::now().checked_sub(2 * PATIENCE_FOR_ALL).unwrap();
        assert!(Solves { first: Arc::new(long_ago.into()), ..begun(Duration::ZERO) }.is_enough(), "other problems took all the time");
    }
}
