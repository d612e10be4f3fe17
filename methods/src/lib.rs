//! One file per paper, and the small parts they share.
//!
//! Start with [`flix`]: the whole of a method in one screen.

pub mod dcgd;
pub mod diana;
pub mod ef;
pub mod ef21;
pub mod fedadp;
pub mod flix;
pub mod flix_fedavg;
pub mod flix_sgd;
pub mod i_scaffnew;
pub mod local;
pub mod meritfed;
pub mod meritfed_all;
pub mod one_shot;
pub mod parts;
mod registry;
pub mod scafflix;
pub mod scaffnew;
pub mod sgd_full;
pub mod sgd_ideal;
pub mod tawt;

pub use registry::{CARDS, Card, Method, UnknownMethod, Visitor, with};
