//! What local updates do to quadratics, in closed form.
//!
//! Charles, Konečný. *On the Outsized Importance of Learning Rates in Local Update Methods*. 2020, with the
//! corrections of its Corollary 22, Lemma 23 and Theorems 26 to 29 that the documentation of each function states.
//!
//! ```text
//! fᵢ(x) = ½ (x − cᵢ)ᵀ Aᵢ (x − cᵢ),   μ I ≤ Aᵢ ≤ L I,   f = E fᵢ
//! a client walks y₁ = x, y_{k+1} = y_k − γ g_k and sends Σ θ_k g_k:
//! on average this is ∇f̃ᵢ(x) = Qᵢ Aᵢ (x − cᵢ),   Qᵢ = Σ θ_k (I − γ Aᵢ)^{k−1}
//! ```
//!
//! so that the server descends on the surrogate f̃ = E f̃ᵢ, whose minimiser is not that of f. [`Ensemble`] holds the
//! functions, [`Surrogate`] what a client rate and weights make of them, [`Scales`] the bounds that need four numbers
//! only, [`Rates`] and [`Decay`] how fast the server gets there.
//!
//! ```
//! use motet_theory::{Ensemble, Theta};
//! // f₁ = ½ (x − 1)², f₂ = (x − ½)²: the mean is minimised at 2/3, two local steps of ¼ lead to 13/19.
//! let q2 = Ensemble::new([(vec![1.0], vec![1.0]), (vec![2.0], vec![0.5])])?;
//! let surrogate = q2.surrogate(0.25, &Theta::all(2));
//! assert!((surrogate.minimiser().unwrap()[0] - 13.0 / 19.0).abs() < 1e-15);
//! assert!(surrogate.distance().unwrap() <= q2.scales().distance_all(2, 0.25));
//! # Ok::<(), motet_theory::EnsembleError>(())
//! ```

mod ensemble;
pub mod figure;
mod phi;
mod rates;
mod scales;
mod surrogate;
mod theta;

pub use ensemble::{Ensemble, EnsembleError};
pub use phi::phi;
pub use rates::{Cohort, Decay, Noise, Rates};
pub use scales::{Scales, gamma_keeping};
pub use surrogate::Surrogate;
pub use theta::Theta;
