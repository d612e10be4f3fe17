//! Replies at the desk: offered, sent in pieces, concluded; and what happens to those who do not keep to it.

use std::io;
use std::time::Duration;

use super::{Desk, Open, Progress, Seat, Stage, Upload};
use crate::call::{Response, TaskNumber};
use crate::digest::Digest;
use crate::event::Event;

impl Desk {
    pub(super) fn offer(&mut self, client: u32, task: TaskNumber, (length, hash): (u64, Digest), whole: &[u8], now: Duration) -> Response {
        let uploads = self.uploads(client, now);
        let limits = self.limits;
        let Some(open) = self.seats.get_mut(&client).and_then(|seat| seat.task.as_mut()).filter(|open| open.head.number == task) else {
            self.events.push(client, Event::Late { task });
            return Response::Closed { task };
        };
        if open.is_done() {
            return Response::HaveIt { task };
        }
        let most = open.head.longest_reply;
        if length > most {
            open.stage = Stage::Done(Progress::Declined(format!("a reply of {length} bytes, where at most {most} are taken")));
            self.count_strike(client, "a reply was too long");
            return Response::TooLong { task, most };
        }
        if length <= limits.whole as u64 {
            return self.take_whole(client, task, (length, hash), whole);
        }
        if !whole.is_empty() {
            return self.strike(client, "a long reply did not come in pieces");
        }
        if let Stage::Uploading(upload) = open.stage
            && (upload.length, upload.hash) == (length, hash)
        {
            return Response::SendFrom { task, offset: upload.received };
        }
        if uploads >= limits.uploads {
            return Response::Later { milliseconds: 20 + 5 * u64::from(client % 8) };
        }
        let received = match self.spool.part(&open.key) {
            Ok(part) if part < length => part,
            Ok(_) => 0,
            Err(error) => return self.unkept(client, &error),
        };
        open.stage = Stage::Uploading(Upload { length, hash, received, from_the_first: received == 0, grew: now });
        Response::SendFrom { task, offset: received }
    }

    fn take_whole(&mut self, client: u32, task: TaskNumber, (length, hash): (u64, Digest), whole: &[u8]) -> Response {
        if whole.len() as u64 != length || Digest::of(whole) != hash {
            return self.strike(client, "a reply is not the one that was announced");
        }
        let Some(open) = self.open(client, task) else { return Response::Closed { task } };
        let key = open.key;
        let kept = self.spool.append(&key, 0, whole).and_then(|()| self.spool.finish(&key, hash));
        self.finished(client, task, (kept, length), true)
    }

    pub(super) fn piece(&mut self, client: u32, task: TaskNumber, offset: u64, bytes: &[u8], now: Duration) -> Response {
        let piece = self.limits.piece;
        let Some(open) = self.seats.get_mut(&client).and_then(|seat| seat.task.as_mut()).filter(|open| open.head.number == task) else {
            return Response::Closed { task };
        };
        let upload = match &mut open.stage {
            Stage::Done(_) => return Response::HaveIt { task },
            // Offers come first: after a restart they must come again.
            Stage::Asked => return Response::Closed { task },
            Stage::Uploading(upload) => upload,
        };
        if offset != upload.received {
            return Response::SendFrom { task, offset: upload.received };
        }
        let end = upload.received + bytes.len() as u64;
        if bytes.is_empty() || bytes.len() > piece || end > upload.length {
            return self.strike(client, "a piece of a reply is too long or empty");
        }
        if let Err(error) = self.spool.append(&open.key, offset, bytes) {
            return self.unkept(client, &error);
        }
        (upload.received, upload.grew) = (end, now);
        if end < upload.length {
            return Response::SendFrom { task, offset: end };
        }
        let (key, announced, from_the_first) = (open.key, upload.hash, upload.from_the_first);
        let kept = self.spool.finish(&key, announced);
        self.finished(client, task, (kept, end), from_the_first)
    }

    /// A reply is all here. If it is not the announced one, it is sent again; that is the client's fault if all of it came from there.
    fn finished(&mut self, client: u32, task: TaskNumber, (kept, length): (io::Result<bool>, u64), its_own: bool) -> Response {
        match kept {
            Err(error) => return self.unkept(client, &error),
            Ok(true) => {
                if let Some(Seat { task: Some(open), tally, unkept, .. }) = self.seats.get_mut(&client) {
                    *unkept = None;
                    tally.answered(open.ask.is_probe, length, self.events.now().saturating_sub(open.since));
                }
                return self.conclude(client, task, Progress::Answered);
            }
            Ok(false) => {}
        }
        if let Some(open) = self.open(client, task) {
            open.stage = Stage::Asked;
        }
        if its_own {
            self.count_strike(client, "a reply is not the one that was announced");
        }
        Response::Closed { task }
    }

    /// A reply that cannot be kept comes again. The operator is told once, until a reply of this client was kept.
    fn unkept(&mut self, client: u32, error: &io::Error) -> Response {
        let reason = error.to_string();
        if let Some(seat) = self.seats.get_mut(&client)
            && seat.unkept.as_ref() != Some(&reason)
        {
            seat.unkept = Some(reason.clone());
            self.events.push(client, Event::Unkept { reason });
        }
        Response::Full {}
    }

    pub(super) fn conclude(&mut self, client: u32, task: TaskNumber, progress: Progress) -> Response {
        let Some(Seat { task: Some(open), declined, .. }) = self.seats.get_mut(&client) else { return Response::Closed { task } };
        if open.head.number != task {
            return Response::Closed { task };
        }
        if !open.is_done() {
            match &progress {
                Progress::Lost => self.events.push(client, Event::Lost { task }),
                // Who shows no scores says so whenever the model is measured: once is enough.
                Progress::Declined(reason) if declined.as_ref() != Some(reason) => {
                    *declined = Some(reason.clone());
                    self.events.push(client, Event::Declined { reason: reason.clone() });
                }
                _ => {}
            }
            open.stage = Stage::Done(progress);
        }
        Response::HaveIt { task }
    }

    pub(super) fn strike(&mut self, client: u32, reason: &str) -> Response {
        self.count_strike(client, reason);
        Response::Refused { reason: reason.into() }
    }

    fn count_strike(&mut self, client: u32, reason: &str) {
        self.events.push(client, Event::Struck { reason: reason.into() });
        let Some(seat) = self.seats.get_mut(&client) else { return };
        seat.strikes += 1;
        self.changes += u64::from(seat.strikes == self.limits.strikes);
        if let (Some(open), true) = (&mut seat.task, seat.strikes >= self.limits.strikes) {
            open.stage = Stage::Done(Progress::Declined(reason.into()));
        }
    }

    /// How many others are sending long replies.
    fn uploads(&self, but: u32, now: Duration) -> usize {
        let sends = |seat: &Seat| match &seat.task {
            Some(Open { stage: Stage::Uploading(upload), .. }) => upload.grew + self.limits.stalled > now,
            _ => false,
        };
        self.seats.iter().filter(|(client, seat)| **client != but && sends(seat)).count()
    }
}
