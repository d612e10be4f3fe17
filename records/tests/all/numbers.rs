//! Numbers of every kind survive every record.

use std::collections::BTreeMap;

use motet_core::{Metrics, Outcome, Promise, Row, UpDown};
use motet_records::{ClientRow, Manifest, OptimumCard, ProblemCard, RunCard, RunSummary, Status, Summary, Tried, Tuning, Utc, Verdict};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(f64::NEG_INFINITY), any::<f64>()]
}

fn metrics() -> impl Strategy<Value = Metrics> {
    prop::collection::btree_map("[a-z.]{1,6}", number(), 0..4)
}

fn triple() -> impl Strategy<Value = Option<[f64; 3]>> {
    prop::option::of([number(), number(), number()])
}

fn row() -> impl Strategy<Value = Row> {
    (metrics(), metrics(), prop::option::of(number()), prop::option::of(number())).prop_map(|(metrics, notes, deployed, seconds)| Row {
        metrics,
        notes,
        deployed,
        seconds,
        ..Row::default()
    })
}

fn promise() -> impl Strategy<Value = Promise> {
    (prop::option::of(number()), metrics(), number(), number(), number()).prop_map(|(initial, from, extra, factor, floor)| Promise {
        metric: "gap".into(),
        initial,
        from,
        extra,
        factor,
        floor,
        ..Promise::default()
    })
}

fn manifest() -> impl Strategy<Value = Manifest> {
    (triple(), triple(), number(), promise(), any::<u32>()).prop_map(|(smoothness, convexity, value, promise, started)| Manifest {
        started: Some(Utc::from_seconds(started.into())),
        problems: vec![ProblemCard { smoothness, convexity, ..ProblemCard::default() }],
        runs: vec![RunCard {
            optimum: Some(OptimumCard { value, exact: true, how: String::new() }),
            promise: Some(promise),
            ..RunCard::default()
        }],
        ..Manifest::default()
    })
}

fn summary() -> impl Strategy<Value = Summary> {
    let numbers = (prop::option::of(number()), prop::option::of(number()), prop::option::of(number()), number());
    (metrics(), metrics(), numbers).prop_map(|(last, best, (score, value, bound, seconds))| Summary {
        runs: vec![RunSummary {
            label: String::new(),
            method: String::new(),
            params: serde_json::Map::new(),
            seed: 1,
            rounds: 2,
            outcome: Outcome::Diverged { round: 2, client: None },
            last,
            best,
            bits: UpDown::default(),
            bytes: UpDown::default(),
            messages: vec![],
            gradients: 0,
            seconds,
            digest: String::new(),
        }],
        tuning: vec![Tuning {
            trials: vec![Tried { run: 0, values: serde_json::Map::new(), rounds: 1, score, stable: false }],
            ..Tuning::default()
        }],
        claims: vec![Verdict { value, bound, status: Status::Must, ..Verdict::default() }],
        ..Summary::default()
    })
}

/// Written and read, it is written in the same way again, and every number has the same bits; `Debug` shows them all, and
/// NaN as NaN.
fn survives<T: Serialize + DeserializeOwned + std::fmt::Debug>(record: &T) -> Result<(), TestCaseError> {
    let text = serde_json::to_string(record).unwrap();
    let back: T = serde_json::from_str(&text).map_err(|e| TestCaseError::fail(format!("{e}: {text}")))?;
    prop_assert_eq!(format!("{back:?}"), format!("{record:?}"));
    prop_assert!(!text.contains(":null,") || format!("{record:?}").contains("None"), "{}", text);
    Ok(())
}

proptest! {
    #[test]
    fn rows_survive(row in row()) {
        survives(&row)?;
    }

    #[test]
    fn clients_survive(metrics in metrics()) {
        survives(&ClientRow { run: 0, client: 1, name: None, examples: 2, metrics, ..ClientRow::default() })?;
    }

    #[test]
    fn manifests_survive(manifest in manifest()) {
        survives(&manifest)?;
    }

    #[test]
    fn summaries_survive(summary in summary()) {
        survives(&summary)?;
    }
}

#[test]
fn what_format_1_wrote_as_null_is_read_as_nan() {
    let row: Row = serde_json::from_str(
        r#"{"run":0,"round":3,"metrics":{"gap":null,"loss":2},"bits":{"up":0,"down":0},"bytes":{"up":0,"down":0},"gradients":0,"attempts":1}"#,
    )
    .unwrap();
    assert!(row.metrics["gap"].is_nan());
    assert_eq!(row.metrics["loss"], 2.0);
    let promise: Promise =
        serde_json::from_str(r#"{"metric":"gap","initial":null,"extra":null,"factor":null,"floor":0.0,"source":"T 1"}"#).unwrap();
    assert!(promise.initial.is_none() && promise.extra.is_nan() && promise.factor.is_nan());
    assert_eq!(promise.from, BTreeMap::new());
}
