//! How fast matrix products alone are on this machine.

use std::sync::Arc;
use std::time::Instant;

use motet_nn::{Mat, matmul};
use motet_runtime::Pool;

/// Rows and columns of the factors: large enough for the best speed, small enough for the last cache.
const SIZE: usize = 768;
/// Products per thread and measurement.
const REPEATS: usize = 8;

/// 10⁹ operations a second of square products in single precision, one on each thread; the best of some measurements.
pub(super) fn peak_gflops(pool: &Arc<Pool>) -> f64 {
    let threads = pool.threads();
    let best = (0..5).map(|_| {
        let began = Instant::now();
        pool.scatter(threads, products, |_, _: f32| {});
        began.elapsed().as_secs_f64()
    });
    let seconds = best.fold(f64::INFINITY, f64::min);
    2.0 * (SIZE * SIZE * SIZE * REPEATS * threads) as f64 / seconds / 1e9
}

fn products(seed: usize) -> f32 {
    let number = |k: usize| ((k * 31 + seed) % 17) as f32 / 17.0;
    let (a, b): (Vec<f32>, Vec<f32>) = ((0..SIZE * SIZE).map(number).collect(), (0..SIZE * SIZE).map(|k| number(k + 3)).collect());
    let mut c = vec![0.0; SIZE * SIZE];
    for _ in 0..REPEATS {
        matmul((SIZE, SIZE, SIZE), Mat::rows(&a, SIZE), Mat::rows(&b, SIZE), false, &mut c);
    }
    c[SIZE]
}
