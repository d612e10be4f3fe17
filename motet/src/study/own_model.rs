//! The participant's own model: written where it was made, with what the participant's own test rows say of it.

use std::path::PathBuf;

use motet_core::Vector;
use motet_link::RunSheet;
use motet_problems::{Problem, ProblemConfig};
use motet_records::slug;

use super::home::Home;
use super::participant::JoinWatch;
use super::verdict::{JoinVerdict, judged};
use crate::bundle::{self, Card, Chosen, DataCard, Expected, Measured};
use crate::error::Error;
use crate::passport::Passport;

impl Home {
    /// Writes the participant's own model, and what its test rows say of it.
    pub(super) fn keep_model(
        &self,
        (sheet, label): (&RunSheet, &str),
        problems: &[ProblemConfig],
        problem: &Problem,
        x: Vector,
        watch: &dyn JoinWatch,
    ) -> Result<(PathBuf, Option<JoinVerdict>), Error> {
        let folder = self.folder.join("models").join(format!("{}-{}-seed-{}", sheet.run, slug(label), sheet.seed));
        let verdict = problem.shards.first().and_then(|shard| judged(shard, &x));
        if let Some(JoinVerdict { advice, metric, together, alone, why, .. }) = &verdict {
            watch.say(&format!("{}: {advice:?}: {metric} {together:.4} with the study, {alone:.4} alone; {why}", label));
        }
        let config = problems.get(sheet.problem as usize);
        let passport = config.map(|config| Passport::of(config, problem)).transpose().map_err(|error| self.odd(error.to_string()))?;
        let Some(passport) = passport.flatten().map(|passport| passport.of_client(0)) else {
            return Err(self.odd("the study's problem has no model".into()));
        };
        let passport = Passport { clients: vec![self.card.name.clone()], ..passport };
        let model = serde_json::to_value(&passport.model).map_err(|e| self.odd(format!("the model cannot be described: {e}")))?;
        let expect = verdict.iter().map(|v| Expected { metric: v.metric.clone(), mean: v.together, interval: None }).collect();
        let input = problem.inputs.first();
        let card = Card {
            client: self.card.name.clone(),
            motet: env!("CARGO_PKG_VERSION").into(),
            target: passport.target.clone(),
            classes: passport.class_names.clone(),
            model,
            features: bundle::features(&passport),
            chosen: Chosen {
                advice: verdict.as_ref().map_or_else(|| "unclear".into(), |v| format!("{:?}", v.advice).to_lowercase()),
                way: sheet.method.clone(),
                method: sheet.method.clone(),
                params: sheet.parameters.as_object().cloned().unwrap_or_default(),
                why: verdict.as_ref().map_or_else(|| "No rows were kept for a test.".into(), |v| v.why.clone()),
            },
            expect,
            measured: Measured::OneHoldOut,
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
