//! What a coordinator notes about its clients.

use crate::call::TaskNumber;

/// Something that happened at a desk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A client called for the first time, or came back.
    Joined,
    /// It said so, or nothing was heard of it for too long.
    Left {
        /// In its own words, or ours.
        reason: String,
    },
    /// A task was not answered in time.
    Deadline {
        /// Which.
        task: TaskNumber,
    },
    /// A reply came when nobody waited for it any more.
    Late {
        /// To which task.
        task: TaskNumber,
    },
    /// The client no longer has the version of its state that was named.
    Lost {
        /// In which task.
        task: TaskNumber,
    },
    /// The client would not do a task.
    Declined {
        /// In its own words, shortened.
        reason: String,
    },
    /// The client broke the protocol.
    Struck {
        /// How.
        reason: String,
    },
    /// The client knows of a later start of this coordinator, which must have been restored from an older copy.
    KnowsLaterStart {
        /// The start it knows of.
        start: u32,
    },
    /// A reply could not be written down here; it is sent again.
    Unkept {
        /// What the disk says.
        reason: String,
    },
    /// The client is refused from now on.
    Revoked,
}

/// Events that wait to be written down. A peer can cause many: those above the limit are dropped.
#[derive(Debug, Default)]
pub(crate) struct Events(Vec<(u32, Event)>);

const MOST: usize = 4096;

impl Events {
    pub(crate) fn push(&mut self, client: u32, event: Event) {
        if self.0.len() < MOST {
            self.0.push((client, event));
        }
    }

    pub(crate) fn take(&mut self) -> Vec<(u32, Event)> {
        std::mem::take(&mut self.0)
    }
}
