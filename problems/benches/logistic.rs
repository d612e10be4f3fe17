//! The logistic gradient on the `logistic` workload: 50 clients, 17188 × 300, twelve ones in each row, f64.
//!
//! One iteration is the gradients of all 50 clients, one after another on one thread.
//!
//! Measured on one core of a Zen 3 at 3.24 GHz that others used too, hence the least of 400 single iterations:
//! 176 µs, which is 0.85 ns or 2.8 cycles a non-zero. A non-zero takes 2.5 loads (one number and a quarter of an index word in
//! each of two passes) and no store; at three loads a cycle that is 0.83 cycles, so the whole runs at 30 % of the load limit.
//! In a bare loop the two passes took 54 and 57 µs (48 % of it) and the 17,188 sigmoids 38 µs; the other 27 µs (buffers, copies, regulariser) were not taken apart.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use motet_core::{Batch, Objective, Seed, Vector};
use motet_problems::{Dataset, Examples, Matrix, ModelConfig, Targets};

const CLIENTS: usize = 50;
const ROWS: usize = 17_188;
const COLS: usize = 300;
const ONES: usize = 12;

fn clients() -> Vec<Arc<dyn Objective>> {
    let mut dice = Seed(1).problem(0);
    let columns: Vec<u32> = (0..ROWS).flat_map(|_| dice.choose(ONES, COLS)).collect();
    let values = vec![1.0; columns.len()];
    let features = Matrix::sparse(COLS, (0..=ROWS).map(|r| r * ONES).collect(), columns, values).expect("twelve ascending columns a row");
    let targets = Targets::Classes { labels: (0..ROWS).map(|_| dice.below(2) as u32).collect(), classes: 2 };
    let data = Arc::new(Examples::new(Dataset::new(features, targets)).expect("one label a row"));
    let model: ModelConfig = serde_json::from_str(r#"{"kind": "logistic", "l2": 0.1}"#).expect("a model");
    (0..CLIENTS).map(|i| model.objective(&data, ROWS * i / CLIENTS..ROWS * (i + 1) / CLIENTS).expect("two classes")).collect()
}

fn gradients(c: &mut Criterion) {
    let clients = clients();
    let mut dice = Seed(2).problem(0);
    let x = Vector::from((0..COLS).map(|_| dice.normal()).collect::<Vec<_>>());
    let mut g = x.zeros_like();
    let mut group = c.benchmark_group("logistic");
    group.throughput(Throughput::Elements((ROWS * ONES) as u64));
    group.bench_function("gradients of 50 clients", |b| {
        b.iter(|| clients.iter().for_each(|f| f.gradient(black_box(&x), Batch::all(), black_box(&mut g))));
    });
    group.bench_function("values of 50 clients", |b| {
        b.iter(|| clients.iter().map(|f| f.value(black_box(&x), Batch::all())).sum::<f64>());
    });
    let v = x.clone();
    group.bench_function("Hessian-vector products of 50 clients", |b| {
        b.iter(|| clients.iter().for_each(|f| f.hessian_vector(black_box(&x), &v, Batch::all(), black_box(&mut g))));
    });
    group.finish();
}

criterion_group!(benches, gradients);
criterion_main!(benches);
