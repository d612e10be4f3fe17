//! Small neural networks over one flat parameter vector.
//!
//! A [`Layer`](layer::Layer) has its forward and its reverse pass side by side in one file; a [`Model`] is a list of layers
//! whose shapes were checked, and a [`Loss`]; a [`Workspace`] holds everything a pass needs, so that the steady state
//! allocates nothing. [`zoo`] has the networks of the papers. All of it is generic over the width of numbers: networks
//! train in `f32`, and the very same code is checked against differences in `f64`.
//!
//! Images lie as height × width × channels, sequences as time × features. Tokens are numbers like any other.

mod chain;
mod count;
#[cfg(test)]
mod edges;
mod element;
pub mod elementary;

mod files;
mod init;
pub mod layer;
mod loss;
mod matrix;
mod model;
mod panels;
mod parameter;
mod shape;
mod small;
mod wordpiece;
pub mod zoo;

pub use chain::{Chain, Named, named};
pub use count::Count;
pub use element::Element;
pub use files::FileError;
pub use init::Init;
pub use loss::{Loss, PADDING};
pub use matrix::{Mat, matmul};
pub use model::{Inputs, Model, Workspace};
pub use parameter::{Layout, Parameter};
pub use shape::{Misfit, Shape};
pub use wordpiece::{WordPiece, WordPieceError};
