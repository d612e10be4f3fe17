//! Tokens → vectors.

use super::{Flow, Layer, Pass, Reads, add};
use crate::element::Element;
use crate::init::Init;
use crate::parameter::Parameter;
use crate::shape::Shape;

/// One row of a table per token. A token beyond the table counts as the last one.
#[derive(Clone, Debug)]
pub struct Embedding {
    vocabulary: usize,
    features: usize,
    init: Init,
    time: usize,
}

impl Embedding {
    /// So many tokens, so many numbers each; started uniform on ±0.05, as Keras has it.
    pub fn new(vocabulary: usize, features: usize) -> Self {
        Self { vocabulary, features, init: Init::Uniform(0.05), time: 0 }
    }

    /// With other starting values.
    #[must_use]
    pub fn starting(self, init: Init) -> Self {
        Self { init, ..self }
    }

    fn row<E: Element>(&self, token: E) -> std::ops::Range<usize> {
        let from = token.index().min(self.vocabulary - 1) * self.features;
        from..from + self.features
    }
}

impl<E: Element> Layer<E> for Embedding {
    fn kind(&self) -> &'static str {
        "embedding"
    }
    fn place(&mut self, input: &Shape) -> Result<Shape, String> {
        if self.vocabulary == 0 || self.features == 0 {
            return Err("needs a vocabulary and features of at least 1".into());
        }
        let [time] = input.0[..] else { return Err(format!("needs a row of tokens, but is given {input}")) };
        self.time = time;
        Ok(Shape(vec![time, self.features]))
    }
    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::plain("weight", &[self.vocabulary, self.features], self.init)]
    }
    fn reads(&self) -> Reads {
        Reads::INPUT
    }
    fn forward(&self, _: &mut Pass<'_, E>, w: &[E], x: &[E], y: &mut [E]) {
        for (token, y) in x.iter().zip(y.chunks_exact_mut(self.features)) {
            y.copy_from_slice(&w[self.row(*token)]);
        }
    }
    fn backward(&self, pass: &mut Pass<'_, E>, _: &[E], flow: Flow<'_, E>, g: &mut [E]) {
        if pass.fresh {
            g.fill(E::ZERO);
        }
        for (token, dy) in flow.x.iter().zip(flow.dy.chunks_exact(self.features)) {
            add(dy, &mut g[self.row(*token)]);
        }
        // Tokens have no slope.
        if let Some(dx) = flow.dx {
            dx.fill(E::ZERO);
        }
    }
}
