//! Scores and gradients of whole models against PyTorch's, recorded by `tools/networks/reference.py`.

use motet_nn::zoo::{Bert, CharLstm, ResNetNorm, bert, char_lstm, mcmahan_cnn, resnet18};
use motet_nn::{Element, Inputs, Model, Shape, Workspace};

const FIXTURE: &str = include_str!("pytorch.txt");

/// Numbers in [−1, 1) that depend on a name; the script has the same function.
fn number(name: &str, k: usize) -> f64 {
    let seed = name.bytes().fold(0u32, |seed, b| seed.wrapping_mul(31).wrapping_add(b.into()));
    let mut x = (k as u32).wrapping_add(seed).wrapping_mul(2_654_435_761);
    x ^= x >> 16;
    x = x.wrapping_mul(2_246_822_519);
    x ^= x >> 13;
    f64::from(x) / f64::from(1u32 << 31) - 1.0
}

fn token<E: Element>(name: &str, k: usize, vocabulary: usize) -> E {
    let scaled = (number(name, k) + 1.0) / 2.0 * vocabulary as f64;
    E::of((scaled as usize).min(vocabulary - 1) as f64)
}

/// As the script has it: rounded to single precision.
fn rounded<E: Element>(value: f64) -> E {
    E::of(f64::from(value as f32))
}

/// The script's weights, brought into our layout.
fn weights<E: Element>(model: &Model<E>) -> Vec<E> {
    let mut w = Vec::with_capacity(model.dim());
    for parameter in model.parameters() {
        let (name, shape) = (&parameter.name, parameter.layout.shape());
        let scale = |u: f64| {
            if name.contains("embedding") {
                0.5 * u
            } else if shape.len() > 1 {
                u * (3.0 / shape[1..].iter().product::<usize>() as f64).sqrt()
            } else if name.ends_with("weight") {
                1.0 + 0.1 * u
            } else {
                0.1 * u
            }
        };
        w.extend((0..parameter.numbers()).map(|k| rounded::<E>(scale(number(name, parameter.layout.theirs(k))))));
    }
    w
}

/// Compares everything the fixture has of a kind. `place` is where one of their scores is among ours.
fn agrees<E: Element>(kind: &str, model: &Model<E>, inputs: Vec<E>, targets: Vec<E>, place: impl Fn(usize) -> usize) {
    let w = weights(model);
    let examples = inputs.len() / model.input().len();
    let mut room = Workspace::of(inputs, targets);
    let scores = model.scores(&w, None, &mut room).to_vec();
    let share = 1.0 / examples as f64;
    let mut g = vec![E::ZERO; w.len()];
    let loss = model.gradient(&w, Inputs { share, ..Inputs::default() }, &mut room, &mut g) * share;
    let (mut compared, mut from) = (0, 0);
    let recorded = |wanted: &str| {
        let line = FIXTURE.lines().map(|line| line.split(' ').collect::<Vec<_>>()).find(|line| line[0] == kind && line[1] == wanted);
        let line = line.unwrap_or_else(|| panic!("{kind} has no {wanted}"));
        [line[2], line[3]].map(|v| v.parse::<f64>().unwrap())
    };
    assert!((loss - recorded("loss")[0]).abs() < 1e-4 * loss, "{kind}: loss {loss}");
    let largest = scores.iter().fold(0f64, |a, b| a.max(b.wide().abs()));
    for line in FIXTURE.lines().filter(|line| line.starts_with(&format!("{kind} score."))) {
        let (k, value): (usize, f64) =
            (line.split(['.', ' ']).nth(2).unwrap().parse().unwrap(), line.split(' ').nth(2).unwrap().parse().unwrap());
        let ours = scores[place(k)].wide();
        assert!((ours - value).abs() < 1e-4 * largest, "{kind}: score {k}: {ours} {value}");
        compared += 1;
    }
    assert!(compared >= 8, "{kind}");
    for parameter in model.parameters() {
        let [norm, along] = recorded(&parameter.name);
        let block = &g[from..from + parameter.numbers()];
        from += parameter.numbers();
        let ours = block.iter().map(|g| g.wide() * g.wide()).sum::<f64>().sqrt();
        let direction = format!("along {}", parameter.name);
        let product: f64 = block.iter().enumerate().map(|(k, g)| g.wide() * number(&direction, parameter.layout.theirs(k))).sum();
        // The keys of attention have no slope but rounding: a shift of all scores changes no chance. What is left of sums that
        // cancel is some 1e-8 in single precision.
        let size = norm.max(1e-3);
        assert!((ours - norm).abs() < 1e-4 * size, "{kind}: |∂ {}| is {ours}, not {norm}", parameter.name);
        assert!((product - along).abs() < 1e-4 * size, "{kind}: ∂ {} is {product}, not {along} (of {norm})", parameter.name);
    }
    assert_eq!(from, model.dim());
}

/// Their images are channel by channel, ours pixel by pixel.
fn images<E: Element>(name: &str, examples: usize, side: usize, channels: usize) -> Vec<E> {
    let at = |k: usize| {
        let (e, rest) = (k / (side * side * channels), k % (side * side * channels));
        (e * channels + rest % channels) * side * side + rest / channels
    };
    (0..examples * side * side * channels).map(|k| rounded(number(name, at(k)))).collect()
}

fn tokens<E: Element>(name: &str, count: usize, vocabulary: usize) -> Vec<E> {
    (0..count).map(|k| token(name, k, vocabulary)).collect()
}

#[test]
fn the_cnn_agrees_with_pytorch() {
    let model = mcmahan_cnn::<f32>(Shape(vec![28, 28, 1]), 62).unwrap();
    agrees("cnn", &model, images("cnn input", 3, 28, 1), tokens("cnn target", 3, 62), |k| k);
}

#[test]
fn the_lstm_agrees_with_pytorch() {
    let model = char_lstm::<f32>(CharLstm::PAPER).unwrap();
    // Theirs are example × class × time.
    let place = |k: usize| k / 7200 * 7200 + k % 80 * 90 + k / 80 % 90;
    agrees("lstm", &model, tokens("lstm input", 320, 90), tokens("lstm target", 320, 90), place);
}

#[test]
fn resnets_agree_with_pytorch() {
    for (kind, norm) in [("resnet-group", ResNetNorm::Group(2)), ("resnet-batch", ResNetNorm::Batch)] {
        // In double precision: of half a million ReLUs some stand so close to 0 that rounding decides whether they open.
        let model = resnet18::<f64>(Shape(vec![32, 32, 3]), 10, norm, 64).unwrap();
        agrees(kind, &model, images("resnet input", 4, 32, 3), tokens("resnet target", 4, 10), |k| k);
    }
}

#[test]
fn bert_agrees_with_transformers() {
    let model = bert::<f32>(Bert { dropout: motet_core::Fraction::new(0.0).unwrap(), ..Bert::minilm(12) }, 3).unwrap();
    let mut words: Vec<f32> = tokens::<f32>("bert input", 36, 30_521).iter().map(|t| t + 1.0).collect();
    words[12 + 7..24].fill(0.0);
    agrees("bert", &model, words, tokens("bert target", 3, 3), |k| k);
}
