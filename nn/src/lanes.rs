//! Vectors of numbers, as wide as the machine has them. One of the few files of this crate with `unsafe` code.
//!
//! A kernel that says itself what lies in which register is written once, over [`Lanes`], and compiled for every width. Each lane
//! computes what it would compute alone, so that AVX2 and AVX-512 give the same bits; without fused multiplications ([`Plain`])
//! the last digits differ.
#![allow(unsafe_code)]

use crate::element::Element;

/// A processor's vectors. Who holds a value of such a type knows that the processor has them.
///
/// Functions are always inlined, into the kernels that [`Lanes::call`] compiles for the processor.
pub trait Lanes<E>: Copy {
    /// A vector.
    type V: Copy;
    /// Numbers in a vector.
    const WIDTH: usize;
    /// Rows of a product whose sums, two vectors each, fit into the registers.
    const ROWS: usize;

    /// Runs a kernel that is compiled for this processor.
    fn call<K: Kernel<E>>(self, kernel: K) -> K::Output;
    /// The same number in every lane.
    fn splat(self, x: E) -> Self::V;
    /// # Safety
    /// `from` points to as many numbers as a vector has.
    unsafe fn load(self, from: *const E) -> Self::V;
    /// # Safety
    /// `to` points to room for as many numbers as a vector has.
    unsafe fn store(self, to: *mut E, v: Self::V);
    /// a + b
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// a − b
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    /// a·b
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// a·b + c, rounded once where the processor can.
    fn fused(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// Eight rows of eight numbers become columns; rows of the one lie `step` apart, of the other `to_step`.
    ///
    /// # Safety
    /// Both places hold so many.
    unsafe fn transpose(self, from: *const E, step: usize, to: *mut E, to_step: usize);
}

/// A computation that is compiled for every width of vectors. The body of `run` must be inlined (`#[inline(always)]`), or it is not compiled for the processor.
pub trait Kernel<E> {
    /// What comes of it.
    type Output;
    /// Does it.
    fn run<L: Lanes<E>>(self, lanes: L) -> Self::Output;
}

/// The most lanes that a vector has.
pub(crate) const WIDEST: usize = 16;

/// Eight numbers in plain code, for processors that we know nothing of and for double precision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain;

impl<E: Element> Lanes<E> for Plain {
    type V = [E; 8];
    const WIDTH: usize = 8;
    const ROWS: usize = 2;

    fn call<K: Kernel<E>>(self, kernel: K) -> K::Output {
        kernel.run(self)
    }
    #[inline(always)]
    fn splat(self, x: E) -> [E; 8] {
        [x; 8]
    }
    #[inline(always)]
    unsafe fn load(self, from: *const E) -> [E; 8] {
        // SAFETY: the caller says that eight numbers are there; an array of them is aligned as one is.
        unsafe { from.cast::<[E; 8]>().read() }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut E, v: [E; 8]) {
        // SAFETY: as above.
        unsafe { to.cast::<[E; 8]>().write(v) }
    }
    #[inline(always)]
    fn add(self, a: [E; 8], b: [E; 8]) -> [E; 8] {
        std::array::from_fn(|k| a[k] + b[k])
    }
    #[inline(always)]
    fn sub(self, a: [E; 8], b: [E; 8]) -> [E; 8] {
        std::array::from_fn(|k| a[k] - b[k])
    }
    #[inline(always)]
    fn mul(self, a: [E; 8], b: [E; 8]) -> [E; 8] {
        std::array::from_fn(|k| a[k] * b[k])
    }
    #[inline(always)]
    fn fused(self, a: [E; 8], b: [E; 8], c: [E; 8]) -> [E; 8] {
        std::array::from_fn(|k| a[k] * b[k] + c[k])
    }
    #[inline(always)]
    unsafe fn transpose(self, from: *const E, step: usize, to: *mut E, to_step: usize) {
        for r in 0..8 {
            for c in 0..8 {
                // SAFETY: the caller says that eight rows of eight are in both places.
                unsafe { *to.add(c * to_step + r) = *from.add(r * step + c) };
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Kernel, Lanes};

    /// Eight numbers, fused multiplications.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Avx2(());

    /// Sixteen numbers, twice as many registers.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Avx512(Avx2);

    impl Avx2 {
        /// Where the processor has it.
        #[inline]
        pub(crate) fn here() -> Option<Self> {
            (std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")).then_some(Self(()))
        }
    }

    impl Avx512 {
        /// Where the processor has it.
        #[inline]
        pub(crate) fn here() -> Option<Self> {
            std::arch::is_x86_feature_detected!("avx512f").then(Avx2::here)?.map(Self)
        }
    }

    #[target_feature(enable = "avx2,fma")]
    fn with_avx2<K: Kernel<f32>>(lanes: Avx2, kernel: K) -> K::Output {
        kernel.run(lanes)
    }

    #[target_feature(enable = "avx512f,avx2,fma")]
    fn with_avx512<K: Kernel<f32>>(lanes: Avx512, kernel: K) -> K::Output {
        kernel.run(lanes)
    }

    // SAFETY of every intrinsic below: a value of the type is made only where the processor has the instructions.
    impl Lanes<f32> for Avx2 {
        type V = __m256;
        const WIDTH: usize = 8;
        const ROWS: usize = 6;

        fn call<K: Kernel<f32>>(self, kernel: K) -> K::Output {
            // SAFETY: see above.
            unsafe { with_avx2(self, kernel) }
        }
        #[inline(always)]
        fn splat(self, x: f32) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_set1_ps(x) }
        }
        #[inline(always)]
        unsafe fn load(self, from: *const f32) -> __m256 {
            // SAFETY: see above; the caller says that eight numbers are there.
            unsafe { _mm256_loadu_ps(from) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32, v: __m256) {
            // SAFETY: see above; the caller says that there is room for eight.
            unsafe { _mm256_storeu_ps(to, v) }
        }
        #[inline(always)]
        fn add(self, a: __m256, b: __m256) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_add_ps(a, b) }
        }
        #[inline(always)]
        fn sub(self, a: __m256, b: __m256) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_sub_ps(a, b) }
        }
        #[inline(always)]
        fn mul(self, a: __m256, b: __m256) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_mul_ps(a, b) }
        }
        #[inline(always)]
        fn fused(self, a: __m256, b: __m256, c: __m256) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_fmadd_ps(a, b, c) }
        }
        #[inline(always)]
        unsafe fn transpose(self, from: *const f32, step: usize, to: *mut f32, to_step: usize) {
            // SAFETY: see above; the caller says that eight rows of eight are in both places.
            unsafe {
                let zero = _mm256_setzero_ps();
                let (mut rows, mut pairs, mut fours) = ([zero; 8], [zero; 8], [zero; 8]);
                for (r, row) in rows.iter_mut().enumerate() {
                    *row = _mm256_loadu_ps(from.add(r * step));
                }
                for k in 0..4 {
                    pairs[2 * k] = _mm256_unpacklo_ps(rows[2 * k], rows[2 * k + 1]);
                    pairs[2 * k + 1] = _mm256_unpackhi_ps(rows[2 * k], rows[2 * k + 1]);
                }
                for k in 0..4 {
                    let (a, b) = (pairs[k / 2 * 4 + k % 2], pairs[k / 2 * 4 + k % 2 + 2]);
                    fours[k / 2 * 4 + k % 2 * 2] = _mm256_shuffle_ps::<0x44>(a, b);
                    fours[k / 2 * 4 + k % 2 * 2 + 1] = _mm256_shuffle_ps::<0xee>(a, b);
                }
                for k in 0..4 {
                    _mm256_storeu_ps(to.add(k * to_step), _mm256_permute2f128_ps::<0x20>(fours[k], fours[k + 4]));
                    _mm256_storeu_ps(to.add((k + 4) * to_step), _mm256_permute2f128_ps::<0x31>(fours[k], fours[k + 4]));
                }
            }
        }
    }

    impl Lanes<f32> for Avx512 {
        type V = __m512;
        const WIDTH: usize = 16;
        const ROWS: usize = 8;

        fn call<K: Kernel<f32>>(self, kernel: K) -> K::Output {
            // SAFETY: see above.
            unsafe { with_avx512(self, kernel) }
        }
        #[inline(always)]
        fn splat(self, x: f32) -> __m512 {
            // SAFETY: see above.
            unsafe { _mm512_set1_ps(x) }
        }
        #[inline(always)]
        unsafe fn load(self, from: *const f32) -> __m512 {
            // SAFETY: see above; the caller says that sixteen numbers are there.
            unsafe { _mm512_loadu_ps(from) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32, v: __m512) {
            // SAFETY: see above; the caller says that there is room for sixteen.
            unsafe { _mm512_storeu_ps(to, v) }
        }
        #[inline(always)]
        fn add(self, a: __m512, b: __m512) -> __m512 {
            // SAFETY: see above.
            unsafe { _mm512_add_ps(a, b) }
        }
        #[inline(always)]
        fn sub(self, a: __m512, b: __m512) -> __m512 {
            // SAFETY: see above.
            unsafe { _mm512_sub_ps(a, b) }
        }
        #[inline(always)]
        fn mul(self, a: __m512, b: __m512) -> __m512 {
            // SAFETY: see above.
            unsafe { _mm512_mul_ps(a, b) }
        }
        #[inline(always)]
        fn fused(self, a: __m512, b: __m512, c: __m512) -> __m512 {
            // SAFETY: see above.
            unsafe { _mm512_fmadd_ps(a, b, c) }
        }
        #[inline(always)]
        unsafe fn transpose(self, from: *const f32, step: usize, to: *mut f32, to_step: usize) {
            // SAFETY: the caller's word.
            unsafe { self.0.transpose(from, step, to, to_step) }
        }
    }
}
