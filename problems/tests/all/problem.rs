//! From the `[problem]` section to clients.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use motet_core::{Batch, ClientId, Roster, Vector};
use motet_problems::reference::{Part, minimise};
use motet_problems::{DataSummary, Folders, Problem, ProblemConfig, ProblemSeed, SOURCES, Source};

fn config(json: &str) -> ProblemConfig {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"))
}

fn nowhere() -> Folders {
    Folders::new("nowhere".into(), None)
}

fn build(json: &str, run: u64) -> Problem {
    Problem::build_from(&config(json), &nowhere(), run).unwrap_or_else(|error| panic!("{json}: {error}"))
}

fn refusal(json: &str) -> String {
    match Problem::build_from(&config(json), &nowhere(), 0) {
        Ok(_) => panic!("built: {json}"),
        Err(error) => error.to_string(),
    }
}

const SMALL: &str = r#"{"source": {"kind": "synthetic", "clients": 5, "examples": 20, "features": 3, "heterogeneity": 1.0, "noise": 0.1},
    "holdout": {"validation": 0.1, "test": 0.25}, "model": {"kind": "logistic", "l2": 0.1}}"#;

#[test]
fn a_file_becomes_clients_whose_functions_see_their_own_rows_only() {
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (1..=7).map(|k| format!("{} 1:{k}\n", if k % 2 == 0 { 1 } else { -1 })).collect();
    fs::write(folder.path().join("seven"), lines).unwrap();
    let json = r#"{"source": {"kind": "libsvm", "path": "seven"}, "split": {"kind": "contiguous", "clients": 3},
        "model": {"kind": "logistic"}}"#;
    let problem = Problem::build(&config(json), folder.path(), 0).unwrap();
    assert_eq!(problem.about, "seven (libsvm), contiguous split, logistic");
    assert_eq!(problem.population.roster(), Roster::Counted(3));
    assert_eq!(problem.shards.iter().map(|shard| shard.train.samples()).collect::<Vec<_>>(), [3, 2, 2]);
    assert_eq!((problem.inputs.len(), problem.start().len()), (1, 1));
    // Client 1 has the lines 4 and 5: (x, y) = (4, +1), (5, −1).
    let x = Vector::from(vec![0.3]);
    let expect = ((1.0 + (-1.2f64).exp()).ln() + (1.0 + 1.5f64.exp()).ln()) / 2.0;
    let shard = problem.population.shard(ClientId(1)).unwrap();
    assert!((shard.train.value(&x, Batch::all()) - expect).abs() < 1e-15);
    let card = problem.card();
    assert_eq!((card.clients, card.dim, card.examples), (3, 1, 7));
    assert!(card.smoothness.is_some_and(|[least, mean, most]| least < mean && mean < most));
}

#[test]
fn held_out_rows_are_in_neither_training_nor_each_other() {
    let problem = build(SMALL, 0);
    for (shard, household) in problem.shards.iter().zip(&problem.census.clients) {
        let evaluator = |evaluator: &Option<Arc<dyn motet_core::Evaluator>>| evaluator.as_ref().map_or(0, |evaluator| evaluator.examples());
        assert_eq!((shard.train.samples(), evaluator(&shard.train_evaluator)), (13, 13));
        assert_eq!(shard.validation.as_ref().unwrap().samples(), 2);
        assert_eq!((evaluator(&shard.validation_evaluator), evaluator(&shard.test_evaluator)), (2, 5));
        assert_eq!((household.train, household.validation, household.test), (13, 2, 5));
        assert_eq!(household.labels.iter().sum::<u64>(), 20);
    }
}

#[test]
fn the_same_seed_builds_the_same_problem_and_another_seed_another() {
    let fingerprint = |json: &str, run: u64| {
        let (problem, x) = (build(json, run), Vector::from(vec![0.5, -1.0, 0.25]));
        problem.shards.iter().map(|shard| shard.train.value(&x, Batch::all()).to_bits()).collect::<Vec<_>>()
    };
    let seeded = |seed: &str| SMALL.replacen('{', &format!(r#"{{"seed": {seed}, "#), 1);
    assert_eq!(fingerprint(SMALL, 1), fingerprint(SMALL, 2), "one problem for all runs by default");
    assert_eq!(fingerprint(SMALL, 1), fingerprint(&seeded("0"), 1));
    assert_ne!(fingerprint(SMALL, 1), fingerprint(&seeded("1"), 1));
    assert_ne!(fingerprint(&seeded("\"run\""), 1), fingerprint(&seeded("\"run\""), 2));
    assert_eq!(fingerprint(&seeded("\"run\""), 7), fingerprint(&seeded("7"), 1));
}

#[test]
fn a_client_of_a_generator_does_not_depend_on_how_many_others_there_are() {
    let x = Vector::from(vec![0.5, -1.0, 0.25]);
    let value = |clients: &str| build(&SMALL.replace(r#""clients": 5"#, clients), 0).shards[2].train.value(&x, Batch::all());
    assert_eq!(value(r#""clients": 5"#), value(r#""clients": 50"#));
}

#[test]
fn the_seed_is_a_number_or_run() {
    let seed = |json: &str| serde_json::from_str::<ProblemSeed>(json);
    assert_eq!(seed("3").unwrap(), ProblemSeed::Fixed(3));
    assert_eq!(seed("\"run\"").unwrap(), ProblemSeed::Run);
    assert_eq!(serde_json::to_string(&ProblemSeed::Run).unwrap(), "\"run\"");
    for wrong in ["-1", "\"each\"", "0.5"] {
        let error = seed(wrong).unwrap_err().to_string();
        assert!(error.contains("a whole number from 0, or \"run\""), "{error}");
    }
}

#[test]
fn named_problems_bring_their_clients() {
    let q3 = build(r#"{"source": {"kind": "q3"}}"#, 0);
    assert_eq!((q3.shards.len(), q3.start().len(), q3.about.as_str()), (3, 2, "q3"));
    // ALGORITHMS 2: L = (4, 2, 3.618…), μ = (1, 1, 1.382…).
    let card = q3.card();
    assert!(card.smoothness.is_some_and(|[least, _, most]| (least - 2.0).abs() < 1e-12 && (most - 4.0).abs() < 1e-12));
    assert!(card.convexity.is_some_and(|[least, _, most]| (least - 1.0).abs() < 1e-12 && (most - 1.381_966_011_250).abs() < 1e-9));
    let lrs = build(r#"{"source": {"kind": "lrs", "clients": 4, "examples": 6, "dim": 3}}"#, 0).card();
    assert!(
        lrs.smoothness.is_some_and(|[least, _, most]| (least - 0.393_527_051_553).abs() < 1e-9 && (most - 0.480_816_343_244).abs() < 1e-9)
    );
    assert_eq!((lrs.clients, lrs.examples, lrs.dim), (4, 24, 3));
}

#[test]
fn quadratics_have_the_constants_and_the_spread_they_were_asked_for() {
    let problem = build(
        r#"{"source": {"kind": "quadratics", "clients": 60, "dim": 12, "smoothness": [10, 100], "convexity": [0.01, 1], "heterogeneity": 2}}"#,
        0,
    );
    let mut minimisers = Vec::new();
    for shard in problem.shards.iter() {
        let constants = shard.train.constants();
        let (l, mu) = (constants.smoothness.unwrap(), constants.convexity.unwrap());
        assert!((10.0..=100.0 + 1e-9).contains(&l) && (0.01 - 1e-9..=1.0 + 1e-9).contains(&mu), "L = {l}, mu = {mu}");
        let best = minimise(&[Part { alpha: 1.0, local: None, objective: &*shard.train }], 1000).unwrap();
        assert!(best.value.abs() < 1e-12);
        minimisers.push(best.x);
    }
    let centre = motet_core::Vector::from((0..12).map(|l| minimisers.iter().map(|x| x.at(l)).sum::<f64>() / 60.0).collect::<Vec<f64>>());
    let spread = (minimisers.iter().map(|x| x.distance2(&centre)).sum::<f64>() / 60.0).sqrt();
    assert!((1.7..2.3).contains(&spread), "{spread}");
}

#[test]
fn mean_estimation_has_its_three_groups() {
    let json =
        r#"{"source": {"kind": "mean-estimation", "groups": [5, 95, 50], "mu": 0.1, "dim": 10, "samples": 1000, "validation": 1000}}"#;
    let problem = build(json, 0);
    assert_eq!(problem.shards.len(), 150);
    assert!(problem.start().f64s().iter().all(|&x| x == 1.0 / 10f64.sqrt()));
    assert!(problem.shards[0].validation.is_some() && problem.shards[1].validation.is_none());
    // Averaged over coordinates: ∇f(0) = −(2/d) mean, L = 2/d.
    let mean_of = |client: usize| {
        let mut g = Vector::from(vec![0.0; 10]);
        problem.shards[client].train.gradient(&Vector::from(vec![0.0; 10]), Batch::all(), &mut g);
        g.scale(-5.0);
        g.to_f64()
    };
    let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 0.16);
    let e: Vec<f64> = (0..10).map(|l| f64::from(l % 2) / 5f64.sqrt()).collect();
    assert!(near(&mean_of(4), &[0.0; 10]) && near(&mean_of(5), &[0.1 / 10f64.sqrt(); 10]) && near(&mean_of(149), &e));
    assert!(problem.card().smoothness.is_some_and(|all| all.iter().all(|l| (l - 0.2).abs() < 1e-12)));
    let judged = problem.shards[149].test_evaluator.as_ref().unwrap().metrics(&Vector::from(vec![0.0; 10]), None);
    assert!(judged[0].0 == "excess" && (judged[0].1 - 1.0).abs() < 1e-12);
    let paper = build(&json.replace(r#""mu""#, r#""mode": "paper", "mu""#), 0);
    assert!(paper.card().smoothness.is_some_and(|all| all.iter().all(|l| (l - 2.0).abs() < 1e-12)));
}

#[test]
fn heterogeneity_drives_the_clients_models_apart_and_zero_keeps_them_together() {
    let spread = |h: f64| {
        let json = format!(
            r#"{{"source": {{"kind": "synthetic", "clients": 6, "examples": 4000, "features": 4, "signal": 3, "heterogeneity": {h}}},
                "model": {{"kind": "logistic", "l2": 1e-4}}}}"#
        );
        let problem = build(&json, 0);
        let local = |shard: &motet_core::Shard| minimise(&[Part { alpha: 1.0, local: None, objective: &*shard.train }], 1000).unwrap().x;
        let models: Vec<Vector> = problem.shards.iter().map(local).collect();
        models.iter().map(|x| x.distance2(&models[0])).sum::<f64>() / 5.0
    };
    let (none, some, much) = (spread(0.0), spread(0.5), spread(2.0));
    assert!(none < 0.2 && some > 3.0 * none && much > 1.5 * some, "{none} {some} {much}");
}

/// Mean test loss of what FLIX deploys: α x + (1 − α) xᵢ*, with x the best for this α.
fn mixture_loss(problem: &Problem, local: &[Vector], alpha: f64) -> f64 {
    let parts: Vec<Part<'_>> =
        problem.shards.iter().zip(local).map(|(shard, local)| Part { alpha, local: Some(local), objective: &*shard.train }).collect();
    let shared = if alpha > 0.0 { minimise(&parts, 1000).unwrap().x } else { problem.start().into_owned() };
    let loss = |(shard, local): (&motet_core::Shard, &Vector)| {
        let metrics = shard.test_evaluator.as_ref().unwrap().metrics(&Vector::mix(alpha, &shared, local), None);
        metrics.into_iter().find(|(name, _)| *name == "loss").unwrap().1
    };
    problem.shards.iter().zip(local).map(loss).sum::<f64>() / problem.shards.len() as f64
}

#[test]
fn with_few_examples_a_mixture_is_a_fifth_better_than_local_models_and_than_one_for_all() {
    let json = r#"{"seed": "run", "source": {"kind": "synthetic", "clients": 40, "features": 20, "examples": 200, "heterogeneity": 1.5},
        "holdout": {"test": 0.8}, "model": {"kind": "logistic", "l2": 1e-3}}"#;
    let mut better = 0;
    for run in 1..=5 {
        let problem = build(json, run);
        let solve = |shard: &motet_core::Shard| minimise(&[Part { alpha: 1.0, local: None, objective: &*shard.train }], 1000).unwrap().x;
        let local: Vec<Vector> = problem.shards.iter().map(solve).collect();
        let [own, mixed, one] = [0.0, 0.7, 1.0].map(|alpha| mixture_loss(&problem, &local, alpha));
        println!("seed {run}: local {own:.3}, mixture {mixed:.3}, one for all {one:.3}");
        better += usize::from(mixed <= 0.8 * own.min(one));
    }
    assert!(better >= 4, "in {better} of 5 seeds");
}

#[test]
fn softmax_data_have_as_many_classes_as_asked_and_sizes_as_uneven() {
    let json = r#"{"source": {"kind": "synthetic", "clients": 4, "examples": 250, "features": 5, "classes": 7, "heterogeneity": 1,
        "shift": 0.5, "decay": 1, "imbalance": 1}, "model": {"kind": "softmax", "l2": 0.01}}"#;
    let census = DataSummary::of(&config(json), &nowhere(), 0).unwrap();
    assert_eq!((census.labels.len(), census.labels.iter().sum::<u64>()), (7, 1000));
    let sizes: Vec<u64> = census.clients.iter().map(|client| client.train).collect();
    assert!(sizes.is_sorted_by(|a, b| a > b) && sizes[0] > 3 * sizes[3], "{sizes:?}");
    assert!(census.heterogeneity.is_some_and(|h| h > 0.05 && h < 1.0));
    build(json, 0);
}

#[test]
fn what_does_not_go_together_is_said_in_one_line() {
    let cases = [
        (
            r#"{"source": {"kind": "q3"}, "split": {"kind": "iid", "clients": 2}}"#,
            "[problem] split: source `q3` brings its own clients and functions; leave `split` out",
        ),
        (
            r#"{"source": {"kind": "q3"}, "holdout": {"test": 0.2}}"#,
            "[problem] holdout: source `q3` brings its own clients and functions; leave `holdout` out",
        ),
        (
            r#"{"source": {"kind": "q3"}, "model": {"kind": "ridge"}}"#,
            "[problem] model: source `q3` brings its own clients and functions; leave `model` out",
        ),
        (
            r#"{"source": {"kind": "synthetic", "clients": 2, "examples": 5, "features": 3, "heterogeneity": 1}}"#,
            "[problem] model is missing: source `synthetic` gives examples, which need one",
        ),
        (
            r#"{"source": {"kind": "synthetic", "clients": 2, "examples": 5, "features": 3, "classes": 3, "heterogeneity": 1}, "model": {"kind": "logistic"}}"#,
            "[problem] model `logistic` needs 2 classes, but there are 3; `softmax` and `one-vs-rest` take any number",
        ),
        (
            r#"{"source": {"kind": "synthetic", "clients": 2, "examples": 5, "features": 3, "classes": 1, "heterogeneity": 1}}"#,
            "[problem] source.classes = 1: at least 2 to tell apart",
        ),
        (
            r#"{"source": {"kind": "synthetic", "clients": 4000000000, "examples": 4000000000, "features": 4000000000, "heterogeneity": 1}}"#,
            "[problem] source = 4000000000 x 4000000000: examples x features may be at most 2147483648",
        ),
        (
            r#"{"source": {"kind": "quadratics", "clients": 2, "dim": 3, "smoothness": [1, 2], "convexity": [0.5, 1.5], "heterogeneity": 1}}"#,
            "[problem] source.convexity = [0.5, 1.5]: must not reach above the least smoothness, 1",
        ),
        (
            r#"{"source": {"kind": "lrs", "clients": 4000000000, "examples": 2, "dim": 1}}"#,
            "[problem] source = 4000000000 x 2 x 1: clients x examples x dim may be at most 2147483648",
        ),
        (
            r#"{"source": {"kind": "synthetic-posts", "clients": 2, "posts": 1000000000}}"#,
            "[problem] source = 1000000000 x 60: posts x words of a post may be at most 2147483648",
        ),
        (
            r#"{"source": {"kind": "mean-estimation", "groups": [0, 3, 1], "mu": 0.1, "dim": 2, "samples": 5}}"#,
            "[problem] source.groups = [0, 3, 1]: at least one client in the first group, whose mean is estimated",
        ),
    ];
    for (json, message) in cases {
        assert_eq!(refusal(json), message);
    }
    // How much is free is the machine's to say.
    let many =
        refusal(r#"{"source": {"kind": "mean-estimation", "groups": [1, 4000000000, 4000000000], "mu": 0.1, "dim": 2, "samples": 5}}"#);
    let (clients, numbers) = ("[problem] source: 4294967295 clients would take", "groups x samples x dim may be at most");
    assert!(many.starts_with(clients) || many.contains(numbers), "{many}");
    let missing =
        refusal(r#"{"source": {"kind": "libsvm", "path": "x"}, "split": {"kind": "iid", "clients": 2}, "model": {"kind": "ridge"}}"#);
    assert!(missing.starts_with("no file `x` (plain, .gz, .bz2 or .xz); looked in `nowhere`. Set MOTET_DATA"), "{missing}");
}

#[test]
fn a_file_needs_a_split() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("two"), "1 1:1\n-1 1:2\n").unwrap();
    let problem = |rest: &str| {
        let json = format!(r#"{{"source": {{"kind": "libsvm", "path": "two"}}, "model": {{"kind": "logistic"}} {rest}}}"#);
        Problem::build(&config(&json), folder.path(), 0).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(problem("").unwrap_err(), "[problem] split is missing: source `libsvm` gives examples, which need one");
    let many = problem(r#", "split": {"kind": "contiguous", "clients": 3}"#).unwrap_err();
    assert_eq!(many, "3 clients cannot share 2 examples: each needs at least 1");
}

#[test]
fn every_source_is_listed_with_its_keys_and_reads_back_what_it_writes() {
    let libsvm = SOURCES.card("libsvm").unwrap();
    assert_eq!(libsvm.parameters.names().collect::<Vec<_>>(), ["path", "features", "classes", "labels"]);
    assert!(SOURCES.cards().all(|card| !card.about.is_empty() && card.parameters.iter().all(|parameter| !parameter.about.is_empty())));
    let written = serde_json::to_string(&config(SMALL)).unwrap();
    assert_eq!(config(&written), config(SMALL));
    let error = serde_json::from_str::<Source>(r#"{"kind": "libsvn", "path": "x"}"#).unwrap_err().to_string();
    assert!(error.contains("unknown variant `libsvn`, expected one of `libsvm`"), "{error}");
    let error = serde_json::from_str::<Source>(r#"{"kind": "libsvm", "path": "x", "feature": 3}"#).unwrap_err().to_string();
    assert!(error.contains("unknown field `feature`"), "{error}");
}

#[test]
fn the_memory_of_index_only_rows_is_two_bytes_per_entry() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("ones"), "1 1:1 5:1\n-1 2:1\n".repeat(50)).unwrap();
    let json = r#"{"source": {"kind": "libsvm", "path": "ones"}, "split": {"kind": "iid", "clients": 2}, "model": {"kind": "logistic"}}"#;
    let problem = Problem::build(&config(json), Path::new(folder.path()), 0).unwrap();
    assert_eq!(problem.memory_bytes, 2 * 150 + 8 * 101 + 8 * 100);
}
