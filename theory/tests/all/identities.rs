//! Theorems 3 and 4 as identities: the client's loop on one side, matrices on the other.

use crate::draw::{all, close};
use motet_theory::{Cohort, Noise, Theta};

/// A (x − c)
fn gradient((a, c): &(Vec<f64>, Vec<f64>), x: &[f64]) -> Vec<f64> {
    let apart: Vec<f64> = x.iter().zip(c).map(|(x, c)| x - c).collect();
    product(a, &apart)
}

fn product(a: &[f64], v: &[f64]) -> Vec<f64> {
    a.chunks_exact(v.len()).map(|row| row.iter().zip(v).map(|(a, v)| a * v).sum()).collect()
}

/// y ← y + s v
fn step(y: &mut [f64], s: f64, v: &[f64]) {
    y.iter_mut().zip(v).for_each(|(y, v)| *y += s * v);
}

fn same(ours: &[f64], theirs: &[f64]) {
    let scale = theirs.iter().fold(1.0f64, |scale, v| scale.max(v.abs()));
    ours.iter().zip(theirs).for_each(|(o, t)| assert!((o - t).abs() <= 1e-9 * scale, "{ours:?} is not {theirs:?}"));
}

#[test]
fn theorem_3_what_a_client_sends_is_the_gradient_of_its_surrogate() {
    for mut draw in all() {
        let weights: Vec<f64> = (0..draw.steps).map(|_| draw.rng.normal()).collect();
        let (x, thetas) = (draw.point(3.0), [Theta::given(weights.clone()), Theta::all(draw.steps), Theta::last(draw.steps)]);
        for theta in thetas {
            let surrogate = draw.ensemble.surrogate(draw.gamma, &theta);
            for (i, f) in draw.functions.iter().enumerate() {
                let (mut y, mut sent) = (x.clone(), vec![0.0; x.len()]);
                for k in 0..draw.steps {
                    let g = gradient(f, &y);
                    let weight = if theta == Theta::all(draw.steps) {
                        1.0
                    } else if theta == Theta::last(draw.steps) {
                        f64::from(u8::from(k + 1 == draw.steps))
                    } else {
                        weights[k as usize]
                    };
                    step(&mut sent, weight, &g);
                    step(&mut y, -draw.gamma, &g);
                }
                same(&surrogate.client_gradient(i, &x).unwrap(), &sent);
                // … and Qᵢ ∇fᵢ(x).
                same(&product(&surrogate.distortion(i).unwrap(), &gradient(f, &x)), &sent);
            }
        }
    }
}

#[test]
fn theorem_4_maml_with_m_steps_is_the_last_of_2m_plus_1_gradients() {
    for mut draw in all() {
        let (x, m) = (draw.point(3.0), 1 + draw.steps % 8);
        let surrogate = draw.ensemble.surrogate(draw.gamma, &Theta::last(2 * m + 1));
        for (i, f) in draw.functions.iter().enumerate() {
            // ∇ f(X_m(x)) = (I − γA)^m ∇f(X_m(x)): adapt, differentiate, and go back through the steps.
            let mut y = x.clone();
            for _ in 0..m {
                let g = gradient(f, &y);
                step(&mut y, -draw.gamma, &g);
            }
            let mut u = gradient(f, &y);
            for _ in 0..m {
                let curved = product(&f.0, &u);
                step(&mut u, -draw.gamma, &curved);
            }
            same(&surrogate.client_gradient(i, &x).unwrap(), &u);
        }
    }
}

#[test]
fn the_gradient_of_the_surrogate_is_the_derivative_of_its_value_and_zero_at_its_minimiser() {
    for mut draw in all().take(100) {
        let x = draw.point(1.0);
        let surrogate = draw.ensemble.surrogate(draw.gamma, &Theta::all(draw.steps));
        let g = surrogate.gradient(&x);
        for k in 0..x.len() {
            let (mut ahead, mut behind) = (x.clone(), x.clone());
            (ahead[k], behind[k]) = (x[k] + 1e-3, x[k] - 1e-3);
            // Central differences of a quadratic are exact but for rounding of its value.
            let (high, low) = (surrogate.value(&ahead), surrogate.value(&behind));
            assert!(((high - low) / 2e-3 - g[k]).abs() <= 1e-9 * (1.0 + high.abs()) + 1e-9 * g[k].abs());
        }
        let rest = surrogate.gradient(surrogate.minimiser().unwrap());
        let scale =
            surrogate.smoothness() * (1.0 + surrogate.distance_to(&draw.ensemble.mean_centre()).unwrap() + draw.ensemble.scales().centres);
        assert!(rest.iter().all(|g| g.abs() <= 1e-10 * scale), "{rest:?}");
    }
}

#[test]
fn lemma_23s_sampling_term_is_the_variance_over_all_draws() {
    for mut draw in all() {
        let (x, n) = (draw.point(2.0), draw.ensemble.len());
        let surrogate = draw.ensemble.surrogate(draw.gamma, &Theta::all(draw.steps));
        let sent: Vec<Vec<f64>> = (0..n).map(|i| surrogate.client_gradient(i, &x).unwrap()).collect();
        let whole = surrogate.gradient(&x);
        let apart = |i: usize, j: usize| (0..x.len()).map(|k| (0.5 * (sent[i][k] + sent[j][k]) - whole[k]).powi(2)).sum::<f64>();
        let pairs = || (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
        let draws = pairs().map(|(i, j)| apart(i, j)).sum::<f64>() / (n * n) as f64;
        let distinct = pairs().filter(|(i, j)| i != j).map(|(i, j)| apart(i, j)).sum::<f64>() / (n * (n - 1)) as f64;
        let variance = |cohort| Noise { cohort, ..Noise::none() }.variance(&surrogate, n, &x) / draws.max(1e-30);
        close(variance(Cohort::Draws(2)), 1.0);
        close(variance(Cohort::Distinct(2)), distinct / draws.max(1e-30));
    }
}
