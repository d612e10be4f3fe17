//! The convolutional network of McMahan et al., *Communication-Efficient Learning of Deep Networks from Decentralized
//! Data* (AISTATS 2017): two 5 × 5 convolutions with 32 and 64 channels, each with 2 × 2 max pooling, a layer of 512.

use crate::layer::{Activation, Conv2d, Convolution, Dense, MaxPool};
use crate::{Element, Loss, Misfit, Model, Shape, named};

/// For images of any size that four divides; started as Glorot and Bengio propose.
pub fn mcmahan_cnn<E: Element>(image: Shape, classes: usize) -> Result<Model<E>, Misfit> {
    mcmahan_cnn_of(image, [32, 64], 512, classes, Convolution::default())
}

/// The same with other numbers of channels and hidden numbers, and convolutions computed in this way.
pub fn mcmahan_cnn_of<E: Element>(
    image: Shape,
    channels: [usize; 2],
    hidden: usize,
    classes: usize,
    convolution: Convolution,
) -> Result<Model<E>, Misfit> {
    let layers = vec![
        named("conv1", Conv2d::new(channels[0], 5).same().by(convolution)),
        named("pool1", MaxPool::new(2).rectified()),
        named("conv2", Conv2d::new(channels[1], 5).same().by(convolution)),
        named("pool2", MaxPool::new(2).rectified()),
        named("fc1", Dense::new(hidden)),
        named("relu", Activation::Relu),
        named("fc2", Dense::new(classes)),
    ];
    Model::new(image, layers, Loss::CrossEntropy)
}
