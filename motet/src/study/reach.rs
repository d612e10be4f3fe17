//! How an agent reaches its coordinator: it tries until it can, and says what is in the way.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use motet_link::{Identity, Limits, Line, LineError, Validity, random};
use motet_records::Utc;

use super::home::{CERTIFICATE, Home};
use super::participant::JoinWatch;
use crate::error::Error;

/// A certificate that the other side's TLS does not accept has this status.
const NOT_ACCEPTED: u16 = 495;

impl Home {
    /// Tries until the coordinator can be reached, or for so long: pauses grow from a tenth of a second to half a minute, and differ.
    pub(super) fn reach<T>(
        &self,
        watch: &dyn JoinWatch,
        most: Option<Duration>,
        mut what: impl FnMut() -> Result<T, LineError>,
    ) -> Result<T, Error> {
        let (began, mut tried) = (Instant::now(), 0);
        loop {
            let error = match what() {
                Ok(done) => return Ok(done),
                Err(LineError::Broken(error)) => error,
                Err(LineError::Refused { status: NOT_ACCEPTED, words }) => return Err(self.not_accepted(&words, self.their_clock())),
                Err(other) => return Err(Error::Unknown(other.to_string())),
            };
            // Why a connection broke is lost where it broke while something was sent.
            if self.validity().is_some_and(|validity| !validity.holds())
                && let Some(clock) = self.their_clock()
            {
                return Err(self.not_accepted("this agent's certificate does not count at this time", Some(clock)));
            }
            let why = format!("{} cannot be reached: {}", self.card.address, cause(&error));
            if tried == 0 {
                watch.say(&format!("{why}; trying again"));
            }
            let pause = pause(tried)?;
            tried += 1;
            if most.is_some_and(|most| began.elapsed() + pause > most) {
                return Err(Error::Unknown(format!("{why}; is `motet serve` running there, and is the port open?")));
            }
            if !rested(pause, watch) {
                let what = format!("the agent has left: {why}; go on with: motet join {}", self.folder.display());
                return Err(Error::Interrupted { what, folder: None });
            }
        }
    }

    /// Why a certificate is not accepted: most often a clock is wrong, or it has expired while the agent was away.
    fn not_accepted(&self, words: &str, their_clock: Option<String>) -> Error {
        let Some(Validity { from, until }) = self.validity() else { return Error::Unknown(format!("the coordinator refuses: {words}")) };
        let [from, until] = [from, until].map(|seconds| Utc::from_seconds(u64::try_from(seconds).unwrap_or(0)));
        let theirs = their_clock.unwrap_or_else(|| "the coordinator's clock could not be asked".into());
        Error::Unknown(format!(
            "the coordinator refuses: {words}. It counts from {from} to {until}; the clock here says {}, and {theirs}. If it has expired, join with the invitation \
             that it was got with, or ask for a new one (`motet study invite` at the coordinator)",
            Utc::now()
        ))
    }

    fn validity(&self) -> Option<Validity> {
        Validity::of(&self.read(CERTIFICATE).ok()?)
    }

    /// In the coordinator's words: whoever comes without a certificate is told. None if nobody answers.
    fn their_clock(&self) -> Option<String> {
        let mut line = Line::new(&self.card.address, &self.read("ca.pem").ok()?, None::<&Identity>, Limits::default()).ok()?;
        match line.papers(false) {
            Err(LineError::Refused { words, .. }) => words.rsplit_once("; ").map(|(_, clock)| clock.to_owned()),
            _ => None,
        }
    }
}

/// The plain word for it, where the system has one.
fn cause(error: &io::Error) -> String {
    use io::ErrorKind::{
        AddrNotAvailable, ConnectionAborted, ConnectionRefused, ConnectionReset, HostUnreachable, NetworkUnreachable, TimedOut,
    };
    match error.kind() {
        TimedOut => "no answer came in time".into(),
        kind @ (ConnectionRefused | ConnectionReset | ConnectionAborted | HostUnreachable | NetworkUnreachable | AddrNotAvailable) => {
            kind.to_string()
        }
        _ => error.to_string(),
    }
}

fn pause(tried: u32) -> Result<Duration, Error> {
    let most = 100u64.saturating_mul(1 << tried.min(9)).min(30_000);
    let dice = u64::from_le_bytes(random().map_err(|e| Error::Unknown(e.to_string()))?);
    Ok(Duration::from_millis(most / 2 + dice % (most / 2 + 1)))
}

/// Rests; false if the agent should leave meanwhile.
fn rested(pause: Duration, watch: &dyn JoinWatch) -> bool {
    let until = Instant::now() + pause;
    loop {
        if watch.stop() {
            return false;
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        thread::sleep(left.min(Duration::from_millis(100)));
    }
}
