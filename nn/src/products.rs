//! Many products of one size that pack nothing: whoever writes the factors lays them out as the kernel reads them. One of the few
//! files of this crate with `unsafe` code.
//!
//! Every number of a result is one chain of sums over the inner index, whatever the width of vectors and the number of rows taken
//! together: the bits depend on neither.
#![allow(unsafe_code)]

use crate::count::Count;
use crate::element::Element;
use crate::lanes::{Kernel, Lanes};

/// Some matrices of one size, each `each` numbers after the one before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Factors<'a, E> {
    pub(crate) values: &'a [E],
    pub(crate) each: usize,
    /// From one row to the next.
    pub(crate) row: usize,
    /// From one column to the next; of a right factor, from one panel of two vectors to the next.
    pub(crate) across: usize,
}

/// c = a·b or c += a·b, `count` times.
#[derive(Debug)]
pub(crate) struct Products<'a, E> {
    pub(crate) count: usize,
    pub(crate) rows: usize,
    pub(crate) inner: usize,
    /// A multiple of the numbers in a vector; the last panel may be half a one.
    pub(crate) columns: usize,
    pub(crate) a: Factors<'a, E>,
    pub(crate) b: Factors<'a, E>,
    pub(crate) c: &'a mut [E],
    /// From one result to the next, and from one of its rows to the next.
    pub(crate) c_each: usize,
    pub(crate) c_row: usize,
    pub(crate) onto: bool,
}

/// Rows of the left factor that stay in the first cache while all panels of the right one pass by.
const ROWS: usize = 24;

impl<E: Element> Products<'_, E> {
    /// Panics unless every place that is read or written is there.
    fn check(&self, width: usize) {
        let last = |pairs: &[(usize, usize)]| pairs.iter().fold(Count::ZERO, |sum, (count, step)| sum + Count::of(count - 1) * *step);
        let ends = |len: usize, places: Count, more: usize| (places + more).get().is_some_and(|end| end <= len);
        let (panel, half) = (2 * width, self.columns % (2 * width));
        let (panels, wide) = (self.columns.div_ceil(panel), if half == 0 { panel } else { half });
        let (a, b) = (self.a, self.b);
        assert!(self.columns.is_multiple_of(width), "whole vectors of columns");
        assert!(ends(a.values.len(), last(&[(self.count, a.each), (self.rows, a.row), (self.inner, a.across)]), 1), "the left factor fits");
        assert!(ends(b.values.len(), last(&[(self.count, b.each), (self.inner, b.row), (panels, b.across)]), wide), "the right one fits");
        assert!(ends(self.c.len(), last(&[(self.count, self.c_each), (self.rows, self.c_row)]), self.columns), "the product fits");
    }
}

impl<E: Element> Kernel<E> for Products<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes<E>>(self, lanes: L) {
        if self.count == 0 || self.rows == 0 || self.columns == 0 {
            return;
        }
        assert!(self.inner > 0, "a product has something to sum");
        self.check(L::WIDTH);
        let panel = 2 * L::WIDTH;
        for q in 0..self.count {
            for first in (0..self.rows).step_by(ROWS) {
                for column in (0..self.columns).step_by(panel) {
                    let (mut row, end) = (first, self.rows.min(first + ROWS));
                    while row < end {
                        // Even shares: of eight rows 4 + 4, not 6 + 2.
                        let rows = (end - row).div_ceil((end - row).div_ceil(L::ROWS));
                        // SAFETY: `check` has seen that every place of the three, of which these are some, lies within its slice.
                        unsafe {
                            let tile = Tile {
                                inner: self.inner,
                                a: self.a.values.as_ptr().add(q * self.a.each + row * self.a.row),
                                a_row: self.a.row,
                                a_across: self.a.across,
                                b: self.b.values.as_ptr().add(q * self.b.each + column / panel * self.b.across),
                                b_row: self.b.row,
                                c: self.c.as_mut_ptr().add(q * self.c_each + row * self.c_row + column),
                                c_row: self.c_row,
                                onto: self.onto,
                            };
                            if self.columns - column >= panel { tile.rows::<L, 2>(lanes, rows) } else { tile.rows::<L, 1>(lanes, rows) }
                        }
                        row += rows;
                    }
                }
            }
        }
    }
}

/// Some rows and one panel of a product.
#[derive(Clone, Copy)]
struct Tile<E> {
    inner: usize,
    a: *const E,
    a_row: usize,
    a_across: usize,
    b: *const E,
    b_row: usize,
    c: *mut E,
    c_row: usize,
    onto: bool,
}

impl<E: Element> Tile<E> {
    /// # Safety
    /// The tile has so many rows, V vectors of columns and at least one inner number, all of which are there.
    #[inline(always)]
    unsafe fn rows<L: Lanes<E>, const V: usize>(self, lanes: L, rows: usize) {
        // SAFETY: the caller's word.
        unsafe {
            match rows {
                1 => self.sum::<L, V, 1>(lanes),
                2 => self.sum::<L, V, 2>(lanes),
                3 if L::ROWS >= 3 => self.sum::<L, V, 3>(lanes),
                4 if L::ROWS >= 4 => self.sum::<L, V, 4>(lanes),
                5 if L::ROWS >= 5 => self.sum::<L, V, 5>(lanes),
                6 if L::ROWS >= 6 => self.sum::<L, V, 6>(lanes),
                7 if L::ROWS >= 7 => self.sum::<L, V, 7>(lanes),
                8 if L::ROWS >= 8 => self.sum::<L, V, 8>(lanes),
                _ => unreachable!("no more rows than registers"),
            }
        }
    }

    /// # Safety
    /// As [`Tile::rows`].
    #[inline(always)]
    unsafe fn sum<L: Lanes<E>, const V: usize, const M: usize>(self, lanes: L) {
        let mut sums = [[lanes.splat(E::ZERO); V]; M];
        // SAFETY: the caller says that all these places are there.
        unsafe {
            // A pointer for each row and one index: a chain of additions from row to row would take as long as the products.
            let mut rows = [self.a; M];
            for (r, row) in rows.iter_mut().enumerate() {
                *row = self.a.add(r * self.a_row);
            }
            let (mut b, mut at) = (self.b, 0);
            for _ in 0..self.inner {
                let mut columns = [lanes.splat(E::ZERO); V];
                for (v, column) in columns.iter_mut().enumerate() {
                    *column = lanes.load(b.add(v * L::WIDTH));
                }
                for (sums, row) in sums.iter_mut().zip(rows) {
                    let x = lanes.splat(*row.add(at));
                    for (sum, column) in sums.iter_mut().zip(columns) {
                        *sum = lanes.fused(x, column, *sum);
                    }
                }
                at += self.a_across;
                // The last step leaves it past the end, where nothing is read.
                b = b.wrapping_add(self.b_row);
            }
            for (r, sums) in sums.iter().enumerate() {
                for (v, sum) in sums.iter().enumerate() {
                    let to = self.c.add(r * self.c_row + v * L::WIDTH);
                    let sum = if self.onto { lanes.add(lanes.load(to), *sum) } else { *sum };
                    lanes.store(to, sum);
                }
            }
        }
    }
}
