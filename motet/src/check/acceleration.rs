//! What theory expects of local training and of individual steps on the problems of an experiment.

use motet_core::ClientId;
use motet_methods::parts::{Outlook, outlook};
use serde::Serialize;

use crate::method::AnyMethod;
use crate::simulate::{Built, Simulation};

/// How far the bounds have to fall.
const EPS: f64 = 1e-6;

/// The forecast for one problem and one choice of α.
#[derive(Debug, Serialize)]
pub(super) struct Acceleration {
    /// Which of the problems.
    problem: usize,
    /// The first run with these αᵢ, or with these up to a common factor, on which nothing here depends.
    alpha_of: String,
    #[serde(flatten)]
    outlook: Outlook,
}

/// One forecast for each problem whose constants are known and each way its clients share.
pub(super) fn accelerations(simulation: &Simulation) -> Vec<Acceleration> {
    let (mut seen, mut found) = (vec![], vec![]);
    for (card, planned) in simulation.manifest().runs.into_iter().zip(simulation.runs()) {
        let built = &simulation.problems()[card.problem];
        let alpha = shares(&*simulation.entry(planned).method, built.problem.shards.len() as u32);
        let key = (card.problem, alpha);
        if !seen.contains(&key) {
            let forecast = forecast(built, &key.1);
            found.extend(forecast.map(|outlook| Acceleration { problem: card.problem, alpha_of: card.label, outlook }));
            seen.push(key);
        }
    }
    found
}

fn forecast(built: &Built, alpha: &[f64]) -> Option<Outlook> {
    let known = || built.problem.shards.iter().map(|s| s.train.constants());
    let smoothness: Vec<f64> = known().map(|c| c.smoothness).collect::<Option<_>>()?;
    let convexity: Vec<f64> = known().map(|c| c.convexity).collect::<Option<_>>()?;
    outlook(&smoothness, &convexity, alpha, EPS)
}

/// αᵢ of a method, the largest of them 1.
fn shares(method: &dyn AnyMethod, clients: u32) -> Vec<f64> {
    let shares: Vec<f64> = (0..clients).map(|i| method.share(ClientId(i))).collect();
    let largest = shares.iter().copied().fold(0.0, f64::max);
    if largest > 0.0 { shares.iter().map(|a| a / largest).collect() } else { shares }
}

/// For people.
pub(super) fn table(all: &[Acceleration]) -> String {
    let mut text = String::new();
    for one in all {
        let Outlook { kappa_max, kappa_global, bottleneck, eps, methods } = &one.outlook;
        let of = if all.len() > 1 { format!(" (problem {}, alpha of {})", one.problem, one.alpha_of) } else { String::new() };
        text.push_str(&format!(
            "Acceleration{of}: kappa_max = {kappa_max:.2} (client {bottleneck} is the bottleneck), kappa_global = {kappa_global:.2}\n  \
             expected until each bound is {eps:e} of its start:\n"
        ));
        for m in methods {
            text.push_str(&format!(
                "  {:<9} p = {:.6}, {:>7} rounds, {:>7} iterations (kappa {:.2})\n",
                m.method, m.p, m.rounds, m.iterations, m.kappa
            ));
        }
    }
    text
}
