//! The arithmetic that all norms share: channels of one group have mean 0 and variance 1 over some rows.

use crate::element::Element;
use crate::fast::fast;
use crate::init::Init;
use crate::parameter::Parameter;

/// Rows of channels, `per` channels to a group.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Norm {
    pub channels: usize,
    pub per: usize,
    pub epsilon: f64,
}

impl Norm {
    pub(super) fn parameters(&self) -> Vec<Parameter> {
        let one = |name: &str, init| Parameter::plain(name, &[self.channels], init);
        vec![one("weight", Init::Ones), one("bias", Init::Zeros)]
    }

    pub(super) fn groups(&self) -> usize {
        self.channels / self.per
    }

    /// Numbers that the statistics of one call take: each group's mean and 1/√(variance + ε).
    pub(super) fn statistics(&self) -> usize {
        2 * self.groups()
    }

    /// Scratch that every call needs.
    pub(super) fn scratch(&self) -> usize {
        2 * self.channels
    }

    /// Measures the rows.
    #[inline(always)]
    pub(super) fn measure<E: Element>(&self, x: &[E], statistics: &mut [E], scratch: &mut [E]) {
        let (sums, count) = (&mut scratch[..self.channels], x.len() / self.groups());
        let (mean, inverse) = statistics.split_at_mut(self.groups());
        let share = E::of(1.0 / count as f64);
        sums.fill(E::ZERO);
        for row in x.chunks_exact(self.channels) {
            super::add(row, sums);
        }
        self.fold(sums, mean);
        mean.iter_mut().for_each(|m| *m *= share);
        sums.fill(E::ZERO);
        for row in x.chunks_exact(self.channels) {
            for ((sums, row), mean) in sums.chunks_exact_mut(self.per).zip(row.chunks_exact(self.per)).zip(&*mean) {
                for (sum, x) in sums.iter_mut().zip(row) {
                    *sum += (*x - *mean) * (*x - *mean);
                }
            }
        }
        self.fold(sums, inverse);
        inverse.iter_mut().for_each(|v| *v = E::ONE / (*v * share + E::of(self.epsilon)).sqrt());
    }

    /// y = γ (x − mean)/√(variance + ε) + β
    #[inline(always)]
    pub(super) fn apply<E: Element>(&self, w: &[E], x: &[E], statistics: &[E], y: &mut [E]) {
        let (gamma, beta) = w.split_at(self.channels);
        let (mean, inverse) = statistics.split_at(self.groups());
        fast(|| {
            for (x, y) in x.chunks_exact(self.channels).zip(y.chunks_exact_mut(self.channels)) {
                for g in 0..self.groups() {
                    let span = g * self.per..(g + 1) * self.per;
                    let (mean, inverse) = (mean[g], inverse[g]);
                    let affine = gamma[span.clone()].iter().zip(&beta[span.clone()]);
                    for ((y, x), (gamma, beta)) in y[span.clone()].iter_mut().zip(&x[span]).zip(affine) {
                        *y = *gamma * ((*x - mean) * inverse) + *beta;
                    }
                }
            }
        });
    }

    pub(super) fn forward<E: Element>(&self, w: &[E], x: &[E], statistics: &mut [E], scratch: &mut [E], y: &mut [E]) {
        fast(|| self.measure(x, statistics, scratch));
        self.apply(w, x, statistics, y);
    }

    /// The reverse of [`Norm::forward`], through the statistics.
    #[allow(clippy::too_many_arguments)] // all that flows through a norm
    pub(super) fn backward<E: Element>(
        &self,
        (fresh, statistics, scratch): (bool, &[E], &mut [E]),
        w: &[E],
        x: &[E],
        dy: &[E],
        dx: Option<&mut [E]>,
        g: &mut [E],
    ) {
        let gamma = &w[..self.channels];
        let (mean, inverse) = statistics.split_at(self.groups());
        let (plain, product) = scratch.split_at_mut(self.channels);
        let product = &mut product[..self.channels];
        fast(|| {
            // Σ dy and Σ dy·x̂ by channel: the slopes of β and γ, and what the statistics pass on.
            plain.fill(E::ZERO);
            product.fill(E::ZERO);
            for (x, dy) in x.chunks_exact(self.channels).zip(dy.chunks_exact(self.channels)) {
                for g in 0..self.groups() {
                    let span = g * self.per..(g + 1) * self.per;
                    let (mean, inverse) = (mean[g], inverse[g]);
                    let sums = plain[span.clone()].iter_mut().zip(&mut product[span.clone()]);
                    for ((plain, product), (x, dy)) in sums.zip(x[span.clone()].iter().zip(&dy[span])) {
                        *plain += *dy;
                        *product += *dy * ((*x - mean) * inverse);
                    }
                }
            }
            let (ggamma, gbeta) = g.split_at_mut(self.channels);
            for (g, sum) in [(ggamma, &*product), (gbeta, &*plain)] {
                if fresh {
                    g.copy_from_slice(sum);
                } else {
                    super::add(sum, g);
                }
            }
        });
        let Some(dx) = dx else { return };
        let share = E::of(1.0 / (x.len() / self.groups()) as f64);
        for ((plain, product), gamma) in plain.iter_mut().zip(product.iter_mut()).zip(gamma) {
            *plain *= *gamma * share;
            *product *= *gamma * share;
        }
        fast(|| {
            for g in 0..self.groups() {
                let span = g * self.per..(g + 1) * self.per;
                let (mut first, mut second) = (E::ZERO, E::ZERO);
                for (a, b) in plain[span.clone()].iter().zip(&product[span.clone()]) {
                    first += *a;
                    second += *b;
                }
                let (mean, inverse) = (mean[g], inverse[g]);
                let rows = x.chunks_exact(self.channels).zip(dy.chunks_exact(self.channels));
                for ((x, dy), dx) in rows.zip(dx.chunks_exact_mut(self.channels)) {
                    let slopes = dy[span.clone()].iter().zip(&gamma[span.clone()]);
                    for ((dx, x), (dy, gamma)) in dx[span.clone()].iter_mut().zip(&x[span.clone()]).zip(slopes) {
                        *dx = inverse * (*dy * *gamma - first - (*x - mean) * inverse * second);
                    }
                }
            }
        });
    }

    #[inline(always)]
    fn fold<E: Element>(&self, channels: &[E], groups: &mut [E]) {
        for (group, channels) in groups.iter_mut().zip(channels.chunks_exact(self.per)) {
            let mut sum = E::ZERO;
            for c in channels {
                sum += *c;
            }
            *group = sum;
        }
    }
}
