//! Products that pack little or nothing. One of the few files of this crate with `unsafe` code.
//!
//! A general product copies both factors into the order that its kernel likes. That pays where each number is used often. A dense layer
//! multiplies twenty rows with a matrix of six megabytes: there the copies take longer than the product. Here the left factor is read
//! where it lies, and so is the right one where the numbers of its rows lie side by side.
//!
//! The bits are those of the general product: each number is one chain of fused multiplications over each piece of the inner index. So the
//! choice between the two may depend on anything.
#![allow(unsafe_code)]
// Elsewhere everything is left to the general product.
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code, unused_variables))]

use std::cell::RefCell;

use crate::element::Element;
use crate::lanes::{Kernel, Lanes, WIDEST};
use crate::matrix::Mat;
use crate::panels::Sizes;
use crate::products::{Factors, Products};

/// The most rows of a product that is computed as its transpose, a block of columns at a time.
const FEW: usize = 2 * WIDEST;
/// Columns of such a block.
const BLOCK: usize = 24;
/// Sizes up to which a copy of what is multiplied costs more than it gains.
const SHORT: usize = 64;
/// Rows whose sums one pass over the right factor makes, also where the left one is read across its rows.
const TOGETHER: usize = 8;

thread_local! {
    /// A panel of the right factor, or the left one turned; and a block of a transposed product.
    static ROOM: RefCell<[Vec<f32>; 2]> = const { RefCell::new([Vec::new(), Vec::new()]) };
}

/// c = a·b or c += a·b in pieces of at most `piece` inner numbers, if that is quicker than the general product; `None` if not. The caller
/// has seen that both factors reach as far as the sizes say, and that the product fits.
pub(crate) fn product(sizes: Sizes, piece: usize, a: Mat<'_, f32>, b: Mat<'_, f32>, c: &mut [f32]) -> Option<()> {
    #[cfg(target_arch = "x86_64")]
    {
        use crate::lanes::{Avx2, Avx512};
        let way = Way::of(sizes, a, b)?;
        let direct = Direct { sizes, piece, a, b, c };
        match (Avx512::here(), Avx2::here()) {
            (Some(lanes), _) => direct.run(lanes, way),
            (None, Some(lanes)) => direct.run(lanes, way),
            (None, None) => return None,
        }
        Some(())
    }
    #[cfg(not(target_arch = "x86_64"))]
    None
}

/// How a product is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Both factors where they lie.
    InPlace,
    /// The few rows of the left factor become columns, and the product's columns rows.
    Turned,
    /// The right factor, whose columns lie side by side, is turned a panel at a time.
    Panels,
}

impl Way {
    /// The one that was found to be quicker than the general product (docs/lab/networks.md).
    fn of(sizes: Sizes, a: Mat<'_, f32>, b: Mat<'_, f32>) -> Option<Self> {
        let Sizes { rows, inner, columns, .. } = sizes;
        if !b.has_rows() {
            let panels = || (a.has_rows() && columns.is_multiple_of(WIDEST)).then_some(Self::Panels);
            return if rows <= FEW { Some(Self::Turned) } else { panels() };
        }
        let used_little = if a.has_rows() { rows.min(inner).min(columns) <= SHORT } else { rows <= TOGETHER };
        (used_little && columns.is_multiple_of(WIDEST)).then_some(Self::InPlace)
    }
}

struct Direct<'a> {
    sizes: Sizes,
    piece: usize,
    a: Mat<'a, f32>,
    b: Mat<'a, f32>,
    c: &'a mut [f32],
}

impl Direct<'_> {
    fn run<L: Lanes<f32>>(self, lanes: L, way: Way) {
        match way {
            Way::InPlace => self.in_place(lanes),
            Way::Turned => ROOM.with_borrow_mut(|[turned, block]| self.turned(lanes, turned, block)),
            Way::Panels => ROOM.with_borrow_mut(|[panel, _]| self.panels(lanes, panel)),
        }
    }

    /// The pieces of the inner index: where each begins and how long it is.
    fn pieces(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (piece, inner) = (self.piece, self.sizes.inner);
        (0..inner).step_by(piece).map(move |from| (from, piece.min(inner - from)))
    }

    fn in_place<L: Lanes<f32>>(self, lanes: L) {
        let Sizes { rows, columns, to, onto, .. } = self.sizes;
        let (b, b_row, _) = self.b.parts();
        for (from, inner) in self.pieces() {
            let (a, a_row, a_across) = self.a.parts();
            lanes.call(Products {
                count: 1,
                rows,
                inner,
                columns,
                a: Factors { values: &a[from * a_across..], each: 0, row: a_row, across: a_across },
                b: Factors { values: &b[from * b_row..], each: 0, row: b_row, across: 2 * L::WIDTH },
                c: self.c,
                c_each: 0,
                c_row: to,
                onto: onto || from > 0,
            });
        }
    }

    fn panels<L: Lanes<f32>>(self, lanes: L, panel: &mut Vec<f32>) {
        let Sizes { rows, columns, to, onto, .. } = self.sizes;
        let wide = 2 * L::WIDTH;
        panel.resize(panel.len().max(self.piece * wide), 0.0);
        let (a, a_row, a_across) = self.a.parts();
        for first in (0..columns).step_by(wide) {
            let count = wide.min(columns - first);
            for (from, inner) in self.pieces() {
                lanes.call(Turn { from: self.b.t(), rows: (first, count), columns: (from, inner), to: panel, wide });
                lanes.call(Products {
                    count: 1,
                    rows,
                    inner,
                    columns: count,
                    a: Factors { values: &a[from * a_across..], each: 0, row: a_row, across: a_across },
                    b: Factors { values: panel, each: 0, row: wide, across: wide },
                    c: &mut self.c[first..],
                    c_each: 0,
                    c_row: to,
                    onto: onto || from > 0,
                });
            }
        }
    }

    fn turned<L: Lanes<f32>>(self, lanes: L, turned: &mut Vec<f32>, block: &mut Vec<f32>) {
        let Sizes { rows, inner: all, columns, to, onto, .. } = self.sizes;
        let wide = rows.next_multiple_of(L::WIDTH);
        turned.resize(turned.len().max(all * wide), 0.0);
        block.resize(BLOCK * FEW, 0.0);
        lanes.call(Turn { from: self.a, rows: (0, rows), columns: (0, all), to: turned, wide });
        // A row of the transposed factor is a column of `b`.
        let (b, b_row, b_column) = self.b.t().parts();
        for first in (0..columns).step_by(BLOCK) {
            let count = BLOCK.min(columns - first);
            if onto {
                for (r, c) in self.c.chunks(to).take(rows).enumerate() {
                    c[first..first + count].iter().enumerate().for_each(|(k, c)| block[k * wide + r] = *c);
                }
            }
            for (from, inner) in self.pieces() {
                lanes.call(Products {
                    count: 1,
                    rows: count,
                    inner,
                    columns: wide,
                    a: Factors { values: &b[first * b_row + from * b_column..], each: 0, row: b_row, across: b_column },
                    b: Factors { values: &turned[from * wide..], each: 0, row: wide, across: 2 * L::WIDTH },
                    c: block,
                    c_each: 0,
                    c_row: wide,
                    onto: onto || from > 0,
                });
            }
            for (r, c) in self.c.chunks_mut(to).take(rows).enumerate() {
                c[first..first + count].iter_mut().enumerate().for_each(|(k, c)| *c = block[k * wide + r]);
            }
        }
    }
}

/// Some rows of a matrix become columns: each of its columns becomes a row of `wide` numbers, zeros beyond the last.
pub(crate) struct Turn<'a, E> {
    pub(crate) from: Mat<'a, E>,
    /// The first one, and how many.
    pub(crate) rows: (usize, usize),
    pub(crate) columns: (usize, usize),
    pub(crate) to: &'a mut [E],
    pub(crate) wide: usize,
}

impl<E: Element> Kernel<E> for Turn<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes<E>>(self, lanes: L) {
        let Self { from, rows: (first, rows), columns: (left, columns), to, wide } = self;
        if rows == 0 || columns == 0 {
            return;
        }
        assert!(rows <= wide && columns.checked_mul(wide).is_some_and(|all| all <= to.len()), "what is turned has room");
        let ends = first.checked_add(rows).zip(left.checked_add(columns));
        assert!(ends.is_some_and(|(rows, columns)| from.reaches(rows, columns)), "the factors fit");
        let (values, row, across) = from.parts();
        if rows < wide {
            to.chunks_exact_mut(wide).take(columns).for_each(|to| to[rows..].fill(E::ZERO));
        }
        // Squares of eight, where the numbers of a row lie side by side.
        let (tall, broad) = if across == 1 { (rows / 8 * 8, columns / 8 * 8) } else { (0, 0) };
        for r in (0..tall).step_by(8) {
            for p in (0..broad).step_by(8) {
                // SAFETY: the matrix reaches eight rows and columns further, by the assertion, and so does the room.
                unsafe {
                    lanes.transpose(values.as_ptr().add((first + r) * row + left + p), row, to.as_mut_ptr().add(p * wide + r), wide);
                }
            }
        }
        for p in 0..columns {
            let from = if p < broad { tall } else { 0 };
            for r in from..rows {
                to[p * wide + r] = values[(first + r) * row + (left + p) * across];
            }
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::lanes::{Avx2, Avx512};

    const UNTOUCHED: f32 = 77.0;

    /// By every way that can, and with every width of vectors: the bits of one chain for each piece, and nothing written beside them.
    #[test]
    fn every_way_gives_one_chain_for_each_piece_and_touches_nothing_else() {
        let Some(eight) = Avx2::here() else { return };
        let number = |k: usize| ((k * 37 % 1009) as f32 - 504.0) / 137.0;
        for (rows, inner, columns, piece) in
            [(1, 1, 16, 1), (20, 40, 48, 40), (32, 33, 32, 11), (3, 70, 16, 32), (25, 19, 64, 7), (31, 9, 80, 9), (7, 64, 112, 33)]
        {
            let (a, b): (Vec<f32>, Vec<f32>) =
                ((0..rows * inner).map(number).collect(), (0..inner * columns).map(|v| number(v + 11)).collect());
            let turned = |from: &[f32], rows: usize, columns: usize| -> Vec<f32> {
                (0..rows * columns).map(|v| from[v % rows * columns + v / rows]).collect()
            };
            let (at, bt) = (turned(&a, rows, inner), turned(&b, inner, columns));
            let lefts = [Mat::rows(&a, inner), Mat::rows(&at, rows).t()];
            let ways = [
                (Way::InPlace, Mat::rows(&b, columns)),
                (Way::Turned, Mat::rows(&bt, inner).t()),
                (Way::Panels, Mat::rows(&bt, inner).t()),
            ];
            for (k, (way, right)) in (0..12).flat_map(|k| ways.into_iter().map(move |way| (k, way))) {
                let (left, onto, wide) = (lefts[k % 2], k / 2 % 2 == 1, k / 4);
                let to = columns + 3;
                let mut c = vec![UNTOUCHED; rows * to];
                let sizes = Sizes { rows, inner, columns, to, onto, last_first: false };
                let direct = Direct { sizes, piece, a: left, b: right, c: &mut c };
                match (wide, Avx512::here()) {
                    (1, Some(sixteen)) => direct.run(sixteen, way),
                    (1, None) => continue,
                    _ => direct.run(eight, way),
                }
                for (place, got) in c.iter().enumerate() {
                    let (row, column) = (place / to, place % to);
                    if column >= columns {
                        assert_eq!(*got, UNTOUCHED, "{way:?} {rows} x {inner} x {columns}, {k}: written beside row {row}");
                        continue;
                    }
                    let chain = |range: std::ops::Range<usize>| {
                        range.fold(0.0f32, |sum, p| a[row * inner + p].mul_add(b[p * columns + column], sum))
                    };
                    let pieces = (0..inner).step_by(piece).map(|from| chain(from..inner.min(from + piece)));
                    let expected = pieces.fold(onto.then_some(UNTOUCHED), |sum, piece| Some(sum.map_or(piece, |sum| sum + piece)));
                    let expected = expected.unwrap_or(0.0);
                    assert_eq!(
                        got.to_bits(),
                        expected.to_bits(),
                        "{way:?} {rows} x {inner} x {columns}, {k}, at {row}, {column}: {got} {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn columns_that_do_not_fill_vectors_are_turned_too() {
        let Some(lanes) = Avx2::here() else { return };
        let (a, b) = ([1.0f32; 2 * 9], (0..9 * 13).map(|k| k as f32).collect::<Vec<f32>>());
        let mut c = vec![0.0; 2 * 13];
        let sizes = Sizes { rows: 2, inner: 9, columns: 13, to: 13, onto: false, last_first: false };
        Direct { sizes, piece: 4, a: Mat::rows(&a, 9), b: Mat::rows(&b, 9).t(), c: &mut c }.run(lanes, Way::Turned);
        // Column n is the sum of 9n … 9n + 8.
        assert!((0..26).all(|k| c[k] == (81 * (k % 13) + 36) as f32), "{c:?}");
    }
}
