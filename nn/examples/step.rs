//! How long a training step of a network takes on one thread, without rounds and clients around it: what a profiler looks at.
//!
//! ```text
//! cargo run --release -p motet-nn --example step -- cnn|resnet|lstm|bert STEPS [exact]
//! ```
#![allow(clippy::print_stdout)] // its output is its purpose

use std::time::Instant;

use motet_core::Seed;
use motet_nn::layer::Convolution;
use motet_nn::zoo::{Bert, CharLstm, ResNetNorm, bert, char_lstm, mcmahan_cnn_of, resnet18_by};
use motet_nn::{Inputs, Model, Shape, Workspace};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (name, steps) = (args.next().unwrap_or("cnn".into()), args.next().map_or(Ok(10), |steps| steps.parse())?);
    let convolution = if args.next().as_deref() == Some("exact") { Convolution::Exact } else { Convolution::Fast };
    // Tokens below the last number, where rows are tokens.
    let (model, examples, tokens): (Model<f32>, usize, usize) = match name.as_str() {
        "cnn" => (mcmahan_cnn_of(Shape(vec![28, 28, 1]), [32, 64], 512, 62, convolution)?, 20, 0),
        "resnet" => (resnet18_by(Shape(vec![32, 32, 3]), 10, ResNetNorm::Group(2), 64, convolution)?, 20, 0),
        "lstm" => (char_lstm(CharLstm::PAPER)?, 4, 90),
        "bert" => (bert(Bert::minilm(64), 10)?, 8, 30_522),
        other => return Err(format!("`{other}` is none of cnn, resnet, lstm, bert").into()),
    };
    let mut rng = Seed(1).problem(0);
    let mut w = model.start(&mut rng);
    let number = |rng: &mut motet_core::Rng| if tokens > 0 { 1.0 + rng.below(tokens - 1) as f32 } else { rng.normal() as f32 };
    let inputs = (0..examples * model.input().len()).map(|_| number(&mut rng)).collect();
    let targets = (0..examples * model.targets()).map(|_| rng.below(model.output().last()) as f32).collect();
    let mut room = Workspace::of(inputs, targets);
    let mut times = Vec::new();
    for step in 0..steps + 2 {
        let began = Instant::now();
        model.step(&mut w, Inputs { share: -0.01 / examples as f64, noise: Some(step), unvalued: true, ..Inputs::default() }, &mut room);
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    let mut times = times.split_off(2);
    times.sort_by(f64::total_cmp);
    println!("{name}: {:.2} ms a step, the middle of {steps}; least {:.2}", times[times.len() / 2], times[0]);
    Ok(())
}
