//! Every split is a partition, depends on nothing but its dice, and does what its name says.

use motet_core::Seed;
use motet_problems::{Dataset, Dense, Holdout, Matrix, Partition, ProblemError, SPLITS, Split, Targets};
use proptest::prelude::*;

fn data(labels: Vec<u32>, classes: u32, keys: Option<Vec<u32>>) -> Dataset {
    let features = Matrix::Dense(Dense { cols: 1, values: vec![0.0; labels.len()].into() });
    Dataset { keys, ..Dataset::new(features, Targets::Classes { labels, classes }) }
}

fn split(json: &str) -> Split {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"))
}

fn deal(json: &str, data: &Dataset, seed: u64) -> Result<Partition, ProblemError> {
    split(json).deal(data, &mut Seed(seed).problem(1))
}

fn sizes(partition: &Partition) -> Vec<usize> {
    partition.clients.iter().map(Vec::len).collect()
}

/// One of each kind for `n` clients of data with two or more classes.
fn every_split(n: u32) -> Vec<String> {
    vec![
        format!(r#"{{"kind": "contiguous", "clients": {n}}}"#),
        format!(r#"{{"kind": "contiguous", "clients": {n}, "shuffle": true}}"#),
        format!(r#"{{"kind": "iid", "clients": {n}}}"#),
        format!(r#"{{"kind": "dirichlet", "clients": {n}, "alpha": 0.3}}"#),
        format!(r#"{{"kind": "label-shards", "clients": {n}, "shards": 2}}"#),
        format!(r#"{{"kind": "power-law", "clients": {n}, "exponent": 1.2}}"#),
        r#"{"kind": "natural"}"#.to_string(),
        format!(r#"{{"kind": "pachinko", "clients": {n}, "coarse": [[0, 3], [1, 2]]}}"#),
        r#"{"kind": "few-users", "users": 2, "per_user": 1}"#.to_string(),
        r#"{"kind": "user-clusters", "clusters": 2, "by": "labels"}"#.to_string(),
        r#"{"kind": "label-mixtures", "groups": [{"clients": 1, "mix": [{"labels": [0], "share": 1.0}]},
            {"clients": 2, "mix": [{"labels": [0, 1], "share": 0.7}, {"labels": [1], "share": 0.3}]}]}"#
            .to_string(),
    ]
}

#[test]
fn every_split_of_the_list_is_tested_here() {
    let tested: std::collections::BTreeSet<&str> = every_split(2).iter().map(|json| split(json).name()).collect();
    assert_eq!(tested, SPLITS.cards().map(|card| card.name).collect());
}

proptest! {
    #[test]
    fn every_row_is_with_exactly_one_client_or_counted_as_left_out(
        labels in prop::collection::vec(0u32..4, 24..200), n in 1u32..12, seed in any::<u64>(),
    ) {
        let keys = labels.iter().enumerate().map(|(k, label)| 7 * (k as u32 % 5) + label % 2).collect();
        let mut labels = labels;
        labels[..12].copy_from_slice(&[0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
        let rows = labels.len();
        let data = data(labels, 4, Some(keys));
        for json in every_split(n) {
            let partition = deal(&json, &data, seed).unwrap();
            let mut seen = vec![false; rows];
            for client in &partition.clients {
                prop_assert!(!client.is_empty() && client.is_sorted(), "{json}");
                for &row in client {
                    prop_assert!(!std::mem::replace(&mut seen[row as usize], true), "{json}: row {row} twice");
                }
            }
            prop_assert_eq!(seen.iter().filter(|seen| !**seen).count(), partition.left_out, "{}", json);
            let takes_some = ["label-mixtures", "pachinko", "few-users", "user-clusters"].iter().any(|name| json.contains(name));
            prop_assert!(partition.left_out == 0 || takes_some, "{json}");
            prop_assert_eq!(&deal(&json, &data, seed).unwrap(), &partition, "{}", json);
        }
    }

    #[test]
    fn a_hold_out_keeps_every_row_once_in_order_and_does_not_depend_on_the_other_clients(
        counts in prop::collection::vec(5usize..60, 1..8), seed in any::<u64>(),
    ) {
        let holdout: Holdout = serde_json::from_str(r#"{"validation": 0.1, "test": 0.2}"#).unwrap();
        let mut next = 0..;
        let clients: Vec<Vec<u32>> = counts.iter().map(|&count| next.by_ref().take(count).collect()).collect();
        let parts = holdout.cut(clients.clone(), Seed(seed)).unwrap();
        for (part, rows) in parts.iter().zip(&clients) {
            prop_assert!(part.train.is_sorted() && part.validation.is_sorted() && part.test.is_sorted());
            prop_assert_eq!(part.validation.len(), (0.1 * rows.len() as f64).round() as usize);
            prop_assert_eq!(part.test.len(), (0.2 * rows.len() as f64).round() as usize);
            let mut all = [&part.train[..], &part.validation, &part.test].concat();
            all.sort_unstable();
            prop_assert_eq!(&all, rows);
        }
        prop_assert_eq!(&holdout.cut(clients[..1].to_vec(), Seed(seed)).unwrap()[..], &parts[..1]);
    }
}

#[test]
fn contiguous_blocks_follow_the_array_split_rule() {
    let data = data(vec![0; 8124], 1, None);
    let partition = deal(r#"{"kind": "contiguous", "clients": 8}"#, &data, 0).unwrap();
    assert_eq!(sizes(&partition), [1016, 1016, 1016, 1016, 1015, 1015, 1015, 1015]);
    assert_eq!(partition.clients[4][0], 4064);
}

#[test]
fn small_alpha_separates_the_classes_and_large_alpha_mixes_them() {
    let data = data((0..4000).map(|k| k % 4).collect(), 4, None);
    let purity = |alpha: f64| {
        let partition = deal(&format!(r#"{{"kind": "dirichlet", "clients": 10, "alpha": {alpha}, "min": 5}}"#), &data, 3).unwrap();
        assert!(partition.clients.iter().all(|client| client.len() >= 5));
        let most = |client: &Vec<u32>| (0..4).map(|class| client.iter().filter(|&&row| row % 4 == class).count()).max().unwrap() as f64;
        partition.clients.iter().map(|client| most(client) / client.len() as f64).sum::<f64>() / 10.0
    };
    assert!(purity(0.05) > 0.7, "{}", purity(0.05));
    assert!(purity(1000.0) < 0.3, "{}", purity(1000.0));
    assert!(purity(1e-300) > 0.9, "alpha so small that every gamma draw underflows");
}

#[test]
fn label_shards_give_each_client_few_labels() {
    let data = data((0..1000).map(|k| k % 10).collect(), 10, None);
    let partition = deal(r#"{"kind": "label-shards", "clients": 10, "shards": 2}"#, &data, 1).unwrap();
    for client in &partition.clients {
        let labels: std::collections::BTreeSet<u32> = client.iter().map(|row| row % 10).collect();
        assert!(client.len() == 100 && labels.len() <= 2, "{labels:?}");
    }
}

#[test]
fn power_law_sizes_fall_as_a_power() {
    let data = data(vec![0; 11_000], 1, None);
    let partition = deal(r#"{"kind": "power-law", "clients": 4, "exponent": 1.0, "min": 250}"#, &data, 1).unwrap();
    // 10,000 rows beyond the least four, in shares 12 : 6 : 4 : 3 of 25.
    assert_eq!(sizes(&partition), [5050, 2650, 1850, 1450]);
}

#[test]
fn label_mixtures_have_the_shares_they_were_given() {
    // EXPERIMENTS C2, in small: ten classes of 60.
    let data = data((0..600).map(|k| k % 10).collect(), 10, None);
    let json = r#"{"kind": "label-mixtures", "per_client": 30, "groups": [
        {"clients": 1, "mix": [{"labels": [0, 1, 2], "share": 1.0}]},
        {"clients": 3, "mix": [{"labels": [0, 1, 2], "share": 0.9}, {"labels": [3, 4, 5], "share": 0.1}]},
        {"clients": 2, "mix": [{"labels": [6, 7, 8], "share": 1.0}]}]}"#;
    let partition = deal(json, &data, 5).unwrap();
    let count = |client: usize, label: u32| partition.clients[client].iter().filter(|&&row| row % 10 == label).count();
    assert_eq!([0, 1, 2, 3].map(|label| count(0, label)), [10, 10, 10, 0]);
    assert_eq!([0, 1, 2, 3, 4, 5, 6].map(|label| count(2, label)), [9, 9, 9, 1, 1, 1, 0]);
    assert_eq!([6, 7, 8, 9].map(|label| count(5, label)), [10, 10, 10, 0]);
    assert_eq!(partition.left_out, 600 - 6 * 30);
    let largest = deal(&json.replace(r#""per_client": 30, "#, ""), &data, 5).unwrap();
    assert!(sizes(&largest).iter().all(|&size| size == largest.clients[0].len()) && largest.clients[0].len() > 30);
}

#[test]
fn proportional_labels_are_as_frequent_as_in_the_source() {
    // 100 of class 0, 50 of class 1, 10 of class 2, 40 of class 3.
    let data = data([vec![0; 100], vec![1; 50], vec![2; 10], vec![3; 40]].concat(), 4, None);
    let json = r#"{"kind": "label-mixtures", "per_client": 40, "groups": [{"clients": 2, "mix": [
        {"labels": [0, 1, 2], "share": 0.8, "proportional": true}, {"labels": [3], "share": 0.2}]}]}"#;
    let partition = deal(json, &data, 5).unwrap();
    let count = |label: std::ops::Range<u32>| partition.clients[1].iter().filter(|row| label.contains(row)).count();
    assert_eq!([count(0..100), count(100..150), count(150..160), count(160..200)], [20, 10, 2, 8]);
}

#[test]
fn natural_clients_are_the_keys_in_ascending_order() {
    let data = data(vec![0; 6], 1, Some(vec![9, 2, 9, 2, 9, 5]));
    assert_eq!(deal(r#"{"kind": "natural"}"#, &data, 0).unwrap().clients, [vec![1, 3], vec![5], vec![0, 2, 4]]);
    let large = deal(r#"{"kind": "natural", "min": 2, "clients": 1}"#, &data, 0).unwrap();
    assert_eq!((large.clients, large.left_out), (vec![vec![1, 3]], 4));
    let short = deal(r#"{"kind": "natural", "most": 2}"#, &data, 0).unwrap();
    assert_eq!((short.clients, short.left_out), (vec![vec![1, 3], vec![5], vec![0, 2]], 1));
}

#[test]
fn pachinko_gives_clients_few_coarse_labels_and_many_fine_ones_and_uses_everything_up() {
    // CIFAR-100 in small: 100 classes of 20; 25 clients of 80 take all there is.
    let data = data((0..2000).map(|k| k % 100).collect(), 100, None);
    let partition = deal(r#"{"kind": "pachinko", "clients": 25}"#, &data, 3).unwrap();
    assert_eq!((sizes(&partition), partition.left_out), (vec![80; 25], 0));
    // The first clients choose freely: with alpha = 0.1 over 20 coarse labels of five fine ones, few coarse ones dominate.
    let coarse = [[4, 30, 55, 72, 95], [1, 32, 67, 73, 91]];
    let share = |client: &Vec<u32>, labels: &[u32]| client.iter().filter(|&&row| labels.contains(&(row % 100))).count();
    let even = deal(r#"{"kind": "pachinko", "clients": 25, "alpha": 1000, "beta": 1000}"#, &data, 3).unwrap();
    let spread = |partition: &Partition| {
        let counts = |client: &Vec<u32>| (0..100).filter(|&label| share(client, &[label]) > 0).count() as f64;
        partition.clients[..5].iter().map(counts).sum::<f64>() / 5.0
    };
    assert!(spread(&partition) < 0.6 * spread(&even), "{} against {}", spread(&partition), spread(&even));
    // Labels of one coarse label go together: who has much of one fine label has others of the same kind.
    let together = coarse.iter().any(|labels| {
        partition
            .clients
            .iter()
            .any(|client| share(client, labels) > 20 && labels.iter().filter(|&&l| share(client, &[l]) > 0).count() >= 3)
    });
    assert!(together, "some client has a fourth of its examples in one coarse label, of at least three fine ones");
}

#[test]
fn few_users_are_dealt_to_many_clients_and_no_client_has_two_users() {
    // Users 5, 6, 7 with 40, 60 and 50 examples.
    let keys: Vec<u32> = [vec![5; 40], vec![6; 60], vec![7; 50]].concat();
    let data = data(vec![0; 150], 1, Some(keys));
    let partition = deal(r#"{"kind": "few-users", "per_user": 5, "examples": 10}"#, &data, 1).unwrap();
    assert_eq!((sizes(&partition), partition.left_out), (vec![10; 10], 50));
    assert!(partition.clients[..5].iter().flatten().all(|row| (40..100).contains(row)), "the user with the most comes first");
    assert!(partition.clients[5..].iter().flatten().all(|row| *row >= 100));
    let error = deal(r#"{"kind": "few-users", "users": 3, "per_user": 5, "examples": 10}"#, &data, 1).unwrap_err().to_string();
    assert_eq!(error, "5 clients cannot share 40 examples: each needs at least 10");
}

#[test]
fn clusters_bring_together_users_who_are_alike() {
    // Users 0..12 of three kinds: 6 have label 0, 4 label 1, 2 label 2, now and then another.
    let kind = |user: u32| if user < 6 { 0 } else { u32::from(user >= 10) + 1 };
    let labels: Vec<u32> = (0..240).map(|k| if k % 17 == 0 { k % 3 } else { kind(k / 20) }).collect();
    let features =
        Matrix::Dense(Dense { cols: 3, values: labels.iter().flat_map(|&l| (0..3).map(move |c| f64::from(u8::from(c == l)))).collect() });
    let data = Dataset { features, ..data(labels, 3, Some((0..240).map(|k| k / 20).collect())) };
    for by in ["features", "labels"] {
        for (cluster, users) in [(0, 0..6), (1, 6..10), (2, 10..12)] {
            let json = format!(r#"{{"kind": "user-clusters", "clusters": 3, "cluster": {cluster}, "by": "{by}"}}"#);
            let partition = deal(&json, &data, 2).unwrap();
            assert_eq!(partition.clients.iter().map(|rows| rows[0] / 20).collect::<Vec<_>>(), users.collect::<Vec<_>>(), "{json}");
        }
    }
    let first = deal(r#"{"kind": "user-clusters", "clusters": 3, "clients": 2}"#, &data, 2).unwrap();
    assert_eq!((first.clients.len(), first.clients[1][0]), (2, 20));
    let wrong = |json: &str| deal(json, &data, 2).unwrap_err().to_string();
    assert_eq!(
        wrong(r#"{"kind": "user-clusters", "clusters": 13}"#),
        "[problem] split.clusters = 13: the source has 12 user(s) with at least 1 example(s)"
    );
    assert_eq!(
        wrong(r#"{"kind": "user-clusters", "clusters": 3, "cluster": 3}"#),
        "[problem] split.cluster = 3: clusters are numbered 0 to 2"
    );
    assert_eq!(wrong(r#"{"kind": "user-clusters", "clusters": 3, "clients": 7}"#), "[problem] split.clients = 7: cluster 0 has 6 user(s)");
}

#[test]
fn what_cannot_be_dealt_is_said_in_one_line() {
    let plain = data((0..5).collect(), 5, None);
    let numbers = Dataset { targets: Targets::Numbers(vec![0.5; 5]), ..plain.clone() };
    let keyed = Dataset { keys: Some(vec![0, 0, 1, 1, 2]), ..plain.clone() };
    let cases = [
        (r#"{"kind": "contiguous", "clients": 8}"#, &plain, "8 clients cannot share 5 examples: each needs at least 1"),
        (r#"{"kind": "iid", "clients": 6}"#, &plain, "6 clients cannot share 5 examples: each needs at least 1"),
        (r#"{"kind": "label-shards", "clients": 3, "shards": 2}"#, &plain, "3 clients cannot share 5 examples: each needs at least 2"),
        (
            r#"{"kind": "power-law", "clients": 2, "exponent": 1, "min": 3}"#,
            &plain,
            "2 clients cannot share 5 examples: each needs at least 3",
        ),
        (r#"{"kind": "natural"}"#, &plain, "split `natural` needs a source that knows whose each example is, and this one does not"),
        (
            r#"{"kind": "few-users", "per_user": 2}"#,
            &plain,
            "split `few-users` needs a source that knows whose each example is, and this one does not",
        ),
        (r#"{"kind": "few-users", "users": 4, "per_user": 1}"#, &keyed, "[problem] split.users = 4: the source has 3 user(s)"),
        (
            r#"{"kind": "pachinko", "clients": 2}"#,
            &plain,
            "[problem] split.coarse = []: name the fine labels of each coarse one, out of 0 to 4",
        ),
        (
            r#"{"kind": "pachinko", "clients": 2, "coarse": [[0, 1], [1]]}"#,
            &plain,
            "[problem] split.coarse = 1: a fine label belongs to one coarse label",
        ),
        (r#"{"kind": "pachinko", "clients": 3, "coarse": [[0, 1]]}"#, &plain, "3 clients cannot share 2 examples: each needs at least 1"),
        (r#"{"kind": "natural", "min": 9}"#, &keyed, "[problem] split.min = 9: the source has 0 client(s) with at least 9 example(s)"),
        (
            r#"{"kind": "natural", "clients": 4}"#,
            &keyed,
            "[problem] split.clients = 4: the source has 3 client(s) with at least 1 example(s)",
        ),
        (
            r#"{"kind": "dirichlet", "clients": 2, "alpha": 1}"#,
            &numbers,
            "split `dirichlet` deals by class, but the source's targets are numbers; use iid, contiguous, power-law or natural",
        ),
        (r#"{"kind": "label-mixtures", "groups": []}"#, &plain, "[problem] split.groups = []: at least one group is needed"),
        (
            r#"{"kind": "label-mixtures", "groups": [{"clients": 1, "mix": [{"labels": [0], "share": 0.5}]}]}"#,
            &plain,
            "[problem] split.groups = shares of group 0 add up to 0.5: they must add up to 1",
        ),
        (
            r#"{"kind": "label-mixtures", "groups": [{"clients": 1, "mix": [{"labels": [7], "share": 1.0}]}]}"#,
            &plain,
            "[problem] split.groups = label 7 of group 0: classes are numbered 0 to 4",
        ),
        (
            r#"{"kind": "label-mixtures", "groups": [{"clients": 2, "mix": [{"labels": [0], "share": 1.0}]}]}"#,
            &plain,
            "[problem] split.per_client = 1: label 0 would be needed 2 times and is there 1 times",
        ),
    ];
    for (json, data, message) in cases {
        assert_eq!(deal(json, data, 0).unwrap_err().to_string(), message, "{json}");
    }
}

#[test]
fn a_hold_out_never_leaves_a_client_without_training_data() {
    let cut =
        |json: &str, rows: u32| serde_json::from_str::<Holdout>(json).unwrap().cut(vec![(0..9).collect(), (0..rows).collect()], Seed(0));
    let error = cut(r#"{"validation": 0.3, "test": 0.4}"#, 2).unwrap_err().to_string();
    assert!(
        error.starts_with("client 1 has 2 example(s): holding out 1 for validation and 1 for test leaves none to train on; "),
        "{error}"
    );
    let error = cut(r#"{"validation": 0.5, "test": 0.5}"#, 9).unwrap_err().to_string();
    assert_eq!(error, "[problem] holdout = { validation = 0.5, test = 0.5 }: together they must be below 1");
    assert_eq!(cut(r#"{"test": 0.2}"#, 1).unwrap()[1].train, [0]);
}

#[test]
fn unknown_names_keys_and_values_out_of_range_are_refused() {
    let wrong = |json: &str| serde_json::from_str::<Split>(json).unwrap_err().to_string();
    assert!(wrong(r#"{"kind": "contigous", "clients": 8}"#).contains("unknown variant `contigous`, expected one of `contiguous`, `iid`"));
    assert!(wrong(r#"{"kind": "iid", "clients": 8, "shuffel": true}"#).contains("unknown field `shuffel`"));
    assert!(wrong(r#"{"kind": "iid", "clients": 0}"#).contains("nonzero"));
    assert!(wrong(r#"{"kind": "iid"}"#).contains("missing field `clients`"));
    assert!(wrong(r#"{"kind": "dirichlet", "clients": 8, "alpha": -1}"#).contains("must be a positive number, got -1"));
}
