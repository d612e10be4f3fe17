//! Each channel has mean 0 and variance 1 over the batch (Ioffe, Szegedy 2015).
//!
//! Running means and variances are the client's own: they are buffers, never parameters, and are never shared.

use super::norm::Norm;
use super::{Flow, Layer, Pace, Pass, Reads};
use crate::count::Count;
use crate::element::Element;
use crate::parameter::Parameter;
use crate::shape::Shape;

/// A norm over the batch: by its own statistics in training, by running ones in evaluation where there are any.
#[derive(Clone, Debug)]
pub struct BatchNorm {
    norm: Norm,
    pixels: usize,
}

/// The share of a new batch in the running statistics.
const MOMENTUM: f64 = 0.1;

impl BatchNorm {
    /// With PyTorch's defaults: ε = 10⁻⁵, momentum 0.1.
    pub fn new() -> Self {
        Self { norm: Norm { epsilon: 1e-5, per: 1, ..Norm::default() }, pixels: 0 }
    }
}

impl Default for BatchNorm {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Element> Layer<E> for BatchNorm {
    fn kind(&self) -> &'static str {
        "batch norm"
    }
    fn place(&mut self, input: &Shape) -> Result<Shape, String> {
        if input.is_empty() {
            return Err(format!("needs channels, but is given {input}"));
        }
        (self.norm.channels, self.pixels) = (input.last(), input.len() / input.last());
        Ok(input.clone())
    }
    fn parameters(&self) -> Vec<Parameter> {
        self.norm.parameters()
    }
    /// Means, then variances.
    fn buffers(&self) -> Vec<E> {
        let mut start = vec![E::ZERO; self.norm.channels];
        start.resize(2 * self.norm.channels, E::ONE);
        start
    }
    fn pace(&self) -> Pace {
        Pace::Whole
    }
    fn reads(&self) -> Reads {
        Reads::INPUT
    }
    fn memory(&self, _: usize) -> Count {
        Count::of(self.norm.statistics())
    }
    fn scratch(&self, _: usize) -> Count {
        Count::of(self.norm.scratch())
    }

    fn forward(&self, pass: &mut Pass<'_, E>, w: &[E], x: &[E], y: &mut [E]) {
        let epsilon = E::of(self.norm.epsilon);
        let statistics = &mut pass.memory[..self.norm.statistics()];
        if !pass.training && !pass.buffers.is_empty() {
            let (mean, inverse) = statistics.split_at_mut(self.norm.channels);
            let (means, variances) = pass.buffers.split_at(self.norm.channels);
            mean.copy_from_slice(means);
            inverse.iter_mut().zip(variances).for_each(|(i, v)| *i = E::ONE / (*v + epsilon).sqrt());
            return self.norm.apply(w, x, statistics, y);
        }
        self.norm.forward(w, x, statistics, pass.scratch, y);
        if pass.training && !pass.buffers.is_empty() {
            let count = (pass.examples * self.pixels) as f64;
            // The running variance is the unbiased one, as PyTorch has it.
            let unbiased = E::of(if count > 1.0 { count / (count - 1.0) } else { 1.0 });
            let (mean, inverse) = statistics.split_at(self.norm.channels);
            let (means, variances) = pass.buffers.split_at_mut(self.norm.channels);
            let step = |old: &mut E, new: E| *old = *old + E::of(MOMENTUM) * (new - *old);
            means.iter_mut().zip(mean).for_each(|(old, new)| step(old, *new));
            variances.iter_mut().zip(inverse).for_each(|(old, i)| step(old, (E::ONE / (*i * *i) - epsilon) * unbiased));
        }
    }

    fn backward(&self, pass: &mut Pass<'_, E>, w: &[E], flow: Flow<'_, E>, g: &mut [E]) {
        let statistics = &pass.memory[..self.norm.statistics()];
        self.norm.backward((pass.fresh, statistics, pass.scratch), w, flow.x, flow.dy, flow.dx, g);
    }
}
