//! Tiles of images to points and back, block by block. One of the few files of this crate with `unsafe` code.
#![allow(unsafe_code, clippy::needless_range_loop)]

use std::marker::PhantomData;
use std::ops::Range;

use super::points::Matrix;
use super::transform::{gather, spread};
use crate::count::Count;
use crate::element::Element;
use crate::lanes::{Kernel, Lanes, WIDEST};

/// Images of height × width × channels, in tiles that begin every `stride` pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    pub(super) examples: usize,
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) channels: usize,
    /// Tiles of one image, from top to bottom and from left to right.
    pub(super) tiles: [usize; 2],
    pub(super) stride: usize,
    /// Pixels that the first tile begins outside of the image.
    pub(super) padding: usize,
}

/// Where points of tiles lie: point, tile, channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lay {
    /// From one point to the next.
    pub(super) point: usize,
    /// From one tile to the next; channels are filled up to whole vectors.
    pub(super) tile: usize,
}

impl Grid {
    /// Panics unless so many numbers are the images, and the tiles are some of theirs.
    fn check(&self, images: usize, tiles: &Range<usize>, outside: usize, (lay, points, len): (Lay, usize, usize)) {
        let all = Count::product(&[self.examples, self.height, self.width, self.channels]);
        assert_eq!(all.get(), Some(images), "the images are whole");
        let count = Count::product(&[self.examples, self.tiles[0], self.tiles[1]]).known();
        assert!(tiles.start < tiles.end && tiles.end <= count, "there are such tiles");
        let wide = self.channels.next_multiple_of(WIDEST);
        assert!(outside >= wide && lay.tile >= wide, "channels are filled up");
        let end = Count::of(points - 1) * lay.point + Count::of(tiles.len() - 1) * lay.tile + wide;
        assert!(end.get().is_some_and(|end| end <= len), "the points have room");
    }

    /// Calls with the place of each pixel of an I × I tile, if it lies within its image.
    #[inline(always)]
    fn pixels<const I: usize>(&self, tile: usize, mut each: impl FnMut(usize, usize, Option<usize>)) {
        let [down, across] = self.tiles;
        let (example, ty, tx) = (tile / (down * across), tile / across % down, tile % across);
        let (top, left) = ((ty * self.stride).wrapping_sub(self.padding), (tx * self.stride).wrapping_sub(self.padding));
        for i in 0..I {
            let y = top.wrapping_add(i);
            let row = (example * self.height).wrapping_add(y).wrapping_mul(self.width);
            for j in 0..I {
                let x = left.wrapping_add(j);
                let inside = y < self.height && x < self.width;
                each(i, j, inside.then(|| row.wrapping_add(x).wrapping_mul(self.channels)));
            }
        }
    }
}

/// points ← C x Cᵀ of some tiles.
#[derive(Debug)]
pub(super) struct Spread<'a, E, C, const I: usize, const N: usize> {
    pub(super) grid: Grid,
    pub(super) tiles: Range<usize>,
    pub(super) images: &'a [E],
    /// Zeros, for pixels outside.
    pub(super) outside: &'a [E],
    pub(super) points: &'a mut [E],
    pub(super) lay: Lay,
    pub(super) matrix: PhantomData<C>,
}

impl<E: Element, C: Matrix<I, N>, const I: usize, const N: usize> Kernel<E> for Spread<'_, E, C, I, N> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes<E>>(self, lanes: L) {
        let (grid, lay) = (self.grid, self.lay);
        grid.check(self.images.len(), &self.tiles, self.outside.len(), (lay, N * N, self.points.len()));
        let whole = grid.channels - grid.channels % L::WIDTH;
        for t in 0..self.tiles.len() {
            let mut from = [[self.outside.as_ptr(); I]; I];
            grid.pixels::<I>(self.tiles.start + t, |i, j, place| {
                if let Some(place) = place {
                    from[i][j] = self.images[place..].as_ptr();
                }
            });
            for c in (0..whole).step_by(L::WIDTH) {
                // SAFETY: a pixel has `channels` numbers, of which these are some, and so have the zeros; `check` has seen that the
                // points have room for whole vectors of channels of every tile.
                unsafe {
                    let to = self.points.as_mut_ptr().add(t * lay.tile + c);
                    spread::<E, L, C, I, N>(lanes, &from, c, to, lay.point);
                }
            }
            if whole < grid.channels {
                let mut part = [[[E::ZERO; WIDEST]; I]; I];
                let mut near = [[std::ptr::null(); I]; I];
                for (i, j) in (0..I * I).map(|k| (k / I, k % I)) {
                    // SAFETY: fewer numbers than a vector has, up to the last one of the pixel.
                    let rest = unsafe { std::slice::from_raw_parts(from[i][j].add(whole), grid.channels - whole) };
                    part[i][j][..rest.len()].copy_from_slice(rest);
                    near[i][j] = part[i][j].as_ptr();
                }
                // SAFETY: each part has the numbers of the widest vector; the points as above.
                unsafe { spread::<E, L, C, I, N>(lanes, &near, 0, self.points.as_mut_ptr().add(t * lay.tile + whole), lay.point) };
            }
        }
    }
}

/// images ← or += Cᵀ points C of some tiles.
#[derive(Debug)]
pub(super) struct Gather<'a, E, C, const I: usize, const N: usize> {
    pub(super) grid: Grid,
    pub(super) tiles: Range<usize>,
    pub(super) points: &'a [E],
    pub(super) lay: Lay,
    /// What the pixels of each channel are added to; if there is none, to what is there.
    pub(super) bias: Option<&'a [E]>,
    /// Room for what falls outside of the image.
    pub(super) outside: &'a mut [E],
    pub(super) images: &'a mut [E],
    pub(super) matrix: PhantomData<C>,
}

impl<E: Element, C: Matrix<I, N>, const I: usize, const N: usize> Kernel<E> for Gather<'_, E, C, I, N> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes<E>>(self, lanes: L) {
        let (grid, lay) = (self.grid, self.lay);
        grid.check(self.images.len(), &self.tiles, self.outside.len(), (lay, N * N, self.points.len()));
        assert!(self.bias.is_none_or(|bias| bias.len() >= grid.channels.next_multiple_of(WIDEST)), "the bias is filled up");
        let whole = grid.channels - grid.channels % L::WIDTH;
        let (outside, images) = (self.outside.as_mut_ptr(), self.images.as_mut_ptr());
        for t in 0..self.tiles.len() {
            let mut to = [[outside; I]; I];
            grid.pixels::<I>(self.tiles.start + t, |i, j, place| {
                if let Some(place) = place {
                    // SAFETY: a place inside of the image is that of a pixel's first number, and `check` has seen all images.
                    to[i][j] = unsafe { images.add(place) };
                }
            });
            for c in (0..whole).step_by(L::WIDTH) {
                // SAFETY: a pixel has `channels` numbers, of which these are some, and so has the room outside; points and bias are
                // whole vectors, as was seen. Tiles overlap in images and in the room outside, and are written one after another.
                unsafe {
                    let bias = self.bias.map(|bias| bias.as_ptr().add(c));
                    gather::<E, L, C, I, N>(lanes, (self.points.as_ptr().add(t * lay.tile + c), lay.point), &to, c, bias);
                }
            }
            if whole < grid.channels {
                let mut part = [[[E::ZERO; WIDEST]; I]; I];
                let mut near = [[std::ptr::null_mut(); I]; I];
                for (i, j) in (0..I * I).map(|k| (k / I, k % I)) {
                    near[i][j] = part[i][j].as_mut_ptr();
                }
                // SAFETY: each part has room for the widest vector; points and bias as above.
                unsafe {
                    let bias = self.bias.map(|bias| bias.as_ptr().add(whole));
                    gather::<E, L, C, I, N>(lanes, (self.points.as_ptr().add(t * lay.tile + whole), lay.point), &near, 0, bias);
                }
                for (i, j) in (0..I * I).map(|k| (k / I, k % I)) {
                    // SAFETY: fewer numbers than a vector has, up to the last one of the pixel.
                    let rest = unsafe { std::slice::from_raw_parts_mut(to[i][j].add(whole), grid.channels - whole) };
                    for (to, from) in rest.iter_mut().zip(part[i][j]) {
                        *to = if self.bias.is_some() { from } else { *to + from };
                    }
                }
            }
        }
    }
}
