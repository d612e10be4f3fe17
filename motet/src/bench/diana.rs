//! A round of DIANA beside one of gradient descent, on the same data and threads.

use std::sync::Arc;

use motet_core::{Memo, Population};
use motet_methods::diana::Diana;
use motet_methods::flix::Flix;
use motet_runtime::Pool;
use serde::Serialize;
use serde_json::json;

use super::{TURNS, laps, logistic_shards, median, odd};
use crate::error::Error;

#[derive(Serialize)]
pub(super) struct Timing {
    workload: &'static str,
    threads: usize,
    rounds: u64,
    seconds_per_round: f64,
    /// The same of gradient descent, by turns.
    descent_seconds_per_round: f64,
    /// How much longer a compressed round takes.
    ratio: f64,
}

pub(super) fn diana(pool: &Arc<Pool>, rounds: u64) -> Result<Timing, Error> {
    let population: Arc<dyn Population> = Arc::new(logistic_shards().map_err(|e| odd(&e))?);
    let memo = Arc::<Memo>::default();
    let solve = json!({ "steps": 100 });
    let plain = json!({ "alpha": 0.5, "solve": solve });
    let compressed = json!({ "alpha": 0.5, "compressor": { "kind": "rand-k", "k": 0.2 }, "solve": solve });
    let each = rounds.div_ceil(TURNS);
    let (mut ours, mut descent) = (vec![], vec![]);
    for _ in 0..TURNS {
        ours.extend(laps::<Diana>(&compressed, &population, &memo, pool, each)?);
        descent.extend(laps::<Flix>(&plain, &population, &memo, pool, each)?);
    }
    let (ours, descent) = (median(ours), median(descent));
    Ok(Timing {
        workload: "diana",
        threads: pool.threads(),
        rounds,
        seconds_per_round: ours,
        descent_seconds_per_round: descent,
        ratio: ours / descent,
    })
}
