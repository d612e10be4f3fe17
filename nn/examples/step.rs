//! Times one training step (gradient, then x ← x − γ g) of the bench networks on each thread, beside plain matrix products.
//!
//! ```text
//! cargo run --release -p motet-nn --example step -- cnn|lstm|mlp|sgemm [threads] [seconds]
//! ```

use std::time::Instant;

use motet_core::Seed;
use motet_nn::layer::Activation;
use motet_nn::zoo::{CharLstm, char_lstm, mcmahan_cnn, mlp};
use motet_nn::{Inputs, Loss, Mat, Model, Shape, Workspace, matmul};

/// Calls the work for so many seconds; gives the median and the least of the milliseconds it took.
fn time(seconds: f64, mut work: impl FnMut()) -> (f64, f64) {
    (0..3).for_each(|_| work());
    let (began, mut laps) = (Instant::now(), Vec::new());
    while began.elapsed().as_secs_f64() < seconds {
        let lap = Instant::now();
        work();
        laps.push(lap.elapsed().as_secs_f64() * 1e3);
    }
    laps.sort_by(f64::total_cmp);
    (laps[laps.len() / 2], laps[0])
}

fn network(model: &Model<f32>, examples: usize, tokens: usize, seconds: f64) -> (f64, f64) {
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
    let run = || -> Result<(f64, f64), motet_nn::Misfit> {
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
    for (median, least) in all? {
        // A product of 768 x 768 is 0.906 · 10⁹ operations, a step of the CNN 1.451 · 10⁹.
        let operations = match what.as_str() {
            "sgemm" => 0.906,
            "cnn" => 1.451,
            _ => f64::NAN,
        };
        let line = format!("{what}: median {median:.4} ms, least {least:.4} ms, {:.1} GFLOP/s at best", operations / least * 1e3);
        std::io::Write::write_all(&mut std::io::stdout(), format!("{line}\n").as_bytes())?;
    }
    Ok(())
}
