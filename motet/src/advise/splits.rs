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
    /// When it began, and how long it may take until the answer is written.
    pub(super) begun: Instant,
    pub(super) time: Duration,
    /// Splits at most.
    pub(super) most: usize,
    /// Splits at once.
    pub(super) threads: usize,
}

impl Pace {
    /// When evidence is cut, with so many splits of which the longest took so long: training on all rows and writing come after it.
    /// Each method is trained once more on all rows instead of 60 % of them, without trials: twice a split covers it, with half a
    /// split for a machine that gets busier. The records of a split are written in less than a sixth of the time that the split took,
    /// even if it is a short one. While no split is known, a quarter of the time is kept.
    fn cut(&self, known: Known) -> Instant {
        let kept = match known {
            Known { splits: 0, .. } => self.time / 4,
            Known { splits, longest } => longest.mul_f64(2.5 + splits as f64 / 6.0).min(self.time.mul_f64(0.75)),
        };
        self.begun + self.time.saturating_sub(kept)
    }
}

/// What is known of the splits that are done.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    splits: usize,
    longest: Duration,
}

/// Makes splits; those that are not done in time are left out. What a split gives does not depend on how many there are or on
/// threads: each runs on a thread of its own.
pub(super) fn make(draft: &Draft, data: &Held, pace: &Pace, observer: &(dyn Observer + Sync)) -> Result<Vec<Split>, Error> {
    let (next, made, failed) = (AtomicUsize::new(0), Mutex::new(vec![]), Mutex::new(None));
    let known = Mutex::new(Known::default());
    let work = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let so_far = *known.lock().expect("nobody panics while holding it");
            let time = Instant::now() + so_far.longest < pace.cut(so_far);
            if place >= pace.most || !time || observer.stop() || failed.lock().expect("nobody panics while holding it").is_some() {
                return;
            }
            let begun = Instant::now();
            let watch = UntilCut { observer, pace, known: &known };
            match one(draft, data, place as u64 + 1, &watch) {
                Ok(split) => {
                    let mut known = known.lock().expect("nobody panics while holding it");
                    *known = Known { splits: known.splits + 1, longest: known.longest.max(begun.elapsed()) };
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

fn one(draft: &Draft, data: &Held, seed: u64, watch: &UntilCut<'_>) -> Result<Split, Error> {
    let experiment = data.experiment(draft.document(&[seed])?)?;
    let simulation = Simulation::on(experiment, std::sync::Arc::new(Pool::new(1)))?;
    let records = simulation.run_observed(&mut InMemory::new(), watch)?;
    watch.observer.notice(Event::Note(&format!("split {seed}: {} runs", records.manifest.runs.len())));
    Ok(Split { seed, records })
}

/// Stops when evidence is cut, which other splits may have moved in the meantime. Single runs are no news.
struct UntilCut<'a> {
    observer: &'a (dyn Observer + Sync),
    pace: &'a Pace,
    known: &'a Mutex<Known>,
}

impl Observer for UntilCut<'_> {
    fn notice(&self, _: Event<'_>) {}

    fn stop(&self) -> bool {
        let known = *self.known.lock().expect("nobody panics while holding it");
        Instant::now() > self.pace.cut(known) || self.observer.stop()
    }

    fn failure(&self) -> Option<String> {
        self.observer.failure()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_is_cut_early_enough_to_train_again_and_write() {
        let begun = Instant::now();
        let pace = Pace { begun, time: Duration::from_secs(120), most: 20, threads: 2 };
        let after = |splits: usize, longest: u64| (pace.cut(Known { splits, longest: Duration::from_secs(longest) }) - begun).as_secs();
        assert_eq!([after(0, 0), after(6, 2), after(6, 12), after(18, 2)], [90, 113, 78, 109]);
        // Splits that take most of the time leave a quarter of it for evidence: the first is there already.
        assert_eq!(after(1, 100), 30);
    }
}
