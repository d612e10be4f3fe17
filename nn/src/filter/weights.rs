//! Weights to points, and slopes at the points back to weights. One of the few files of this crate with `unsafe` code.
#![allow(unsafe_code, clippy::needless_range_loop)]

use super::points::{G, Matrix};
use super::transform::{gather, spread};
use crate::count::Count;
use crate::element::Element;
use crate::lanes::{Kernel, Lanes, WIDEST};

/// Numbers in a row of a panel: two vectors, of whatever width.
pub(super) const WIDE: usize = 2 * WIDEST;
/// Rows that are turned together.
const TURNED: usize = 8;

/// Kernels of R × R numbers, row, column, input, output.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernels {
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    /// Are inputs the columns and outputs the rows, as slopes go through them?
    pub(super) turned: bool,
}

impl Kernels {
    pub(super) fn rows(&self) -> usize {
        if self.turned { self.outputs } else { self.inputs }
    }

    pub(super) fn columns(&self) -> usize {
        if self.turned { self.inputs } else { self.outputs }
    }

    fn check(&self, size: usize, weights: usize) {
        assert_eq!(Count::product(&[size, size, self.inputs, self.outputs]).get(), Some(weights), "the weights are whole");
    }
}

/// panel ← G w Gᵀ of the columns from `first` on, as many as a panel has: point, row, column. What is beyond the last column is 0.
#[derive(Debug)]
pub(super) struct Panel<'a, E, const R: usize, const N: usize> {
    pub(super) kernels: Kernels,
    pub(super) weights: &'a [E],
    pub(super) first: usize,
    pub(super) panel: &'a mut [E],
    /// From one point to the next.
    pub(super) point: usize,
}

impl<E: Element, const R: usize, const N: usize> Kernel<E> for Panel<'_, E, R, N>
where
    G: Matrix<R, N>,
{
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes<E>>(self, lanes: L) {
        let (Kernels { inputs, outputs, turned }, rows, columns) = (self.kernels, self.kernels.rows(), self.kernels.columns());
        let wide = 2 * L::WIDTH;
        self.kernels.check(R, self.weights.len());
        assert!(self.first < columns && rows > 0, "there are such columns");
        let end = Count::of(N * N - 1) * self.point + Count::of(rows) * wide;
        assert!(end.get().is_some_and(|end| end <= self.panel.len()), "the panel has room");
        // Those of all rows lie in the weights side by side, unless they are turned or are the last few.
        let there = wide.min(columns - self.first);
        let direct = !turned && there == wide;
        let mut part = [[[[E::ZERO; WIDE]; TURNED]; R]; R];
        for top in (0..rows).step_by(TURNED) {
            let high = TURNED.min(rows - top);
            for (i, j) in (0..R * R).map(|k| (k / R, k % R)).filter(|_| !direct) {
                let kernel = &self.weights[(i * R + j) * inputs * outputs..][..inputs * outputs];
                let part = &mut part[i][j];
                if !turned {
                    for r in 0..high {
                        part[r][..there].copy_from_slice(&kernel[(top + r) * outputs + self.first..][..there]);
                    }
                    continue;
                }
                for left in (0..there).step_by(TURNED) {
                    let from = &kernel[(self.first + left) * outputs + top..];
                    if high == TURNED && there - left >= TURNED {
                        // SAFETY: eight inputs from this one on have eight outputs from this one on, `outputs` apart; the part has
                        // eight rows of a panel, of which `left` and the seven after it are some.
                        unsafe { lanes.transpose(from.as_ptr(), outputs, part.as_mut_ptr().cast::<E>().add(left), WIDE) };
                    } else {
                        for (r, c) in (0..high).flat_map(|r| (0..TURNED.min(there - left)).map(move |c| (r, c))) {
                            part[r][left + c] = from[c * outputs + r];
                        }
                    }
                }
            }
            for r in 0..high {
                let mut from = [[std::ptr::null(); R]; R];
                for (i, j) in (0..R * R).map(|k| (k / R, k % R)) {
                    from[i][j] = match direct {
                        true => self.weights[((i * R + j) * inputs + top + r) * outputs + self.first..][..wide].as_ptr(),
                        false => part[i][j][r].as_ptr(),
                    };
                }
                for v in [0, L::WIDTH] {
                    // SAFETY: a panel's row is there in either case, and the panel has room, as was seen.
                    unsafe {
                        let to = self.panel.as_mut_ptr().add((top + r) * wide + v);
                        spread::<E, L, G, R, N>(lanes, &from, v, to, self.point);
                    }
                }
            }
        }
    }
}

/// slopes ← or += Gᵀ points G for the columns from `first` on, as many as the points have.
#[derive(Debug)]
pub(super) struct ToWeights<'a, E, const R: usize, const N: usize> {
    pub(super) kernels: Kernels,
    pub(super) first: usize,
    pub(super) columns: usize,
    /// Point, row, column.
    pub(super) points: &'a [E],
    /// From one point to the next, and from one row to the next.
    pub(super) point: usize,
    pub(super) row: usize,
    pub(super) onto: bool,
    pub(super) slopes: &'a mut [E],
}

impl<E: Element, const R: usize, const N: usize> Kernel<E> for ToWeights<'_, E, R, N>
where
    G: Matrix<R, N>,
{
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes<E>>(self, lanes: L) {
        let Kernels { inputs, outputs, .. } = self.kernels;
        self.kernels.check(R, self.slopes.len());
        assert!(inputs > 0 && self.first < outputs && self.columns <= outputs - self.first, "there are such columns");
        let wide = self.columns.next_multiple_of(L::WIDTH);
        let end = Count::of(N * N - 1) * self.point + Count::of(inputs - 1) * self.row + wide;
        assert!(self.row >= wide && end.get().is_some_and(|end| end <= self.points.len()), "the points fit");
        let zeros = [E::ZERO; WIDEST];
        for row in 0..inputs {
            for c in (0..self.columns).step_by(L::WIDTH) {
                let there = L::WIDTH.min(self.columns - c);
                // SAFETY: the last vector of the last row was seen to be there.
                let from = (unsafe { self.points.as_ptr().add(row * self.row + c) }, self.point);
                let place = |i: usize, j: usize| ((i * R + j) * inputs + row) * outputs + self.first + c;
                let bias = (!self.onto).then_some(zeros.as_ptr());
                let mut to = [[std::ptr::null_mut(); R]; R];
                if there == L::WIDTH {
                    for (i, j) in (0..R * R).map(|k| (k / R, k % R)) {
                        to[i][j] = self.slopes[place(i, j)..][..L::WIDTH].as_mut_ptr();
                    }
                    // SAFETY: a vector is at each of these places, which lie apart, and the zeros are the widest one.
                    unsafe { gather::<E, L, G, R, N>(lanes, from, &to, 0, bias) };
                    continue;
                }
                let mut part = [[[E::ZERO; WIDEST]; R]; R];
                for (i, j) in (0..R * R).map(|k| (k / R, k % R)) {
                    to[i][j] = part[i][j].as_mut_ptr();
                }
                // SAFETY: each part has room for the widest vector.
                unsafe { gather::<E, L, G, R, N>(lanes, from, &to, 0, Some(zeros.as_ptr())) };
                for (i, j) in (0..R * R).map(|k| (k / R, k % R)) {
                    for (to, from) in self.slopes[place(i, j)..][..there].iter_mut().zip(part[i][j]) {
                        *to = if self.onto { *to + from } else { from };
                    }
                }
            }
        }
    }
}
