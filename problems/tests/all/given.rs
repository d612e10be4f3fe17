//! Rows that a source gives for validation and test, names of clients, and clients who never train.

use motet_core::Seed;
use motet_problems::{Bytes, Dataset, Extra, Matrix, Partition, Problem, ProblemConfig, Split, Targets, Usage};
use serde_json::json;

/// Rows 0..12, classes 0, 1, 2 in turn; clients `keys`; `usages` as letters.
fn data(keys: [u32; 12], usages: &str) -> Dataset {
    let lot = |letter| match letter {
        'v' => Usage::Validation,
        't' => Usage::Test,
        _ => Usage::Train,
    };
    let features = Matrix::Bytes(Bytes::tokens(1, (0..12).collect()));
    let targets = Targets::Classes { labels: (0..12).map(|k| k % 3).collect(), classes: 3 };
    let names = (0..5).map(|k| format!("writer {k}")).collect();
    Dataset::new(features, targets).from_clients(keys.to_vec()).named(names).with_usages(usages.chars().map(lot).collect())
}

fn deal(split: serde_json::Value, data: &Dataset) -> Partition {
    let split: Split = serde_json::from_value(split).unwrap();
    split.deal(data, &mut Seed(1).problem(1)).unwrap()
}

#[test]
fn natural_clients_keep_the_rows_given_for_them_and_those_with_test_rows_only_are_strangers() {
    let data = data([0, 0, 0, 0, 2, 2, 2, 2, 3, 3, 3, 4], "----ttvv--t-");
    let partition = deal(json!({"kind": "natural"}), &data);
    assert_eq!(partition.clients, [vec![0, 1, 2, 3], vec![8, 9], vec![11]]);
    assert_eq!(partition.strangers, [vec![4, 5, 6, 7]]);
    assert_eq!(partition.extras[1], Extra { validation: vec![], test: vec![10] });
    // Whoever was left out on purpose is no stranger.
    let some = deal(json!({"kind": "natural", "clients": 1}), &data);
    assert_eq!((some.clients.len(), some.strangers.len(), &some.extras[0]), (1, 1, &Extra::default()));
}

#[test]
fn splits_deal_rows_for_training_only() {
    let data = data([0; 12], "--ttttvv----");
    for split in [
        json!({"kind": "iid", "clients": 2}),
        json!({"kind": "contiguous", "clients": 2}),
        json!({"kind": "dirichlet", "clients": 2, "alpha": 1.0}),
        json!({"kind": "label-shards", "clients": 2, "shards": 1}),
        json!({"kind": "power-law", "clients": 2, "exponent": 1.0}),
    ] {
        let mut rows: Vec<u32> = deal(split.clone(), &data).clients.concat();
        rows.sort_unstable();
        assert_eq!(rows, [0, 1, 8, 9, 10, 11], "{split}");
    }
}

#[test]
fn a_group_may_take_given_rows_to_choose_on_and_the_rest_to_be_judged_on() {
    let data = data([0; 12], "---ttttttttt");
    let target = json!({"clients": 1, "mix": [{"labels": [0, 1], "share": 1.0}], "validation": 1, "test": "rest"});
    let other = json!({"clients": 1, "mix": [{"labels": [2], "share": 1.0}]});
    let partition = deal(json!({"kind": "label-mixtures", "per_client": 1, "groups": [target, other]}), &data);
    let class = |row: &u32| row % 3;
    let mut validation: Vec<u32> = partition.extras[0].validation.iter().map(class).collect();
    validation.sort_unstable();
    assert_eq!(validation, [0, 1]);
    assert_eq!((partition.extras[0].test.len(), partition.extras[1].len()), (4, 0));
    assert!(partition.extras[0].test.iter().all(|row| *row >= 3 && class(row) < 2 && !partition.extras[0].validation.contains(row)));
    let greedy = json!({"clients": 1, "mix": [{"labels": [0], "share": 1.0}], "validation": 3, "test": "rest"});
    let split: Split = serde_json::from_value(json!({"kind": "label-mixtures", "per_client": 1, "groups": [greedy]})).unwrap();
    let error = split.deal(&data, &mut Seed(1).problem(1)).unwrap_err().to_string();
    assert!(error.contains("of label 0 the source gives 3 for test"), "{error}");
}

fn images(extra: serde_json::Value) -> Problem {
    let mut problem = json!({
        "source": {"kind": "synthetic-images", "clients": 10, "examples": 8, "side": 6, "classes": 3},
        "model": {"kind": "mlp", "sizes": [4]},
    });
    problem.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    let config: ProblemConfig = serde_json::from_value(problem).unwrap();
    Problem::build(&config, std::path::Path::new("."), 0).unwrap()
}

#[test]
fn a_share_of_the_clients_never_trains_and_keeps_rows_to_be_judged_on() {
    let problem = images(json!({"unseen": 0.3}));
    assert_eq!((problem.shards.len(), problem.unseen, problem.census.unseen.len()), (7, 3, 3));
    assert!(problem.census.unseen.iter().all(|client| client.train == 4 && client.test == 4));
    let ids = problem.unseen_ids();
    assert_eq!(ids.iter().map(|id| id.0).collect::<Vec<_>>(), [7, 8, 9]);
    let judged = problem.population.shard(ids[2]).unwrap();
    assert_eq!((judged.train.samples(), judged.test_evaluator.as_ref().map(|evaluator| evaluator.examples())), (4, Some(4)));
    assert_eq!(problem.population.roster(), motet_core::Roster::Counted(7));
    let most = images(json!({"unseen": {"clients": 0.1, "test": 0.75}}));
    assert_eq!((most.shards.len(), most.census.unseen[0].train, most.census.unseen[0].test), (9, 2, 6));
}

#[test]
fn what_cannot_be_unseen_is_said_in_one_line() {
    let build = |unseen: serde_json::Value| {
        let config = serde_json::from_value::<ProblemConfig>(json!({
            "source": {"kind": "synthetic-images", "clients": 2, "examples": 8, "side": 6, "classes": 3},
            "model": {"kind": "mlp", "sizes": [4]},
            "unseen": unseen,
        }));
        config
            .map_err(|e| e.to_string())
            .and_then(|c| Problem::build(&c, std::path::Path::new("."), 0).map_err(|e| e.to_string()))
            .err()
            .unwrap()
    };
    assert!(build(json!(1.0)).contains("of 2 client(s) at least one must train"));
    assert!(build(json!({"test": 0.5})).contains("no clients for test alone"));
    assert!(build(json!(1.5)).contains("from 0 to 1"));
    assert!(build(json!({"share": 0.5})).contains("unknown field"));
}

#[test]
fn bytes_are_numbers_to_every_model() {
    let rows: Vec<u8> = (0..40).map(|k| (k * 37 % 256) as u8).collect();
    let bytes = Bytes { cols: 4, values: rows.clone().into(), scale: 0.5, shift: -3.0 };
    let dense = Matrix::dense(4, rows.iter().map(|&v| 0.5 * f64::from(v) - 3.0).collect()).unwrap();
    assert_eq!(Matrix::Bytes(bytes.clone()).to_dense(), dense.to_dense());
    for model in [json!({"kind": "softmax"}), json!({"kind": "mlp", "sizes": [3]})] {
        let model: motet_problems::ModelConfig = serde_json::from_value(model).unwrap();
        let gradients = [Matrix::Bytes(bytes.clone()), dense.clone()].map(|features| {
            let targets = Targets::Classes { labels: (0..10).map(|k| k % 3).collect(), classes: 3 };
            let data = std::sync::Arc::new(motet_problems::Examples::new(Dataset::new(features, targets)).unwrap());
            let f = model.objective(&data, 2..9).unwrap();
            let (x, mut g) = (f.start(), f.start());
            f.gradient(&x, motet_core::Batch::all(), &mut g);
            g
        });
        assert_eq!(gradients[0], gradients[1]);
    }
    let ragged = Matrix::Bytes(Bytes::pixels(3, vec![0; 4]));
    assert!(ragged.check().is_err());
}
