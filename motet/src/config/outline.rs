//! What an experiment plans, as far as it is known without its data.

use motet_records::{Manifest, ProblemCard, RunCard};

use super::experiment::Experiment;

impl Experiment {
    /// One card for each run, trials left out; a problem is known by its table only, and what trials and clients will choose by
    /// the first of the values. `Simulation::manifest` knows more, and needs the data.
    pub fn outline(&self) -> Manifest {
        let mut runs: Vec<RunCard> = vec![];
        for (problem, variant) in self.problems.iter().enumerate() {
            for entry in &self.methods {
                for &seed in &self.seeds {
                    let space = if variant.label.is_empty() { "" } else { " " };
                    let card = RunCard {
                        run: runs.len(),
                        label: format!("{}{space}{}", entry.label, variant.label),
                        method: entry.kind().to_owned(),
                        params: entry.method.params(),
                        problem,
                        seed,
                        chosen: match entry.tune.as_ref().and_then(|tune| tune.candidates.first()) {
                            Some((values, _)) => values.clone(),
                            None => entry.estimates.values(&entry.method.params()),
                        },
                        ..RunCard::default()
                    };
                    let again = entry.pick.is_some_and(|rule| rule.retrain).then(|| {
                        let alpha =
                            card.params.iter().filter(|(name, _)| *name == "alpha").map(|(name, value)| (name.clone(), value.clone()));
                        RunCard { run: runs.len() + 1, label: format!("{} retrained", card.label), chosen: alpha.collect(), ..card.clone() }
                    });
                    runs.push(card);
                    runs.extend(again);
                }
            }
        }
        let about = |label: &str| ProblemCard { about: label.to_owned(), ..ProblemCard::default() };
        Manifest {
            experiment: self.name.clone(),
            resolved: self.resolved(),
            problems: self.problems.iter().map(|variant| about(&variant.label)).collect(),
            runs,
            ..Manifest::default()
        }
    }
}
