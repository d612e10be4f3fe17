//! Ranks of one machine hold data once: the first reads the files, the others find what it has made of them.
#![cfg(target_os = "linux")]

use std::fmt::Write;
use std::fs;
use std::sync::Arc;
use std::thread;

use motet_core::Batch;
use motet_problems::{Folders, Problem, ProblemConfig, ProblemError};
use motet_runtime::{Crew, LocalCrew, Shelf};
use serde_json::{Value, json};

/// The problems that so many ranks build one after the other, each rank with a folder of its own for files.
fn built(ranks: usize, configs: &[Value], folder: impl Fn(usize) -> Folders + Sync) -> Vec<Vec<Result<Problem, ProblemError>>> {
    let configs: Vec<ProblemConfig> = configs.iter().map(|config| serde_json::from_value(config.clone()).unwrap()).collect();
    let one = |rank: LocalCrew| {
        let number = rank.rank();
        let shelf = Shelf::between(&(Arc::new(rank) as Arc<dyn Crew>)).map(Arc::new);
        let folders = Folders { shelf: shelf.clone(), ..folder(number) };
        let made = configs.iter().map(|config| Problem::build_from(config, &folders, 1)).collect();
        shelf.iter().for_each(|shelf| shelf.close());
        made
    };
    thread::scope(|scope| {
        let all: Vec<_> = LocalCrew::ranks(ranks).into_iter().map(|rank| scope.spawn(|| one(rank))).collect();
        all.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

/// Losses and gradients of every part of every client, names and what is known of the data.
fn traces(problem: &Problem) -> Vec<String> {
    let at = &problem.start();
    let mut all = vec![
        problem.about.clone(),
        format!("{:?}", problem.client_names()),
        format!("{:?}", problem.card()),
        format!("{:?}", problem.census),
    ];
    all.extend([format!("{:?}", problem.inputs), format!("{:?}", problem.prepared().unwrap())]);
    for shard in &*problem.shards {
        let mut slope = at.zeros_like();
        shard.train.gradient(at, Batch::all(), &mut slope);
        all.push(format!("{:?} {slope:?}", shard.train.value(at, Batch::all()).to_bits()));
        for judge in [&shard.train_evaluator, &shard.validation_evaluator, &shard.test_evaluator].into_iter().flatten() {
            all.push(format!("{:?}", judge.metrics(at, None)));
        }
    }
    all
}

#[test]
fn the_others_read_no_file_and_have_the_same_clients() {
    let (full, empty) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut table = "who,colour,a,b,c,d,e,f,y\n".to_owned();
    let mut sparse = String::new();
    for row in 0..25_000 {
        let number = |k: usize| ((row * 37 + k * 101) % 997) as f64 / 997.0;
        let colour = ["red", "green", ""][row % 3];
        writeln!(
            table,
            "p{},{colour},{},{},{},{},{},{},{}",
            row % 7,
            number(1),
            number(2),
            number(3),
            number(4),
            number(5),
            number(6),
            number(7)
        )
        .unwrap();
        writeln!(
            sparse,
            "{} {}:{} {}:1 {}:{}",
            if row % 2 == 0 { 1 } else { -1 },
            1 + row % 5,
            number(1),
            7 + row % 30,
            60 + row % 9,
            number(2)
        )
        .unwrap();
    }
    fs::write(full.path().join("big.csv"), table).unwrap();
    fs::write(full.path().join("big.svm"), sparse).unwrap();
    let holdout = json!({"validation": 0.2, "test": 0.2});
    let configs = [
        // Dense rows with gaps and scales, each client's together only once they are dealt.
        json!({"source": {"kind": "table", "path": "big.csv", "client": "who", "target": "y"}, "model": {"kind": "ridge"}, "holdout": holdout}),
        // Too little to be worth it, and no file: every rank makes it.
        json!({"source": {"kind": "synthetic", "clients": 3, "features": 4, "examples": 10, "heterogeneity": 1.0}, "model": {"kind": "logistic", "l2": 0.1}}),
        // No examples at all.
        json!({"source": {"kind": "q3"}}),
        json!({"source": {"kind": "libsvm", "path": "big.svm"}, "model": {"kind": "logistic", "l2": 0.1}, "holdout": holdout,
               "split": {"kind": "iid", "clients": 4}, "unseen": 0.25}),
        // Bytes.
        json!({"source": {"kind": "synthetic-images", "clients": 6, "examples": 400, "side": 28, "classes": 10},
               "model": {"kind": "mlp", "sizes": [4]}}),
    ];
    let alone: Vec<_> = configs
        .iter()
        .map(|config| {
            let folders = Folders::new("nowhere".into(), Some(full.path().to_path_buf()));
            Problem::build_from(&serde_json::from_value(config.clone()).unwrap(), &folders, 1).unwrap_or_else(|e| panic!("{config}: {e}"))
        })
        .collect();
    // Only the first rank has the files.
    let folder = |rank| Folders::new("nowhere".into(), Some(if rank == 0 { full.path() } else { empty.path() }.to_path_buf()));
    for (rank, problems) in built(3, &configs, folder).into_iter().enumerate() {
        for ((problem, alone), config) in problems.into_iter().zip(&alone).zip(&configs) {
            let problem = problem.unwrap_or_else(|error| panic!("rank {rank}, {config}: {error}"));
            assert!(traces(&problem) == traces(alone), "rank {rank}, {config}");
        }
    }
}

#[test]
fn where_the_first_rank_fails_every_rank_says_why() {
    let empty = tempfile::tempdir().unwrap();
    let config = json!({"source": {"kind": "table", "path": "none.csv", "client": "who", "target": "y"}, "model": {"kind": "ridge"}});
    let folder = |_| Folders::new("nowhere".into(), Some(empty.path().to_path_buf()));
    for problems in built(2, &[config], folder) {
        assert!(matches!(&problems[..], [Err(ProblemError::MissingFile { .. })]));
    }
}
