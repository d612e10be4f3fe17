//! Pooling: the largest, or the mean, of square windows that do not overlap.

use super::{Flow, Layer, Pace, Pass, Reads};
use crate::count::Count;
use crate::element::Element;
use crate::shape::Shape;
use motet_core::fast;

/// Windows over an image; what does not fill a window at the far edges is left out.
#[derive(Clone, Copy, Debug, Default)]
struct Windows {
    size: usize,
    from: [usize; 3],
    to: [usize; 2],
}

impl Windows {
    fn place(&mut self, input: &Shape) -> Result<Shape, String> {
        self.from = input.image()?;
        self.to = [0, 1].map(|axis| self.from[axis].checked_div(self.size).unwrap_or(0));
        if self.to.contains(&0) {
            return Err(format!("has windows of {0} x {0}, which do not fit into {input}", self.size));
        }
        Ok(Shape(vec![self.to[0], self.to[1], self.from[2]]))
    }

    fn input(&self) -> usize {
        self.from.iter().product()
    }

    fn output(&self) -> usize {
        self.to[0] * self.to[1] * self.from[2]
    }

    /// (offset of the pooled pixel, offset in the image, number within the window) for each pixel of each window.
    #[inline(always)]
    fn pixels(&self, mut each: impl FnMut(usize, usize, usize)) {
        let [_, width, channels] = self.from;
        for oy in 0..self.to[0] {
            for ox in 0..self.to[1] {
                for k in 0..self.size * self.size {
                    let (y, x) = (oy * self.size + k / self.size, ox * self.size + k % self.size);
                    each((oy * self.to[1] + ox) * channels, (y * width + x) * channels, k);
                }
            }
        }
    }
}

/// The largest of each window, and 0 if that is negative where a ReLU was asked for: the two commute, and together they
/// take one pass.
#[derive(Clone, Debug)]
pub struct MaxPool {
    windows: Windows,
    rectified: bool,
}

impl MaxPool {
    /// Windows of size × size.
    pub fn new(size: usize) -> Self {
        Self { windows: Windows { size, ..Windows::default() }, rectified: false }
    }

    /// Followed, or preceded, by a ReLU.
    #[must_use]
    pub fn rectified(self) -> Self {
        Self { rectified: true, ..self }
    }
}

impl<E: Element> Layer<E> for MaxPool {
    fn kind(&self) -> &'static str {
        "max pooling"
    }
    fn place(&mut self, input: &Shape) -> Result<Shape, String> {
        self.windows.place(input)
    }
    fn pace(&self) -> Pace {
        Pace::Each
    }
    fn reads(&self) -> Reads {
        Reads::NOTHING
    }
    /// Which pixel of the window won; −1 if the ReLU closed.
    fn memory(&self, examples: usize) -> Count {
        Count::of(self.windows.output()) * examples
    }

    fn forward(&self, pass: &mut Pass<'_, E>, _: &[E], x: &[E], y: &mut [E]) {
        let windows = self.windows;
        let (input, output) = (windows.input(), windows.output());
        for ((x, y), won) in x.chunks_exact(input).zip(y.chunks_exact_mut(output)).zip(pass.memory.chunks_exact_mut(output)) {
            largest(windows, self.rectified, x, y, won);
        }
    }

    fn backward(&self, pass: &mut Pass<'_, E>, _: &[E], flow: Flow<'_, E>, _: &mut [E]) {
        let Some(dx) = flow.dx else { return };
        let windows = self.windows;
        let (input, output) = (windows.input(), windows.output());
        let covered = windows.to[0] * windows.size == windows.from[0] && windows.to[1] * windows.size == windows.from[1];
        for ((dx, dy), won) in dx.chunks_exact_mut(input).zip(flow.dy.chunks_exact(output)).zip(pass.memory.chunks_exact(output)) {
            if !covered {
                dx.fill(E::ZERO);
            }
            to_the_largest(windows, won, dy, dx);
        }
    }
}

fast! {
    /// y ← the largest of each window, won ← its number.
    fn largest<E: Element>(windows: Windows, rectified: bool, x: &[E], y: &mut [E], won: &mut [E]) {
        let channels = windows.from[2];
        y.fill(if rectified { E::ZERO } else { E::of(f64::NEG_INFINITY) });
        won.fill(if rectified { -E::ONE } else { E::ZERO });
        windows.pixels(|to, from, k| {
            let number = E::of(k as f64);
            for ((y, won), x) in y[to..][..channels].iter_mut().zip(&mut won[to..][..channels]).zip(&x[from..][..channels]) {
                // NaN must not vanish: it wins every comparison written this way.
                let keep = *x <= *y;
                *y = if keep { *y } else { *x };
                *won = if keep { *won } else { number };
            }
        });
    }

    /// dx ← dy where the pixel won, else 0.
    fn to_the_largest<E: Element>(windows: Windows, won: &[E], dy: &[E], dx: &mut [E]) {
        let channels = windows.from[2];
        windows.pixels(|to, from, k| {
            let number = E::of(k as f64);
            for ((dx, won), dy) in dx[from..][..channels].iter_mut().zip(&won[to..][..channels]).zip(&dy[to..][..channels]) {
                *dx = if *won == number { *dy } else { E::ZERO };
            }
        });
    }

    /// y ← share · the sum of each window
    fn shares<E: Element>(windows: Windows, share: E, x: &[E], y: &mut [E]) {
        let channels = windows.from[2];
        y.fill(E::ZERO);
        windows.pixels(|to, from, _| {
            for (y, x) in y[to..][..channels].iter_mut().zip(&x[from..][..channels]) {
                *y += share * *x;
            }
        });
    }

    /// dx ← share · dy for every pixel of each window
    fn shared_back<E: Element>(windows: Windows, share: E, dy: &[E], dx: &mut [E]) {
        let channels = windows.from[2];
        windows.pixels(|to, from, _| {
            for (dx, dy) in dx[from..][..channels].iter_mut().zip(&dy[to..][..channels]) {
                *dx = share * *dy;
            }
        });
    }
}

/// The mean of each window.
#[derive(Clone, Debug)]
pub struct AveragePool {
    windows: Windows,
    whole: bool,
}

impl AveragePool {
    /// Windows of size × size.
    pub fn new(size: usize) -> Self {
        Self { windows: Windows { size, ..Windows::default() }, whole: false }
    }

    /// One window: the whole image, which must be square. Gives a vector.
    pub fn whole() -> Self {
        Self { windows: Windows::default(), whole: true }
    }
}

impl<E: Element> Layer<E> for AveragePool {
    fn kind(&self) -> &'static str {
        "average pooling"
    }
    fn place(&mut self, input: &Shape) -> Result<Shape, String> {
        if !self.whole {
            return self.windows.place(input);
        }
        let [height, width, channels] = input.image()?;
        if height != width {
            return Err(format!("needs square images, but is given {input}"));
        }
        self.windows.size = height;
        self.windows.place(input)?;
        Ok(Shape(vec![channels]))
    }
    fn pace(&self) -> Pace {
        Pace::Each
    }
    fn reads(&self) -> Reads {
        Reads::NOTHING
    }

    fn forward(&self, _: &mut Pass<'_, E>, _: &[E], x: &[E], y: &mut [E]) {
        let windows = self.windows;
        let share = E::of(1.0 / (windows.size * windows.size) as f64);
        for (x, y) in x.chunks_exact(windows.input()).zip(y.chunks_exact_mut(windows.output())) {
            shares(windows, share, x, y);
        }
    }

    fn backward(&self, _: &mut Pass<'_, E>, _: &[E], flow: Flow<'_, E>, _: &mut [E]) {
        let Some(dx) = flow.dx else { return };
        let windows = self.windows;
        let share = E::of(1.0 / (windows.size * windows.size) as f64);
        dx.fill(E::ZERO);
        for (dx, dy) in dx.chunks_exact_mut(windows.input()).zip(flow.dy.chunks_exact(windows.output())) {
            shared_back(windows, share, dy, dx);
        }
    }
}
