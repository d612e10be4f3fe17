//! The inner problem of MeritFed: milliseconds per mirror step, against what the memory can do.

use std::hint::black_box;
use std::time::Instant;

use motet_core::{ClientId, Seed, Vector, View};
use motet_methods::parts::{Gradients, Simplex};
use serde::Serialize;

/// One size of the inner problem.
#[derive(Serialize)]
pub(super) struct MirrorTiming {
    workload: &'static str,
    clients: usize,
    dim: usize,
    precision: &'static str,
    /// A whole mirror step of the server for any loss: y = x − γ Σ wᵢ gᵢ, ⟨gᵢ, v⟩ for all i, the new weights. Two
    /// passes: y must be known before v is, and v before the weights are.
    milliseconds_per_mirror_step: f64,
    /// A step of `smd` where the loss needs only inner products (`gram`): ⟨gᵢ, v⟩ and the new weights. One pass.
    milliseconds_per_gram_step: f64,
    /// ⟨gᵢ, gⱼ⟩ for all i and j, once a round.
    milliseconds_per_gram: f64,
    /// A step of `zeroth`: both candidates. One pass.
    milliseconds_per_zeroth_step: f64,
    /// What the two passes of a mirror step read, per second.
    gigabytes_per_second: f64,
    /// The same of the one pass of a gram step.
    gram_step_gigabytes_per_second: f64,
    /// The same bytes merely read, in this run, on one thread.
    memory_gigabytes_per_second: f64,
    /// How much of that a mirror step reaches.
    share_of_memory_bandwidth: f64,
}

/// 150 clients in 10 dimensions (f64), and 20 clients with 1.7 million parameters (f32).
pub(super) fn mirror_steps() -> Vec<MirrorTiming> {
    vec![time::<f64>(150, 10, 2000), time::<f32>(20, 1_700_000, 15)]
}

trait Number: Copy {
    const NAME: &'static str;
    fn vector(numbers: Vec<f64>) -> Vector;
}

impl Number for f64 {
    const NAME: &'static str = "f64";
    fn vector(numbers: Vec<f64>) -> Vector {
        numbers.into()
    }
}

impl Number for f32 {
    const NAME: &'static str = "f32";
    fn vector(numbers: Vec<f64>) -> Vector {
        numbers.into_iter().map(|v| v as f32).collect::<Vec<f32>>().into()
    }
}

fn time<T: Number>(clients: usize, dim: usize, repeats: usize) -> MirrorTiming {
    let mut rng = Seed(6).problem(0);
    let mut random = || T::vector((0..dim).map(|_| rng.unit() - 0.5).collect());
    let (x, mut gradients) = (random(), Gradients::default());
    (0..clients).for_each(|i| gradients.push(ClientId(i as u32), random()));
    let v = random();
    let (mut w, step) = (Simplex::uniform(clients), 0.01);
    let mirror = best(repeats, || {
        black_box(gradients.step(&x, -step, &w.weights()));
        let slopes = gradients.inner(black_box(&v));
        w.multiply(&slopes.iter().map(|s| 1e-6 * s).collect::<Vec<_>>());
    });
    let table = gradients.gram();
    let by_products = best(repeats, || {
        let (at_x, now) = (gradients.inner(black_box(&v)), w.weights());
        let bent = table.chunks_exact(clients).map(|row| row.iter().zip(&now).map(|(k, w)| k * w).sum::<f64>());
        w.multiply(&at_x.iter().zip(bent).map(|(s, bent)| 1e-6 * (s - step * bent)).collect::<Vec<_>>());
    });
    let products = best(repeats.min(50), || drop(black_box(gradients.gram())));
    let weights = w.weights();
    let zeroth = best(repeats, || drop(black_box(gradients.two_steps(&x, -step, &weights, &weights))));
    let read = best(repeats, || {
        black_box(touch(gradients.rows()));
    });
    let bytes = (clients * dim * size_of::<T>()) as f64;
    let memory = bytes / read / 1e9;
    MirrorTiming {
        workload: "meritfed",
        clients,
        dim,
        precision: T::NAME,
        milliseconds_per_mirror_step: 1e3 * mirror,
        milliseconds_per_gram_step: 1e3 * by_products,
        milliseconds_per_gram: 1e3 * products,
        milliseconds_per_zeroth_step: 1e3 * zeroth,
        gigabytes_per_second: 2.0 * bytes / mirror / 1e9,
        gram_step_gigabytes_per_second: bytes / by_products / 1e9,
        memory_gigabytes_per_second: memory,
        share_of_memory_bandwidth: 2.0 * bytes / mirror / 1e9 / memory,
    }
}

/// Reading alone: the bits of each number added up, five rows side by side, which keeps more of the memory busy than one
/// after another.
fn touch(rows: &[Vector]) -> u64 {
    fn sum<T: Copy>(rows: [&[T]; 5], bits: impl Fn(T) -> u32) -> u32 {
        (0..rows[0].len()).fold(0, |sum, l| rows.iter().fold(sum, |sum, row| sum.wrapping_add(bits(row[l]))))
    }
    let five = |rows: &[Vector; 5]| match rows[0].view() {
        View::F64(_) => sum(rows.each_ref().map(Vector::f64s), |v| v.to_bits() as u32),
        View::F32(_) => sum(rows.each_ref().map(Vector::f32s), f32::to_bits),
    };
    rows.as_chunks::<5>().0.iter().map(five).map(u64::from).sum()
}

/// Seconds of the best repetition: what the machine can do while others leave it alone.
fn best(repeats: usize, mut work: impl FnMut()) -> f64 {
    work();
    let laps = (0..repeats).map(|_| {
        let began = Instant::now();
        work();
        began.elapsed().as_secs_f64()
    });
    laps.fold(f64::INFINITY, f64::min)
}
