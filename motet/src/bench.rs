//! Fixed workloads, for comparison with other systems.

mod against;
mod diana;
mod mirror;
mod networks;
mod scafflix;
mod sgemm;

use std::sync::Arc;
use std::time::Instant;

use motet_core::{
    Abort, Adding, Algorithm, ClientId, Fleet, Host, LastReplies, Memo, Participants, Plan, Population, Probe, Received, Rhythm, Roster,
    Score, Seed, Shard, Slot, Vector, Wave, train,
};
use motet_methods::Method;
use motet_methods::flix::Flix;
use motet_problems::{Dataset, Examples, Matrix, ModelConfig, Targets};
use motet_runtime::{Memory, Pool, Threads};
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::Error;

pub use against::{Comparison, Ratio};

/// A fixed workload. Its shape never changes, so that times can be compared with other systems and over versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// FLIX by gradient descent: 50 clients, 17188 x 300 sparse logistic regression, all clients, f64.
    Logistic,
    /// The same problem by DIANA with Rand-k, k = 0.2 d: what compression costs beside `logistic`.
    Diana,
    /// Mirror steps of MeritFed's server: 150 clients in 10 dimensions, 20 clients with 1.7 million parameters.
    Meritfed,
    /// Scafflix on the same data, ten local steps a round, against the bare gradient kernel.
    Scafflix,
    /// FedAvg: 100 clients x 100 images of 28 x 28, McMahan's CNN, 10 clients a round, 10 steps of batch 20, f32.
    Cnn,
    /// FedAvg: 100 clients x 40 sequences of 80, 2 x LSTM 256, 10 clients a round, 10 steps of batch 4, f32.
    Lstm,
    /// FedAvg: ResNet-18 with group norm on images of 32 x 32 x 3, 2 clients a round, 2 steps of batch 20, f32.
    Resnet,
    /// FedAvg: the encoder of all-MiniLM-L6-v2 on 64 tokens, 2 clients a round, 2 steps of batch 8, f32.
    Bert,
    /// FedAvg: 10,000 clients x 20 examples, 60 -> 10 softmax regression, 100 clients a round, 2 steps of batch 10, f32.
    Tiny,
    /// 342,477 users made on demand, 10,000 words x 500 tags, 50 a round, 10 steps of batch 16 on sparse rows, server SGD, f32.
    Tags,
    /// The same with Yogi on the server.
    TagsYogi,
    /// One client, 1000 steps a round: a perceptron 1-40-40-1 on a sine, batch 50, f32.
    Mlp,
}

/// Every workload, with its name and one line about it.
pub const WORKLOADS: &[(Workload, &str, &str)] = &[
    (Workload::Logistic, "logistic", "FLIX by gradient descent: 50 clients, 17188 x 300 sparse logistic regression, all clients, f64"),
    (Workload::Diana, "diana", "The same problem by DIANA with Rand-k, k = 0.2 d: what compression costs beside `logistic`"),
    (
        Workload::Meritfed,
        "meritfed",
        "Mirror steps of MeritFed's server: 150 clients in 10 dimensions, 20 clients with 1.7 million parameters",
    ),
    (Workload::Scafflix, "scafflix", "Scafflix on the same data, ten local steps a round, against the bare gradient kernel"),
    (Workload::Cnn, "cnn", "FedAvg: 100 clients x 100 images of 28 x 28, McMahan's CNN, 10 clients a round, 10 steps of batch 20, f32"),
    (Workload::Lstm, "lstm", "FedAvg: 100 clients x 40 sequences of 80, 2 x LSTM 256, 10 clients a round, 10 steps of batch 4, f32"),
    (Workload::Resnet, "resnet", "FedAvg: ResNet-18 with group norm, images of 32 x 32 x 3, 2 clients a round, 2 steps of batch 20, f32"),
    (Workload::Bert, "bert", "FedAvg: the encoder of all-MiniLM-L6-v2, 64 tokens, 2 clients a round, 2 steps of batch 8, f32"),
    (
        Workload::Tiny,
        "tiny",
        "FedAvg: 10,000 clients x 20 examples, 60 -> 10 softmax regression, 100 clients a round, 2 steps of batch 10, f32",
    ),
    (
        Workload::Tags,
        "tags",
        "342,477 users made on demand, 10,000 words x 500 tags, 50 a round, 10 steps of batch 16 on sparse rows, server SGD, f32",
    ),
    (Workload::TagsYogi, "tags-yogi", "The same with Yogi on the server"),
    (Workload::Mlp, "mlp", "One client, 1000 steps a round: a perceptron 1-40-40-1 on a sine, batch 50, f32"),
];

impl Workload {
    /// Times it on the threads of a pool and gives the figures that `motet bench` prints. `rounds` is how many are timed;
    /// where it is absent, 1000 (cnn and lstm 12, resnet and bert 10, mlp 20, tags 100).
    pub fn time(self, pool: &Arc<Pool>, rounds: Option<u64>) -> Result<Value, Error> {
        let rounds = |usual: u64| rounds.unwrap_or(usual);
        let pool = Arc::clone(pool);
        Ok(match self {
            Workload::Logistic => json!(logistic(pool, rounds(1000))?),
            Workload::Diana => json!(diana::diana(&pool, rounds(1000))?),
            Workload::Meritfed => json!(mirror::mirror_steps()),
            Workload::Cnn => json!(networks::cnn(pool, rounds(12))?),
            Workload::Lstm => json!(networks::lstm(pool, rounds(12))?),
            Workload::Resnet => json!(networks::resnet(pool, rounds(10))?),
            Workload::Bert => json!(networks::bert(pool, rounds(10))?),
            Workload::Tiny => json!(networks::tiny(pool, rounds(1000))?),
            Workload::Tags => json!(networks::tags(pool, rounds(100), false)?),
            Workload::TagsYogi => json!(networks::tags(pool, rounds(100), true)?),
            Workload::Mlp => json!(networks::mlp(pool, rounds(20))?),
            Workload::Scafflix => json!(scafflix::scafflix(&pool, rounds(1000))?),
        })
    }
}

#[derive(Default, Serialize)]
struct Timing {
    workload: &'static str,
    threads: usize,
    rounds: u64,
    seconds_per_round: f64,
    examples_per_second: f64,
    peak_memory_mb: Option<f64>,
    loss: f64,
    /// 10⁹ operations a second, where their number is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    gflops: Option<f64>,
    /// The same of matrix products alone, on the same threads just after.
    #[serde(skip_serializing_if = "Option::is_none")]
    sgemm_gflops: Option<f64>,
}

const ROWS: usize = 17_188;
const COLUMNS: usize = 300;
const ONES: usize = 12;
const CLIENTS: usize = 50;
const WARM_UP: u64 = 20;

fn odd(e: &dyn std::fmt::Display) -> Error {
    Error::Unknown(format!("the workload cannot be made: {e}"))
}

/// Turns of each of two things that are compared, one after the other, so that both meet the same machine.
const TURNS: u64 = 50;

/// Seconds of each of some rounds of a method, once it is warm.
fn laps<M: Method>(
    params: &serde_json::Value,
    population: &Arc<dyn Population>,
    memo: &Arc<Memo>,
    pool: &Arc<Pool>,
    rounds: u64,
) -> Result<Vec<f64>, Error> {
    let method: Arc<M> = Arc::new(serde_json::from_value(params.clone()).map_err(|e| odd(&e))?);
    let host = Host::new(Arc::clone(&method), Arc::clone(population), Arc::new(Memory::default()), Arc::clone(memo), Seed(1));
    let plan = Plan { rhythm: Rhythm::Never, ..Plan::new(WARM_UP + rounds, Seed(1)) };
    let mut fleet = Stopwatch { inner: Threads::new(host, Arc::clone(pool)), laps: vec![] };
    let start = Vector::from(vec![0.0; COLUMNS]);
    train(&*method, start, &plan, &mut fleet, &mut Vec::new()).map_err(|source| Error::Run {
        label: M::CARD.name.into(),
        seed: 1,
        source,
    })?;
    Ok(fleet.laps().skip(WARM_UP as usize).collect())
}

fn logistic(pool: Arc<Pool>, rounds: u64) -> Result<Timing, Error> {
    let workload = "logistic";
    let shards = logistic_shards().map_err(|e| odd(&e))?;
    let examples: usize = shards.iter().map(|s| s.train.samples()).sum();
    let params = json!({ "alpha": 0.5, "solve": { "steps": 100 } });
    let method: Arc<Flix> = Arc::new(serde_json::from_value(params).map_err(|e| odd(&e))?);
    let population: Arc<dyn Population> = Arc::new(shards);
    let host = Host::new(Arc::clone(&method), population, Arc::new(Memory::default()), Arc::<Memo>::default(), Seed(1));
    let plan = Plan { rhythm: Rhythm::At(vec![]), ..Plan::new(WARM_UP + rounds, Seed(1)) };
    let threads = pool.threads();
    let mut fleet = Stopwatch { inner: Threads::new(host, pool), laps: Vec::with_capacity((WARM_UP + rounds) as usize + 2) };
    let mut rows = vec![];
    let start = Vector::from(vec![0.0; COLUMNS]);
    train(&*method, start, &plan, &mut fleet, &mut rows).map_err(|source| Error::Run { label: workload.into(), seed: 1, source })?;
    let seconds_per_round = median(fleet.laps().skip(WARM_UP as usize + 1).collect());
    let loss = rows.last().and_then(|row| row.metrics.get("loss")).copied().unwrap_or(f64::NAN);
    let examples_per_second = examples as f64 / seconds_per_round;
    Ok(Timing {
        workload,
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
    let data = Arc::new(Examples::new(Dataset::new(features, Targets::Classes { labels, classes: 2 }))?);
    let model: ModelConfig = serde_json::from_value(json!({ "kind": "logistic", "l2": 1e-3 }))?;
    let cut = |k: usize| k * ROWS / CLIENTS;
    (0..CLIENTS).map(|k| Ok(Shard::new(model.objective(&data, cut(k)..cut(k + 1))?))).collect()
}

/// A fleet that notes when each exchange begins; a round of this workload is one exchange.
struct Stopwatch<F> {
    inner: F,
    laps: Vec<Instant>,
}

impl<F> Stopwatch<F> {
    /// Seconds from each exchange to the next.
    fn laps(&self) -> impl Iterator<Item = f64> {
        self.laps.windows(2).map(|w| (w[1] - w[0]).as_secs_f64())
    }
}

fn median(mut laps: Vec<f64>) -> f64 {
    laps.sort_by(f64::total_cmp);
    laps.get(laps.len() / 2).copied().unwrap_or(f64::NAN)
}

impl<A: Algorithm, F: Fleet<A>> Fleet<A> for Stopwatch<F> {
    fn roster(&self) -> Roster {
        self.inner.roster()
    }
    fn is_there(&self, slot: Slot, client: ClientId) -> bool {
        self.inner.is_there(slot, client)
    }
    fn is_steady(&self) -> bool {
        self.inner.is_steady()
    }
    fn participants(&self) -> Option<&dyn Participants> {
        self.inner.participants()
    }
    fn exchange(&mut self, slot: Slot, wave: Wave<'_, A::Ask>, each: &mut dyn FnMut(ClientId, Received<A::Reply>)) -> Result<(), Abort> {
        self.laps.push(Instant::now());
        self.inner.exchange(slot, wave, each)
    }
    fn sum(&mut self, slot: Slot, wave: Wave<'_, A::Ask>, adding: &mut Adding<'_, A>) -> Result<(), Abort> {
        self.laps.push(Instant::now());
        self.inner.sum(slot, wave, adding)
    }
    fn round_closed(&mut self, clients: &mut dyn Iterator<Item = ClientId>, heard: &LastReplies) -> Result<(), Abort> {
        self.inner.round_closed(clients, heard)
    }
    fn elapsed(&mut self) -> f64 {
        self.inner.elapsed()
    }
    fn probe(&mut self, probe: &Probe<'_>, each: &mut dyn FnMut(ClientId, Score)) -> Result<(), Abort> {
        self.laps.push(Instant::now());
        self.inner.probe(probe, each)
    }
}

/// The most memory this process ever held, where the system tells.
fn peak_memory_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kb| kb / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fleet_with_a_stopwatch_forwards_everything() {
        motet_conformance::forwards_everything(|inner| Stopwatch { inner, laps: vec![] }).unwrap();
    }
}
