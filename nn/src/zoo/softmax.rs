//! Softmax regression.

use crate::layer::Dense;
use crate::{Element, Init, Loss, Misfit, Model, Shape, named};

/// One matrix and a bias, started at zero.
pub fn softmax<E: Element>(input: Shape, classes: usize) -> Result<Model<E>, Misfit> {
    Model::new(Shape(vec![input.len()]), vec![named("linear", Dense::new(classes).starting(Init::Zeros))], Loss::CrossEntropy)
}
