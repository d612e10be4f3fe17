//! Every method that needs no convexity trains a small convolutional network, with the same bits on any number of threads.

use std::path::Path;
use std::sync::Arc;

use motet_core::{Fleet, Host, Memo, Outcome, Plan, Population, Row, Seed, Wire, train};
use motet_methods::{CARDS, Card, Method, Visitor, with};
use motet_problems::{Problem, ProblemConfig};
use motet_runtime::{Inline, Memory, Pool, Threads};
use serde_json::{Value, json};

/// Settings for a network, whose constants nobody knows: steps are given, and xᵢ* is what some epochs of SGD find. A method
/// that is not named here runs as its card has it.
fn settings(card: &Card) -> Value {
    let solve = json!({"kind": "sgd", "epochs": 3, "batch": 8, "step": 0.05});
    let mixture = |step: f64, more: Value| merged(json!({"alpha": 0.7, "step": step, "solve": solve}), more);
    let compressed = |kind: &str| mixture(0.2, json!({"compressor": {"kind": kind, "k": 0.5}}));
    match card.name {
        "dcgd" => compressed("rand-k"),
        "diana" => merged(compressed("rand-k"), json!({"beta": 0.3})),
        "ef" | "ef21" => compressed("top-k"),
        "flix" => mixture(0.2, json!({})),
        "flix-sgd" => {
            json!({"alpha": 0.7, "batch": 8, "sampling": {"clients": 3}, "optimiser": {"kind": "sgd", "step": 0.2}, "solve": solve})
        }
        "flix-fedavg" => json!({"alpha": 0.7, "client_step": 0.1, "batch": 8, "sampling": {"clients": 3}, "solve": solve}),
        "scafflix" => mixture(0.1, json!({"batch": 8, "p": 0.3, "participation": {"clients": 3}})),
        "scaffnew" | "i-scaffnew" => json!({"step": 0.1, "p": 0.3, "batch": 8}),
        "sgd-full" | "meritfed" | "meritfed-all" | "fedadp" | "tawt" => merged(example(card), json!({"step": 0.1})),
        "sgd-ideal" => json!({"step": 0.1, "batch": 8, "friends": [0, 1]}),
        "fomaml" | "maml" => json!({"gamma": 0.05, "inner": 2, "eta": 0.2, "batch": 8}),
        "per-fedavg" => merged(example(card), json!({"step": 0.05, "inner_step": 0.05})),
        _ => example(card),
    }
}

/// As its card has it, with batches of eight.
fn example(card: &Card) -> Value {
    let settings: Value = serde_json::from_str(card.example).unwrap();
    if settings.get("batch").is_some() { merged(settings, json!({"batch": 8})) } else { settings }
}

fn merged(mut settings: Value, more: Value) -> Value {
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    settings
}

/// Methods that only solve once, or whose steps need constants that a network does not have.
const LEFT_OUT: &[&str] = &["local", "one-shot"];

struct Trains<'a> {
    problem: &'a Problem,
    /// Numbers of threads that must give the bits of a run inline.
    threads: &'a [usize],
}

impl Visitor for Trains<'_> {
    type Out = Result<(), String>;
    fn visit<M: Method>(self, method: M) -> Self::Out {
        let method = Arc::new(method);
        let host = || {
            let population: Arc<dyn Population> = Arc::clone(&self.problem.population);
            Host::new(Arc::clone(&method), population, Arc::new(Memory::default()), Arc::<Memo>::default(), Seed(1))
        };
        let run = |fleet: &mut dyn Fleet<M>| {
            let mut rows: Vec<Row> = vec![];
            let trained =
                train(&*method, self.problem.start().into_owned(), &Plan::new(20, Seed(1)), fleet, &mut rows).map_err(|e| e.to_string())?;
            let mut state = vec![];
            trained.server.encode(&mut state);
            Ok::<_, String>((rows, state, trained.outcome))
        };
        let (rows, state, outcome) = run(&mut Inline::new(host()))?;
        let losses: Vec<f64> = rows.iter().map(|row| row.metrics["loss"]).collect();
        let (first, last) = (losses[0], losses[losses.len() - 1]);
        // From chance, with what α = 0.7 has of it at the start, to clearly less.
        // NaN has not fallen.
        let fallen = last < 0.9 * first;
        if outcome != Outcome::Finished || !fallen {
            return Err(format!("{outcome}, the loss goes from {first} to {last}"));
        }
        for &threads in self.threads {
            let (again, same, _) = run(&mut Threads::new(host(), Arc::new(Pool::new(threads))))?;
            if same != state || format!("{again:?}") != format!("{rows:?}") {
                return Err(format!("{threads} threads give other bits"));
            }
        }
        Ok(())
    }
}

fn problem(model: Value) -> Problem {
    let config: ProblemConfig = serde_json::from_value(json!({
        "source": {"kind": "synthetic-images", "clients": 4, "examples": 24, "side": 8, "classes": 3, "signal": 0.7, "heterogeneity": 0.3},
        "model": model,
    }))
    .unwrap();
    Problem::build(&config, Path::new("."), 1).unwrap()
}

#[test]
fn every_method_without_a_need_of_convexity_trains_a_small_cnn() {
    let problem = problem(json!({"kind": "cnn", "channels": [3, 4], "hidden": 12}));
    let mut broken = vec![];
    for card in CARDS.iter().filter(|card| !LEFT_OUT.contains(&card.name)) {
        match with(card.name, settings(card), Trains { problem: &problem, threads: &[1, 2] }).unwrap() {
            Ok(Ok(())) => {}
            Ok(Err(e)) => broken.push(format!("{}: {e}", card.name)),
            Err(e) => broken.push(format!("{}: settings do not fit: {e}", card.name)),
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Channels are so many that convolutions are filtered: 5 x 5 in the one, 3 x 3 with both tiles in the other.
#[test]
fn filtered_networks_have_the_same_bits_on_one_two_and_three_threads() {
    for model in [json!({"kind": "cnn", "channels": [8, 16], "hidden": 12}), json!({"kind": "resnet18", "width": 8, "image": [8, 8, 1]})] {
        let problem = problem(model);
        let settings = json!({"step": 0.05, "batch": 8, "sampling": {"clients": 3}});
        with("fedavg", settings, Trains { problem: &problem, threads: &[1, 2, 3] }).unwrap().unwrap().unwrap();
    }
}
