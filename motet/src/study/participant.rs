//! A participant's side of a study.
//!
//! ```text
//! DIR/
//!   agent.json          where the coordinator is, where the data are, what may be shown
//!   ca.pem key.pem cert.pem
//!   invitation          until it was used
//!   sheet.json          what was agreed to
//!   sent.log            what left this machine, in words
//!   lock                held by the agent at work
//!   runs/RUN/           the client's state in a run
//!   models/RUN/         the participant's own model of a run, as `motet predict` takes it
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use motet_core::{ClientId, Seed, Vector, Wire, whole};
use motet_files::replace;
use motet_link::{
    Agent, Consent, Digest, Ended, Enrolment, Identity, Invitation, Limits, Line, LineError, Mark, Next, Outcome, RunSheet, StudySheet,
    TaskHead, Work, is_ageing, keep_secret, new_request, random, request_for,
};
use motet_problems::{Problem, ProblemConfig};
use motet_records::Utc;
use serde::{Deserialize, Serialize};

use super::terms::Terms;
use super::verdict::{JoinVerdict, judged};
use crate::bundle::{self, Card, Chosen, DataCard, Expected};
use crate::catalogue::Catalogue;
use crate::error::Error;
use crate::passport::Passport;
use crate::session::ClientGround;

/// How a participant joins.
#[derive(Clone, Debug, Default)]
pub struct JoinOptions {
    /// An invitation, or the folder of an agent that has used one.
    pub invitation: PathBuf,
    /// The participant's table; none: the one that was named before.
    pub data: Option<PathBuf>,
    /// The agent's folder; none: `motet-NAME` in the working folder.
    pub dir: Option<PathBuf>,
    /// May the coordinator see losses and metrics? None: as before, or yes.
    pub scores: Option<bool>,
    /// Certificate and key from an authority of one's own.
    pub identity: Option<Identity>,
}

/// Is asked and told while an agent is at work.
pub trait JoinWatch {
    /// Does the participant agree to this?
    fn agrees(&self, terms: &Terms) -> bool;
    /// Something to show.
    fn say(&self, line: &str);
    /// Should the agent leave?
    fn stop(&self) -> bool;
}

/// What a participant has when a study is over.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Joined {
    /// The agent's folder.
    pub folder: PathBuf,
    /// By run: the folder of the participant's own model, and what its test rows say.
    pub models: Vec<(PathBuf, Option<JoinVerdict>)>,
}

/// What an agent remembers of its study.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AgentCard {
    name: String,
    address: String,
    study: String,
    data: PathBuf,
    scores: bool,
}

const CARD: &str = "agent.json";
/// In the folder of a run: its sheet, and the participant's own model when it was last measured as a whole.
const SHEET: &str = "sheet.json";
const MODEL: &str = "model";

/// Takes part in a study to its end.
pub fn join(options: &JoinOptions, catalogue: &Catalogue, watch: &dyn JoinWatch) -> Result<Joined, Error> {
    let mut agent = Home::open(options)?;
    let _here = catalogue.enter();
    agent.enrol(options.identity.as_ref())?;
    agent.renew(watch)?;
    let mut line = agent.line()?;
    let papers = patiently(watch, || line.papers(false))?;
    let study: Digest = agent.card.study.parse().map_err(|_| agent.odd(format!("{CARD}: the name of the study is damaged")))?;
    let sheet = StudySheet::read(&papers.study, study).map_err(|e| agent.odd(e.to_string()))?;
    let problems: Vec<ProblemConfig> = serde_json::from_value(sheet.experiment["problem"].clone())
        .map_err(|e| agent.odd(format!("the study's problem cannot be read: {e}")))?;
    let seat = (papers.client, sheet.clients);
    // Whether the data fit is found out before anything that depends on them is sent.
    let seed = sheet.experiment["seeds"][0].as_u64().unwrap_or(1);
    let problem = |problem: u32, seed: u64| {
        let config = problems.get(problem as usize).ok_or_else(|| Error::Unknown(format!("the study has no problem {problem}")))?;
        let built = Problem::participant(config, &agent.card.data, seat, seed);
        built.map_err(|source| Error::Problem { file: agent.card.data.display().to_string(), source })
    };
    let rows = problem(0, seed)?.shards.iter().map(|shard| shard.train.samples()).sum();
    let consent = Consent { scores: agent.card.scores, vectors: false };
    agent.agree(&sheet, &Terms::of(&sheet, (consent.scores, consent.vectors), rows), watch)?;

    let mut joined = Joined { folder: agent.folder.clone(), models: vec![] };
    let mut papers = papers;
    loop {
        // The coordinator has gone on, or ends: other runs never come back. One that says neither has just been started, and may
        // go on with any of them.
        let decided = papers.over || papers.run.is_some();
        for (run, model) in if decided { agent.left_over(papers.run_digest(), study)? } else { vec![] } {
            if let Some((sheet, x)) = model {
                joined.models.push(agent.keep_model(&sheet, &problems, &problem(sheet.problem, sheet.seed)?, x, watch)?);
            }
            agent.forget(run)?;
        }
        if papers.over {
            watch.say("the study is over");
            return Ok(joined);
        }
        if watch.stop() {
            return Err(agent.left());
        }
        if let Some(text) = &papers.run {
            let sheet = RunSheet::read(text, study).map_err(|e| agent.odd(e.to_string()))?;
            agent.work(catalogue, &sheet, &problem(sheet.problem, sheet.seed)?, papers.client, consent, &mut line, watch)?;
        }
        papers = patiently(watch, || line.papers(true))?;
    }
}

/// Tries until the coordinator can be reached: pauses grow from a tenth of a second to half a minute, and differ.
fn patiently<T>(watch: &dyn JoinWatch, mut what: impl FnMut() -> Result<T, LineError>) -> Result<T, Error> {
    let mut pause = Pause::default();
    loop {
        match what() {
            Ok(done) => return Ok(done),
            Err(LineError::Broken(error)) => {
                if watch.stop() {
                    return Err(Error::Interrupted {
                        what: "the agent has left while the coordinator could not be reached".into(),
                        folder: None,
                    });
                }
                pause.after(&error, watch)?;
            }
            Err(other) => return Err(Error::Unknown(other.to_string())),
        }
    }
}

#[derive(Default)]
struct Pause {
    tried: u32,
}

impl Pause {
    fn after(&mut self, error: &io::Error, watch: &dyn JoinWatch) -> Result<(), Error> {
        if self.tried == 3 {
            watch.say(&format!("the coordinator cannot be reached ({error}); trying on"));
        }
        let most = 100u64.saturating_mul(1 << self.tried.min(9)).min(30_000);
        self.tried += 1;
        let dice = u64::from_le_bytes(random().map_err(|e| Error::Unknown(e.to_string()))?);
        thread::sleep(Duration::from_millis(most / 2 + dice % (most / 2 + 1)));
        Ok(())
    }
}

/// An agent's folder, held by one agent at a time.
struct Home {
    folder: PathBuf,
    card: AgentCard,
    /// Until the invitation was used.
    invitation: Option<Invitation>,
    _lock: File,
}

impl Home {
    fn open(options: &JoinOptions) -> Result<Self, Error> {
        let given = &options.invitation;
        let unread = |path: &Path| {
            let path = path.to_path_buf();
            move |source| Error::Write { path, source }
        };
        let invitation = match given.is_dir() {
            true => None,
            false => {
                let text = motet_files::read_text(given, 1 << 20).map_err(unread(given))?;
                Some(text.parse::<Invitation>().map_err(|e| Error::Unknown(format!("{}: {e}", given.display())))?)
            }
        };
        let folder = match (&options.dir, &invitation) {
            (Some(dir), _) => dir.clone(),
            (None, None) => given.clone(),
            (None, Some(invitation)) => PathBuf::from(format!("motet-{}", invitation.name)),
        };
        fs::create_dir_all(&folder).map_err(unread(&folder))?;
        let path = folder.join("lock");
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(unread(&path))?;
        if let Err(fs::TryLockError::WouldBlock) = lock.try_lock() {
            return Err(Error::Unresumable { folder, reason: "another agent is at work in this folder".into() });
        }
        let path = folder.join(CARD);
        let before = match motet_files::read_text(&path, 1 << 20) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            text => {
                let card = serde_json::from_str::<AgentCard>(&text.map_err(unread(&path))?);
                Some(card.map_err(|e| Error::Unknown(format!("{}: {e}", path.display())))?)
            }
        };
        let data = options.data.clone().or(before.as_ref().map(|card| card.data.clone()));
        let data = data.ok_or_else(|| Error::Unknown("name your table with --data FILE".into()))?;
        let data = fs::canonicalize(&data).map_err(unread(&data))?;
        let scores = options.scores.or(before.as_ref().map(|card| card.scores)).unwrap_or(true);
        let card = match (&invitation, before) {
            (Some(invitation), Some(before)) if before.study != invitation.study.to_string() => {
                let reason = format!("this folder belongs to another study ({}): choose another one with --dir", before.study);
                return Err(Error::Unresumable { folder, reason });
            }
            (Some(invitation), _) => {
                let Invitation { name, address, study, .. } = invitation;
                AgentCard { name: name.clone(), address: address.clone(), study: study.to_string(), data, scores }
            }
            (None, Some(before)) => AgentCard { data, scores, ..before },
            (None, None) => return Err(Error::Unresumable { folder, reason: "no agent was here before: name an invitation".into() }),
        };
        let home = Self { folder, card, invitation, _lock: lock };
        home.save()?;
        Ok(home)
    }

    fn save(&self) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(&self.card).unwrap_or_default();
        self.wrote(CARD, |path| replace(path, (text + "\n").as_bytes()))?;
        if let Some(invitation) = &self.invitation {
            self.wrote("ca.pem", |path| replace(path, invitation.authority.as_bytes()))?;
        }
        Ok(())
    }

    fn wrote<T>(&self, name: &str, write: impl FnOnce(&Path) -> io::Result<T>) -> Result<T, Error> {
        let path = self.folder.join(name);
        write(&path).map_err(|source| Error::Write { path, source })
    }

    fn read(&self, name: &str) -> Result<String, Error> {
        self.wrote(name, |path| motet_files::read_text(path, 1 << 20))
    }

    fn odd(&self, reason: String) -> Error {
        Error::Unresumable { folder: self.folder.clone(), reason }
    }

    /// Makes a key, and spends the invitation for a certificate; nothing of it if there is one.
    fn enrol(&mut self, own: Option<&Identity>) -> Result<(), Error> {
        if let Some(own) = own {
            self.wrote("key.pem", |path| keep_secret(path, own.key.as_bytes()))?;
            return self.wrote("cert.pem", |path| replace(path, own.certificate.as_bytes()));
        }
        if self.folder.join("cert.pem").exists() {
            return Ok(());
        }
        let invitation = self.invitation.clone().ok_or_else(|| self.odd("this agent has no certificate: name its invitation".into()))?;
        let request = match self.folder.join("key.pem").exists() {
            true => request_for(&self.read("key.pem")?).map_err(|e| self.odd(format!("key.pem: {e}")))?,
            false => {
                let (key, request) = new_request().map_err(|e| self.odd(e.to_string()))?;
                // The key is kept before anybody hears of it: the same one asks again should the answer be lost.
                self.wrote("key.pem", |path| keep_secret(path, key.as_bytes()))?;
                request
            }
        };
        let mut line = Line::new(&invitation.address, &invitation.authority, None, Limits::default())
            .map_err(|e| self.odd(format!("the invitation cannot be used: {e}")))?;
        let enrolment = Enrolment { token: invitation.token.reveal(), request };
        let enrolled = patiently(&Impatient::default(), || line.enrol(&enrolment))?;
        self.wrote("cert.pem", |path| replace(path, enrolled.certificate.as_bytes()))
    }

    /// Gets another certificate if this one ends soon.
    fn renew(&self, watch: &dyn JoinWatch) -> Result<(), Error> {
        if !is_ageing(&self.read("cert.pem")?) {
            return Ok(());
        }
        let request = request_for(&self.read("key.pem")?).map_err(|e| self.odd(format!("key.pem: {e}")))?;
        match self.line()?.renew(&request) {
            Ok(renewed) => self.wrote("cert.pem", |path| replace(path, renewed.certificate.as_bytes())),
            Err(error) => {
                watch.say(&format!("the certificate ends soon and could not be renewed: {error}"));
                Ok(())
            }
        }
    }

    fn line(&self) -> Result<Line, Error> {
        let identity = Identity { certificate: self.read("cert.pem")?, key: self.read("key.pem")? };
        let line = Line::new(&self.card.address, &self.read("ca.pem")?, Some(&identity), Limits::default());
        line.map_err(|e| self.odd(format!("the certificate cannot be used: {e}")))
    }

    /// Asks for consent, unless it was given to this very sheet.
    fn agree(&self, sheet: &StudySheet, terms: &Terms, watch: &dyn JoinWatch) -> Result<(), Error> {
        let path = self.folder.join("sheet.json");
        let text = sheet.text();
        if motet_files::read_text(&path, 64 << 20).ok().as_deref() == Some(text.as_str()) {
            return Ok(());
        }
        if !watch.agrees(terms) {
            return Err(Error::Unknown("nothing was agreed to, and nothing was sent".into()));
        }
        self.wrote("sheet.json", |path| replace(path, text.as_bytes()))
    }

    fn run_folder(&self, run: Digest) -> PathBuf {
        self.folder.join("runs").join(run.to_string())
    }

    fn forget(&self, run: Digest) -> Result<(), Error> {
        match fs::remove_dir_all(self.run_folder(run)) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(Error::Write { path: self.run_folder(run), source }),
            _ => Ok(()),
        }
    }

    fn left(&self) -> Error {
        Error::Interrupted { what: format!("the agent has left; go on with: motet join {}", self.folder.display()), folder: None }
    }

    /// Runs that this agent has worked for, but for the one under way; each with its sheet and the participant's own model if it
    /// was measured.
    #[allow(clippy::type_complexity)] // Read in one place.
    fn left_over(&self, under_way: Option<Digest>, study: Digest) -> Result<Vec<(Digest, Option<(RunSheet, Vector)>)>, Error> {
        let Ok(entries) = fs::read_dir(self.folder.join("runs")) else { return Ok(vec![]) };
        let mut found = vec![];
        for run in entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<Digest>().ok()) {
            if Some(run) == under_way {
                continue;
            }
            let folder = self.run_folder(run);
            let sheet = motet_files::read_text(&folder.join(SHEET), 64 << 20).ok().and_then(|text| RunSheet::read(&text, study).ok());
            let model = motet_files::read(&folder.join(MODEL), u64::MAX).ok().and_then(|bytes| whole::<Vector>(&bytes).ok());
            found.push((run, sheet.zip(model)));
        }
        found.sort_by_key(|(_, model)| model.as_ref().map(|(sheet, _)| sheet.run));
        Ok(found)
    }

    /// Works for one run until it is over.
    #[allow(clippy::too_many_arguments)] // Everything that a run at an agent stands on.
    fn work(
        &self,
        catalogue: &Catalogue,
        sheet: &RunSheet,
        problem: &Problem,
        client: u32,
        consent: Consent,
        line: &mut Line,
        watch: &dyn JoinWatch,
    ) -> Result<(), Error> {
        let method = catalogue.read_method(&sheet.method, &sheet.parameters);
        let method =
            method.map_err(|e| self.odd(format!("the method {} of the study is not known here as it is written: {e:?}", sheet.method)))?;
        let folder = self.run_folder(sheet.digest());
        let unkept = |source| Error::Write { path: folder.clone(), source };
        fs::create_dir_all(&folder).and_then(|()| replace(&folder.join(SHEET), sheet.text().as_bytes())).map_err(unkept)?;
        let (model_file, failed) = (folder.join(MODEL), Arc::new(Mutex::new(None)));
        let noted = Arc::clone(&failed);
        let on_model = Box::new(move |model: Vector| {
            let mut bytes = Vec::with_capacity(model.bytes() as usize);
            model.encode(&mut bytes);
            if let Err(error) = replace(&model_file, &bytes) {
                *noted.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
        });
        let ground = ClientGround { client: ClientId(client), problem, seed: Seed(sheet.seed), folder: &folder, consent, on_model };
        let (work, mark) = method.at_agent(ground).map_err(unkept)?;
        let log = OpenOptions::new().create(true).append(true).open(self.folder.join("sent.log")).map_err(unkept)?;
        let logged = Logged { work, log, about: format!("run {} ({}, seed {})", sheet.run, sheet.method, sheet.seed) };
        let nonce = u64::from_le_bytes(random().map_err(unkept)?);
        let mut agent = Agent::start(logged, sheet.digest(), mark, nonce, Limits::default()).map_err(unkept)?;
        watch.say(&format!("run {}: {}, seed {}", sheet.run, sheet.method, sheet.seed));
        let ended = loop {
            if watch.stop() {
                return Err(self.left());
            }
            let response = patiently(watch, || line.call(&agent.call()))?;
            let next = agent.hear(response).map_err(unkept)?;
            if let Some(error) = failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
                return Err(unkept(error));
            }
            match next {
                Next::Now | Next::Poll => {}
                Next::After(pause) => thread::sleep(pause),
                Next::Ended(ended) => break ended,
            }
        };
        match ended {
            Ended::Over | Ended::OtherRun(_) => Ok(()),
            other => Err(Error::Unknown(other.to_string())),
        }
    }

    /// Writes the participant's own model, and what its test rows say of it.
    fn keep_model(
        &self,
        sheet: &RunSheet,
        problems: &[ProblemConfig],
        problem: &Problem,
        x: Vector,
        watch: &dyn JoinWatch,
    ) -> Result<(PathBuf, Option<JoinVerdict>), Error> {
        let folder = self.folder.join("models").join(format!("{}-{}-seed-{}", sheet.run, sheet.method, sheet.seed));
        let verdict = problem.shards.first().and_then(|shard| judged(shard, &x));
        if let Some(JoinVerdict { advice, metric, together, alone, why, .. }) = &verdict {
            watch.say(&format!("{}: {advice:?}: {metric} {together:.4} with the study, {alone:.4} alone; {why}", sheet.method));
        }
        let config = problems.get(sheet.problem as usize);
        let Some(passport) = config.and_then(|config| Passport::of(config, problem)).map(|passport| passport.of_client(0)) else {
            return Err(self.odd("the study's problem has no model".into()));
        };
        let passport = Passport { clients: vec![self.card.name.clone()], ..passport };
        let expect = verdict.iter().map(|v| Expected { metric: v.metric.clone(), mean: v.together, interval: None }).collect();
        let input = problem.inputs.first();
        let card = Card {
            client: self.card.name.clone(),
            motet: env!("CARGO_PKG_VERSION").into(),
            target: passport.target.clone(),
            classes: passport.class_names.clone(),
            model: serde_json::to_value(&passport.model).unwrap_or_default(),
            features: bundle::features(&passport),
            chosen: Chosen {
                advice: verdict.as_ref().map_or_else(|| "unclear".into(), |v| format!("{:?}", v.advice).to_lowercase()),
                way: sheet.method.clone(),
                method: sheet.method.clone(),
                params: sheet.parameters.as_object().cloned().unwrap_or_default(),
                why: verdict.as_ref().map_or_else(|| "No rows were kept for a test.".into(), |v| v.why.clone()),
            },
            expect,
            data: DataCard {
                rows: problem.census.clients.iter().map(|client| client.train + client.validation + client.test).sum(),
                file: input.map(|input| input.name.clone()).unwrap_or_default(),
                sha256: input.map(|input| input.sha256.clone()).unwrap_or_default(),
            },
            sha256: String::new(),
            usage: format!("motet predict {} NEW.csv", folder.display()),
        };
        bundle::write(&folder, card, &passport, x)?;
        Ok((folder, verdict))
    }
}

/// Waits a little for a coordinator that starts at the same time, and then says that there is none.
#[derive(Default)]
struct Impatient(std::cell::Cell<u32>);

impl JoinWatch for Impatient {
    fn agrees(&self, _: &Terms) -> bool {
        false
    }
    fn say(&self, _: &str) {}
    fn stop(&self) -> bool {
        self.0.set(self.0.get() + 1);
        self.0.get() > 8
    }
}

/// Writes down what leaves before it does.
struct Logged {
    work: Box<dyn Work>,
    log: File,
    about: String,
}

impl Work for Logged {
    fn answer(&mut self, head: &TaskHead, begins_again: bool, ask: &[u8]) -> io::Result<Outcome> {
        let outcome = self.work.answer(head, begins_again, ask)?;
        let what = match (&outcome, head.is_probe) {
            (Outcome::Reply(reply), false) => format!("reply of {} bytes, SHA-256 {}", reply.len(), Digest::of(reply)),
            (Outcome::Reply(reply), true) => format!("losses and metrics, {} bytes, SHA-256 {}", reply.len(), Digest::of(reply)),
            (Outcome::Lost, _) => "word that the state asked for is not here".to_owned(),
            (Outcome::Declined(reason), _) => format!("word that this agent will not: {reason}"),
        };
        writeln!(self.log, "{} {}, round {}: {what}", Utc::now(), self.about, head.slot.round)?;
        Ok(outcome)
    }

    fn commit(&mut self, mark: Mark) -> io::Result<()> {
        self.work.commit(mark)
    }
}
