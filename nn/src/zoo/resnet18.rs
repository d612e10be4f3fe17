//! ResNet-18 for small images: He et al. 2016, with group norm as Hsieh et al., *The Non-IID Data Quagmire of Decentralized
//! Machine Learning* (ICML 2020) and Reddi et al. (ICLR 2021) have it, or with batch norm.

use crate::layer::{Activation, AveragePool, BatchNorm, Conv2d, Convolution, Dense, GroupNorm, Residual};
use crate::{Count, Element, Init, Loss, Misfit, Model, Named, Shape, named};

/// How its channels are normalised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResNetNorm {
    /// By so many groups of channels per image.
    Group(usize),
    /// Over the batch, with running statistics that are never shared.
    Batch,
}

impl ResNetNorm {
    fn layer<E: Element>(self, name: &str) -> Named<E> {
        match self {
            ResNetNorm::Group(groups) => named(name, GroupNorm::new(groups)),
            ResNetNorm::Batch => named(name, BatchNorm::new()),
        }
    }
}

/// Four stages of two blocks with `width`, 2·, 4·, 8·`width` channels (64 in the paper); the first convolution is 3 × 3
/// without pooling after it, as is usual for images of 32 × 32 and 24 × 24.
pub fn resnet18<E: Element>(image: Shape, classes: usize, norm: ResNetNorm, width: usize) -> Result<Model<E>, Misfit> {
    resnet18_by(image, classes, norm, width, Convolution::default())
}

/// The same network, with convolutions computed in the given way.
pub fn resnet18_by<E: Element>(
    image: Shape,
    classes: usize,
    norm: ResNetNorm,
    width: usize,
    convolution: Convolution,
) -> Result<Model<E>, Misfit> {
    let conv = |channels: usize, size: usize, inputs: usize| {
        Conv2d::new(channels, size).plain().starting(Init::He(size * size * inputs)).by(convolution)
    };
    // Starts are computed from nine times the channels, and channels double three times.
    let widest = Count::of(width).max(Count::of(image.last())) * 8 * 9;
    if widest.get().is_none() {
        let reason = format!("has a width of {width} over images of {image}, which no memory can hold");
        return Err(Misfit { layer: "conv1".into(), kind: "convolution", reason });
    }
    let mut layers = vec![named("conv1", conv(width, 3, image.last()).same()), norm.layer("bn1"), named("relu", Activation::Relu)];
    let mut channels = width;
    for stage in 0..4 {
        for block in 0..2 {
            let (from, to) = (channels, width << stage);
            let stride = if stage > 0 && block == 0 { 2 } else { 1 };
            let name = format!("layer{}.{block}", stage + 1);
            layers.push(named(name.clone(), basic(conv, from, to, stride, norm)));
            layers.push(named(format!("{name}.relu"), Activation::Relu));
            channels = to;
        }
    }
    layers.push(named("pool", AveragePool::whole()));
    layers.push(named("fc", Dense::new(classes)));
    Model::new(image, layers, Loss::CrossEntropy)
}

/// Two 3 × 3 convolutions beside the identity, or beside a 1 × 1 convolution where the size changes.
fn basic<E: Element>(conv: impl Fn(usize, usize, usize) -> Conv2d, from: usize, to: usize, stride: usize, norm: ResNetNorm) -> Residual<E> {
    let body = vec![
        named("conv1", conv(to, 3, from).same().stride(stride)),
        norm.layer("bn1"),
        named("relu", Activation::Relu),
        named("conv2", conv(to, 3, to).same()),
        norm.layer("bn2"),
    ];
    let shortcut = if stride == 1 && from == to {
        Vec::new()
    } else {
        vec![named("downsample.0", conv(to, 1, from).stride(stride)), norm.layer("downsample.1")]
    };
    Residual::new(body, shortcut)
}
