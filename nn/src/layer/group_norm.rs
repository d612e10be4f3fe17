//! Groups of channels have mean 0 and variance 1 over an image (Wu, He 2018): a norm without statistics over clients' batches.

use super::norm::Norm;
use super::{Flow, Layer, Pace, Pass, Reads};
use crate::count::Count;
use crate::element::Element;
use crate::parameter::Parameter;
use crate::shape::Shape;

/// A norm over the pixels of an image and some of its channels.
#[derive(Clone, Debug)]
pub struct GroupNorm {
    groups: usize,
    norm: Norm,
    image: usize,
}

impl GroupNorm {
    /// So many groups of neighbouring channels.
    pub fn new(groups: usize) -> Self {
        Self { groups, norm: Norm { epsilon: 1e-5, ..Norm::default() }, image: 0 }
    }
}

impl<E: Element> Layer<E> for GroupNorm {
    fn kind(&self) -> &'static str {
        "group norm"
    }
    fn place(&mut self, input: &Shape) -> Result<Shape, String> {
        let [_, _, channels] = input.image()?;
        if self.groups == 0 || !channels.is_multiple_of(self.groups) || input.is_empty() {
            return Err(format!("cannot make {} equal groups of the {channels} channels of {input}", self.groups));
        }
        (self.norm.channels, self.norm.per, self.image) = (channels, channels / self.groups, input.len());
        Ok(input.clone())
    }
    fn parameters(&self) -> Vec<Parameter> {
        self.norm.parameters()
    }
    fn pace(&self) -> Pace {
        Pace::Each
    }
    fn reads(&self) -> Reads {
        Reads::INPUT
    }
    fn memory(&self, examples: usize) -> Count {
        Count::of(self.norm.statistics()) * examples
    }
    fn scratch(&self, _: usize) -> Count {
        Count::of(self.norm.scratch())
    }
    fn forward(&self, pass: &mut Pass<'_, E>, w: &[E], x: &[E], y: &mut [E]) {
        let images = x.chunks_exact(self.image).zip(y.chunks_exact_mut(self.image));
        for ((x, y), statistics) in images.zip(pass.memory.chunks_exact_mut(self.norm.statistics())) {
            self.norm.forward(w, x, statistics, pass.scratch, y);
        }
    }
    fn backward(&self, pass: &mut Pass<'_, E>, w: &[E], flow: Flow<'_, E>, g: &mut [E]) {
        let mut dx = flow.dx;
        let images = flow.x.chunks_exact(self.image).zip(flow.dy.chunks_exact(self.image));
        for (k, ((x, dy), statistics)) in images.zip(pass.memory.chunks_exact(self.norm.statistics())).enumerate() {
            let dx = dx.as_mut().map(|dx| &mut dx[k * self.image..][..self.image]);
            self.norm.backward((pass.fresh && k == 0, statistics, pass.scratch), w, x, dy, dx, g);
        }
    }
}
