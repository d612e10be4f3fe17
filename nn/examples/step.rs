//! Times one training step (gradient, then x ← x − γ g) of the bench networks on each thread, beside plain matrix products:
//! on the wall, and on the processor where the system tells, which other load moves far less.
//!
//! ```text
//! cargo run --release -p motet-nn --example step -- cnn|lstm|mlp|sgemm [threads] [seconds]
//! ```

use std::time::Instant;

use motet_core::Seed;
use motet_nn::layer::Activation;
use motet_nn::zoo::{CharLstm, char_lstm, mcmahan_cnn, mlp};
use motet_nn::{Inputs, Loss, Mat, Model, Shape, Workspace, matmul};

/// Milliseconds of one call.
struct Lap {
    median: f64,
    least: f64,
    /// Mean time on the processor.
    processor: Option<f64>,
}

/// Calls the work for so many seconds.
fn time(seconds: f64, mut work: impl FnMut()) -> Lap {
    (0..3).for_each(|_| work());
    let (began, busy, mut laps) = (Instant::now(), processor_ms(), Vec::new());
    while began.elapsed().as_secs_f64() < seconds {
        let lap = Instant::now();
        work();
        laps.push(lap.elapsed().as_secs_f64() * 1e3);
    }
    let processor = busy.zip(processor_ms()).map(|(from, to)| (to - from) / laps.len() as f64);
    laps.sort_by(f64::total_cmp);
    Lap { median: laps[laps.len() / 2], least: laps[0], processor }
}

/// How long this thread was on a processor.
fn processor_ms() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<f64>().ok()? / 1e6)
}

fn network(model: &Model<f32>, examples: usize, tokens: usize, seconds: f64) -> Lap {
    let mut rng = Seed(1).problem(0);
    let mut w = model.start(&mut rng);
    let number = |tokens: usize, rng: &mut motet_core::Rng| if tokens == 0 { rng.normal() as f32 } else { rng.below(tokens) as f32 };
    let inputs = (0..examples * model.input().len()).map(|_| number(tokens, &mut rng)).collect();
    let targets = (0..examples * model.targets()).map(|_| rng.below(model.output().last()) as f32).collect();
    let (mut room, mut g) = (Workspace::of(inputs, targets), vec![0.0f32; w.len()]);
    time(seconds, || {
        model.gradient(&w, Inputs { share: 1.0 / examples as f64, ..Inputs::default() }, &mut room, &mut g);
        w.iter_mut().zip(&g).for_each(|(w, g)| *w -= 0.01 * g);
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let what = arguments.first().cloned().unwrap_or_else(|| "cnn".into());
    let threads: usize = arguments.get(1).map_or(Ok(1), |n| n.parse())?;
    let seconds: f64 = arguments.get(2).map_or(Ok(4.0), |n| n.parse())?;
    let run = || -> Result<Lap, motet_nn::Misfit> {
        Ok(match what.as_str() {
            "lstm" => network(&char_lstm(CharLstm::PAPER)?, 4, 90, seconds),
            "mlp" => network(&mlp(1, &[40, 40], 1, Activation::Tanh, Loss::Squared)?, 50, 0, seconds),
            "sgemm" => {
                let (a, b, mut c) = (vec![0.5f32; 768 * 768], vec![0.25f32; 768 * 768], vec![0.0f32; 768 * 768]);
                time(seconds, || matmul((768, 768, 768), Mat::rows(&a, 768), Mat::rows(&b, 768), false, &mut c))
            }
            _ => network(&mcmahan_cnn(Shape(vec![28, 28, 1]), 62)?, 20, 0, seconds),
        })
    };
    let all: Result<Vec<_>, _> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        workers.into_iter().map(|worker| worker.join().expect("a worker that times does not panic")).collect()
    });
    for Lap { median, least, processor } in all? {
        let on = processor.map_or(String::new(), |ms| format!(", on the processor {ms:.4} ms"));
        let line = format!("{what}: median {median:.4} ms, least {least:.4} ms{on}\n");
        std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes())?;
    }
    Ok(())
}
