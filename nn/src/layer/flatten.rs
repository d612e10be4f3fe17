//! Sequences and images as one vector.

use super::{Flow, Layer, Pass, Reads};
use crate::element::Element;
use crate::shape::Shape;

/// Forgets the axes; moves nothing.
#[derive(Clone, Copy, Debug)]
pub struct Flatten;

impl<E: Element> Layer<E> for Flatten {
    fn kind(&self) -> &'static str {
        "flatten"
    }
    fn place(&mut self, input: &Shape) -> Result<Shape, String> {
        Ok(Shape(vec![input.len()]))
    }
    fn reads(&self) -> Reads {
        Reads::NOTHING
    }
    fn in_place(&self) -> bool {
        true
    }
    fn forward(&self, _: &mut Pass<'_, E>, _: &[E], _: &[E], _: &mut [E]) {}
    fn backward(&self, _: &mut Pass<'_, E>, _: &[E], _: Flow<'_, E>, _: &mut [E]) {}
}
