//! Is what a server makes of a draw of clients right on average?

use std::collections::BTreeMap;
use std::sync::Arc;

use motet_core::{ClientId, Fleet, Fraction, Outcome, Plan, Rhythm, Seed, Study, Vector};
use motet_runtime::{Deployed, Devices};

use crate::trial::Trial;

/// Draws enough to see the rarest of the outcomes below, of probability 1/16, but for a chance of 1e-8.
const SEEDS: u64 = 300;

/// Where all rounds begin.
const START: f64 = 3.0;

/// Ways to draw of two clients, the probabilities of all that can come of each, the most frequent first, and what they are.
const WAYS: [(&str, &str, &[f64]); 5] = [
    ("one draw of chances 9 : 1", r#"{"importance":{"clients":1,"q":[9,1]}}"#, &[0.9, 0.1]),
    // Twice the first, each once, twice the second.
    ("two draws of chances 3 : 1", r#"{"importance":{"clients":2,"q":[3,1]}}"#, &[0.5625, 0.375, 0.0625]),
    // Each once, twice the one or the other.
    ("two draws with replacement", r#"{"replacement":2}"#, &[0.5, 0.25, 0.25]),
    ("one of the two", r#"{"clients":1}"#, &[0.5, 0.5]),
    ("a coin for each client", r#"{"bernoulli":0.5}"#, &[0.25, 0.25, 0.25, 0.25]),
];

/// Two clients, and every outcome of one round's draw with its probability: on average over the draws the shared model must be what
/// a round with everyone makes of it. `drawing` is the method with these draws.
pub fn is_right_on_average<A: Study>(drawing: impl Fn(&str) -> Result<A, String>, trial: &Trial) -> Result<(), String> {
    let whole = after_one_round(&Arc::new(drawing(r#""everyone""#)?), trial, 1)?;
    for (how, sampling, chances) in WAYS {
        let mut seen = outcomes(drawing(sampling)?, trial)?;
        if seen.len() != chances.len() {
            return Err(format!("{how} has {} outcomes, not {}", seen.len(), chances.len()));
        }
        seen.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
        let mean = seen.iter().zip(chances).map(|((x, _), chance)| chance * x).sum::<f64>();
        // Sums of a few numbers below 10.
        if (mean - whole).abs() > 1e-12 {
            return Err(format!("with {how} a round ends at {mean} on average, with everyone at {whole}"));
        }
    }
    // Two outcomes are those of one client alone.
    for (how, sampling, _) in WAYS.iter().filter(|(.., chances)| chances.len() > 2) {
        stands_for_the_silent(how, &Arc::new(drawing(sampling)?), trial)?;
    }
    Ok(())
}

/// A draw of both clients, each of whom is silent with probability 1/2: given that somebody answers, one, the other and both are equally
/// probable, and on average the shared model must be what it is when both answer. With one client there is nobody to stand for another.
fn stands_for_the_silent<A: Study>(how: &str, method: &Arc<A>, trial: &Trial) -> Result<(), String> {
    let devices = Devices { available: Fraction::new(0.5).expect("a half is a fraction"), ..Devices::default() };
    for seed in (1..=SEEDS).map(Seed) {
        let mut ends: Vec<f64> = vec![];
        for dice in (1..=60).map(Seed) {
            // Everyone is there before the first round. Where nobody answers there is no round.
            let mut fleet = Deployed::new(trial.inline(method, seed), Some(devices), dice);
            let Ok(x) = after(method, trial, seed, &mut fleet) else { continue };
            if x != START && !ends.contains(&x) {
                ends.push(x);
            }
        }
        // Where one client was drawn, there is one end.
        let [a, b, c] = ends[..] else { continue };
        let (mean, whole) = ((a + b + c) / 3.0, after(method, trial, seed, &mut trial.inline(method, seed))?);
        if (mean - whole).abs() > 1e-12 {
            return Err(format!("with {how} and silent clients a round ends at {mean} on average, else at {whole}"));
        }
        return Ok(());
    }
    Err(format!("{how} and silent clients: no draw of both has three ends"))
}

/// What one round can end at, and how often it did.
fn outcomes<A: Study>(method: A, trial: &Trial) -> Result<Vec<(f64, u64)>, String> {
    let (method, mut seen) = (Arc::new(method), BTreeMap::new());
    for seed in 1..=SEEDS {
        let x = after_one_round(&method, trial, seed)?;
        seen.entry(x.to_bits()).or_insert((x, 0)).1 += 1;
    }
    Ok(seen.into_values().collect())
}

/// The shared model, one number, after a round in which everyone answers.
fn after_one_round<A: Study>(method: &Arc<A>, trial: &Trial, seed: u64) -> Result<f64, String> {
    after(method, trial, Seed(seed), &mut trial.inline(method, Seed(seed)))
}

/// The same with any fleet.
fn after<A: Study>(method: &Arc<A>, trial: &Trial, seed: Seed, fleet: &mut dyn Fleet<A>) -> Result<f64, String> {
    // Whoever answers is enough, and a round without anyone is not drawn anew.
    let plan = Plan { rhythm: Rhythm::Never, quorum: 0.0, attempts: 1, ..Plan::new(1, seed) };
    let start = Vector::from(vec![START; trial.dim]);
    let trained = motet_core::train(&**method, start, &plan, fleet, &mut vec![]).map_err(|e| e.to_string())?;
    if trained.outcome != Outcome::Finished {
        return Err(trained.outcome.to_string());
    }
    Ok(method.shared(&trained.server, ClientId(0)).at(0))
}
