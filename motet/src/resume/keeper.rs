//! Keeps moments of a run as it goes.

use std::cell::RefCell;
use std::io;
use std::path::Path;
use std::time::Instant;

use motet_core::{Algorithm, Keeper, Moment, Next, Wire};
use motet_runtime::Checkpoints;

use super::Saved;
use super::saved::States;
use crate::config::CheckpointSection;
use crate::observer::Observer;
use crate::output::Output;
use crate::recorder::Watch;

/// Makes moments durable: every so many rounds or seconds, and when a stop is asked for.
pub(crate) struct Saver<'a, A: Algorithm> {
    run: usize,
    rhythm: CheckpointSection,
    checkpoints: Checkpoints,
    states: States<A>,
    /// Numbers of the indices that checkpoints hold, oldest first.
    generations: Vec<u64>,
    output: &'a RefCell<&'a mut Output>,
    watch: &'a Watch,
    observer: &'a dyn Observer,
    last: Instant,
    /// Is the last moment kept too?
    to_the_end: bool,
}

impl<'a, A: Algorithm> Saver<'a, A> {
    pub(crate) fn new(
        run: usize,
        rhythm: CheckpointSection,
        folder: &Path,
        states: (States<A>, Vec<u64>),
        output: &'a RefCell<&'a mut Output>,
        watch: &'a Watch,
        observer: &'a dyn Observer,
    ) -> Self {
        let (states, generations) = states;
        Self {
            run,
            rhythm,
            checkpoints: Checkpoints::new(folder),
            states,
            generations,
            output,
            watch,
            observer,
            last: Instant::now(),
            to_the_end: false,
        }
    }

    /// Keeps the last moment too: a longer run goes on from it.
    pub(crate) fn with_the_end(self, wanted: bool) -> Self {
        Self { to_the_end: wanted, ..self }
    }

    fn due(&self, round: u64) -> bool {
        let rounds = self.rhythm.rounds.is_some_and(|rounds| round.is_multiple_of(rounds.get()));
        rounds || self.rhythm.seconds().is_some_and(|seconds| self.last.elapsed().as_secs_f64() >= seconds)
    }

    /// Records, then states, then the checkpoint that names both.
    fn save(&mut self, moment: &Moment<A>) -> io::Result<()> {
        let seconds = self.watch.seconds();
        let lengths = self.output.borrow().sync()?;
        let index = self.states.commit().map_err(io::Error::other)?;
        let generation = self.states.generation();
        let mut bytes = Vec::with_capacity(moment.bytes() as usize);
        moment.encode(&mut bytes);
        let saved = Saved { run: self.run as u64, lengths, seconds, generation, index, moment: bytes };
        let mut body = Vec::with_capacity(saved.bytes() as usize);
        saved.encode(&mut body);
        self.checkpoints.save(moment.next, &body)?;
        self.generations.push(generation);
        let gone = self.generations.len().saturating_sub(motet_runtime::KEPT);
        self.generations.drain(..gone);
        self.states.release(self.generations[0]);
        self.last = Instant::now();
        Ok(())
    }
}

impl<A: Algorithm> Keeper<A> for Saver<'_, A> {
    fn after(&mut self, moment: &Moment<A>) -> io::Result<Next> {
        let stop = self.observer.stop();
        if stop || self.due(moment.next.saturating_sub(1)) {
            self.save(moment)?;
        }
        Ok(if stop { Next::Stop } else { Next::GoOn })
    }

    fn end(&mut self, moment: &Moment<A>) -> io::Result<()> {
        if self.to_the_end { self.save(moment) } else { Ok(()) }
    }
}
