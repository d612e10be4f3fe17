//! What the clients' pure local models say about a budget of rounds (FLIX Theorems 1 and 2).

use std::sync::Arc;

use motet_core::{ClientId, Constants, Host, Memo, Population, Seed, Vector};
use motet_methods::parts::budget::{Budget, Profile, diameter2, variance};
use motet_methods::{Method, Visitor};
use motet_runtime::{Memory, Pool};
use serde_json::Value;

use crate::config::{BudgetRule, MethodEntry};
use crate::error::Error;
use crate::simulate::{Built, visit};

/// Every client's constants and xᵢ*, as one method finds them.
pub(crate) struct Locals {
    constants: Vec<Constants>,
    anchors: Vec<Vector>,
}

impl Locals {
    /// Solves for every xᵢ*; runs of the same method find them solved.
    pub(crate) fn find(entry: &MethodEntry, built: &Built, pool: &Arc<Pool>) -> Result<Self, Error> {
        let constants: Vec<Constants> = built.problem.shards.iter().map(|s| s.train.constants()).collect();
        // Without constants no rule applies, whatever the optima are: those of networks may take longer to find than the run.
        if !constants.iter().all(|c| c.smoothness.is_some() && c.convexity.is_some()) {
            return Ok(Self { constants, anchors: vec![] });
        }
        let population = Arc::clone(&built.problem.population) as Arc<dyn Population>;
        let anchors = visit(entry, Anchors { clients: constants.len(), population, memo: Arc::clone(&built.memo), pool })?;
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
    pub(crate) fn afford(&self, rule: &BudgetRule) -> Result<Value, String> {
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

struct Anchors<'a> {
    clients: usize,
    population: Arc<dyn Population>,
    memo: Arc<Memo>,
    pool: &'a Arc<Pool>,
}

impl Visitor for Anchors<'_> {
    type Out = Vec<Vector>;
    fn visit<M: Method>(self, method: M) -> Vec<Vector> {
        let host = Host::new(Arc::new(method), self.population, Arc::new(Memory::default()), self.memo, Seed(0));
        let mut anchors = vec![];
        self.pool.scatter(self.clients, move |k| host.anchor(ClientId(k as u32)), |_, anchor| anchors.push(anchor));
        anchors
    }
}
