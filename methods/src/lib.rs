//! One file per paper, and the small parts they share.
//!
//! Start with [`flix`]: the whole of a method in one screen.

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
