//! `motet bench`: fixed workloads, for comparison with other systems.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, builder::TypedValueParser};
use motet::Error;
use motet::bench::{WORKLOADS, Workload};

use super::console::Console;
use super::run::pool;

/// Time the fixed workloads; one JSON line each.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  motet bench logistic --threads 2\n  motet bench cnn --threads 2 --against ~/venv    # beside PyTorch")]
pub(crate) struct BenchArgs {
    /// Which workload [default: all]
    #[arg(value_parser = workloads())]
    workload: Option<Workload>,
    /// Threads to use [default: all cores]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Rounds to time [default: 1000; cnn and lstm 12, resnet and bert 10, mlp 20, tags 100]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: Option<u64>,
    /// Compare with other libraries by turns: a Python environment with torch (cnn, lstm, resnet, bert), numpy (tiny) or scipy (logistic)
    #[arg(long, value_name = "VENV")]
    against: Option<PathBuf>,
    /// Turns of each side
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u16).range(1..=1000), requires = "against")]
    turns: u16,
}

fn workloads() -> impl TypedValueParser<Value = Workload> {
    let names = WORKLOADS.iter().map(|(_, name, about)| PossibleValue::new(*name).help(*about));
    let named = |name: String| WORKLOADS.iter().find(|(_, known, _)| *known == name).map(|(workload, ..)| *workload);
    PossibleValuesParser::new(names).map(move |name| named(name).expect("the parser lets only names of the list through"))
}

impl BenchArgs {
    /// Times it.
    pub(crate) fn execute(&self, console: Console<'_>) -> Result<bool, Error> {
        if let Some(environment) = &self.against {
            let all = WORKLOADS.iter().map(|(workload, ..)| *workload).filter(|workload| workload.has_peer());
            for workload in self.workload.map_or_else(|| all.collect(), |one| vec![one]) {
                let compared = workload.compare(environment, &pool(self.threads), self.rounds, self.turns.into())?;
                console.result(&compared, || serde_json::json!(compared).to_string());
            }
            return Ok(true);
        }
        for (workload, ..) in WORKLOADS.iter().filter(|(workload, ..)| self.workload.is_none_or(|one| one == *workload)) {
            let timing = workload.time(&pool(self.threads), self.rounds)?;
            // One JSON line in either format: this output is for machines.
            console.result(&timing, || timing.to_string());
        }
        Ok(true)
    }
}
