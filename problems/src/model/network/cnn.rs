//! `kind = "cnn"` and `kind = "cnn-dropout"`

use motet_nn::zoo::{fedopt_cnn, mcmahan_cnn_of};
use serde::{Deserialize, Serialize};

use super::image::{pixels, shape};
use super::pixels::{Augment, Normalise, Pixels};
use super::{Architecture, Card, Examples, Layers, ModelError, Task};

/// The convolutional network of McMahan et al. 2017.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cnn {
    /// Height, width, channels.
    pub image: Option<[usize; 3]>,
    /// How pixels are scaled.
    pub normalise: Option<Normalise>,
    /// What training makes of images by chance.
    pub augment: Option<Augment>,
    /// Of the two convolutions.
    pub channels: [usize; 2],
    /// Numbers of the dense layer.
    pub hidden: usize,
}

impl Default for Cnn {
    fn default() -> Self {
        Self { image: None, normalise: None, augment: None, channels: [32, 64], hidden: 512 }
    }
}

impl Architecture for Cnn {
    const CARD: Card = Card {
        name: "cnn",
        about: "two 5 x 5 convolutions with max pooling and a dense layer (McMahan et al. 2017), in single precision",
        parameters: &[
            ("image", "height, width, channels; square images of 1 or 3 channels need not be told"),
            ("normalise", "\"image\" (each to mean 0, deviation 1), \"imagenet\" or { mean, std } by channel; as they are unless told"),
            ("augment", "{ crop, flip }: in training a part cut anywhere, mirrored by a coin; the centre when judged"),
            ("channels", "of the two convolutions (default [32, 64])"),
            ("hidden", "numbers of the dense layer (default 512)"),
        ],
    };

    fn pixels(&self, data: &Examples) -> Result<Option<Pixels>, ModelError> {
        pixels(Self::CARD.name, self.image, (self.normalise.as_ref(), self.augment.as_ref()), data).map(Some)
    }

    fn build(&self, data: &Examples) -> Result<(Layers<f32>, Task), ModelError> {
        let model = Self::CARD.name;
        let classes = data.classes().ok_or(ModelError::NeedsClasses { model })? as usize;
        let layers = mcmahan_cnn_of(shape(self.pixels(data)?), self.channels, self.hidden, classes);
        Ok((layers.map_err(|misfit| ModelError::Network { model, misfit })?, Task::Classes))
    }
}

/// The convolutional network with dropout of Reddi et al. 2021.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CnnDropout {
    /// Height, width, channels.
    pub image: Option<[usize; 3]>,
    /// How pixels are scaled.
    pub normalise: Option<Normalise>,
    /// What training makes of images by chance.
    pub augment: Option<Augment>,
}

impl Architecture for CnnDropout {
    const CARD: Card = Card {
        name: "cnn-dropout",
        about: "two 3 x 3 convolutions, dropout and a dense layer (Reddi et al. 2021), in single precision",
        parameters: &[
            ("image", "height, width, channels; square images of 1 or 3 channels need not be told"),
            ("normalise", "\"image\" (each to mean 0, deviation 1), \"imagenet\" or { mean, std } by channel; as they are unless told"),
            ("augment", "{ crop, flip }: in training a part cut anywhere, mirrored by a coin; the centre when judged"),
        ],
    };

    fn pixels(&self, data: &Examples) -> Result<Option<Pixels>, ModelError> {
        pixels(Self::CARD.name, self.image, (self.normalise.as_ref(), self.augment.as_ref()), data).map(Some)
    }

    fn build(&self, data: &Examples) -> Result<(Layers<f32>, Task), ModelError> {
        let model = Self::CARD.name;
        let classes = data.classes().ok_or(ModelError::NeedsClasses { model })? as usize;
        let layers = fedopt_cnn(shape(self.pixels(data)?), classes);
        Ok((layers.map_err(|misfit| ModelError::Network { model, misfit })?, Task::Classes))
    }
}
