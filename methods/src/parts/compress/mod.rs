//! Compressors: vectors in fewer bits.
//!
//! Unbiased ones lie in B(ω): E C(x) = x and E|C(x) − x|² ≤ ω|x|². Biased ones contract:
//! |C(x) − x|² ≤ (1 − δ)|x|². What is sent is a [`Packed`], whose bits are really that few.
//!
//! Which coordinates Rand-k keeps need not be sent: the server draws one [`Turn`] per round and sends
//! it with the model, and both sides throw the same dice of (turn, client). The turn's 128 bits are
//! booked downwards, and upwards go the k numbers that the papers count. With `indices = "sent"` the
//! coordinates travel too.

mod amount;
mod bernoulli;
mod bits;
mod cyclic;
mod identity;
mod mask;
mod natural;
mod packed;
mod qsgd;
mod rand_k;
mod several;
mod top_k;

use motet_core::{Card, ClientId, Misfit, ModelShape, Rng, Seed, Slot, Vector, wire};
use serde::{Deserialize, Serialize};

pub use amount::{Amount, NotAnAmount};
pub use bernoulli::Bernoulli;
pub use cyclic::Cyclic;
pub use identity::Identity;
pub use mask::Mask;
pub use natural::Natural;
pub use packed::{Packed, Sends};
pub use qsgd::Qsgd;
pub use rand_k::RandK;
pub use several::Compressors;
pub use top_k::TopK;

/// A map of vectors to fewer bits.
pub trait Compress {
    /// ω in dimension `dim`; none if biased.
    fn omega(&self, dim: usize) -> Option<f64>;

    /// δ of the map, of C/(1 + ω) if unbiased: that contracts with δ = 1/(1 + ω).
    fn delta(&self, dim: usize) -> f64 {
        1.0 / (1.0 + self.omega(dim).unwrap_or(f64::INFINITY))
    }

    /// The coordinates that are kept, where both sides can know them.
    fn mask(&self, _: usize, _: &Key) -> Option<Mask> {
        None
    }

    /// What its messages look like.
    fn sends(&self, dim: usize, key: &Key) -> Sends;

    /// C(v), at the coordinates of [`mask`](Self::mask) if there is one, and by the client's own dice.
    fn pack(&self, v: &Vector, mask: Option<&[u32]>, rng: &mut Rng) -> Packed;
}

wire! {
    /// What the dice of a round's masks depend on: sent with the model, equal for all clients.
    #[derive(Copy, PartialEq, Eq)]
    pub struct Turn {
        /// Which round.
        pub round: u64,
        /// A draw of the server.
        pub key: u64,
    }
}

impl Turn {
    /// The mask dice of one client.
    pub fn of(self, client: ClientId) -> Key {
        Key { turn: self, client }
    }
}

/// A place where shared dice are thrown. Different clients throw independent ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// When.
    pub turn: Turn,
    /// By whom.
    pub client: ClientId,
}

impl Key {
    /// The same on both sides.
    pub fn dice(&self) -> Rng {
        Seed(self.turn.key).client(Slot { round: self.turn.round, attempt: 0, exchange: 0 }, self.client)
    }
}

/// How the receiver learns which coordinates were kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Indices {
    /// It throws the same dice: no bits.
    #[default]
    Seeded,
    /// ⌈log₂ d⌉ bits each.
    Sent,
}

/// Some coordinates of `v`, scaled.
fn keep(v: &Vector, at: &[u32], scale: f64, indices: Indices) -> Packed {
    let values = v.gather(at, scale);
    match indices {
        Indices::Seeded => Packed::seeded(v.len(), values),
        Indices::Sent => Packed::indexed(v.len(), at.to_vec(), values),
    }
}

const K: (&str, &str) = ("k", "coordinates sent: a whole number, or below 1 a share of d");
const INDICES: (&str, &str) = ("indices", "\"seeded\" (both sides throw the same dice) or \"sent\"; default \"seeded\"");

macro_rules! compressors {
    ($($name:literal => $variant:ident: $about:literal, [$($parameter:expr),*];)*) => {
        /// What `list` prints about them.
        pub const COMPRESSORS: &[Card] = &[$(Card { name: $name, about: $about, parameters: &[$($parameter),*] }),*];

        /// Every compressor there is.
        #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        pub enum Compressor {
            $(#[doc = concat!("`kind = \"", $name, "\"`")] #[serde(rename = $name)] $variant($variant)),*
        }

        impl Compressor {
            fn map(&self) -> &dyn Compress {
                match self { $(Self::$variant(c) => c),* }
            }

            /// As in `kind = "…"`.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name),* }
            }
        }
    };
}

compressors! {
    "identity" => Identity: "everything as it is; omega = 0", [];
    "rand-k" => RandK: "k random coordinates times d/k; unbiased, omega = d/k - 1", [K, INDICES];
    "bernoulli" => Bernoulli: "each coordinate with probability q, divided by q; unbiased, omega = 1/q - 1",
        [("q", "probability that a coordinate is sent"), INDICES];
    "top-k" => TopK: "the k largest coordinates as they are; biased, contracts by 1 - k/d", [K];
    "qsgd" => Qsgd: "norm, signs and random levels; unbiased, omega = min(d/s^2, sqrt(d)/s)", [("levels", "s: levels between 0 and the norm")];
    "natural" => Natural: "random powers of two in nine bits; unbiased, omega = 1/8", [];
    "cyclic" => Cyclic: "k coordinates by turns times d/k; right in the mean over clients or rounds", [K];
}

impl Compressor {
    /// Is the mean of what it sends what it was given?
    pub fn unbiased(&self) -> bool {
        self.omega(1).is_some()
    }

    /// What to multiply it by so that it contracts: 1/(1 + ω), or 1 if it is biased and does so by itself.
    pub fn contracting(&self, dim: usize) -> f64 {
        self.omega(dim).map_or(1.0, |omega| 1.0 / (1.0 + omega))
    }

    /// C(v), by the shared dice of `key` and the client's own.
    pub fn compress(&self, v: &Vector, key: &Key, rng: &mut Rng) -> Packed {
        self.pack(v, self.mask(v.len(), key).as_deref(), rng)
    }

    /// C(v) for a client that keeps track of what it sends: x ← x + a·C(v).
    pub fn compress_into(&self, v: &Vector, key: &Key, rng: &mut Rng, a: f64, x: &mut Vector) -> Packed {
        let mask = self.mask(v.len(), key);
        let packed = self.pack(v, mask.as_deref(), rng);
        packed.add_to(a, x, mask.as_deref());
        packed
    }

    /// Is this what it sends of a vector of that shape? A vector that was sent whole always is: that is how one which is not
    /// finite travels.
    pub fn fits(&self, packed: &Packed, key: &Key, model: ModelShape) -> Result<(), Misfit> {
        packed.fits(model, || self.sends(model.dim, key))
    }

    /// What it sent, ready to be added to a vector of `dim`. A peer that claims another dimension gets no dice.
    pub fn opened<'a>(&self, packed: &'a Packed, key: &Key, dim: usize) -> Opened<'a> {
        let mask = if packed.is_seeded() && packed.dim() == dim { self.mask(dim, key) } else { None };
        Opened { packed, mask }
    }
}

/// A compressed vector whose coordinates are known.
#[derive(Debug)]
pub struct Opened<'a> {
    packed: &'a Packed,
    mask: Option<Mask>,
}

impl Opened<'_> {
    /// x ← x + a·self, in time of what was sent.
    ///
    /// # Panics
    /// If it does not fit: see [`Compressor::fits`].
    pub fn add_to(&self, a: f64, x: &mut Vector) {
        self.packed.add_to(a, x, self.mask.as_deref());
    }
}

impl Compress for Compressor {
    fn omega(&self, dim: usize) -> Option<f64> {
        self.map().omega(dim)
    }

    fn delta(&self, dim: usize) -> f64 {
        self.map().delta(dim)
    }

    fn mask(&self, dim: usize, key: &Key) -> Option<Mask> {
        self.map().mask(dim, key)
    }

    fn sends(&self, dim: usize, key: &Key) -> Sends {
        self.map().sends(dim, key)
    }

    /// A vector that holds NaN or infinity is sent whole, so that the guard of replies sees them and
    /// names the client, whatever coordinates would have been kept.
    fn pack(&self, v: &Vector, mask: Option<&[u32]>, rng: &mut Rng) -> Packed {
        if !v.is_finite() {
            return Packed::whole(v.clone());
        }
        self.map().pack(v, mask, rng)
    }
}
