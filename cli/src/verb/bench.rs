//! `motet bench`: fixed workloads, for comparison with other systems.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, builder::TypedValueParser};
use motet::bench::{WORKLOADS, Workload};
use motet::{Error, Network};

use super::console::Console;
use super::how::pool;
use super::number::counted;

/// Time the fixed workloads; one JSON line each.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  motet bench logistic --threads 2\n  motet bench cnn --threads 2 --against ~/venv    # beside PyTorch")]
pub(crate) struct BenchArgs {
    /// Which workload [default: all but mpi]
    #[arg(value_parser = workloads())]
    workload: Option<What>,
    /// Threads to use [default: all cores]
    #[arg(long, allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Rounds to time [default: 1000; cnn and lstm 12, resnet and bert 10, mlp 20, tags 100]
    #[arg(long, allow_negative_numbers = true, value_parser = counted)]
    rounds: Option<u64>,
    /// Compare with other libraries by turns: a Python environment with torch (cnn, lstm, resnet, bert), numpy (tiny) or scipy (logistic)
    #[arg(long, value_name = "VENV")]
    against: Option<PathBuf>,
    /// Turns of each side
    #[arg(long, default_value_t = 9, allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(1..=1000), requires = "against")]
    turns: u16,
}

/// What is timed.
#[derive(Clone, Copy, Debug)]
enum What {
    Workload(Workload),
    /// Messages between ranks.
    Mpi,
}

const MPI: &str = "mpi";

fn workloads() -> impl TypedValueParser<Value = What> {
    let names = WORKLOADS.iter().map(|(_, name, about)| PossibleValue::new(*name).help(*about));
    let names =
        names.chain([PossibleValue::new(MPI).help("Messages between the ranks of `mpirun`: latency, bandwidth, broadcast, all-to-all")]);
    let named = |name: String| match WORKLOADS.iter().find(|(_, known, _)| *known == name) {
        Some((workload, ..)) => What::Workload(*workload),
        None => What::Mpi,
    };
    PossibleValuesParser::new(names).map(named)
}

impl BenchArgs {
    /// Times it.
    pub(crate) fn execute(&self, console: Console<'_>) -> Result<bool, Error> {
        let workload = match self.workload {
            Some(What::Mpi) => return self.ranks(console),
            Some(What::Workload(workload)) => Some(workload),
            None => None,
        };
        if let Some(environment) = &self.against {
            let all = WORKLOADS.iter().map(|(workload, ..)| *workload).filter(|workload| workload.has_peer());
            for workload in workload.map_or_else(|| all.collect(), |one| vec![one]) {
                let compared = workload.compare(environment, &pool(self.threads), self.rounds, self.turns.into())?;
                console.result(&compared, || serde_json::json!(compared).to_string());
            }
            return Ok(true);
        }
        for (workload, ..) in WORKLOADS.iter().filter(|(one, ..)| workload.is_none_or(|workload| workload == *one)) {
            let timing = workload.time(&pool(self.threads), self.rounds)?;
            // One JSON line in either format: this output is for machines.
            console.result(&timing, || timing.to_string());
        }
        Ok(true)
    }

    /// Is it the ranks that are timed? Then every rank must help.
    pub(crate) fn needs_ranks(&self) -> bool {
        matches!(self.workload, Some(What::Mpi))
    }

    /// Times messages between ranks.
    pub(crate) fn ranks(&self, console: Console<'_>) -> Result<bool, Error> {
        let several = console.job.filter(|job| job.crew().size() > 1);
        let Some(job) = several else {
            let how =
                if cfg!(feature = "mpi") { "mpirun -n 2 motet bench mpi" } else { "with a motet that was built with the feature `mpi`" };
            return Err(Error::Unknown(format!("`motet bench mpi` times messages between at least two ranks: {how}")));
        };
        job.ready(None)?;
        let measured = Network::measure(&**job.crew()).map_err(|gone| Error::Unknown(gone.to_string()))?;
        if let Some(network) = measured {
            console.result(&network, || serde_json::json!(network).to_string());
        }
        Ok(true)
    }
}
