//! The clients of a run: what a program has, as a population.

use std::sync::Arc;

use motet_core::{Batch, ClientId, Objective, Population, Roster, Shard, StoreError, Vector};
use motet_problems::Problem;

use crate::run::RunError;

/// Everybody's functions or data, and where training starts.
///
/// Made `from` a list of shards, a list of functions, or a [`Problem`].
#[derive(Clone)]
pub struct Clients {
    population: Arc<dyn Population>,
    start: Option<Vector>,
}

impl Clients {
    /// Clients from a program's own population, and where training starts.
    pub fn new(population: Arc<dyn Population>, start: impl Into<Vector>) -> Self {
        Self { population, start: Some(start.into()) }
    }

    /// How many there are; `None` if the population has no end.
    pub fn count(&self) -> Option<u32> {
        match self.population.roster() {
            Roster::Listed(ids) => Some(ids.len() as u32),
            Roster::Counted(n) => Some(n),
            Roster::Unbounded => None,
        }
    }

    /// The population and its start, if all clients' functions are of one dimension and precision. Only clients of a list are
    /// looked at: those made on demand would all have to be made.
    pub(crate) fn check(&self) -> Result<(Arc<dyn Population>, Vector), RunError> {
        let population = Arc::clone(&self.population);
        if self.count() == Some(0) {
            return Err(RunError::Clients("there are no clients".into()));
        }
        if let Some(start) = &self.start {
            return Ok((population, start.clone()));
        }
        let unread = |error: StoreError| RunError::Clients(error.to_string());
        let first = population.shard(ClientId(0)).map_err(unread)?.train.start();
        for k in 1..self.count().unwrap_or(0) {
            let shard = population.shard(ClientId(k)).map_err(unread)?;
            let (dim, precision) = (shard.train.dim(), shard.train.precision());
            if dim != first.len() || precision != first.precision() {
                return Err(RunError::Clients(format!(
                    "client {k} has a function of {dim} numbers of {} bits, client 0 of {} numbers of {} bits",
                    precision.bits(),
                    first.len(),
                    first.precision().bits()
                )));
            }
        }
        Ok((population, first))
    }
}

impl From<Vec<Shard>> for Clients {
    fn from(shards: Vec<Shard>) -> Self {
        Self { population: Arc::new(shards), start: None }
    }
}

impl From<Vec<Arc<dyn Objective>>> for Clients {
    fn from(functions: Vec<Arc<dyn Objective>>) -> Self {
        functions.into_iter().map(Shard::new).collect::<Vec<_>>().into()
    }
}

impl From<Vec<Function>> for Clients {
    fn from(functions: Vec<Function>) -> Self {
        functions.into_iter().map(|f| Shard::new(Arc::new(f))).collect::<Vec<_>>().into()
    }
}

impl From<&Problem> for Clients {
    fn from(problem: &Problem) -> Self {
        Self::new(Arc::clone(&problem.population), problem.start().into_owned())
    }
}

impl From<Problem> for Clients {
    fn from(problem: Problem) -> Self {
        Self::from(&problem)
    }
}

type Value = dyn Fn(&[f64]) -> f64 + Send + Sync;
type Gradient = dyn Fn(&[f64], &mut [f64]) + Send + Sync;

/// A client's function as a program has it: two closures over numbers.
///
/// ```
/// use motet::{Function, Run, methods::flix::Flix};
/// // fᵢ(x) = (x − i)²/2: the mean of the minimisers is 1.
/// let clients: Vec<Function> = (0..3)
///     .map(|i| Function::new(1, move |x| (x[0] - f64::from(i)).powi(2) / 2.0, move |x, g| g[0] = x[0] - f64::from(i)).smooth(1.0))
///     .collect();
/// let run = Run::new(Flix::mixing(1.0)?, clients).rounds(5).train()?;
/// assert!((run.shared.at(0) - 1.0).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Function {
    dim: usize,
    value: Box<Value>,
    gradient: Box<Gradient>,
    constants: motet_core::Constants,
}

impl Function {
    /// f and ∇f of `dim` numbers. The gradient's closure writes all of them.
    pub fn new(
        dim: usize,
        value: impl Fn(&[f64]) -> f64 + Send + Sync + 'static,
        gradient: impl Fn(&[f64], &mut [f64]) + Send + Sync + 'static,
    ) -> Self {
        Self { dim, value: Box::new(value), gradient: Box::new(gradient), constants: motet_core::Constants::default() }
    }

    /// L: the gradient is L-Lipschitz; steps of theory need it.
    pub fn smooth(mut self, smoothness: f64) -> Self {
        self.constants.smoothness = Some(smoothness);
        self
    }

    /// μ: the function is μ-strongly convex, 0 for convex.
    pub fn convex(mut self, convexity: f64) -> Self {
        self.constants.convexity = Some(convexity);
        self
    }
}

impl Objective for Function {
    fn dim(&self) -> usize {
        self.dim
    }
    fn samples(&self) -> usize {
        1
    }
    fn value(&self, x: &Vector, _: Batch<'_>) -> f64 {
        (self.value)(x.f64s())
    }
    fn gradient(&self, x: &Vector, _: Batch<'_>, g: &mut Vector) {
        (self.gradient)(x.f64s(), g.f64s_mut());
    }
    fn constants(&self) -> motet_core::Constants {
        self.constants
    }
}
