//! The language of claims, against records of a small experiment.

use std::sync::OnceLock;

use motet::records::Records;
use motet::report::claims::{NamedClaim, check, judge};
use motet::{Experiment, InMemory, Simulation, bundled};

use super::experiments::pool;
use crate::target::{Met, Reach, Target};

/// Claims about an experiment of three methods.
#[derive(Default)]
pub(super) struct Claims {
    records: OnceLock<Records>,
}

const EXPERIMENT: &str = r#"
name  = "claims"
seeds = [1, 2]
[problem]
source  = { kind = "synthetic", clients = 4, features = 3, examples = 12, heterogeneity = 1.0 }
holdout = { validation = 0.2, test = 0.2 }
model   = { kind = "logistic", l2 = 0.1 }
[run]
rounds = 6
[[method]]
kind  = "flix"
alpha = { grid = [1.0, 0.5] }
[[method]]
kind  = "scafflix"
alpha = 0.5
[[method]]
kind   = "meritfed"
step   = 0.5
target = 1
mirror = { kind = "md", rate = 3.5, steps = 2 }
"#;

impl Claims {
    fn records(&self) -> &Records {
        self.records.get_or_init(|| {
            let experiment = Experiment::parse(EXPERIMENT).expect("an experiment");
            let simulation = Simulation::on(experiment, pool()).expect("a problem");
            simulation.run(&mut InMemory::new()).expect("it runs")
        })
    }
}

impl Target for Claims {
    fn name(&self) -> String {
        "claims".into()
    }

    fn corpus(&self) -> Vec<Vec<u8>> {
        let own = [
            "rounds_to(scafflix, gap=1e-6) <= rounds_to(flix, gap=1e-6) / 3",
            "final(flix, loss) <= 1",
            "at(flix alpha=0.5, loss, 3) < start(flix, loss) + 2 * best(scafflix, test.accuracy)",
            "slope(flix, gap) <= -0.1",
            "bits_to(flix, loss=0.6) >= 0",
            "weight(meritfed, 1) >= 0.0",
        ];
        // As often as the bundled ones, of which most speak of methods that are not in these records.
        let own = own.map(str::to_owned).into_iter().cycle().take(300);
        let bundled = bundled::EXPERIMENTS.iter().filter_map(|bundled| Experiment::parse(bundled.text).ok());
        let bundled = bundled.flat_map(|experiment| experiment.claims.0.into_iter().map(|claim| claim.text));
        own.chain(bundled).map(String::into_bytes).collect()
    }

    fn words(&self) -> Vec<String> {
        let words = [
            "rounds_to(",
            "at(",
            "final(",
            "best(",
            "slope(",
            "bits_to(",
            "weight(",
            "start(",
            "flix",
            "scafflix",
            "meritfed",
            "alpha=0.5",
            "loss",
            "gap=1e-6",
            "test.accuracy",
            "worst",
            "and",
            "or",
            "not",
            "<=",
            ">=",
            "<",
            ">",
            "==",
            "+",
            "-",
            "*",
            "/",
            "^",
            "max(",
            "min(",
            "abs(",
            "mean(",
            "all",
            "for",
            "in",
            "client",
            "over",
            "ratio",
            ",",
            "1e999",
        ];
        words.map(str::to_owned).to_vec()
    }

    fn head(&self) -> usize {
        0
    }

    fn run(&self, input: &[u8], _: Reach) -> Met {
        let Ok(text) = std::str::from_utf8(input) else { return Met::no_text() };
        let claim = [NamedClaim { name: "fuzz".into(), text: text.to_owned(), ..NamedClaim::default() }];
        let _ = Met::of(check(&claim, &self.records().manifest, &[]));
        Met::of(judge(&claim, self.records()))
    }
}
