//! Where the paper's printed forms fail, in numbers.

use crate::draw::{close, q2, q2s};
use crate::moments::{Moments, apart2};
use motet_theory::{Cohort, Decay, Noise, Rates, Theta, phi};

fn two(c: [f64; 2]) -> [(Vec<f64>, Vec<f64>); 2] {
    [(vec![1.0], vec![c[0]]), (vec![2.0], vec![c[1]])]
}

#[test]
fn corollary_22_as_printed_is_false_for_many_local_steps() {
    let q2s = q2s();
    let scales = q2s.scales();
    let printed = 2.0 * scales.centres * scales.condition().powi(2) * scales.smoothness * 1e-6;
    close(printed * 1e5, 1.6);
    for (k, moved) in [(100, 2.2e-5), (200, 4.42e-5), (1000, 2.22e-4)] {
        let there = q2s.surrogate(1e-6, &Theta::all(k));
        let distance = q2s.surrogate(0.0, &Theta::all(k)).distance_to(there.minimiser().unwrap()).unwrap();
        assert!((distance / moved - 1.0).abs() < 5e-3, "K = {k}: {distance:e}");
        assert!(distance > printed && distance <= scales.simple_drift(k, 0.0, 1e-6), "K = {k}");
    }
}

#[test]
fn theorem_29_as_printed_is_false_for_many_local_steps() {
    for (k, round, ratio) in [(5000, 4587, 1.11), (10_000, 9185, 2.22)] {
        let q2s = q2s();
        let decay = Decay::new(&q2s, k, &Noise::none()).unwrap();
        let mut x = q2s.surrogate(decay.client_step(1), &Theta::all(k)).minimiser().unwrap()[0];
        for t in 1..round {
            let (gamma, eta) = (decay.client_step(t), decay.server_step(t));
            x -= eta * 0.5 * (phi(k, 1.0, gamma) * (x + 1.0) + phi(k, 2.0, gamma) * (x - 1.0));
        }
        let error = apart2(&[x], q2s.minimiser());
        assert!((error / decay.printed_bound(round, 0.0) - ratio).abs() < 0.01, "{}", error / decay.printed_bound(round, 0.0));
        assert!(error <= decay.bound(round, 0.0));
    }
}

#[test]
fn theorem_26_as_printed_forgets_the_variance_of_drawing_clients() {
    let (q2, functions) = (q2(), two([1.0, 0.5]));
    let step = Rates::new(&q2, 2, 0.25, &Noise::none()).unwrap().largest_step();
    let one = Noise { cohort: Cohort::Draws(1), ..Noise::none() };
    let surrogate = q2.surrogate(0.25, &Theta::all(2));
    let goal = surrogate.minimiser().unwrap();
    let mut moments = Moments::new(&functions, 2, one, goal);
    (0..2000).for_each(|_| moments.round(0.25, step));
    // The printed bound is 0 here: no noise, and started at the minimiser.
    assert!((moments.distance2(goal) - 0.0166003330).abs() < 1e-10, "{}", moments.distance2(goal));
    let corrected = Rates::new(&q2, 2, 0.25, &one).unwrap();
    let mut moments = Moments::new(&functions, 2, one, goal);
    (0..2000).for_each(|_| moments.round(0.25, corrected.largest_step()));
    assert!(moments.distance2(goal) <= corrected.floor(corrected.largest_step()));
}

#[test]
fn lemmas_7_and_9_have_the_wrong_exponents() {
    let q2 = q2();
    // Lemma 7 prints (1 − γλ)^K for the eigenvalue of Q(Θ_K): K − 1 is right.
    let last = q2.surrogate(0.25, &Theta::last(3));
    assert_eq!(last.distortion(0).unwrap(), [0.75f64.powi(2)]);
    // Lemma 9 drops the exponent K of (I − (I − γA)^K)(γA)⁻¹.
    let all = q2.surrogate(0.25, &Theta::all(3));
    close(all.distortion(0).unwrap()[0], (1.0 - 0.75f64.powi(3)) / 0.25);
}

#[test]
fn the_constant_of_theorem_29_rests_on_another_inequality_than_printed() {
    // μ_t ≥ Kμ/(2 ln 2), more than the printed Kμ/2; met in the limit of many steps at γ = ln 2/(Kμ).
    let (k, ln2) = (1_000_000, std::f64::consts::LN_2);
    let least = phi(k, 1.0, ln2 / f64::from(k)) / f64::from(k);
    assert!(least >= 1.0 / (2.0 * ln2) && least <= (1.0 + 1e-6) / (2.0 * ln2), "{least}");
}
