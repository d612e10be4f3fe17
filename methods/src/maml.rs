//! MAML: a start from which m steps of adaptation lead far.
//!
//! Finn, Abbeel, Levine. *Model-Agnostic Meta-Learning for Fast Adaptation of Deep Networks*. ICML 2017.
//!
//! [`crate::local_update`] with Θ_{m+1} whose last gradient is carried back through the m steps (its line 6), so that the server descends
//! mean fᵢ(X_m(x)) itself. Hessian-vector products are exact where the model has them, else central differences of gradients. All lines
//! are there. On quadratics with full gradients it is Θ_{2m+1} (Theorem 4 of LocalUpdate).

use crate::local_update::{Adapting, LocalUpdateFamily, Order};

/// MAML.
pub type Maml = LocalUpdateFamily<MamlSettings>;

/// What MAML leaves open.
pub type MamlSettings = Adapting<Second>;

/// Derivatives of the second order.
#[derive(Clone, Debug)]
pub struct Second;

impl Order for Second {
    const NAME: &'static str = "maml";
    const ABOUT: &'static str = "a start from which m steps of adaptation go far, by Hessian-vector products";
    const THETA: &'static str = "K, K = m + 1, exact (2m + 1 on quadratics)";
    const EXACT: bool = true;
}
