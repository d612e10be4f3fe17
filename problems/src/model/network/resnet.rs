//! `kind = "resnet18"`

use motet_core::{Documented, Kind};
use motet_nn::zoo::{ResNetNorm, resnet18_by};
use serde::{Deserialize, Serialize};

use super::convolution::Convolution;
use super::image::{pixels, shape};
use super::pixels::{Augment, Normalise, Pixels};
use super::{Architecture, Examples, Layers, ModelError, Task};

/// ResNet-18 for small images (He et al. 2016) with group or batch norm, in single precision.
///
/// ResNet-18 for small images.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields, default)]
pub struct ResNet {
    /// Height, width, channels; not needed for square images of 1 or 3 channels.
    pub image: Option<[usize; 3]>,
    /// "image" (each to mean 0, deviation 1), "imagenet" or { mean, std } by channel (default: as they are).
    pub normalise: Option<Normalise>,
    /// { crop, flip }: in training, images are cut at a random place and mirrored at random; when judged, the centre is taken (default: whole images, never mirrored).
    pub augment: Option<Augment>,
    /// "group" (default), or "batch" with running statistics that stay with the client.
    pub norm: Norm,
    /// Groups of the group norm (default 2).
    pub groups: usize,
    /// Channels of the first stage (default 64).
    pub width: usize,
    /// "fast" (default): 3 x 3 and 5 x 5 convolutions with a fraction of the multiplications and errors of some 1e-6 of the largest
    /// number; "exact": by their definition, with errors of some 1e-7.
    pub convolution: Convolution,
}

/// How channels are normalised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Norm {
    /// Per image.
    #[default]
    Group,
    /// Over the batch; running statistics stay with the client.
    Batch,
}

impl Default for ResNet {
    fn default() -> Self {
        Self { image: None, normalise: None, augment: None, norm: Norm::Group, groups: 2, width: 64, convolution: Convolution::default() }
    }
}

impl Kind for ResNet {
    const NAME: &'static str = "resnet18";
}

impl Architecture for ResNet {
    fn image(&self) -> Option<Option<[usize; 3]>> {
        Some(self.image)
    }

    fn pixels(&self, data: &Examples) -> Result<Option<Pixels>, ModelError> {
        pixels(Self::NAME, self.image, (self.normalise.as_ref(), self.augment.as_ref()), data).map(Some)
    }

    fn build(&self, data: &Examples) -> Result<(Layers<f32>, Task), ModelError> {
        let model = Self::NAME;
        let classes = data.classes().ok_or(ModelError::NeedsClasses { model })? as usize;
        let norm = match self.norm {
            Norm::Group => ResNetNorm::Group(self.groups),
            Norm::Batch => ResNetNorm::Batch,
        };
        let layers = resnet18_by(shape(self.pixels(data)?), classes, norm, self.width, self.convolution.into());
        Ok((layers.map_err(|misfit| ModelError::Network { model, misfit })?, Task::Classes))
    }
}
