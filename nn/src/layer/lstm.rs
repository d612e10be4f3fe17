//! Long short-term memory (Hochreiter, Schmidhuber 1997).
//!
//! ```text
//! (i, f, g, o) = xₜ Wx + hₜ₋₁ Wh + b      i, f, o through σ, g through tanh
//! cₜ = f cₜ₋₁ + i g,   hₜ = o tanh cₜ
//! ```
//!
//! What does not wait for hₜ₋₁ is done for the whole sequence at once: the products with Wx, and all slopes of weights.

use super::{Flow, Layer, Pace, Pass, Reads, Stepping, bias_rows, sum_rows};
use crate::count::Count;
use crate::element::Element;
use crate::init::Init;
use crate::matrix::{Mat, matmul};
use crate::panels::{self, Sizes};
use crate::parameter::{Layout, Parameter};
use crate::shape::Shape;
use motet_core::fastest;

/// One layer of LSTM; stack several for more. Gives the hidden state at every position.
#[derive(Clone, Debug)]
pub struct Lstm {
    hidden: usize,
    /// Names end in `_l0`, `_l1`, … as in a stacked LSTM of PyTorch.
    number: usize,
    time: usize,
    inputs: usize,
}

impl Lstm {
    /// So many hidden numbers; started as Keras has it (Glorot, orthogonal, forget gate 1). The number is that of the
    /// layer in its stack.
    pub fn new(hidden: usize, number: usize) -> Self {
        Self { hidden, number, time: 0, inputs: 0 }
    }

    /// Numbers in Wx, and in Wx and Wh.
    fn cuts(&self) -> (usize, usize) {
        let gates = 4 * self.hidden;
        (self.inputs * gates, (self.inputs + self.hidden) * gates)
    }

    /// Memory: gates, cells, and hidden states one step late.
    fn parts<'m, E>(&self, memory: &'m mut [E], positions: usize) -> [&'m mut [E]; 3] {
        let (gates, rest) = memory.split_at_mut(positions * 4 * self.hidden);
        let (cells, rest) = rest.split_at_mut(positions * self.hidden);
        [gates, cells, &mut rest[..positions * self.hidden]]
    }
}

impl<E: Element> Layer<E> for Lstm {
    fn kind(&self) -> &'static str {
        "lstm"
    }

    fn place(&mut self, input: &Shape) -> Result<Shape, String> {
        [self.time, self.inputs] = input.sequence()?;
        if self.hidden == 0 || input.is_empty() {
            return Err(format!("has {} hidden numbers and is given {input}, but needs at least 1 of each", self.hidden));
        }
        // Gates are four times as many, everywhere below.
        if (Count::of(self.hidden) * 4).get().is_none() {
            return Err(format!("has {} hidden numbers, which no memory can hold", self.hidden));
        }
        Ok(Shape(vec![self.time, self.hidden]))
    }

    fn parameters(&self) -> Vec<Parameter> {
        let (n, inputs, hidden, gates) = (self.number, self.inputs, self.hidden, 4 * self.hidden);
        let bias = Layout::Halved { len: gates, second: format!("bias_hh_l{n}") };
        vec![
            Parameter::matrix(&format!("weight_ih_l{n}"), inputs, gates, Init::Glorot(inputs, gates)),
            Parameter::matrix(&format!("weight_hh_l{n}"), hidden, gates, Init::Orthogonal(gates)),
            Parameter { name: format!("bias_ih_l{n}"), layout: bias, init: Init::ForgetOne },
        ]
    }

    fn pace(&self) -> Pace {
        Pace::Whole
    }

    fn reads(&self) -> Reads {
        Reads::INPUT
    }

    fn memory(&self, examples: usize) -> Count {
        Count::of(self.hidden) * 6 * self.time * examples
    }

    fn scratch(&self, examples: usize) -> Count {
        let gates = 4 * self.hidden;
        let packed = panels::count(self.hidden, gates).max(panels::count(gates, self.hidden));
        (Count::product(&[self.time, gates]) + Count::of(self.hidden) * 2) * examples + packed
    }

    fn forward(&self, pass: &mut Pass<'_, E>, w: &[E], x: &[E], y: &mut [E]) {
        let (hidden, time, width) = (self.hidden, self.time, 4 * self.hidden);
        let (wx, wh) = self.cuts();
        let [gates, cells, late] = self.parts(pass.memory, pass.examples * time);
        bias_rows(&w[wh..], gates);
        matmul((pass.examples * time, width, self.inputs), Mat::rows(x, self.inputs), Mat::rows(&w[..wx], width), true, gates);
        let packed = &mut pass.scratch[..panels::room(hidden, width)];
        panels::pack(hidden, width, Mat::rows(&w[wx..wh], width), packed);
        let sizes = Sizes { rows: pass.examples, inner: hidden, columns: width, to: time * width, onto: true, last_first: false };
        for t in 0..time {
            if t > 0 {
                panels::product(sizes.turn(t), Mat::strided(&y[(t - 1) * hidden..], time * hidden), packed, &mut gates[t * width..]);
            }
            for e in 0..pass.examples {
                let at = e * time + t;
                let (before, cell) = cells.split_at_mut(at * hidden);
                let before = (t > 0).then(|| &before[(at - 1) * hidden..]);
                step(&mut gates[at * width..][..width], before, &mut cell[..hidden], &mut y[at * hidden..][..hidden]);
            }
        }
        for (late, y) in late.chunks_exact_mut(time * hidden).zip(y.chunks_exact(time * hidden)) {
            late[..hidden].fill(E::ZERO);
            late[hidden..].copy_from_slice(&y[..(time - 1) * hidden]);
        }
    }

    fn backward(&self, pass: &mut Pass<'_, E>, w: &[E], flow: Flow<'_, E>, g: &mut [E]) {
        let fresh = pass.fresh;
        let (slopes, late) = self.back_through_time(pass, w, flow.dy);
        if let Some(dx) = flow.dx {
            self.slopes_of_input(w, slopes, dx);
        }
        self.slopes_of_parameters(flow.x, late, slopes, fresh, g);
    }

    fn stepping(&self) -> Option<&dyn Stepping<E>> {
        Some(self)
    }
}

impl<E: Element> Stepping<E> for Lstm {
    fn backward_onto(&self, pass: &mut Pass<'_, E>, w: &mut [E], flow: Flow<'_, E>) {
        let (slopes, late) = self.back_through_time(pass, w, flow.dy);
        if let Some(dx) = flow.dx {
            self.slopes_of_input(w, slopes, dx);
        }
        self.slopes_of_parameters(flow.x, late, slopes, false, w);
    }
}

impl Lstm {
    /// The slopes of the gates at every position, and the hidden states one step late.
    fn back_through_time<'p, E: Element>(&self, pass: &'p mut Pass<'_, E>, w: &[E], dy: &[E]) -> (&'p [E], &'p [E]) {
        let (hidden, time, width, examples) = (self.hidden, self.time, 4 * self.hidden, pass.examples);
        let (wx, wh) = self.cuts();
        let positions = examples * time;
        let [gates, cells, late] = self.parts(pass.memory, positions);
        let (slopes, rest) = pass.scratch.split_at_mut(positions * width);
        let (dh, rest) = rest.split_at_mut(examples * hidden);
        let (dc, rest) = rest.split_at_mut(examples * hidden);
        let packed = &mut rest[..panels::room(width, hidden)];
        panels::pack(width, hidden, Mat::rows(&w[wx..wh], width).t(), packed);
        dh.fill(E::ZERO);
        dc.fill(E::ZERO);
        let sizes = Sizes { rows: examples, inner: width, columns: hidden, to: hidden, onto: true, last_first: false };
        for t in (0..time).rev() {
            for e in 0..examples {
                let at = e * time + t;
                let (dh, dc) = (&mut dh[e * hidden..][..hidden], &mut dc[e * hidden..][..hidden]);
                let before = (t > 0).then(|| &cells[(at - 1) * hidden..][..hidden]);
                let cell = (before, &cells[at * hidden..][..hidden]);
                step_back(&gates[at * width..][..width], cell, &dy[at * hidden..][..hidden], dh, dc, &mut slopes[at * width..][..width]);
            }
            if t > 0 {
                panels::product(sizes.turn(t), Mat::strided(&slopes[t * width..], time * width), packed, dh);
            }
        }
        (slopes, late)
    }

    fn slopes_of_input<E: Element>(&self, w: &[E], slopes: &[E], dx: &mut [E]) {
        let (width, (wx, _)) = (4 * self.hidden, self.cuts());
        let sizes = (slopes.len() / width, self.inputs, width);
        matmul(sizes, Mat::rows(slopes, width), Mat::rows(&w[..wx], width).t(), false, dx);
    }

    fn slopes_of_parameters<E: Element>(&self, x: &[E], late: &[E], slopes: &[E], fresh: bool, g: &mut [E]) {
        let (hidden, width, (wx, wh)) = (self.hidden, 4 * self.hidden, self.cuts());
        let (positions, ds) = (slopes.len() / width, Mat::rows(slopes, width));
        let (gx, rest) = g.split_at_mut(wx);
        let (gh, gb) = rest.split_at_mut(wh - wx);
        matmul((self.inputs, width, positions), Mat::rows(x, self.inputs).t(), ds, !fresh, gx);
        matmul((hidden, width, positions), Mat::rows(late, hidden).t(), ds, !fresh, gh);
        sum_rows(fresh, slopes, gb);
    }
}

fastest! {
/// One position of one example: gates through their functions, the new cell and the new hidden state.
fn step<E: Element>(gates: &mut [E], before: Option<&[E]>, cell: &mut [E], h: &mut [E]) {
    let n = cell.len();
    let (i, rest) = gates.split_at_mut(n);
    let (f, rest) = rest.split_at_mut(n);
    let (g, o) = rest.split_at_mut(n);
    let (o, h) = (&mut o[..n], &mut h[..n]);
        for k in 0..n {
            i[k] = i[k].sigmoid();
            f[k] = f[k].sigmoid();
            g[k] = g[k].tanh();
            o[k] = o[k].sigmoid();
            cell[k] = i[k] * g[k];
        }
        if let Some(before) = before {
            let before = &before[..n];
            for k in 0..n {
                cell[k] += f[k] * before[k];
            }
        }
        for k in 0..n {
            h[k] = o[k] * cell[k].tanh();
        }
}

/// The reverse of [`step`]: `dh` and `dc` come from the position after, and leave as what this one passes on but for the
/// product with Wh, for which `dh` is zero.
fn step_back<E: Element>(gates: &[E], cell: (Option<&[E]>, &[E]), dy: &[E], dh: &mut [E], dc: &mut [E], slopes: &mut [E]) {
    let (before, cell) = cell;
    let n = cell.len();
    let (i, rest) = gates.split_at(n);
    let (f, rest) = rest.split_at(n);
    let (g, o) = rest.split_at(n);
    let (di, rest) = slopes.split_at_mut(n);
    let (df, rest) = rest.split_at_mut(n);
    let (dg, dout) = rest.split_at_mut(n);
    let (o, dout, dh, dc, dy) = (&o[..n], &mut dout[..n], &mut dh[..n], &mut dc[..n], &dy[..n]);
        for k in 0..n {
            let (th, d) = (cell[k].tanh(), dh[k] + dy[k]);
            let c = dc[k] + d * o[k] * (E::ONE - th * th);
            dout[k] = d * th * o[k] * (E::ONE - o[k]);
            di[k] = c * g[k] * i[k] * (E::ONE - i[k]);
            dg[k] = c * i[k] * (E::ONE - g[k] * g[k]);
            df[k] = c * f[k] * (E::ONE - f[k]);
            dc[k] = c * f[k];
            dh[k] = E::ZERO;
        }
        match before {
            Some(before) => df.iter_mut().zip(before).for_each(|(df, c)| *df *= *c),
            None => df.fill(E::ZERO),
        }
}
}
