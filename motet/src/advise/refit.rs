//! The chosen methods on all rows: what clients deploy.

use std::collections::BTreeMap;
use std::sync::Arc;

use motet_core::{ClientId, Vector};
use motet_runtime::Pool;

use super::draft::{Draft, WAYS};
use super::evidence::{Field, share};
use super::{Advice, Held};
use crate::bundle::{Card, Chosen, DataCard, Measured, features};
use crate::error::Error;
use crate::passport::Passport;
use crate::recorders::InMemory;
use crate::simulate::Simulation;

/// One client's model, ready to be written.
pub(super) struct Refitted {
    pub(super) client: usize,
    pub(super) card: Card,
    pub(super) passport: Passport,
    pub(super) x: Vector,
}

/// Trains every method that somebody deploys once, on all rows of all clients.
pub(super) fn refit(draft: &Draft, data: &Held, advice: &Advice, field: &Field, threads: usize) -> Result<Vec<Refitted>, Error> {
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (client, answer) in advice.clients.iter().enumerate() {
        if let Some((place, _)) = field.deploys(client, answer) {
            groups.entry(place).or_default().push(client);
        }
    }
    let pool = Arc::new(Pool::new(threads));
    let mut all = vec![];
    for clients in groups.values() {
        let Some((_, candidate)) = field.deploys(clients[0], &advice.clients[clients[0]]) else { continue };
        let way = WAYS[candidate.way];
        let experiment = data.experiment(draft.refit(way, candidate.strength, candidate.settings(draft.clients.len()))?)?;
        let simulation = Simulation::on(experiment, Arc::clone(&pool))?;
        let records = simulation.run(&mut InMemory::new())?;
        let config = &simulation.experiment().problems[0].config;
        let passport = Passport::of(config, &simulation.problems()[0].problem);
        let passport = passport.map_err(|source| Error::data("motet advise", source))?;
        let (Some(passport), Some(models)) = (passport, records.models.first()) else {
            return Err(Error::Unknown(format!("{} left no models", way.name)));
        };
        for &client in clients {
            let x = models.model(Some(ClientId(client as u32)));
            let x = x.cloned().ok_or_else(|| Error::Unknown(format!("{} left {} no model", way.name, draft.clients[client])))?;
            if let Some(at) = (0..x.len()).find(|&at| !x.at(at).is_finite()) {
                return Err(Error::Unknown(format!(
                    "{} on all rows diverged: number {at} of the model of {} is {}; choose smaller steps in the experiment and run it",
                    way.name,
                    draft.clients[client],
                    x.at(at)
                )));
            }
            let passport = passport.of_client(client);
            all.push(Refitted { client, card: card(draft, advice, field, client, &passport), passport, x });
        }
    }
    all.sort_by_key(|refitted| refitted.client);
    Ok(all)
}

fn card(draft: &Draft, advice: &Advice, field: &Field, client: usize, passport: &Passport) -> Card {
    let answer = &advice.clients[client];
    // The shares of the others are theirs.
    let mut params = answer.params.clone();
    if let Some(alpha) = share(&params, client) {
        params.insert("alpha".into(), alpha.into());
    }
    params.shift_remove("kind");
    let expect = field.deploys(client, answer).map(|(place, _)| field.expects(place, client, draft.metric)).unwrap_or_default();
    Card {
        client: answer.client.clone(),
        motet: env!("CARGO_PKG_VERSION").into(),
        target: passport.target.clone(),
        classes: passport.class_names.clone(),
        model: serde_json::to_value(&passport.model).expect("a model has text keys, as it was read with"),
        features: features(passport),
        chosen: Chosen {
            advice: answer.advice.into(),
            way: answer.way.clone(),
            method: answer.method.clone(),
            params,
            why: answer.why.clone(),
        },
        expect,
        measured: Measured::RepeatedSplits,
        data: DataCard { rows: draft.rows[client], file: draft.input.name.clone(), sha256: draft.input.sha256.clone() },
        sha256: String::new(),
        usage: String::new(),
    }
}
