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
    /// A whole mirror step of the server: y = x − γ Σ wᵢ gᵢ, ⟨gᵢ, v⟩ for all i, the new weights.
    milliseconds_per_mirror_step: f64,
    /// How often a step reads the matrix: y must be known before v is, and v before the weights are.
    passes: u32,
    /// What the passes read, per second.
    gigabytes_per_second: f64,
    /// The same bytes merely summed, in this run, on one thread.
    memory_gigabytes_per_second: f64,
    /// Two values in place of a slope need one pass for both candidates.
    milliseconds_per_zeroth_step: f64,
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
    let mirror = median(repeats, || {
        black_box(gradients.step(&x, -step, &w.weights()));
        let slopes = gradients.inner(black_box(&v));
        w.multiply(&slopes.iter().map(|s| 1e-6 * s).collect::<Vec<_>>());
    });
    let weights = w.weights();
    let zeroth = median(repeats, || drop(black_box(gradients.two_steps(&x, -step, &weights, &weights))));
    let read = median(repeats, || {
        black_box(gradients.rows().iter().map(touch).fold(0, u64::wrapping_add));
    });
    let bytes = (clients * dim * size_of::<T>()) as f64;
    MirrorTiming {
        workload: "meritfed",
        clients,
        dim,
        precision: T::NAME,
        milliseconds_per_mirror_step: 1e3 * mirror,
        passes: 2,
        gigabytes_per_second: 2.0 * bytes / mirror / 1e9,
        memory_gigabytes_per_second: bytes / read / 1e9,
        milliseconds_per_zeroth_step: 1e3 * zeroth,
    }
}

/// Reading alone: the bits of each number added up, which is as fast as one thread can read.
fn touch(row: &Vector) -> u64 {
    match row.view() {
        View::F64(row) => row.iter().fold(0, |sum, v| sum.wrapping_add(v.to_bits())),
        View::F32(row) => row.iter().fold(0u32, |sum, v| sum.wrapping_add(v.to_bits())).into(),
    }
}

/// Seconds of the middle repetition.
fn median(repeats: usize, mut work: impl FnMut()) -> f64 {
    work();
    let mut laps: Vec<f64> = (0..repeats)
        .map(|_| {
            let began = Instant::now();
            work();
            began.elapsed().as_secs_f64()
        })
        .collect();
    laps.sort_by(f64::total_cmp);
    laps[laps.len() / 2]
}
