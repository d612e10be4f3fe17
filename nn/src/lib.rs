//! Small neural networks over one flat parameter vector.
//!
//! A [`Layer`](layer::Layer) has its forward and its reverse pass side by side in one file; a [`Model`] is a list of layers
//! whose shapes were checked, and a [`Loss`]; a [`Workspace`] holds everything a pass needs, so that the steady state
//! allocates nothing. [`zoo`] has the networks of the papers. All of it is generic over the width of numbers: networks
//! train in `f32`, and the very same code is checked against differences in `f64`.
//!
//! Images lie as height × width × channels, sequences as time × features. Tokens are numbers like any other.
//!
//! ```
//! use motet_core::{ClientId, Seed, Slot};
//! use motet_nn::layer::Activation;
//! use motet_nn::{Inputs, Loss, Model, Workspace, zoo};
//!
//! // 2 → 8 → 1 with tanh, by squared error: three examples of a product.
//! let model: Model<f64> = zoo::mlp(2, &[8], 1, Activation::Tanh, Loss::Squared)?;
//! let mut room = Workspace::of(vec![1.0, 1.0, 0.5, -1.0, -1.0, 0.25], vec![1.0, -0.5, -0.25]);
//! let mean = || Inputs { noise: None, buffers: None, share: 1.0 / 3.0, accumulate: false, unvalued: false };
//!
//! let mut w = model.start(&mut Seed(1).client(Slot { round: 0, attempt: 0, exchange: 0 }, ClientId(0)));
//! let mut g = vec![0.0; model.dim()];
//! let before = model.gradient(&w, mean(), &mut room, &mut g);
//! for _ in 0..100 {
//!     model.gradient(&w, mean(), &mut room, &mut g);
//!     w.iter_mut().zip(&g).for_each(|(w, g)| *w -= 0.1 * g);
//! }
//! assert!(model.value(&w, mean(), &mut room) < 0.5 * before);
//! # Ok::<(), motet_nn::Misfit>(())
//! ```

mod chain;
mod count;
mod direct;
#[cfg(test)]
mod edges;
mod element;
pub mod elementary;

mod files;
mod filter;
mod init;
mod lanes;
pub mod layer;
mod loss;
mod matrix;
mod model;
mod panels;
mod parameter;
mod products;
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
