//! Every claim of every bundled experiment can hold and can fail: a record made by rule, and one bend of it (docs/lab/falsifiers.md).

use std::fmt::Write as _;
use std::path::Path;

use motet::bundled::EXPERIMENTS;
use motet::config::Experiment;
use motet::report::claims::falsify;

/// Was this built without something that bundled experiments need?
const LESS: bool = cfg!(not(all(feature = "sqlite", feature = "images", feature = "text")));

#[test]
fn every_claim_of_every_bundled_experiment_has_a_falsifier() {
    let (mut page, mut unfalsified, mut count) = (String::new(), vec![], 0);
    for bundled in EXPERIMENTS {
        for quick in [true, false] {
            let document = bundled.document(quick).unwrap_or_else(|e| panic!("{e}"));
            let experiment = match Experiment::new(document) {
                Ok(experiment) => experiment,
                Err(error) if LESS && error.to_string().contains("this motet was built without the feature `") => continue,
                Err(error) => panic!("{error}"),
            };
            let (outline, undecided) = (experiment.outline(), experiment.undecided());
            let size = if quick { "quick" } else { "paper" };
            for claim in &experiment.claims.0 {
                let found = falsify(claim, &outline, &undecided, experiment.run.rounds).unwrap_or_else(|e| panic!("{}: {e}", bundled.name));
                count += 1;
                match (&found.holds, &found.bend, &found.fails) {
                    (Some(_), Some(bend), Some(fails)) if quick => {
                        let cell = |text: &str| text.replace('|', "\\|");
                        let reason = fails.reason.clone().unwrap_or_default();
                        let said = reason.split(';').next().unwrap_or_default();
                        let _ = writeln!(page, "| {} | {} | {} | {} |", bundled.name, cell(&claim.name), cell(bend), cell(said));
                    }
                    (Some(_), Some(_), Some(_)) => {}
                    _ => unfalsified.push(format!(
                        "{} ({size}), {}: {} {}",
                        bundled.name,
                        claim.name,
                        claim.text,
                        if found.holds.is_none() { "was never made to hold" } else { "cannot fail" }
                    )),
                }
            }
        }
    }
    assert!(unfalsified.is_empty(), "{} of {count}:\n{}", unfalsified.len(), unfalsified.join("\n"));
    let listed = page.lines().count();
    if LESS {
        return;
    }
    let text = format!(
        "# Falsifiers\n\n\
         Every claim of every bundled experiment with a record on which it must fail, and does. Made by\n\
         `WRITE=1 cargo test -p motet --test falsifiers`, which also fails if a claim has none or this page is not what it makes.\n\n\
         A record is made by rule from the claim's own tree: every run that the claim selects gets smooth curves for all that\n\
         it measures; these are bent until the claim holds; then one measure of some runs is multiplied by a factor, and the claim fails.\n\
         All {count} claims, in quick and in paper size, have both records; the {listed} of the quick size are listed.\n\
         `motet check` says so of a claim of yours for which no bend is found: it cannot fail.\n\n\
         | experiment | claim | what is bent | the verdict then |\n|---|---|---|---|\n{page}"
    );
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/lab/falsifiers.md");
    if std::env::var_os("WRITE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    // A packaged crate has no docs folder.
    if path.parent().is_some_and(Path::exists) {
        assert!(
            std::fs::read_to_string(&path).unwrap_or_default() == text,
            "docs/lab/falsifiers.md is old: WRITE=1 cargo test -p motet --test falsifiers"
        );
    }
}
