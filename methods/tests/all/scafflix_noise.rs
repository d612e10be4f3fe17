//! Scafflix with noisy gradients: Theorem 1's floor and Corollary 2's steps.

use crate::lab::controlled::{End, Setup, Target, gradient};
use crate::lab::{Lab, close};
use motet_core::{Batch, Plan, Seed};
use motet_methods::scafflix::{Personal, Scafflix};
use motet_problems::synthetic::formula::lrs;
use serde_json::{Value, json};

const ALPHA: [f64; 4] = [0.1, 0.4, 0.7, 1.0];

fn scafflix(batch: Option<u32>, target: Value) -> Scafflix {
    let solve = json!({ "kind": "newton", "to": 1e-14, "steps": 200 });
    serde_json::from_value(json!({ "alpha": { "per_client": ALPHA }, "solve": solve, "batch": batch, "target": target })).unwrap()
}

fn rounds(count: u64) -> Plan {
    Plan::new(count, Seed(0))
}

/// Cᵢ = 2 E |gᵢ − ∇fᵢ|² at the optimum, over all batches of one or two of six examples.
fn noise(lab: &Lab, target: &Target, size: u32) -> Vec<f64> {
    let batches: Vec<Vec<u32>> =
        if size == 1 { (0..6).map(|j| vec![j]).collect() } else { (0..6).flat_map(|j| (0..j).map(move |k| vec![k, j])).collect() };
    let of = |i: usize| {
        let whole = gradient(&*lab.clients[i], target.model(i));
        let apart = |rows: &Vec<u32>| {
            let mut g = whole.zeros_like();
            lab.clients[i].gradient(target.model(i), Batch::of(rows), &mut g);
            g.distance2(&whole)
        };
        2.0 * batches.iter().map(apart).sum::<f64>() / batches.len() as f64
    };
    (0..4).map(of).collect()
}

fn mean_psi(lab: &Lab, target: &Target, method: &Scafflix, count: u64, seeds: u64) -> f64 {
    (0..seeds).map(|seed| target.psi(&Setup::new(lab, seed).run(method, &rounds(count)))).sum::<f64>() / seeds as f64
}

#[test]
fn the_noise_floor_of_small_batches_is_below_theorem_1() {
    let lab = Lab::new(lrs(4, 6, 3));
    let target = Target::new(&lab, &ALPHA);
    for size in [1, 2] {
        let method = scafflix(Some(size), json!(null));
        let start = Setup::new(&lab, 1).run(&method, &rounds(0));
        let (c, zeta) = (noise(&lab, &target, size), start.p * start.p);
        let bound = target.least(&start.step) / zeta * (0..4).map(|i| start.step[i] * c[i]).sum::<f64>() / 4.0;
        // 150 rounds are at least 150 iterations.
        let decay = (1.0 - zeta).powi(150) * target.psi(&start);
        let mean = mean_psi(&lab, &target, &method, 150, 60);
        eprintln!("batch {size}: Ψ {mean:e}, floor of the theorem {bound:e}");
        assert!(mean <= bound + decay, "batch {size}: {mean:e} > {bound:e}");
        assert!(mean > 1e-3 * bound, "there is noise");
    }
}

#[test]
fn the_steps_of_corollary_2_bring_psi_below_the_target() {
    let lab = Lab::new(lrs(4, 6, 3));
    let target = Target::new(&lab, &ALPHA);
    let (c, eps) = (noise(&lab, &target, 2), 0.02);
    let method = scafflix(Some(2), json!({ "eps": eps, "noise": { "per_client": c } }));
    let start = Setup::new(&lab, 1).run(&method, &rounds(0));
    let plain = Setup::new(&lab, 1).run(&scafflix(Some(2), json!(null)), &rounds(0));
    for (i, noise) in c.iter().enumerate() {
        close(start.step[i], plain.step[i].min(eps * 0.1 / (2.0 * noise)));
        close(start.trained.server.steps[i], start.step[i]);
    }
    close(start.p, (0.1 * target.least(&start.step)).sqrt());
    let (without, with) = (mean_psi(&lab, &target, &scafflix(Some(2), json!(null)), 150, 20), mean_psi(&lab, &target, &method, 300, 20));
    eprintln!("Ψ {without:e} without, {with:e} with the target");
    assert!(with <= eps && without > eps, "{with:e} and {without:e}");
}

#[test]
fn single_examples_need_steps_for_the_steepest_of_them() {
    let lab = Lab::new(lrs(4, 6, 3));
    let step = |batch: Option<u32>| Setup::new(&lab, 1).run(&scafflix(batch, json!(null)), &rounds(0)).step[0];
    let known = lab.constants()[0];
    close(step(None), 1.0 / known.smoothness.unwrap());
    close(step(Some(1)), 0.5 / known.sample_smoothness.unwrap());
    close(step(Some(6)), 1.0 / known.smoothness.unwrap());
    assert!(step(Some(1)) < step(Some(3)) && step(Some(3)) < step(Some(6)));
}

#[test]
fn steps_that_fall_on_a_plateau_lower_the_noise_floor_and_keep_the_optimum() {
    let lab = Lab::new(lrs(4, 6, 3));
    let target = Target::new(&lab, &[1.0; 4]);
    let decay = json!({ "window": 20, "patience": 20, "cooldown": 20, "client_factor": 0.5 });
    let end = |decay: Value, participation: Value| {
        let settings = json!({ "alpha": 1, "p": 0.3, "batch": 1, "decay": decay, "participation": participation });
        let method: Scafflix = serde_json::from_value(settings).unwrap();
        let (rows, trained) = lab.run(&method, lab.zeros(), &Plan::new(2500, Seed(1)));
        (rows, trained.server.x.distance2(&target.x))
    };
    for participation in [Value::Null, json!({ "clients": 2 })] {
        let (rows, falling) = end(decay.clone(), participation.clone());
        let (_, steady) = end(Value::Null, participation);
        let slow: Vec<f64> = rows[1..].iter().map(|row| row.notes["slow"]).collect();
        assert!(slow[0] == 1.0 && slow.windows(2).all(|pair| pair[1] == pair[0] || pair[1] == 0.5 * pair[0]));
        // The floor is proportional to the step, which falls to a hundredth and less.
        assert!(*slow.last().unwrap() < 0.01 && falling < 0.1 * steady, "{falling} against {steady}");
    }
}

/// Everyone's noise is learnt in rounds, and it is what it is at the optimum.
#[test]
fn noise_that_is_learnt_in_rounds_is_the_truth_and_brings_psi_below_the_target() {
    let lab = Lab::new(lrs(4, 6, 3));
    let target = Target::new(&lab, &ALPHA);
    let (c, eps) = (noise(&lab, &target, 2), 0.02);
    let method = scafflix(Some(2), json!({ "eps": eps, "online": true }));
    let start = Setup::new(&lab, 1).run(&scafflix(Some(2), json!(null)), &rounds(0));
    let truth = (0..4).map(|i| start.step[i] * c[i]).sum::<f64>() / 4.0;
    let seeds = 0..20;
    let ends: Vec<_> = seeds.map(|seed| Setup::new(&lab, seed).run(&method, &rounds(300))).collect();
    let learnt: Vec<f64> = ends.iter().map(|end| end.trained.server.met.as_ref().unwrap().mean / truth).collect();
    let mean = learnt.iter().sum::<f64>() / 20.0;
    // Each is a mean of about 200 rounds of four clients, and x is still a little away from the optimum.
    assert!((mean - 1.0).abs() < 0.05 && learnt.iter().all(|ratio| (ratio - 1.0).abs() < 0.3), "{mean}: {learnt:?}");
    // Ψ of the steps and the p that the last round had.
    let psi = |end: &End<Personal>| {
        let slow = end.trained.server.met.as_ref().map_or(1.0, |met| met.slow());
        let step: Vec<f64> = end.step.iter().map(|step| step * slow).collect();
        target.psi_of(&vec![end.x.clone(); 4], &end.h, &step, method.chance(end.p, slow))
    };
    let with = ends.iter().map(psi).sum::<f64>() / 20.0;
    let without = mean_psi(&lab, &target, &scafflix(Some(2), json!(null)), 300, 20);
    // Theorem 1's floor with the true noise, for the largest factor that a seed ended with.
    let most = ends.iter().map(|end| end.trained.server.met.as_ref().unwrap().slow()).fold(0.0, f64::max);
    let floor = most * target.least(&start.step) / (start.p * start.p) * truth;
    eprintln!("Psi {with:e} with noise that is learnt, {without:e} without; the floor of the theorem is {floor:e}");
    assert!(with <= eps && with <= floor && without > eps, "{with:e} with, {without:e} without, floor {floor:e}");
    for end in &ends {
        let met = end.trained.server.met.as_ref().unwrap();
        assert!(met.slow() < 1.0 && met.rounds == 300);
    }
}

#[test]
fn noise_that_cannot_be_learnt_is_refused_in_words() {
    use motet_core::Study;
    let refused = |batch, target: Value| scafflix(batch, target).suits(Some(4)).unwrap_err().to_string();
    assert!(refused(Some(2), json!({ "eps": 0.1 })).contains("online = true"));
    assert!(refused(None, json!({ "eps": 0.1, "online": true })).contains("give batch"));
    assert!(scafflix(Some(2), json!({ "eps": 0.1, "online": true, "noise": 1.0 })).suits(Some(4)).is_ok());
}
