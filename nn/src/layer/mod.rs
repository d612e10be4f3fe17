//! What a layer is. Each kind has its forward and its reverse pass in one file.

mod activation;
mod attention;
mod batch_norm;
mod conv2d;
mod dense;
mod dropout;
mod embedding;
mod flatten;
mod group_norm;
mod layer_norm;
mod lstm;
mod norm;
mod patches;
mod pool;
mod positions;
mod residual;

pub use activation::Activation;
pub use attention::Attention;
pub use batch_norm::BatchNorm;
pub use conv2d::{Conv2d, Convolution};
pub use dense::Dense;
pub use dropout::Dropout;
pub use embedding::Embedding;
pub use flatten::Flatten;
pub use group_norm::GroupNorm;
pub use layer_norm::LayerNorm;
pub use lstm::Lstm;
pub use pool::{AveragePool, MaxPool};
pub use positions::{Positions, Summarise, Summary};
pub use residual::Residual;

use crate::count::Count;
use crate::element::Element;
use crate::parameter::Parameter;
use crate::shape::Shape;

/// One step of a network, forward and back.
///
/// Slices hold example after example; `w` are the layer's own parameters. A layer knows its sizes from [`Layer::place`].
pub trait Layer<E: Element>: Send + Sync + std::fmt::Debug {
    /// What it is, for messages.
    fn kind(&self) -> &'static str;
    /// Takes its place behind something of this shape, whose numbers can be counted, and says what shape it gives, or why it
    /// cannot. What a layer multiplies later it counts here; its parameters, memory and scratch are counted by the chain.
    fn place(&mut self, input: &Shape) -> Result<Shape, String>;
    /// Its blocks, in the order of `w`.
    fn parameters(&self) -> Vec<Parameter> {
        Vec::new()
    }
    /// Numbers that are never shared, at their start.
    fn buffers(&self) -> Vec<E> {
        Vec::new()
    }
    /// How it likes its examples.
    fn pace(&self) -> Pace {
        Pace::Any
    }
    /// What its reverse pass reads.
    fn reads(&self) -> Reads;
    /// Numbers it keeps from the forward to the reverse pass of so many examples; no fewer for one than for none.
    fn memory(&self, _examples: usize) -> Count {
        Count::ZERO
    }
    /// Numbers it needs for a moment.
    fn scratch(&self, _examples: usize) -> Count {
        Count::ZERO
    }
    /// Numbers it needs for a moment where no reverse pass follows.
    fn answering(&self, examples: usize) -> Count {
        self.memory(examples) + self.scratch(examples)
    }
    /// Does it overwrite its input? Then `x` is empty, `y` comes filled with the input, and `dy` becomes `dx`.
    fn in_place(&self) -> bool {
        false
    }
    /// y ← layer(x)
    fn forward(&self, pass: &mut Pass<'_, E>, w: &[E], x: &[E], y: &mut [E]);
    /// The same where no reverse pass follows, with a scratch of [`Layer::answering`] numbers and no memory. Layers made of others keep
    /// nothing of what lies between them.
    fn answer(&self, pass: &mut Pass<'_, E>, w: &[E], x: &[E], y: &mut [E]) {
        let (memory, scratch) = pass.scratch.split_at_mut(self.memory(pass.examples).known());
        self.forward(&mut Pass { memory, scratch, buffers: &mut *pass.buffers, ..*pass }, w, x, y);
    }
    /// dx ← ∂/∂x, and g ← ∂/∂w, or g += where the pass is not `fresh`. May spoil `dy`.
    fn backward(&self, pass: &mut Pass<'_, E>, w: &[E], flow: Flow<'_, E>, g: &mut [E]);
    /// Itself, if it can step as it goes.
    fn stepping(&self) -> Option<&dyn Stepping<E>> {
        None
    }
}

/// A layer that takes its batch whole and is done with its parameters before it knows their slopes.
pub trait Stepping<E: Element> {
    /// dx ← ∂/∂x, then w += ∂/∂w. With slopes of the output times −γ this is a step of length γ, and the gradient, as large as
    /// the parameters, is neither written nor read again.
    fn backward_onto(&self, pass: &mut Pass<'_, E>, w: &mut [E], flow: Flow<'_, E>);
}

/// Whether a layer takes examples one by one or the whole batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// One at a time, so that an image stays in the cache through several layers.
    Each,
    /// The whole batch at once: one large product, or statistics over the batch.
    Whole,
    /// As the layer before it.
    Any,
}

/// What a reverse pass reads of the forward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reads {
    /// x
    pub input: bool,
    /// y
    pub output: bool,
}

impl Reads {
    /// Reads neither input nor output.
    pub const NOTHING: Reads = Reads { input: false, output: false };
    /// x
    pub const INPUT: Reads = Reads { input: true, output: false };
    /// y
    pub const OUTPUT: Reads = Reads { input: false, output: true };
}

/// What a reverse pass is given.
#[derive(Debug)]
pub struct Flow<'a, E> {
    /// What came in; empty unless the layer reads it.
    pub x: &'a [E],
    /// What went out; empty unless the layer reads it.
    pub y: &'a [E],
    /// Slopes of what went out.
    pub dy: &'a mut [E],
    /// Slopes of what came in, to be written, where somebody wants them.
    pub dx: Option<&'a mut [E]>,
}

/// The circumstances of one call.
#[derive(Debug)]
pub struct Pass<'a, E> {
    /// How many examples.
    pub examples: usize,
    /// The number of the first of them within the batch.
    pub first: usize,
    /// What the layer keeps until the reverse pass.
    pub memory: &'a mut [E],
    /// What it needs for a moment; its content is anything.
    pub scratch: &'a mut [E],
    /// The dice of dropout; none in evaluation.
    pub noise: Option<u64>,
    /// Which positions of the examples' sequences are real (1) and which are padding (0); empty if all are real.
    pub mask: &'a [E],
    /// Running statistics; empty if the caller keeps none.
    pub buffers: &'a mut [E],
    /// Is this a training step?
    pub training: bool,
    /// Is `g` to be overwritten?
    pub fresh: bool,
}

impl<E> Pass<'_, E> {
    /// The mask's part that belongs to one example of the pass.
    pub(crate) fn mask_of(&self, example: usize) -> &[E] {
        let positions = self.mask.len() / self.examples.max(1);
        &self.mask[example * positions..][..positions]
    }
}

motet_core::fast! {
    /// g ← Σ rows, or g += Σ rows.
    pub(crate) fn sum_rows<E: Element>(fresh: bool, rows: &[E], g: &mut [E]) {
        if fresh {
            g.fill(E::ZERO);
        }
        for row in rows.chunks_exact(g.len().max(1)) {
            add(row, g);
        }
    }
}

/// to += from
#[inline(always)]
pub(crate) fn add<E: Element>(from: &[E], to: &mut [E]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += *from;
    }
}

/// Every row becomes the bias.
#[inline(always)]
pub(crate) fn bias_rows<E: Element>(bias: &[E], y: &mut [E]) {
    y.chunks_exact_mut(bias.len().max(1)).for_each(|row| row.copy_from_slice(bias));
}
