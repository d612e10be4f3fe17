//! What a coordinator answers, whoever carries the question: enrolment, sheets, and the calls of the run under way.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::call::{Call, Response};
use crate::desk::Desk;
use crate::digest::Digest;
use crate::invitation::Token;
use crate::members::{Member, Members, NotEnrolled};
use crate::office::Office;
use crate::pki::{Authority, Holder};
use crate::sheet::RunSheet;

/// One study: who takes part, what was agreed to, and the run under way.
pub struct Service {
    members: Mutex<Members>,
    /// None where participants have certificates from elsewhere: then names count, and nobody enrols.
    authority: Option<Authority>,
    study: String,
    /// How often the coordinator was started.
    start: u32,
    stage: Mutex<Stage>,
    /// Who has read that all runs are over.
    dismissed: Mutex<BTreeSet<u32>>,
    bell: OnceLock<Bell>,
}

/// Told that a client has something to do, or that everyone has news.
type Bell = Box<dyn Fn(Option<u32>) + Send + Sync>;

#[derive(Clone, Default)]
enum Stage {
    /// Between two runs.
    #[default]
    Waiting,
    Running {
        sheet: String,
        office: Arc<Office>,
    },
    Over,
}

/// What a participant sends to enrol.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enrolment {
    /// The token of its invitation.
    pub token: String,
    /// A certificate request, as PEM.
    pub request: String,
}

/// What a participant gets back when it enrols.
#[derive(Debug, Serialize, Deserialize)]
pub struct Enrolled {
    /// Its certificate, as PEM.
    pub certificate: String,
}

/// What a participant reads before a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Papers {
    /// The reader's number.
    pub client: u32,
    /// The study's sheet.
    pub study: String,
    /// The sheet of the run under way, if there is one.
    pub run: Option<String>,
    /// Are all runs over?
    pub over: bool,
    /// How often the coordinator was started: one that was restored from an older copy of its folder counts backwards.
    pub start: u32,
}

impl Service {
    /// A study that has not begun, at a coordinator that was started so often.
    pub fn new(members: Members, authority: Option<Authority>, study: String, start: u32) -> Arc<Self> {
        let (stage, dismissed, bell) = (Mutex::default(), Mutex::default(), OnceLock::new());
        Arc::new(Self { members: Mutex::new(members), authority, study, start, stage, dismissed, bell })
    }

    /// Tells `bell` from now on who should be told to look again. The first one stays.
    pub fn tell(&self, bell: Bell) {
        let _ = self.bell.set(bell);
    }

    /// The number of the holder of a certificate, unless it was revoked.
    pub fn who(&self, holder: &Holder) -> Option<u32> {
        let (by_name, mut members) = (self.authority.is_none(), self.members());
        let client = members.find(holder, by_name)?;
        if by_name {
            // Nobody enrols here: who has called is known by it. A list that cannot be written now is written at the next call.
            let _ = members.note(client, holder.key);
        }
        Some(client)
    }

    /// Everyone, by number.
    pub fn everyone(&self) -> Vec<Member> {
        self.members().all().to_vec()
    }

    /// Enrols a participant with the token of its invitation.
    pub fn enrol(&self, enrolment: &Enrolment) -> Result<Enrolled, NotEnrolled> {
        let Some(authority) = &self.authority else {
            return Err(io::Error::other("this study takes certificates of an authority of its own: join with --cert and --key").into());
        };
        let token: Token = enrolment.token.parse().map_err(|_| NotEnrolled::UnknownToken)?;
        let sign = |name: &str| authority.participant(name, &enrolment.request);
        let (_, certificate) = self.members().enrol(&token, now(), sign)?;
        Ok(Enrolled { certificate })
    }

    /// Another certificate for the key that a participant has.
    pub fn renew(&self, client: u32, holder: &Holder, request: &str) -> io::Result<Enrolled> {
        let authority = self.authority.as_ref().ok_or_else(|| io::Error::other("certificates of this study come from elsewhere"))?;
        let name = self.members().all().get(client as usize).map(|member| member.name.clone());
        let name = name.ok_or_else(|| io::Error::other("this client is not on the roster"))?;
        let (certificate, key) = authority.participant(&name, request)?;
        if key != holder.key {
            return Err(io::Error::other("a certificate is renewed for the key it has"));
        }
        Ok(Enrolled { certificate })
    }

    /// What there is to read now.
    pub fn papers(&self, client: u32) -> Papers {
        let (run, over) = match &*self.stage() {
            Stage::Waiting => (None, false),
            Stage::Running { sheet, .. } => (Some(sheet.clone()), false),
            Stage::Over => (None, true),
        };
        if over {
            self.dismissed.lock().unwrap_or_else(PoisonError::into_inner).insert(client);
        }
        Papers { client, study: self.study.clone(), run, over, start: self.start }
    }

    /// Answers one call. Between two runs the one that an agent knows of is over.
    pub fn call(&self, client: u32, call: Call) -> Response {
        let stage = self.stage().clone();
        match stage {
            Stage::Running { office, .. } => office.handle(client, call),
            Stage::Waiting | Stage::Over => Response::Over {},
        }
    }

    /// A run begins: its desk is what calls come to from now on.
    pub fn begin(self: &Arc<Self>, sheet: &RunSheet, desk: Desk) -> Arc<Office> {
        let service: Weak<Self> = Arc::downgrade(self);
        let office = Office::new(desk, Box::new(move |client| service.upgrade().iter().for_each(|service| service.ring(client))));
        for (client, member) in self.everyone().iter().enumerate() {
            if member.revoked {
                office.desk().revoke(client as u32);
            }
        }
        *self.stage() = Stage::Running { sheet: sheet.text(), office: Arc::clone(&office) };
        self.ring(None);
        office
    }

    /// The run under way is over; another may follow.
    pub fn pause(&self) {
        self.advance(Stage::Waiting);
    }

    /// All runs are over.
    pub fn end(&self) {
        self.advance(Stage::Over);
    }

    /// Those who take part and have not read yet that all runs are over.
    pub fn unaware(&self) -> Vec<String> {
        let dismissed = self.dismissed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let everyone = self.everyone().into_iter().zip(0u32..);
        everyone.filter(|(member, client)| !member.revoked && !dismissed.contains(client)).map(|(member, _)| member.name).collect()
    }

    fn advance(&self, to: Stage) {
        let before = std::mem::replace(&mut *self.stage(), to);
        if let Stage::Running { office, .. } = before {
            office.end();
        }
        self.ring(None);
    }

    /// Gives a participant a new token, and strikes out the one it had, and its certificate. Whoever comes with the new one begins anew.
    pub fn invite(&self, client: u32, token: &Token) -> io::Result<()> {
        self.members().invite(client, token, now())?;
        if let Stage::Running { office, .. } = &*self.stage() {
            office.desk().begin_anew(client);
        }
        Ok(())
    }

    /// Refuses a participant from now on; false if there is nobody of this name.
    pub fn revoke(&self, name: &str) -> io::Result<bool> {
        let number = self.members().number(name);
        let known = self.members().revoke(name)?;
        if let (Some(number), Stage::Running { office, .. }) = (number, &*self.stage()) {
            office.revoke(number);
        }
        self.ring(number);
        Ok(known)
    }

    fn ring(&self, client: Option<u32>) {
        if let Some(bell) = self.bell.get() {
            bell(client);
        }
    }

    fn members(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Papers {
    /// The name of the run under way.
    pub fn run_digest(&self) -> Option<Digest> {
        self.run.as_ref().map(|sheet| Digest::of(sheet.as_bytes()))
    }
}

/// Seconds of Unix time.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
