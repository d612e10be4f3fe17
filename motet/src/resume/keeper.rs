//! Writes checkpoints while a run goes on.

use std::cell::RefCell;
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use motet_core::{AfterRound, Scattered};
use motet_runtime::Checkpoints;

use super::Saved;
use crate::config::CheckpointSection;
use crate::observer::{Event, Observer, sound};
use crate::recorders::Recorder;
use crate::session::{AnyCheckpointer, AnyRunState};
use crate::simulate::Elsewhere;
use crate::timed::Watch;

/// Makes moments durable: every so many rounds or seconds, and when a stop is asked for. Where no folder outlives the program,
/// only the end of a trial is kept, in memory.
pub(crate) struct Saver<'a> {
    run: usize,
    rhythm: CheckpointSection,
    /// Where moments are kept, if on disk.
    checkpoints: Option<Checkpoints>,
    /// Can the run go on from them after the program has ended?
    lasting: bool,
    /// Numbers of the indices that checkpoints hold, oldest first.
    generations: Vec<u64>,
    recorder: &'a RefCell<&'a mut dyn Recorder>,
    watch: &'a Watch,
    observer: &'a dyn Observer,
    last: Instant,
    /// Is the last moment kept too?
    to_the_end: bool,
    /// Where clients are, if not here. Then every round is durable before the next one is asked for.
    elsewhere: Option<&'a dyn Elsewhere>,
}

impl<'a> Saver<'a> {
    pub(crate) fn new(
        run: usize,
        rhythm: CheckpointSection,
        folder: Option<&Path>,
        generations: Vec<u64>,
        recorder: &'a RefCell<&'a mut dyn Recorder>,
        watch: &'a Watch,
        observer: &'a dyn Observer,
    ) -> Self {
        Self {
            run,
            rhythm,
            checkpoints: folder.map(Checkpoints::new),
            lasting: recorder.borrow_mut().workplace().is_lasting(),
            generations,
            recorder,
            watch,
            observer,
            last: Instant::now(),
            to_the_end: false,
            elsewhere: None,
        }
    }

    /// Keeps the last moment too: a longer run goes on from it.
    pub(crate) fn with_the_end(self, wanted: bool) -> Self {
        Self { to_the_end: wanted, ..self }
    }

    /// Keeps every round, and says so to those who wait elsewhere.
    pub(crate) fn between_machines(self, elsewhere: Option<&'a dyn Elsewhere>) -> Self {
        Self { elsewhere, ..self }
    }

    fn due(&self, round: u64) -> bool {
        let rounds = self.rhythm.rounds.is_some_and(|rounds| round.is_multiple_of(rounds.get()));
        rounds || self.rhythm.seconds().is_some_and(|seconds| self.last.elapsed().as_secs_f64() >= seconds)
    }

    /// Saves. Where clients wait elsewhere, a full disk is waited for: nobody is asked meanwhile, and whoever calls is answered.
    fn save_patiently(&mut self, moment: &dyn AnyRunState) -> io::Result<()> {
        let mut told = false;
        loop {
            match self.save(moment) {
                Err(e) if e.kind() == io::ErrorKind::StorageFull && self.elsewhere.is_some() && !self.observer.stop() => {
                    if !std::mem::replace(&mut told, true) {
                        let round = moment.next_round().saturating_sub(1);
                        self.observer.notice(Event::Note(&format!("round {round} cannot be kept until the disk has room: {e}")));
                    }
                    thread::sleep(Duration::from_secs(1));
                }
                saved => return saved,
            }
        }
    }

    /// Records, then states, then the checkpoint that names both.
    fn save(&mut self, moment: &dyn AnyRunState) -> io::Result<()> {
        let seconds = self.watch.seconds();
        let lengths = self.recorder.borrow_mut().sync()?;
        let (generation, index) = moment.commit()?;
        let saved = Saved { run: self.run as u64, lengths, seconds, generation, index, moment: moment.scattered() };
        let Some(checkpoints) = &self.checkpoints else {
            self.recorder.borrow_mut().workplace().keep_end(saved);
            return Ok(());
        };
        checkpoints.save(moment.next_round(), &Scattered::of(&saved))?;
        self.generations.push(generation);
        let gone = self.generations.len().saturating_sub(motet_runtime::KEPT);
        self.generations.drain(..gone);
        moment.release(self.generations[0])?;
        self.last = Instant::now();
        Ok(())
    }
}

impl AnyCheckpointer for Saver<'_> {
    fn after(&mut self, moment: &dyn AnyRunState) -> io::Result<AfterRound> {
        sound(self.observer)?;
        let stop = self.observer.stop();
        if self.lasting && (stop || self.elsewhere.is_some() || self.due(moment.next_round().saturating_sub(1))) {
            self.save_patiently(moment)?;
            if let Some(elsewhere) = self.elsewhere {
                elsewhere.settled(moment.next_round(), moment.heard())?;
            }
        }
        Ok(if stop { AfterRound::Stop } else { AfterRound::GoOn })
    }

    fn end(&mut self, moment: &dyn AnyRunState) -> io::Result<()> {
        sound(self.observer)?;
        if self.to_the_end { self.save(moment) } else { Ok(()) }
    }
}
