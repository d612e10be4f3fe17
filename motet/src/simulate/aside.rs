//! Runs that are done side by side, each by some of the ranks: those of a grid, the trials of a rung.
//!
//! Each is done in a folder of its own within `resume`, with checkpoints of its own, by a group of ranks. Rank 0 deals them out, does some
//! itself, and takes their records over in the order of the manifest: they are those of one machine. A job that ends early goes on from
//! these folders on any number of ranks, also on one.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use motet_core::{Reader, Row, Wire, whole, wire};
use motet_records::{ClientRow, Records, RunCard, RunSummary, names};
use motet_runtime::{Crew, CrewGone, Group};
use serde_json::{Map, Value};

use super::dealing::Dealing;
use super::run::{Begun, Simulate};
use super::{Role, Simulation};
use crate::cluster::{Opening, dismiss, gone};
use crate::error::Error;
use crate::method::AnyMethod;
use crate::observer::{Event, Observer};
use crate::recorders::{Folder, Recorder};
use crate::resume::Finished;
use crate::tuning::TrialHistory;

/// Rank 0 looks for news so often while it has nothing to do itself.
const NAP: Duration = Duration::from_millis(1);

wire! {
    /// What rank 0 tells the first rank of a group.
    enum Task {
        /// Do this run: the method's parameters and the card as JSON.
        Run { run: u64, params: String, card: String, picks: bool },
        /// Stop after this round, and keep it.
        Stop {},
        /// There is nothing more to do.
        Leave {},
    }
}

wire! {
    /// What it answers.
    enum Report {
        /// The run is done.
        Done { run: u64 },
        /// It was stopped and can go on.
        Stopped { run: u64 },
        /// It cannot go on.
        Failed { run: u64, reason: String },
    }
}

/// How far an experiment is.
#[derive(Default)]
pub(super) struct Progress {
    /// The records of the runs that are taken over, which are the first ones.
    pub(super) records: Records,
    pub(super) taken: usize,
    /// How runs ended that are done, whether taken over or not.
    pub(super) runs: BTreeMap<usize, RunSummary>,
    /// What those left that are not.
    ahead: BTreeMap<usize, (PathBuf, Finished, Records)>,
}

impl Progress {
    /// Finds the runs that an earlier go has done in folders of their own.
    pub(super) fn find(&mut self, main: &Path, runs: usize) -> Result<(), Error> {
        Folder::begun_aside(main, self.taken..runs).into_iter().try_for_each(|run| self.look_at(main, run))
    }

    fn look_at(&mut self, main: &Path, run: usize) -> Result<(), Error> {
        if let Some(found) = Folder::done_aside(main, run)? {
            self.runs.insert(run, found.1.summary.clone());
            self.ahead.insert(run, found);
        }
        Ok(())
    }

    /// What earlier runs decide by.
    pub(super) fn past<T>(&self, act: impl FnOnce(TrialHistory<'_>, &[&ClientRow]) -> T) -> T {
        let ahead = || self.ahead.values().map(|(_, _, records)| records);
        let rows: Vec<&Row> = self.records.rows.iter().chain(ahead().flat_map(|records| &records.rows)).collect();
        let clients: Vec<&ClientRow> = self.records.clients.iter().chain(ahead().flat_map(|records| &records.clients)).collect();
        act(TrialHistory { runs: &self.runs, rows: &rows }, &clients)
    }

    /// Takes over the records of the next run, if it is done in a folder of its own.
    pub(super) fn take_over(&mut self, recorder: &mut dyn Recorder) -> Result<bool, Error> {
        let Some((folder, Finished { card, summary, .. }, found)) = self.ahead.remove(&self.taken) else { return Ok(false) };
        let path = recorder.folder().unwrap_or(Path::new("")).join(names::ROWS);
        let write = |recorder: &mut dyn Recorder| {
            found.rows.iter().try_for_each(|row| recorder.row(row))?;
            found.merits.iter().try_for_each(|merit| recorder.merit(merit))?;
            found.events.iter().try_for_each(|event| recorder.event(event))
        };
        write(recorder).map_err(|source| Error::Write { path, source })?;
        recorder.clients(&found.clients)?;
        recorder.adopt_models(&card, &folder)?;
        recorder.run_done(&card, &summary)?;
        let Records { rows, clients, merits, events, .. } = found;
        self.records.rows.extend(rows);
        self.records.clients.extend(clients);
        self.records.merits.extend(merits);
        self.records.events.extend(events);
        self.records.manifest.runs[self.taken] = card;
        self.taken += 1;
        recorder.manifest(&self.records.manifest)?;
        Ok(true)
    }
}

/// A run as earlier ones have decided it.
pub(super) struct Assigned {
    run: usize,
    pub(super) method: Arc<dyn AnyMethod>,
    pub(super) card: RunCard,
    pub(super) picks: bool,
}

impl Simulation {
    /// Does what can be done beside the usual course: takes over the next run, or lets groups of ranks do several, or goes on with one that an earlier
    /// go began in a folder of its own. False if there is no such thing.
    pub(super) fn beside(&self, progress: &mut Progress, recorder: &mut dyn Recorder, observer: &dyn Observer) -> Result<bool, Error> {
        let Some(main) = recorder.folder().map(PathBuf::from) else { return Ok(false) };
        if progress.take_over(recorder)? {
            return Ok(true);
        }
        let ready = self.ready(progress);
        if let (Some(crew), true) = (&self.crew, ready.len() > 1) {
            self.side_by_side(crew, ready.len(), (progress, recorder), &main, observer)?;
            return Ok(true);
        }
        let next = progress.taken;
        if Folder::begun_aside(&main, next..next + 1).is_empty() {
            return Ok(false);
        }
        let assigned = self.assigned(next, progress, recorder)?;
        self.do_aside(assigned, &main, self.crew.clone(), 0, observer)?;
        progress.look_at(&main, next)?;
        Ok(true)
    }

    /// The runs that can begin now, given which are done.
    fn ready(&self, progress: &Progress) -> Vec<usize> {
        let done = |run: &usize| progress.runs.contains_key(run);
        let may = |run: &usize| match self.runs[*run].role {
            Role::Plain => true,
            Role::Trial { tuning, rung, .. } => {
                rung.checked_sub(1).is_none_or(|before| self.tunings[tuning].rungs[before].1.clone().all(|run| done(&run)))
            }
            Role::Tuned { tuning } => self.tunings[tuning].runs().all(|run| done(&run)),
            Role::Retrained { of } => done(&of),
        };
        (progress.taken..self.runs.len()).filter(|run| !done(run) && may(run)).collect()
    }

    /// What earlier runs decide about this one.
    pub(super) fn assigned(&self, run: usize, progress: &mut Progress, recorder: &mut dyn Recorder) -> Result<Assigned, Error> {
        let planned = self.runs[run];
        let mut cards = std::mem::take(&mut progress.records.manifest.runs);
        let entry = progress.past(|past, clients| self.decide(&planned, &mut cards, run, past, clients));
        progress.records.manifest.runs = cards;
        let entry = entry?;
        if let Role::Tuned { tuning } = planned.role {
            let path = recorder.folder().map_or_else(PathBuf::new, PathBuf::from);
            let forgotten = recorder.workplace().forget_trials(self.tunings[tuning].runs());
            forgotten.map_err(|source| Error::Write { path, source })?;
        }
        let picks = entry.pick.is_some() && self.is_result(&planned);
        Ok(Assigned { run, method: entry.method, card: progress.records.manifest.runs[run].clone(), picks })
    }

    /// Does a run, or what is left of it, in a folder of its own.
    fn do_aside(
        &self,
        Assigned { run, method, mut card, picks }: Assigned,
        main: &Path,
        crew: Option<Arc<dyn Crew>>,
        who: usize,
        observer: &dyn Observer,
    ) -> Result<(), Error> {
        let manifest = self.manifest();
        let mut folder = Folder::aside(main, run, &self.experiment.document, &manifest, who)?;
        let mut begun = Begun::default();
        if let Some((standing, before)) = folder.workplace().past() {
            if !standing.finished.is_empty() {
                return Ok(());
            }
            begun = Begun { saved: standing.saved, rows: before.rows, merits: before.merits, notes: vec![] };
        }
        folder.begin(&manifest)?;
        let (planned, events) = (self.runs[run], vec![]);
        let recorder = &mut folder;
        let done = Simulate { of: self, run, planned, card: &mut card, recorder, observer, begun, events, picks, crew }.run(&method)?;
        folder.run_done(&card, &done.summary)?;
        let path = folder.path().to_owned();
        folder.workplace().clear_run().map_err(|source| Error::Write { path, source })
    }

    /// Rank 0's part in runs that groups of ranks do side by side, until there is nothing that more than one of them could do.
    fn side_by_side(
        &self,
        crew: &Arc<dyn Crew>,
        ready: usize,
        (progress, recorder): (&mut Progress, &mut dyn Recorder),
        main: &Path,
        observer: &dyn Observer,
    ) -> Result<(), Error> {
        let groups = Group::dealt(crew.size(), ready.min(crew.size()));
        let folder = Some(main.to_string_lossy().into_owned());
        Opening { more: true, groups: groups.len() as u32, folder, ..Opening::default() }.tell(&**crew)?;
        let own = group(crew, &groups[0]);
        let dealing = RefCell::new(Dealing::between(groups.len()));
        let leaders: Vec<usize> = groups.iter().map(|group| group.start).collect();
        let recorder: &mut dyn Recorder = recorder;
        let at = RefCell::new((progress, recorder));
        let (halted, told, dealt) = (RefCell::default(), Cell::new(false), Cell::new(false));
        let desk = Desk { of: self, crew, main, leaders, dealing, at, halted, told, dealt, observer };
        while let Some(next) = desk.next() {
            let Some(assigned) = next else {
                thread::sleep(NAP);
                continue;
            };
            let run = assigned.run;
            let done = self.do_aside(assigned, main, own.clone(), 0, &desk);
            desk.came(0, run, done);
        }
        for leader in &desk.leaders[1..] {
            tell(crew, *leader, &Task::Leave {})?;
        }
        own.map_or(Ok(()), |own| dismiss(&*own))?;
        desk.halted.take().map_or(Ok(()), Err)
    }

    /// What every other rank does meanwhile: the first of a group does runs with the others of it, which serve it.
    pub(crate) fn in_a_group(&self, crew: &Arc<dyn Crew>, groups: usize, main: &Path) -> Result<(), Error> {
        let groups = Group::dealt(crew.size(), groups);
        let Some(mine) = groups.iter().find(|group| group.contains(&crew.rank())) else { return Ok(()) };
        let own = group(crew, mine);
        if crew.rank() != mine.start {
            return own.map_or(Ok(()), |own| self.serve(&own));
        }
        let unread = |error: &dyn ToString| Error::Rank { rank: 0, reason: format!("says what cannot be read: {}", error.to_string()) };
        let orders = Orders { crew, waiting: RefCell::default(), stopped: Cell::new(false) };
        loop {
            let message = orders.next().map_err(gone)?;
            match Task::decode(&mut Reader::new(&message)).map_err(|e| unread(&e))? {
                Task::Run { run, params, card, picks } => {
                    let report = match self.told(run, &params, &card, picks) {
                        // It was given ahead.
                        _ if orders.stopped.get() => Report::Stopped { run },
                        Ok(assigned) => match self.do_aside(assigned, main, own.clone(), crew.rank(), &orders) {
                            Ok(()) => Report::Done { run },
                            Err(Error::Interrupted { .. }) => Report::Stopped { run },
                            Err(error) => Report::Failed { run, reason: error.to_string() },
                        },
                        Err(reason) => Report::Failed { run, reason },
                    };
                    let mut message = vec![];
                    report.encode(&mut message);
                    crew.send(0, &message).map_err(gone)?;
                }
                Task::Stop {} => orders.stopped.set(true),
                Task::Leave {} => return own.map_or(Ok(()), |own| dismiss(&*own)),
            }
        }
    }

    /// Is what is told of a run so short that nobody waits until it is heard, which MPI does with some kilobytes?
    fn is_told_at_once(&self, run: usize) -> bool {
        const SHORT: usize = 1 << 10;
        let planned = &self.runs[run];
        // Those that begin with what clients picked name every client.
        !matches!(planned.role, Role::Retrained { .. }) && Value::Object(self.entry(planned).method.params()).to_string().len() <= SHORT
    }

    /// A run as rank 0 told of it.
    fn told(&self, run: u64, params: &str, card: &str, picks: bool) -> Result<Assigned, String> {
        let run = usize::try_from(run).map_err(|e| e.to_string())?;
        let planned = self.runs.get(run).ok_or("this rank has planned fewer runs than rank 0")?;
        let params: Map<String, Value> = serde_json::from_str(params).map_err(|e| e.to_string())?;
        let method = self.entries[planned.entry].method.with_params(params)?;
        Ok(Assigned { run, method, card: serde_json::from_str(card).map_err(|e| e.to_string())?, picks })
    }
}

/// The ranks of a group as a crew, if there are several.
fn group(crew: &Arc<dyn Crew>, ranks: &Range<usize>) -> Option<Arc<dyn Crew>> {
    (ranks.len() > 1).then(|| Arc::new(Group::of(Arc::clone(crew), ranks.clone())) as Arc<dyn Crew>)
}

fn tell(crew: &Arc<dyn Crew>, leader: usize, task: &Task) -> Result<(), Error> {
    let mut message = vec![];
    task.encode(&mut message);
    crew.send(leader, &message).map_err(gone)
}

/// Rank 0's list of who does what. It is looked at between two rounds of what rank 0 does itself.
struct Desk<'a> {
    of: &'a Simulation,
    crew: &'a Arc<dyn Crew>,
    main: &'a Path,
    /// The first rank of each group.
    leaders: Vec<usize>,
    dealing: RefCell<Dealing>,
    at: RefCell<(&'a mut Progress, &'a mut dyn Recorder)>,
    /// Why no run begins any more.
    halted: RefCell<Option<Error>>,
    /// Have the others been told to stop?
    told: Cell<bool>,
    /// Has everybody what can be given, until somebody comes?
    dealt: Cell<bool>,
    observer: &'a dyn Observer,
}

impl Desk<'_> {
    /// Hears who is done, and gives everybody else something to do. What rank 0 does itself next, if anything; none at all if nobody has
    /// anything to do.
    fn next(&self) -> Option<Option<Assigned>> {
        self.look();
        let own = if self.halted.borrow().is_some() { None } else { self.assign(0, &self.ready()).transpose() };
        match own {
            Some(Ok(assigned)) => return Some(Some(assigned)),
            Some(Err(error)) => self.halt(error),
            None => {}
        }
        self.dealing.borrow().is_any_at_work().then_some(None)
    }

    fn ready(&self) -> Vec<usize> {
        self.of.ready(&*self.at.borrow().0)
    }

    fn look(&self) {
        for (group, leader) in self.leaders.iter().enumerate().skip(1) {
            while let Some(run) = self.at_work(group) {
                match self.crew.look_for(*leader) {
                    Ok(None) => break,
                    Ok(Some(message)) => self.came(group, run, heard(*leader, &message)),
                    Err(error) => self.came(group, run, Err(gone(error))),
                }
            }
        }
        if self.observer.stop() {
            let folder = Some(self.main.to_owned());
            let done = self.at.borrow().0.runs.len();
            self.halt(Error::Interrupted { what: format!("{done} of {} runs are done", self.of.runs.len()), folder });
        }
        if self.halted.borrow().is_some() || self.dealt.replace(true) {
            return;
        }
        // A rung that is over may leave everybody idle, and then groups are dealt anew.
        let ready = self.ready();
        for group in 1..self.leaders.len() {
            while let Some(told) =
                self.assign(group, &ready).and_then(|some| some.map(|task| self.tell(group, task)).transpose()).transpose()
            {
                told.unwrap_or_else(|error| self.halt(error));
            }
        }
    }

    /// Gives a group a run.
    fn tell(&self, group: usize, Assigned { run, method, card, picks }: Assigned) -> Result<(), Error> {
        let card = serde_json::to_string(&card).expect("a card is plain data");
        let params = Value::Object(method.params()).to_string();
        tell(self.crew, self.leaders[group], &Task::Run { run: run as u64, params, card, picks })
    }

    fn at_work(&self, group: usize) -> Option<usize> {
        self.dealing.borrow().at_work(group)
    }

    /// What a group gets of the runs that can begin.
    fn assign(&self, group: usize, ready: &[usize]) -> Result<Option<Assigned>, Error> {
        let given = self.dealing.borrow_mut().give(group, ready, |run| self.of.is_told_at_once(run));
        let Some(run) = given else { return Ok(None) };
        let (progress, recorder) = &mut *self.at.borrow_mut();
        self.of.assigned(run, progress, &mut **recorder).map(Some).inspect_err(|_| self.dealing.borrow_mut().withdraw(group))
    }

    /// A group has come to the end of a run, or nowhere.
    fn came(&self, group: usize, run: usize, how: Result<(), Error>) {
        self.dealing.borrow_mut().came(group);
        self.dealt.set(false);
        let (progress, recorder) = &mut *self.at.borrow_mut();
        let taken = how.and_then(|()| {
            progress.look_at(self.main, run)?;
            if let (Some(summary), true) = (progress.runs.get(&run), group > 0) {
                self.observer.notice(Event::End(summary));
            }
            while progress.take_over(&mut **recorder)? {}
            Ok(())
        });
        taken.unwrap_or_else(|error| self.halt(error));
    }

    /// Nothing begins any more, and everybody stops after the round under way; the first reason counts.
    fn halt(&self, error: Error) {
        let mut halted = self.halted.borrow_mut();
        let stopped = |error: &Error| matches!(error, Error::Interrupted { .. });
        if halted.as_ref().is_none_or(|before| stopped(before) && !stopped(&error)) {
            *halted = Some(error);
        }
        if !self.told.replace(true) {
            for (group, leader) in self.leaders.iter().enumerate().skip(1) {
                if self.at_work(group).is_some() {
                    // Who is gone takes the job along.
                    let _ = tell(self.crew, *leader, &Task::Stop {});
                }
            }
        }
    }
}

/// What a leader reports.
fn heard(rank: usize, message: &[u8]) -> Result<(), Error> {
    match whole::<Report>(message) {
        Ok(Report::Done { .. }) => Ok(()),
        Ok(Report::Stopped { run }) => Err(Error::Interrupted { what: format!("run {run} was stopped"), folder: None }),
        Ok(Report::Failed { reason, .. }) => Err(Error::Rank { rank, reason }),
        Err(error) => Err(Error::Rank { rank, reason: format!("reports what cannot be read: {error}") }),
    }
}

impl Observer for Desk<'_> {
    fn notice(&self, event: Event<'_>) {
        self.observer.notice(event);
    }

    /// Asked after every round of what rank 0 does itself.
    fn stop(&self) -> bool {
        self.look();
        self.halted.borrow().is_some()
    }

    fn failure(&self) -> Option<String> {
        self.observer.failure()
    }
}

/// What a leader hears from rank 0: the next run, when it is to stop, when it may leave.
struct Orders<'a> {
    crew: &'a Arc<dyn Crew>,
    /// What came while a run was under way.
    waiting: RefCell<VecDeque<Vec<u8>>>,
    /// Nothing is begun any more.
    stopped: Cell<bool>,
}

impl Orders<'_> {
    fn next(&self) -> Result<Vec<u8>, CrewGone> {
        match self.waiting.borrow_mut().pop_front() {
            Some(message) => Ok(message),
            None => self.crew.receive(0),
        }
    }
}

impl Observer for Orders<'_> {
    fn notice(&self, _: Event<'_>) {}

    fn stop(&self) -> bool {
        while !self.stopped.get() {
            match self.crew.look_for(0) {
                Ok(None) => break,
                Ok(Some(message)) if matches!(whole(&message), Ok(Task::Run { .. })) => self.waiting.borrow_mut().push_back(message),
                // To leave is said to nobody who is at work; if rank 0 is gone, so is the job.
                Ok(Some(_)) | Err(_) => self.stopped.set(true),
            }
        }
        self.stopped.get()
    }
}
