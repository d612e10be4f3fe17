//! What stands between the loop and the outside: time, files, the progress bar.

use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

use motet_core::{Abort, Algorithm, Answer, ClientId, Fleet, Merit, Probe, Roster, Row, Score, Sink, Slot, Wave};

use crate::output::Output;
use crate::progress::Progress;

/// A fleet that knows how long it was measured, so that measuring does not count as training.
pub(crate) struct Timed<F> {
    pub(crate) inner: F,
    /// Time spent on probes so far.
    pub(crate) probing: Rc<Cell<Duration>>,
}

impl<A: Algorithm, F: Fleet<A>> Fleet<A> for Timed<F> {
    fn roster(&self) -> Roster {
        self.inner.roster()
    }
    fn exchange(&mut self, slot: Slot, wave: Wave<'_, A::Ask>, each: &mut dyn FnMut(ClientId, Answer<A::Reply>)) -> Result<(), Abort> {
        self.inner.exchange(slot, wave, each)
    }
    fn probe(&mut self, probe: &Probe<'_>, each: &mut dyn FnMut(ClientId, Score)) -> Result<(), Abort> {
        let began = Instant::now();
        let done = self.inner.probe(probe, each);
        self.probing.set(self.probing.get() + began.elapsed());
        done
    }
}

/// Rows to disk, to memory and to the progress bar.
pub(crate) struct Recorder<'a> {
    pub(crate) output: &'a mut Output,
    pub(crate) rows: &'a mut Vec<Row>,
    pub(crate) merits: &'a mut Vec<Merit>,
    pub(crate) progress: &'a Progress,
    pub(crate) began: Instant,
    pub(crate) probing: &'a Cell<Duration>,
}

impl Sink for Recorder<'_> {
    fn row(&mut self, row: &Row) -> io::Result<()> {
        let mut row = row.clone();
        row.seconds = Some(self.began.elapsed().saturating_sub(self.probing.get()).as_secs_f64());
        self.output.row(&row)?;
        self.progress.row(&row);
        self.rows.push(row);
        Ok(())
    }

    fn merit(&mut self, merit: &Merit) -> io::Result<()> {
        self.output.merit(merit)?;
        self.merits.push(merit.clone());
        Ok(())
    }
}
