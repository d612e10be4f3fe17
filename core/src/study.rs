//! What an experiment asks of a method besides its server and client code.

use crate::algorithm::{Algorithm, ClientId};
use crate::number::{Fraction, PerClient};
use crate::promise::Promise;
use crate::vector::Vector;

/// Which problems a method suits, for whom its model is made, who counted, and what its theorem promises. Every answer has
/// a default, which is that of most methods: `impl Study for Mine {}` is enough to begin with.
pub trait Study: Algorithm {
    /// Does the method suit a problem of so many clients (`None`: a population without end)?
    fn suits(&self, _clients: Option<u32>) -> Result<(), Unsuitable> {
        Ok(())
    }

    /// The one client the shared model is made for, where there is one: the run is then measured on that client alone.
    fn target(&self) -> Option<ClientId> {
        None
    }

    /// By client number, how much each counted for the model of `target` in the last round; positive, summing to 1.
    /// Absent for methods that do not weigh clients.
    fn merit(&self, _server: &Self::Server, _target: ClientId) -> Option<Vec<f64>> {
        None
    }

    /// Does training fit anything to clients' validation data? These then say too much of its models, and nobody should choose by them.
    fn fits_validation(&self) -> bool {
        false
    }

    /// What the method's theorem promises on a problem with these constants.
    fn promise(&self, _facts: &Facts<'_>) -> Option<Promise> {
        None
    }

    /// The αᵢ of a method that deploys mixtures, so that a budget or the clients can choose them. A method that deploys a
    /// [`Mixture`](crate::Deployment::Mixture) with a share of its own choice should give it.
    fn alpha(&mut self) -> Option<&mut PerClient<Fraction>> {
        None
    }
}

/// Why a method does not suit a problem.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unsuitable {
    /// A parameter lists one value for each of another number of clients.
    #[error("{parameter} lists {listed} clients, the problem has {clients}")]
    Listed {
        /// The parameter.
        parameter: &'static str,
        /// How many it lists.
        listed: usize,
        /// How many there are.
        clients: u32,
    },
    /// A parameter lists clients of a population that cannot be listed.
    #[error("{parameter} lists {listed} clients, but the population has no end: give one value for all")]
    ListedWithoutEnd {
        /// The parameter.
        parameter: &'static str,
        /// How many it lists.
        listed: usize,
    },
    /// The method needs every client, and the population has no end.
    #[error("{0}")]
    WithoutEnd(&'static str),
    /// A client that is named does not exist.
    #[error("{parameter} is client {client}, but the problem has clients 0 to {last}")]
    NoSuchClient {
        /// The parameter that names it.
        parameter: &'static str,
        /// The client named.
        client: u32,
        /// The last client there is.
        last: u32,
    },
    /// More of something than a round can have.
    #[error("{parameter} is {got}, and a round can have at most {most}: take more rounds instead")]
    TooMany {
        /// The parameter.
        parameter: &'static str,
        /// How many it asks for.
        got: u64,
        /// How many there can be.
        most: u64,
    },
    /// A setting that makes no sense, alone or beside another one.
    #[error("{0}")]
    Setting(String),
}

impl Unsuitable {
    /// Refuses a number of something per round that is larger than `most`.
    pub fn beyond(parameter: &'static str, got: impl Into<u64>, most: u64) -> Result<(), Self> {
        let got = got.into();
        if got <= most { Ok(()) } else { Err(Unsuitable::TooMany { parameter, got, most }) }
    }

    /// Refuses a list that does not have one value for each client.
    pub fn unless_listed(parameter: &'static str, listed: Option<usize>, clients: Option<u32>) -> Result<(), Self> {
        match (listed, clients) {
            (None, _) => Ok(()),
            (Some(listed), Some(n)) if n as usize == listed => Ok(()),
            (Some(listed), Some(clients)) => Err(Self::Listed { parameter, listed, clients }),
            (Some(listed), None) => Err(Self::ListedWithoutEnd { parameter, listed }),
        }
    }

    /// Refuses a setting for a reason, where `wrong` holds.
    pub fn when(wrong: bool, reason: impl Into<String>) -> Result<(), Self> {
        if wrong { Err(Self::Setting(reason.into())) } else { Ok(()) }
    }
}

/// What theory may use about a problem.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// Lᵢ
    pub smoothness: &'a [f64],
    /// μᵢ
    pub convexity: &'a [f64],
    /// d
    pub dim: usize,
    /// |αᵢ ∇fᵢ(Tᵢ(x^α))|², where the minimiser x^α is known; computed when asked for.
    pub gradients2: Option<&'a dyn Fn() -> Vec<f64>>,
    /// xᵢ*; solved for when asked for.
    pub anchors: Option<&'a dyn Fn() -> Vec<Vector>>,
}

impl<'a> Facts<'a> {
    /// What is known before anything is solved for.
    pub fn new(smoothness: &'a [f64], convexity: &'a [f64], dim: usize) -> Self {
        Self { smoothness, convexity, dim, gradients2: None, anchors: None }
    }

    /// 1/n Σ of a number of each client.
    pub fn mean(&self, of: impl Fn(ClientId, usize) -> f64) -> f64 {
        let n = self.smoothness.len();
        (0..n).map(|i| of(ClientId(i as u32), i)).sum::<f64>() / n as f64
    }
}
