//! Every layer and every model against central differences, in double precision.

use motet_core::{Fraction, Rng, Seed};
use motet_nn::layer::{
    Activation, Attention, AveragePool, BatchNorm, Conv2d, Dense, Dropout, Embedding, Flatten, GroupNorm, Layer, LayerNorm, Lstm, MaxPool,
    Pace, Positions, Residual, Summarise, Summary,
};
use motet_nn::zoo::{Bert, CharLstm, ResNetNorm, WordLstm, bert, char_lstm, fedopt_cnn, mcmahan_cnn, mlp, resnet18, softmax, word_lstm};
use motet_nn::{Inputs, Loss, Model, Named, PADDING, Shape, Workspace, named};

/// How inputs and targets of a test look.
#[derive(Clone, Copy, PartialEq)]
enum Data {
    /// Normal numbers, and targets as the loss wants them.
    Numbers,
    /// Tokens below this; the last tokens of every second example are 0, and its last target is padding.
    Tokens(usize),
}

fn fill(model: &Model<f64>, data: Data, examples: usize, rng: &mut Rng) -> Workspace<f64> {
    let mut room = Workspace::default();
    for e in 0..examples {
        let len = model.input().len();
        room.inputs.extend((0..len).map(|t| match data {
            Data::Numbers => rng.normal(),
            Data::Tokens(_) if e % 2 == 1 && t + 1 == len && len > 1 => 0.0,
            Data::Tokens(count) => 1.0 + rng.below(count - 1) as f64,
        }));
        let classes = model.output().last();
        let targets = model.targets();
        room.targets.extend((0..targets).map(|t| match model.loss() {
            Loss::CrossEntropy if e % 2 == 1 && t + 1 == targets && targets > 1 => PADDING,
            Loss::CrossEntropy => rng.below(classes) as f64,
            Loss::OneVsRest => f64::from(u8::from(rng.coin(0.4))),
            Loss::Squared => rng.normal(),
        }));
    }
    room
}

/// The slope along random directions, by the reverse pass and by differences, to 10⁻⁶ of its size. At h = 10⁻⁵ the
/// truncation is of order 10⁻¹⁰ and rounding of order 10⁻¹¹, both relative to numbers of order one.
fn check(about: &str, model: &Model<f64>, data: Data, examples: usize) {
    let mut rng = Seed(11).problem(examples as u64);
    let mut w = model.start(&mut rng);
    // Away from zeros and ones, where slopes may vanish.
    w.iter_mut().for_each(|w| *w += 0.2 * rng.normal());
    let mut room = fill(model, data, examples, &mut rng);
    let share = 1.0 / examples as f64;
    // The same dice each time, so that dropout is a fixed function.
    let inputs = || Inputs { noise: Some(5), share, ..Inputs::default() };
    let mut g = vec![f64::NAN; w.len()];
    let value = model.gradient(&w, inputs(), &mut room, &mut g) * share;
    assert!(value.is_finite() && g.iter().all(|g| g.is_finite()), "{about}: {value}");
    let unkept = model.value(&w, inputs(), &mut room) * share;
    assert_eq!(unkept, value, "{about}: a pass that keeps nothing computes the same");
    let length = g.iter().map(|g| g * g).sum::<f64>().sqrt();
    for trial in 0..4 {
        // One along the gradient itself, the others mixed with noise, so that no coordinate is overlooked.
        let noise = if trial == 0 { 0.0 } else { 1.0 };
        let scale = (w.len() as f64).sqrt();
        let v: Vec<f64> = g.iter().map(|g| g / length.max(1e-300) + noise * rng.normal() / scale).collect();
        // Steep functions bend more: smaller steps.
        let h = 1e-5 / (1.0 + length);
        let mut at = |h: f64| {
            let moved: Vec<f64> = w.iter().zip(&v).map(|(w, v)| w + h * v).collect();
            model.value(&moved, inputs(), &mut room) * share
        };
        let differences = (at(h) - at(-h)) / (2.0 * h);
        let slope: f64 = g.iter().zip(&v).map(|(g, v)| g * v).sum();
        assert!(
            (slope - differences).abs() <= 1e-6 * slope.abs().max(1e-2 * length).max(1e-4),
            "{about}, {examples} examples: {slope} {differences}"
        );
    }
    // Added instead of written: twice the same.
    let mut twice = g.clone();
    model.gradient(&w, Inputs { accumulate: true, ..inputs() }, &mut room, &mut twice);
    let double = g.iter().zip(&twice).all(|(g, t)| (2.0 * g - t).abs() <= 1e-9 * (1.0 + g.abs()));
    assert!(double, "{about}: accumulation");
    // Stepping as the slopes come ends where a step along the gradient does: the same sums, each rounded a few times.
    let (rate, mut stepped) = (0.3, w.clone());
    model.step(&mut stepped, Inputs { share: -rate * share, ..inputs() }, &mut room);
    let largest = g.iter().fold(1.0f64, |largest, g| largest.max(g.abs()));
    let there = w.iter().zip(&g).zip(&stepped).all(|((w, g), s)| (w - rate * g - s).abs() <= 1e-12 * (w.abs() + largest));
    assert!(there, "{about}: a step");
}

fn checks(about: &str, model: Model<f64>, data: Data) {
    for examples in [1, 2, 5] {
        check(about, &model, data, examples);
    }
}

fn model(input: &[usize], layers: Vec<Named<f64>>, loss: Loss) -> Model<f64> {
    Model::new(Shape(input.to_vec()), layers, loss).unwrap()
}

/// The layer between two dense ones, so that slopes of its input and of its parameters are both tested.
fn inside(input: &[usize], layer: Named<f64>) -> Model<f64> {
    let size: usize = input.iter().product();
    let mut layers = vec![named("flat", Flatten), named("before", Dense::new(size))];
    layers.push(named("shape", Reshape(input.to_vec())));
    layers.push(layer);
    layers.extend([named("flat again", Flatten), named("after", Dense::new(2))]);
    model(&[size], layers, Loss::Squared)
}

/// Gives a vector axes again.
#[derive(Debug)]
struct Reshape(Vec<usize>);

impl motet_nn::layer::Layer<f64> for Reshape {
    fn kind(&self) -> &'static str {
        "reshape"
    }
    fn place(&mut self, _: &Shape) -> Result<Shape, String> {
        Ok(Shape(self.0.clone()))
    }
    fn reads(&self) -> motet_nn::layer::Reads {
        motet_nn::layer::Reads::NOTHING
    }
    fn in_place(&self) -> bool {
        true
    }
    fn forward(&self, _: &mut motet_nn::layer::Pass<'_, f64>, _: &[f64], _: &[f64], _: &mut [f64]) {}
    fn backward(&self, _: &mut motet_nn::layer::Pass<'_, f64>, _: &[f64], _: motet_nn::layer::Flow<'_, f64>, _: &mut [f64]) {}
}

#[test]
fn dense_layers_and_activations() {
    checks("dense alone", model(&[3], vec![named("a", Dense::new(1))], Loss::Squared), Data::Numbers);
    for activation in [Activation::Relu, Activation::Tanh, Activation::Sigmoid, Activation::Gelu] {
        checks(&format!("{activation:?}"), inside(&[6], named("act", activation)), Data::Numbers);
        checks(
            &format!("{activation:?} at the end"),
            model(&[4], vec![named("a", Dense::new(3)), named("b", activation)], Loss::Squared),
            Data::Numbers,
        );
        checks(
            &format!("{activation:?} twice"),
            inside(&[6], named("twice", Residual::new(vec![named("", activation), named("", Activation::Tanh)], vec![]))),
            Data::Numbers,
        );
    }
}

#[test]
fn convolutions_and_pools() {
    for (size, stride, padding) in [(1, 1, 0), (3, 1, 1), (3, 2, 1), (2, 2, 0), (5, 1, 2), (5, 3, 4)] {
        let conv = Conv2d::new(3, size).stride(stride).padded(padding);
        checks(&format!("{conv:?}"), inside(&[6, 5, 2], named("conv", conv)), Data::Numbers);
    }
    checks("no bias", inside(&[4, 4, 2], named("conv", Conv2d::new(3, 3).same().plain())), Data::Numbers);
    for size in [1, 2, 3] {
        checks("max", inside(&[6, 5, 2], named("pool", MaxPool::new(size))), Data::Numbers);
        checks("max of relu", inside(&[6, 5, 2], named("pool", MaxPool::new(size).rectified())), Data::Numbers);
        checks("mean", inside(&[6, 5, 2], named("pool", AveragePool::new(size))), Data::Numbers);
    }
    checks("mean of all", inside(&[4, 4, 3], named("pool", AveragePool::whole())), Data::Numbers);
}

/// Every tile, with edges it reaches over, channels that fill no vector, and images that are not square.
#[test]
fn filtered_convolutions() {
    for (size, padding, image) in [(5, 2, [5, 7]), (5, 2, [2, 2]), (3, 1, [5, 4]), (3, 1, [2, 2]), (3, 2, [3, 6]), (5, 1, [6, 5])] {
        let input = [image[0], image[1], 8];
        let mut conv = Conv2d::new(9, size).padded(padding);
        Layer::<f64>::place(&mut conv, &Shape(input.to_vec())).unwrap();
        // Only what is filtered takes all examples at once.
        assert_eq!(Layer::<f64>::pace(&conv), Pace::Whole, "{conv:?}");
        checks(&format!("{conv:?}"), inside(&input, named("conv", conv)), Data::Numbers);
    }
}

#[test]
fn norms() {
    checks("layer norm", inside(&[3, 4], named("norm", LayerNorm::new(1e-5))), Data::Numbers);
    checks("layer norm of a vector", inside(&[7], named("norm", LayerNorm::new(1e-5))), Data::Numbers);
    for groups in [1, 2, 4] {
        checks("group norm", inside(&[3, 2, 4], named("norm", GroupNorm::new(groups))), Data::Numbers);
    }
    for examples in [2, 5] {
        check("batch norm", &inside(&[2, 2, 3], named("norm", BatchNorm::new())), Data::Numbers, examples);
        check("batch norm of a vector", &inside(&[5], named("norm", BatchNorm::new())), Data::Numbers, examples + 1);
    }
}

#[test]
fn dropout_is_a_fixed_function_of_its_dice() {
    let drop = || named("drop", Dropout::new(Fraction::new(0.4).unwrap()));
    checks("dropout", inside(&[9], drop()), Data::Numbers);
    checks("dropout of images", inside(&[4, 4, 2], drop()), Data::Numbers);
    checks("at the head", model(&[5], vec![drop(), named("a", Dense::new(2))], Loss::Squared), Data::Numbers);
}

#[test]
fn sequences() {
    for time in [1, 2, 5] {
        checks("lstm", inside(&[time, 3], named("lstm", Lstm::new(4, 0))), Data::Numbers);
        for heads in [1, 2] {
            checks("attention", inside(&[time, 4], named("attention", Attention::new(heads))), Data::Numbers);
        }
        for how in [Summary::First, Summary::Last, Summary::Mean] {
            checks("summary", inside(&[time, 3], named("summary", Summarise::new(how))), Data::Numbers);
        }
        checks("positions", inside(&[time, 3], named("positions", Positions::new(6, 2))), Data::Numbers);
        let layers = vec![named("embedding", Embedding::new(7, 3)), named("out", Dense::new(4))];
        checks("embedding, padded targets", model(&[time], layers, Loss::CrossEntropy), Data::Tokens(7));
    }
}

#[test]
fn residual_blocks() {
    let conv = |name: &str| named(name, Conv2d::new(2, 3).same());
    let plain = Residual::new(vec![conv("a"), named("r", Activation::Relu), conv("b")], vec![]);
    checks("identity", inside(&[3, 3, 2], named("block", plain)), Data::Numbers);
    let both = Residual::new(vec![named("d", Dense::new(4)), named("t", Activation::Tanh)], vec![named("s", Dense::new(4))]);
    checks("two ways", inside(&[5], named("block", both)), Data::Numbers);
    let normed =
        Residual::new(vec![conv("a"), named("n", BatchNorm::new()), named("r", Activation::Relu)], vec![named("m", BatchNorm::new())]);
    check("over the batch", &inside(&[3, 3, 2], named("block", normed)), Data::Numbers, 4);
}

#[test]
fn losses() {
    for loss in [Loss::CrossEntropy, Loss::OneVsRest, Loss::Squared] {
        for outputs in [1, 2, 11] {
            checks(&format!("{loss:?}"), model(&[3], vec![named("a", Dense::new(outputs))], loss), Data::Numbers);
        }
    }
}

#[test]
fn every_model_of_the_zoo() {
    checks("softmax", softmax(Shape(vec![2, 3]), 4).unwrap(), Data::Numbers);
    checks("softmax, one class", softmax(Shape(vec![3]), 1).unwrap(), Data::Numbers);
    checks("mlp", mlp(1, &[7, 5], 1, Activation::Tanh, Loss::Squared).unwrap(), Data::Numbers);
    checks("mcmahan", mcmahan_cnn(Shape(vec![8, 8, 1]), 5).unwrap(), Data::Numbers);
    checks("fedopt", fedopt_cnn(Shape(vec![8, 8, 1]), 5).unwrap(), Data::Numbers);
    for time in [1, 4] {
        checks("char", char_lstm(CharLstm { vocabulary: 9, embedding: 3, hidden: 5, time }).unwrap(), Data::Tokens(9));
        checks("word", word_lstm(WordLstm { vocabulary: 12, embedding: 3, hidden: 5, time }).unwrap(), Data::Tokens(12));
        let sizes = Bert { vocabulary: 11, hidden: 6, layers: 2, heads: 2, inner: 8, positions: 5, time, ..Bert::minilm(time) };
        checks("bert", bert(sizes, 3).unwrap(), Data::Tokens(11));
    }
    checks("resnet, groups", resnet18(Shape(vec![8, 8, 3]), 3, ResNetNorm::Group(2), 4).unwrap(), Data::Numbers);
    check("resnet, batch", &resnet18(Shape(vec![8, 8, 3]), 3, ResNetNorm::Batch, 2).unwrap(), Data::Numbers, 6);
}
