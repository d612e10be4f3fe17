//! The vocabulary of Motet: what an algorithm is, what it may touch, and the loop that runs it.
//!
//! Read in this order: [`Vector`] and [`Objective`] (what is computed), [`Message`] (what is sent),
//! [`Algorithm`] with [`Round`] and [`Site`] (what a paper becomes), [`Fleet`] and [`Host`] (how the
//! two halves meet), [`train`](fn@train) (the loop).
//!
//! Nothing here reads a clock, starts a thread, opens a file or owns a generator: what is computed
//! depends on the arguments alone, and so runs are equal to the last bit on every runtime.
//!
//! ```
//! use motet_core::{Batch, ClientId, Objective, Seed, Slot, Vector, Wire, message};
//!
//! // What a client minimises: f(x) = ½ ‖x − c‖².
//! struct Bowl(Vector);
//! impl Objective for Bowl {
//!     fn dim(&self) -> usize {
//!         self.0.len()
//!     }
//!     fn samples(&self) -> usize {
//!         1
//!     }
//!     fn value(&self, x: &Vector, _: Batch<'_>) -> f64 {
//!         x.to_f64().iter().zip(self.0.to_f64()).map(|(x, c)| 0.5 * (x - c) * (x - c)).sum()
//!     }
//!     fn gradient(&self, x: &Vector, _: Batch<'_>, g: &mut Vector) {
//!         *g = x.clone();
//!         g.axpy(-1.0, &self.0);
//!     }
//! }
//!
//! // What it sends: every bit of it is booked.
//! message! {
//!     /// A gradient.
//!     pub struct Reply { /** ∇fᵢ(x) */ pub g: Vector }
//! }
//!
//! let (bowl, x) = (Bowl(vec![1.0, 2.0].into()), Vector::from(vec![0.0, 0.0]));
//! let mut reply = Reply { g: x.zeros_like() };
//! bowl.gradient(&x, Batch::all(), &mut reply.g);
//! assert_eq!((reply.g.to_f64(), reply.bits()), (vec![-1.0, -2.0], 128));
//!
//! // What it throws dice with depends on where it is alone: the run's seed, the round, the client.
//! let dice = |round| Seed(1).client(Slot { round, attempt: 0, exchange: 0 }, ClientId(7)).next_u64();
//! assert_eq!(dice(3), dice(3));
//! assert_ne!(dice(3), dice(4));
//! ```
//!
//! A whole method is in `motet-methods` (start with `flix`), and programs that want to run one find `motet` shorter.

// The derive names this crate from outside, and the tests inside of it too.
extern crate self as motet_core;

mod abort;
mod algorithm;
mod breach;
pub mod card;
mod cohort;
mod exchange;
mod fit;
mod fleet;
mod host;
pub mod json_number;
pub mod kind;
mod ledger;
mod memo;
mod merit;
mod message;
mod notes;
mod number;
mod objective;
mod participants;
mod pick;
mod promise;
mod record;
mod round;
mod run_state;
mod sampling;
mod scattered;
mod seed;
mod site;
mod store;
mod study;
mod sum;
mod table;
mod train;
mod train_error;
pub mod unreadable;
mod vector;

pub use abort::Abort;
pub use algorithm::{Algorithm, ClientId, Deployment, State};
pub use card::{Card, Documented, Parameter, Parameters};
pub use cohort::Cohort;
pub use fit::{Misfit, ModelShape, ReplyError, all_fit, whole, whole_of};
pub use fleet::{Answer, Asks, Fleet, LastReplies, LastRepliesReader, Probe, ProbeRequest, Received, Roster, Score, Wave};
pub use host::{ClientVersions, Evaluator, Host, Population, Shard, Silence};
pub use kind::{AnyKind, Chosen, Kind, Kinds};
pub use ledger::{Direction, Entry, Ledger, Traffic};
pub use memo::{Archive, Memo};
pub use merit::Merit;
pub use message::{Message, Reader, Wire, WireError};
pub use motet_macros::Documented;
pub use number::{Fraction, NonNegative, OutOfRange, PerClient, Positive, Probability, Rate};
pub use objective::{Batch, Compact, Constants, Objective, Rows, Step};
pub use participants::Participants;
pub use promise::Promise;
pub use record::{Breach, Excluded, Metrics, Outcome, Row, Sink, UpDown, is_quality, larger_is_better};
pub use round::{NotFinite, Round};
pub use run_state::{Account, AfterRound, Checkpointer, RunState};
pub use sampling::Sampling;
pub use scattered::Scattered;
pub use seed::{Noise, Purpose, Rng, Seed, Slot};
pub use site::{Meter, Site, Work};
pub use store::{Store, StoreError};
pub use study::{Facts, Study, Unsuitable};
pub use sum::{Addend, Adding, Partial, Sent, Sum, Tally, sum_by_exchange};
pub use train::{Plan, Reference, Rhythm, Stop, Trained, train, train_from};
pub use train_error::TrainError;
pub use unreadable::Unreadable;
pub use vector::{Mean, Precision, RowUpdate, SparseMean, Update, Vector, View, ViewMut};
