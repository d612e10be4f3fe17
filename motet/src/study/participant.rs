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

use std::io;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use motet_link::{Consent, Digest, Identity, LineError, RunSheet, StudySheet, random};
use motet_problems::{Problem, ProblemConfig};
use serde::Serialize;

use super::home::{CARD, Home};
use super::label::label;
use super::terms::Terms;
use super::verdict::JoinVerdict;
use crate::catalogue::Catalogue;
use crate::error::Error;

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

/// Takes part in a study to its end.
pub fn join(options: &JoinOptions, catalogue: &Catalogue, watch: &dyn JoinWatch) -> Result<Joined, Error> {
    let mut agent = Home::open(options)?;
    let _here = catalogue.enter();
    agent.enrol(options.identity.as_ref())?;
    let mut line = match agent.renew(watch)? {
        Some(line) => line,
        None => agent.line()?,
    };
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
        built.map_err(|source| Error::data(agent.card.data.display().to_string(), source))
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
            if let Some((run, x)) = model {
                let label = label(&sheet.experiment, &run);
                joined.models.push(agent.keep_model((&run, &label), &problems, &problem(run.problem, run.seed)?, x, watch)?);
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
            let run = RunSheet::read(text, study).map_err(|e| agent.odd(e.to_string()))?;
            let label = label(&sheet.experiment, &run);
            agent.work(catalogue, (&run, &label), &problem(run.problem, run.seed)?, papers.client, consent, &mut line, watch)?;
        }
        papers = patiently(watch, || line.papers(true))?;
    }
}

/// Tries until the coordinator can be reached: pauses grow from a tenth of a second to half a minute, and differ.
pub(super) fn patiently<T>(watch: &dyn JoinWatch, mut what: impl FnMut() -> Result<T, LineError>) -> Result<T, Error> {
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
