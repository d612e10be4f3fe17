//! Sizes that nobody can hold, or that wrap when they are multiplied, are a typed error wherever a user can give them.

use motet_core::{Fraction, Seed};
use motet_nn::layer::{
    Activation, Attention, AveragePool, BatchNorm, Conv2d, Convolution, Dense, Dropout, Embedding, Flatten, GroupNorm, LayerNorm, Lstm,
    MaxPool, Positions, Residual, Summarise, Summary,
};
use motet_nn::zoo::{Bert, CharLstm, ResNetNorm, WordLstm, bert, char_lstm, fedopt_cnn, mcmahan_cnn_of, mlp, resnet18, softmax, word_lstm};
use motet_nn::{Init, Inputs, Loss, Misfit, Model, Named, Shape, Workspace, named};
use proptest::prelude::*;

/// Small sizes, and such whose products wrap, to zero or to something that looks small.
fn size() -> impl Strategy<Value = usize> {
    let extreme = vec![1 << 16, 1 << 31, 1 << 32, (1 << 32) + 1, 1 << 61, (1 << 61) + 1, 1 << 62, 1 << 63, usize::MAX - 1, usize::MAX];
    prop_oneof![6 => 0usize..7, 1 => prop::sample::select(extreme)]
}

/// Layer number `kind` with these sizes.
fn layer(kind: usize, a: usize, b: usize, c: usize) -> Named<f32> {
    match kind {
        0 => named("dense", Dense::new(a)),
        1 => named("conv", Conv2d::new(a, b).padded(c)),
        2 => named("conv", Conv2d::new(a, b).same().stride(c)),
        3 => named("conv", Conv2d::new(a, b).plain().starting(Init::He(c))),
        4 => named("pool", MaxPool::new(a)),
        5 => named("pool", AveragePool::new(a)),
        6 => named("pool", AveragePool::whole()),
        7 => named("group", GroupNorm::new(a)),
        8 => named("layer", LayerNorm::new(1e-5)),
        9 => named("batch", BatchNorm::new()),
        10 => named("lstm", Lstm::new(a, 0)),
        11 => named("embedding", Embedding::new(a, b)),
        12 => named("attention", Attention::new(a)),
        13 => named("positions", Positions::new(a, b)),
        14 => named("summary", Summarise::new(Summary::Mean)),
        15 => named("drop", Dropout::new(Fraction::new(0.5).unwrap())),
        16 => named("flat", Flatten),
        17 => named("dense", Dense::new(a).starting(Init::Orthogonal(b))),
        18 => named("dense", Dense::new(a).starting(Init::ForgetOne)),
        19 => named("dense", Dense::new(a).starting(Init::Glorot(b, c))),
        20 => named("block", Residual::new(vec![named("conv", Conv2d::new(a, b).same())], vec![named("one", Conv2d::new(a, c))])),
        21 => named("block", Residual::new(vec![named("lstm", Lstm::new(a, 0))], vec![])),
        _ => named("gelu", Activation::Gelu),
    }
}

/// A model that was built has the parameters that its blocks have, counted without wrapping; a small one can be trained.
fn holds(built: Result<Model<f32>, Misfit>) {
    let Ok(model) = built else { return };
    let blocks = model.parameters().iter().map(|block| block.layout.shape().iter().map(|axis| *axis as u128).product::<u128>());
    assert_eq!(blocks.sum::<u128>(), model.dim() as u128);
    let numbers = |shape: &Shape| shape.0.iter().map(|axis| *axis as u128).product::<u128>();
    assert!(numbers(model.input()) > 0 && numbers(model.output()) > 0);
    // Attention over 65,536 positions fits into no memory: its room grows as their square.
    if model.dim() > 100_000 || numbers(model.input()).max(numbers(model.output())) > 1_000 {
        return;
    }
    let w = model.start(&mut Seed(1).problem(0));
    let mut room = Workspace::of(vec![0.5; 2 * model.input().len()], vec![0.0; 2 * model.targets()]);
    let mut g = vec![0.0; w.len()];
    model.gradient(&w, Inputs { share: 0.5, ..Inputs::default() }, &mut room, &mut g);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn layers_of_any_sizes_fit_or_say_why_not(
        input in prop::collection::vec(size(), 0..4), kinds in prop::array::uniform2(0usize..23), sizes in prop::array::uniform6(size()),
    ) {
        let [a, b, c, d, e, f] = sizes;
        holds(Model::new(Shape(input), vec![layer(kinds[0], a, b, c), layer(kinds[1], d, e, f)], Loss::Squared));
    }

    #[test]
    fn networks_of_any_sizes_fit_or_say_why_not(image in prop::array::uniform3(size()), sizes in prop::array::uniform6(size())) {
        let ([a, b, c, d, e, f], image) = (sizes, Shape(image.to_vec()));
        holds(mlp(a, &[b, c], d, Activation::Relu, Loss::Squared));
        holds(mlp(a, &[b], c, Activation::Tanh, Loss::CrossEntropy));
        holds(softmax(image.clone(), a));
        holds(mcmahan_cnn_of(image.clone(), [a, b], c, d, Convolution::Fast));
        holds(fedopt_cnn(image.clone(), a));
        holds(resnet18(image.clone(), a, ResNetNorm::Group(b), c));
        holds(resnet18(image, a, ResNetNorm::Batch, b));
        holds(char_lstm(CharLstm { vocabulary: a, embedding: b, hidden: c, time: d }));
        holds(word_lstm(WordLstm { vocabulary: a, embedding: b, hidden: c, time: d }));
        let dropout = Fraction::new(0.1).unwrap();
        let sizes = Bert { vocabulary: a, hidden: b, layers: c, heads: d, inner: e, positions: f, time: f, summary: Summary::First, dropout };
        holds(bert(sizes, 2));
    }
}

#[test]
fn sizes_that_wrap_are_named_with_their_layer() {
    let text = |built: Result<Model<f32>, Misfit>| built.unwrap_err().to_string();
    // 2⁶¹ + 1 channels doubled three times are eight, if nobody looks.
    let resnet = text(resnet18(Shape(vec![8, 8, 3]), 2, ResNetNorm::Group(1), (1 << 61) + 1));
    assert!(resnet.starts_with("layer `conv1` (convolution) has a width of 2305843009213693953"), "{resnet}");
    // 2³² · 2³² is zero.
    let mlp = text(mlp(3, &[1 << 32, 1 << 32], 2, Activation::Relu, Loss::CrossEntropy));
    assert_eq!(mlp, "layer `layer1` (dense) has too large a block `weight`: a model has at most 4294967295 parameters");
    let lstm = text(char_lstm(CharLstm { hidden: 1 << 62, ..CharLstm::PAPER }));
    assert_eq!(lstm, "layer `lstm` (lstm) has 4611686018427387904 hidden numbers, which no memory can hold");
    let start = text(Model::new(Shape(vec![3]), vec![named("out", Dense::new(5).starting(Init::Orthogonal(7)))], Loss::Squared));
    assert_eq!(start, "layer `out` (dense) has a block `weight` of 15 numbers, which cannot start as Orthogonal(7)");
    let input = text(softmax(Shape(vec![1 << 32, 1 << 32]), 2));
    assert!(input.contains("4294967296 x 4294967296 numbers on one side"), "{input}");
    let layers = text(bert(Bert { layers: usize::MAX, ..Bert::minilm(8) }, 2));
    assert!(layers.contains("at most 1000 are built"), "{layers}");
}

#[test]
#[should_panic(expected = "examples are whole")]
fn a_part_of_an_example_is_refused() {
    let model: Model<f32> = mlp(3, &[], 2, Activation::Relu, Loss::CrossEntropy).unwrap();
    model.scores(&vec![0.0; model.dim()], None, &mut Workspace::of(vec![0.0; 4], vec![]));
}

#[test]
#[should_panic(expected = "every example has its targets")]
fn examples_without_targets_have_no_gradient() {
    let model: Model<f32> = mlp(3, &[], 2, Activation::Relu, Loss::CrossEntropy).unwrap();
    let (w, mut g) = (vec![0.0; model.dim()], vec![0.0; model.dim()]);
    model.gradient(&w, Inputs { share: 0.5, ..Inputs::default() }, &mut Workspace::of(vec![0.0; 6], vec![1.0]), &mut g);
}
