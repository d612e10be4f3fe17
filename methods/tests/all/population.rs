//! Methods on populations: clients that exist only while they work.

use std::sync::Arc;

use crate::local_update::method;
use motet_core::{Fleet, Host, Memo, Outcome, Plan, Row, Seed, Study, Trained, Wire, train};
use motet_methods::Method;
use motet_methods::local_update::LocalUpdate;
use motet_methods::scafflix::Scafflix;
use motet_problems::{Folders, Problem};
use motet_runtime::{Bytes, Inline, Memory, Pool, Threads};
use serde_json::{Value, json};

fn problem(source: Value) -> Problem {
    let config = serde_json::from_value(json!({ "source": source })).unwrap();
    Problem::build_from(&config, &Folders::new("nowhere".into(), None), 0).unwrap()
}

fn host<M: Method>(problem: &Problem, method: &Arc<M>, seed: Seed) -> Host<M> {
    Host::new(Arc::clone(method), Arc::clone(&problem.population), Arc::new(Memory::default()), Arc::<Memo>::default(), seed)
}

fn run<M: Method>(problem: &Problem, method: &Arc<M>, plan: &Plan, fleet: &mut dyn Fleet<M>) -> (Vec<Row>, Trained<M>) {
    let mut rows = vec![];
    let trained = train(&**method, problem.start().into_owned(), plan, fleet, &mut rows).unwrap();
    assert_eq!(trained.outcome, Outcome::Finished);
    (rows, trained)
}

fn update(steps: u32, gamma: f64, eta: f64) -> Arc<LocalUpdate> {
    Arc::new(method(json!({ "steps": steps, "gamma": gamma, "eta": eta, "batch": 1, "sampling": { "clients": 2 } })))
}

#[test]
fn on_a_population_without_end_the_mean_of_the_iterates_is_the_surrogate_minimiser() {
    let problem = problem(json!({ "kind": "curvatures" }));
    // x*(γ, K) of the specification; K = 1 is the true minimiser 5/7.
    for (steps, gamma, expected) in [(1, 0.5, 5.0 / 7.0), (5, 0.5, 0.786126177562), (20, 0.1, 0.773941058860)] {
        let method = update(steps, gamma, 1e-2);
        let plan = Plan { coordinates: 1, ..Plan::new(20_000, Seed(1)) };
        let (rows, _) = run(&problem, &method, &plan, &mut Inline::new(host(&problem, &method, Seed(1))));
        let late: Vec<f64> = rows[2000..].iter().map(|row| row.metrics["x"]).collect();
        let mean = late.iter().sum::<f64>() / late.len() as f64;
        // At most 1/(η E φ) = 70 rounds to forget: 250 independent values of deviation 0.06 at most.
        assert!((mean - expected).abs() < 5.0 * 0.06 / 250f64.sqrt(), "K = {steps}, γ = {gamma}: {mean} is not {expected}");
    }
}

#[test]
fn rows_do_not_depend_on_where_the_clients_of_a_population_are_made() {
    for source in [json!({ "kind": "curvatures", "noise": 0.3 }), json!({ "kind": "curvatures", "clients": 1000 })] {
        let (problem, method) = (problem(source), update(4, 0.3, 0.1));
        let plan = Plan { coordinates: 1, probe_clients: Some(5), ..Plan::new(40, Seed(3)) };
        let host = || host(&problem, &method, Seed(3));
        let (rows, trained) = run(&problem, &method, &plan, &mut Inline::new(host()));
        assert!(rows.iter().all(|row| row.metrics.contains_key("loss") && row.metrics.contains_key("x")));
        assert_eq!(run(&problem, &method, &plan, &mut Bytes::new(host())).0, rows);
        let threads = run(&problem, &method, &plan, &mut Threads::new(host(), Arc::new(Pool::new(3))));
        assert_eq!((threads.0, threads.1.server.x), (rows, trained.server.x));
    }
}

#[test]
fn only_clients_that_were_asked_cost_anything() {
    let problem = problem(json!({ "kind": "curvatures", "clients": 342_477 }));
    let plan = Plan { probe_clients: Some(0), ..Plan::new(50, Seed(1)) };
    let stateless = Arc::new(method::<LocalUpdate>(json!({ "gamma": 0.1, "eta": 0.1, "sampling": { "clients": 10 } })));
    let (_, trained) = run(&problem, &stateless, &plan, &mut Inline::new(host(&problem, &stateless, Seed(1))));
    assert!(trained.heard.bytes() <= 4 + 20 * 500);
    // With state too: the store holds those who worked, a few hundred bytes each.
    let keeping: Arc<Scafflix> =
        Arc::new(method(json!({ "alpha": 1, "step": 0.3, "p": 0.5, "participation": { "clients": 10, "variant": "tracked" } })));
    let (_, trained) = run(&problem, &keeping, &plan, &mut Inline::new(host(&problem, &keeping, Seed(1))));
    assert!(trained.heard.bytes() > 4 + 20 * 400 && trained.heard.bytes() <= 4 + 20 * 500);
}

#[test]
fn asking_everyone_of_a_population_without_end_is_refused_in_words() {
    let all: LocalUpdate = method(json!({ "gamma": 0.1, "eta": 0.1 }));
    assert!(all.suits(None).err().map(|e| e.to_string()).unwrap().contains("no end"));
    // And if nobody asked beforehand, the run says so.
    let problem = problem(json!({ "kind": "curvatures" }));
    let method = Arc::new(all);
    let plan = Plan::new(3, Seed(1));
    let trained =
        train(&*method, problem.start().into_owned(), &plan, &mut Inline::new(host(&problem, &method, Seed(1))), &mut Vec::new()).unwrap();
    assert!(trained.outcome.to_string().contains("no end"), "{}", trained.outcome);
}
