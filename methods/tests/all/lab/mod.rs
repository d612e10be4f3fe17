//! A laboratory: a method on functions, everyone on this thread, with the optimum known.

// Each test file uses its own part of it, and a panic is how a test fails.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

pub mod controlled;
pub mod many;
pub mod mushrooms;
pub mod random;
pub mod rough;

use std::sync::Arc;

use motet_core::{
    Algorithm, ClientId, ClientVersions, Constants, Fleet, Host, LastReplies, Memo, Objective, Plan, Population, Probe, ProbeRequest,
    Reference, Row, Score, Seed, Shard, Study, Trained, Vector, train,
};
use motet_methods::flix::Flix;
use motet_problems::reference::{Part, minimise};
use motet_runtime::{Inline, Memory};

pub type Clients = Vec<Arc<dyn Objective>>;

/// FLIX with exact local solves.
pub fn flix(alpha: &[f64], start: &str) -> Flix {
    let params = serde_json::json!({
        "alpha": { "per_client": alpha },
        "start": start,
        "solve": { "kind": "newton", "to": 1e-14, "steps": 200 },
    });
    serde_json::from_value(params).unwrap()
}

/// Clients that share their local solves over all runs.
pub struct Lab {
    pub clients: Clients,
    population: Arc<dyn Population>,
    memo: Arc<Memo>,
}

impl Lab {
    pub fn new(clients: Clients) -> Self {
        let population = Arc::new(clients.iter().cloned().map(Shard::new).collect::<Vec<_>>());
        Self { clients, population, memo: Arc::default() }
    }

    pub fn dim(&self) -> usize {
        self.clients[0].dim()
    }

    pub fn constants(&self) -> Vec<Constants> {
        self.clients.iter().map(|f| f.constants()).collect()
    }

    pub fn host<A: Study>(&self, method: &Arc<A>) -> Host<A> {
        self.host_with(method, Arc::new(Memory::default()), Seed(1))
    }

    /// A host whose clients sleep where the test can look at them.
    pub fn host_with<A: Study>(&self, method: &Arc<A>, store: Arc<Memory<ClientVersions<A::Client>>>, seed: Seed) -> Host<A> {
        Host::new(Arc::clone(method), Arc::clone(&self.population), store, Arc::clone(&self.memo), seed)
    }

    /// Runs a method inline and gives its rows too.
    pub fn run<A: Study + Clone>(&self, method: &A, start: Vector, plan: &Plan) -> (Vec<Row>, Trained<A>) {
        let method = Arc::new(method.clone());
        let host = self.host_with(&method, Arc::new(Memory::default()), plan.seed);
        let mut rows = vec![];
        let trained = train(&*method, start, plan, &mut Inline::new(host), &mut rows).unwrap();
        (rows, trained)
    }

    /// xᵏ from zeros, or from where the method starts.
    pub fn iterate(&self, method: &Flix, rounds: u64) -> Vector {
        self.run(method, self.zeros(), &Plan::new(rounds, Seed(1))).1.server.x
    }

    pub fn zeros(&self) -> Vector {
        Vector::from(vec![0.0; self.dim()])
    }

    /// xᵢ* as the method sees it.
    pub fn anchors<A: Study + Clone>(&self, method: &A) -> Vec<Vector> {
        let host = self.host(&Arc::new(method.clone()));
        (0..self.clients.len() as u32).map(|i| host.anchor(ClientId(i)).unwrap()).collect()
    }

    /// F* and x^α, to machine precision.
    pub fn optimum(&self, method: &Flix) -> Reference {
        let anchors = self.anchors(method);
        let part =
            |i: usize| Part { alpha: method.deploys(ClientId(i as u32)).share(), local: Some(&anchors[i]), objective: &*self.clients[i] };
        let best = minimise(&(0..self.clients.len()).map(part).collect::<Vec<_>>(), 0).unwrap();
        assert!(best.exact, "{}", best.how);
        Reference { value: best.value, x: Some(best.x) }
    }

    /// F(xᵏ) − F* for k = 0, 1, …
    pub fn gaps(&self, method: &Flix, start: Vector, rounds: u64) -> Vec<f64> {
        let plan = Plan { reference: Some(self.optimum(method)), ..Plan::new(rounds, Seed(1)) };
        self.run(method, start, &plan).0.iter().map(|row| row.metrics["gap"]).collect()
    }

    /// What every client deploys when the shared model is `x`, and αᵢ ∇fᵢ there.
    pub fn scores<A: Study + Clone>(&self, method: &A, x: &Vector) -> Vec<Score> {
        let mut fleet = Inline::new(self.host(&Arc::new(method.clone())));
        let to: Vec<_> = (0..self.clients.len() as u32).map(ClientId).collect();
        let look = ProbeRequest { gradient: true, model: true, ..ProbeRequest::default() };
        let probe = Probe { round: 0, to: &to, shared: &|_| x, heard: &LastReplies::default(), look, reference: None };
        let mut scores = vec![];
        fleet.probe(&probe, &mut |_, score| scores.push(score)).unwrap();
        scores
    }

    pub fn deployed<A: Study + Clone>(&self, method: &A, x: &Vector) -> Vec<Vector> {
        self.scores(method, x).into_iter().map(|score| score.model.unwrap()).collect()
    }

    /// Lα and μα
    pub fn mixed_constants(&self, alpha: &[f64]) -> (f64, f64) {
        let mean = |of: fn(&Constants) -> f64| {
            self.constants().iter().zip(alpha).map(|(c, a)| a * a * of(c)).sum::<f64>() / self.clients.len() as f64
        };
        (mean(|c| c.smoothness.unwrap()), mean(|c| c.convexity.unwrap()))
    }
}

/// The shared model after some rounds from zeros, and what every client deploys then.
pub fn deployed<A: Study + Clone>(lab: &Lab, method: &A, rounds: u64) -> (Vector, Vec<Vector>) {
    let method = Arc::new(method.clone());
    let mut fleet = Inline::new(lab.host(&method));
    let plan = Plan { rhythm: motet_core::Rhythm::Never, ..Plan::new(rounds, Seed(1)) };
    let trained = train(&*method, lab.zeros(), &plan, &mut fleet, &mut Vec::<Row>::new()).unwrap();
    assert_eq!(trained.outcome, motet_core::Outcome::Finished);
    let to: Vec<_> = (0..lab.clients.len() as u32).map(ClientId).collect();
    let shared = |id: ClientId| method.shared(&trained.server, id);
    let look = ProbeRequest { model: true, rate: method.local_rate(&trained.server), ..ProbeRequest::default() };
    let probe = Probe { round: rounds, to: &to, shared: &shared, heard: &trained.heard, look, reference: None };
    let mut models = vec![];
    fleet.probe(&probe, &mut |_, score| models.extend(score.model)).unwrap();
    (shared(ClientId(0)).clone(), models)
}

/// The mean of some vectors.
pub fn mean(of: &[Vector]) -> Vector {
    let mut mean = motet_core::Mean::like(&of[0]);
    of.iter().for_each(|v| mean.add(1.0, v));
    mean.finish()
}

/// (1/n) Σ |vᵢ − v̄|²
pub fn variance(of: &[Vector]) -> f64 {
    let centre = mean(of);
    of.iter().map(|v| v.distance2(&centre)).sum::<f64>() / of.len() as f64
}

/// 1e-9 relative, or absolute below 1: how the specification's checks are meant.
pub fn close(ours: f64, theirs: f64) {
    assert!((ours - theirs).abs() <= 1e-9 * theirs.abs().max(1.0), "{ours} is not {theirs}");
}

pub fn all_close(ours: &Vector, theirs: &[f64]) {
    assert_eq!(ours.len(), theirs.len());
    ours.f64s().iter().zip(theirs).for_each(|(o, t)| close(*o, *t));
}

/// To the ten significant digits the specification prints, for numbers far below 1.
pub fn printed(ours: f64, theirs: f64) {
    assert!((ours - theirs).abs() <= 1e-9 * theirs.abs() + 1e-15, "{ours:e} is not {theirs:e}");
}
