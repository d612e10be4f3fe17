//! The account of a run: who sent what, in how many bits, and what was computed.

use crate::message::{Message, wire};
use crate::site::Work;

/// The direction of a message: up to the server, or down to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Client to server.
    Up,
    /// Server to client.
    Down,
}

wire! {
    /// Messages of one kind in one direction.
    #[derive(PartialEq, Eq, serde::Serialize, serde::Deserialize)]
    pub struct Entry {
        /// Client to server?
        pub up: bool,
        /// Name of the message.
        pub kind: String,
        /// How many there are.
        pub count: u64,
        /// What a paper would count.
        pub bits: u64,
        /// What a network would carry.
        pub bytes: u64,
    }
}

wire! {
    /// Everything sent and computed since the run began, failed attempts included: spent is spent.
    #[derive(Default, PartialEq, Eq)]
    pub struct Ledger {
        entries: Vec<Entry>,
        /// Examples differentiated by clients.
        pub gradients: u64,
        /// Examples evaluated by clients.
        pub values: u64,
        /// Nanoseconds that the exchanges would have taken on the problem's devices.
        pub nanoseconds: u64,
    }
}

/// Totals of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Traffic {
    /// What a paper would count.
    pub bits: u64,
    /// What a network would carry.
    pub bytes: u64,
}

impl Ledger {
    /// Books `count` copies of a message.
    pub fn book(&mut self, direction: Direction, message: &impl Message, count: u64) {
        self.book_traffic(direction, message.kind(), Traffic { bits: message.bits(), bytes: message.bytes() }, count);
    }

    /// Books `count` messages of a kind that cost so much each.
    pub fn book_traffic(&mut self, direction: Direction, kind: &str, each: Traffic, count: u64) {
        let up = direction == Direction::Up;
        let entry = match self.entries.iter().position(|e| e.up == up && e.kind == kind) {
            Some(at) => &mut self.entries[at],
            None => {
                self.entries.push(Entry { up, kind: kind.into(), count: 0, bits: 0, bytes: 0 });
                self.entries.last_mut().expect("an entry was just pushed")
            }
        };
        entry.count += count;
        entry.bits += count * each.bits;
        entry.bytes += count * each.bytes;
    }

    /// Books what a client computed.
    pub fn book_work(&mut self, work: Work) {
        self.gradients += work.gradients;
        self.values += work.values;
    }

    /// Books time of the deployment.
    pub fn book_seconds(&mut self, seconds: f64) {
        self.nanoseconds += (1e9 * seconds) as u64;
    }

    /// By kind, in the order of first use.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Sum over kinds.
    pub fn total(&self, direction: Direction) -> Traffic {
        let up = direction == Direction::Up;
        self.entries
            .iter()
            .filter(|e| e.up == up)
            .fold(Traffic::default(), |t, e| Traffic { bits: t.bits + e.bits, bytes: t.bytes + e.bytes })
    }
}
