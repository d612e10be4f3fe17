//! Some clients, and what each of them counts for.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::abort::Abort;
use crate::algorithm::ClientId;
use crate::breach::Breaches;
use crate::fleet::Roster;

/// Some clients, in the order they are asked and folded.
#[derive(Clone, Debug, PartialEq)]
pub struct Cohort {
    ids: Arc<[ClientId]>,
    weights: Weights,
    /// Do the weights sum to one in every draw, and not only on average?
    normalised: bool,
    pub(crate) required: bool,
    pub(crate) drop_non_finite: bool,
    pub(crate) unbounded: bool,
}

/// What each client of a cohort stands for.
#[derive(Clone, Debug, PartialEq)]
enum Weights {
    Same(f64),
    Each(Arc<BTreeMap<ClientId, f64>>),
}

impl Cohort {
    /// These clients, all of one weight.
    pub fn new(ids: impl Into<Arc<[ClientId]>>) -> Self {
        let ids = ids.into();
        let weights = Weights::Same(1.0 / ids.len().max(1) as f64);
        Self { ids, weights, normalised: true, required: false, drop_non_finite: false, unbounded: false }
    }

    /// These clients, each with a weight of its own.
    pub fn weighted(weights: BTreeMap<ClientId, f64>) -> Self {
        let ids = weights.keys().copied().collect();
        let weights = Weights::Each(Arc::new(weights));
        Self { ids, weights, normalised: true, required: false, drop_non_finite: false, unbounded: false }
    }

    /// The same clients, all of this weight.
    pub(crate) fn weighing(self, weight: f64) -> Self {
        Self { weights: Weights::Same(weight), ..self }
    }

    /// The same clients, whose weights sum to one in every draw, or only on average.
    pub(crate) fn normalised(self, normalised: bool) -> Self {
        Self { normalised, ..self }
    }

    /// Do the weights of a draw sum to one, or are they to be divided by their sum? Otherwise they sum to one on average over
    /// the draws only, and whoever divides by their sum undoes what they are for.
    pub fn is_normalised(&self) -> bool {
        self.normalised
    }

    /// wᵢ: what this client's vector counts for in Σ wᵢ vᵢ, the estimate of the mean over all clients that is
    /// right on average over the draw. One over the number of clients where all are alike; kept by
    /// [`filter`](Self::filter) and by those who answer.
    pub fn weight(&self, client: ClientId) -> f64 {
        match &self.weights {
            Weights::Same(weight) => *weight,
            Weights::Each(weights) => weights.get(&client).copied().unwrap_or(0.0),
        }
    }

    /// Σ wᵢ of this draw.
    pub fn total_weight(&self) -> f64 {
        self.ids.iter().map(|&id| self.weight(id)).sum()
    }

    /// These clients, none of whom may stay silent: those who do are asked again in the same
    /// slot, with the same dice, before the round is given up.
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// These clients, any of whom may stay silent.
    pub fn optional(mut self) -> Self {
        self.required = false;
        self
    }

    /// These clients, some of whom may lie: a reply with NaN or infinity in it counts as silence, which otherwise ends the run. Whoever is required, too, must still answer in numbers.
    pub fn drop_non_finite(mut self) -> Self {
        self.drop_non_finite = true;
        self
    }

    /// Only those for whom `keep` holds.
    pub fn filter(&self, keep: impl Fn(ClientId) -> bool) -> Self {
        if self.ids.iter().all(|&id| keep(id)) {
            return self.clone();
        }
        Self { ids: self.ids.iter().copied().filter(|&id| keep(id)).collect(), ..self.clone() }
    }

    /// Those of them who answered, in the same order.
    pub(crate) fn only(&self, answered: &[ClientId]) -> Self {
        if answered.len() == self.len() { self.clone() } else { Self { ids: answered.into(), ..self.clone() } }
    }

    /// The clients, in the order they are asked.
    pub fn ids(&self) -> &[ClientId] {
        &self.ids
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

/// Everyone on the roster but those who are excluded.
pub(crate) struct Everyone {
    roster: Roster,
    pub(crate) cohort: Cohort,
    /// How many were excluded when the cohort was made.
    excluded: usize,
}

impl Everyone {
    pub(crate) fn new(roster: Roster, breaches: &Breaches) -> Self {
        Self { cohort: everyone(&roster, breaches), roster, excluded: breaches.count_excluded() }
    }

    /// Is everyone excluded? Then why the last of them is.
    pub(crate) fn gone(&self, breaches: &Breaches) -> Option<Abort> {
        let (client, reason) = breaches.last_excluded().filter(|_| self.cohort.is_empty() && !self.cohort.unbounded)?;
        Some(Abort::Excluded { client, reason: reason.to_owned() })
    }

    /// Nobody comes back, so that a count tells whether somebody was excluded since.
    pub(crate) fn renew(&mut self, breaches: &Breaches) {
        let excluded = breaches.count_excluded();
        if excluded != self.excluded {
            (self.cohort, self.excluded) = (everyone(&self.roster, breaches), excluded);
        }
    }
}

/// The cohort of a whole roster, without those who are excluded.
pub(crate) fn everyone(roster: &Roster, breaches: &Breaches) -> Cohort {
    let there = |id: &ClientId| breaches.excluded(*id).is_none();
    match roster {
        Roster::Listed(ids) if ids.iter().all(there) => Cohort::new(Arc::clone(ids)),
        Roster::Listed(ids) => Cohort::new(ids.iter().copied().filter(there).collect::<Arc<[_]>>()),
        Roster::Counted(n) => Cohort::new((0..*n).map(ClientId).filter(there).collect::<Arc<[_]>>()),
        Roster::Unbounded => Cohort { unbounded: true, ..Cohort::new([]) },
    }
}
