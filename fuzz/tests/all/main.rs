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
    eprintln!("{tried} damaged inputs");
    assert!(found.is_empty(), "{}", found.join("\n"));
}
