//! Theorems 26 to 29 against exact second moments, on a thousand random ensembles each.

use crate::draw::{Draw, all, within};
use crate::moments::{Moments, apart2, start};
use motet_theory::{Cohort, Decay, Noise, Rates, Theta, gamma_keeping};

const ROUNDS: u64 = 40;

/// Noise of every size, none in a third of the cases.
fn noise(draw: &mut Draw, cohort: Cohort) -> Noise {
    let gradient = if draw.rng.coin(0.3) { 0.0 } else { 10f64.powf(4.0 * draw.rng.unit() - 2.0) };
    Noise { gradient, batch: 1 + draw.rng.below(4) as u32, cohort }
}

fn begin(draw: &mut Draw) -> Vec<f64> {
    let by = draw.point(1.0);
    let scale = 10f64.powf(2.0 * draw.rng.unit() - 1.0);
    start(&draw.ensemble, &by.iter().map(|v| scale * v).collect::<Vec<_>>())
}

#[test]
fn theorem_26_a_fixed_server_rate_contracts_to_a_floor() {
    for mut draw in all() {
        let cohort = if draw.rng.coin(0.5) { Cohort::Everyone } else { Cohort::Draws(1 + draw.rng.below(3) as u32) };
        let (noise, x) = (noise(&mut draw, cohort), begin(&mut draw));
        let rates = Rates::new(&draw.ensemble, draw.steps, draw.gamma, &noise).unwrap();
        let step = rates.largest_step() * if draw.rng.coin(0.5) { 1.0 } else { draw.rng.unit() };
        let surrogate = draw.ensemble.surrogate(draw.gamma, &Theta::all(draw.steps));
        let goal = surrogate.minimiser().unwrap();
        let first = apart2(&x, goal);
        let mut moments = Moments::new(&draw.functions, draw.steps, noise, &x);
        for t in 1..=ROUNDS {
            moments.round(draw.gamma, step);
            within(moments.distance2(goal), rates.fixed(step, t, first), first, "Theorem 26");
        }
        let accuracy2 = first * 1e-3 + 2.0 * rates.floor(step);
        let rounds = rates.rounds_fixed(step, first, accuracy2).unwrap();
        within(rates.fixed(step, rounds, first), accuracy2, first, "predicted rounds");
        assert!(rounds == 0 || rates.fixed(step, rounds - 1, first) >= accuracy2 * (1.0 - 1e-9), "{rounds} rounds are too many");
    }
}

#[test]
fn theorem_27_a_decaying_server_rate_gets_to_the_surrogates_minimiser() {
    for mut draw in all() {
        let cohort = if draw.rng.coin(0.5) { Cohort::Everyone } else { Cohort::Draws(1 + draw.rng.below(3) as u32) };
        let (noise, x) = (noise(&mut draw, cohort), begin(&mut draw));
        let rates = Rates::new(&draw.ensemble, draw.steps, draw.gamma, &noise).unwrap();
        let surrogate = draw.ensemble.surrogate(draw.gamma, &Theta::all(draw.steps));
        let goal = surrogate.minimiser().unwrap();
        let first = apart2(&x, goal);
        let mut moments = Moments::new(&draw.functions, draw.steps, noise, &x);
        for t in 1..=ROUNDS {
            within(moments.distance2(goal), rates.decaying(t, first), first, "Theorem 27");
            moments.round(draw.gamma, rates.decaying_step(t));
        }
        let rounds = rates.rounds_decaying(first, 1e-4 * first);
        within(rates.decaying(rounds, first), 1e-4 * first, first, "predicted rounds");
    }
}

#[test]
fn corollary_28_a_small_client_rate_brings_it_near_the_true_minimiser() {
    for mut draw in all() {
        let (noise, x) = (noise(&mut draw, Cohort::Everyone), begin(&mut draw));
        let epsilon = -(-f64::from(draw.steps)).exp_m1() * draw.rng.unit() * 0.999;
        let gamma = gamma_keeping(epsilon, draw.steps, draw.ensemble.scales().smoothness).unwrap();
        let rates = Rates::new(&draw.ensemble, draw.steps, gamma, &noise).unwrap();
        let surrogate = draw.ensemble.surrogate(gamma, &Theta::all(draw.steps));
        let first = apart2(&x, surrogate.minimiser().unwrap());
        let mut moments = Moments::new(&draw.functions, draw.steps, noise, &x);
        for t in 1..=ROUNDS {
            let bound = rates.decaying_to_truth(t, first, epsilon);
            within(moments.distance2(draw.ensemble.minimiser()), bound, first, "Corollary 28");
            moments.round(gamma, rates.decaying_step(t));
        }
    }
}

#[test]
fn theorem_29_corrected_two_decaying_rates_get_to_the_true_minimiser() {
    for mut draw in all() {
        let noise = noise(&mut draw, Cohort::Everyone);
        let decay = Decay::new(&draw.ensemble, draw.steps, &noise).unwrap();
        let first = draw.ensemble.surrogate(decay.client_step(1), &Theta::all(draw.steps));
        let first = first.minimiser().unwrap().to_vec();
        // Where the first term of ν vanishes the bias must be paid by the second.
        let x = if draw.rng.coin(0.5) { first.clone() } else { begin(&mut draw) };
        let first = apart2(&x, &first);
        let mut moments = Moments::new(&draw.functions, draw.steps, noise, &x);
        for t in 1..=ROUNDS {
            let scale = first + draw.ensemble.scales().centres.powi(2);
            within(moments.distance2(draw.ensemble.minimiser()), decay.bound(t, first), scale, "Theorem 29");
            moments.round(decay.client_step(t), decay.server_step(t));
        }
        let rounds = decay.rounds(first, 1e-3);
        within(decay.bound(rounds, first), 1e-3, first, "predicted rounds");
    }
}

#[test]
fn rates_without_a_theorem_are_refused() {
    let q2 = crate::draw::q2();
    assert!(Rates::new(&q2, 2, 0.5, &Noise::none()).is_none(), "γ = 1/L");
    assert!(Rates::new(&q2, 0, 0.1, &Noise::none()).is_none() && Rates::new(&q2, 2, f64::NAN, &Noise::none()).is_none());
    assert!(Decay::new(&q2, 2, &Noise { cohort: Cohort::Draws(1), ..Noise::none() }).is_none());
    let noisy = Noise { gradient: 1.0, ..Noise::none() };
    let rates = Rates::new(&q2, 2, 0.25, &noisy).unwrap();
    assert_eq!(rates.rounds_fixed(rates.largest_step(), 1.0, rates.floor(rates.largest_step())), None, "the floor is never reached");
}
