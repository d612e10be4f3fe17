//! Where the records of an experiment go: a folder, memory, or what a program makes of them.

mod folder;
mod journal;
mod memory;

use std::io;
use std::path::Path;
use std::sync::Arc;

use motet_core::{ClientId, Merit, Row, Vector};
use motet_records::{ClientRow, Event, Lengths, Manifest, Models, RunCard, RunSummary, Summary};

pub use folder::Folder;
pub use journal::Journal;
pub use memory::InMemory;

use crate::error::Error;
use crate::resume::Workplace;

/// Is told everything an experiment leaves, as it happens. Whatever the recorder, the records are the same.
pub trait Recorder {
    /// An experiment begins, or goes on: what is planned.
    fn begin(&mut self, manifest: &Manifest) -> Result<(), Error>;

    /// What is planned, now that more is known: after every run.
    fn manifest(&mut self, manifest: &Manifest) -> Result<(), Error>;

    /// One measured round.
    fn row(&mut self, row: &Row) -> io::Result<()>;

    /// Who counted how much for whom.
    fn merit(&mut self, merit: &Merit) -> io::Result<()>;

    /// Something that happened beside the rounds.
    fn event(&mut self, event: &Event) -> io::Result<()>;

    /// Records events while a run waits and has the recorder, where that is possible.
    fn journal(&self) -> Option<Journal> {
        None
    }

    /// The clients at the end of a run.
    fn clients(&mut self, clients: &[ClientRow]) -> Result<(), Error>;

    /// The model of one client at the end of a run: they come one by one, so that they need not be in memory together.
    fn model(&mut self, card: &RunCard, client: ClientId, model: Vector) -> Result<(), Error>;

    /// All clients' models of the run have come, and this is the shared one, with what has to be known to use them again as JSON;
    /// returns them if they are to stay in memory with the other records.
    fn models(&mut self, card: &RunCard, shared: Vector, passport: Option<String>) -> Result<Option<Arc<Models>>, Error>;

    /// Takes over the models of a run that was done in another folder, which keeps them too.
    fn adopt_models(&mut self, card: &RunCard, from: &Path) -> Result<(), Error>;

    /// A run is done.
    fn run_done(&mut self, card: &RunCard, summary: &RunSummary) -> Result<(), Error>;

    /// All runs are done, and the claims are judged.
    fn summary(&mut self, summary: &Summary) -> Result<(), Error>;

    /// The report is drawn, where there is a folder for it: nothing more will come.
    fn end(&mut self) -> Result<(), Error>;

    /// Makes what was recorded durable, and tells how long the files are, where there are any.
    fn sync(&mut self) -> io::Result<Lengths>;

    /// Where the report is drawn and the experiment can go on; none if nothing is on disk.
    fn folder(&self) -> Option<&Path>;

    /// Where runs keep what they need beside their records: [`Workplace::in_memory`] for recorders without a folder.
    fn workplace(&mut self) -> &mut Workplace;
}
