//! Records as values: no folder is needed.

use std::io;
use std::path::Path;
use std::sync::Arc;

use motet_core::{ClientId, Merit, Row, Vector};
use motet_records::{ClientRow, Event, Lengths, Manifest, Models, Records, RunCard, RunSummary, Summary};

use super::Recorder;
use crate::error::Error;
use crate::resume::Workplace;

/// Keeps the records of an experiment in memory, models included. What was reached is there after an error too; there are no
/// checkpoints to go on from.
#[derive(Debug, Default)]
pub struct InMemory {
    records: Records,
    /// Of the run that ends.
    personal: Vec<(ClientId, Vector)>,
    workplace: Workplace,
}

impl InMemory {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// What was recorded so far.
    pub fn records(&self) -> &Records {
        &self.records
    }
}

impl Recorder for InMemory {
    fn begin(&mut self, manifest: &Manifest) -> Result<(), Error> {
        self.records = Records { manifest: manifest.clone(), ..Records::default() };
        Ok(())
    }

    fn manifest(&mut self, manifest: &Manifest) -> Result<(), Error> {
        self.records.manifest = manifest.clone();
        Ok(())
    }

    fn row(&mut self, row: &Row) -> io::Result<()> {
        self.records.rows.push(row.clone());
        Ok(())
    }

    fn merit(&mut self, merit: &Merit) -> io::Result<()> {
        self.records.merits.push(merit.clone());
        Ok(())
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.records.events.push(event.clone());
        Ok(())
    }

    fn clients(&mut self, clients: &[ClientRow]) -> Result<(), Error> {
        self.records.clients.extend_from_slice(clients);
        Ok(())
    }

    fn model(&mut self, _: &RunCard, client: ClientId, model: Vector) -> Result<(), Error> {
        self.personal.push((client, model));
        Ok(())
    }

    fn models(&mut self, card: &RunCard, shared: Vector, passport: Option<String>) -> Result<Option<Arc<Models>>, Error> {
        let mut personal = std::mem::take(&mut self.personal);
        personal.sort_by_key(|(id, _)| *id);
        let models = Arc::new(Models { run: card.run, shared, personal, passport });
        self.records.models.push(Arc::clone(&models));
        Ok(Some(models))
    }

    /// Only an experiment with a folder has runs done in others.
    fn adopt_models(&mut self, _: &RunCard, _: &Path) -> Result<(), Error> {
        Ok(())
    }

    fn run_done(&mut self, _: &RunCard, _: &RunSummary) -> Result<(), Error> {
        Ok(())
    }

    fn summary(&mut self, summary: &Summary) -> Result<(), Error> {
        self.records.summary = Some(summary.clone());
        Ok(())
    }

    fn end(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn sync(&mut self) -> io::Result<Lengths> {
        Ok(Lengths::default())
    }

    fn folder(&self) -> Option<&Path> {
        None
    }

    fn workplace(&mut self) -> &mut Workplace {
        &mut self.workplace
    }
}
