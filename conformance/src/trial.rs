//! Small problems that every method can be tried on.

use std::sync::Arc;

use motet_core::{
    ClientVersions, Fleet, Host, Memo, ModelShape, Plan, Population, Precision, ProbeRequest, Row, Seed, Shard, Store, Study, Trained,
    Vector, Wire, train,
};
use motet_problems::Examples;
use motet_problems::synthetic::formula::{lrs_dataset, lrs_model, q2, q3};
use motet_runtime::{Inline, Memory};

/// A small problem.
pub struct Trial {
    /// What messages call the problem.
    pub name: &'static str,
    /// The data of each client.
    pub shards: Arc<Vec<Shard>>,
    /// d
    pub dim: usize,
    /// How many rounds to run.
    pub rounds: u64,
}

/// What a run leaves behind, in a form in which equal means equal to the last bit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Traces {
    /// As text: it tells NaN from numbers and 0 from −0, and every number is printed in full.
    pub(crate) rows: Vec<String>,
    pub(crate) server: Vec<u8>,
    pub(crate) ledger: String,
    pub(crate) outcome: String,
}

impl Traces {
    pub(crate) fn of<A: Study>(rows: &[Row], trained: &Trained<A>) -> Self {
        let mut server = vec![];
        trained.server.encode(&mut server);
        Self {
            rows: rows.iter().map(|row| format!("{row:?}")).collect(),
            server,
            ledger: format!("{:?}", trained.ledger),
            outcome: trained.outcome.to_string(),
        }
    }

    /// Where two runs part, if they do.
    pub(crate) fn parts_from(&self, other: &Traces) -> Option<String> {
        let rows = || self.rows.iter().zip(&other.rows).find(|(a, b)| a != b);
        if let Some((ours, theirs)) = rows() {
            return Some(format!("the rows differ:\n  {ours}\n  {theirs}"));
        }
        if self.outcome != other.outcome {
            return Some(format!("one run {}, the other {}", self.outcome, other.outcome));
        }
        if self.rows.len() != other.rows.len() {
            return Some(format!("{} rows against {}", self.rows.len(), other.rows.len()));
        }
        if self.ledger != other.ledger {
            return Some(format!("the ledgers differ:\n  {}\n  {}", self.ledger, other.ledger));
        }
        (self.server != other.server).then(|| "the server's final states differ".into())
    }
}

impl Trial {
    /// What a model looks like here.
    pub fn model(&self) -> ModelShape {
        ModelShape { dim: self.dim, precision: Precision::F64 }
    }

    /// A fresh host whose clients sleep in `store`.
    pub fn host<A: Study>(&self, method: &Arc<A>, store: Arc<dyn Store<ClientVersions<A::Client>>>, seed: Seed) -> Host<A> {
        let population: Arc<dyn Population> = Arc::clone(&self.shards) as Arc<dyn Population>;
        Host::new(Arc::clone(method), population, store, Arc::new(Memo::default()), seed)
    }

    /// Everyone on this thread: the run that others are compared with.
    pub fn inline<A: Study>(&self, method: &Arc<A>, seed: Seed) -> Inline<A> {
        Inline::new(self.host(method, Arc::new(Memory::default()), seed))
    }

    /// Every round measured in every way.
    pub fn plan(&self, seed: Seed) -> Plan {
        let look =
            ProbeRequest { gradient: true, train: true, validation: true, test: true, model: true, right: true, ..ProbeRequest::default() };
        Plan { look, ..Plan::new(self.rounds, seed) }
    }

    /// Trains from zeros.
    pub fn run<A: Study>(&self, method: &Arc<A>, plan: &Plan, fleet: &mut dyn Fleet<A>) -> Result<(Vec<Row>, Trained<A>), String> {
        let mut rows = vec![];
        let trained = train(&**method, Vector::from(vec![0.0; self.dim]), plan, fleet, &mut rows).map_err(|e| format!("{e}: {:?}", e))?;
        Ok((rows, trained))
    }

    pub(crate) fn traces<A: Study>(&self, method: &Arc<A>, plan: &Plan, fleet: &mut dyn Fleet<A>) -> Result<Traces, String> {
        let (rows, trained) = self.run(method, plan, fleet)?;
        Ok(Traces::of(&rows, &trained))
    }
}

/// The problems of the suite.
pub fn trials() -> Vec<Trial> {
    vec![
        logistic("six clients with logistic regressions", 6, 6, 2),
        quadratics(),
        logistic("one client", 1, 6, 2),
        logistic("clients with one sample each", 3, 1, 1),
        one_dimension(),
    ]
}

/// `train` rows for training and `held` each for validation and test, per client.
fn logistic(name: &'static str, clients: usize, train: usize, held: usize) -> Trial {
    let rows = train + 2 * held;
    let data = Arc::new(Examples::new(lrs_dataset(clients, rows, 3)).expect("the formula gives a label to every row"));
    let model = lrs_model();
    let shard = |i: usize| {
        let (first, second, third) = (i * rows, i * rows + train, i * rows + train + held);
        let objective = |rows| model.objective(&data, rows).expect("labels are 0 and 1");
        let evaluator = |rows| Some(model.evaluator(&data, rows).expect("labels are 0 and 1"));
        Shard {
            train: objective(first..second),
            validation: Some(objective(second..third)),
            train_evaluator: evaluator(first..second),
            validation_evaluator: evaluator(second..third),
            test_evaluator: evaluator(third..third + held),
        }
    };
    Trial { name, shards: Arc::new((0..clients).map(shard).collect()), dim: 3, rounds: 6 }
}

/// Each client is validated on its neighbour's function.
fn quadratics() -> Trial {
    let functions = q3();
    let shard = |i: usize| Shard { validation: Some(Arc::clone(&functions[(i + 1) % 3])), ..Shard::new(Arc::clone(&functions[i])) };
    Trial { name: "three quadratics in the plane", shards: Arc::new((0..3).map(shard).collect()), dim: 2, rounds: 8 }
}

/// Two quadratics on the line.
pub fn one_dimension() -> Trial {
    let shards = q2().into_iter().map(|f| Shard { validation: Some(Arc::clone(&f)), ..Shard::new(f) }).collect();
    Trial { name: "two quadratics on the line", shards: Arc::new(shards), dim: 1, rounds: 4 }
}
