//! What models promise besides their slopes.

use motet_core::Seed;
use motet_nn::layer::{BatchNorm, Conv2d, Dense};
use motet_nn::zoo::{Bert, CharLstm, ResNetNorm, WordLstm, bert, char_lstm, fedopt_cnn, mcmahan_cnn, resnet18, word_lstm};
use motet_nn::{Inputs, Loss, Model, Shape, Workspace, named};

#[test]
fn models_have_the_sizes_their_papers_state() {
    // McMahan et al.: 1,663,370 parameters for 10 classes; Reddi et al.: 1,206,590 with 62 (table 4), 820,522 (table 8),
    // 4,050,748 (table 9).
    assert_eq!(mcmahan_cnn::<f32>(Shape(vec![28, 28, 1]), 10).unwrap().dim(), 1_663_370);
    assert_eq!(fedopt_cnn::<f32>(Shape(vec![28, 28, 1]), 62).unwrap().dim(), 1_206_590);
    assert_eq!(char_lstm::<f32>(CharLstm::PAPER).unwrap().dim(), 820_522);
    assert_eq!(word_lstm::<f32>(WordLstm::PAPER).unwrap().dim(), 4_050_748);
    // PyTorch's resnet18 with a 3 x 3 first convolution and ten classes.
    assert_eq!(resnet18::<f32>(Shape(vec![32, 32, 3]), 10, ResNetNorm::Batch, 64).unwrap().dim(), 11_173_962);
    assert_eq!(resnet18::<f32>(Shape(vec![24, 24, 3]), 100, ResNetNorm::Group(2), 64).unwrap().dim(), 11_220_132);
    // 22,713,216 of all-MiniLM-L6-v2 without its pooler (147,840), and a head of 385 numbers a class.
    assert_eq!(bert::<f32>(Bert::minilm(64), 2).unwrap().dim(), 22_713_216 - 147_840 + 2 * 385);
}

#[test]
fn a_layer_that_does_not_fit_is_named() {
    let wrong = |input: &[usize], layer| Model::<f32>::new(Shape(input.to_vec()), vec![layer], Loss::Squared).unwrap_err().to_string();
    assert_eq!(
        wrong(&[4, 4, 1], named("conv1", Conv2d::new(8, 5))),
        "layer `conv1` (convolution) has a kernel of 5 x 5, which does not fit into 4 x 4 x 1 with padding 0"
    );
    assert_eq!(
        wrong(&[7], named("conv1", Conv2d::new(8, 5))),
        "layer `conv1` (convolution) needs images (height x width x channels), but is given 7"
    );
    assert_eq!(wrong(&[7], named("last", Dense::new(0))), "layer `last` (dense) has 0 outputs, but needs at least 1");
}

#[test]
fn starts_depend_on_the_seed_alone() {
    let model = fedopt_cnn::<f32>(Shape(vec![8, 8, 1]), 3).unwrap();
    let start = |seed| model.start(&mut Seed(seed).problem(0));
    assert_eq!(start(1), start(1));
    assert_ne!(start(1), start(2));
}

#[test]
fn running_statistics_follow_the_batches_and_serve_evaluation() {
    let model: Model<f64> = Model::new(Shape(vec![1]), vec![named("norm", BatchNorm::new())], Loss::Squared).unwrap();
    let (w, mut buffers, mut g) = (vec![1.0, 0.0], model.buffers(), vec![0.0; 2]);
    assert_eq!(buffers, [0.0, 1.0]);
    let mut room = Workspace::of(vec![1.0, 3.0, 5.0], vec![0.0; 3]);
    for _ in 0..400 {
        let inputs = Inputs { share: 1.0, buffers: Some(&mut buffers), ..Inputs::default() };
        model.gradient(&w, inputs, &mut room, &mut g);
    }
    // Mean 3 and unbiased variance 4; 0.9⁴⁰⁰ of the start is left.
    assert!((buffers[0] - 3.0).abs() < 1e-12 && (buffers[1] - 4.0).abs() < 1e-12, "{buffers:?}");
    let scores = model.scores(&w, Some(&mut buffers), &mut room).to_vec();
    assert!((scores[2] - 2.0 / 4.00001f64.sqrt()).abs() < 1e-12);
    assert_eq!(buffers.len(), 2);
}

#[test]
fn smaller_batches_after_larger_ones_are_not_disturbed() {
    let model = fedopt_cnn::<f32>(Shape(vec![8, 8, 1]), 3).unwrap();
    let mut rng = Seed(3).problem(0);
    let w = model.start(&mut rng);
    let image: Vec<f32> = (0..64).map(|_| rng.normal() as f32).collect();
    let mut fresh = Workspace::of(image.clone(), vec![]);
    let alone = model.scores(&w, None, &mut fresh).to_vec();
    let mut used = Workspace::of((0..64 * 9).map(|_| rng.normal() as f32).collect(), vec![]);
    model.scores(&w, None, &mut used);
    used.inputs = image;
    assert_eq!(model.scores(&w, None, &mut used), alone);
}
