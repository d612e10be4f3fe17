//! Every target for a moment, by fixed dice.
#![allow(clippy::unwrap_used)]

use motet_fuzz::{Met, Reach, drive, silence, targets};

#[test]
fn every_sound_input_is_taken_as_it_is() {
    for target in targets() {
        let corpus = target.corpus();
        assert!(!corpus.is_empty(), "{} begins with nothing", target.name());
        // Bundled experiments and claims are about data that are not here.
        let foreign = ["experiment", "claims"].contains(&target.name().as_str());
        let met: Vec<Met> = corpus.iter().map(|input| target.run(input, Reach::Quick)).collect();
        let refused: Vec<(usize, &Met)> = met.iter().enumerate().filter(|(_, met)| **met != Met::Taken).collect();
        assert!(refused.is_empty() || foreign && 2 * refused.len() < corpus.len(), "{}: {refused:#?}", target.name());
    }
}

#[test]
fn damaged_inputs_are_taken_or_refused_and_nothing_else() {
    silence();
    let (mut found, mut tried) = (vec![], 0);
    for target in targets() {
        // Those that run experiments take a hundred times longer than those that read a file.
        let cases = match target.name().as_str() {
            "checkpoints" | "records" => 15,
            "experiment" => 60,
            "data/tff-example" | "data/fedjax-arrays" | "data/fedjax-texts" => 20,
            _ => 150,
        };
        let report = drive(&*target, 1, 0..cases, Reach::Quick);
        found.extend(report.failures.into_iter().map(|failure| format!("{} 1 {}: {}", target.name(), failure.case, failure.reason)));
        tried += report.taken + report.refused;
    }
    // A panic's own words are silenced here.
    eprintln!("{tried} damaged inputs; found: {found:#?}");
    assert!(found.is_empty());
}

/// What longer searches found, each by the dice that found it: target, seed, number.
const FOUND: &[(&str, u64, u64)] = &[("data/leaf-numbers", 21, 277)];

#[test]
fn what_was_found_once_is_not_found_again() {
    silence();
    for &(name, seed, case) in FOUND {
        let target = targets().into_iter().find(|target| target.name() == name).unwrap();
        let report = drive(&*target, seed, case..case + 1, Reach::Quick);
        assert!(report.failures.is_empty(), "{name} {seed} {case}: {}", report.failures[0].reason);
    }
}

/// `tools/kills` promises every method: those with states of clients or the server, and those without.
#[test]
fn the_experiment_that_is_killed_has_every_method() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools/kills.toml");
    let killed = motet::Experiment::read(&path).unwrap();
    let kinds: Vec<&str> = killed.methods.iter().map(motet::config::MethodEntry::kind).collect();
    for card in motet::Catalogue::standard().methods() {
        assert!(kinds.contains(&card.name), "{} is not in tools/kills.toml", card.name);
    }
}
