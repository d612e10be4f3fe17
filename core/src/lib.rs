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
mod averaged;
mod breach;
pub mod card;
mod cohort;
mod devices;
mod exchange;
mod fast;
mod fit;
mod fleet;
mod host;
pub mod json_number;
pub mod kind;
mod ledger;
mod liars;
mod loops;
mod mean;
mod memo;
mod merit;
mod message;
mod moment;
mod number;
mod objective;
mod pick;
mod promise;
mod record;
mod recycle;
mod round;
mod sampling;
mod seed;
mod site;
mod store;
mod study;
mod sum;
mod table;
mod train;
mod train_error;
mod update;
mod vector;

pub use abort::Abort;
pub use algorithm::{Algorithm, ClientId, Deployment, State};
pub use averaged::Averaged;
pub use card::{Card, Documented, Parameter, Parameters};
pub use cohort::Cohort;
pub use devices::Devices;
pub use fit::{Misfit, ModelShape, ReplyError, whole};
pub use fleet::{Answer, Asks, Fleet, Heard, Look, Probe, Received, Roster, Score, Wave};
pub use host::{Exam, Host, Kept, Population, Shard};
pub use kind::{AnyKind, Chosen, Kind, Kinds};
pub use ledger::{Direction, Entry, Ledger, Traffic};
pub use liars::{Attack, Liars};
pub use mean::Mean;
pub use memo::{Archive, Memo};
pub use merit::Merit;
pub use message::{Message, Reader, Wire, WireError};
pub use moment::{Account, Keeper, Moment, Next};
pub use motet_macros::Documented;
pub use number::{Fraction, NonNegative, OutOfRange, PerClient, Positive, Probability, Rate};
pub use objective::{Batch, Compact, Constants, Objective, Rows};
pub use promise::Promise;
pub use record::{Breach, Excluded, Metrics, Outcome, Row, Sink, UpDown, larger_is_better};
pub use round::{NotFinite, Round};
pub use sampling::Sampling;
pub use seed::{Noise, Purpose, Rng, Seed, Slot};
pub use site::{Meter, Site, Work};
pub use store::{Store, StoreError};
pub use study::{Facts, Study, Unsuitable};
pub use sum::{Addend, Adding, Partial, Sent, Sum, sum_by_exchange};
pub use train::{Plan, Reference, Rhythm, Stop, Trained, train, train_from};
pub use train_error::TrainError;
pub use update::{RowUpdate, Update};
pub use vector::{Precision, Vector, View, ViewMut};
