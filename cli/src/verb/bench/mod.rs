//! `motet bench`: fixed workloads, for comparison with other systems.

mod logistic;
mod networks;
mod sgemm;
mod stopwatch;

use std::sync::Arc;

use clap::{Args, ValueEnum};
use motet_runtime::Pool;
use serde::Serialize;

use super::console::Console;
use crate::error::Error;

/// Time the fixed workloads; one JSON line each.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  motet bench cnn --threads 2")]
pub struct BenchArgs {
    /// Which workload [default: all]
    workload: Option<Workload>,
    /// Threads to use [default: all cores]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Rounds to time [default: 1000, of cnn and lstm 12]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Workload {
    /// FLIX by gradient descent: 50 clients, 17188 x 300 sparse logistic regression, all clients, f64
    Logistic,
    /// FedAvg: 100 clients x 100 images of 28 x 28, McMahan's CNN, 10 clients a round, 10 steps of batch 20, f32
    Cnn,
    /// FedAvg: 100 clients x 40 sequences of 80, 2 x LSTM 256, 10 clients a round, 10 steps of batch 4, f32
    Lstm,
    /// FedAvg: 10,000 clients x 20 examples, 60 -> 10 softmax regression, 100 clients a round, 2 steps of batch 10, f32
    Tiny,
    /// One client, 1000 steps a round: a perceptron 1-40-40-1, batch 50, f32
    Mlp,
}

/// What a workload took.
#[derive(Default, Serialize)]
struct Timing {
    workload: &'static str,
    threads: usize,
    rounds: u64,
    seconds_per_round: f64,
    examples_per_second: f64,
    peak_memory_mb: Option<f64>,
    loss: f64,
    /// Arithmetic of the workload, where it is known: 10⁹ operations a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    gflops: Option<f64>,
    /// Of matrix products alone, on the same threads just before.
    #[serde(skip_serializing_if = "Option::is_none")]
    sgemm_gflops: Option<f64>,
}

impl BenchArgs {
    /// Times it.
    pub fn execute(&self, console: Console) -> Result<bool, Error> {
        let workloads = self.workload.map_or_else(|| Workload::value_variants().to_vec(), |one| vec![one]);
        for workload in workloads {
            let pool = Arc::new(self.threads.map_or_else(Pool::all_cores, |n| Pool::new(n.into())));
            let rounds = |usual: u64| self.rounds.unwrap_or(usual);
            let timing = match workload {
                Workload::Logistic => logistic::logistic(pool, rounds(1000))?,
                Workload::Cnn => networks::cnn(pool, rounds(12))?,
                Workload::Lstm => networks::lstm(pool, rounds(12))?,
                Workload::Tiny => networks::tiny(pool, rounds(1000))?,
                Workload::Mlp => networks::mlp(pool, rounds(20))?,
            };
            // One JSON line in either format: this output is for machines.
            console.result(&timing, || serde_json::to_string(&timing).unwrap_or_default());
        }
        Ok(true)
    }
}

fn odd(e: &dyn std::fmt::Display) -> Error {
    Error::Unknown(format!("the workload cannot be made: {e}"))
}
