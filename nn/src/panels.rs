//! Products of few rows with one matrix, many times over. One of the few files of this crate with `unsafe` code.
//!
//! A general product packs its right factor on every call. A recurrent network multiplies four rows eighty times with
//! the same matrix: packed once, into panels of sixteen columns, that is a third faster.
#![allow(unsafe_code)]

use crate::count::Count;
use crate::direct::Turn;
use crate::element::Element;
use crate::lanes::{Kernel, Lanes, WIDEST};
use crate::matrix::{Mat, holds};

/// Columns of a panel: two vectors of eight, or one of sixteen.
const WIDTH: usize = 16;

/// Numbers a packed matrix of `inner` × `columns` takes.
pub(crate) fn count(inner: usize, columns: usize) -> Count {
    Count::of(columns.div_ceil(WIDTH)) * WIDTH * inner
}

/// The same where the matrix is there, and so can be counted.
pub(crate) fn room(inner: usize, columns: usize) -> usize {
    count(inner, columns).known()
}

/// Lays a matrix out in panels, the last one filled up with zeros.
///
/// # Panics
/// If the matrix does not reach so far, or the panels do not fit.
pub(crate) fn pack<E: Element>(inner: usize, columns: usize, b: Mat<'_, E>, out: &mut [E]) {
    if inner == 0 || columns == 0 {
        return;
    }
    assert!(b.reaches(inner, columns), "the matrix reaches so far");
    let all = count(inner, columns).get().and_then(|all| out.get_mut(..all)).expect("the panels fit");
    for (j, panel) in all.chunks_exact_mut(inner * WIDTH).enumerate() {
        let (first, panel) = (j * WIDTH, panel.as_chunks_mut::<WIDTH>().0);
        let count = WIDTH.min(columns - first);
        if count < WIDTH {
            panel.iter_mut().for_each(|row| row[count..].fill(E::ZERO));
        }
        if b.has_rows() {
            for (p, row) in panel.iter_mut().enumerate() {
                // Whole rows have a length the compiler knows.
                let part = b.row_part(p, first, count);
                match part.first_chunk::<WIDTH>() {
                    Some(whole) => *row = *whole,
                    None => row[..count].copy_from_slice(part),
                }
            }
        } else {
            E::widest(CallTurn(Turn { from: b.t(), rows: (first, count), columns: (0, inner), to: panel.as_flattened_mut(), wide: WIDTH }));
        }
    }
}

/// Hands the turning on to the vectors there are.
struct CallTurn<'a, E>(Turn<'a, E>);

impl<E: Element> Kernel<E> for CallTurn<'_, E> {
    type Output = ();
    fn run<L: Lanes<E>>(self, lanes: L) {
        lanes.call(self.0);
    }
}

/// The sizes of a product with a packed matrix.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Rows of the left factor.
    pub rows: usize,
    /// Columns of the left factor.
    pub inner: usize,
    /// Columns of the packed matrix.
    pub columns: usize,
    /// From one row of the result to the next.
    pub to: usize,
    /// Onto what the result holds, or in its place?
    pub onto: bool,
    /// Last panel first? Products that take turns find the panels of the one before still in the cache, where all of them
    /// would not fit.
    pub last_first: bool,
}

impl Sizes {
    /// Every other product begins with the last panel.
    pub(crate) fn turn(self, number: usize) -> Self {
        Self { last_first: number % 2 == 1, ..self }
    }

    fn is_empty(&self) -> bool {
        self.rows == 0 || self.inner == 0 || self.columns == 0
    }

    /// Panics unless the product, which is not empty, can be made of these.
    fn check<E: Element>(&self, a: Mat<'_, E>, b: &[E], c: &[E]) {
        assert!(a.reaches(self.rows, self.inner), "the left factor reaches so far");
        assert_eq!(Some(b.len()), count(self.inner, self.columns).get(), "the right factor is packed");
        assert!(holds(c.len(), (self.rows, self.columns), self.to), "the product fits");
    }
}

/// c = a·b or c += a·b with `b` packed.
///
/// # Panics
/// If a factor does not reach as far as the sizes say, or the product does not fit.
pub(crate) fn product<E: Element>(sizes: Sizes, a: Mat<'_, E>, b: &[E], c: &mut [E]) {
    E::widest(Call(Product { sizes, a, b, c }));
}

/// Hands the product on to the vectors there are.
struct Call<'a, E>(Product<'a, E>);

impl<E: Element> Kernel<E> for Call<'_, E> {
    type Output = ();
    fn run<L: Lanes<E>>(self, lanes: L) {
        lanes.call(self.0);
    }
}

/// A product with a packed matrix, for vectors of any width: two of them side by side, from one panel or from two.
struct Product<'a, E> {
    sizes: Sizes,
    a: Mat<'a, E>,
    b: &'a [E],
    c: &'a mut [E],
}

/// Rows that are taken together: eight sums are enough to wait for none.
const ROWS: usize = 4;

impl<E: Element> Kernel<E> for Product<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes<E>>(mut self, lanes: L) {
        let sizes = self.sizes;
        if sizes.is_empty() {
            return;
        }
        sizes.check(self.a, self.b, self.c);
        let panels = sizes.columns.div_ceil(WIDTH);
        let together = (2 * L::WIDTH / WIDTH).max(1);
        let groups = panels.div_ceil(together);
        for first in (0..sizes.rows).step_by(ROWS) {
            for turn in 0..groups {
                let group = if sizes.last_first { groups - 1 - turn } else { turn };
                let (panel, rows) = (group * together, sizes.rows - first);
                // Panels of a group that has only one are half as many vectors.
                let whole = together == 1 || panel + 1 < panels;
                // SAFETY: the sizes were checked: `a` reaches all rows and inner numbers, and `b` has all these panels.
                unsafe {
                    match (rows, whole) {
                        (1, true) => self.tile::<L, 1, 2>(lanes, first, panel),
                        (2, true) => self.tile::<L, 2, 2>(lanes, first, panel),
                        (3, true) => self.tile::<L, 3, 2>(lanes, first, panel),
                        (_, true) => self.tile::<L, 4, 2>(lanes, first, panel),
                        (1, false) => self.tile::<L, 1, 1>(lanes, first, panel),
                        (2, false) => self.tile::<L, 2, 1>(lanes, first, panel),
                        (3, false) => self.tile::<L, 3, 1>(lanes, first, panel),
                        (_, false) => self.tile::<L, 4, 1>(lanes, first, panel),
                    }
                }
            }
        }
    }
}

impl<E: Element> Product<'_, E> {
    /// M rows from `first` on and V vectors of columns from panel number `panel` on, summed in registers.
    ///
    /// # Safety
    /// The sizes were checked, there are such rows, and V vectors lie in panels that there are.
    #[inline(always)]
    unsafe fn tile<L: Lanes<E>, const M: usize, const V: usize>(&mut self, lanes: L, first: usize, panel: usize) {
        let Sizes { inner, columns, to, onto, .. } = self.sizes;
        let (values, row, across) = self.a.parts();
        // Where vector v begins: in its panel, which is `inner` rows of sixteen numbers.
        let place = |v: usize| (panel + v * L::WIDTH / WIDTH) * inner * WIDTH + v * L::WIDTH % WIDTH;
        let mut sums = [[lanes.splat(E::ZERO); V]; M];
        // SAFETY: the caller says that `a` reaches row `first + M − 1` and column `inner − 1`, and that the panels are there, of
        // `inner` rows each. Places were computed without an overflow when they were checked.
        unsafe {
            let mut vectors = [self.b.as_ptr(); V];
            for (v, vector) in vectors.iter_mut().enumerate() {
                *vector = self.b.as_ptr().add(place(v));
            }
            let mut rows = [values.as_ptr(); M];
            for (r, from) in rows.iter_mut().enumerate() {
                *from = values.as_ptr().add((first + r) * row);
            }
            for p in 0..inner {
                let mut b = [lanes.splat(E::ZERO); V];
                for (b, vector) in b.iter_mut().zip(vectors) {
                    *b = lanes.load(vector.add(p * WIDTH));
                }
                for (sums, from) in sums.iter_mut().zip(rows) {
                    let x = lanes.splat(*from.add(p * across));
                    for (sum, b) in sums.iter_mut().zip(b) {
                        *sum = lanes.fused(x, b, *sum);
                    }
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            for (v, sum) in sums.iter().enumerate() {
                let from = panel * WIDTH + v * L::WIDTH;
                let count = L::WIDTH.min(columns.saturating_sub(from));
                if count == 0 {
                    continue;
                }
                let c = &mut self.c[(first + r) * to + from..][..count];
                if count == L::WIDTH {
                    // SAFETY: there are as many numbers as a vector has.
                    unsafe {
                        let at = c.as_mut_ptr();
                        lanes.store(at, if onto { lanes.add(lanes.load(at), *sum) } else { *sum });
                    }
                    continue;
                }
                let mut last = [E::ZERO; WIDEST];
                // SAFETY: the widest vector has room.
                unsafe { lanes.store(last.as_mut_ptr(), *sum) };
                for (c, sum) in c.iter_mut().zip(last) {
                    *c = if onto { *c + sum } else { sum };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::Plain;

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn sixteen_lanes_have_the_bits_of_eight() {
        let (Some(eight), Some(sixteen)) = (crate::lanes::Avx2::here(), crate::lanes::Avx512::here()) else { return };
        for (rows, inner, columns) in [(4, 7, 16), (5, 3, 33), (11, 20, 50), (3, 1, 5)] {
            let numbers = |count: usize| (0..count).map(|k| (k as f32 * 0.37).sin()).collect::<Vec<f32>>();
            let (a, b) = (numbers(rows * inner), numbers(inner * columns));
            let mut packed = vec![9.0; room(inner, columns)];
            pack(inner, columns, Mat::rows(&b, columns), &mut packed);
            let sizes = Sizes { rows, inner, columns, to: columns, onto: true, last_first: true };
            let (mut one, mut two) = (vec![1.0; rows * columns], vec![1.0; rows * columns]);
            eight.call(Product { sizes, a: Mat::rows(&a, inner), b: &packed, c: &mut one });
            sixteen.call(Product { sizes, a: Mat::rows(&a, inner), b: &packed, c: &mut two });
            assert_eq!(one, two);
        }
    }

    #[test]
    fn packed_products_are_products_whatever_the_sizes() {
        for (rows, inner, columns) in [(1, 1, 1), (4, 7, 16), (5, 3, 33), (11, 20, 40), (3, 1, 5)] {
            let number = |k: usize| ((k * 37 % 23) as f32 - 11.0) / 7.0;
            let (a, b): (Vec<f32>, Vec<f32>) =
                ((0..rows * inner).map(number).collect(), (0..inner * columns).map(|k| number(k + 5)).collect());
            let plain = |r: usize, c: usize| (0..inner).map(|p| f64::from(a[r * inner + p] * b[p * columns + c])).sum::<f64>();
            // Transposed copies, to be read with the other strides.
            let turned = |m: &[f32], rows: usize, columns: usize| -> Vec<f32> {
                (0..rows * columns).map(|k| m[k % rows * columns + k / rows]).collect()
            };
            let (at, bt) = (turned(&a, rows, inner), turned(&b, inner, columns));
            let left = [Mat::rows(&a, inner), Mat::rows(&at, rows).t()];
            let right = [Mat::rows(&b, columns), Mat::rows(&bt, inner).t()];
            for (k, onto) in (0..8).flat_map(|k| [(k, false), (k, true)]) {
                let mut packed = vec![9.0; room(inner, columns)];
                pack(inner, columns, right[k / 2 % 2], &mut packed);
                let mut c = vec![1.0; rows * columns];
                let sizes = Sizes { rows, inner, columns, to: columns, onto, last_first: onto };
                let product = Product { sizes, a: left[k % 2], b: &packed, c: &mut c };
                if k < 4 {
                    Plain.call(product)
                } else {
                    f32::widest(Call(product))
                }
                for (place, c) in c.iter().enumerate() {
                    let expect = plain(place / columns, place % columns) + f64::from(u8::from(onto));
                    // Twenty products of numbers below 2.5, each rounded once.
                    assert!((f64::from(*c) - expect).abs() < 1e-4, "{rows} x {inner} x {columns}, way {k}");
                }
            }
        }
    }
}
