//! Bounds on where the surrogate's minimiser is, on a thousand random ensembles each.

use crate::draw::{all, within};
use motet_theory::{Theta, gamma_keeping, phi};

#[test]
fn corollary_13_bounds_the_condition_number_of_all_gradients() {
    for draw in all() {
        let surrogate = draw.ensemble.surrogate(draw.gamma, &Theta::all(draw.steps));
        let scales = draw.ensemble.scales();
        within(surrogate.smoothness(), phi(draw.steps, scales.smoothness, draw.gamma), 1.0, "smoothness");
        within(phi(draw.steps, scales.convexity, draw.gamma), surrogate.convexity(), 1.0, "convexity");
        within(surrogate.condition(), scales.condition_all(draw.steps, draw.gamma), 1.0, "condition number");
        // It regularises: never worse than that of f's bound.
        within(scales.condition_all(draw.steps, draw.gamma), scales.condition(), 1.0, "regularisation");
    }
}

#[test]
fn corollary_14_bounds_the_condition_number_of_the_last_gradient() {
    for draw in all() {
        let gamma = draw.gamma / f64::from(draw.steps);
        let bound = draw.ensemble.scales().condition_last(draw.steps, gamma).unwrap();
        within(draw.ensemble.surrogate(gamma, &Theta::last(draw.steps)).condition(), bound, 1.0, "condition number");
    }
}

#[test]
fn lemma_15_the_one_shot_loss_is_above_every_surrogate_and_their_limit() {
    for mut draw in all() {
        let x = draw.point(3.0);
        let limit = draw.ensemble.one_shot_loss(&x, draw.gamma);
        let value = |steps| draw.ensemble.surrogate(draw.gamma, &Theta::all(steps)).value(&x);
        within(value(draw.steps), limit, limit, "Lemma 15");
        // (1 − γμ)^K < 1e-12 once K γ μ > 28.
        let many = (28.0 / (draw.gamma * draw.ensemble.scales().convexity)).ceil() as u32;
        assert!((value(many) - limit).abs() <= 1e-9 * limit, "{} is not {limit}", value(many));
        let end = draw.ensemble.surrogate(draw.gamma, &Theta::all(many)).distance_to(&draw.ensemble.mean_centre()).unwrap();
        assert!(end <= 1e-9 * (1.0 + draw.ensemble.scales().centres), "{end}");
    }
}

#[test]
fn theorem_16_bounds_the_distance_for_any_weights() {
    for mut draw in all() {
        let theta = draw.theta();
        let distance = draw.ensemble.surrogate(draw.gamma, &theta).distance().unwrap();
        within(distance, draw.ensemble.scales().distance(&theta, draw.gamma), draw.ensemble.scales().centres, "Theorem 16");
    }
}

#[test]
fn theorem_17_bounds_the_distance_for_all_gradients_and_theorem_16_is_no_tighter() {
    for draw in all() {
        let (scales, theta) = (draw.ensemble.scales(), Theta::all(draw.steps));
        let distance = draw.ensemble.surrogate(draw.gamma, &theta).distance().unwrap();
        // K L − φ loses about K L ε to rounding, divided by φ_{K,μ}.
        let rounding = scales.centres * (1.0 + scales.curvatures / scales.convexity) * scales.condition();
        within(distance, scales.distance_all(draw.steps, draw.gamma), rounding, "Theorem 17");
        within(scales.distance_all(draw.steps, draw.gamma), scales.distance(&theta, draw.gamma), rounding, "16 above 17");
    }
}

#[test]
fn lemma_18_and_corollary_20_hold_up_to_their_last_epsilon() {
    for mut draw in all() {
        let last = -(-f64::from(draw.steps)).exp_m1();
        let epsilon = if draw.rng.coin(0.2) { last } else { last * draw.rng.unit() };
        let scales = draw.ensemble.scales();
        let gamma = gamma_keeping(epsilon, draw.steps, scales.smoothness).unwrap() * (1.0 - 1e-12);
        let k = f64::from(draw.steps);
        for eigenvalue in [scales.smoothness, scales.convexity] {
            within((1.0 - epsilon) * k * eigenvalue, phi(draw.steps, eigenvalue, gamma), k * eigenvalue, "Lemma 18");
        }
        let distance = draw.ensemble.surrogate(gamma, &Theta::all(draw.steps)).distance().unwrap();
        within(distance, scales.distance_keeping(epsilon), scales.centres, "Corollary 20");
        // And the rate it recommends keeps what was asked for.
        let accuracy = scales.centres * 10f64.powf(-3.0 * draw.rng.unit());
        for gamma in [scales.gamma_for(draw.steps, accuracy) * (1.0 - 1e-9), scales.sharp_gamma_for(draw.steps, accuracy)] {
            let distance = draw.ensemble.surrogate(gamma, &Theta::all(draw.steps)).distance().unwrap();
            within(distance, accuracy, scales.centres, "recommended rate");
        }
    }
}

#[test]
fn theorem_21_and_the_corrected_corollary_22_bound_the_drift_between_two_rates() {
    for mut draw in all() {
        let (scales, theta) = (draw.ensemble.scales(), Theta::all(draw.steps));
        let (first, second) = (draw.gamma * draw.rng.unit(), draw.gamma);
        let there = draw.ensemble.surrogate(second, &theta);
        let moved = draw.ensemble.surrogate(first, &theta).distance_to(there.minimiser().unwrap()).unwrap();
        within(moved, scales.drift(draw.steps, first, second), scales.centres * scales.condition(), "Theorem 21");
        within(moved, scales.simple_drift(draw.steps, first, second), scales.centres, "Corollary 22, corrected");
        within(
            scales.drift(draw.steps, first, second),
            scales.simple_drift(draw.steps.max(2), first, second),
            scales.centres * scales.condition().powi(2),
            "22 from 21",
        );
    }
}
