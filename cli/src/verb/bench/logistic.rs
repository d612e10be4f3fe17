//! FLIX on sparse logistic regressions, all clients, in double precision.

use std::sync::Arc;

use motet_core::{Host, Memo, Plan, Population, Rhythm, Seed, Shard, Vector, train};
use motet_methods::flix::Flix;
use motet_problems::{Dataset, Examples, Matrix, ModelConfig, Targets};
use motet_runtime::{Memory, Pool, Threads};
use serde_json::json;

use super::stopwatch::{Stopwatch, peak_memory_mb};
use super::{Timing, odd};
use crate::error::Error;

const ROWS: usize = 17_188;
const COLUMNS: usize = 300;
const ONES: usize = 12;
const CLIENTS: usize = 50;
const WARM_UP: u64 = 20;

pub(super) fn logistic(pool: Arc<Pool>, rounds: u64) -> Result<Timing, Error> {
    let shards = logistic_shards().map_err(|e| odd(&e))?;
    let examples: usize = shards.iter().map(|s| s.train.samples()).sum();
    let params = json!({ "alpha": 0.5, "step": "theory", "solve": { "steps": 100 } });
    let method: Arc<Flix> = Arc::new(serde_json::from_value(params).map_err(|e| odd(&e))?);
    let population: Arc<dyn Population> = Arc::new(shards);
    let host = Host::new(Arc::clone(&method), population, Arc::new(Memory::default()), Arc::<Memo>::default(), Seed(1));
    let plan = Plan { rhythm: Rhythm::At(vec![]), ..Plan::new(WARM_UP + rounds, Seed(1)) };
    let threads = pool.threads();
    let mut fleet = Stopwatch::new(Threads::new(host, pool), WARM_UP + rounds);
    let mut rows = vec![];
    let start = Vector::from(vec![0.0; COLUMNS]);
    train(&*method, start, &plan, &mut fleet, &mut rows).map_err(|source| Error::Run { label: "logistic".into(), seed: 1, source })?;
    let seconds_per_round = fleet.median(WARM_UP as usize + 1);
    let loss = rows.last().and_then(|row| row.metrics.get("loss")).copied().unwrap_or(f64::NAN);
    let examples_per_second = examples as f64 / seconds_per_round;
    Ok(Timing {
        workload: "logistic",
        threads,
        rounds,
        seconds_per_round,
        examples_per_second,
        peak_memory_mb: peak_memory_mb(),
        loss,
        ..Timing::default()
    })
}

/// Twelve of 300 features in each row are one; labels follow a random linear rule with noise.
fn logistic_shards() -> Result<Vec<Shard>, Box<dyn std::error::Error>> {
    let mut rng = Seed(2024).problem(3);
    let weights: Vec<f64> = (0..COLUMNS).map(|_| rng.normal()).collect();
    let (mut starts, mut columns, mut labels) = (vec![0], vec![], vec![]);
    for _ in 0..ROWS {
        let chosen = rng.choose(ONES, COLUMNS);
        let margin: f64 = chosen.iter().map(|&c| weights[c as usize]).sum::<f64>() + rng.normal();
        labels.push(u32::from(margin > 0.0));
        columns.extend(chosen);
        starts.push(columns.len());
    }
    let values = vec![1.0; columns.len()];
    let features = Matrix::sparse(COLUMNS, starts, columns, values)?;
    let data = Arc::new(Examples::new(Dataset { features, targets: Targets::Classes { labels, classes: 2 }, keys: None })?);
    let model: ModelConfig = serde_json::from_value(json!({ "kind": "logistic", "l2": 1e-3 }))?;
    let cut = |k: usize| k * ROWS / CLIENTS;
    (0..CLIENTS).map(|k| Ok(Shard::new(model.objective(&data, cut(k)..cut(k + 1))?))).collect()
}
