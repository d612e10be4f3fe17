//! What a coordinator notes about its clients.

use std::time::Duration;

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
    /// A task that was fetched takes longer than any before it: the client is at work, or gone without a word.
    Slow {
        /// For so long.
        since: Duration,
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
    /// More happened than could be kept.
    More {
        /// So many events.
        count: u64,
    },
}

/// An event, and when and where in the run it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    /// To whom, if to one.
    pub client: Option<u32>,
    /// By the clock of the desk.
    pub at: Duration,
    /// The round that was asked for last; none before the first ask.
    pub round: Option<u64>,
    /// What.
    pub event: Event,
}

/// Events that wait to be written down. A peer can cause many: those above the limit are only counted.
#[derive(Debug, Default)]
pub(crate) struct Events {
    kept: Vec<Noted>,
    more: u64,
    at: Duration,
    round: Option<u64>,
}

const MOST: usize = 4096;

impl Events {
    /// The time of what comes next.
    pub(crate) fn are_at(&mut self, now: Duration) {
        self.at = self.at.max(now);
    }

    /// The time of what comes next, which never goes back.
    pub(crate) fn now(&self) -> Duration {
        self.at
    }

    /// The round of what comes next.
    pub(crate) fn are_in(&mut self, round: u64) {
        self.round = Some(round);
    }

    pub(crate) fn push(&mut self, client: u32, event: Event) {
        if self.kept.len() < MOST {
            self.kept.push(Noted { client: Some(client), at: self.at, round: self.round, event });
        } else {
            self.more += 1;
        }
    }

    pub(crate) fn take(&mut self) -> Vec<Noted> {
        let mut taken = std::mem::take(&mut self.kept);
        if let more @ 1.. = std::mem::take(&mut self.more) {
            taken.push(Noted { client: None, at: self.at, round: self.round, event: Event::More { count: more } });
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_have_the_time_and_the_round_in_which_they_happened_and_those_too_many_are_counted() {
        let mut events = Events::default();
        events.push(3, Event::Joined);
        events.are_at(Duration::from_secs(5));
        events.are_in(7);
        events.are_at(Duration::from_secs(4));
        (0..MOST + 4).for_each(|_| events.push(1, Event::Joined));
        events.are_in(8);
        let taken = events.take();
        let place = |noted: &Noted| (noted.client, noted.at.as_secs(), noted.round);
        assert_eq!((place(&taken[0]), place(&taken[1])), ((Some(3), 0, None), (Some(1), 5, Some(7))));
        assert_eq!(taken.last().map(|noted| noted.event.clone()), Some(Event::More { count: 5 }));
        assert!(events.take().is_empty());
    }
}
