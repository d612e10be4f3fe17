//! What local steps would do on quadratic problems: how far from the minimiser they end, and how fast.

use motet_core::{Batch, Objective, Precision, Shard, Vector};
use motet_theory::{Decay, Ensemble, Noise, Rates, Theta};
use serde::Serialize;

use crate::config::MethodEntry;
use crate::simulate::Built;

/// The theory of FedAvg and Reptile with whole gradients and everyone, for one quadratic problem.
#[derive(Serialize)]
pub(super) struct LocalUpdates {
    problem: usize,
    /// L, μ, σ_c and σ_A.
    smoothness: f64,
    convexity: f64,
    centre_spread: f64,
    curvature_spread: f64,
    /// |E cᵢ − x*|: where ever more local steps end.
    one_shot_distance: f64,
    /// |x⁰ − x*|
    start_distance: f64,
    walks: Vec<Walk>,
    recommended: Vec<Recommended>,
}

/// K local steps of rate γ.
#[derive(Serialize)]
struct Walk {
    steps: u32,
    gamma: f64,
    /// |x*(γ) − x*|, exactly, and Theorem 17's bound on it.
    distance: f64,
    distance_bound: f64,
    /// Of the surrogate, exactly, and Corollary 13's bound on it.
    condition: f64,
    condition_bound: f64,
    /// The largest server rate of Theorem 26 and the rounds it promises to 1e-3 and 1e-6 of the start.
    server_rate: f64,
    rounds: [Option<u64>; 2],
}

/// The client rate for an accuracy.
#[derive(Serialize)]
struct Recommended {
    steps: u32,
    /// ε: |x*(γ) − x*| ≤ ε.
    accuracy: f64,
    /// By Corollary 20, and by Theorem 17.
    gamma: f64,
    sharp_gamma: f64,
    /// What the sharper one really gives.
    distance: f64,
    /// Until |x − x*| ≤ 2ε: with that rate fixed (Theorem 26), and with both rates decaying (Theorem 29).
    rounds_fixed: Option<u64>,
    rounds_decaying: u64,
}

const STEPS: [u32; 4] = [1, 2, 10, 50];
/// Client rates, in units of 1/L.
const RATES: [f64; 3] = [0.01, 0.1, 0.5];
/// Accuracies, in units of |x⁰ − x*|.
const ACCURACIES: [f64; 3] = [1e-1, 1e-2, 1e-3];
/// n d³ above which eigenvalues take longer than a check should.
const AFFORDABLE: f64 = 1e9;

/// For every problem whose clients are all strongly convex quadratics of an affordable size. Client rates `step` and
/// numbers of `local_steps` that the experiment's methods have are looked at too.
pub(super) fn of(problems: &[Built], methods: &[MethodEntry]) -> Vec<LocalUpdates> {
    let named: Vec<(u32, f64)> = methods.iter().filter_map(named).collect();
    let quadratic = |(k, built): (usize, &Built)| {
        let ensemble = ensemble(&built.problem.shards)?;
        Some(theory(k, &ensemble, &built.problem.start().to_f64(), &named))
    };
    problems.iter().enumerate().filter_map(quadratic).collect()
}

/// K and γ of a method that sums the gradients of local steps.
fn named(entry: &MethodEntry) -> Option<(u32, f64)> {
    let params = entry.method.params();
    Some((u32::try_from(params.get("local_steps")?.as_u64()?).ok()?, params.get("step")?.as_f64()?))
}

fn ensemble(shards: &[Shard]) -> Option<Ensemble> {
    let first = shards.first()?.train.dim();
    let affordable = shards.len() as f64 * (first as f64).powi(3) <= AFFORDABLE;
    let fits = |f: &dyn Objective| f.quadratic() && f.precision() == Precision::F64 && f.dim() == first;
    (affordable && shards.iter().all(|shard| fits(&*shard.train)))
        .then(|| Ensemble::from_slopes(shards.iter().map(|s| parts(&*s.train))).ok())?
}

/// A, row after row, and ∇f(0).
fn parts(f: &dyn Objective) -> (Vec<f64>, Vec<f64>) {
    let zero = Vector::zeros(f.dim(), f.precision());
    let (mut axis, mut column, mut curvature) = (zero.clone(), zero.clone(), vec![]);
    for k in 0..f.dim() {
        axis.f64s_mut()[k] = 1.0;
        f.hessian_vector(&zero, &axis, Batch::all(), &mut column);
        axis.f64s_mut()[k] = 0.0;
        curvature.extend_from_slice(column.f64s()); // symmetric: a column is a row
    }
    f.gradient(&zero, Batch::all(), &mut column);
    (curvature, column.to_f64())
}

fn theory(problem: usize, ensemble: &Ensemble, start: &[f64], named: &[(u32, f64)]) -> LocalUpdates {
    let scales = ensemble.scales();
    let start_distance = distance(start, ensemble.minimiser());
    let mut pairs: Vec<(u32, f64)> =
        STEPS.iter().flat_map(|&k| RATES.map(|rate| (k, rate / scales.smoothness))).chain(named.iter().copied()).collect();
    pairs.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    pairs.dedup();
    let walks = pairs.into_iter().filter_map(|(steps, gamma)| Walk::of(ensemble, steps, gamma, start));
    let recommend = |k: u32| ACCURACIES.iter().filter_map(move |share| Recommended::of(ensemble, k, share * start_distance, start));
    LocalUpdates {
        problem,
        smoothness: scales.smoothness,
        convexity: scales.convexity,
        centre_spread: scales.centres,
        curvature_spread: scales.curvatures,
        one_shot_distance: distance(&ensemble.mean_centre(), ensemble.minimiser()),
        start_distance,
        walks: walks.collect(),
        recommended: if start_distance > 0.0 { STEPS[1..].iter().copied().flat_map(recommend).collect() } else { vec![] },
    }
}

impl Walk {
    fn of(ensemble: &Ensemble, steps: u32, gamma: f64, start: &[f64]) -> Option<Self> {
        let surrogate = ensemble.surrogate(gamma, &Theta::all(steps));
        let rates = Rates::new(ensemble, steps, gamma, &Noise::none())?;
        let (step, start2) = (rates.largest_step(), surrogate.distance_to(start)?.powi(2));
        Some(Self {
            steps,
            gamma,
            distance: surrogate.distance()?,
            distance_bound: ensemble.scales().distance_all(steps, gamma),
            condition: surrogate.condition(),
            condition_bound: ensemble.scales().condition_all(steps, gamma),
            server_rate: step,
            rounds: [1e-3f64, 1e-6].map(|share| rates.rounds_fixed(step, start2, share.powi(2) * start2)),
        })
    }
}

impl Recommended {
    fn of(ensemble: &Ensemble, steps: u32, accuracy: f64, start: &[f64]) -> Option<Self> {
        let (scales, none) = (ensemble.scales(), Noise::none());
        let sharp_gamma = scales.sharp_gamma_for(steps, accuracy);
        let surrogate = ensemble.surrogate(sharp_gamma, &Theta::all(steps));
        let (rates, decay) = (Rates::new(ensemble, steps, sharp_gamma, &none)?, Decay::new(ensemble, steps, &none)?);
        let first = ensemble.surrogate(decay.client_step(1), &Theta::all(steps)).distance_to(start)?;
        Some(Self {
            steps,
            accuracy,
            gamma: scales.gamma_for(steps, accuracy),
            sharp_gamma,
            distance: surrogate.distance()?,
            rounds_fixed: rates.rounds_fixed(rates.largest_step(), surrogate.distance_to(start)?.powi(2), accuracy.powi(2)),
            rounds_decaying: decay.rounds(first.powi(2), (2.0 * accuracy).powi(2)),
        })
    }
}

fn distance(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt()
}

/// For people; nothing where there are no quadratics.
pub(super) fn table(all: &[LocalUpdates]) -> String {
    let mut text = String::new();
    for of in all {
        text.push_str(&format!(
            "Local updates on the quadratics of problem {} (whole gradients, everyone):\n  L = {:.6}, mu = {:.6}, minimisers spread {:.6}, curvatures {:.6}\n",
            of.problem, of.smoothness, of.convexity, of.centre_spread, of.curvature_spread
        ));
        text.push_str(&format!(
            "  |start - x*| = {:.6}; ever more local steps end {:.6} from x*\n",
            of.start_distance, of.one_shot_distance
        ));
        text.push_str(
            "      K      gamma   |x*(gamma)-x*|  at most     condition  at most   eta         rounds to 1e-3, 1e-6 of the start\n",
        );
        for w in &of.walks {
            let rounds = w.rounds.map(|r| r.map_or_else(|| "never".to_owned(), |r| r.to_string()));
            text.push_str(&format!(
                "  {:>5}  {:<10.4e} {:<14.6e} {:<11.3e} {:<10.4} {:<9.4} {:<10.4e}  {}, {}\n",
                w.steps, w.gamma, w.distance, w.distance_bound, w.condition, w.condition_bound, w.server_rate, rounds[0], rounds[1]
            ));
        }
        for r in &of.recommended {
            let fixed = r.rounds_fixed.map_or_else(|| "no number of".to_owned(), |rounds| rounds.to_string());
            text.push_str(&format!(
                "  to end within {:.3e} with K = {}: gamma = {:.4e} (Corollary 20), {:.4e} (Theorem 17; ends {:.3e} off); {fixed} rounds to twice that, {} with both rates decaying (Theorem 29)\n",
                r.accuracy, r.steps, r.gamma, r.sharp_gamma, r.distance, r.rounds_decaying
            ));
        }
    }
    text
}
