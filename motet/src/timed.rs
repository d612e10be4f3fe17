//! The loop's connection to the outside: time, files, the progress bar.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

use motet_core::{
    Abort, Adding, Algorithm, ClientId, Fleet, LastReplies, Merit, Participants, Probe, Received, Roster, Row, Score, Sink, Slot, Wave,
};
use motet_records::{Event, EventKind};

use crate::observer::{Event as Seen, Observer, sound};
use crate::recorders::Recorder;
use crate::simulate::Elsewhere;

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
    fn is_there(&self, slot: Slot, client: ClientId) -> bool {
        self.inner.is_there(slot, client)
    }
    fn is_steady(&self) -> bool {
        self.inner.is_steady()
    }
    fn participants(&self) -> Option<&dyn Participants> {
        self.inner.participants()
    }
    fn exchange(&mut self, slot: Slot, wave: Wave<'_, A::Ask>, each: &mut dyn FnMut(ClientId, Received<A::Reply>)) -> Result<(), Abort> {
        self.inner.exchange(slot, wave, each)
    }
    fn sum(&mut self, slot: Slot, wave: Wave<'_, A::Ask>, adding: &mut Adding<'_, A>) -> Result<(), Abort> {
        self.inner.sum(slot, wave, adding)
    }

    fn round_closed(&mut self, clients: &mut dyn Iterator<Item = ClientId>, heard: &LastReplies) -> Result<(), Abort> {
        self.inner.round_closed(clients, heard)
    }

    fn elapsed(&mut self) -> f64 {
        self.inner.elapsed()
    }

    fn probe(&mut self, probe: &Probe<'_>, each: &mut dyn FnMut(ClientId, Score)) -> Result<(), Abort> {
        let began = Instant::now();
        let done = self.inner.probe(probe, each);
        self.probing.set(self.probing.get() + began.elapsed());
        done
    }
}

/// How long training took, probes and earlier goes at the same run taken into account.
pub(crate) struct Watch {
    began: Instant,
    before: f64,
    probing: Rc<Cell<Duration>>,
}

impl Watch {
    /// Starts with the seconds that were spent before; `probing` tells how long probes take.
    pub(crate) fn after(before: f64, probing: Rc<Cell<Duration>>) -> Self {
        Self { began: Instant::now(), before, probing }
    }

    /// Seconds of training.
    pub(crate) fn seconds(&self) -> f64 {
        self.before + self.began.elapsed().saturating_sub(self.probing.get()).as_secs_f64()
    }
}

/// Rows to the recorder, to those who judge them later and to whoever watches.
pub(crate) struct RowSink<'a> {
    pub(crate) recorder: &'a RefCell<&'a mut dyn Recorder>,
    pub(crate) rows: &'a mut Vec<Row>,
    pub(crate) merits: &'a mut Vec<Merit>,
    /// What happened beside the rounds.
    pub(crate) events: &'a mut Vec<Event>,
    pub(crate) observer: &'a dyn Observer,
    pub(crate) watch: &'a Watch,
    /// Where clients are, if not here: what happens there is told with the rows.
    pub(crate) elsewhere: Option<&'a dyn Elsewhere>,
}

impl Sink for RowSink<'_> {
    fn row(&mut self, row: &Row) -> io::Result<()> {
        sound(self.observer)?;
        let mut row = row.clone();
        row.seconds = Some(self.watch.seconds());
        self.recorder.borrow_mut().row(&row)?;
        for breach in &row.breaches {
            let event = Event::now(EventKind::Breach, breach.reason.clone()).in_run(row.run).in_round(breach.round).about(breach.client);
            self.recorder.borrow_mut().event(&event)?;
            self.events.push(event);
        }
        if let Some(elsewhere) = self.elsewhere {
            self.events.extend(elsewhere.events(&mut |event| self.recorder.borrow_mut().event(event))?);
        }
        self.observer.notice(Seen::Row(&row));
        self.rows.push(row);
        Ok(())
    }

    fn merit(&mut self, merit: &Merit) -> io::Result<()> {
        self.recorder.borrow_mut().merit(merit)?;
        self.merits.push(merit.clone());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fleet_that_is_timed_forwards_everything() {
        motet_conformance::forwards_everything(|inner| Timed { inner, probing: Rc::default() }).unwrap();
    }
}
