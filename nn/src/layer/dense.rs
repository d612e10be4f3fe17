//! y = x W + b

use super::{Flow, Layer, Pace, Pass, Reads, Stepping, bias_rows, sum_rows};
use crate::element::Element;
use crate::init::Init;
use crate::matrix::{Mat, matmul};
use crate::parameter::{Layout, Parameter};
use crate::shape::Shape;

/// A matrix and a bias. Images are taken whole, sequences position by position.
#[derive(Clone, Debug)]
pub struct Dense {
    outputs: usize,
    init: Option<Init>,
    inputs: usize,
    rows: usize,
    /// Height × width and channels, if images come in.
    image: Option<(usize, usize)>,
}

impl Dense {
    /// A layer with this many outputs. By default it starts as Glorot and Bengio propose.
    pub fn new(outputs: usize) -> Self {
        Self { outputs, init: None, inputs: 0, rows: 0, image: None }
    }

    /// With other starting values of the matrix.
    #[must_use]
    pub fn starting(self, init: Init) -> Self {
        Self { init: Some(init), ..self }
    }
}

impl Dense {
    fn slopes_of_input<E: Element>(&self, w: &[E], dy: &[E], dx: &mut [E]) {
        let (rows, w) = (dy.len() / self.outputs, &w[..self.inputs * self.outputs]);
        matmul((rows, self.inputs, self.outputs), Mat::rows(dy, self.outputs), Mat::rows(w, self.outputs).t(), false, dx);
    }

    fn slopes_of_parameters<E: Element>(&self, x: &[E], dy: &[E], fresh: bool, g: &mut [E]) {
        let (inputs, outputs) = (self.inputs, self.outputs);
        let (weight, bias) = g.split_at_mut(inputs * outputs);
        let sizes = (inputs, outputs, dy.len() / outputs);
        matmul(sizes, Mat::rows(x, inputs).t(), Mat::rows(dy, outputs), !fresh, weight);
        sum_rows(fresh, dy, bias);
    }
}

impl<E: Element> Layer<E> for Dense {
    fn kind(&self) -> &'static str {
        "dense"
    }

    fn place(&mut self, input: &Shape) -> Result<Shape, String> {
        if self.outputs == 0 {
            return Err("has 0 outputs, but needs at least 1".into());
        }
        if input.is_empty() {
            return Err(format!("needs numbers to come in, but is given {input}"));
        }
        if let Ok([time, features]) = input.sequence() {
            (self.inputs, self.rows) = (features, time);
            return Ok(Shape(vec![time, self.outputs]));
        }
        self.image = input.image().ok().map(|[h, w, c]| (h * w, c));
        (self.inputs, self.rows) = (input.len(), 1);
        Ok(Shape(vec![self.outputs]))
    }

    fn parameters(&self) -> Vec<Parameter> {
        let (inputs, outputs) = (self.inputs, self.outputs);
        let layout = match self.image {
            Some((pixels, channels)) => Layout::Flattened { pixels, channels, outputs },
            None => Layout::Transposed { inputs, outputs },
        };
        let init = self.init.unwrap_or(Init::Glorot(inputs, outputs));
        let weight = Parameter { name: "weight".into(), layout, init };
        vec![weight, Parameter::plain("bias", &[outputs], Init::Zeros)]
    }

    fn pace(&self) -> Pace {
        Pace::Whole
    }

    fn reads(&self) -> Reads {
        Reads::INPUT
    }

    fn forward(&self, pass: &mut Pass<'_, E>, w: &[E], x: &[E], y: &mut [E]) {
        let (rows, inputs, outputs) = (self.rows * pass.examples, self.inputs, self.outputs);
        let (w, b) = w.split_at(inputs * outputs);
        bias_rows(b, y);
        matmul((rows, outputs, inputs), Mat::rows(x, inputs), Mat::rows(w, outputs), true, y);
    }

    fn backward(&self, pass: &mut Pass<'_, E>, w: &[E], flow: Flow<'_, E>, g: &mut [E]) {
        if let Some(dx) = flow.dx {
            self.slopes_of_input(w, flow.dy, dx);
        }
        self.slopes_of_parameters(flow.x, flow.dy, pass.fresh, g);
    }

    fn stepping(&self) -> Option<&dyn Stepping<E>> {
        Some(self)
    }
}

impl<E: Element> Stepping<E> for Dense {
    fn backward_onto(&self, _: &mut Pass<'_, E>, w: &mut [E], flow: Flow<'_, E>) {
        if let Some(dx) = flow.dx {
            self.slopes_of_input(w, flow.dy, dx);
        }
        self.slopes_of_parameters(flow.x, flow.dy, false, w);
    }
}
