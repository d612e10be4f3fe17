//! What the engine itself costs: rounds of 50 clients whose gradients cost next to nothing.
//!
//! `cargo bench -p motet-conformance`. Rounds are timed in hundreds: divide by 100.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use motet_core::{Batch, Constants, Fleet, Host, Memo, Objective, Plan, Population, Rhythm, Seed, Shard, Vector, train};
use motet_methods::flix::Flix;
use motet_runtime::{Inline, Memory, Pool, Threads};

/// f(x) = ½|x|²
struct Bowl;

impl Objective for Bowl {
    fn dim(&self) -> usize {
        10
    }
    fn samples(&self) -> usize {
        1
    }
    fn value(&self, x: &Vector, _: Batch<'_>) -> f64 {
        0.5 * x.norm2()
    }
    fn gradient(&self, x: &Vector, _: Batch<'_>, g: &mut Vector) {
        g.copy_from(x);
    }
    fn constants(&self) -> Constants {
        Constants { smoothness: Some(1.0), convexity: Some(1.0), sample_smoothness: Some(1.0) }
    }
}

fn rounds(make: impl Fn(Host<Flix>) -> Box<dyn Fleet<Flix>>) {
    let method: Flix = serde_json::from_str(r#"{"alpha":0.5,"step":0.001}"#).expect("a method");
    let population: Arc<dyn Population> = Arc::new(vec![Shard::new(Arc::new(Bowl)); 50]);
    let method = Arc::new(method);
    let host = Host::new(Arc::clone(&method), population, Arc::new(Memory::default()), Arc::new(Memo::default()), Seed(1));
    let plan = Plan { rhythm: Rhythm::Never, ..Plan::new(100, Seed(1)) };
    let mut rows = vec![];
    let done = train(&*method, Vector::from(vec![1.0; 10]), &plan, &mut *make(host), &mut rows);
    black_box(done.expect("the run"));
}

fn engine(c: &mut Criterion) {
    c.bench_function("100 rounds of 50 clients, inline", |b| b.iter(|| rounds(|host| Box::new(Inline::new(host)))));
    let pool = Arc::new(Pool::new(2));
    c.bench_function("100 rounds of 50 clients, two threads", |b| {
        b.iter(|| rounds(|host| Box::new(Threads::new(host, Arc::clone(&pool)))))
    });
}

criterion_group!(benches, engine);
criterion_main!(benches);
