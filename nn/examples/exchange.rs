//! Writes a model's parameters, inputs and scores as safetensors, or scores parameters that somebody else wrote:
//! what `tools/networks/files.py` talks to.
//!
//! ```text
//! exchange cnn|lstm|resnet|bert FOLDER          writes ours.safetensors and ours.bin (inputs, then scores, f32)
//! exchange cnn|lstm|resnet|bert FOLDER theirs   reads theirs.safetensors, writes theirs.bin
//! ```

use std::path::Path;

use motet_core::Seed;
use motet_nn::zoo::{Bert, CharLstm, ResNetNorm, bert, char_lstm, mcmahan_cnn, resnet18};
use motet_nn::{Model, Shape, Workspace};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, folder, rest @ ..] = &arguments[..] else { return Err("exchange MODEL FOLDER [theirs]".into()) };
    let folder = Path::new(folder);
    let mut rng = Seed(1).problem(0);
    let (model, vocabulary): (Model<f32>, usize) = match kind.as_str() {
        "cnn" => (mcmahan_cnn(Shape(vec![28, 28, 1]), 62)?, 0),
        "lstm" => (char_lstm(CharLstm::PAPER)?, 90),
        "resnet" => (resnet18(Shape(vec![32, 32, 3]), 10, ResNetNorm::Group(2), 64)?, 0),
        "bert" => (bert(Bert::minilm(12), 3)?, 30_522),
        other => return Err(format!("no model {other}: cnn, lstm, resnet or bert").into()),
    };
    let start = model.start(&mut rng);
    let examples = 4;
    let input = (0..examples * model.input().len()).map(|_| match vocabulary {
        0 => rng.normal() as f32,
        tokens => (1 + rng.below(tokens - 1)) as f32,
    });
    let mut room = Workspace::of(input.collect(), vec![]);
    let (name, w) = if rest.is_empty() {
        std::fs::write(folder.join("ours.safetensors"), model.to_safetensors(&start)?)?;
        ("ours.bin", start)
    } else {
        // A trained encoder has no head of ours.
        ("theirs.bin", model.read_safetensors(&std::fs::read(folder.join("theirs.safetensors"))?, Some(&start))?)
    };
    let mut bytes: Vec<u8> = room.inputs.iter().flat_map(|v| v.to_le_bytes()).collect();
    bytes.extend(model.scores(&w, None, &mut room).iter().flat_map(|v| v.to_le_bytes()));
    std::fs::write(folder.join(name), bytes)?;
    Ok(())
}
