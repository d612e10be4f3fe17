//! Functions of one number.

use super::{Flow, Layer, Pass, Reads};
use crate::element::Element;
use crate::shape::Shape;
use motet_core::fastest;

/// Applied to each number by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// max(0, x)
    Relu,
    /// tanh x
    Tanh,
    /// 1/(1 + e⁻ˣ)
    Sigmoid,
    /// x Φ(x), Φ the normal distribution function (Hendrycks, Gimpel 2016).
    Gelu,
}

impl Activation {
    fn remembers(self) -> bool {
        self == Activation::Gelu
    }
}

impl<E: Element> Layer<E> for Activation {
    fn kind(&self) -> &'static str {
        match self {
            Activation::Relu => "relu",
            Activation::Tanh => "tanh",
            Activation::Sigmoid => "sigmoid",
            Activation::Gelu => "gelu",
        }
    }
    fn place(&mut self, input: &Shape) -> Result<Shape, String> {
        Ok(input.clone())
    }
    fn reads(&self) -> Reads {
        if self.remembers() { Reads::INPUT } else { Reads::OUTPUT }
    }
    /// GELU alone cannot tell its slope from its output.
    fn in_place(&self) -> bool {
        !self.remembers()
    }

    fn forward(&self, _: &mut Pass<'_, E>, _: &[E], x: &[E], y: &mut [E]) {
        apply(*self, x, y);
    }

    fn backward(&self, _: &mut Pass<'_, E>, _: &[E], flow: Flow<'_, E>, _: &mut [E]) {
        let Flow { x, y, dy, dx } = flow;
        apply_back(*self, x, y, dy, dx);
    }
}

fastest! {
    /// y ← the function of y, or of x where that is kept
    fn apply<E: Element>(function: Activation, x: &[E], y: &mut [E]) {
        match function {
            Activation::Relu => y.iter_mut().for_each(|y| *y = if *y < E::ZERO { E::ZERO } else { *y }),
            Activation::Tanh => y.iter_mut().for_each(|y| *y = y.tanh()),
            Activation::Sigmoid => y.iter_mut().for_each(|y| *y = y.sigmoid()),
            Activation::Gelu => y.iter_mut().zip(x).for_each(|(y, x)| *y = *x * normal_cdf(*x)),
        }
    }

    /// Slopes through the function: in place, but for those that need their input
    fn apply_back<E: Element>(function: Activation, x: &[E], y: &[E], dy: &mut [E], dx: Option<&mut [E]>) {
        match function {
            Activation::Relu => dy.iter_mut().zip(y).for_each(|(d, y)| *d = if *y > E::ZERO { *d } else { E::ZERO }),
            Activation::Tanh => dy.iter_mut().zip(y).for_each(|(d, y)| *d *= E::ONE - *y * *y),
            Activation::Sigmoid => dy.iter_mut().zip(y).for_each(|(d, y)| *d *= *y * (E::ONE - *y)),
            Activation::Gelu => {
                let Some(dx) = dx else { return };
                // 1/√(2π)
                let peak = E::of(0.398_942_280_401_432_7);
                for ((dx, dy), x) in dx.iter_mut().zip(&*dy).zip(x) {
                    *dx = *dy * (normal_cdf(*x) + *x * peak * (-E::of(0.5) * *x * *x).exp());
                }
            }
        }
    }
}

/// Φ(x) = ½ (1 + erf(x/√2))
#[inline(always)]
fn normal_cdf<E: Element>(x: E) -> E {
    // erfc(z) = t exp(−z² + P(t)), t = 2/(2 + z), P a Chebyshev series to 1e-16: no branches, so that loops run several at a
    // time, and exact enough for checks in double precision.
    const C: [f64; 28] = [
        -1.302_653_719_781_709_4,
        6.419_697_923_564_902e-1,
        1.947_647_320_418_583_6e-2,
        -9.561_514_786_808_63e-3,
        -9.46595344482036e-4,
        3.66839497852761e-4,
        4.2523324806907e-5,
        -2.0278578112534e-5,
        -1.624290004647e-6,
        1.303655835580e-6,
        1.5626441722e-8,
        -8.5238095915e-8,
        6.529054439e-9,
        5.059343495e-9,
        -9.91364156e-10,
        -2.27365122e-10,
        9.6467911e-11,
        2.394038e-12,
        -6.886027e-12,
        8.94487e-13,
        3.13092e-13,
        -1.12708e-13,
        3.81e-16,
        7.106e-15,
        -1.523e-15,
        -9.4e-17,
        1.21e-16,
        -2.8e-17,
    ];
    let z = if x < E::ZERO { -x } else { x } * E::of(std::f64::consts::FRAC_1_SQRT_2);
    let t = E::of(2.0) / (E::of(2.0) + z);
    let ty = E::of(4.0) * t - E::of(2.0);
    // Single precision needs the first twelve only.
    let terms = if size_of::<E>() == 4 { 12 } else { C.len() };
    let (mut d, mut dd) = (E::ZERO, E::ZERO);
    for c in C[1..terms].iter().rev() {
        (d, dd) = (ty * d - dd + E::of(*c), d);
    }
    let tail = E::of(0.5) * t * (-z * z + E::of(0.5) * (E::of(C[0]) + ty * d) - dd).exp();
    if x < E::ZERO { tail } else { E::ONE - tail }
}
