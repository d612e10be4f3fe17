//! `kind = "mlp"`

use motet_nn::layer;
use motet_nn::zoo::mlp;
use serde::{Deserialize, Serialize};

use super::{Architecture, Card, Examples, Layers, ModelError, Task};

/// A multi-layer perceptron: classes by softmax, numbers by squared error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mlp {
    /// Sizes of the hidden layers; none is softmax or linear regression.
    pub sizes: Vec<usize>,
    /// After each hidden layer.
    #[serde(default)]
    pub activation: Activation,
}

/// A function of one number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// max(0, x)
    #[default]
    Relu,
    /// tanh x
    Tanh,
    /// 1/(1 + e⁻ˣ)
    Sigmoid,
    /// x Φ(x)
    Gelu,
}

impl From<Activation> for layer::Activation {
    fn from(activation: Activation) -> Self {
        match activation {
            Activation::Relu => layer::Activation::Relu,
            Activation::Tanh => layer::Activation::Tanh,
            Activation::Sigmoid => layer::Activation::Sigmoid,
            Activation::Gelu => layer::Activation::Gelu,
        }
    }
}

impl Architecture for Mlp {
    const CARD: Card = Card {
        name: "mlp",
        about: "multi-layer perceptron in single precision; classes by softmax, numbers by squared error",
        parameters: &[
            ("sizes", "of the hidden layers, as [40, 40]; [] is softmax or linear regression"),
            ("activation", "\"relu\" (default), \"tanh\", \"sigmoid\" or \"gelu\""),
        ],
    };

    fn build(&self, data: &Examples) -> Result<(Layers<f32>, Task), ModelError> {
        let (task, outputs, loss) = Task::of(data);
        let layers = mlp(data.features().cols(), &self.sizes, outputs, self.activation.into(), loss);
        Ok((layers.map_err(|misfit| ModelError::Network { model: Self::CARD.name, misfit })?, task))
    }
}
