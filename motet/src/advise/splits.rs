//! The experiment on one split after another, several at once, until the time is up.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use motet_records::Records;
use motet_runtime::Pool;

use super::Held;
use super::draft::Draft;
use crate::error::Error;
use crate::observer::{Event, Observer};
use crate::recorders::InMemory;
use crate::simulate::Simulation;

/// What one split left.
pub(super) struct Split {
    /// The seed that cut it.
    pub(super) seed: u64,
    pub(super) records: Records,
}

/// How fast and how far.
pub(super) struct Pace {
    /// When the answer must be there.
    pub(super) deadline: Instant,
    /// Splits at most.
    pub(super) most: usize,
    /// Splits at once.
    pub(super) threads: usize,
}

/// Makes splits; those that are not done in time are left out. What a split gives does not depend on how many there are or on
/// threads: each runs on a thread of its own.
pub(super) fn make(draft: &Draft, data: &Held, pace: &Pace, observer: &(dyn Observer + Sync)) -> Result<Vec<Split>, Error> {
    let (next, made, failed) = (AtomicUsize::new(0), Mutex::new(vec![]), Mutex::new(None));
    let longest = Mutex::new(Duration::ZERO);
    let work = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let known = *longest.lock().expect("nobody panics while holding it");
            // Refitting afterwards takes about as long as a split does.
            let time = Instant::now() + known.mul_f64(2.2) < pace.deadline;
            if place >= pace.most || !time || observer.stop() || failed.lock().expect("nobody panics while holding it").is_some() {
                return;
            }
            let begun = Instant::now();
            let watch = UntilDeadline { observer, deadline: pace.deadline };
            match one(draft, data, place as u64 + 1, &watch) {
                Ok(split) => {
                    let mut longest = longest.lock().expect("nobody panics while holding it");
                    *longest = longest.max(begun.elapsed());
                    made.lock().expect("nobody panics while holding it").push(split);
                }
                Err(Error::Interrupted { .. }) => return,
                Err(error) => {
                    failed.lock().expect("nobody panics while holding it").get_or_insert(error);
                    return;
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..pace.threads.min(pace.most) {
            scope.spawn(work);
        }
    });
    if let Some(error) = failed.into_inner().expect("nobody panics while holding it") {
        return Err(error);
    }
    if observer.stop() {
        return Err(Error::Interrupted { what: "stopped before there was an answer".into(), folder: None });
    }
    let mut made = made.into_inner().expect("nobody panics while holding it");
    made.sort_by_key(|split: &Split| split.seed);
    Ok(made)
}

fn one(draft: &Draft, data: &Held, seed: u64, watch: &UntilDeadline<'_>) -> Result<Split, Error> {
    let experiment = data.experiment(draft.document(&[seed])?)?;
    let simulation = Simulation::on(experiment, std::sync::Arc::new(Pool::new(1)))?;
    let records = simulation.run_observed(&mut InMemory::new(), watch)?;
    watch.observer.notice(Event::Note(&format!("split {seed}: {} runs", records.manifest.runs.len())));
    Ok(Split { seed, records })
}

/// Stops when the time is up. Single runs are no news.
struct UntilDeadline<'a> {
    observer: &'a (dyn Observer + Sync),
    deadline: Instant,
}

impl Observer for UntilDeadline<'_> {
    fn notice(&self, _: Event<'_>) {}

    fn stop(&self) -> bool {
        Instant::now() > self.deadline || self.observer.stop()
    }
}
