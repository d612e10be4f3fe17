//! One file per paper, and the small parts they share.
//!
//! Start with [`flix`]: the whole of a method in one screen. A method is a struct of parameters with
//! [`Algorithm`](motet_core::Algorithm) (what its paper says), [`Study`](motet_core::Study) (what theory says of it) and
//! [`Method`] (its card: name, reference, parameters). [`with`] finds one by its name, [`CARDS`] lists them, and [`parts`]
//! has what two or more of them share: local solves, compressors, server optimisers, samplings.
//!
//! ```
//! use std::sync::Arc;
//! use motet_core::{Host, Memo, Plan, Population, ProbeRequest, Seed, Shard, Vector, train};
//! use motet_methods::flix::Flix;
//! use motet_problems::synthetic::formula::lrs;
//! use motet_runtime::{Inline, Memory};
//!
//! // Four clients with ten examples each, in dimension 3; each will deploy half of the shared model and half of its own.
//! let clients: Arc<dyn Population> = Arc::new(lrs(4, 10, 3).into_iter().map(Shard::new).collect::<Vec<_>>());
//! let (method, seed) = (Arc::new(Flix::mixing(0.5)?), Seed(1));
//! let host = Host::new(Arc::clone(&method), clients, Arc::new(Memory::default()), Arc::new(Memo::default()), seed);
//! let plan = Plan { look: ProbeRequest { train: true, ..ProbeRequest::default() }, ..Plan::new(20, seed) };
//! let mut rows = vec![];
//! train(&*method, Vector::from(vec![0.0; 3]), &plan, &mut Inline::new(host), &mut rows)?;
//! assert!(rows[20].metrics["loss"] < rows[0].metrics["loss"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The crate `motet` says the same in one line: `Run::new(Flix::mixing(0.5)?, clients).rounds(20).seed(1).train()?`.

pub mod apfl;
pub mod dcgd;
pub mod diana;
pub mod ditto;
pub mod ef;
pub mod ef21;
pub mod fedadp;
pub mod fedavg;
pub mod fedprox;
pub mod finetune;
pub mod flix;
pub mod flix_fedavg;
pub mod flix_sgd;
pub mod fomaml;
pub mod i_scaffnew;
pub mod l2gd;
pub mod local;
pub mod local_sgd;
pub mod local_update;
pub mod local_update_decay;
pub mod lookahead;
pub mod maml;
pub mod meritfed;
pub mod meritfed_all;
pub mod minibatch_sgd;
pub mod one_shot;
pub mod parts;
pub mod per_fedavg;
pub mod pfedme;
mod registry;
pub mod reptile;
pub mod scafflix;
pub mod scaffnew;
pub mod scaffold;
pub mod sgd_full;
pub mod sgd_ideal;
pub mod tawt;

pub use registry::{CARDS, Card, EachMethod, Method, Reads, UnknownMethod, Visitor, each_method, with};
