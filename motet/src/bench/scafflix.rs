//! Local steps of Scafflix against the bare gradient kernel on the same data and threads.

use std::sync::Arc;
use std::time::Instant;

use motet_core::{Batch, Memo, Objective, Population, Vector};
use motet_methods::scafflix::Scafflix;
use motet_runtime::Pool;
use serde::Serialize;
use serde_json::json;

use super::{COLUMNS, TURNS, laps, logistic_shards, median, odd};
use crate::error::Error;

/// Local steps between two communications.
const STEPS: u32 = 10;

#[derive(Serialize)]
pub(super) struct Timing {
    workload: &'static str,
    threads: usize,
    rounds: u64,
    steps_per_round: u32,
    seconds_per_round: f64,
    kernel_seconds_per_round: f64,
    /// The kernel's throughput that is left for local steps, communication included.
    share_of_kernel: f64,
}

pub(super) fn scafflix(pool: &Arc<Pool>, rounds: u64) -> Result<Timing, Error> {
    let shards = logistic_shards().map_err(|e| odd(&e))?;
    let objectives: Arc<[Arc<dyn Objective>]> = shards.iter().map(|s| Arc::clone(&s.train)).collect();
    let params = json!({ "alpha": 0.5, "p": 0.1, "coin": { "every": STEPS }, "solve": { "steps": 100 } });
    let population: Arc<dyn Population> = Arc::new(shards);
    let memo = Arc::<Memo>::default();
    let laps_per_turn = rounds.div_ceil(TURNS);
    let (mut ours, mut bare) = (vec![], vec![]);
    for _ in 0..TURNS {
        ours.extend(laps::<Scafflix>(&params, &population, &memo, pool, laps_per_turn)?);
        bare.extend((0..laps_per_turn).map(|_| kernel(pool, &objectives)));
    }
    let (ours, bare) = (median(ours), median(bare));
    Ok(Timing {
        workload: "scafflix",
        threads: pool.threads(),
        rounds,
        steps_per_round: STEPS,
        seconds_per_round: ours,
        kernel_seconds_per_round: bare,
        share_of_kernel: bare / ours,
    })
}

/// As many gradients of each client as a round takes, and nothing else.
fn kernel(pool: &Pool, objectives: &Arc<[Arc<dyn Objective>]>) -> f64 {
    let began = Instant::now();
    let all = Arc::clone(objectives);
    let work = move |k: usize| {
        let (x, mut g) = (Vector::from(vec![0.01; COLUMNS]), Vector::from(vec![0.0; COLUMNS]));
        for _ in 0..STEPS {
            all[k].gradient(&x, Batch::all(), &mut g);
        }
        g.at(0)
    };
    let mut sum = 0.0;
    pool.scatter(objectives.len(), work, |_, g| sum += g);
    std::hint::black_box(sum);
    began.elapsed().as_secs_f64()
}
