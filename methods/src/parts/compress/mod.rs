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

use std::sync::Arc;

use motet_core::kind::{Entry, Port, Takes};
use motet_core::{AnyKind, Chosen, ClientId, Kind, Kinds, Misfit, ModelShape, Rng, Seed, Slot, Vector, wire};
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

/// A map of vectors to fewer bits: what a compressor of one's own implements.
///
/// ```
/// use motet_core::{ClientId, Documented, Kind, Rng, Seed, Vector};
/// use motet_methods::parts::compress::{COMPRESSORS, Compress, Compressor, Key, Packed, Sends, Turn};
/// use serde::{Deserialize, Serialize};
///
/// /// All or nothing, by one coin: x/q with probability q, else 0; unbiased, ω = 1/q − 1.
/// #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
/// #[serde(deny_unknown_fields)]
/// struct AllOrNothing {
///     /// q: probability that anything is sent.
///     q: f64,
/// }
///
/// impl Kind for AllOrNothing {
///     const NAME: &'static str = "all-or-nothing";
/// }
///
/// impl Compress for AllOrNothing {
///     fn omega(&self, _: usize) -> Option<f64> {
///         Some(1.0 / self.q - 1.0)
///     }
///     // No number at all; a whole vector always fits.
///     fn sends(&self, _: usize, _: &Key) -> Sends {
///         Sends::Some(0)
///     }
///     fn pack(&self, v: &Vector, _: Option<&[u32]>, rng: &mut Rng) -> Packed {
///         let (mut all, none) = (v.clone(), v.zeros_like());
///         all.scale(1.0 / self.q);
///         if rng.coin(self.q) { Packed::whole(all) } else { Packed::indexed(v.len(), vec![], none.gather(&[], 1.0)) }
///     }
/// }
///
/// let mut compressors = COMPRESSORS.clone();
/// compressors.add::<AllOrNothing>()?;
/// let _here = compressors.enter();
/// let c: Compressor = serde_json::from_str(r#"{"kind": "all-or-nothing", "q": 0.25}"#)?;
/// assert_eq!(c.omega(1000), Some(3.0));
/// let (key, x) = (Turn { round: 1, key: 7 }.of(ClientId(0)), Vector::from(vec![1.0, 2.0]));
/// let mut sum = x.zeros_like();
/// for seed in 0..1000 {
///     let packed = c.compress(&x, &key, &mut Seed(seed).problem(0));
///     c.opened(&packed, &key, 2).add_to(1e-3, &mut sum);
/// }
/// // The mean of a thousand has a deviation of √(3/1000) of x.
/// assert!(sum.distance2(&x).sqrt() < 0.2 * x.norm());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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

/// What the random numbers that server and client share depend on. Different clients throw independent ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// The turn of the server that the dice belong to.
    pub turn: Turn,
    /// By whom.
    pub client: ClientId,
}

impl Key {
    /// The random numbers of this key, the same at the server and the client.
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

/// Every compressor there is, in the order of `list`.
pub static COMPRESSORS: Kinds<dyn AnyCompressor> = Kinds::new(&[
    Entry::of::<Identity>(),
    Entry::of::<RandK>(),
    Entry::of::<Bernoulli>(),
    Entry::of::<TopK>(),
    Entry::of::<Qsgd>(),
    Entry::of::<Natural>(),
    Entry::of::<Cyclic>(),
]);

/// Any compressor, whatever its type.
pub trait AnyCompressor: Compress + AnyKind {}

impl<K: Compress + Kind> AnyCompressor for K {}

impl<K: Compress + Kind> Takes<K> for dyn AnyCompressor {
    fn take(kind: K) -> Arc<Self> {
        Arc::new(kind)
    }
}

impl Port for dyn AnyCompressor {
    fn standard() -> &'static Kinds<Self> {
        &COMPRESSORS
    }
}

/// A compressor as an experiment file gives it: `{ kind = "…", … }`. A clone is another pointer to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Compressor(Chosen<dyn AnyCompressor>);

impl Compressor {
    /// This compressor, whether or not a list has it.
    pub fn new<K: Compress + Kind>(compressor: K) -> Self {
        Self(Chosen::new(compressor))
    }

    /// As in `kind = "…"`.
    pub fn name(&self) -> &'static str {
        self.0.card().name
    }

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
        self.0.omega(dim)
    }

    fn delta(&self, dim: usize) -> f64 {
        self.0.delta(dim)
    }

    fn mask(&self, dim: usize, key: &Key) -> Option<Mask> {
        self.0.mask(dim, key)
    }

    fn sends(&self, dim: usize, key: &Key) -> Sends {
        self.0.sends(dim, key)
    }

    /// A vector that holds NaN or infinity is sent whole, so that the guard of replies sees them and
    /// names the client, whatever coordinates would have been kept.
    fn pack(&self, v: &Vector, mask: Option<&[u32]>, rng: &mut Rng) -> Packed {
        if !v.is_finite() {
            return Packed::whole(v.clone());
        }
        self.0.pack(v, mask, rng)
    }
}
