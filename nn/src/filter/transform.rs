//! A matrix of [`points`](super::points) on both sides of a tile, for a vector of channels at once. One of the few files of this
//! crate with `unsafe` code.
//!
//! Loops are plain and over ranges that the compiler knows: unrolled, ones and zeros among the coefficients cost nothing. With
//! iterators (`step_by`, `filter`) they were not, and passes took up to three times as long.
#![allow(unsafe_code, clippy::needless_range_loop)]

use std::mem::MaybeUninit;

use super::points::Matrix;
use crate::element::Element;
use crate::lanes::Lanes;

/// sum + c·x
#[inline(always)]
fn term<E: Element, L: Lanes<E>>(lanes: L, sum: Option<L::V>, c: f64, x: L::V) -> Option<L::V> {
    Some(match sum {
        _ if c == 0.0 => return sum,
        None if c == 1.0 => x,
        None => lanes.mul(lanes.splat(E::of(c)), x),
        Some(sum) if c == 1.0 => lanes.add(sum, x),
        Some(sum) if c == -1.0 => lanes.sub(sum, x),
        Some(sum) => lanes.fused(lanes.splat(E::of(c)), x, sum),
    })
}

/// C·x: rows of a pair of points ±p share their even and their odd terms.
#[inline(always)]
fn spread_line<E: Element, L: Lanes<E>, C: Matrix<I, N>, const I: usize, const N: usize>(lanes: L, x: &[L::V; I]) -> [L::V; N] {
    let zero = lanes.splat(E::ZERO);
    let mut out = [zero; N];
    let (mut first, mut last) = (None, None);
    for i in 0..I {
        first = term(lanes, first, C::C[0][i], x[i]);
        last = term(lanes, last, C::C[N - 1][i], x[i]);
    }
    out[0] = first.unwrap_or(zero);
    out[N - 1] = last.unwrap_or(zero);
    for p in 0..(N - 2) / 2 {
        let (mut even, mut odd) = (None, None);
        for i in 0..I {
            if i % 2 == 0 {
                even = term(lanes, even, C::C[2 * p + 1][i], x[i]);
            } else {
                odd = term(lanes, odd, C::C[2 * p + 1][i], x[i]);
            }
        }
        let (even, odd) = (even.unwrap_or(zero), odd.unwrap_or(zero));
        out[2 * p + 1] = lanes.add(even, odd);
        out[2 * p + 2] = lanes.sub(even, odd);
    }
    out
}

/// Cᵀ·x: columns share the sums and the differences of pairs.
#[inline(always)]
fn gather_line<E: Element, L: Lanes<E>, C: Matrix<I, N>, const I: usize, const N: usize>(lanes: L, x: &[L::V; N]) -> [L::V; I] {
    let zero = lanes.splat(E::ZERO);
    let (mut out, mut both) = ([zero; I], [[zero; 2]; N]);
    for p in 0..(N - 2) / 2 {
        let (a, b) = (x[2 * p + 1], x[2 * p + 2]);
        both[p] = [lanes.add(a, b), lanes.sub(a, b)];
    }
    for i in 0..I {
        let mut sum = term(lanes, None, C::C[0][i], x[0]);
        for p in 0..(N - 2) / 2 {
            sum = term(lanes, sum, C::C[2 * p + 1][i], both[p][i % 2]);
        }
        out[i] = term(lanes, sum, C::C[N - 1][i], x[N - 1]).unwrap_or(zero);
    }
    out
}

/// C·x·Cᵀ of a tile of I × I pixels, for one vector of channels: pixel (i, j) is read at `from[i][j] + at`, and point q is written
/// to `to + q·step`.
///
/// # Safety
/// All these places hold a vector.
#[inline(always)]
pub(super) unsafe fn spread<E: Element, L: Lanes<E>, C: Matrix<I, N>, const I: usize, const N: usize>(
    lanes: L,
    from: &[[*const E; I]; I],
    at: usize,
    to: *mut E,
    step: usize,
) {
    let mut half = [[MaybeUninit::<L::V>::uninit(); I]; N];
    for j in 0..I {
        let mut x = [lanes.splat(E::ZERO); I];
        for i in 0..I {
            // SAFETY: the caller says that a vector is there.
            x[i] = unsafe { lanes.load(from[i][j].add(at)) };
        }
        let points = spread_line::<E, L, C, I, N>(lanes, &x);
        for i in 0..N {
            half[i][j].write(points[i]);
        }
    }
    for i in 0..N {
        let mut x = [lanes.splat(E::ZERO); I];
        for j in 0..I {
            // SAFETY: written above, for every i and j.
            x[j] = unsafe { half[i][j].assume_init() };
        }
        let points = spread_line::<E, L, C, I, N>(lanes, &x);
        for j in 0..N {
            // SAFETY: the caller says that there is room for a vector.
            unsafe { lanes.store(to.add((i * N + j) * step), points[j]) };
        }
    }
}

/// Cᵀ·x·C, the other way: from N × N points to a tile of I × I pixels, onto what is there or onto a bias.
///
/// # Safety
/// As for [`spread`]; `bias` holds a vector.
#[inline(always)]
pub(super) unsafe fn gather<E: Element, L: Lanes<E>, C: Matrix<I, N>, const I: usize, const N: usize>(
    lanes: L,
    (from, step): (*const E, usize),
    to: &[[*mut E; I]; I],
    at: usize,
    bias: Option<*const E>,
) {
    let mut half = [[MaybeUninit::<L::V>::uninit(); N]; I];
    for j in 0..N {
        let mut x = [lanes.splat(E::ZERO); N];
        for i in 0..N {
            // SAFETY: the caller says that a vector is there.
            x[i] = unsafe { lanes.load(from.add((i * N + j) * step)) };
        }
        let pixels = gather_line::<E, L, C, I, N>(lanes, &x);
        for i in 0..I {
            half[i][j].write(pixels[i]);
        }
    }
    // SAFETY: the caller says that a vector is there.
    let bias = bias.map(|bias| unsafe { lanes.load(bias) });
    for i in 0..I {
        let mut x = [lanes.splat(E::ZERO); N];
        for j in 0..N {
            // SAFETY: written above, for every i and j.
            x[j] = unsafe { half[i][j].assume_init() };
        }
        let pixels = gather_line::<E, L, C, I, N>(lanes, &x);
        for j in 0..I {
            // SAFETY: the caller says that a vector is there.
            unsafe {
                let to = to[i][j].add(at);
                let before = match bias {
                    Some(bias) => bias,
                    None => lanes.load(to),
                };
                lanes.store(to, lanes.add(before, pixels[j]));
            }
        }
    }
}
