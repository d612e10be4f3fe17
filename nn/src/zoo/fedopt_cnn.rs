//! The convolutional network with dropout of Reddi et al., *Adaptive Federated Optimization* (ICLR 2021), table 4.

use motet_core::Fraction;

use crate::layer::{Activation, Conv2d, Convolution, Dense, Dropout, MaxPool};
use crate::{Element, Loss, Misfit, Model, Shape, named};

/// Two 3 × 3 convolutions with 32 and 64 channels, max pooling, dropout ¼, a layer of 128, dropout ½.
pub fn fedopt_cnn<E: Element>(image: Shape, classes: usize) -> Result<Model<E>, Misfit> {
    fedopt_cnn_by(image, classes, Convolution::default())
}

/// The same network, with convolutions computed in the given way.
pub fn fedopt_cnn_by<E: Element>(image: Shape, classes: usize, convolution: Convolution) -> Result<Model<E>, Misfit> {
    let rate = |rate: f64| Dropout::new(Fraction::new(rate).expect("a quarter and a half are fractions"));
    let layers = vec![
        named("conv1", Conv2d::new(32, 3).by(convolution)),
        named("relu1", Activation::Relu),
        named("conv2", Conv2d::new(64, 3).by(convolution)),
        named("pool", MaxPool::new(2).rectified()),
        named("drop1", rate(0.25)),
        named("fc1", Dense::new(128)),
        named("relu2", Activation::Relu),
        named("drop2", rate(0.5)),
        named("fc2", Dense::new(classes)),
    ];
    Model::new(image, layers, Loss::CrossEntropy)
}
