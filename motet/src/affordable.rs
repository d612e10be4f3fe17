//! What the clients' pure local models say about a budget of rounds (FLIX Theorems 1 and 2).

use std::io;
use std::sync::Arc;

use motet_core::{Constants, Fraction, PerClient, Seed, Vector};
use motet_methods::parts::budget::{Budget, Profile, diameter2, variance};
use motet_runtime::Pool;

use crate::config::{BudgetRule, MethodEntry};
use crate::error::Error;
use crate::session::States;
use crate::simulate::Built;

/// Every client's constants and xᵢ*, as one method finds them.
pub(crate) struct Locals {
    constants: Vec<Constants>,
    anchors: Vec<Vector>,
}

impl Locals {
    /// Solves for every xᵢ*, once for all who ask on this problem.
    pub(crate) fn find(entry: &MethodEntry, built: &Built, pool: &Arc<Pool>) -> Result<Self, Error> {
        let constants: Vec<Constants> = built.problem.shards.iter().map(|s| s.train.constants()).collect();
        // Without constants no rule applies, whatever the optima are: those of networks may take longer to find than the run.
        if !constants.iter().all(|c| c.smoothness.is_some() && c.convexity.is_some()) {
            return Ok(Self { constants, anchors: vec![] });
        }
        let unkept = |source| Error::Write { path: entry.key.clone().into(), source };
        let session = Arc::clone(&entry.method).on(built.ground(pool, Seed(0), States::NEW)).map_err(unkept)?;
        let anchors = session.anchors(vec![true; constants.len()]).map_err(|e| unkept(io::Error::other(e)))?;
        let anchors = anchors.into_iter().flatten().collect();
        Ok(Self { constants, anchors })
    }

    /// L̄, μ̄ and V with the accuracy wanted.
    pub(crate) fn budget(&self, eps: f64) -> Result<Budget, String> {
        let smoothness = self.known("smoothness", |c| c.smoothness)?;
        let convexity = self.known("strong convexity", |c| c.convexity)?;
        Ok(Budget { smoothness: mean(&smoothness), convexity: mean(&convexity), variance: variance(&smoothness, &self.anchors), eps })
    }

    /// The same for given αᵢ.
    pub(crate) fn profile(&self, alpha: &[f64], eps: f64) -> Result<Profile, String> {
        if alpha.len() != self.constants.len() {
            return Err(format!("profile lists {} clients, the problem has {}", alpha.len(), self.constants.len()));
        }
        let smoothness = self.known("smoothness", |c| c.smoothness)?;
        let convexity = self.known("strong convexity", |c| c.convexity)?;
        let mixed = |of: &[f64]| alpha.iter().zip(of).map(|(a, c)| a * a * c).sum::<f64>();
        Ok(Profile {
            largest: alpha.iter().copied().fold(0.0, f64::max),
            smoothness: mean(&smoothness),
            diameter2: diameter2(&self.anchors),
            conditioning: mixed(&convexity) / mixed(&smoothness),
            eps,
        })
    }

    /// The α that a rule comes to here.
    pub(crate) fn afford(&self, rule: &BudgetRule) -> Result<PerClient<Fraction>, String> {
        Ok(match &rule.profile {
            None => rule.alpha(self.budget(*rule.eps)?.alpha(rule.rounds), 1.0),
            Some(profile) => {
                let alpha: Vec<f64> = profile.iter().map(|a| **a).collect();
                rule.alpha(1.0, self.profile(&alpha, *rule.eps)?.factor(rule.rounds))
            }
        })
    }

    fn known(&self, what: &str, of: impl Fn(&Constants) -> Option<f64>) -> Result<Vec<f64>, String> {
        let known = |(k, c)| of(c).ok_or_else(|| format!("needs the {what} of every client's loss, and that of client {k} is not known"));
        self.constants.iter().enumerate().map(known).collect()
    }
}

fn mean(of: &[f64]) -> f64 {
    of.iter().sum::<f64>() / of.len() as f64
}
