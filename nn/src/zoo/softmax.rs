//! Softmax regression.

use crate::layer::{Dense, Flatten};
use crate::{Element, Init, Loss, Misfit, Model, Shape, named};

/// One matrix and a bias, started at zero.
pub fn softmax<E: Element>(input: Shape, classes: usize) -> Result<Model<E>, Misfit> {
    let layers = vec![named("flatten", Flatten), named("linear", Dense::new(classes).starting(Init::Zeros))];
    Model::new(input, layers, Loss::CrossEntropy)
}
