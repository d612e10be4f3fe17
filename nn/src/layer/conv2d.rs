//! Two-dimensional convolution.

use super::patches::Patches;
use super::{Flow, Layer, Pace, Pass, Reads, Stepping, sum_rows};
use crate::count::Count;
use crate::element::Element;
use crate::filter::{Backward, Forward, Minimal, Sizes, Slopes};
use crate::init::Init;
use crate::parameter::{Layout, Parameter};
use crate::shape::Shape;

/// A square kernel over images of height × width × channels.
#[derive(Clone, Debug)]
pub struct Conv2d {
    channels: usize,
    bias: bool,
    init: Option<Init>,
    convolution: Convolution,
    patches: Patches,
    /// Where it is worth it and not forbidden.
    minimal: Option<Minimal>,
}

/// How convolutions are computed. The parameters are the same, and so are the results but for rounding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Convolution {
    /// By their definition: errors of some 10⁻⁷ of the largest number.
    Exact,
    /// With a fraction of the multiplications where that pays, decided by sizes alone: kernels of 3 × 3 and 5 × 5 at stride 1 with at
    /// least eight channels on both sides. Errors of some 10⁻⁶ of the largest number.
    #[default]
    Fast,
}

impl Conv2d {
    /// A size × size kernel with so many output channels, stride 1, no padding.
    pub fn new(channels: usize, size: usize) -> Self {
        let patches = Patches { size, stride: 1, ..Patches::default() };
        Self { channels, bias: true, init: None, convolution: Convolution::default(), patches, minimal: None }
    }

    /// Zeros around the image so that, at stride 1, it keeps its size.
    #[must_use]
    pub fn same(self) -> Self {
        let padding = self.patches.size / 2;
        self.padded(padding)
    }

    /// Rows and columns of zeros around the image.
    #[must_use]
    pub fn padded(self, padding: usize) -> Self {
        Self { patches: Patches { padding, ..self.patches }, ..self }
    }

    /// Pixels from one neighbourhood to the next.
    #[must_use]
    pub fn stride(self, stride: usize) -> Self {
        Self { patches: Patches { stride, ..self.patches }, ..self }
    }

    /// Without a bias, as before a norm.
    #[must_use]
    pub fn plain(self) -> Self {
        Self { bias: false, ..self }
    }

    /// With other starting values of the kernel.
    #[must_use]
    pub fn starting(self, init: Init) -> Self {
        Self { init: Some(init), ..self }
    }

    /// Computed in this way.
    #[must_use]
    pub fn by(self, convolution: Convolution) -> Self {
        Self { convolution, ..self }
    }

    /// Numbers of the kernels.
    fn weights(&self) -> usize {
        self.patches.patch() * self.channels
    }
}

impl<E: Element> Layer<E> for Conv2d {
    fn kind(&self) -> &'static str {
        "convolution"
    }

    fn place(&mut self, input: &Shape) -> Result<Shape, String> {
        let Patches { size, stride, padding, .. } = self.patches;
        let from = input.image()?;
        if size == 0 || stride == 0 || self.channels == 0 {
            return Err("needs a kernel, a stride and channels of at least 1".into());
        }
        let mut to = [0, 0, self.channels];
        for axis in 0..2 {
            let room = (Count::of(padding) * 2 + from[axis]).get();
            let Some(spare) = room.and_then(|room| room.checked_sub(size)) else {
                return Err(format!("has a kernel of {size} x {size}, which does not fit into {input} with padding {padding}"));
            };
            to[axis] = spare / stride + 1;
        }
        // `parameters` and `scratch` multiply these.
        let kernel = Count::product(&[size, size]);
        if (kernel * from[2]).get().is_none() || (kernel * self.channels).get().is_none() {
            return Err(format!(
                "has a kernel of {size} x {size} over {} and to {} channels, which no memory can hold",
                from[2], self.channels
            ));
        }
        self.patches = Patches { from, to, ..self.patches };
        let fast = stride == 1 && self.convolution == Convolution::Fast && input.count().get().is_some();
        self.minimal = Minimal::of(Sizes { size, padding, from, to }).filter(|_| fast);
        Ok(Shape(to.to_vec()))
    }

    fn parameters(&self) -> Vec<Parameter> {
        let (inputs, outputs, size) = (self.patches.from[2], self.channels, self.patches.size);
        let init = self.init.unwrap_or(Init::Glorot(self.patches.patch(), size * size * outputs));
        let layout = Layout::Kernel { size, inputs, outputs };
        let mut all = vec![Parameter { name: "weight".into(), layout, init }];
        if self.bias {
            all.push(Parameter::plain("bias", &[outputs], Init::Zeros));
        }
        all
    }

    /// Tiles of all examples share one transform of the weights.
    fn pace(&self) -> Pace {
        if self.minimal.is_some() { Pace::Whole } else { Pace::Each }
    }

    fn reads(&self) -> Reads {
        Reads::INPUT
    }

    fn scratch(&self, examples: usize) -> Count {
        self.minimal.map_or_else(|| self.patches.scratch(), |minimal| minimal.scratch(examples))
    }

    fn forward(&self, pass: &mut Pass<'_, E>, w: &[E], x: &[E], y: &mut [E]) {
        let (w, bias) = w.split_at(self.weights());
        let (bias, scratch) = (self.bias.then_some(bias), &mut *pass.scratch);
        match self.minimal {
            Some(minimal) => minimal.forward(pass.examples, Forward { w, bias, x, y, scratch }),
            None => self.patches.forward(w, bias, x, y, scratch),
        }
    }

    fn backward(&self, pass: &mut Pass<'_, E>, w: &[E], flow: Flow<'_, E>, g: &mut [E]) {
        let (dw, db) = g.split_at_mut(self.weights());
        let (w, Flow { x, dy, dx, .. }) = (&w[..self.weights()], flow);
        if self.bias {
            sum_rows(pass.fresh, dy, db);
        }
        match self.minimal {
            Some(minimal) => {
                let weights = if pass.fresh { Slopes::Apart(w, dw) } else { Slopes::Onto(w, dw) };
                minimal.backward(pass.examples, Backward { weights, x, dy, dx, scratch: pass.scratch });
            }
            None => self.patches.backward(w, (x, dy), dx, (!pass.fresh, dw), pass.scratch),
        }
    }

    fn stepping(&self) -> Option<&dyn Stepping<E>> {
        // By patches it takes one example at a time and needs its weights for the next.
        self.minimal.is_some().then_some(self)
    }
}

impl<E: Element> Stepping<E> for Conv2d {
    fn backward_onto(&self, pass: &mut Pass<'_, E>, w: &mut [E], flow: Flow<'_, E>) {
        let (weights, bias) = w.split_at_mut(self.weights());
        let Flow { x, dy, dx, .. } = flow;
        if self.bias {
            sum_rows(false, dy, bias);
        }
        let minimal = self.minimal.expect("only filters step as they go");
        minimal.backward(pass.examples, Backward { weights: Slopes::Step(weights), x, dy, dx, scratch: pass.scratch });
    }
}
