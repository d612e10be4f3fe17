//! Every bundled experiment is understood, and runs for two rounds where its data are there.

use std::sync::Arc;

use motet::bundled::{DEMO, EXPERIMENTS};
use motet::config::{Experiment, is_measured};
use motet::runtime::Pool;
use motet::{Catalogue, Folder, Simulation};

/// Was this built without something that bundled experiments need?
const LESS: bool = cfg!(not(all(feature = "sqlite", feature = "images", feature = "text")));

/// One name for one thing: neither a paper's letter nor a former name, in either size.
#[test]
fn bundled_experiments_call_parameters_by_their_own_names() {
    let catalogue = Catalogue::standard();
    for (bundled, quick) in EXPERIMENTS.iter().chain([&DEMO]).flat_map(|bundled| [(bundled, false), (bundled, true)]) {
        let document = bundled.document(quick).unwrap_or_else(|e| panic!("{e}"));
        for method in document.root.get("method").and_then(|methods| methods.as_array()).into_iter().flatten() {
            let kind = method["kind"].as_str().expect("a method has a kind");
            let card = catalogue.card(kind).unwrap_or_else(|| panic!("{}: {kind}", bundled.name));
            let known = |key: &str| ["kind", "label", "tune"].contains(&key) || card.parameters.names().any(|name| name == key);
            let strange: Vec<&String> = method.as_object().expect("a method is a table").keys().filter(|key| !known(key)).collect();
            assert!(strange.is_empty(), "{}: {kind} calls them {strange:?}", bundled.name);
        }
    }
}

/// The letters of papers that texts of parameters begin with, as people type them.
const GREEK: [(char, &str); 11] = [
    ('α', "alpha"),
    ('β', "beta"),
    ('γ', "gamma"),
    ('δ', "delta"),
    ('ε', "eps"),
    ('η', "eta"),
    ('θ', "theta"),
    ('λ', "lambda"),
    ('μ', "mu"),
    ('ρ', "rho"),
    ('τ', "tau"),
];

/// `gamma = 0.1` is what `step = 0.1` is, wherever the text of `step` says γ.
#[test]
fn a_papers_greek_letter_is_accepted_in_the_place_of_the_name_by_every_method() {
    let catalogue = Catalogue::standard();
    let mut tried = vec![];
    for card in catalogue.methods() {
        for parameter in card.parameters.iter() {
            let Some((_, letter)) = GREEK.iter().find(|(greek, _)| parameter.about.starts_with(*greek)) else { continue };
            let read = |key: &str| {
                let mut params: serde_json::Map<String, serde_json::Value> =
                    serde_json::from_str(card.example).expect("an example is JSON");
                let value = params.shift_remove(parameter.name).unwrap_or_else(|| 0.25.into());
                params.insert(key.to_owned(), value);
                catalogue.read_method(card.name, &params.into()).unwrap_or_else(|e| panic!("{}: {key}: {e}", card.name)).params()
            };
            assert_eq!(read(letter), read(parameter.name), "{}: {letter} is not {}", card.name, parameter.name);
            tried.push((card.name, *letter, parameter.name));
        }
    }
    for known in
        [("flix", "gamma", "step"), ("scaffold", "eta", "server_step"), ("pfedme", "beta", "server_step"), ("apfl", "alpha", "own_share")]
    {
        assert!(tried.contains(&known), "{known:?} was not tried: {tried:?}");
    }
}

#[test]
fn every_bundled_experiment_runs_for_two_rounds() {
    assert!(EXPERIMENTS.len() >= 5);
    for bundled in EXPERIMENTS.iter().chain([&DEMO]) {
        let mut document = bundled.document(true).unwrap_or_else(|e| panic!("{e}"));
        document.set("run.rounds=2", &Catalogue::standard()).unwrap();
        document.set("run.reference=off", &Catalogue::standard()).unwrap();
        let mut experiment = match Experiment::new(document) {
            Ok(experiment) => experiment,
            // A motet that was built with less says what it lacks.
            Err(error) if LESS && error.to_string().contains("this motet was built without the feature `") => continue,
            Err(error) => panic!("{error}"),
        };
        // One seed, both ends of every grid and of every tuning, and a few clients measured: every part is touched, and the others would
        // be touched in the same way.
        experiment.seeds.truncate(1);
        ends(&mut experiment.problems, |_| String::new());
        ends(&mut experiment.methods, |entry| entry.key.clone());
        for tune in experiment.methods.iter_mut().filter_map(|entry| entry.tune.as_mut()) {
            tune.rule.values.iter_mut().for_each(|(_, values)| ends(values, |_| String::new()));
            tune.candidates.retain(|(chosen, _)| tune.rule.values.iter().all(|(name, values)| values.contains(&chosen[name])));
        }
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
        // What a run may stop at is listed, and the list knows all there is.
        let told = records.rows.iter().flat_map(|row| row.metrics.keys().chain(row.notes.keys()));
        told.for_each(|name| assert!(is_measured(name), "{}: {name}", bundled.name));
    }
}

/// Of neighbours with the same name, the first and the last.
fn ends<T>(all: &mut Vec<T>, name: impl Fn(&T) -> String) {
    let names: Vec<String> = all.iter().map(name).collect();
    let is_end = |k: usize| k == 0 || k + 1 == names.len() || names[k - 1] != names[k] || names[k + 1] != names[k];
    let mut places = 0..;
    all.retain(|_| places.next().is_some_and(is_end));
}

#[test]
fn few_seeds_are_a_deviation_that_is_stated() {
    let paper = |name: &str| !["scale/", "sanity/", "practice/"].iter().any(|folder| name.starts_with(folder));
    for bundled in EXPERIMENTS.iter().filter(|bundled| paper(bundled.name)) {
        // The file itself, since not every build has all that the sources need.
        let file: toml::Table = bundled.text.parse().unwrap_or_else(|e| panic!("{}: {e}", bundled.name));
        let list = |key: &str| file.get(key).and_then(toml::Value::as_array).cloned().unwrap_or_default();
        let said = list("deviations").iter().any(|text| text.as_str().is_some_and(|text| text.to_lowercase().contains("seed")));
        assert!(said || list("seeds").len() >= 5, "{}: fewer than five seeds, and no deviation says so", bundled.name);
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
