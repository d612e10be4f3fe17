//! `kind = "cnn"` and `kind = "cnn-dropout"`

use motet_core::{Documented, Kind};
use motet_nn::zoo::{fedopt_cnn_by, mcmahan_cnn_of};
use serde::{Deserialize, Serialize};

use super::convolution::Convolution;
use super::image::{pixels, shape};
use super::pixels::{Augment, Normalise, Pixels};
use super::{Architecture, Examples, Layers, ModelError, Task};

/// Two 5 x 5 convolutions with max pooling and a dense layer (McMahan et al. 2017), in single precision.
///
/// The convolutional network of McMahan et al. 2017.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields, default)]
pub struct Cnn {
    /// Height, width, channels; not needed for square images of 1 or 3 channels.
    pub image: Option<[usize; 3]>,
    /// "image" (each to mean 0, deviation 1), "imagenet" or { mean, std } by channel (default: as they are).
    pub normalise: Option<Normalise>,
    /// { crop, flip }: in training, images are cut at a random place and mirrored at random; when judged, the centre is taken (default: whole images, never mirrored).
    pub augment: Option<Augment>,
    /// Channels of the two convolutions (default [32, 64]).
    pub channels: [usize; 2],
    /// Numbers of the dense layer (default 512).
    pub hidden: usize,
    /// "fast" (default): 3 x 3 and 5 x 5 convolutions with a fraction of the multiplications and errors of some 1e-6 of the largest
    /// number; "exact": by their definition, with errors of some 1e-7.
    pub convolution: Convolution,
}

impl Default for Cnn {
    fn default() -> Self {
        Self { image: None, normalise: None, augment: None, channels: [32, 64], hidden: 512, convolution: Convolution::default() }
    }
}

impl Kind for Cnn {
    const NAME: &'static str = "cnn";
}

impl Architecture for Cnn {
    fn image(&self) -> Option<Option<[usize; 3]>> {
        Some(self.image)
    }

    fn pixels(&self, data: &Examples) -> Result<Option<Pixels>, ModelError> {
        pixels(Self::NAME, self.image, (self.normalise.as_ref(), self.augment.as_ref()), data).map(Some)
    }

    fn build(&self, data: &Examples) -> Result<(Layers<f32>, Task), ModelError> {
        let model = Self::NAME;
        let classes = data.classes().ok_or(ModelError::NeedsClasses { model })? as usize;
        let layers = mcmahan_cnn_of(shape(self.pixels(data)?), self.channels, self.hidden, classes, self.convolution.into());
        Ok((layers.map_err(|misfit| ModelError::Network { model, misfit })?, Task::Classes))
    }
}

/// Two 3 x 3 convolutions, dropout and a dense layer (Reddi et al. 2021), in single precision.
///
/// The convolutional network with dropout of Reddi et al. 2021.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields, default)]
pub struct CnnDropout {
    /// Height, width, channels; not needed for square images of 1 or 3 channels.
    pub image: Option<[usize; 3]>,
    /// "image" (each to mean 0, deviation 1), "imagenet" or { mean, std } by channel (default: as they are).
    pub normalise: Option<Normalise>,
    /// { crop, flip }: in training, images are cut at a random place and mirrored at random; when judged, the centre is taken (default: whole images, never mirrored).
    pub augment: Option<Augment>,
    /// "fast" (default): 3 x 3 and 5 x 5 convolutions with a fraction of the multiplications and errors of some 1e-6 of the largest
    /// number; "exact": by their definition, with errors of some 1e-7.
    pub convolution: Convolution,
}

impl Kind for CnnDropout {
    const NAME: &'static str = "cnn-dropout";
}

impl Architecture for CnnDropout {
    fn image(&self) -> Option<Option<[usize; 3]>> {
        Some(self.image)
    }

    fn pixels(&self, data: &Examples) -> Result<Option<Pixels>, ModelError> {
        pixels(Self::NAME, self.image, (self.normalise.as_ref(), self.augment.as_ref()), data).map(Some)
    }

    fn build(&self, data: &Examples) -> Result<(Layers<f32>, Task), ModelError> {
        let model = Self::NAME;
        let classes = data.classes().ok_or(ModelError::NeedsClasses { model })? as usize;
        let layers = fedopt_cnn_by(shape(self.pixels(data)?), classes, self.convolution.into());
        Ok((layers.map_err(|misfit| ModelError::Network { model, misfit })?, Task::Classes))
    }
}
