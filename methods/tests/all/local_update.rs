//! LocalUpdate and its kin: the specification's checks, Theorems 3 and 4, and what each member reduces to.

use std::sync::Arc;

use crate::lab::random::{point, quadratic};
use crate::lab::{Lab, all_close, close};
use motet_core::{Batch, Objective, Outcome, Plan, Rhythm, Row, Seed, Study, Vector};
use motet_methods::flix_fedavg::FlixFedavg;
use motet_methods::flix_sgd::FlixSgd;
use motet_methods::local_update::LocalUpdate;
use motet_methods::{Method, fedavg, fomaml, local_sgd, lookahead, maml, minibatch_sgd, reptile};
use motet_problems::synthetic::formula::{lrs, q2};
use serde_json::{Value, json};

pub(crate) fn method<M: Method>(settings: Value) -> M {
    serde_json::from_value(settings).unwrap()
}

fn run<M: Method + Clone>(lab: &Lab, settings: Value, rounds: u64) -> (Vec<Row>, Vector) {
    let method: M = method(settings);
    assert_eq!(method.suits(Some(lab.clients.len() as u32)), Ok(()));
    let (rows, trained) = lab.run(&method, lab.zeros(), &Plan::new(rounds, Seed(1)));
    assert_eq!(trained.outcome, Outcome::Finished);
    let x = method.shared(&trained.server, motet_core::ClientId(0)).clone();
    (rows, x)
}

fn x<M: Method + Clone>(lab: &Lab, settings: Value, rounds: u64) -> Vector {
    run::<M>(lab, settings, rounds).1
}

#[test]
fn fixed_points_on_q2_are_those_of_the_specification() {
    let lab = Lab::new(q2());
    let cases = [
        (json!({ "gamma": 0.25, "steps": 3 }), 0.698924731183),
        (json!({ "gamma": 0.25, "steps": 2 }), 13.0 / 19.0),
        (json!({ "gamma": 0.25, "theta": "K", "steps": 2 }), 0.714285714286),
        (json!({ "gamma": 0.25, "theta": "K", "steps": 3 }), 0.764705882353),
        (json!({ "gamma": 0.25, "theta": [0, 0, 0, 0, 1] }), 0.858407079646),
        (json!({ "gamma": 0.0, "steps": 7 }), 2.0 / 3.0),
    ];
    for (mut settings, expected) in cases {
        settings["eta"] = json!(0.1);
        close(x::<LocalUpdate>(&lab, settings, 2000).at(0), expected);
    }
    close(x::<fomaml::Fomaml>(&lab, json!({ "gamma": 0.25, "inner": 1, "eta": 0.3 }), 500).at(0), 0.714285714286);
    close(x::<maml::Maml>(&lab, json!({ "gamma": 0.25, "inner": 1, "eta": 0.3 }), 500).at(0), 0.764705882353);
    close(x::<maml::Maml>(&lab, json!({ "gamma": 0.25, "inner": 2, "eta": 0.3 }), 900).at(0), 0.858407079646);
    close(x::<local_sgd::LocalSgd>(&lab, json!({ "gamma": 0.25, "steps": 3 }), 500).at(0), 0.698924731183);
}

#[test]
fn iterates_are_those_of_the_specification() {
    close(x::<LocalUpdate>(&Lab::new(q2()), json!({ "gamma": 0.25, "steps": 3, "eta": 0.1 }), 5).at(0), 0.573376730104);
    let lab = Lab::new(lrs(4, 6, 3));
    let (rows, end) = run::<LocalUpdate>(&lab, json!({ "gamma": 0.5, "steps": 5, "eta": 0.2 }), 10);
    all_close(&end, &[0.472777158551, -0.583442667229, 0.520725968876]);
    close(rows.last().unwrap().metrics["loss"], 0.570968332482);
}

/// A v
fn apply(f: &dyn Objective, v: &Vector) -> Vector {
    let (mut ahead, mut at_zero) = (v.zeros_like(), v.zeros_like());
    f.gradient(v, Batch::all(), &mut ahead);
    f.gradient(&v.zeros_like(), Batch::all(), &mut at_zero);
    ahead.axpy(-1.0, &at_zero);
    ahead
}

/// A quadratic scaled to L ≤ 1, so that γ < 1/L for every γ here, and a point.
fn tame(seed: u64) -> (Lab, Arc<dyn Objective>, Vector) {
    let mut rng = Seed(seed).problem(9);
    let dim = 1 + rng.below(5);
    let wild = quadratic(&mut rng, dim);
    let scale = 1.0 / wild.constants().smoothness.unwrap();
    let curvature = wild.curvature().iter().map(|a| a * scale).collect();
    let tamed: Arc<dyn Objective> = Arc::new(motet_problems::synthetic::Quadratic::new(curvature, wild.centre().to_vec()).unwrap());
    (Lab::new(vec![Arc::clone(&tamed)]), tamed, point(&mut rng, dim))
}

/// q of one client at x: one round with η = 1.
fn update<M: Method + Clone>(lab: &Lab, settings: Value, at: &Vector) -> Vector {
    let method: M = method(settings);
    let trained = lab.run(&method, at.clone(), &Plan::new(1, Seed(1))).1;
    Vector::diff(at, method.shared(&trained.server, motet_core::ClientId(0)))
}

#[test]
fn theorem_3_the_update_is_the_gradient_of_the_surrogate() {
    for seed in 0..50 {
        let (lab, f, at) = tame(seed);
        let mut rng = Seed(seed).problem(1);
        let theta: Vec<f64> = (0..1 + rng.below(6)).map(|_| rng.unit()).collect();
        let gamma = 0.99 * rng.unit();
        // Σ θ_k (I − γA)^{k−1} A (x − c), the gradient at x being A (x − c).
        let mut g = at.zeros_like();
        f.gradient(&at, Batch::all(), &mut g);
        let mut expected = at.zeros_like();
        for weight in &theta {
            expected.axpy(*weight, &g);
            let bent = apply(&*f, &g);
            g.axpy(-gamma, &bent);
        }
        let q = update::<LocalUpdate>(&lab, json!({ "gamma": gamma, "theta": theta, "eta": 1.0 }), &at);
        assert!(q.distance2(&expected).sqrt() <= 1e-9 * (1.0 + expected.norm()), "seed {seed}: {q:?} is not {expected:?}");
    }
}

#[test]
fn theorem_4_maml_with_m_steps_is_theta_2m_plus_1_on_quadratics() {
    for seed in 0..50 {
        let (lab, _, at) = tame(seed);
        let gamma = 0.99 * Seed(seed).problem(2).unit();
        for m in 1..5 {
            let exact = update::<maml::Maml>(&lab, json!({ "gamma": gamma, "inner": m, "eta": 1.0 }), &at);
            let first = update::<LocalUpdate>(&lab, json!({ "gamma": gamma, "theta": "K", "steps": 2 * m + 1, "eta": 1.0 }), &at);
            assert!(exact.distance2(&first).sqrt() <= 1e-9 * (1.0 + first.norm()), "seed {seed}, m = {m}: {exact:?} is not {first:?}");
        }
    }
}

#[test]
fn maml_descends_the_loss_after_adaptation() {
    let lab = Lab::new(lrs(1, 6, 3));
    let (f, gamma, m) = (&lab.clients[0], 0.7, 3);
    let at = Vector::from(vec![0.3, -0.4, 0.8]);
    let adapted = |x: &Vector| {
        let (mut y, mut g) = (x.clone(), x.zeros_like());
        for _ in 0..m {
            f.gradient(&y, Batch::all(), &mut g);
            y.axpy(-gamma, &g);
        }
        f.value(&y, Batch::all())
    };
    let q = update::<maml::Maml>(&lab, json!({ "gamma": gamma, "inner": m, "eta": 1.0, "hold": 0 }), &at);
    for l in 0..3 {
        let (mut ahead, mut behind, h) = (at.clone(), at.clone(), 1e-5);
        ahead.f64s_mut()[l] += h;
        behind.f64s_mut()[l] -= h;
        let slope = (adapted(&ahead) - adapted(&behind)) / (2.0 * h);
        // A central difference of values: h² = 1e-10 and rounding 1e-16/1e-5.
        assert!((q.at(l) - slope).abs() <= 1e-8, "{} is not {slope}", q.at(l));
    }
}

#[test]
fn theta_1_is_minibatch_sgd_whatever_gamma() {
    let lab = Lab::new(lrs(4, 6, 3));
    let common = json!({ "eta": 0.3, "batch": 2, "sampling": { "clients": 2 } });
    let with = |more: Value| {
        let mut all = common.clone();
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let plain = x::<minibatch_sgd::MinibatchSgd>(&lab, common.clone(), 25);
    for (gamma, theta) in [(0.0, json!([1])), (5.0, json!("1:K")), (0.1, json!("K"))] {
        assert_eq!(x::<LocalUpdate>(&lab, with(json!({ "gamma": gamma, "theta": theta })), 25), plain);
    }
    // FLIX-SGD at α = 1 throws the same dice and, with two clients, divides by a power of two.
    let flix = json!({ "alpha": 1, "batch": 2, "sampling": { "clients": 2 }, "optimiser": { "kind": "sgd", "step": 0.3 } });
    assert_eq!(x::<FlixSgd>(&lab, flix, 25), plain);
}

#[test]
fn with_equal_rates_the_server_averages_the_clients_models() {
    let lab = Lab::new(lrs(4, 6, 3));
    let epochs = json!({ "gamma": 0.4, "batch": 4, "steps": { "epochs": 2 }, "sampling": { "clients": 3 } });
    let with = |more: Value| {
        let mut all = epochs.clone();
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let models = json!({ "alpha": 1, "client_step": 0.4, "epochs": 2, "batch": 4, "sampling": { "clients": 3 }, "weights": "uniform" });
    let average = x::<FlixFedavg>(&lab, models, 20);
    // The same arithmetic: what is sent is x − y.
    for ours in [
        x::<LocalUpdate>(&lab, with(json!({ "eta": 1, "send": "deltas" })), 20),
        x::<local_sgd::LocalSgd>(&lab, epochs.clone(), 20),
        x::<fedavg::Fedavg>(&lab, with(json!({ "weights": "uniform" })), 20),
        x::<lookahead::Lookahead>(&lab, with(json!({ "slow": 1 })), 20),
    ] {
        assert_eq!(ours, average);
    }
    // Sums of gradients times γ instead of differences of models: rounding of 20 rounds of 4 steps.
    let sums = x::<LocalUpdate>(&lab, with(json!({ "eta": 0.4 })), 20);
    assert!(sums.distance2(&average).sqrt() <= 1e-13, "{sums:?} is not {average:?}");
}

#[test]
fn members_are_local_update_with_their_settings_filled_in() {
    let lab = Lab::new(lrs(4, 5, 3));
    let same = |ours: Vector, settings: Value| assert_eq!(ours, x::<LocalUpdate>(&lab, settings, 12));
    let base = json!({ "gamma": 0.3, "steps": 3, "eta": 0.2, "batch": 2 });
    same(x::<reptile::Reptile>(&lab, base.clone(), 12), base);
    let fomaml = json!({ "gamma": 0.3, "inner": 2, "eta": 0.2, "batch": 2 });
    same(x::<fomaml::Fomaml>(&lab, fomaml, 12), json!({ "gamma": 0.3, "theta": "K", "steps": 3, "eta": 0.2, "batch": 2, "hold": 0.2 }));
    let slow = json!({ "gamma": 0.3, "steps": 3, "slow": 0.5, "batch": 2 });
    same(x::<lookahead::Lookahead>(&lab, slow, 12), json!({ "gamma": 0.3, "steps": 3, "eta": 0.5, "send": "deltas", "batch": 2 }));
}

#[test]
fn clients_weigh_alike_or_by_the_examples_they_worked_on() {
    let lab = Lab::new(vec![lrs(2, 6, 3)[0].clone(), lrs(2, 2, 3)[1].clone()]);
    let q = |weights: &str| update::<LocalUpdate>(&lab, json!({ "gamma": 0.5, "eta": 1, "steps": 2, "weights": weights }), &lab.zeros());
    let own: Vec<Vector> = (0..2)
        .map(|i| {
            update::<LocalUpdate>(&Lab::new(vec![lab.clients[i].clone()]), json!({ "gamma": 0.5, "eta": 1, "steps": 2 }), &lab.zeros())
        })
        .collect();
    assert!(q("uniform").distance2(&Vector::mix(0.5, &own[0], &own[1])) <= 1e-30);
    assert!(q("examples").distance2(&Vector::mix(0.75, &own[0], &own[1])) <= 1e-30);
}

#[test]
fn held_examples_are_for_the_last_gradient_alone_and_adaptation_takes_the_same_steps() {
    // Ten rows, of which two are held; with θ_K the held rows alone enter q at γ = 0.
    let lab = Lab::new(lrs(1, 10, 3));
    let settings = |hold: f64| json!({ "gamma": 0.0, "theta": "K", "steps": 3, "eta": 1, "hold": hold });
    let (all, held) = (update::<LocalUpdate>(&lab, settings(0.0), &lab.zeros()), update::<LocalUpdate>(&lab, settings(0.2), &lab.zeros()));
    let pairs = (0..10u32).flat_map(|a| (0..a).map(move |b| [b, a]));
    let of = |pair: [u32; 2]| {
        let mut g = lab.zeros();
        lab.clients[0].gradient(&lab.zeros(), Batch::of(&pair), &mut g);
        g
    };
    assert!(all.distance2(&held) > 1e-6);
    let found: Vec<[u32; 2]> = pairs.filter(|pair| of(*pair).distance2(&held) < 1e-28).collect();
    assert_eq!(found.len(), 1, "the gradient is that of one pair of rows");
    // Two steps on the eight others.
    let others: Vec<u32> = (0..10).filter(|row| !found[0].contains(row)).collect();
    let (mut y, mut g) = (lab.zeros(), lab.zeros());
    for _ in 0..2 {
        lab.clients[0].gradient(&y, Batch::of(&others), &mut g);
        y.axpy(-0.5, &g);
    }
    let adapting: fomaml::Fomaml = method(json!({ "gamma": 0.5, "inner": 2, "eta": 1 }));
    // The rows may come in another order: rounding of a sum of eight.
    assert!(lab.deployed(&adapting, &lab.zeros())[0].distance2(&y) <= 1e-30);
    let staying: LocalUpdate = method(json!({ "gamma": 0.5, "eta": 1 }));
    assert_eq!(lab.deployed(&staying, &lab.zeros())[0], lab.zeros());
}

#[test]
fn held_examples_are_drawn_once_for_a_run_and_anew_for_another_seed() {
    let lab = Lab::new(lrs(1, 10, 3));
    // Steps too short to move x: q is the gradient of the held rows at zero, in every round.
    let method: LocalUpdate = method(json!({ "gamma": 0.0, "theta": "K", "steps": 2, "eta": 1e-14, "hold": 0.2 }));
    let norms = |seed: u64| -> Vec<f64> {
        lab.run(&method, lab.zeros(), &Plan::new(4, Seed(seed))).0[1..].iter().map(|row| row.notes["q_norm"]).collect()
    };
    let of_seeds: Vec<Vec<f64>> = (0..8).map(norms).collect();
    for of_rounds in &of_seeds {
        assert!(of_rounds.iter().all(|q| (q - of_rounds[0]).abs() < 1e-9), "{of_rounds:?}");
    }
    assert!(of_seeds.iter().any(|other| (other[0] - of_seeds[0][0]).abs() > 1e-3), "{of_seeds:?}");
}

#[test]
fn every_way_to_draw_batches_is_right_on_average() {
    let lab = Lab::new(lrs(1, 5, 3));
    let whole = update::<LocalUpdate>(&lab, json!({ "gamma": 0, "eta": 1, "steps": 1 }), &lab.zeros());
    for (draw, steps) in [("fresh", json!(3)), ("replacement", json!(3)), ("passes", json!(3)), ("fresh", json!({ "epochs": 1 }))] {
        let method: LocalUpdate = method(json!({ "gamma": 0, "eta": 1, "steps": steps, "batch": 2, "draw": draw }));
        let seeds = 4000;
        let (mut sum, mut squares) = (vec![0.0; 3], vec![0.0; 3]);
        for seed in 0..seeds {
            let trained = lab.run(&method, lab.zeros(), &Plan::new(1, Seed(seed))).1;
            for l in 0..3 {
                let third = -trained.server.x.at(l) / 3.0;
                sum[l] += third;
                squares[l] += third * third;
            }
        }
        for l in 0..3 {
            let mean = sum[l] / seeds as f64;
            let error = ((squares[l] / seeds as f64 - mean * mean) / seeds as f64).sqrt();
            // Five standard errors. The batches of an epoch have 2, 2 and 1 rows: each row counts 1/2 or 1, by chance.
            assert!((mean - whole.at(l)).abs() <= 5.0 * error + 1e-12, "{draw} {steps}: {mean} is not {}", whole.at(l));
        }
    }
}

#[test]
fn exactly_d_floats_go_each_way_and_one_more_for_the_loss_or_a_changing_rate() {
    let lab = Lab::new(lrs(4, 6, 3));
    let bits = |settings: Value| {
        let (rows, _) = run::<LocalUpdate>(&lab, settings, 2);
        let row = rows.last().unwrap();
        (row.bits.up / 64 / 8, row.bits.down / 64 / 8, row.bits.up % 64 + row.bits.down % 64)
    };
    assert_eq!(bits(json!({ "gamma": 0.1, "eta": 0.1, "steps": 4 })), (3, 3, 0));
    assert_eq!(bits(json!({ "gamma": 0.1, "eta": 0.1, "steps": 4, "loss": true })), (4, 3, 0));
    let falling = json!({ "kind": "staircase", "start": 0.1, "every": 1, "factor": 0.5 });
    let (rows, _) = run::<LocalUpdate>(&lab, json!({ "gamma": falling, "eta": 0.1 }), 2);
    // The first rate is known to the clients, the second is sent to four of them.
    assert_eq!(rows.last().unwrap().bits.down, 64 * (4 * 3 + 4 * 4));
}

#[test]
fn notes_tell_the_size_of_q_and_the_loss_before_training() {
    let lab = Lab::new(lrs(4, 6, 3));
    let (rows, _) = run::<LocalUpdate>(&lab, json!({ "gamma": 0.5, "eta": 0.3, "steps": 3, "loss": true }), 8);
    for pair in rows.windows(2) {
        // Everyone takes part: the cohort's loss is the loss of the model that was sent.
        assert!((pair[1].notes["cohort_loss"] - pair[0].metrics["loss"]).abs() <= 1e-14);
        assert!(pair[1].notes["q_norm"] > 0.0);
    }
    assert!(rows[8].gradients == 8 * 4 * 3 * 6, "the loss costs values, not gradients");
}

#[test]
fn a_server_that_steps_past_all_numbers_has_diverged() {
    let (lab, plan) = (Lab::new(q2()), Plan { rhythm: Rhythm::Never, ..Plan::new(9, Seed(1)) });
    for rate in [json!({"eta": 1e300}), json!({"optimiser": {"kind": "momentum", "step": 1e300}})] {
        let mut settings = json!({"gamma": 0.01});
        settings.as_object_mut().unwrap().extend(rate.as_object().unwrap().clone());
        let method: LocalUpdate = serde_json::from_value(settings).unwrap();
        // The first step is long, the second one is not a number: the server sees it, and no client has to.
        let end = lab.run(&method, lab.zeros(), &plan).1.outcome;
        assert_eq!(end, Outcome::Diverged { round: 2, client: None }, "{rate}");
    }
}

#[test]
fn what_does_not_go_together_is_refused_in_words() {
    let refused =
        |settings: Value, clients: Option<u32>| method::<LocalUpdate>(settings).suits(clients).err().map(|e| e.to_string()).unwrap();
    for (settings, word) in [
        (json!({ "gamma": 0.1 }), "server_step"),
        (json!({ "gamma": 0.1, "eta": 1, "optimiser": { "kind": "sgd", "step": 1 } }), "one of the two"),
        (json!({ "gamma": 0.1, "eta": 1, "theta": [1, 2], "steps": 2 }), "leave local_steps out"),
        (json!({ "gamma": 0, "eta": 1, "send": "deltas" }), "step = 0"),
        (json!({ "gamma": 0.1, "eta": 1, "theta": "K", "send": "deltas" }), "1:K"),
        (json!({ "gamma": "theory", "eta": 1 }), "Theorem 29"),
        (json!({ "gamma": 0.1, "eta": "theory", "theta": "K" }), "1:K"),
        (json!({ "gamma": 0.1, "eta": { "kind": "inverse", "start": 0.1 } }), "after"),
        (json!({ "gamma": 0.1, "eta": 1, "steps": { "epochs": 1 }, "draw": "replacement" }), "epochs"),
        (json!({ "gamma": 0.1, "eta": 1, "hold": 1.5 }), "below 1"),
        (json!({ "gamma": 0.1, "eta": 1, "start": "one-shot" }), "start"),
        (json!({ "gamma": 0.1, "optimiser": { "kind": "yogi", "step": "theory" } }), "number"),
    ] {
        let reason = refused(settings.clone(), Some(4));
        assert!(reason.contains(word), "{settings}: {reason}");
    }
    assert!(refused(json!({ "gamma": 0.1, "eta": "theory", "sampling": { "clients": 2 } }), None).contains("no end"));
    assert!(refused(json!({ "gamma": 0.1, "eta": 1 }), None).contains("sample a number"));
    for (settings, word) in [
        (json!({ "gamma": -1, "eta": 1 }), "positive"),
        (json!({ "gamma": 0.1, "eta": 1, "theta": "2:K" }), "1:K"),
        (json!({ "gamma": 0.1, "eta": 1, "theta": [0, 0] }), "not all 0"),
        (json!({ "gamma": 0.1, "eta": 1, "steps": 0 }), "from 1"),
        (json!({ "gamma": 0.1, "eta": 1, "steps": { "passes": 3 } }), "epochs"),
        (json!({ "gamma": 0.1, "eta": 1, "stepz": 3 }), "stepz"),
        (json!({ "gamma": 0.1, "eta": { "kind": "linear", "start": 1 } }), "staircase"),
    ] {
        let wrong = serde_json::from_value::<LocalUpdate>(settings).unwrap_err().to_string();
        assert!(wrong.contains(word), "{wrong}");
    }
    assert!(serde_json::from_value::<fedavg::Fedavg>(json!({ "gamma": 0.1, "eta": 1 })).unwrap_err().to_string().contains("eta"));
}

#[test]
fn clients_adapt_with_the_rate_that_the_decay_has_left_them() {
    // On Q2, f₁(x) = (x − 1)²/2: one step of length γ from x goes to x + γ (1 − x).
    let lab = Lab::new(q2());
    let decay = json!({ "delta": 1e3, "window": 1, "patience": 1, "cooldown": 0, "client_factor": 0.5 });
    let method: motet_methods::local_update_decay::LocalUpdateDecay =
        method(json!({ "gamma": 0.2, "eta": 0.1, "adapt": 1, "decay": decay }));
    let (x, models) = crate::lab::deployed(&lab, &method, 4);
    let gamma = (models[0].at(0) - x.at(0)) / (1.0 - x.at(0));
    // No loss makes progress of 1e3 but the first: the rate has fallen after rounds 2, 3 and 4.
    close(gamma, 0.2 / 8.0);
    // Schedules, too: 0.2 · 4/(4 + t).
    let method: LocalUpdate = self::method(json!({ "gamma": { "kind": "inverse", "start": 0.2, "after": 4 }, "eta": 0.1, "adapt": 1 }));
    let (x, models) = crate::lab::deployed(&lab, &method, 4);
    close((models[0].at(0) - x.at(0)) / (1.0 - x.at(0)), 0.1);
}

#[test]
fn the_examples_held_for_the_last_gradient_are_drawn_anew_with_every_seed_and_kept_for_a_run() {
    let lab = Lab::new(lrs(1, 10, 3));
    let method: LocalUpdate = method(json!({ "gamma": 0.0, "theta": "K", "steps": 2, "eta": 1, "hold": 0.2 }));
    let update = |seed: u64, round: u64| {
        let at = |rounds| lab.run(&method, lab.zeros(), &Plan::new(rounds, Seed(seed))).1.server.x;
        let (before, after) = (at(round - 1), at(round));
        (Vector::diff(&before, &after), before)
    };
    let first: Vec<Vector> = (1..=8).map(|seed| update(seed, 1).0).collect();
    assert!(first[1..].iter().any(|q| q.distance2(&first[0]) > 1e-6), "one split for all seeds");
    // Within a run the same pair of rows serves again: that of the first round explains the second.
    let pairs = |q: &Vector, at: &Vector| -> Vec<[u32; 2]> {
        let all = (0..10u32).flat_map(|a| (0..a).map(move |b| [b, a]));
        let of = |pair: &[u32; 2]| {
            let mut g = lab.zeros();
            lab.clients[0].gradient(at, Batch::of(pair), &mut g);
            g.distance2(q) < 1e-26
        };
        all.filter(of).collect()
    };
    for seed in 1..=3 {
        let ((one, at_one), (two, at_two)) = (update(seed, 1), update(seed, 2));
        assert_eq!(pairs(&one, &at_one), pairs(&two, &at_two));
    }
}
