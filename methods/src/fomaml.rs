//! First-order MAML: the gradient after m steps of adaptation, used as if it were one at x.
//!
//! Finn, Abbeel, Levine. *Model-Agnostic Meta-Learning for Fast Adaptation of Deep Networks*. ICML 2017.
//!
//! [`crate::local_update`] with Θ_{m+1}: m steps on 80 % of a client's examples, the gradient on the other 20 %, as in the FLIX
//! paper's baseline, and test-time adaptation by the same m steps. All lines are there.

use crate::local_update::{Adapting, LocalUpdateFamily, Order};

/// First-order MAML.
pub type Fomaml = LocalUpdateFamily<FomamlSettings>;

/// What First-order MAML leaves open.
pub type FomamlSettings = Adapting<First>;

/// Derivatives of the first order.
#[derive(Clone, Debug)]
pub struct First;

impl Order for First {
    const NAME: &'static str = "fomaml";
    const ABOUT: &'static str = "MAML without second derivatives: the gradient after m steps of adaptation";
    const THETA: &'static str = "K, K = m + 1";
    const EXACT: bool = false;
}
