//! The one trait an algorithm implements.

use crate::abort::Abort;
use crate::fit::{Misfit, ModelShape};
use crate::message::{Message, Wire};
use crate::round::Round;
use crate::site::Site;
use crate::sum::Addend;
use crate::vector::Vector;

/// A client's number: 0..n for listed clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u32);

/// What the server or a client keeps between two rounds: plain data that the runtime saves, copies and restores.
pub trait State: Wire + Clone + Send + Sync + 'static {}
impl<T: Wire + Clone + Send + Sync + 'static> State for T {}

/// An algorithm of a paper: what its server does, and what its clients do.
///
/// `self` holds the hyper-parameters, equal on both sides. All that changes lives in the two
/// states. The server half is straight-line code over [`Round`], the client half a pure transition
/// (state, ask, dice) → (state, reply).
pub trait Algorithm: Send + Sync + Sized + 'static {
    /// Server to client.
    type Ask: Message;
    /// Client to server.
    type Reply: Message;
    /// What the server keeps.
    type Server: State;
    /// What each client keeps.
    type Client: State;

    /// The server's state before anything was asked.
    fn server(&self, start: Vector) -> Self::Server;

    /// A client's first moment: zeros, or a local solve.
    fn client(&self, site: &mut Site<'_>) -> Self::Client;

    /// Exchanges before the first round; counted as round 0.
    fn open(&self, _server: &mut Self::Server, _round: &mut Round<'_, Self>) -> Result<(), Abort> {
        Ok(())
    }

    /// One round. An error leaves the server as it was before.
    fn round(&self, server: &mut Self::Server, round: &mut Round<'_, Self>) -> Result<(), Abort>;

    /// Is there nothing left to do? Asked after every round; the run then ends.
    fn done(&self, _server: &Self::Server) -> bool {
        false
    }

    /// The client's half of an exchange.
    fn answer(&self, me: &mut Self::Client, ask: &Self::Ask, site: &mut Site<'_>) -> Self::Reply;

    /// Does this reply of a client fit what it was asked, and a model of this shape? Is it the variant that answers the
    /// ask, have its vectors the right length and precision, its lists the right count, are its numbers in range? Asked
    /// of every reply before anything is made of it, since a client may send anything: a reply that fits must never make
    /// the server's half panic, one that does not is a breach, and as good as silence.
    fn fits(&self, ask: &Self::Ask, reply: &Self::Reply, from: ClientId, model: ModelShape) -> Result<(), Misfit>;

    /// What a reply adds to the sum that it was asked for with [`Round::sum`]; absent for replies that the server reads one by
    /// one. Both halves know it, so that a client can weigh and mask its own part.
    fn addend<'r>(&self, _reply: &'r Self::Reply) -> Option<Addend<'r>> {
        None
    }

    /// The model the server would hand client `to` now.
    fn shared<'a>(&self, server: &'a Self::Server, to: ClientId) -> &'a Vector;

    /// The rate of local steps as a client asked now would be told it, for methods whose clients take some more steps before they
    /// deploy and whose rate changes from round to round: they find it in [`Site::rate`].
    fn local_rate(&self, _server: &Self::Server) -> Option<f64> {
        None
    }

    /// What a client deploys. It decides what a run is measured against: see [`Deployment`].
    fn deploys(&self, client: ClientId) -> Deployment<Self>;
}

/// The model that a client deploys, made of the shared one and what the client keeps.
pub enum Deployment<A: Algorithm> {
    /// The shared model as it is. The method is measured against the minimiser of 1/n Σ fᵢ(x).
    Shared,
    /// αᵢ x + (1 − αᵢ) xᵢ*. The method is measured against the minimiser of 1/n Σ fᵢ(αᵢ x + (1 − αᵢ) xᵢ*).
    Mixture {
        /// αᵢ: the share of the shared model.
        share: f64,
        /// xᵢ*: the client's end of the mixture; asked for only where αᵢ < 1.
        anchor: fn(&A, &mut Site<'_>) -> Vector,
    },
    /// A model that is no such mixture, made of the client's state and the shared model. No minimum is known to measure from:
    /// rows have neither `gap` nor `distance`.
    Own(fn(&A, &A::Client, &Vector, &mut Site<'_>) -> Vector),
}

impl<A: Algorithm> Deployment<A> {
    /// αᵢ; 1 where the client deploys no mixture.
    pub fn share(&self) -> f64 {
        match self {
            Deployment::Mixture { share, .. } => *share,
            Deployment::Shared | Deployment::Own(_) => 1.0,
        }
    }

    /// Is there a function of x alone that the clients' losses are? Its minimum can then be measured from.
    pub fn has_objective(&self) -> bool {
        !matches!(self, Deployment::Own(_))
    }

    /// xᵢ*; zeros where the method has none.
    pub fn anchor(&self, algorithm: &A, site: &mut Site<'_>) -> Vector {
        match self {
            Deployment::Mixture { anchor, .. } => anchor(algorithm, site),
            Deployment::Shared | Deployment::Own(_) => Vector::zeros(site.train.dim(), site.train.precision()),
        }
    }

    /// The model itself.
    pub fn model(&self, algorithm: &A, me: &A::Client, shared: &Vector, site: &mut Site<'_>) -> Vector {
        match self {
            Deployment::Shared => shared.clone(),
            Deployment::Mixture { share: 1.0, .. } => shared.clone(),
            Deployment::Mixture { share, anchor } => Vector::mix(*share, shared, &anchor(algorithm, site)),
            Deployment::Own(model) => model(algorithm, me, shared, site),
        }
    }
}
