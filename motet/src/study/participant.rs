//! A participant's side of a study.
//!
//! ```text
//! DIR/
//!   agent.json          where the coordinator is and how often it was started, where the data are, what may be shown
//!   ca.pem key.pem cert.pem
//!   key-TOKEN.pem       until the coordinator has made a certificate for it
//!   sheet.json          what was agreed to
//!   sent.log            what left this machine, in words
//!   lock                held by the agent at work
//!   runs/RUN/           the client's state in a run
//!   models/RUN/         the participant's own model of a run, as `motet predict` takes it
//! ```

use std::path::PathBuf;

use motet_link::{Consent, Digest, RunSheet, StudySheet};
use motet_problems::{Problem, ProblemConfig};
use serde::Serialize;

use super::duty::Duty;
use super::home::{CARD, Home};
use super::label::label;
use super::of_another_version;
use super::options::IdentityFiles;
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
    /// Certificate and key from an authority of one's own; none: those that were named before.
    pub identity: Option<IdentityFiles>,
    /// Take part also if the coordinator was restored from an older copy of its folder.
    pub accept_start: bool,
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
    agent.enrol(watch)?;
    let mut line = match agent.renew(watch)? {
        Some(line) => line,
        None => agent.line()?,
    };
    let papers = agent.reach(watch, None, || line.papers(false))?;
    let study: Digest = agent.card.study.parse().map_err(|_| agent.odd(format!("{CARD}: the name of the study is damaged")))?;
    let sheet = StudySheet::read(&papers.study, study).map_err(|e| agent.odd(e.to_string()))?;
    if sheet.motet != env!("CARGO_PKG_VERSION") {
        watch.say(&of_another_version(&sheet.motet));
    }
    let problems: Vec<ProblemConfig> = serde_json::from_value(sheet.experiment["problem"].clone())
        .map_err(|e| agent.odd(format!("the study's problem cannot be read: {e}")))?;
    let seat = (papers.client, sheet.clients);
    // Whether the data fit is found out before anything that depends on them is sent.
    let seed = sheet.experiment["seeds"][0].as_u64().unwrap_or(1);
    let data = agent.card.data.clone();
    let problem = |problem: u32, seed: u64| {
        let config = problems.get(problem as usize).ok_or_else(|| Error::Unknown(format!("the study has no problem {problem}")))?;
        let built = Problem::participant(config, &data, seat, seed);
        built.map_err(|source| Error::data(data.display().to_string(), source))
    };
    let rows = problem(0, seed)?.census.clients.iter().map(|client| client.train + client.validation + client.test).sum();
    let consent = Consent { scores: agent.card.scores, vectors: false };
    agent.agree(&sheet, &Terms::of(&sheet, catalogue, consent.scores, rows), watch)?;

    let mut joined = Joined { folder: agent.folder.clone(), models: vec![] };
    let (mut papers, mut accepts_start) = (papers, options.accept_start);
    loop {
        // A coordinator that goes back, or wants what nobody agreed to, is refused before anything is removed for it.
        agent.hears_start(papers.start, std::mem::take(&mut accepts_start))?;
        let run = papers.run.as_ref().map(|text| RunSheet::read(text, &sheet)).transpose().map_err(|e| agent.odd(e.to_string()))?;
        // The coordinator has gone on, or ends: other runs never come back. One that says neither has just been started, and may
        // go on with any of them.
        let decided = papers.over || papers.run.is_some();
        for (over, model) in if decided { agent.left_over(papers.run_digest(), &sheet)? } else { vec![] } {
            if let Some((run, x)) = model {
                let label = label(&sheet.experiment, &run);
                joined.models.push(agent.keep_model((&run, &label), &problems, &problem(run.problem, run.seed)?, x, watch)?);
            }
            agent.forget(over)?;
        }
        if papers.over {
            watch.say("the study is over");
            return Ok(joined);
        }
        if watch.stop() {
            return Err(agent.left());
        }
        if let Some(run) = &run {
            let (label, problem) = (label(&sheet.experiment, run), problem(run.problem, run.seed)?);
            let duty = Duty { sheet: run, label: &label, rounds: rounds(&sheet), problem: &problem, client: papers.client, consent };
            agent.work(catalogue, &duty, &mut line, watch)?;
        }
        papers = agent.reach(watch, None, || line.papers(true))?;
    }
}

/// How many rounds of a run were agreed to.
fn rounds(sheet: &StudySheet) -> u64 {
    sheet.experiment["run"]["rounds"].as_u64().unwrap_or(u64::MAX)
}
