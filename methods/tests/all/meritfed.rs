//! MeritFed and its baselines against the exact values of the specification.

use std::sync::Arc;

use motet_core::{
    Batch, ClientId, ClientVersions, Memo, Objective, Outcome, Plan, Population, Row, Seed, Shard, Study, Trained, Vector, train,
};
use motet_methods::fedadp::FedAdp;
use motet_methods::meritfed::MeritFed;
use motet_methods::parts::{Gradients, Mirror, Simplex};
use motet_methods::sgd_full::SgdFull;
use motet_methods::tawt::Tawt;
use motet_runtime::{Inline, Memory};
use serde_json::{Value, json};

use crate::lab::close;

/// ⟨g, x⟩: the gradient is g everywhere.
pub(crate) struct Slope(pub(crate) Vec<f64>);

impl Objective for Slope {
    fn dim(&self) -> usize {
        self.0.len()
    }
    fn samples(&self) -> usize {
        1
    }
    fn value(&self, x: &Vector, _: Batch<'_>) -> f64 {
        x.dot(&self.0.clone().into())
    }
    fn gradient(&self, _: &Vector, _: Batch<'_>, g: &mut Vector) {
        g.copy_from(&self.0.clone().into());
    }
}

/// The same, of so many examples.
struct Weighty(Slope, usize);

impl Objective for Weighty {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn samples(&self) -> usize {
        self.1
    }
    fn value(&self, x: &Vector, batch: Batch<'_>) -> f64 {
        self.0.value(x, batch)
    }
    fn gradient(&self, x: &Vector, batch: Batch<'_>, g: &mut Vector) {
        self.0.gradient(x, batch, g);
    }
}

/// ½ |x|²
struct Bowl(usize);

impl Objective for Bowl {
    fn dim(&self) -> usize {
        self.0
    }
    fn samples(&self) -> usize {
        1
    }
    fn value(&self, x: &Vector, _: Batch<'_>) -> f64 {
        0.5 * x.norm2()
    }
    fn gradient(&self, x: &Vector, _: Batch<'_>, g: &mut Vector) {
        g.copy_from(x);
    }
}

const ROWS: [[f64; 2]; 3] = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.5]];

pub(crate) fn shards() -> Vec<Shard> {
    let shard = |g: [f64; 2]| Shard { validation: Some(Arc::new(Bowl(2))), ..Shard::new(Arc::new(Slope(g.to_vec()))) };
    ROWS.map(shard).into()
}

fn gradients() -> Gradients {
    let mut gradients = Gradients::default();
    ROWS.iter().enumerate().for_each(|(i, g)| gradients.push(ClientId(i as u32), g.to_vec().into()));
    gradients
}

pub(crate) fn method<M: serde::de::DeserializeOwned>(params: Value) -> M {
    serde_json::from_value(params).unwrap()
}

pub(crate) fn run<A: Study + Clone>(method: &A, shards: Vec<Shard>, start: Vec<f64>, plan: &Plan) -> (Vec<Row>, Trained<A>) {
    let (method, store) = (Arc::new(method.clone()), Arc::new(Memory::<ClientVersions<A::Client>>::default()));
    let population: Arc<dyn Population> = Arc::new(shards);
    let host = motet_core::Host::new(Arc::clone(&method), population, store, Arc::<Memo>::default(), plan.seed);
    let mut rows = vec![];
    let trained = train(&*method, start.into(), plan, &mut Inline::new(host), &mut rows).unwrap();
    (rows, trained)
}

fn meritfed(mirror: Value) -> MeritFed {
    method(json!({ "step": 0.1, "mirror": mirror }))
}

fn weights_after(method: &MeritFed, rounds: u64) -> Vec<f64> {
    run(method, shards(), vec![1.0, 2.0], &Plan::new(rounds, Seed(1))).1.server.w.weights()
}

fn all_close(ours: &[f64], theirs: &[f64]) {
    assert_eq!(ours.len(), theirs.len());
    ours.iter().zip(theirs).for_each(|(o, t)| close(*o, *t));
}

#[test]
fn mirror_steps_walk_as_the_specification_says() {
    let after = |steps: u32| weights_after(&meritfed(json!({ "rate": 5, "steps": steps })), 1);
    all_close(&after(1), &[0.311816885955, 0.501405979631, 0.186777134414]);
    all_close(&after(10), &[0.009697604202, 0.990245059758, 0.000057336041]);
    let limit = after(2000);
    assert!((limit[1] - 1.0).abs() < 1e-12, "the limit is the second corner, not {limit:?}");
}

#[test]
fn angles_and_weights_of_fedadp_are_those_of_the_specification() {
    let (fedadp, g): (FedAdp, _) = (method(json!({ "step": 0.1 })), gradients());
    let angles = fedadp.angles(&g.rows()[0], &g);
    all_close(&angles, &[0.0, std::f64::consts::FRAC_PI_2, 2.677945044589]);
    all_close(&angles.iter().map(|a| fedadp.gompertz(*a)).collect::<Vec<_>>(), &[5.0, 0.279930856364, 0.001135819453]);
    let to_target = [0.984581292941, 0.008777111120, 0.006641595940];
    all_close(&fedadp.weigh(&angles, None).weights(), &to_target);
    let to_mean = [0.008326299108, 0.934011000798, 0.057662700094];
    // And so in a run, where equal sizes change nothing and the first round smooths nothing.
    for (flavour, expected) in [("code", to_target), ("original", to_mean)] {
        let fedadp: FedAdp = method(json!({ "step": 0.1, "flavour": flavour }));
        let (_, trained) = run(&fedadp, shards(), vec![1.0, 2.0], &Plan::new(1, Seed(1)));
        all_close(&trained.server.model.w.weights(), &expected);
    }
}

#[test]
fn original_fedadp_smooths_angles_and_counts_examples() {
    let fedadp: FedAdp = method(json!({ "step": 0.1, "flavour": "original" }));
    let (_, once) = run(&fedadp, shards(), vec![1.0, 2.0], &Plan::new(1, Seed(1)));
    let (_, often) = run(&fedadp, shards(), vec![1.0, 2.0], &Plan::new(5, Seed(1)));
    // Constant gradients have constant angles, and so has their running mean.
    all_close(&once.server.model.w.weights(), &often.server.model.w.weights());
    assert!(often.server.clients.iter().all(|c| c.heard == 5 && c.samples == 1));
    let even = fedadp.weigh(&[1.0, 1.0, 1.0], Some(&[100.0, 100.0, 200.0]));
    all_close(&even.weights(), &[0.25, 0.25, 0.5]);
}

#[test]
fn original_fedadp_measures_angles_to_the_mean_by_sizes() {
    let fedadp: FedAdp = method(json!({ "step": 0.1, "flavour": "original" }));
    let sizes = [100, 100, 800];
    let shards = ROWS.into_iter().zip(sizes).map(|(g, size)| Shard::new(Arc::new(Weighty(Slope(g.to_vec()), size)))).collect();
    let (_, trained) = run(&fedadp, shards, vec![1.0, 2.0], &Plan::new(1, Seed(1)));
    // The mean by sizes is (0.1 − 0.8, 0.1 + 0.4); the plain one would be (0, 0.5).
    let reference = Vector::from(vec![-0.7, 0.5]);
    let expected = fedadp.weigh(&fedadp.angles(&reference, &gradients()), Some(&[100.0, 100.0, 800.0]));
    all_close(&trained.server.model.w.weights(), &expected.weights());
}

#[test]
fn one_update_of_tawt_is_that_of_the_specification_and_every_second_round_has_none() {
    let tawt: Tawt = method(json!({ "step": 0.01 }));
    let after = |rounds| run(&tawt, shards(), vec![1.0, 2.0], &Plan::new(rounds, Seed(1))).1.server.w.weights();
    all_close(&after(1), &[0.658638346217, 0.242299506741, 0.099062147042]);
    assert_eq!(after(1), after(2));
    assert!(after(3)[0] > after(2)[0]);
}

#[test]
fn with_rate_zero_it_is_plain_sgd_bit_by_bit() {
    let mut weights_only = meritfed(json!({ "rate": 0, "steps": 3 }));
    let full: SgdFull = method(json!({ "step": 0.1 }));
    let plan = Plan::new(7, Seed(1));
    let four = || shards().into_iter().chain([shards().remove(2)]).collect::<Vec<_>>();
    let (_, plain) = run(&full, four(), vec![1.0, 2.0], &plan);
    let same = |m: &MeritFed| run(m, four(), vec![1.0, 2.0], &plan).1.server.x;
    // Four clients: 1/4 is exact, so sums of quarters and quarters of sums differ in nothing.
    all_close(same(&weights_only).f64s(), plain.server.f64s());
    weights_only.mirror.steps = 0;
    assert_eq!(same(&weights_only), same(&meritfed(json!({ "rate": 0, "steps": 3 }))), "questions change nothing");
}

#[test]
fn a_cold_start_forgets_the_weights_of_the_last_round() {
    let cold = meritfed(json!({ "rate": 5, "steps": 1, "warm": false }));
    // The second round alone, from where the first one ends, is what a run of two rounds ends with.
    let (_, first) = run(&cold, shards(), vec![1.0, 2.0], &Plan::new(1, Seed(1)));
    let (_, both) = run(&cold, shards(), vec![1.0, 2.0], &Plan::new(2, Seed(1)));
    let (_, second) = run(&cold, shards(), first.server.x.to_f64(), &Plan::new(1, Seed(1)));
    assert_eq!(both.server.w, second.server.w);
    assert_ne!(
        both.server.w,
        run(&meritfed(json!({ "rate": 5, "steps": 1 })), shards(), vec![1.0, 2.0], &Plan::new(2, Seed(1))).1.server.w
    );
}

#[test]
fn inner_averaging_is_the_running_mean_of_the_released_code() {
    // By hand: y from the average, w_new from the average, w ← (t w + w_new)/(t + 1).
    let (g, x, mut w) = (gradients(), Vector::from(vec![1.0, 2.0]), Simplex::uniform(3));
    for t in 0..4 {
        let y = g.step(&x, -0.1, &w.weights());
        let mut new = w.clone();
        new.multiply(&g.inner(&y).iter().map(|s| 5.0 * 0.1 * s).collect::<Vec<_>>());
        let t = f64::from(t);
        let mixed: Vec<f64> = w.weights().iter().zip(new.weights()).map(|(w, v)| (t * w + v) / (t + 1.0)).collect();
        w = Simplex::from_weights(&mixed);
    }
    all_close(&weights_after(&meritfed(json!({ "rate": 5, "steps": 4, "average": true })), 1), &w.weights());
}

#[test]
fn damping_divides_the_rate_after_its_round() {
    let mirror: Mirror = method(json!({ "rate": 5, "steps": 1, "damp": { "after": 400, "by": 10 } }));
    let slow: Mirror = method(json!({ "rate": 0.5, "steps": 1 }));
    let fast: Mirror = method(json!({ "rate": 5, "steps": 1 }));
    let (g, x, mut rng) = (gradients(), Vector::from(vec![1.0, 2.0]), Seed(1).server(1, 0));
    let mut after = |mirror: &Mirror, round: u64| {
        let mut search = mirror.search(Simplex::uniform(3), round);
        let question = search.question(&x, 0.1, &g, &mut rng);
        let Some(motet_methods::parts::questions::Ask::Validate { y }) = question else { panic!("a slope is asked for") };
        search.learn(0, 0.1, &g, &motet_methods::parts::questions::Reply::Slope { v: y }).unwrap();
        search.weights().weights()
    };
    assert_eq!(after(&mirror, 400), after(&fast, 400));
    assert_eq!(after(&mirror, 401), after(&slow, 401));
}

#[test]
fn both_parties_messages_are_booked_by_kind() {
    let count = |mirror: Value| {
        let (_, trained) = run(&meritfed(mirror), shards(), vec![1.0, 2.0], &Plan::new(3, Seed(1)));
        trained.ledger.entries().iter().map(|e| (e.kind.clone(), e.count, e.bits)).collect::<Vec<_>>()
    };
    let entry = |kind: &str, count: u64, bits: u64| (kind.to_owned(), count, bits);
    // Three rounds, three clients, d = 2, four questions a round; 64 bits a number.
    let slopes = count(json!({ "rate": 5, "steps": 4 }));
    let everyone = [entry("Differentiate", 9, 9 * 128), entry("Gradients", 9, 9 * 128)];
    assert_eq!(slopes, [&everyone[..], &[entry("Validate", 12, 12 * 128), entry("Slope", 12, 12 * 128)]].concat());
    let values = count(json!({ "kind": "zeroth", "rate": 5, "steps": 4 }));
    // Two models down and two numbers up: no gradient ever reaches the target.
    assert_eq!(values, [&everyone[..], &[entry("Compare", 12, 12 * 256), entry("Values", 12, 12 * 128)]].concat());
}

#[test]
fn a_target_without_validation_data_fails_with_advice_unless_it_may_use_its_training_data() {
    let bare: Vec<Shard> = ROWS.map(|g| Shard::new(Arc::new(Slope(g.to_vec())) as Arc<dyn Objective>)).into();
    let plan = Plan::new(2, Seed(1));
    let (_, trained) = run(&meritfed(json!({ "rate": 5 })), bare.clone(), vec![1.0, 2.0], &plan);
    let Outcome::Failed { round: 1, reason } = trained.outcome else { panic!("{}", trained.outcome) };
    assert!(reason.contains("client 0 has no validation data"), "{reason}");
    let training: MeritFed = method(json!({ "step": 0.1, "mirror": { "rate": 5 }, "validation": "training" }));
    let (_, trained) = run(&training, bare, vec![1.0, 2.0], &plan);
    assert_eq!(trained.outcome, Outcome::Finished);
    // f₁ = ⟨g₁, x⟩ falls fastest along g₁: the target helps itself most.
    let w = trained.server.w.weights();
    assert!(w[0] > w[1] && w[1] > w[2], "{w:?}");
}

#[test]
fn what_does_not_go_together_is_refused_in_words() {
    let refused = |params: Value, clients| method::<MeritFed>(params).suits(clients).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(refused(json!({ "target": 3, "step": 0.1, "mirror": { "rate": 5 } }), Some(3)).contains("clients 0 to 2"));
    assert!(refused(json!({ "step": 0.1, "mirror": { "rate": 5, "batch": 10 } }), Some(3)).contains("\"smd\""));
    assert!(refused(json!({ "step": 0.1, "mirror": { "rate": 5 }, "validation": "fresh" }), Some(3)).contains("give mirror.kind"));
    assert!(refused(json!({ "step": 0.1, "mirror": { "rate": 5 } }), None).contains("without end"));
}
