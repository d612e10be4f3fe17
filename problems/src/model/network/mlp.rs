//! `kind = "mlp"`

use motet_core::{Documented, Kind, Positive};
use motet_nn::layer;
use motet_nn::zoo::mlp;
use serde::{Deserialize, Serialize};

use super::{Architecture, Dice, Examples, Layers, ModelError, Task};

/// Multi-layer perceptron in single precision; classes by softmax, numbers by squared error.
///
/// A multi-layer perceptron: classes by softmax, numbers by squared error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Mlp {
    /// Sizes of the hidden layers, as [40, 40]; [] is softmax or linear regression.
    pub sizes: Vec<usize>,
    /// After each hidden layer: "relu" (default), "tanh", "sigmoid" or "gelu".
    #[serde(default)]
    pub activation: Activation,
    /// s: every number starts at N(0, s²). Default: as He et al. and Glorot and Bengio propose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normal: Option<Positive>,
    /// Whether each client that trains alone starts from random values of its own (default false).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_start: bool,
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

impl Kind for Mlp {
    const NAME: &'static str = "mlp";
}

impl Architecture for Mlp {
    fn build(&self, data: &Examples) -> Result<(Layers<f32>, Task), ModelError> {
        let (task, outputs, loss) = Task::of(data);
        let layers = mlp(data.features().cols(), &self.sizes, outputs, self.activation.into(), loss);
        Ok((layers.map_err(|misfit| ModelError::Network { model: Self::NAME, misfit })?, task))
    }

    fn dice(&self) -> Dice {
        Dice { normal: self.normal.map(|s| *s), own: self.own_start }
    }
}
