//! A convolution by its definition: each pixel's neighbourhood, its patch, becomes a row of a matrix.

use super::{add, bias_rows};
use crate::count::Count;
use crate::element::Element;
use crate::matrix::{Mat, matmul};
use motet_core::fast;

/// The sizes of a convolution: of its kernel, of what comes in (height × width × channels) and of what goes out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Patches {
    pub(super) size: usize,
    pub(super) stride: usize,
    pub(super) padding: usize,
    pub(super) from: [usize; 3],
    pub(super) to: [usize; 3],
}

impl Patches {
    /// Numbers of a patch.
    pub(super) fn patch(&self) -> usize {
        self.size * self.size * self.from[2]
    }

    fn pixels(&self) -> usize {
        self.to[0] * self.to[1]
    }

    /// Every stretch of a patch's row: where it is in the patches, its length, and where it is in the image, if it does not
    /// lie outside.
    #[inline(always)]
    fn stretches(&self, mut each: impl FnMut(usize, usize, Option<usize>)) {
        let [height, width, channels] = self.from;
        let row = self.size * channels;
        for oy in 0..self.to[0] {
            for ox in 0..self.to[1] {
                let patch = (oy * self.to[1] + ox) * self.size * row;
                let (x, y) = (ox * self.stride, oy * self.stride);
                let left = self.padding.saturating_sub(x).min(self.size);
                let right = (width + self.padding).saturating_sub(x).clamp(left, self.size);
                for ky in 0..self.size {
                    let at = patch + ky * row;
                    if y + ky < self.padding || y + ky >= height + self.padding || left == right {
                        each(at, row, None);
                        continue;
                    }
                    if left > 0 {
                        each(at, left * channels, None);
                    }
                    let image = ((y + ky - self.padding) * width + (x + left - self.padding)) * channels;
                    each(at + left * channels, (right - left) * channels, Some(image));
                    if right < self.size {
                        each(at + right * channels, (self.size - right) * channels, None);
                    }
                }
            }
        }
    }

    /// Numbers needed for a moment: the patches of one image.
    pub(super) fn scratch(&self) -> Count {
        Count::product(&self.to[..2]) * self.patch()
    }

    /// y = x ∗ w + bias
    pub(super) fn forward<E: Element>(&self, w: &[E], bias: Option<&[E]>, x: &[E], y: &mut [E], scratch: &mut [E]) {
        let (pixels, patch, out) = (self.pixels(), self.patch(), self.to[2]);
        for (x, y) in x.chunks_exact(self.from.iter().product()).zip(y.chunks_exact_mut(pixels * out)) {
            gather(self, x, scratch);
            if let Some(bias) = bias {
                bias_rows(bias, y);
            }
            matmul((pixels, out, patch), Mat::rows(scratch, patch), Mat::rows(w, out), bias.is_some(), y);
        }
    }

    /// The slopes of weights, onto what is there or in its place, and of what came in if they are wanted.
    pub(super) fn backward<E: Element>(
        &self,
        w: &[E],
        (x, dy): (&[E], &[E]),
        mut dx: Option<&mut [E]>,
        (onto, dw): (bool, &mut [E]),
        scratch: &mut [E],
    ) {
        let (pixels, patch, out, image) = (self.pixels(), self.patch(), self.to[2], self.from.iter().product());
        for (e, (x, dy)) in x.chunks_exact(image).zip(dy.chunks_exact(pixels * out)).enumerate() {
            gather(self, x, scratch);
            matmul((patch, out, pixels), Mat::rows(scratch, patch).t(), Mat::rows(dy, out), onto || e > 0, dw);
            if let Some(dx) = &mut dx {
                matmul((pixels, patch, out), Mat::rows(dy, out), Mat::rows(w, out).t(), false, scratch);
                scatter(self, scratch, &mut dx[e * image..][..image]);
            }
        }
    }
}

fast! {
    /// patches ← the neighbourhood of each pixel of the image
    fn gather<E: Element>(conv: &Patches, image: &[E], patches: &mut [E]) {
        conv.stretches(|at, len, from| match from {
            Some(from) => copy(&image[from..from + len], &mut patches[at..at + len]),
            None => patches[at..at + len].fill(E::ZERO),
        });
    }

    /// image ← for each pixel, the sum of the neighbourhoods it is in
    fn scatter<E: Element>(conv: &Patches, patches: &[E], image: &mut [E]) {
        image.fill(E::ZERO);
        conv.stretches(|at, len, to| {
            if let Some(to) = to {
                add(&patches[at..at + len], &mut image[to..to + len]);
            }
        });
    }
}

/// A copy whose usual short lengths are known to the compiler: thousands of five numbers each, in the first layer.
#[inline(always)]
fn copy<E: Element>(from: &[E], to: &mut [E]) {
    match from.len() {
        3 => short::<E, 3>(from, to),
        5 => short::<E, 5>(from, to),
        9 => short::<E, 9>(from, to),
        15 => short::<E, 15>(from, to),
        _ => to.copy_from_slice(from),
    }
}

#[inline(always)]
fn short<E: Element, const N: usize>(from: &[E], to: &mut [E]) {
    if let (Some(from), Some(to)) = (from.first_chunk::<N>(), to.first_chunk_mut::<N>()) {
        *to = *from;
    }
}
