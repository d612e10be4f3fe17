//! How much of a folder's growing files is whole.

use std::fs;
use std::path::Path;

use motet_core::wire;
use serde::{Deserialize, Serialize};

use crate::names;

wire! {
    /// How long the growing files are, in bytes: on resuming, what lies beyond is cut off.
    #[derive(Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Lengths {
        /// `rows.jsonl`
        pub rows: u64,
        /// `clients.jsonl`
        pub clients: u64,
        /// `merits.bin`
        pub merits: u64,
        /// `events.jsonl`
        pub events: u64,
    }
}

impl Lengths {
    /// As they are in a folder now; a file that is not there has no bytes.
    pub fn found(folder: &Path) -> Self {
        let length = |name: &str| fs::metadata(folder.join(name)).map_or(0, |about| about.len());
        let [rows, clients, merits, events] = names::STREAMS.map(length);
        Self { rows, clients, merits, events }
    }

    /// Is each of them at most that of `found`?
    pub fn within(&self, found: &Self) -> bool {
        self.named().iter().zip(found.named()).all(|((_, mine), (_, theirs))| *mine <= theirs)
    }

    /// The length of the growing file with this name; `None` for other files.
    pub fn of(&self, name: &str) -> Option<u64> {
        self.named().into_iter().find(|(named, _)| *named == name).map(|(_, length)| length)
    }

    /// That of the file with this name; of the events for any other.
    pub(crate) fn of_mut(&mut self, name: &str) -> &mut u64 {
        match name {
            names::ROWS => &mut self.rows,
            names::CLIENTS => &mut self.clients,
            names::MERITS => &mut self.merits,
            _ => &mut self.events,
        }
    }

    /// Each with the name of its file.
    pub(crate) fn named(&self) -> [(&'static str, u64); 4] {
        let [rows, clients, merits, events] = names::STREAMS;
        [(rows, self.rows), (clients, self.clients), (merits, self.merits), (events, self.events)]
    }
}
