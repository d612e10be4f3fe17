//! FedAvg on networks.

use std::path::Path;
use std::sync::Arc;

use motet_core::{Host, Memo, Plan, Population, Rhythm, Rng, Seed, Shard, Vector, train};
use motet_methods::Method;
use motet_methods::fedavg::Fedavg;
use motet_methods::local_update::LocalUpdate;
use motet_problems::{Dataset, Dense, Examples, Matrix, ModelConfig, Problem, ProblemConfig, Targets};
use motet_runtime::{Memory, Pool, Threads};
use serde_json::{Value, json};

use super::sgemm::peak_gflops;
use super::{Stopwatch, Timing, median, odd, peak_memory_mb};
use crate::error::Error;

/// Rounds before the clock starts.
const WARM_UP: u64 = 2;
/// Clients whose loss is looked at in the end.
const JUDGED: u32 = 10;

/// Operations of one example of the CNN, forward and back: each product twice its size, three times in all, but for the
/// images, whose slopes nobody wants.
const CNN_OPERATIONS: f64 = 2.0 * (2.0 * 784.0 * 25.0 * 32.0 + 3.0 * (196.0 * 800.0 * 64.0 + 3136.0 * 512.0 + 512.0 * 62.0));

pub(super) fn cnn(pool: Arc<Pool>, rounds: u64) -> Result<Timing, Error> {
    let problem = json!({
        "source": {"kind": "synthetic-images", "clients": 100, "examples": 100, "side": 28, "classes": 62, "signal": 0.5},
        "model": {"kind": "cnn"},
    });
    let method = json!({"gamma": 0.05, "steps": {"epochs": 2}, "batch": 20, "sampling": {"clients": 10}});
    let timing = time::<Fedavg>("cnn", &problem, method, Arc::clone(&pool), rounds, 10 * 10 * 20)?;
    let gflops = Some(CNN_OPERATIONS * timing.examples_per_second / 1e9);
    // Afterwards: the matrices must not be counted with the memory of the run.
    Ok(Timing { gflops, sgemm_gflops: Some(peak_gflops(&pool)), ..timing })
}

pub(super) fn lstm(pool: Arc<Pool>, rounds: u64) -> Result<Timing, Error> {
    let problem = json!({
        "source": {"kind": "synthetic-text", "clients": 100, "examples": 40, "length": 80, "vocabulary": 90},
        "model": {"kind": "char-lstm"},
    });
    let method = json!({"gamma": 0.5, "batch": 4, "sampling": {"clients": 10}});
    time::<Fedavg>("lstm", &problem, method, pool, rounds, 10 * 10 * 4)
}

pub(super) fn tiny(pool: Arc<Pool>, rounds: u64) -> Result<Timing, Error> {
    let problem = json!({
        "source": {"kind": "synthetic", "clients": 10_000, "examples": 20, "features": 60, "classes": 10, "heterogeneity": 0.0},
        "model": {"kind": "mlp", "sizes": []},
    });
    let method = json!({"gamma": 0.1, "batch": 10, "sampling": {"clients": 100}});
    time::<Fedavg>("tiny", &problem, method, pool, rounds, 100 * 20)
}

/// ResNet-18 with group norm on images of 32 × 32 × 3: two clients a round, two steps of batch 20 each.
pub(super) fn resnet(pool: Arc<Pool>, rounds: u64) -> Result<Timing, Error> {
    let image = |rng: &mut Rng| (0..32 * 32 * 3).map(|_| rng.normal()).collect();
    let (population, start) = labelled(40, image, &json!({"kind": "resnet18", "image": [32, 32, 3]})).map_err(|e| odd(&*e))?;
    let method = json!({"gamma": 0.01, "batch": 20, "sampling": {"clients": 2}});
    time_rounds::<Fedavg>("resnet", population, start, method, pool, rounds, 2 * 2 * 20)
}

/// The encoder of all-MiniLM-L6-v2 on 64 tokens: two clients a round, two steps of batch 8 each.
pub(super) fn bert(pool: Arc<Pool>, rounds: u64) -> Result<Timing, Error> {
    let text = |rng: &mut Rng| (0..64).map(|_| 1.0 + rng.below(30_521) as f64).collect();
    let (population, start) = labelled(16, text, &json!({"kind": "bert"})).map_err(|e| odd(&*e))?;
    let method = json!({"gamma": 0.01, "batch": 8, "sampling": {"clients": 2}});
    time_rounds::<Fedavg>("bert", population, start, method, pool, rounds, 2 * 2 * 8)
}

/// Eight clients with so many examples of ten classes each, and a model for them.
fn labelled(
    examples: usize,
    mut features: impl FnMut(&mut Rng) -> Vec<f64>,
    model: &Value,
) -> Result<(Arc<dyn Population>, Vector), Box<dyn std::error::Error>> {
    const CLIENTS: usize = 8;
    const CLASSES: u32 = 10;
    let mut rng = Seed(2024).problem(5);
    let labels = (0..CLIENTS * examples).map(|_| rng.below(CLASSES as usize) as u32).collect();
    let first = features(&mut rng);
    let mut values = Vec::with_capacity(CLIENTS * examples * first.len());
    values.extend(first);
    (1..CLIENTS * examples).for_each(|_| values.extend(features(&mut rng)));
    let features = Matrix::Dense(Dense { cols: values.len() / (CLIENTS * examples), values: values.into() });
    let data = Arc::new(Examples::new(Dataset::new(features, Targets::Classes { labels, classes: CLASSES }))?);
    // One model for all clients, so that they share its workspaces.
    let model = serde_json::from_value::<ModelConfig>(model.clone())?.fitted(data, Seed(1))?;
    let shards: Vec<Shard> = (0..CLIENTS).map(|k| Shard::new(model.objective(k * examples..(k + 1) * examples))).collect();
    Ok((Arc::new(shards), model.start()))
}

pub(super) fn mlp(pool: Arc<Pool>, rounds: u64) -> Result<Timing, Error> {
    let (population, start) = sine().map_err(|e| odd(&*e))?;
    let method = json!({"gamma": 0.01, "steps": {"epochs": 1000}, "batch": 50});
    time_rounds::<Fedavg>("mlp", population, start, method, pool, rounds, 1000 * 50)
}

/// Fifty points of a sine, and a perceptron to fit them.
fn sine() -> Result<(Arc<dyn Population>, Vector), Box<dyn std::error::Error>> {
    let values: Vec<f64> = (0..50).map(|k| f64::from(k) / 5.0 - 5.0).collect();
    let targets = Targets::Numbers(values.iter().map(|x| x.sin()).collect());
    let features = Matrix::Dense(Dense { cols: 1, values: values.into() });
    let data = Arc::new(Examples::new(Dataset::new(features, targets))?);
    let model: ModelConfig = serde_json::from_value(json!({"kind": "mlp", "sizes": [40, 40], "activation": "tanh"}))?;
    let start = model.start(&data, Seed(1))?;
    Ok((Arc::new(vec![Shard::new(model.objective(&data, 0..50)?)]), start))
}

/// Tag prediction by a sample of very many clients; with `yogi`, the server's steps are adaptive.
pub(super) fn tags(pool: Arc<Pool>, rounds: u64, yogi: bool) -> Result<Timing, Error> {
    let problem = json!({ "source": {"kind": "synthetic-posts", "clients": 342_477} });
    let mut method = json!({"gamma": 0.1, "steps": 10, "batch": 16, "send": "deltas", "sampling": {"clients": 50}});
    if yogi {
        method["optimiser"] = json!({"kind": "yogi", "step": 0.01, "eps": 1e-3});
    } else {
        method["eta"] = json!(1.0);
    }
    // A user of fewer posts than a batch uses all he has: 9.7 posts a step on average, counted in 100 rounds.
    time::<LocalUpdate>(if yogi { "tags-yogi" } else { "tags" }, &problem, method, pool, rounds, 50 * 97)
}

fn time<M: Method>(
    name: &'static str,
    problem: &Value,
    method: Value,
    pool: Arc<Pool>,
    rounds: u64,
    examples: u64,
) -> Result<Timing, Error> {
    let config: ProblemConfig = serde_json::from_value(problem.clone()).map_err(|e| odd(&e))?;
    let problem = Problem::build(&config, Path::new("."), 1).map_err(|e| odd(&e))?;
    let start = problem.start().into_owned();
    time_rounds::<M>(name, problem.population, start, method, pool, rounds, examples)
}

fn time_rounds<M: Method>(
    name: &'static str,
    population: Arc<dyn Population>,
    start: Vector,
    method: Value,
    pool: Arc<Pool>,
    rounds: u64,
    examples: u64,
) -> Result<Timing, Error> {
    let method: Arc<M> = Arc::new(serde_json::from_value(method).map_err(|e| odd(&e))?);
    let host = Host::new(Arc::clone(&method), population, Arc::new(Memory::default()), Arc::<Memo>::default(), Seed(1));
    let plan = Plan { rhythm: Rhythm::At(vec![]), probe_clients: Some(JUDGED), ..Plan::new(WARM_UP + rounds, Seed(1)) };
    let threads = pool.threads();
    let mut fleet = Stopwatch { inner: Threads::new(host, pool), laps: Vec::with_capacity((WARM_UP + rounds) as usize + 2) };
    let mut rows = vec![];
    train(&*method, start, &plan, &mut fleet, &mut rows).map_err(|source| Error::Run { label: name.into(), seed: 1, source })?;
    let seconds_per_round = median(fleet.laps().skip(WARM_UP as usize).collect());
    let loss = rows.last().and_then(|row| row.metrics.get("loss")).copied().unwrap_or(f64::NAN);
    let examples_per_second = examples as f64 / seconds_per_round;
    let peak_memory_mb = peak_memory_mb();
    Ok(Timing { workload: name, threads, rounds, seconds_per_round, examples_per_second, peak_memory_mb, loss, ..Timing::default() })
}
