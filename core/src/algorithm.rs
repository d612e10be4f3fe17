//! The one trait an algorithm implements.

use crate::abort::Abort;
use crate::fit::{Misfit, ModelShape};
use crate::message::{Message, Wire};
use crate::promise::Promise;
use crate::round::Round;
use crate::site::Site;
use crate::sum::Addend;
use crate::vector::Vector;

/// A client's number: 0..n for listed clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u32);

/// What outlives an ask: plain data, saved, copied and restored by the runtime.
pub trait State: Wire + Clone + Send + Sync + 'static {}
impl<T: Wire + Clone + Send + Sync + 'static> State for T {}

/// A paper: both halves of one algorithm.
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

    /// αᵢ: the share of the shared model in what the client deploys. The method is measured against
    /// the minimiser of 1/n Σ fᵢ(αᵢ x + (1 − αᵢ) xᵢ*).
    fn share(&self, _client: ClientId) -> f64 {
        1.0
    }

    /// Is what clients deploy that mixture? Otherwise no minimum is known to measure from: rows then have neither `gap`
    /// nor `distance`.
    fn mixes(&self) -> bool {
        true
    }

    /// xᵢ*, the client's end of the mixture; asked for only where αᵢ < 1.
    fn anchor(&self, site: &mut Site<'_>) -> Vector {
        Vector::zeros(site.train.dim(), site.train.precision())
    }

    /// What the client deploys; by default the mixture αᵢ x + (1 − αᵢ) xᵢ*.
    fn personal(&self, _me: &Self::Client, shared: &Vector, site: &mut Site<'_>) -> Vector {
        match self.share(site.id) {
            1.0 => shared.clone(),
            alpha => Vector::mix(alpha, shared, &self.anchor(site)),
        }
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

    /// What the method's theorem promises on a problem with these constants.
    fn promise(&self, _facts: &Facts<'_>) -> Option<Promise> {
        None
    }

    /// What is wrong with these hyper-parameters for this many clients, if anything.
    fn refuse(&self, _clients: Option<u32>) -> Option<String> {
        None
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
