//! Filtering against the definition of a convolution, at every width of vectors, tile, edge and rest.

use motet_core::{Rng, Seed};

use super::passes::Filter;
use super::points::{A, Bt, G, Matrix};
use super::{Backward, Forward, Minimal, Pixels, Sizes, Slopes};
use crate::element::Element;
use crate::lanes::{Lanes, Plain};

/// What a convolution is given and what it gives, in double precision.
struct Case {
    sizes: Sizes,
    examples: usize,
    w: Vec<f64>,
    bias: Vec<f64>,
    x: Vec<f64>,
    dy: Vec<f64>,
}

/// y, dx and dw.
type Results = [Vec<f64>; 3];

fn sizes(size: usize, padding: usize, [height, width]: [usize; 2], [inputs, outputs]: [usize; 2]) -> Sizes {
    let out = |pixels: usize| pixels + 2 * padding + 1 - size;
    Sizes { size, padding, from: [height, width, inputs], to: [out(height), out(width), outputs] }
}

impl Case {
    fn new(sizes: Sizes, examples: usize, mut x: impl FnMut(&mut Rng) -> f64) -> Self {
        let mut rng = Seed(7).problem((examples + 31 * sizes.from[2] + 1009 * sizes.to[2]) as u64);
        let (from, to): (usize, usize) = (sizes.from.iter().product(), sizes.to.iter().product());
        let mut numbers = |count: usize| (0..count).map(|_| f64::from(rng.normal() as f32)).collect::<Vec<f64>>();
        let (w, bias) = (numbers(sizes.size * sizes.size * sizes.from[2] * sizes.to[2]), numbers(sizes.to[2]));
        let dy = numbers(examples * to);
        let x = (0..examples * from).map(|_| f64::from(x(&mut rng) as f32)).collect();
        Self { sizes, examples, w, bias, x, dy }
    }

    fn normal(sizes: Sizes, examples: usize) -> Self {
        Self::new(sizes, examples, |rng| rng.normal())
    }

    /// By the definition.
    fn expected(&self) -> Results {
        let Sizes { size, padding, from: [height, width, inputs], to: [down, across, outputs] } = self.sizes;
        let mut y: Vec<f64> = self.bias.iter().copied().cycle().take(self.dy.len()).collect();
        let (mut dx, mut dw) = (vec![0.0; self.x.len()], vec![0.0; self.w.len()]);
        for (e, oy, ox) in (0..self.examples * down * across).map(|k| (k / (down * across), k / across % down, k % across)) {
            for (ky, kx) in (0..size * size).map(|k| (k / size, k % size)) {
                let (iy, ix) = ((oy + ky).wrapping_sub(padding), (ox + kx).wrapping_sub(padding));
                if iy >= height || ix >= width {
                    continue;
                }
                let (to, from) = (((e * down + oy) * across + ox) * outputs, ((e * height + iy) * width + ix) * inputs);
                for (i, o) in (0..inputs * outputs).map(|k| (k / outputs, k % outputs)) {
                    let w = ((ky * size + kx) * inputs + i) * outputs + o;
                    y[to + o] += self.w[w] * self.x[from + i];
                    dx[from + i] += self.w[w] * self.dy[to + o];
                    dw[w] += self.x[from + i] * self.dy[to + o];
                }
            }
        }
        [y, dx, dw]
    }

    /// By filtering, with these vectors. Slices are exactly as long as they must be, and nothing is there before it is written.
    fn filtered<E: Element, L: Lanes<E>, const M: usize, const R: usize, const N: usize>(
        &self,
        lanes: L,
        change: impl Fn(&mut Filter<M, R, N>),
    ) -> [Vec<E>; 3]
    where
        Bt: Matrix<N, N>,
        G: Matrix<R, N>,
        A: Matrix<M, N>,
    {
        let mut filter = Filter::<M, R, N>::new(self.sizes, self.examples).unwrap();
        change(&mut filter);
        let narrow = |v: &[f64]| v.iter().map(|v| E::of(*v)).collect::<Vec<E>>();
        let nothing = |len: usize| vec![E::of(f64::NAN); len];
        let (w, bias, x, dy) = (narrow(&self.w), narrow(&self.bias), narrow(&self.x), narrow(&self.dy));
        let (mut y, mut dx, mut dw) = (nothing(dy.len()), nothing(x.len()), nothing(w.len()));
        let mut scratch = nothing(filter.scratch().known());
        filter.forward(lanes, Forward { w: &w, bias: Some(&bias), x: &x, y: &mut y, scratch: &mut scratch });
        scratch.fill(E::of(f64::NAN));
        let (x, dy, w) = (&x[..], &dy[..], &w[..]);
        filter.backward(lanes, Backward { weights: Slopes::Apart(w, &mut dw), x, dy, dx: Some(&mut dx), scratch: &mut scratch });
        // Onto what is there, and without the other slopes: twice the same, but for the order in which blocks are added.
        let once = dw.clone();
        filter.backward(lanes, Backward { weights: Slopes::Onto(w, &mut dw), x, dy, dx: None, scratch: &mut scratch });
        let largest = once.iter().fold(0.0f64, |a, b| a.max(b.wide().abs()));
        let digits = if size_of::<E>() == 4 { 2e-5 } else { 1e-13 };
        assert!(dw.iter().zip(&once).all(|(d, o)| (d.wide() - 2.0 * o.wide()).abs() <= digits * largest), "{:?}", self.sizes);
        // Onto the weights themselves, which are done with by then: slopes of the input have the same bits.
        let (mut stepped, mut again) = (w.to_vec(), nothing(x.len()));
        let weights = Slopes::Step(&mut stepped);
        filter.backward(lanes, Backward { weights, x, dy, dx: Some(&mut again), scratch: &mut scratch });
        assert_eq!(again, dx, "{:?}", self.sizes);
        let largest = once.iter().chain(w).fold(0.0f64, |a, b| a.max(b.wide().abs()));
        let there = |((s, w), o): ((&E, &E), &E)| (s.wide() - w.wide() - o.wide()).abs() <= digits * largest;
        assert!(stepped.iter().zip(w).zip(&once).all(there), "{:?}", self.sizes);
        [y, dx, once]
    }

    /// The largest error over the largest number, of each of the three.
    fn errors<E: Element>(&self, expected: &Results, got: &[Vec<E>; 3]) -> [f64; 3] {
        std::array::from_fn(|k| {
            let largest = expected[k].iter().fold(0.0f64, |a, b| a.max(b.abs())).max(f64::MIN_POSITIVE);
            let worst = expected[k].iter().zip(&got[k]).map(|(a, b)| (a - b.wide()).abs());
            // NaN is no error below anything.
            worst.fold(0.0f64, |a, b| if b <= a { a } else { b }) / largest
        })
    }

    /// Every tile that fits the kernel, with every width; gives the largest error of single precision.
    fn check(&self) -> f64 {
        if self.sizes.size == 3 {
            self.check_tile::<2, 3, 4>().max(self.check_tile::<4, 3, 6>())
        } else {
            self.check_tile::<2, 5, 6>().max(self.check_tile::<4, 5, 8>())
        }
    }

    fn check_tile<const M: usize, const R: usize, const N: usize>(&self) -> f64
    where
        Bt: Matrix<N, N>,
        G: Matrix<R, N>,
        A: Matrix<M, N>,
    {
        let expected = self.expected();
        let mut worst = 0.0f64;
        let mut note = |errors: [f64; 3], limit: f64, about: &str| {
            assert!(errors.iter().all(|e| *e < limit), "{about}: F({M}, {R}), {:?} x {}: {errors:?}", self.sizes, self.examples);
            worst = errors.iter().fold(worst, |a, b| if limit > 1e-9 { a.max(*b) } else { a });
        };
        // All tiles at once, weights that are made as they are used, and few tiles at a time.
        for (kept, block) in [(true, 36), (false, 36), (false, 3)] {
            let change = |filter: &mut Filter<M, R, N>| (filter.kept, filter.block) = (kept, block);
            note(self.errors(&expected, &self.filtered::<f64, _, M, R, N>(Plain, change)), 1e-12, "double precision");
            let plain = self.filtered::<f32, _, M, R, N>(Plain, change);
            note(self.errors(&expected, &plain), 2e-5, "plain");
            #[cfg(target_arch = "x86_64")]
            if let Some(avx2) = crate::lanes::Avx2::here() {
                let eight = self.filtered::<f32, _, M, R, N>(avx2, change);
                note(self.errors(&expected, &eight), 2e-5, "AVX2");
                if let Some(avx512) = crate::lanes::Avx512::here() {
                    assert_eq!(eight, self.filtered::<f32, _, M, R, N>(avx512, change), "sixteen lanes have the bits of eight");
                }
            }
        }
        worst
    }
}

#[test]
fn filtering_is_a_convolution_whatever_the_shape() {
    for (size, padding, image, channels, examples) in [
        (3, 1, [1, 1], [1, 1], 1),
        (3, 1, [5, 4], [8, 16], 2),
        (3, 0, [6, 3], [17, 5], 1),
        (3, 4, [2, 3], [9, 33], 2),
        (3, 1, [9, 9], [32, 24], 3),
        (3, 1, [4, 4], [40, 130], 5),
        (5, 2, [7, 7], [8, 8], 2),
        (5, 0, [5, 9], [3, 20], 2),
        (5, 2, [14, 14], [32, 64], 1),
        (5, 3, [1, 6], [16, 31], 3),
    ] {
        Case::normal(sizes(size, padding, image, channels), examples).check();
    }
}

#[test]
fn errors_stay_below_a_fifty_thousandth_of_the_largest_number() {
    for (size, image, channels) in [(3, [16, 16], [64, 32]), (3, [4, 4], [512, 16]), (5, [14, 14], [32, 64])] {
        let sizes = sizes(size, size / 2, image, channels);
        let bad: [(&str, fn(&mut Rng) -> f64); 5] = [
            ("normal", |rng| rng.normal()),
            ("a large mean, a tiny variance", |rng| 1000.0 + 1e-3 * rng.normal()),
            ("mostly zeros", |rng| if rng.unit() < 0.95 { 0.0 } else { rng.normal() }),
            ("very different sizes", |rng| rng.normal() * 10f64.powf(6.0 * rng.unit() - 3.0)),
            ("as after a ReLU", |rng| rng.normal().max(0.0)),
        ];
        for (about, number) in bad {
            let worst = Case::new(sizes, 2, number).check();
            println!("{about}: {sizes:?}: {worst:.1e}");
        }
    }
}

#[test]
fn a_field_of_zeros_gives_zeros_and_an_infinity_stays_in_its_tiles() {
    let sizes = sizes(3, 1, [12, 12], [16, 16]);
    let mut case = Case::new(sizes, 1, |_| 0.0);
    case.bias.fill(0.0);
    let [y, dx, dw] = case.filtered::<f32, _, 4, 3, 6>(Plain, |_| ());
    assert!(y.iter().chain(&dw).all(|v| *v == 0.0) && dx.iter().any(|v| *v != 0.0));
    // One pixel at the far corner: its tile is spoilt, and those that overlap it.
    let last = case.x.len() - 1;
    case.x[last] = f64::INFINITY;
    let [y, _, _] = case.filtered_forward();
    let spoilt = |row: usize, column: usize| !y[(row * 12 + column) * 16].is_finite();
    assert!(spoilt(11, 11) && spoilt(8, 8) && !spoilt(0, 0) && !spoilt(6, 6) && !spoilt(6, 11));
}

impl Case {
    /// Forward only, where slopes are not finite.
    fn filtered_forward(&self) -> [Vec<f32>; 3] {
        let filter = Filter::<4, 3, 6>::new(self.sizes, self.examples).unwrap();
        let narrow = |v: &[f64]| v.iter().map(|v| *v as f32).collect::<Vec<f32>>();
        let (w, x, mut y) = (narrow(&self.w), narrow(&self.x), vec![f32::NAN; self.dy.len()]);
        let mut scratch = vec![f32::NAN; filter.scratch().known()];
        filter.forward(Plain, Forward { w: &w, bias: None, x: &x, y: &mut y, scratch: &mut scratch });
        [y, vec![], vec![]]
    }
}

#[test]
fn the_choice_follows_from_the_sizes() {
    let tile = |size, padding, image, channels| Minimal::of(sizes(size, padding, image, channels)).map(|minimal| minimal.tile);
    assert_eq!(tile(3, 1, [32, 32], [64, 64]), Some(Pixels::Four));
    assert_eq!(tile(5, 2, [14, 14], [32, 64]), Some(Pixels::Four));
    // Two pixels a side leave nothing for tiles of four.
    assert_eq!(tile(3, 1, [2, 2], [512, 512]), Some(Pixels::Two));
    assert_eq!(tile(3, 1, [6, 6], [64, 64]), Some(Pixels::Two));
    // Few channels, other kernels, and images of one pixel stay with the definition.
    assert_eq!(tile(5, 2, [28, 28], [1, 32]), None);
    assert_eq!(tile(1, 0, [32, 32], [64, 64]), None);
    assert_eq!(tile(7, 3, [32, 32], [64, 64]), None);
    assert_eq!(tile(3, 1, [1, 1], [64, 64]), None);
    // What nobody can count is not filtered.
    let huge = Sizes { size: 3, padding: 1, from: [4, 4, 1 << 52], to: [4, 4, 8] };
    assert_eq!(Minimal::of(huge), None);
}

#[test]
#[should_panic(expected = "the images are whole")]
fn a_slice_too_short_is_refused_before_the_first_number() {
    let case = Case::normal(sizes(3, 1, [4, 4], [8, 8]), 1);
    let minimal = Minimal::of(case.sizes).unwrap();
    let (mut y, mut scratch) = (vec![0.0; case.dy.len()], vec![0.0; minimal.scratch(1).known()]);
    minimal.forward(1, Forward { w: &case.w, bias: None, x: &case.x[1..], y: &mut y, scratch: &mut scratch });
}
