//! A kill at every single write: whatever is left goes on to the same records.

// Without debug assertions nobody can be killed at a write.
#![cfg(debug_assertions)]

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use motet::config::{Document, Experiment};
use motet::core::Merit;
use motet::records::{Records, names, verify};
use motet::runtime::Pool;
use motet::{Catalogue, Folder, Simulation};
use motet_files::kill;

/// Clients with state (Scafflix, DIANA), a server with state (Yogi), a ledger (MeritFed), on as little as there can be.
const TINY: &str = r#"
name  = "tiny"
seeds = [1]

[problem]
source  = { kind = "synthetic", clients = 3, features = 3, examples = 8, heterogeneity = 1.0 }
holdout = { validation = 0.2 }
model   = { kind = "logistic", l2 = 0.1 }

[run]
rounds     = 3
models     = true
checkpoint = { rounds = 1 }
store      = { kind = "disk", memory = "0 B" }

[[method]]
kind  = "scafflix"
alpha = 0.5
p     = 0.5

[[method]]
kind       = "diana"
alpha      = 0.5
compressor = { kind = "rand-k", k = 1 }

[[method]]
kind      = "local-update"
gamma     = 0.1
steps     = 2
send      = "deltas"
optimiser = { kind = "yogi", step = 0.1 }

[[method]]
kind   = "meritfed"
step   = 0.5
target = 2
mirror = { kind = "md", rate = 3.5, steps = 2 }
"#;

/// Trials with client states, whose ends longer trials go on from.
const TRIALS: &str = r#"
name  = "trials"
seeds = [1]

[problem]
source  = { kind = "synthetic", clients = 3, features = 3, examples = 10, heterogeneity = 1.0 }
holdout = { validation = 0.2 }
model   = { kind = "logistic", l2 = 0.1 }

[run]
rounds     = 2
checkpoint = { rounds = 1 }
store      = { kind = "disk", memory = "0 B" }
tune       = { p = [0.9, 0.5], by = "validation.loss", halving = 2, rounds = 1 }

[[method]]
kind  = "scafflix"
alpha = 0.5
"#;

/// Begins an experiment in a folder, or goes on with it, and dies at the n-th write; true if it came to its end.
fn go(text: &str, folder: &Path, n: u64) -> bool {
    let document = Document::parse("tiny.toml", text, PathBuf::new()).expect("an experiment");
    let experiment = Experiment::of(document.clone(), &Catalogue::standard()).expect("an experiment");
    let simulation = Simulation::on(experiment, Arc::new(Pool::new(1))).expect("a problem");
    kill::at(n);
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let mut output = if Folder::is_unfinished(folder) {
            Folder::resume(folder, &simulation.manifest(), &|_| ())
        } else if folder.join(names::SUMMARY).exists() {
            Folder::sweep(folder);
            return;
        } else {
            Folder::create(folder, false, &document)
        }
        .unwrap_or_else(|e| panic!("write {n}: {e}"));
        simulation.run(&mut output).unwrap_or_else(|e| panic!("write {n}: {e}"));
    }));
    kill::at(0);
    match ended {
        Ok(()) => true,
        Err(death) if death.is::<kill::Killed>() => false,
        Err(bug) => std::panic::resume_unwind(bug),
    }
}

/// Everything that must not depend on kills.
#[derive(Debug, PartialEq)]
struct Left {
    rows: Vec<String>,
    clients: Vec<String>,
    merits: Vec<Merit>,
    digests: Vec<String>,
    models: Vec<(String, Vec<u8>)>,
}

fn left(folder: &Path) -> Left {
    let records = Records::read(folder).expect("the records are whole");
    let mut rows = records.rows.clone();
    rows.iter_mut().for_each(|row| row.seconds = None);
    let mut models: Vec<_> = fs::read_dir(folder.join(names::MODELS)).map_or(vec![], |all| {
        all.map(|file| file.expect("a file").path()).map(|path| (path.display().to_string(), fs::read(path).expect("a model"))).collect()
    });
    // What a kill left of a replacement has a name that no reader knows.
    models.retain(|(name, _)| name.ends_with(".safetensors"));
    models.iter_mut().for_each(|(name, _)| *name = name.rsplit('/').next().unwrap_or_default().to_owned());
    models.sort();
    let text = |value: &dyn std::fmt::Debug| format!("{value:?}");
    Left {
        rows: rows.iter().map(|row| text(row)).collect(),
        clients: records.clients.iter().map(|row| text(row)).collect(),
        merits: records.merits,
        digests: records
            .summary
            .expect("it came to its end")
            .runs
            .iter()
            .map(|run| text(&(&run.digest, &run.bits, run.gradients)))
            .collect(),
        models,
    }
}

/// Kills at every write, goes on, is killed once more on the way, and goes on to the end. Returns how many writes there are.
fn every_write(text: &str) -> u64 {
    let parent = tempfile::tempdir().expect("a folder");
    let whole = parent.path().join("whole");
    assert!(go(text, &whole, 0));
    let whole = left(&whole);
    for n in 1.. {
        let folder = parent.path().join(n.to_string());
        if go(text, &folder, n) {
            eprintln!("killed at each of {} writes", n - 1);
            return n - 1;
        }
        let damaged = |when: &str| {
            let found = verify(&folder).expect("a folder");
            assert!(found.damaged.is_empty(), "killed at write {n}, {when}: {found:?}");
        };
        damaged("once");
        if !go(text, &folder, 1 + n * 7 % 23) {
            damaged("twice");
            assert!(go(text, &folder, 0), "write {n}");
        }
        assert_eq!(left(&folder), whole, "killed at write {n}");
        let found = verify(&folder).expect("a folder");
        assert!(found.is_sound() && found.behind.is_empty(), "killed at write {n}: {found:?}");
        assert!(!folder.join("resume").exists(), "killed at write {n}: nothing is left to go on from");
        fs::remove_dir_all(&folder).expect("it is ours");
    }
    unreachable!("numbers do not end")
}

#[test]
fn a_kill_at_any_write_is_harmless() {
    // So many rounds that the oldest checkpoints go.
    let writes = every_write(&TINY.replace("rounds     = 3", "rounds     = 4"));
    assert!(writes > 200, "{writes} writes");
}

#[test]
fn a_kill_at_any_write_of_trials_is_harmless() {
    let writes = every_write(TRIALS);
    assert!(writes > 60, "{writes} writes");
}
