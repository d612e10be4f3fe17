//! Two-dimensional convolution, by patches: each pixel's neighbourhood becomes a row of a matrix.

use super::{Flow, Layer, Pace, Pass, Reads, add, bias_rows, sum_rows};
use crate::count::Count;
use crate::element::Element;
use crate::init::Init;
use crate::matrix::{Mat, matmul};
use crate::parameter::{Layout, Parameter};
use crate::shape::Shape;
use motet_core::fast;

/// A square kernel over images of height × width × channels.
#[derive(Clone, Debug)]
pub struct Conv2d {
    size: usize,
    channels: usize,
    stride: usize,
    padding: usize,
    bias: bool,
    init: Option<Init>,
    from: [usize; 3],
    to: [usize; 2],
}

impl Conv2d {
    /// A size × size kernel with so many output channels, stride 1, no padding.
    pub fn new(channels: usize, size: usize) -> Self {
        Self { size, channels, stride: 1, padding: 0, bias: true, init: None, from: [0; 3], to: [0; 2] }
    }

    /// Zeros around the image so that, at stride 1, it keeps its size.
    #[must_use]
    pub fn same(self) -> Self {
        Self { padding: self.size / 2, ..self }
    }

    /// Rows and columns of zeros around the image.
    #[must_use]
    pub fn padded(self, padding: usize) -> Self {
        Self { padding, ..self }
    }

    /// Pixels from one neighbourhood to the next.
    #[must_use]
    pub fn stride(self, stride: usize) -> Self {
        Self { stride, ..self }
    }

    /// Without a bias, as before a norm.
    #[must_use]
    pub fn plain(self) -> Self {
        Self { bias: false, ..self }
    }

    /// With another start of the kernel.
    #[must_use]
    pub fn starting(self, init: Init) -> Self {
        Self { init: Some(init), ..self }
    }

    fn patch(&self) -> usize {
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
}

fast! {
    /// patches ← the neighbourhood of each pixel of the image
    fn gather<E: Element>(conv: &Conv2d, image: &[E], patches: &mut [E]) {
        conv.stretches(|at, len, from| match from {
            Some(from) => copy(&image[from..from + len], &mut patches[at..at + len]),
            None => patches[at..at + len].fill(E::ZERO),
        });
    }

    /// image ← for each pixel, the sum of the neighbourhoods it is in
    fn scatter<E: Element>(conv: &Conv2d, patches: &[E], image: &mut [E]) {
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

impl<E: Element> Layer<E> for Conv2d {
    fn kind(&self) -> &'static str {
        "convolution"
    }

    fn place(&mut self, input: &Shape) -> Result<Shape, String> {
        self.from = input.image()?;
        if self.size == 0 || self.stride == 0 || self.channels == 0 {
            return Err("needs a kernel, a stride and channels of at least 1".into());
        }
        for axis in 0..2 {
            let room = (Count::of(self.padding) * 2 + self.from[axis]).get();
            let Some(spare) = room.and_then(|room| room.checked_sub(self.size)) else {
                return Err(format!(
                    "has a kernel of {0} x {0}, which does not fit into {input} with padding {1}",
                    self.size, self.padding
                ));
            };
            self.to[axis] = spare / self.stride + 1;
        }
        // `parameters` and `scratch` multiply these.
        let kernel = Count::product(&[self.size, self.size]);
        if (kernel * self.from[2]).get().is_none() || (kernel * self.channels).get().is_none() {
            return Err(format!(
                "has a kernel of {0} x {0} over {1} and to {2} channels, which no memory can hold",
                self.size, self.from[2], self.channels
            ));
        }
        Ok(Shape(vec![self.to[0], self.to[1], self.channels]))
    }

    fn parameters(&self) -> Vec<Parameter> {
        let (inputs, outputs, size) = (self.from[2], self.channels, self.size);
        let init = self.init.unwrap_or(Init::Glorot(self.patch(), size * size * outputs));
        let layout = Layout::Kernel { size, inputs, outputs };
        let mut all = vec![Parameter { name: "weight".into(), layout, init }];
        if self.bias {
            all.push(Parameter::plain("bias", &[outputs], Init::Zeros));
        }
        all
    }

    fn pace(&self) -> Pace {
        Pace::Each
    }

    fn reads(&self) -> Reads {
        Reads::INPUT
    }

    fn scratch(&self, _: usize) -> Count {
        Count::product(&self.to) * self.patch()
    }

    fn forward(&self, pass: &mut Pass<'_, E>, w: &[E], x: &[E], y: &mut [E]) {
        let (pixels, patch, out) = (self.pixels(), self.patch(), self.channels);
        let (w, b) = w.split_at(patch * out);
        for (x, y) in x.chunks_exact(self.from.iter().product()).zip(y.chunks_exact_mut(pixels * out)) {
            gather(self, x, pass.scratch);
            if self.bias {
                bias_rows(b, y);
            }
            matmul((pixels, out, patch), Mat::rows(pass.scratch, patch), Mat::rows(w, out), self.bias, y);
        }
    }

    fn backward(&self, pass: &mut Pass<'_, E>, w: &[E], flow: Flow<'_, E>, g: &mut [E]) {
        let (pixels, patch, out, image) = (self.pixels(), self.patch(), self.channels, self.from.iter().product());
        let (gw, gb) = g.split_at_mut(patch * out);
        let w = &w[..patch * out];
        let mut dx = flow.dx;
        for (e, (x, dy)) in flow.x.chunks_exact(image).zip(flow.dy.chunks_exact(pixels * out)).enumerate() {
            let fresh = pass.fresh && e == 0;
            gather(self, x, pass.scratch);
            matmul((patch, out, pixels), Mat::rows(pass.scratch, patch).t(), Mat::rows(dy, out), !fresh, gw);
            if self.bias {
                sum_rows(fresh, dy, gb);
            }
            if let Some(dx) = &mut dx {
                matmul((pixels, patch, out), Mat::rows(dy, out), Mat::rows(w, out).t(), false, pass.scratch);
                scatter(self, pass.scratch, &mut dx[e * image..][..image]);
            }
        }
    }
}
