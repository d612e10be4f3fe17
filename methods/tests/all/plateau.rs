//! Plateau decay against the specification's rounds, and LocalUpdateDecay as LocalUpdate with it.

use crate::lab::Lab;
use crate::local_update::method;
use motet_core::{Plan, Reader, Row, Seed, Wire};
use motet_methods::local_update::LocalUpdate;
use motet_methods::local_update_decay::LocalUpdateDecay;
use motet_methods::parts::{Decay, Plateau};
use motet_problems::synthetic::formula::{lrs, q2};
use serde_json::json;

/// The rounds, counted from 1, after which the rates fall.
fn falls(losses: impl Iterator<Item = f64>, window: u32, patience: u32, cooldown: u32, machine: &str) -> Vec<usize> {
    let settings = json!({ "window": window, "patience": patience, "cooldown": cooldown, "machine": machine });
    let decay: Decay = serde_json::from_value(settings).unwrap();
    let mut state = decay.begin();
    let mut after = vec![];
    for (k, loss) in losses.enumerate() {
        // What sleeps in a checkpoint goes on as if nothing had happened.
        let mut bytes = vec![];
        state.encode(&mut bytes);
        state = Plateau::decode(&mut Reader::new(&bytes)).unwrap();
        if decay.push(&mut state, loss) {
            after.push(k + 1);
        }
    }
    assert_eq!(state.falls as usize, after.len());
    after
}

#[test]
fn rates_fall_after_the_rounds_of_the_specification() {
    let stairs = || [5.0, 4.0, 3.0, 2.0, 1.0].into_iter().chain(std::iter::repeat_n(1.0, 15));
    assert_eq!(falls(stairs(), 3, 2, 3, "released"), [9, 13, 17]);
    assert_eq!(falls(stairs(), 3, 3, 3, "released"), [10, 15, 20]);
    assert_eq!(falls(stairs(), 1, 1, 0, "released"), (6..=20).collect::<Vec<_>>());
    let late = std::iter::repeat_n(2.0, 8).chain(std::iter::repeat_n(1.9, 9));
    assert_eq!(falls(late, 3, 2, 3, "released"), [5, 13, 17]);
    let slow = || (0..30).map(|t| 1.0 - 3e-5 * f64::from(t));
    assert_eq!(falls(slow(), 3, 3, 3, "released"), [6, 14, 22, 30]);
    assert_eq!(falls(slow(), 3, 3, 3, "paper"), [6, 12, 18, 24, 30]);
}

#[test]
fn on_a_flat_loss_falls_are_c_plus_p_minus_1_rounds_apart_and_c_plus_p_to_the_letter() {
    for (patience, cooldown) in [(2, 3), (4, 1), (3, 6)] {
        for (machine, apart) in [("released", cooldown + patience - 1), ("paper", cooldown + patience)] {
            let after = falls(std::iter::repeat_n(1.0, 80), 2, patience, cooldown, machine);
            assert!(after.len() > 4);
            assert!(after.windows(2).all(|pair| pair[1] - pair[0] == apart as usize), "{machine} {patience} {cooldown}: {after:?}");
        }
    }
}

fn rows(settings: serde_json::Value, rounds: u64) -> Vec<Row> {
    let lab = Lab::new(lrs(4, 6, 3));
    lab.run(&method::<LocalUpdateDecay>(settings), lab.zeros(), &Plan::new(rounds, Seed(1))).0
}

#[test]
fn both_rates_fall_by_their_factors_from_the_next_round_on() {
    let decay =
        json!({ "window": 1, "patience": 1, "cooldown": 0, "delta": 10, "client_factor": 0.5, "server_factor": 0.9, "least": 0.02 });
    // No loss falls by 10: the rates fall after every round but the first, which any loss improves on.
    let rows = rows(json!({ "gamma": 0.4, "eta": 0.2, "steps": 2, "decay": decay }), 7);
    let expected = |start: f64, factor: f64, round: u64| (start * factor.powi(round as i32 - 2).min(1.0)).max(0.02);
    for row in &rows[1..] {
        for (name, start, factor) in [("gamma", 0.4, 0.5), ("eta", 0.2, 0.9)] {
            let ours = row.notes[name];
            let theirs = if row.round < 3 { start } else { expected(start, factor, row.round) };
            assert!((ours - theirs).abs() < 1e-15, "{name} of round {}: {ours} is not {theirs}", row.round);
        }
    }
}

#[test]
fn without_a_plateau_it_is_local_update_that_also_sends_losses() {
    let lab = Lab::new(lrs(4, 6, 3));
    let plain: LocalUpdate = method(json!({ "gamma": 0.4, "eta": 0.2, "steps": 3, "batch": 2, "loss": true }));
    let decaying: LocalUpdateDecay = method(json!({ "gamma": 0.4, "eta": 0.2, "steps": 3, "batch": 2 }));
    let plan = Plan::new(50, Seed(1)); // the first fall takes 199 rounds
    let (ours, theirs) = (lab.run(&decaying, lab.zeros(), &plan).1, lab.run(&plain, lab.zeros(), &plan).1);
    assert_eq!(ours.server.x, theirs.server.x);
    assert_eq!((ours.ledger.gradients, ours.ledger.values), (theirs.ledger.gradients, theirs.ledger.values));
    assert_eq!(ours.ledger.values, 50 * 4 * 6, "every loss is booked");
    assert!(ours.ledger.entries().iter().any(|e| e.kind == "Assessed" && e.bits == 50 * 4 * 64 * 4));
}

#[test]
fn decay_takes_the_bias_of_local_steps_away() {
    let lab = Lab::new(q2());
    let decay = json!({ "window": 5, "patience": 5, "cooldown": 5, "delta": 1e-9, "server_factor": 1.0 });
    let end = |method: serde_json::Value| {
        lab.run(&self::method::<LocalUpdateDecay>(method), lab.zeros(), &Plan::new(400, Seed(1))).1.server.x.at(0)
    };
    let falling = end(json!({ "gamma": 0.25, "eta": 0.1, "steps": 3, "decay": decay }));
    // Ten falls leave γ = 2.5e-11: the bias of the surrogate is then below 1e-11. With γ fixed it is 0.032.
    assert!((falling - 2.0 / 3.0).abs() < 1e-6, "{falling}");
}
