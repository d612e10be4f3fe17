//! One file per paper, and the small parts they share.
//!
//! Start with [`flix`]: the whole of a method in one screen.

pub mod dcgd;
pub mod diana;
pub mod ef;
pub mod ef21;
pub mod flix;
pub mod local;
pub mod parts;
mod registry;

pub use registry::{CARDS, Card, Method, UnknownMethod, Visitor, with};
