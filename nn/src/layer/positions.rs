//! Where in the sequence: position and segment vectors on the way in, one vector per sequence on the way out.

use super::{Flow, Layer, Pass, Reads, add};
use crate::element::Element;
use crate::init::Init;
use crate::parameter::Parameter;
use crate::shape::Shape;

/// Adds a vector for each position and that of the first segment, as BERT has it.
#[derive(Clone, Debug)]
pub struct Positions {
    most: usize,
    segments: usize,
    init: Init,
    time: usize,
    features: usize,
}

impl Positions {
    /// Sequences of at most `most` positions; so many kinds of segments, of which the first is used.
    pub fn new(most: usize, segments: usize) -> Self {
        Self { most, segments, init: Init::Truncated(0.02), time: 0, features: 0 }
    }
}

impl<E: Element> Layer<E> for Positions {
    fn kind(&self) -> &'static str {
        "positions"
    }
    fn place(&mut self, input: &Shape) -> Result<Shape, String> {
        [self.time, self.features] = input.sequence()?;
        if self.time > self.most || self.segments == 0 {
            return Err(format!("knows {} positions and {} segments, but is given {input}", self.most, self.segments));
        }
        Ok(input.clone())
    }
    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::plain("position_embeddings.weight", &[self.most, self.features], self.init),
            Parameter::plain("token_type_embeddings.weight", &[self.segments, self.features], self.init),
        ]
    }
    fn reads(&self) -> Reads {
        Reads::NOTHING
    }
    fn in_place(&self) -> bool {
        true
    }
    fn forward(&self, _: &mut Pass<'_, E>, w: &[E], _: &[E], y: &mut [E]) {
        let (positions, segments) = w.split_at(self.most * self.features);
        for y in y.chunks_exact_mut(self.time * self.features) {
            for (y, position) in y.chunks_exact_mut(self.features).zip(positions.chunks_exact(self.features)) {
                add(position, y);
                add(&segments[..self.features], y);
            }
        }
    }
    fn backward(&self, pass: &mut Pass<'_, E>, _: &[E], flow: Flow<'_, E>, g: &mut [E]) {
        if pass.fresh {
            g.fill(E::ZERO);
        }
        let (positions, segments) = g.split_at_mut(self.most * self.features);
        for dy in flow.dy.chunks_exact(self.time * self.features) {
            for (dy, position) in dy.chunks_exact(self.features).zip(positions.chunks_exact_mut(self.features)) {
                add(dy, position);
                add(dy, &mut segments[..self.features]);
            }
        }
    }
}

/// One vector for a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Summary {
    /// The first position's.
    First,
    /// The last position's, padding or not.
    Last,
    /// The mean over the positions that are not padding.
    Mean,
}

impl Summary {
    /// What the k-th of `time` positions weighs.
    fn weight<E: Element>(self, k: usize, time: usize, mask: &[E]) -> E {
        let chosen = |chosen: bool| if chosen { E::ONE } else { E::ZERO };
        match self {
            Summary::First => chosen(k == 0),
            Summary::Last => chosen(k + 1 == time),
            Summary::Mean if mask.is_empty() => E::of(1.0 / time as f64),
            Summary::Mean => mask[k] / mask.iter().copied().sum::<E>().larger(E::ONE),
        }
    }
}

/// The layer that makes one vector of a sequence.
#[derive(Clone, Debug)]
pub struct Summarise {
    how: Summary,
    time: usize,
    features: usize,
}

impl Summarise {
    /// A layer that summarises in this way.
    pub fn new(how: Summary) -> Self {
        Self { how, time: 0, features: 0 }
    }
}

impl<E: Element> Layer<E> for Summarise {
    fn kind(&self) -> &'static str {
        "summary"
    }
    fn place(&mut self, input: &Shape) -> Result<Shape, String> {
        [self.time, self.features] = input.sequence()?;
        Ok(Shape(vec![self.features]))
    }
    fn reads(&self) -> Reads {
        Reads::NOTHING
    }
    fn forward(&self, pass: &mut Pass<'_, E>, _: &[E], x: &[E], y: &mut [E]) {
        let Self { how, time, features } = *self;
        y.fill(E::ZERO);
        for (e, (x, y)) in x.chunks_exact(time * features).zip(y.chunks_exact_mut(features)).enumerate() {
            for (k, x) in x.chunks_exact(features).enumerate() {
                let weight = how.weight(k, time, pass.mask_of(e));
                y.iter_mut().zip(x).for_each(|(y, x)| *y += weight * *x);
            }
        }
    }
    fn backward(&self, pass: &mut Pass<'_, E>, _: &[E], flow: Flow<'_, E>, _: &mut [E]) {
        let Self { how, time, features } = *self;
        let Some(dx) = flow.dx else { return };
        for (e, (dx, dy)) in dx.chunks_exact_mut(time * features).zip(flow.dy.chunks_exact(features)).enumerate() {
            for (k, dx) in dx.chunks_exact_mut(features).enumerate() {
                let weight = how.weight(k, time, pass.mask_of(e));
                dx.iter_mut().zip(dy).for_each(|(dx, dy)| *dx = weight * *dy);
            }
        }
    }
}
