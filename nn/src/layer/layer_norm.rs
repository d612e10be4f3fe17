//! Each position has mean 0 and variance 1 over its features (Ba, Kiros, Hinton 2016).

use super::norm::Norm;
use super::{Flow, Layer, Pass, Reads};
use crate::count::Count;
use crate::element::Element;
use crate::parameter::Parameter;
use crate::shape::Shape;

/// A norm over the last axis.
#[derive(Clone, Debug)]
pub struct LayerNorm {
    norm: Norm,
    rows: usize,
}

impl LayerNorm {
    /// ε is added to the variance.
    pub fn new(epsilon: f64) -> Self {
        Self { norm: Norm { epsilon, ..Norm::default() }, rows: 0 }
    }
}

impl<E: Element> Layer<E> for LayerNorm {
    fn kind(&self) -> &'static str {
        "layer norm"
    }
    fn place(&mut self, input: &Shape) -> Result<Shape, String> {
        if input.is_empty() {
            return Err(format!("needs features, but is given {input}"));
        }
        (self.norm.channels, self.norm.per, self.rows) = (input.last(), input.last(), input.len() / input.last());
        Ok(input.clone())
    }
    fn parameters(&self) -> Vec<Parameter> {
        self.norm.parameters()
    }
    fn reads(&self) -> Reads {
        Reads::INPUT
    }
    fn memory(&self, examples: usize) -> Count {
        Count::of(self.norm.statistics()) * self.rows * examples
    }
    fn scratch(&self, _: usize) -> Count {
        Count::of(self.norm.scratch())
    }
    fn forward(&self, pass: &mut Pass<'_, E>, w: &[E], x: &[E], y: &mut [E]) {
        let width = self.norm.channels;
        let rows = x.chunks_exact(width).zip(y.chunks_exact_mut(width));
        for ((x, y), statistics) in rows.zip(pass.memory.chunks_exact_mut(self.norm.statistics())) {
            self.norm.forward(w, x, statistics, pass.scratch, y);
        }
    }
    fn backward(&self, pass: &mut Pass<'_, E>, w: &[E], flow: Flow<'_, E>, g: &mut [E]) {
        let (width, mut dx) = (self.norm.channels, flow.dx);
        let rows = flow.x.chunks_exact(width).zip(flow.dy.chunks_exact(width));
        for (k, ((x, dy), statistics)) in rows.zip(pass.memory.chunks_exact(self.norm.statistics())).enumerate() {
            let dx = dx.as_mut().map(|dx| &mut dx[k * width..][..width]);
            self.norm.backward((pass.fresh && k == 0, statistics, pass.scratch), w, x, dy, dx, g);
        }
    }
}
