//! A multi-layer perceptron.

use crate::layer::{Activation, Dense};
use crate::{Element, Init, Loss, Misfit, Model, Shape, named};

/// Hidden layers of these sizes with an activation after each, then `outputs` scores. Matrices start as He et al. propose
/// before a ReLU or a GELU, and as Glorot and Bengio do otherwise; the last one always as the latter.
pub fn mlp<E: Element>(inputs: usize, hidden: &[usize], outputs: usize, activation: Activation, loss: Loss) -> Result<Model<E>, Misfit> {
    let (mut layers, mut width) = (Vec::new(), inputs);
    for (k, &size) in hidden.iter().enumerate() {
        let init = match activation {
            Activation::Relu | Activation::Gelu => Init::He(width),
            Activation::Tanh | Activation::Sigmoid => Init::Glorot(width, size),
        };
        layers.push(named(format!("layer{}", k + 1), Dense::new(size).starting(init)));
        layers.push(named(format!("act{}", k + 1), activation));
        width = size;
    }
    layers.push(named(format!("layer{}", hidden.len() + 1), Dense::new(outputs)));
    Model::new(Shape(vec![inputs]), layers, loss)
}
