//! The budget rule in both directions: the rounds that a mixture needs, and the mixture that some rounds can pay for.

use std::fmt::Write as _;
use std::sync::Arc;

use motet_core::PerClient;
use motet_runtime::Pool;
use serde::Serialize;

use super::solves::Solves;
use crate::affordable::Locals;
use crate::config::{Experiment, MethodEntry};
use crate::error::Error;
use crate::simulate::Built;

/// ε where neither a budget nor `stop = { gap = … }` names one.
const EPS: f64 = 1e-4;

/// What theory says of one method's α on one problem.
#[derive(Serialize)]
pub(super) struct Trade {
    /// ε in F(x) − F* ≤ ε
    eps: f64,
    /// α, or the largest αᵢ of a profile.
    alpha: f64,
    /// Rounds enough for it, the average of the local optima being the first; none if no number is known to be.
    rounds: Option<u64>,
    /// R → the largest α that R rounds afford (in a profile: its largest αᵢ, the others in proportion).
    affords: Vec<(u64, f64)>,
}

impl Trade {
    /// None for methods without α, where the constants of a loss are not known, and where local solves take longer than we wait.
    pub(super) fn of(
        entry: &MethodEntry,
        experiment: &Experiment,
        built: &Built,
        solves: &Solves,
        pool: &Arc<Pool>,
    ) -> Result<Option<Self>, Error> {
        let Some(alpha) = entry.method.alpha() else { return Ok(None) };
        let rule = entry.budget.as_ref();
        let eps = rule.map(|r| *r.eps).or(experiment.run.stop.get("gap").copied()).filter(|eps| *eps > 0.0).unwrap_or(EPS);
        let mut rounds = vec![1, 2, 5, 10, 20, 50, experiment.run.rounds];
        rounds.extend(rule.map(|r| r.rounds));
        rounds.sort_unstable();
        rounds.dedup();
        let locals = Locals::find(entry, built, pool)?;
        if !solves.are_all_made() {
            return Ok(None);
        }
        let trade = match &alpha {
            PerClient::Same(alpha) => locals.budget(eps).map(|budget| Self {
                eps,
                alpha: **alpha,
                rounds: budget.rounds(**alpha),
                affords: rounds.iter().map(|&r| (r, budget.alpha(r))).collect(),
            }),
            PerClient::Each(alpha) => {
                let alpha: Vec<f64> = alpha.iter().map(|a| **a).collect();
                locals.profile(&alpha, eps).map(|profile| Self {
                    eps,
                    alpha: profile.largest,
                    rounds: profile.steps().map(|steps| 1 + steps),
                    affords: rounds.iter().map(|&r| (r, profile.factor(r) * profile.largest)).collect(),
                })
            }
        };
        Ok(trade.ok())
    }

    /// `with alpha = 0.3 you need 11 rounds; with 5 rounds you can afford alpha = 0.14`
    pub(super) fn line(&self) -> String {
        let needs =
            self.rounds.map_or("more rounds than theory can count".to_owned(), |r| format!("{r} round{}", if r == 1 { "" } else { "s" }));
        let mut line = format!("  budget: for F - F* <= {:e} with alpha = {:.3} you need {needs};", self.eps, self.alpha);
        for (k, (rounds, alpha)) in self.affords.iter().enumerate() {
            let _ = match k {
                0 => write!(line, " with {rounds} round you can afford alpha = {alpha:.3}"),
                _ => write!(line, ", with {rounds} {alpha:.3}"),
            };
        }
        line
    }
}
