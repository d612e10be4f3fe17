//! Products with every size and stride that a caller can name, extreme ones among them: what does not fit is refused with our
//! own words, before a number is read, and what fits is the product and touches nothing beside it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::prelude::*;

use crate::element::Element;
use crate::matrix::{Mat, matmul_into};
use crate::panels::{self, Sizes};

/// What the numbers beside a result must stay.
const UNTOUCHED: f64 = 77.0;

/// Sizes and strides: mostly small, sometimes such that products and sums of them wrap.
fn size() -> impl Strategy<Value = usize> {
    let extreme = prop::sample::select(vec![
        usize::MAX,
        usize::MAX - 1,
        usize::MAX - 7,
        usize::MAX / 2,
        usize::MAX / 2 + 1,
        usize::MAX / 3 + 1,
        1 << 32,
        (1 << 62) + 1,
    ]);
    prop_oneof![2 => 0usize..=1, 8 => 1usize..20, 1 => extreme]
}

/// A matrix as its maker describes it.
#[derive(Clone, Debug)]
struct Drawn {
    len: usize,
    stride: usize,
    turned: bool,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    (0usize..300, size(), any::<bool>()).prop_map(|(len, stride, turned)| Drawn { len, stride, turned })
}

impl Drawn {
    fn values<E: Element>(&self) -> Vec<E> {
        (0..self.len).map(|k| E::of((k * 37 % 23) as f64 - 11.0)).collect()
    }

    fn of<'a, E: Element>(&self, values: &'a [E]) -> Mat<'a, E> {
        let mat = Mat::strided(values, self.stride);
        if self.turned { mat.t() } else { mat }
    }

    /// Where (r, c) lies, in numbers that do not wrap.
    fn place(&self, r: usize, c: usize) -> u128 {
        let (r, c) = if self.turned { (c, r) } else { (r, c) };
        r as u128 * self.stride as u128 + c as u128
    }

    /// Does a view of m rows of n numbers, both at least one, lie within the numbers?
    fn reaches(&self, m: usize, n: usize) -> bool {
        m.max(n) <= self.len && self.place(m - 1, n - 1) < self.len as u128
    }
}

fn holds(len: usize, m: usize, n: usize, to: usize) -> bool {
    to >= n && (m as u128 - 1) * to as u128 + n as u128 <= len as u128
}

/// Runs a product; `None` if it was refused in our own words. Arithmetic that overflows is not such a refusal.
fn refused(work: impl FnOnce()) -> Result<(), ()> {
    let Err(why) = catch_unwind(AssertUnwindSafe(work)) else { return Ok(()) };
    let why = why.downcast_ref::<String>().cloned().or_else(|| why.downcast_ref::<&str>().map(|why| (*why).to_owned())).unwrap_or_default();
    let ours = ["the product fits", "the factors fit", "reaches so far", "is packed", "the panels fit"];
    assert!(ours.iter().any(|words| why.contains(words)), "not a refusal: {why}");
    Err(())
}

/// Checks every number of a result of m rows, each `to` after the one before, that held [`UNTOUCHED`].
fn check<E: Element>(
    c: &[E],
    (m, n, k): (usize, usize, usize),
    to: usize,
    onto: bool,
    scale: f64,
    a: impl Fn(usize, usize) -> f64,
    b: impl Fn(usize, usize) -> f64,
) {
    let mut expected = vec![UNTOUCHED; c.len()];
    for r in 0..m {
        for column in 0..n {
            let sum: f64 = (0..k).map(|p| a(r, p) * b(p, column)).sum();
            let before = if onto { UNTOUCHED } else { 0.0 };
            expected[r * to + column] = before + scale * sum;
        }
    }
    // Whole numbers below 2^24: sums of them are exact in every order and precision.
    assert!(c.iter().zip(&expected).all(|(c, expected)| c.wide() == *expected), "{c:?}\n{expected:?}");
}

fn product<E: Element>((m, n, k): (usize, usize, usize), to: usize, room: usize, onto: bool, a: &Drawn, b: &Drawn) {
    let (left, right) = (a.values::<E>(), b.values::<E>());
    let mut c = vec![E::of(UNTOUCHED); room];
    let done = refused(|| matmul_into((m, n, k), a.of(&left), b.of(&right), E::of(2.0), onto, &mut c, to));
    let fits = m == 0 || n == 0 || holds(room, m, n, to) && (k == 0 || a.reaches(m, k) && b.reaches(k, n));
    assert_eq!(done.is_ok(), fits);
    let (m, n, k) =
        if fits { (if n == 0 { 0 } else { m }, if m == 0 { 0 } else { n }, if m == 0 || n == 0 { 0 } else { k }) } else { (0, 0, 0) };
    check(&c, (m, n, k), to, onto, 2.0, |r, p| left[a.place(r, p) as usize].wide(), |p, column| right[b.place(p, column) as usize].wide());
}

fn packed<E: Element>(sizes: Sizes, room: usize, packed_room: usize, a: &Drawn, b: &Drawn) {
    let (left, right) = (a.values::<E>(), b.values::<E>());
    let (m, n, k) = (sizes.rows, sizes.columns, sizes.inner);
    let mut panels = vec![E::of(5.0); packed_room];
    let needed = n.div_ceil(16) as u128 * 16 * k as u128;
    let packs = n == 0 || k == 0 || b.reaches(k, n) && needed <= packed_room as u128;
    let pack = refused(|| {
        // The caller takes as much of its scratch as it needs; what is not there is refused by `pack` itself.
        panels::pack(k, n, b.of(&right), &mut panels);
    });
    assert_eq!(pack.is_ok(), packs);
    if !packs {
        return;
    }
    let panels = &panels[..needed as usize];
    let mut c = vec![E::of(UNTOUCHED); room];
    let done = refused(|| panels::product(sizes, a.of(&left), panels, &mut c));
    let empty = m == 0 || n == 0 || k == 0;
    let fits = empty || a.reaches(m, k) && holds(room, m, n, sizes.to);
    assert_eq!(done.is_ok(), fits);
    let all = if empty || !fits { (0, 0, 0) } else { (m, n, k) };
    check(
        &c,
        all,
        sizes.to,
        sizes.onto,
        1.0,
        |r, p| left[a.place(r, p) as usize].wide(),
        |p, column| right[b.place(p, column) as usize].wide(),
    );
    // Panels of another size than the product's are refused.
    if !empty && fits && !panels.is_empty() {
        assert!(refused(|| panels::product(sizes, a.of(&left), &panels[1..], &mut c)).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_product_is_refused_or_right_whatever_its_sizes_and_strides(
        m in size(), n in size(), k in size(), (gap, room) in (prop_oneof![4 => 0usize..4, 1 => size()], 0usize..400),
        onto in any::<bool>(), a in drawn(), b in drawn(),
    ) {
        let to = n.saturating_add(gap);
        product::<f32>((m, n, k), to, room, onto, &a, &b);
        product::<f64>((m, n, k), to, room, onto, &a, &b);
    }

    #[test]
    fn a_product_of_matrices_that_fit_is_right_at_every_edge(
        m in 1usize..14, n in 1usize..40, k in 1usize..12, gaps in prop::array::uniform3(0usize..3),
        turned in prop::array::uniform2(any::<bool>()), onto in any::<bool>(), last_first in any::<bool>(),
    ) {
        // Exactly as many numbers as are reached: one more would be past the end.
        let exact = |rows: usize, columns: usize, gap: usize, turned: bool| {
            let (rows, columns) = if turned { (columns, rows) } else { (rows, columns) };
            Drawn { len: (rows - 1) * (columns + gap) + columns, stride: columns + gap, turned }
        };
        let (a, b, to) = (exact(m, k, gaps[0], turned[0]), exact(k, n, gaps[1], turned[1]), n + gaps[2]);
        let room = (m - 1) * to + n;
        product::<f32>((m, n, k), to, room, onto, &a, &b);
        product::<f64>((m, n, k), to, room, onto, &a, &b);
        let sizes = Sizes { rows: m, inner: k, columns: n, to, onto, last_first };
        packed::<f32>(sizes, room, n.div_ceil(16) * 16 * k, &a, &b);
        packed::<f64>(sizes, room, n.div_ceil(16) * 16 * k, &a, &b);
    }

    #[test]
    fn a_packed_product_is_refused_or_right_whatever_its_sizes_and_strides(
        rows in size(), columns in size(), inner in size(), (gap, room, packed_room) in (0usize..4, 0usize..400, 0usize..600),
        onto in any::<bool>(), last_first in any::<bool>(), a in drawn(), b in drawn(),
    ) {
        let sizes = Sizes { rows, inner, columns, to: columns.saturating_add(gap), onto, last_first };
        packed::<f32>(sizes, room, packed_room, &a, &b);
        packed::<f64>(sizes, room, packed_room, &a, &b);
    }
}

#[test]
fn a_stride_that_wraps_reads_nothing_before_the_slice() {
    let (numbers, mut c) = ([1.0f32; 8], [0.0f32; 4]);
    for stride in [usize::MAX, usize::MAX - 1, usize::MAX / 2 + 1] {
        let a = Mat::strided(&numbers[4..], stride);
        assert!(refused(|| matmul_into((2, 2, 2), a, Mat::rows(&numbers, 2), 1.0, false, &mut c, 2)).is_err());
    }
    assert_eq!(c, [0.0; 4]);
    // One row needs no stride.
    matmul_into((1, 2, 2), Mat::strided(&numbers, usize::MAX), Mat::rows(&numbers, 2), 1.0, false, &mut c, usize::MAX);
    assert_eq!(c, [2.0, 2.0, 0.0, 0.0]);
}
