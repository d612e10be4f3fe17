//! Convolutions of stride 1 with fewer multiplications: Winograd's minimal filtering, as Lavin and Gray have it for networks
//! (*Fast Algorithms for Convolutional Neural Networks*, CVPR 2016), forward and back.
//!
//! An image is cut into tiles of N × N pixels that overlap, N = M + R − 1, and every tile gives M × M pixels of the output:
//!
//! ```text
//! y  = Aᵀ [ (G w Gᵀ) · (Bᵀ x B) ] A     tiles of the input to N² points, a product over channels at each, back to pixels
//! dy → A dy Aᵀ                          slopes to the points, once for both:
//! dw = Gᵀ [ (Bᵀ x B) · (A dy Aᵀ) ] G    over tiles at each point
//! dx = B [ (A dy Aᵀ) · (G w Gᵀ) ] Bᵀ    over output channels at each point; tiles are added where they overlap
//! ```
//!
//! For 5 × 5 kernels and M = 4 that is 64 multiplications where the definition has 400, for 3 × 3 kernels 36 instead of 144. The
//! price are errors of some 10⁻⁶ of the largest number, where patches have some 10⁻⁷: docs/how-to/networks.md.

mod passes;
mod points;

#[cfg(test)]
mod tests;
mod tiles;
mod transform;
mod weights;

use crate::count::Count;
use crate::element::Element;
use crate::lanes::{Kernel, Lanes};
use passes::Filter;

/// The sizes of a convolution of stride 1: its kernel's side, the zeros around the image, and height × width × channels of what comes
/// in and of what goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) size: usize,
    pub(crate) padding: usize,
    pub(crate) from: [usize; 3],
    pub(crate) to: [usize; 3],
}

/// A convolution that is worth filtering: how many pixels a tile gives in each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Minimal {
    sizes: Sizes,
    tile: Pixels,
}

/// Pixels of the output that a tile gives, in each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pixels {
    Two,
    Four,
}

impl Pixels {
    fn count(self) -> usize {
        match self {
            Pixels::Two => 2,
            Pixels::Four => 4,
        }
    }
}

/// Channels on either side from which on layers are filtered: one vector of eight. Fewer would leave most of it empty; where exactly
/// filtering begins to pay was not measured.
const FEWEST: usize = 8;

/// What a forward pass is given.
#[derive(Debug)]
pub(crate) struct Forward<'a, E> {
    pub(crate) w: &'a [E],
    pub(crate) bias: Option<&'a [E]>,
    pub(crate) x: &'a [E],
    pub(crate) y: &'a mut [E],
    pub(crate) scratch: &'a mut [E],
}

/// What a reverse pass is given.
#[derive(Debug)]
pub(crate) struct Backward<'a, E> {
    pub(crate) weights: Slopes<'a, E>,
    pub(crate) x: &'a [E],
    pub(crate) dy: &'a [E],
    pub(crate) dx: Option<&'a mut [E]>,
    pub(crate) scratch: &'a mut [E],
}

/// The weights of a reverse pass, and what becomes of their slopes.
#[derive(Debug)]
pub(crate) enum Slopes<'a, E> {
    /// They take the place of what is there.
    Apart(&'a [E], &'a mut [E]),
    /// They are added to what is there.
    Onto(&'a [E], &'a mut [E]),
    /// They are added to the weights themselves, when those are not needed any more.
    Step(&'a mut [E]),
}

impl<E> Slopes<'_, E> {
    fn weights(&self) -> &[E] {
        match self {
            Slopes::Apart(w, _) | Slopes::Onto(w, _) => w,
            Slopes::Step(w) => w,
        }
    }

    fn slopes(&mut self) -> &mut [E] {
        match self {
            Slopes::Apart(_, slopes) | Slopes::Onto(_, slopes) | Slopes::Step(slopes) => slopes,
        }
    }
}

impl Minimal {
    /// Decides from the sizes alone, so that every machine and every number of threads computes the same: kernels of 3 × 3 and 5 × 5
    /// with at least eight channels on both sides, where the tiles, which may reach over the edges, have less to multiply than the
    /// definition. Small tiles where large ones would not have less, since they round less.
    pub(crate) fn of(sizes: Sizes) -> Option<Self> {
        let [inputs, outputs] = [sizes.from[2], sizes.to[2]];
        if !matches!(sizes.size, 3 | 5) || inputs.min(outputs) < FEWEST {
            return None;
        }
        // Multiplications of a pair of channels.
        let cost = |tile: Pixels| {
            let across = |pixels: usize| pixels.div_ceil(tile.count());
            Count::product(&[across(sizes.to[0]), across(sizes.to[1]), tile.count() + sizes.size - 1, tile.count() + sizes.size - 1]).get()
        };
        let (two, four) = (cost(Pixels::Two)?, cost(Pixels::Four)?);
        let plain = Count::product(&[sizes.to[0], sizes.to[1], sizes.size, sizes.size]).get()?;
        let minimal = Self { sizes, tile: if four < two { Pixels::Four } else { Pixels::Two } };
        // Transforms take about as long as the multiplications they save when those are halved.
        (two.min(four) <= plain / 2 && minimal.scratch(1).get().is_some()).then_some(minimal)
    }

    /// Numbers a pass needs for a moment.
    pub(crate) fn scratch(&self, examples: usize) -> Count {
        self.measured(examples).unwrap_or(Count::of(usize::MAX))
    }

    fn measured(&self, examples: usize) -> Option<Count> {
        Some(match (self.sizes.size, self.tile) {
            (3, Pixels::Two) => Filter::<2, 3, 4>::new(self.sizes, examples)?.scratch(),
            (3, Pixels::Four) => Filter::<4, 3, 6>::new(self.sizes, examples)?.scratch(),
            (_, Pixels::Two) => Filter::<2, 5, 6>::new(self.sizes, examples)?.scratch(),
            (_, Pixels::Four) => Filter::<4, 5, 8>::new(self.sizes, examples)?.scratch(),
        })
    }

    /// y = x ∗ w + bias
    ///
    /// # Panics
    /// If a slice is not as long as so many examples make it.
    pub(crate) fn forward<E: Element>(&self, examples: usize, pass: Forward<'_, E>) {
        E::widest(Pass { minimal: *self, examples, way: Way::Forward(pass) });
    }

    /// The slopes of weights, and of what came in if they are wanted.
    ///
    /// # Panics
    /// If a slice is not as long as so many examples make it.
    pub(crate) fn backward<E: Element>(&self, examples: usize, pass: Backward<'_, E>) {
        E::widest(Pass { minimal: *self, examples, way: Way::Backward(pass) });
    }
}

enum Way<'a, E> {
    Forward(Forward<'a, E>),
    Backward(Backward<'a, E>),
}

struct Pass<'a, E> {
    minimal: Minimal,
    examples: usize,
    way: Way<'a, E>,
}

impl<E: Element> Kernel<E> for Pass<'_, E> {
    type Output = ();

    fn run<L: Lanes<E>>(self, lanes: L) {
        let Minimal { sizes, tile } = self.minimal;
        if self.examples == 0 {
            return;
        }
        macro_rules! go {
            ($m:literal, $r:literal, $n:literal) => {{
                let filter = Filter::<$m, $r, $n>::new(sizes, self.examples).expect("examples were counted with their scratch");
                match self.way {
                    Way::Forward(pass) => filter.forward(lanes, pass),
                    Way::Backward(pass) => filter.backward(lanes, pass),
                }
            }};
        }
        match (sizes.size, tile) {
            (3, Pixels::Two) => go!(2, 3, 4),
            (3, Pixels::Four) => go!(4, 3, 6),
            (_, Pixels::Two) => go!(2, 5, 6),
            (_, Pixels::Four) => go!(4, 5, 8),
        }
    }
}
