//! SCAFFOLD: no bias, and a memory that stays the mean of all memories.

use std::sync::Arc;

use crate::lab::{Lab, all_close, flix};
use motet_core::{ClientId, Outcome, Plan, Seed, Store, train};
use motet_methods::scaffold::Scaffold;
use motet_problems::synthetic::formula::{lrs, q2, q3};
use motet_runtime::{Inline, Lossy, Memory};
use serde_json::{Value, json};

fn scaffold(params: Value) -> Scaffold {
    serde_json::from_value(params).unwrap()
}

#[test]
fn it_converges_to_the_minimiser_however_many_local_steps() {
    let lab = Lab::new(q2());
    for steps in [1, 2, 5, 20] {
        for control in ["difference", "gradient"] {
            let method = scaffold(json!({ "step": 0.1, "steps": steps, "control": control }));
            all_close(&lab.run(&method, lab.zeros(), &Plan::new(600, Seed(1))).1.server.x, &[2.0 / 3.0]);
        }
    }
}

#[test]
fn it_converges_to_the_minimiser_with_sampled_clients_too() {
    for clients in [q3(), lrs(6, 5, 3)] {
        let lab = Lab::new(clients);
        let best = lab.optimum(&flix(&vec![1.0; lab.clients.len()], "zeros")).x.unwrap();
        let method = scaffold(json!({ "step": 0.05, "steps": 4, "sampling": { "clients": 2 } }));
        let x = lab.run(&method, lab.zeros(), &Plan::new(4000, Seed(1))).1.server.x;
        assert!(x.distance2(&best).sqrt() <= 1e-9, "{x:?} is not {best:?}");
    }
}

#[test]
fn one_local_step_with_everyone_is_gradient_descent() {
    let lab = Lab::new(lrs(4, 6, 3));
    let mut descent = flix(&[1.0; 4], "zeros");
    descent.step = motet_core::Rate::Given(motet_core::Positive::new(0.5).unwrap());
    let ours = lab.run(&scaffold(json!({ "step": 0.5 })), lab.zeros(), &Plan::new(30, Seed(1))).1.server.x;
    // Control variates cancel in the mean, to rounding.
    assert!(ours.distance2(&lab.iterate(&descent, 30)).sqrt() <= 1e-13);
}

#[test]
fn the_servers_control_variate_is_the_mean_of_the_clients_even_under_loss() {
    let lab = Lab::new(lrs(6, 5, 3));
    for (sampling, loss) in
        [(json!("everyone"), 0.0), (json!({ "clients": 2 }), 0.0), (json!({ "replacement": 3 }), 0.3), (json!({ "clients": 4 }), 0.3)]
    {
        let method = Arc::new(scaffold(json!({ "step": 0.1, "steps": 3, "batch": 2, "sampling": sampling })));
        let store = Arc::new(Memory::default());
        let inline = Inline::new(lab.host_with(&method, Arc::clone(&store), Seed(1)));
        let plan = Plan { quorum: 0.3, ..Plan::new(40, Seed(1)) };
        let trained = train(&*method, lab.zeros(), &plan, &mut Lossy::new(inline, loss, Seed(9)), &mut vec![]).unwrap();
        assert_eq!(trained.outcome, Outcome::Finished);
        let mut mean = lab.zeros();
        for id in (0..6).map(ClientId) {
            let kept = store.read(id).unwrap();
            if let Some(own) = kept.as_ref().and_then(|kept| kept.named(trained.heard.of(id))) {
                mean.axpy(1.0 / 6.0, own);
            }
        }
        assert!(mean.distance2(&trained.server.c).sqrt() <= 1e-12, "{sampling}: {mean:?} is not {:?}", trained.server.c);
    }
}

#[test]
fn two_vectors_travel_each_way() {
    let lab = Lab::new(lrs(4, 6, 3));
    let ledger = lab.run(&scaffold(json!({ "step": 0.1, "steps": 3 })), lab.zeros(), &Plan::new(5, Seed(1))).1.ledger;
    let bits = 5 * 4 * 2 * 3 * 64;
    assert_eq!((ledger.total(motet_core::Direction::Down).bits, ledger.total(motet_core::Direction::Up).bits), (bits, bits));
}
