//! Populations: clients made from their numbers, and the classes that clients have in proportions of their own.

use motet_core::{Batch, ClientId, Roster, Seed, Vector};
use motet_problems::{Dataset, Folders, Material, Place, Problem, ProblemConfig, Source, Targets};
use sha2::{Digest, Sha256};

fn build(json: &str) -> Result<Problem, String> {
    let config: ProblemConfig = serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"));
    Problem::build_from(&config, &Folders::new("nowhere".into(), None), 0).map_err(|error| error.to_string())
}

fn curvature(problem: &Problem, client: u32) -> f64 {
    problem.population.shard(ClientId(client)).unwrap().train.constants().smoothness.unwrap()
}

#[test]
fn a_client_is_its_number() {
    let problem = build(r#"{"source": {"kind": "curvatures"}}"#).unwrap();
    assert_eq!(problem.population.roster(), Roster::Unbounded);
    let card = problem.card();
    assert_eq!((card.clients, card.dim, card.about.as_str()), (0, 1, "curvatures, clients without end"));
    for client in [0, 1, 77, u32::MAX] {
        let a = curvature(&problem, client);
        assert_eq!(a.to_bits(), curvature(&problem, client).to_bits());
        assert!((0.5..2.0).contains(&a));
        let f = problem.population.shard(ClientId(client)).unwrap().into_owned().train;
        let (x, mut g) = (Vector::from(vec![3.0]), Vector::from(vec![0.0]));
        f.gradient(&x, Batch::all(), &mut g);
        assert_eq!((g.at(0), f.value(&x, Batch::all())), (a * 3.0 - 1.0, 0.5 * a * 3.0 * 3.0 - 3.0));
    }
    assert_ne!(curvature(&problem, 0), curvature(&problem, u32::MAX));
}

#[test]
fn curvatures_have_the_density_of_figure_1() {
    let problem = build(r#"{"source": {"kind": "curvatures"}}"#).unwrap();
    let n = 40_000;
    let of: Vec<f64> = (0..n).map(|k| curvature(&problem, k)).collect();
    // E aᵏ = (8/15) ∫ a^{k+1}: 1.4 and 2.125 for k = 1, 2; five standard errors of the mean.
    for (k, expected) in [(1, 1.4), (2, 2.125), (4, 5.6875)] {
        let mean = of.iter().map(|a| a.powi(k)).sum::<f64>() / f64::from(n);
        let square = of.iter().map(|a| a.powi(2 * k)).sum::<f64>() / f64::from(n);
        let error = ((square - mean * mean) / f64::from(n)).sqrt();
        assert!((mean - expected).abs() <= 5.0 * error, "E a^{k} = {mean}, not {expected}");
    }
}

#[test]
fn noise_is_for_training_only_and_has_its_size() {
    let problem = build(r#"{"source": {"kind": "curvatures", "noise": 0.5}}"#).unwrap();
    let f = problem.population.shard(ClientId(3)).unwrap().into_owned().train;
    let (x, mut g) = (Vector::from(vec![0.0]), Vector::from(vec![0.0]));
    f.gradient(&x, Batch::all(), &mut g);
    assert_eq!(g.at(0), -1.0);
}

#[test]
fn a_counted_population_is_made_on_demand_too() {
    let problem = build(r#"{"source": {"kind": "curvatures", "clients": 342477}}"#).unwrap();
    assert_eq!((problem.population.roster(), problem.card().clients, problem.shards.len()), (Roster::Counted(342_477), 342_477, 0));
}

#[test]
fn what_makes_no_sense_is_refused() {
    assert!(build(r#"{"source": {"kind": "curvatures", "low": 3}}"#).err().unwrap().contains("at least low = 3"));
    let split = r#"{"source": {"kind": "curvatures"}, "split": {"kind": "iid", "clients": 3}}"#;
    assert!(build(split).err().unwrap().contains("split"));
    assert!(build(r#"{"source": {"kind": "curvatures"}, "model": {"kind": "ridge"}}"#).err().unwrap().contains("model"));
    let one = r#"{"source": {"kind": "gaussian-classes", "clients": 2, "examples": 3, "features": 2, "classes": 1, "alpha": 1}, "model": {"kind": "softmax"}}"#;
    assert!(build(one).err().unwrap().contains("at least 2"));
}

#[test]
fn small_alpha_gives_each_client_few_of_the_gaussian_classes() {
    let with = |alpha: f64| {
        let source = r#"{"source": {"kind": "gaussian-classes", "clients": 100, "examples": 50, "features": 20, "alpha": "#;
        build(&format!(r#"{source}{alpha}}}, "model": {{"kind": "softmax"}}}}"#)).unwrap()
    };
    let (uneven, even) = (with(0.3), with(1000.0));
    assert_eq!((uneven.shards.len(), uneven.card().examples, uneven.start().len()), (100, 5000, 200));
    assert!(uneven.shards.iter().all(|shard| shard.train.samples() == 50));
    // Fifty draws of ten even classes have a total variation of 0.17 by chance alone.
    assert!(even.census.heterogeneity.unwrap() < 0.25 && uneven.census.heterogeneity.unwrap() > 0.5);
    let most = uneven.census.labels.iter().max().unwrap();
    assert!(uneven.census.labels.iter().all(|count| *count > 0) && *most < 1500, "all classes exist: {:?}", uneven.census.labels);
}

/// Every generator that makes clients one by one, with a model.
const GENERATORS: [&str; 6] = [
    r#""source": {"kind": "synthetic", "clients": 7, "examples": 20, "features": 3, "heterogeneity": 1, "imbalance": 0.7, "shift": 1},
       "holdout": {"validation": 0.1, "test": 0.25}, "model": {"kind": "logistic", "l2": 0.1}"#,
    r#""source": {"kind": "gaussian-classes", "clients": 5, "examples": 9, "features": 4, "classes": 3, "alpha": 0.3}, "model": {"kind": "softmax"}"#,
    r#""source": {"kind": "synthetic-images", "clients": 4, "examples": 6, "side": 8, "classes": 3, "heterogeneity": 0.5},
       "holdout": {"test": 0.3}, "model": {"kind": "mlp", "sizes": [5], "own_start": true}"#,
    r#""source": {"kind": "sine", "tasks": [[1.0, 0.0], [2.0, 1.0]], "counts": [2, 3], "examples": 7}, "model": {"kind": "ridge"}"#,
    r#""source": {"kind": "synthetic-tags", "clients": 4, "examples": 6, "words": 50, "tags": 7}, "model": {"kind": "tags"}"#,
    r#""source": {"kind": "synthetic-text", "clients": 3, "examples": 4, "length": 6, "vocabulary": 10, "heterogeneity": 0.5},
       "holdout": {"test": 0.25}, "model": {"kind": "char-lstm", "vocabulary": 10, "embedding": 3, "hidden": 4}"#,
];

#[test]
fn clients_made_on_demand_are_those_that_are_held() {
    for generator in GENERATORS {
        let with =
            |hold: &str| build(&format!(r#"{{{generator}, "hold": "{hold}", "seed": 3}}"#)).unwrap_or_else(|e| panic!("{generator}: {e}"));
        assert_same_clients(&with("all"), &with("touched"), generator);
    }
}

/// Clients that are had one by one are those that are held: where they start, what they are worth, how they are judged.
pub(crate) fn assert_same_clients(all: &Problem, touched: &Problem, generator: &str) {
    assert_eq!((touched.shards.len(), touched.population.roster()), (0, all.population.roster()), "{generator}");
    assert_eq!(touched.start(), all.start(), "{generator}");
    let (a, b) = (all.card(), touched.card());
    assert_eq!((a.clients, a.dim, a.examples, a.tested), (b.clients, b.dim, b.examples, b.tested), "{generator}");
    for client in (0..all.shards.len() as u32).rev().map(ClientId) {
        let [a, b] = [all, touched].map(|problem| problem.population.shard(client).unwrap().into_owned());
        let [x, y] = [&a, &b].map(|shard| shard.train.start());
        assert_eq!(x, y, "{generator}: where client {client:?} begins alone");
        let mut point = x.clone();
        (0..point.len()).step_by(2).for_each(|k| match point.view() {
            motet_core::View::F32(_) => point.f32s_mut()[k] += 0.25,
            motet_core::View::F64(_) => point.f64s_mut()[k] += 0.25,
        });
        let [(f, g), (h, i)] = [&a, &b].map(|shard| {
            let mut slope = point.zeros_like();
            shard.train.gradient(&point, Batch::all(), &mut slope);
            (shard.train.value(&point, Batch::all()), slope)
        });
        assert_eq!((f.to_bits(), g), (h.to_bits(), i), "{generator}: client {client:?}");
        let judged = |shard: &motet_core::Shard| shard.test_evaluator.as_ref().map(|test| test.metrics(&point, None));
        assert_eq!(judged(&a), judged(&b), "{generator}: client {client:?}");
    }
}

/// What the versions that made everybody at once made of seed 5, client by client: the first bytes of a SHA-256 over columns, values and targets.
#[test]
fn clients_made_on_demand_have_the_rows_that_everybody_had_at_once() {
    let known = [
        (r#"{"kind": "synthetic", "clients": 7, "examples": 20, "features": 60, "heterogeneity": 1.0}"#, "eac0b21584a70df4"),
        (
            r#"{"kind": "synthetic", "clients": 5, "examples": 9, "features": 4, "classes": 3, "heterogeneity": 0.5, "shift": 0.5, "imbalance": 1.0, "noise": 0.1}"#,
            "ed238b1299c985ab",
        ),
        (r#"{"kind": "synthetic", "clients": 4, "examples": 6, "features": 3, "heterogeneity": 1.0, "truth": 9}"#, "defe09bf7f90b1d5"),
        (r#"{"kind": "gaussian-classes", "clients": 6, "features": 5, "examples": 12, "classes": 4, "alpha": 0.5}"#, "cebfea4da4be37c9"),
        (r#"{"kind": "synthetic-images", "clients": 3, "examples": 5, "side": 6, "classes": 4, "heterogeneity": 0.5}"#, "311754cd0b6b2081"),
        (
            r#"{"kind": "synthetic-text", "clients": 3, "examples": 4, "length": 6, "vocabulary": 10, "heterogeneity": 0.5}"#,
            "4cba80f9d50e625b",
        ),
        (r#"{"kind": "synthetic-tags", "clients": 4, "examples": 6, "words": 50, "tags": 7}"#, "9de513c8afbcc5cd"),
    ];
    for (generator, expected) in known {
        let source: Source = serde_json::from_str(generator).unwrap();
        let made = source.load(&Place { folders: &Folders::new("nowhere".into(), None), seed: Seed(5), hold: None });
        let Ok(Material::Clients { clients, .. }) = made else { panic!("{generator}: its clients are made one by one") };
        let mut rows = Sha256::new();
        (0..clients.clients()).for_each(|client| add(&mut rows, &clients.examples(client).unwrap()));
        let found: String = rows.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, expected, "{generator}");
    }
}

fn add(rows: &mut Sha256, examples: &Dataset) {
    for row in 0..examples.len() {
        examples.features.entries(row, |column, value| {
            rows.update((column as u32).to_le_bytes());
            rows.update(value.to_bits().to_le_bytes());
        });
    }
    match &examples.targets {
        Targets::Classes { labels, .. } => labels.iter().for_each(|label| rows.update(label.to_le_bytes())),
        Targets::Numbers(numbers) => numbers.iter().for_each(|number| rows.update(number.to_bits().to_le_bytes())),
        Targets::Tags { tags, .. } => tags.iter().for_each(|tag| rows.update(tag.to_le_bytes())),
    }
}

#[test]
fn a_million_clients_cost_what_is_touched() {
    let many = r#"{"source": {"kind": "synthetic", "clients": 1000000, "examples": 20, "features": 10, "heterogeneity": 1},
        "holdout": {"test": 0.25}, "model": {"kind": "logistic"}}"#;
    let problem = build(many).unwrap();
    assert_eq!(
        (problem.shards.len(), problem.population.roster()),
        (0, Roster::Counted(1_000_000)),
        "nobody is made before it is asked for"
    );
    assert_eq!((problem.card().examples, problem.card().tested), (15_000_000, 5_000_000));
    assert_eq!(problem.population.shard(ClientId(999_999)).unwrap().train.samples(), 15);
    // The same client of a small population: others do not matter to it.
    let few = build(&many.replace("1000000", "5")).unwrap();
    let value = |problem: &Problem| problem.population.shard(ClientId(4)).unwrap().train.value(&Vector::from(vec![0.1; 10]), Batch::all());
    assert_eq!((few.shards.len(), value(&few).to_bits()), (5, value(&problem).to_bits()));
    let quadratics = r#"{"source": {"kind": "quadratics", "clients": 20000, "dim": 3, "smoothness": [2, 5], "convexity": [0.1, 1], "heterogeneity": 1}}"#;
    let (many, few) = (build(quadratics).unwrap(), build(&quadratics.replace("20000", "9")).unwrap());
    assert_eq!((many.shards.len(), few.shards.len()), (0, 9));
    assert_eq!(curvature(&many, 8).to_bits(), curvature(&few, 8).to_bits());
}

#[test]
fn what_needs_everyone_cannot_be_made_on_demand() {
    let with = |more: &str| {
        let source = r#"{"source": {"kind": "synthetic", "clients": 8, "examples": 10, "features": 2, "heterogeneity": 1}, "model": {"kind": "logistic"}, "#;
        build(&format!(r#"{source}"hold": "touched"{more}}}"#)).err()
    };
    assert_eq!(with(r#", "split": {"kind": "natural", "clients": 3}"#), None);
    for more in [r#", "split": {"kind": "iid", "clients": 3}"#, r#", "split": {"kind": "natural", "min": 2}"#, r#", "unseen": 0.5"#] {
        let error = with(more).unwrap();
        assert!(error.contains("touched") && error.contains("each keeps its own examples"), "{error}");
    }
    assert!(with(r#", "split": {"kind": "natural", "clients": 9}"#).unwrap().contains("8 client(s)"));
    assert!(with(r#", "holdout": {"test": 0.97}"#).unwrap().contains("client 0"), "told before anybody is made");
    assert!(build(r#"{"source": {"kind": "curvatures"}, "hold": "all"}"#).err().unwrap().contains("hold"));
}
