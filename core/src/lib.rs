//! The vocabulary of Motet: what an algorithm is, what it may touch, and the loop that runs it.
//!
//! Read in this order: [`Vector`] and [`Objective`] (what is computed), [`Message`] (what is sent),
//! [`Algorithm`] with [`Round`] and [`Site`] (what a paper becomes), [`Fleet`] and [`Host`] (how the
//! two halves meet), [`train`](fn@train) (the loop).
//!
//! Nothing here reads a clock, starts a thread, opens a file or owns a generator: what is computed
//! depends on the arguments alone, and so runs are equal to the last bit on every runtime.

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
mod number;
mod objective;
mod pick;
mod promise;
mod record;
mod round;
mod run_state;
mod sampling;
mod seed;
mod site;
mod store;
mod study;
mod sum;
mod table;
mod train;
mod train_error;
mod vector;

pub use abort::Abort;
pub use algorithm::{Algorithm, ClientId, Deployment, State};
pub use card::{Card, Documented, Parameter, Parameters};
pub use cohort::Cohort;
pub use fit::{Misfit, ModelShape, ReplyError, whole};
pub use fleet::{Answer, Asks, Fleet, LastReplies, Probe, ProbeRequest, Received, Roster, Score, Wave};
pub use host::{ClientVersions, Evaluator, Host, Population, Shard};
pub use kind::{AnyKind, Chosen, Kind, Kinds};
pub use ledger::{Direction, Entry, Ledger, Traffic};
pub use memo::{Archive, Memo};
pub use merit::Merit;
pub use message::{Message, Reader, Wire, WireError};
pub use motet_macros::Documented;
pub use number::{Fraction, NonNegative, OutOfRange, PerClient, Positive, Probability, Rate};
pub use objective::{Batch, Compact, Constants, Objective, Rows};
pub use promise::Promise;
pub use record::{Breach, Excluded, Metrics, Outcome, Row, Sink, UpDown, larger_is_better};
pub use round::{NotFinite, Round};
pub use run_state::{Account, AfterRound, Checkpointer, RunState};
pub use sampling::Sampling;
pub use seed::{Noise, Purpose, Rng, Seed, Slot};
pub use site::{Meter, Site, Work};
pub use store::{Store, StoreError};
pub use study::{Facts, Study, Unsuitable};
pub use sum::{Addend, Adding, Partial, Sent, Sum, sum_by_exchange};
pub use train::{Plan, Reference, Rhythm, Stop, Trained, train, train_from};
pub use train_error::TrainError;
pub use vector::{Mean, Precision, RowUpdate, SparseMean, Update, Vector, View, ViewMut};
