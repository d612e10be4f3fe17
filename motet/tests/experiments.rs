//! Every bundled experiment is understood, and runs for two rounds where its data are there.

use std::sync::Arc;

use motet::bundled::{DEMO, EXPERIMENTS};
use motet::config::Experiment;
use motet::runtime::Pool;
use motet::{Catalogue, Folder, Simulation};

/// Was this built without something that bundled experiments need?
const LESS: bool = cfg!(not(all(feature = "sqlite", feature = "images", feature = "text")));

#[test]
fn every_bundled_experiment_runs_for_two_rounds() {
    assert!(EXPERIMENTS.len() >= 5);
    for bundled in EXPERIMENTS.iter().chain([&DEMO]) {
        let mut document = bundled.document(true).unwrap_or_else(|e| panic!("{e}"));
        document.set("run.rounds=2").unwrap();
        document.set("run.reference=off").unwrap();
        let mut experiment = match Experiment::new(document) {
            Ok(experiment) => experiment,
            // A motet that was built with less says what it lacks.
            Err(error) if LESS && error.to_string().contains("this motet was built without the feature `") => continue,
            Err(error) => panic!("{error}"),
        };
        // One seed, and a few clients measured: every part is touched, and the others would be touched in the same way.
        experiment.seeds.truncate(1);
        experiment.run.probe.clients = Some(3);
        // Local models need not be good here, only there.
        for entry in &mut experiment.methods {
            let mut params = entry.method.params();
            if let Some(solve) = params.get_mut("solve") {
                for (key, few) in [("steps", 20), ("epochs", 1)] {
                    if let Some(amount) = solve.get_mut(key) {
                        *amount = few.into();
                    }
                }
                entry.method = Catalogue::standard().read_method(entry.kind(), &params.into()).unwrap_or_else(|e| panic!("{e}"));
            }
        }
        for claim in &experiment.claims.0 {
            motet::report::claims::parse(&claim.text).unwrap_or_else(|e| panic!("{}: {e}", bundled.name));
        }
        let simulation = match Simulation::on(experiment, Arc::new(Pool::new(2))) {
            Ok(simulation) => simulation,
            Err(motet::Error::Problem { source, .. }) if source.to_string().starts_with("no file") => {
                eprintln!("{}: its data are not here ({source})", bundled.name);
                continue;
            }
            Err(error) if LESS && error.to_string().contains("this motet was built without the feature `images`") => continue,
            Err(error) => panic!("{}: {error}", bundled.name),
        };
        let folder = tempfile::tempdir().unwrap();
        let mut output = Folder::create(&folder.path().join("out"), false, &simulation.experiment().document).unwrap();
        let records = simulation.run(&mut output).unwrap_or_else(|e| panic!("{}: {e}", bundled.name));
        assert!(!records.rows.is_empty());
    }
}

#[test]
fn figures_that_show_the_same_runs_have_names_of_their_own() {
    let found = motet::bundled::Bundled::find("flix/fig9-mushrooms").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(found.iter().map(|b| b.name).collect::<Vec<_>>(), ["flix/fig8-mushrooms"]);
    let mut names: Vec<String> = EXPERIMENTS.iter().flat_map(|b| [vec![b.name.to_owned()], b.also()].concat()).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count, "two experiments share a name");
}
