//! Multi-head self-attention (Vaswani et al. 2017).
//!
//! ```text
//! Q, K, V = x Wq + bq, x Wk + bk, x Wv + bv     cut into heads
//! P = softmax(Q Kᵀ/√d over the positions that are not padding),   y = (P V) Wo + bo
//! ```

use super::{Flow, Layer, Pace, Pass, Reads, bias_rows, sum_rows};
use crate::count::Count;
use crate::element::Element;
use crate::init::Init;
use crate::matrix::{Mat, matmul, matmul_into};
use crate::parameter::Parameter;
use crate::shape::Shape;
use motet_core::fast;

/// Self-attention with names as BERT has them: `self.query`, `self.key`, `self.value`, `output.dense`.
#[derive(Clone, Debug)]
pub struct Attention {
    heads: usize,
    time: usize,
    features: usize,
}

impl Attention {
    /// So many heads, which must divide the features.
    pub fn new(heads: usize) -> Self {
        Self { heads, time: 0, features: 0 }
    }

    /// Numbers in one of the four matrices with its bias.
    fn block(&self) -> usize {
        (self.features + 1) * self.features
    }

    fn sizes(&self) -> (usize, usize, usize) {
        (self.time, self.features, self.features / self.heads)
    }

    /// y ← x W + b
    fn project<E: Element>(&self, w: &[E], x: &[E], y: &mut [E]) {
        let (time, d, _) = self.sizes();
        let (w, b) = w.split_at(d * d);
        bias_rows(b, y);
        matmul((time, d, d), Mat::rows(x, d), Mat::rows(w, d), true, y);
    }

    /// The reverse of `project`; adds to `dx`, if there is one.
    fn project_back<E: Element>(&self, w: &[E], x: &[E], dy: &[E], dx: Option<&mut [E]>, fresh: bool, g: &mut [E]) {
        let (time, d, _) = self.sizes();
        let (gw, gb) = g.split_at_mut(d * d);
        matmul((d, d, time), Mat::rows(x, d).t(), Mat::rows(dy, d), !fresh, gw);
        sum_rows(fresh, dy, gb);
        if let Some(dx) = dx {
            matmul((time, d, d), Mat::rows(dy, d), Mat::rows(&w[..d * d], d).t(), true, dx);
        }
    }
}

impl<E: Element> Layer<E> for Attention {
    fn kind(&self) -> &'static str {
        "attention"
    }

    fn place(&mut self, input: &Shape) -> Result<Shape, String> {
        [self.time, self.features] = input.sequence()?;
        if self.heads == 0 || !self.features.is_multiple_of(self.heads) || input.is_empty() {
            return Err(format!("cannot cut {} features into {} equal heads", self.features, self.heads));
        }
        Ok(input.clone())
    }

    fn parameters(&self) -> Vec<Parameter> {
        let d = self.features;
        let pair = |name: &str| {
            let weight = Parameter::matrix(&format!("{name}.weight"), d, d, Init::Truncated(0.02));
            [weight, Parameter::plain(&format!("{name}.bias"), &[d], Init::Zeros)]
        };
        ["self.query", "self.key", "self.value", "output.dense"].into_iter().flat_map(pair).collect()
    }

    fn pace(&self) -> Pace {
        Pace::Each
    }

    fn reads(&self) -> Reads {
        Reads::INPUT
    }

    /// Q, K, V, P V, and P of each head.
    fn memory(&self, examples: usize) -> Count {
        (Count::of(self.features) * 4 + Count::product(&[self.heads, self.time])) * self.time * examples
    }

    fn scratch(&self, _: usize) -> Count {
        (Count::of(self.features) * 4 + self.time) * self.time
    }

    fn forward(&self, pass: &mut Pass<'_, E>, w: &[E], x: &[E], y: &mut [E]) {
        let (time, d, head) = self.sizes();
        let (area, scale) = (time * d, E::of(1.0 / (head as f64).sqrt()));
        let each = Layer::<E>::memory(self, 1).known();
        for e in 0..pass.examples {
            let (x, y) = (&x[e * area..][..area], &mut y[e * area..][..area]);
            let (qkv, rest) = pass.memory[e * each..][..each].split_at_mut(3 * area);
            let (mixed, chances) = rest.split_at_mut(area);
            for (w, out) in w.chunks_exact(self.block()).zip(qkv.chunks_exact_mut(area)) {
                self.project(w, x, out);
            }
            let (q, rest) = qkv.split_at(area);
            let (k, v) = rest.split_at(area);
            let positions = pass.mask.len() / pass.examples;
            let mask = &pass.mask[e * positions..][..positions];
            for (h, p) in chances.chunks_exact_mut(time * time).enumerate() {
                let part = |m| Mat::strided(m, d);
                let at = h * head;
                matmul_into((time, time, head), part(&q[at..]), part(&k[at..]).t(), scale, false, p, time);
                p.chunks_exact_mut(time).for_each(|row| softmax(row, mask));
                matmul_into((time, head, time), Mat::rows(&*p, time), part(&v[at..]), E::ONE, false, &mut mixed[at..], d);
            }
            self.project(&w[3 * self.block()..], mixed, y);
        }
    }

    fn backward(&self, pass: &mut Pass<'_, E>, w: &[E], flow: Flow<'_, E>, g: &mut [E]) {
        let (time, d, head) = self.sizes();
        let (area, block, scale) = (time * d, self.block(), E::of(1.0 / (head as f64).sqrt()));
        let each = Layer::<E>::memory(self, 1).known();
        let mut dx = flow.dx;
        for e in 0..pass.examples {
            let fresh = pass.fresh && e == 0;
            let (x, dy) = (&flow.x[e * area..][..area], &flow.dy[e * area..][..area]);
            let (qkv, rest) = pass.memory[e * each..][..each].split_at(3 * area);
            let (mixed, chances) = rest.split_at(area);
            let (dqkv, rest) = pass.scratch.split_at_mut(3 * area);
            let (dmixed, dp) = rest.split_at_mut(area);
            let dp = &mut dp[..time * time];
            dmixed.fill(E::ZERO);
            self.project_back(&w[3 * block..], mixed, dy, Some(dmixed), fresh, &mut g[3 * block..]);
            let dmixed = &*dmixed;
            let (q, rest) = qkv.split_at(area);
            let (k, v) = rest.split_at(area);
            let (dq, rest) = dqkv.split_at_mut(area);
            let (dk, dv) = rest.split_at_mut(area);
            for (h, p) in chances.chunks_exact(time * time).enumerate() {
                let part = |m| Mat::strided(m, d);
                let at = h * head;
                matmul_into((time, head, time), Mat::rows(p, time).t(), part(&dmixed[at..]), E::ONE, false, &mut dv[at..], d);
                matmul_into((time, time, head), part(&dmixed[at..]), part(&v[at..]).t(), E::ONE, false, dp, time);
                dp.chunks_exact_mut(time).zip(p.chunks_exact(time)).for_each(|(dp, p)| softmax_back(p, dp));
                matmul_into((time, head, time), Mat::rows(&*dp, time), part(&k[at..]), scale, false, &mut dq[at..], d);
                matmul_into((time, head, time), Mat::rows(&*dp, time).t(), part(&q[at..]), scale, false, &mut dk[at..], d);
            }
            let mut dx = dx.as_mut().map(|dx| &mut dx[e * area..][..area]);
            if let Some(dx) = &mut dx {
                dx.fill(E::ZERO);
            }
            for (k, slopes) in dqkv.chunks_exact(area).enumerate() {
                self.project_back(&w[k * block..], x, slopes, dx.as_deref_mut(), fresh, &mut g[k * block..][..block]);
            }
        }
    }
}

fast! {
/// Scores become chances; padding has none.
fn softmax<E: Element>(row: &mut [E], mask: &[E]) {
        if !mask.is_empty() {
            // Far below any score, and still a number.
            row.iter_mut().zip(mask).for_each(|(s, m)| *s = if *m > E::ZERO { *s } else { E::of(-1e30) });
        }
        let top = row.iter().copied().fold(E::of(f64::NEG_INFINITY), E::larger);
        let mut sum = E::ZERO;
        for s in row.iter_mut() {
            *s = (*s - top).exp();
        }
        for s in row.iter() {
            sum += *s;
        }
        row.iter_mut().for_each(|s| *s /= sum);
        if !mask.is_empty() {
            row.iter_mut().zip(mask).for_each(|(s, m)| *s = if *m > E::ZERO { *s } else { E::ZERO });
        }
}

/// dp ← (diag(p) − p pᵀ) dp
fn softmax_back<E: Element>(p: &[E], dp: &mut [E]) {
        let mut mean = E::ZERO;
        for (p, dp) in p.iter().zip(&*dp) {
            mean += *p * *dp;
        }
        dp.iter_mut().zip(p).for_each(|(dp, p)| *dp = *p * (*dp - mean));
}
}
