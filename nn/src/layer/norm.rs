//! The arithmetic that all norms share: channels of one group have mean 0 and variance 1 over some rows.

use crate::element::Element;
use crate::init::Init;
use crate::parameter::Parameter;
use motet_core::fast;

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

    /// y = γ (x − mean)/√(variance + ε) + β
    pub(super) fn apply<E: Element>(&self, w: &[E], x: &[E], statistics: &[E], y: &mut [E]) {
        apply(*self, w, x, statistics, y);
    }

    pub(super) fn forward<E: Element>(&self, w: &[E], x: &[E], statistics: &mut [E], scratch: &mut [E], y: &mut [E]) {
        measure(*self, x, statistics, scratch);
        apply(*self, w, x, statistics, y);
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
        let (plain, product) = scratch.split_at_mut(self.channels);
        let product = &mut product[..self.channels];
        sums(*self, statistics, x, dy, plain, product);
        // The slopes of β and γ, and what the statistics pass on.
        let (ggamma, gbeta) = g.split_at_mut(self.channels);
        for (g, sum) in [(ggamma, &*product), (gbeta, &*plain)] {
            if fresh {
                g.copy_from_slice(sum);
            } else {
                super::add(sum, g);
            }
        }
        let Some(dx) = dx else { return };
        let share = E::of(1.0 / (x.len() / self.groups()) as f64);
        for ((plain, product), gamma) in plain.iter_mut().zip(product.iter_mut()).zip(gamma) {
            *plain *= *gamma * share;
            *product *= *gamma * share;
        }
        through(*self, statistics, [gamma, plain, product], x, dy, dx);
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

fast! {
    /// Measures the rows.
    fn measure<E: Element>(norm: Norm, x: &[E], statistics: &mut [E], scratch: &mut [E]) {
        let (sums, count) = (&mut scratch[..norm.channels], x.len() / norm.groups());
        let (mean, inverse) = statistics.split_at_mut(norm.groups());
        let share = E::of(1.0 / count as f64);
        sums.fill(E::ZERO);
        for row in x.chunks_exact(norm.channels) {
            super::add(row, sums);
        }
        norm.fold(sums, mean);
        mean.iter_mut().for_each(|m| *m *= share);
        sums.fill(E::ZERO);
        for row in x.chunks_exact(norm.channels) {
            for ((sums, row), mean) in sums.chunks_exact_mut(norm.per).zip(row.chunks_exact(norm.per)).zip(&*mean) {
                for (sum, x) in sums.iter_mut().zip(row) {
                    *sum += (*x - *mean) * (*x - *mean);
                }
            }
        }
        norm.fold(sums, inverse);
        inverse.iter_mut().for_each(|v| *v = E::ONE / (*v * share + E::of(norm.epsilon)).sqrt());
    }

    fn apply<E: Element>(norm: Norm, w: &[E], x: &[E], statistics: &[E], y: &mut [E]) {
        let (gamma, beta) = w.split_at(norm.channels);
        let (mean, inverse) = statistics.split_at(norm.groups());
        for (x, y) in x.chunks_exact(norm.channels).zip(y.chunks_exact_mut(norm.channels)) {
            for g in 0..norm.groups() {
                let span = g * norm.per..(g + 1) * norm.per;
                let (mean, inverse) = (mean[g], inverse[g]);
                let affine = gamma[span.clone()].iter().zip(&beta[span.clone()]);
                for ((y, x), (gamma, beta)) in y[span.clone()].iter_mut().zip(&x[span]).zip(affine) {
                    *y = *gamma * ((*x - mean) * inverse) + *beta;
                }
            }
        }
    }

    /// Σ dy and Σ dy·x̂ by channel.
    fn sums<E: Element>(norm: Norm, statistics: &[E], x: &[E], dy: &[E], plain: &mut [E], product: &mut [E]) {
        let (mean, inverse) = statistics.split_at(norm.groups());
        plain.fill(E::ZERO);
        product.fill(E::ZERO);
        for (x, dy) in x.chunks_exact(norm.channels).zip(dy.chunks_exact(norm.channels)) {
            for g in 0..norm.groups() {
                let span = g * norm.per..(g + 1) * norm.per;
                let (mean, inverse) = (mean[g], inverse[g]);
                let sums = plain[span.clone()].iter_mut().zip(&mut product[span.clone()]);
                for ((plain, product), (x, dy)) in sums.zip(x[span.clone()].iter().zip(&dy[span])) {
                    *plain += *dy;
                    *product += *dy * ((*x - mean) * inverse);
                }
            }
        }
    }

    /// dx, given γ and the two sums times γ over the number of rows.
    fn through<E: Element>(norm: Norm, statistics: &[E], sums: [&[E]; 3], x: &[E], dy: &[E], dx: &mut [E]) {
        let ([gamma, plain, product], (mean, inverse)) = (sums, statistics.split_at(norm.groups()));
        for g in 0..norm.groups() {
            let span = g * norm.per..(g + 1) * norm.per;
            let (mut first, mut second) = (E::ZERO, E::ZERO);
            for (a, b) in plain[span.clone()].iter().zip(&product[span.clone()]) {
                first += *a;
                second += *b;
            }
            let (mean, inverse) = (mean[g], inverse[g]);
            let rows = x.chunks_exact(norm.channels).zip(dy.chunks_exact(norm.channels));
            for ((x, dy), dx) in rows.zip(dx.chunks_exact_mut(norm.channels)) {
                let slopes = dy[span.clone()].iter().zip(&gamma[span.clone()]);
                for ((dx, x), (dy, gamma)) in dx[span.clone()].iter_mut().zip(&x[span.clone()]).zip(slopes) {
                    *dx = inverse * (*dy * *gamma - first - (*x - mean) * inverse * second);
                }
            }
        }
    }
}
