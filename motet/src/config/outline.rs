//! What an experiment plans, as far as it is known without its data.

use motet_records::{Manifest, ProblemCard, RunCard};
use motet_report::claims::Undecided;
use serde_json::{Map, Value};

use super::experiment::{Experiment, MethodEntry};

impl Experiment {
    /// One card for each run, trials left out; a problem is known by its table only, and what trials and clients will choose by
    /// the first of the values. `Simulation::manifest` knows more, and needs the data.
    pub fn outline(&self) -> Manifest {
        let mut runs: Vec<RunCard> = vec![];
        for (problem, variant) in self.problems.iter().enumerate() {
            for entry in &self.methods {
                for &seed in &self.seeds {
                    let card = RunCard {
                        run: runs.len(),
                        label: labelled(entry, &variant.label),
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
                        RunCard { run: runs.len() + 1, label: retrained(&card.label), chosen: alpha.collect(), ..card.clone() }
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

    /// The settings of the planned runs that a budget, an estimate, trials or clients decide, with the values that are tried.
    pub fn undecided(&self) -> Undecided {
        let mut undecided = Undecided::default();
        for (variant, entry) in self.problems.iter().flat_map(|variant| self.methods.iter().map(move |entry| (variant, entry))) {
            let label = labelled(entry, &variant.label);
            let candidates = entry.tune.iter().flat_map(|tune| &tune.candidates);
            let tried: Vec<&Map<String, Value>> = candidates.map(|(values, _)| values).collect();
            for path in tried.first().into_iter().flat_map(|values| values.keys()) {
                undecided.may_be(&label, path, tried.iter().filter_map(|values| values.get(path).and_then(Value::as_f64)).collect());
            }
            for (path, _) in entry.estimates.values(&entry.method.params()) {
                undecided.may_be(&label, &path, vec![]);
            }
            if entry.budget.is_some() || entry.pick.is_some() {
                undecided.may_be(&label, "alpha", vec![]);
                undecided.may_be(&retrained(&label), "alpha", vec![]);
            }
        }
        undecided
    }
}

fn labelled(entry: &MethodEntry, problem: &str) -> String {
    let space = if problem.is_empty() { "" } else { " " };
    format!("{}{space}{problem}", entry.label)
}

/// The run that begins anew with the shares that clients picked.
fn retrained(label: &str) -> String {
    format!("{label} retrained")
}
