//! Is what a server makes of a draw of clients right on average?

use std::collections::BTreeMap;
use std::sync::Arc;

use motet_core::{ClientId, Outcome, Plan, Rhythm, Seed, Study, Vector};

use crate::trial::Trial;

/// Draws enough to see the rarest of the outcomes below, of probability 1/10, but for a chance of 1e-13.
const SEEDS: u64 = 300;

/// Two clients, and every outcome of one round's draw with its probability: on average over the draws the shared model must be what
/// a round with everyone makes of it. `drawn` are the method with one importance draw of chances 9 : 1, and with a coin of
/// probability one half for each client.
pub fn is_right_on_average<A: Study>(everyone: A, [importance, bernoulli]: [A; 2], trial: &Trial) -> Result<(), String> {
    let whole = after_one_round(&Arc::new(everyone), trial, 1)?;
    let mut one_or_the_other = outcomes(importance, trial)?;
    if one_or_the_other.len() != 2 {
        return Err(format!("one draw of two clients has {} outcomes", one_or_the_other.len()));
    }
    one_or_the_other.sort_by_key(|(_, seen)| std::cmp::Reverse(*seen)); // of 9 : 1, the frequent one is the first client's
    let by_chance = 0.9 * one_or_the_other[0].0 + 0.1 * one_or_the_other[1].0;
    let coins = outcomes(bernoulli, trial)?;
    if coins.len() != 4 {
        return Err(format!("two coins have {} outcomes", coins.len()));
    }
    let by_coins = coins.iter().map(|(x, _)| 0.25 * x).sum::<f64>();
    for (how, mean) in [("importance", by_chance), ("bernoulli", by_coins)] {
        // Both are sums of a few numbers below 10.
        if (mean - whole).abs() > 1e-12 {
            return Err(format!("with {how} draws a round ends at {mean} on average, with everyone at {whole}"));
        }
    }
    Ok(())
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

/// The shared model, one number, after a round from 3.
fn after_one_round<A: Study>(method: &Arc<A>, trial: &Trial, seed: u64) -> Result<f64, String> {
    let plan = Plan { rhythm: Rhythm::Never, ..Plan::new(1, Seed(seed)) };
    let start = Vector::from(vec![3.0; trial.dim]);
    let trained =
        motet_core::train(&**method, start, &plan, &mut trial.inline(method, Seed(seed)), &mut vec![]).map_err(|e| e.to_string())?;
    if trained.outcome != Outcome::Finished {
        return Err(trained.outcome.to_string());
    }
    Ok(method.shared(&trained.server, ClientId(0)).at(0))
}
