//! A convolution's two passes by F(M × M, R × R): transform some tiles, multiply at every point, transform back.

use std::marker::PhantomData;

use super::points::{A, Bt, G, Matrix};
use super::tiles::{Gather, Grid, Lay, Spread};
use super::weights::{Kernels, Panel, ToWeights, WIDE};
use super::{Backward, Forward, Sizes, Slopes};
use crate::count::Count;
use crate::element::Element;
use crate::lanes::{Lanes, WIDEST};
use crate::products::{Factors, Products};

/// Tiles of a block where all weights stay at the points: what lies between the transforms stays in the second cache.
const BLOCK: usize = 36;
/// Weights at the points that are more numbers than this are made as they are used, a panel at a time, and forgotten.
const KEPT: usize = 1 << 20;
/// Numbers at the points of a block whose weights are made as they are used; the fewer blocks, the less often that happens.
const ROOM: usize = 1 << 21;
/// Numbers between places that would otherwise fall into the same few sets of a cache: one line.
const LINE: usize = 16;

/// Tiles of N × N that overlap make M × M pixels each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filter<const M: usize, const R: usize, const N: usize> {
    sizes: Sizes,
    examples: usize,
    tiles: usize,
    /// Tiles that are transformed together.
    pub(super) block: usize,
    /// Do the weights of all columns stay at the points while the blocks pass by?
    pub(super) kept: bool,
}

/// What a pass needs for a moment, in numbers.
struct Rooms {
    /// Weights at the points.
    weights: Count,
    /// Their slopes at the points.
    slopes: Count,
    /// Tiles of what comes in and of what goes out, at the points.
    inputs: Count,
    outputs: Count,
    /// A row of channels: one of zeros, one of biases, one for what falls outside.
    row: Count,
}

/// The same as slices.
struct Room<'a, E> {
    weights: &'a mut [E],
    slopes: &'a mut [E],
    inputs: &'a mut [E],
    outputs: &'a mut [E],
    zeros: &'a mut [E],
    bias: &'a mut [E],
    outside: &'a mut [E],
}

impl<const M: usize, const R: usize, const N: usize> Filter<M, R, N>
where
    Bt: Matrix<N, N>,
    G: Matrix<R, N>,
    A: Matrix<M, N>,
{
    const POINTS: usize = N * N;

    /// For so many examples; `None` if their tiles cannot be counted.
    pub(super) fn new(sizes: Sizes, examples: usize) -> Option<Self> {
        let [inputs, outputs] = [sizes.from[2], sizes.to[2]];
        let tiles = (Count::of(examples) * sizes.to[0].div_ceil(M) * sizes.to[1].div_ceil(M)).get()?;
        let kept = Count::product(&[Self::POINTS, inputs, outputs]).get()? <= KEPT;
        let many = Count::of(inputs) + outputs;
        let block = if kept { BLOCK } else { (ROOM / (many * Self::POINTS).get()?.max(1)).max(BLOCK) };
        // No room or stride below is larger than this.
        ((many + 4 * WIDE) * Self::POINTS * block.max(2 * WIDE)).get()?;
        Some(Self { sizes, examples, tiles, block: block.min(tiles).max(1), kept })
    }

    fn rooms(&self) -> Rooms {
        let [inputs, outputs] = [self.sizes.from[2], self.sizes.to[2]];
        let point = |channels: usize| Self::lay(self.block, channels).point;
        let panels = |rows: usize, columns: usize| {
            let panels = if self.kept { columns.div_ceil(WIDE / 2) } else { 1 };
            Count::of(Self::panel_point(rows, WIDE)) * Self::POINTS * panels.div_ceil(2) + Self::POINTS * LINE * panels
        };
        let slopes = Count::of(inputs) * self.slopes_row(WIDE) + LINE;
        Rooms {
            weights: panels(inputs, outputs).max(panels(outputs, inputs)),
            slopes: slopes * Self::POINTS,
            inputs: Count::of(point(inputs)) * Self::POINTS,
            outputs: Count::of(point(outputs)) * Self::POINTS,
            row: Count::of(inputs.max(outputs).next_multiple_of(WIDEST)),
        }
    }

    /// Numbers a pass needs for a moment.
    pub(super) fn scratch(&self) -> Count {
        let rooms = self.rooms();
        rooms.weights + rooms.slopes + rooms.inputs + rooms.outputs + rooms.row * 3
    }

    fn room<'a, E: Element>(&self, scratch: &'a mut [E]) -> Room<'a, E> {
        let rooms = self.rooms();
        let mut rest = scratch;
        let mut take = |count: Count| rest.split_off_mut(..count.known()).expect("scratch was measured for these examples");
        let [weights, slopes, inputs, outputs] = [rooms.weights, rooms.slopes, rooms.inputs, rooms.outputs].map(&mut take);
        let [zeros, bias, outside] = [rooms.row; 3].map(&mut take);
        zeros.fill(E::ZERO);
        Room { weights, slopes, inputs, outputs, zeros, bias, outside }
    }

    /// Of so many tiles at the points.
    fn lay(tiles: usize, channels: usize) -> Lay {
        let wide = channels.next_multiple_of(WIDEST);
        let tile = if wide.is_multiple_of(128) { wide + LINE } else { wide };
        Lay { point: tiles * tile + LINE, tile }
    }

    /// From one point of a panel to the next, of so many rows of so many numbers.
    fn panel_point(rows: usize, wide: usize) -> usize {
        rows * wide + LINE
    }

    /// From one row of slopes at a point to the next.
    fn slopes_row(&self, wide: usize) -> usize {
        if self.kept { Self::lay(1, self.sizes.to[2]).tile } else { wide }
    }

    fn pixels_in(&self) -> Grid {
        let [height, width, channels] = self.sizes.from;
        Grid { height, width, channels, padding: self.sizes.padding, ..self.pixels_out() }
    }

    fn pixels_out(&self) -> Grid {
        let [height, width, channels] = self.sizes.to;
        let tiles = [height.div_ceil(M), width.div_ceil(M)];
        Grid { examples: self.examples, height, width, channels, tiles, stride: M, padding: 0 }
    }

    fn kernels(&self, turned: bool) -> Kernels {
        Kernels { inputs: self.sizes.from[2], outputs: self.sizes.to[2], turned }
    }

    /// to ← from·weights at every point, for `count` tiles; `anew` where the weights are not at their points yet.
    fn products<E: Element, L: Lanes<E>>(
        &self,
        lanes: L,
        kernels: Kernels,
        (count, anew): (usize, bool),
        w: &[E],
        (from, to): (&[E], &mut [E]),
        room: &mut [E],
    ) {
        let (rows, columns, wide) = (kernels.rows(), kernels.columns(), 2 * L::WIDTH);
        let ([a, c], point) = ([rows, columns].map(|n| Self::lay(self.block, n)), Self::panel_point(rows, wide));
        let all = columns.next_multiple_of(L::WIDTH);
        let left = Factors { values: from, each: a.point, row: a.tile, across: 1 };
        let make = |first: usize, panel: &mut [E]| {
            lanes.call(Panel::<E, R, N> { kernels, weights: w, first, panel, point });
        };
        let mut multiply = |first: usize, columns: usize, panels: &[E]| {
            let b = Factors { values: panels, each: point, row: wide, across: Self::POINTS * point };
            let c_values = &mut to[first..];
            let (count, rows, inner) = (Self::POINTS, count, rows);
            lanes.call(Products { count, rows, inner, columns, a: left, b, c: c_values, c_each: c.point, c_row: c.tile, onto: false });
        };
        if self.kept {
            for (k, panel) in room.chunks_mut(Self::POINTS * point).take(columns.div_ceil(wide)).enumerate().filter(|_| anew) {
                make(k * wide, panel);
            }
            return multiply(0, all, room);
        }
        for first in (0..columns).step_by(wide) {
            make(first, room);
            multiply(first, wide.min(all - first), room);
        }
    }

    /// y = x ∗ w + bias
    pub(super) fn forward<E: Element, L: Lanes<E>>(&self, lanes: L, pass: Forward<'_, E>) {
        let Forward { w, bias, x, y, scratch } = pass;
        let room = self.room(scratch);
        let (grid_in, grid_out) = (self.pixels_in(), self.pixels_out());
        let (lay_in, lay_out) = (Self::lay(self.block, grid_in.channels), Self::lay(self.block, grid_out.channels));
        room.bias.fill(E::ZERO);
        if let Some(bias) = bias {
            room.bias[..bias.len()].copy_from_slice(bias);
        }
        for first in (0..self.tiles).step_by(self.block) {
            let tiles = first..self.tiles.min(first + self.block);
            lanes.call(Spread::<E, Bt, N, N> {
                grid: grid_in,
                tiles: tiles.clone(),
                images: x,
                outside: room.zeros,
                points: room.inputs,
                lay: lay_in,
                matrix: PhantomData,
            });
            let (kernels, anew) = (self.kernels(false), first == 0);
            self.products(lanes, kernels, (tiles.len(), anew), w, (&*room.inputs, &mut *room.outputs), room.weights);
            lanes.call(Gather::<E, A, M, N> {
                grid: grid_out,
                tiles,
                points: room.outputs,
                lay: lay_out,
                bias: Some(room.bias),
                outside: room.outside,
                images: y,
                matrix: PhantomData,
            });
        }
    }

    /// Both gradients, by the transposes of what `forward` does: slopes are transformed once, for both. Where weights that are made
    /// block by block are stepped on, all of the one comes before the other.
    pub(super) fn backward<E: Element, L: Lanes<E>>(&self, lanes: L, pass: Backward<'_, E>) {
        let Backward { mut weights, x, dy, mut dx, scratch } = pass;
        let room = self.room(scratch);
        let (grid_in, grid_out) = (self.pixels_in(), self.pixels_out());
        let (lay_in, lay_out) = (Self::lay(self.block, grid_in.channels), Self::lay(self.block, grid_out.channels));
        let onto = !matches!(weights, Slopes::Apart(..));
        let wanted = dx.is_some();
        if let Some(dx) = &mut dx {
            dx.fill(E::ZERO);
        }
        let moves_early = matches!(weights, Slopes::Step(_)) && !self.kept && self.tiles > self.block && wanted;
        let rounds: &[(bool, bool)] = if moves_early { &[(true, false), (false, true)] } else { &[(true, true)] };
        for (&(of_input, of_weights), first) in
            rounds.iter().flat_map(|round| (0..self.tiles).step_by(self.block).map(move |first| (round, first)))
        {
            let tiles = first..self.tiles.min(first + self.block);
            lanes.call(Spread::<E, A, M, N> {
                grid: grid_out,
                tiles: tiles.clone(),
                images: dy,
                outside: room.zeros,
                points: room.outputs,
                lay: lay_out,
                matrix: PhantomData,
            });
            if let Some(dx) = dx.as_mut().filter(|_| of_input) {
                let (kernels, anew) = (self.kernels(true), first == 0);
                let flow = (&*room.outputs, &mut *room.inputs);
                self.products(lanes, kernels, (tiles.len(), anew), weights.weights(), flow, room.weights);
                lanes.call(Gather::<E, Bt, N, N> {
                    grid: grid_in,
                    tiles: tiles.clone(),
                    points: room.inputs,
                    lay: lay_in,
                    bias: None,
                    outside: room.outside,
                    images: dx,
                    matrix: PhantomData,
                });
            }
            if !of_weights {
                continue;
            }
            lanes.call(Spread::<E, Bt, N, N> {
                grid: grid_in,
                tiles: tiles.clone(),
                images: x,
                outside: room.zeros,
                points: room.inputs,
                lay: lay_in,
                matrix: PhantomData,
            });
            let (is_first, is_last) = (first == 0, tiles.end == self.tiles);
            let points = (&*room.inputs, &*room.outputs);
            self.slopes(lanes, (tiles.len(), is_first, is_last), points, onto, room.slopes, weights.slopes());
        }
    }

    /// Slopes of the weights from the tiles of a block: F(R × R, M × M).
    fn slopes<E: Element, L: Lanes<E>>(
        &self,
        lanes: L,
        (count, is_first, is_last): (usize, bool, bool),
        (x, dy): (&[E], &[E]),
        onto: bool,
        room: &mut [E],
        dw: &mut [E],
    ) {
        let (kernels, wide) = (self.kernels(false), 2 * L::WIDTH);
        let [lay_in, lay_out] = [kernels.inputs, kernels.outputs].map(|n| Self::lay(self.block, n));
        let (row, all) = (self.slopes_row(wide), kernels.outputs.next_multiple_of(L::WIDTH));
        let point = kernels.inputs * row + LINE;
        // All columns, over all blocks; or a panel of them, and back to weights at once.
        let step = if self.kept { all } else { wide };
        for first in (0..kernels.outputs).step_by(step) {
            lanes.call(Products {
                count: Self::POINTS,
                rows: kernels.inputs,
                inner: count,
                columns: step.min(all - first),
                a: Factors { values: x, each: lay_in.point, row: 1, across: lay_in.tile },
                b: Factors { values: &dy[first..], each: lay_out.point, row: lay_out.tile, across: wide },
                c: &mut *room,
                c_each: point,
                c_row: row,
                onto: self.kept && !is_first,
            });
            if is_last || !self.kept {
                let (columns, onto) = (step.min(kernels.outputs - first), onto || !(self.kept || is_first));
                lanes.call(ToWeights::<E, R, N> { kernels, first, columns, points: &*room, point, row, onto, slopes: &mut *dw });
            }
        }
    }
}
