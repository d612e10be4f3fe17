//! What happened beside the rounds: a line of `events.jsonl` each.

use serde::{Deserialize, Serialize};

use crate::utc::Utc;

/// Something worth knowing that is not a measurement. The file is there only if there was one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When it happened.
    pub time: Utc,
    /// In which run of the experiment, where it belongs to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<usize>,
    /// In which round, where it belongs to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<u64>,
    /// What kind of thing.
    pub kind: EventKind,
    /// The client it is about, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<u32>,
    /// A sentence for people.
    pub text: String,
    /// What a participant of a study was asked and sent in a run, where this says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attendance: Option<Attendance>,
}

/// What was asked and sent in a run between machines, since the coordinator was last started: of one participant, or, where the
/// event names none, every byte that went over the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attendance {
    /// What it was asked in rounds.
    pub tasks: u64,
    /// What it answered.
    pub answered: u64,
    /// Microseconds from an ask to the last byte of its reply, over all answers.
    pub waited_us: u64,
    /// The longest of these.
    pub longest_us: u64,
    /// Bytes towards it.
    pub down: u64,
    /// Bytes from it.
    pub up: u64,
    /// Bytes of measurements in both directions, which are not among these of a participant.
    pub measuring: u64,
}

/// The kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventKind {
    /// Something the reader of the records should know.
    Note,
    /// The experiment was stopped or killed and went on from here.
    Resumed,
    /// A client broke the protocol: its reply could not be what the method asks for, and was left out.
    Breach,
    /// A participant of a study is there, for the first time or again.
    Joined,
    /// A participant said goodbye, or nothing was heard of it for too long.
    Left,
    /// A participant did not answer in time, or when nobody waited any more.
    Late,
    /// A participant no longer has the state that the run needs.
    Lost,
    /// A participant would not do what it was asked, or is no longer listened to.
    Refused,
    /// A run between machines is over: what a participant was asked and sent, or what went over the wire.
    Attended,
}

impl Event {
    /// An event that happens now.
    pub fn now(kind: EventKind, text: impl Into<String>) -> Self {
        Self { time: Utc::now(), run: None, round: None, kind, client: None, text: text.into(), attendance: None }
    }

    /// Sets the run in which it happened.
    pub fn in_run(self, run: usize) -> Self {
        Self { run: Some(run), ..self }
    }

    /// Sets the round in which it happened.
    pub fn in_round(self, round: u64) -> Self {
        Self { round: Some(round), ..self }
    }

    /// Sets what was asked and sent.
    pub fn with(self, attendance: Attendance) -> Self {
        Self { attendance: Some(attendance), ..self }
    }

    /// Sets the client it is about.
    pub fn about(self, client: u32) -> Self {
        Self { client: Some(client), ..self }
    }
}
