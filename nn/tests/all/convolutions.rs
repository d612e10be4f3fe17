//! Networks with convolutions computed in either way: how far their numbers are apart, and what that does to training.

use motet_core::Seed;
use motet_nn::layer::{AveragePool, Conv2d, Convolution, Dense, MaxPool};
use motet_nn::zoo::{ResNetNorm, mcmahan_cnn_of, resnet18_by};
use motet_nn::{Inputs, Loss, Model, Shape, Workspace, named};

/// Images that are a class's pattern and noise, as many as asked for, and their classes.
fn images(model: &Model<f32>, examples: usize, seed: u64) -> Workspace<f32> {
    let (mut patterns, mut noise) = (Seed(5).problem(0), Seed(seed).problem(1));
    let (classes, len) = (model.output().last(), model.input().len());
    let patterns: Vec<f32> = (0..classes * len).map(|_| patterns.normal() as f32).collect();
    let labels: Vec<usize> = (0..examples).map(|_| noise.below(classes)).collect();
    let pixels = labels.iter().flat_map(|label| &patterns[label * len..(label + 1) * len]);
    let inputs = pixels.map(|pattern| 0.5 * pattern + noise.normal() as f32).collect();
    Workspace::of(inputs, labels.iter().map(|label| *label as f32).collect())
}

fn gradient(model: &Model<f32>, w: &[f32], examples: usize) -> Vec<f32> {
    let (mut room, mut g) = (images(model, examples, 1), vec![0.0; w.len()]);
    model.gradient(w, Inputs { share: 1.0 / examples as f64, ..Inputs::default() }, &mut room, &mut g);
    g
}

/// The length of the difference over the length of the first.
fn apart(a: &[f32], b: &[f32]) -> f64 {
    let length = |numbers: &mut dyn Iterator<Item = f64>| numbers.map(|v| v * v).sum::<f64>().sqrt();
    let difference = length(&mut a.iter().zip(b).map(|(a, b)| f64::from(a - b)));
    difference / length(&mut a.iter().map(|a| f64::from(*a)))
}

/// The loss after each of some steps, by batches of their own.
fn curve(model: &Model<f32>, steps: u64, rate: f64, seed: u64) -> Vec<f64> {
    let mut w = model.start(&mut Seed(seed).problem(0));
    let step = |k| {
        let (examples, mut room) = (8, images(model, 8, 1000 * seed + k));
        model.step(&mut w, Inputs { share: -rate / examples as f64, ..Inputs::default() }, &mut room) / f64::from(examples)
    };
    (0..steps).map(step).collect()
}

fn cnn(convolution: Convolution) -> Model<f32> {
    mcmahan_cnn_of(Shape(vec![16, 16, 1]), [16, 32], 64, 5, convolution).unwrap()
}

fn resnet(convolution: Convolution) -> Model<f32> {
    resnet18_by(Shape(vec![16, 16, 3]), 5, ResNetNorm::Group(2), 16, convolution).unwrap()
}

#[test]
fn gradients_of_a_cnn_are_apart_by_rounding_alone() {
    let (exact, fast) = (cnn(Convolution::Exact), cnn(Convolution::Fast));
    let w = exact.start(&mut Seed(1).problem(0));
    let gap = apart(&gradient(&exact, &w, 6), &gradient(&fast, &w, 6));
    assert!(gap > 0.0 && gap < 1e-5, "{gap}");
}

/// Half a million ReLUs, some of which stand so close to 0 that rounding decides whether they open: each one that does moves the
/// gradient by far more than it was itself moved. Weights that move by a millionth have the same effect.
#[test]
fn gradients_of_a_resnet_are_apart_as_if_weights_had_moved_by_a_millionth() {
    let (exact, fast) = (resnet(Convolution::Exact), resnet(Convolution::Fast));
    let w = exact.start(&mut Seed(1).problem(0));
    let moved: Vec<f32> = w.iter().enumerate().map(|(k, w)| w * if k % 2 == 0 { 1.000_001 } else { 0.999_999 }).collect();
    let g = gradient(&exact, &w, 6);
    let (gap, kink) = (apart(&g, &gradient(&fast, &w, 6)), apart(&g, &gradient(&exact, &moved, 6)));
    println!("apart by {gap:.1e}; weights moved by a millionth: {kink:.1e}");
    assert!(gap > 0.0 && gap < 2e-3, "{gap} {kink}");
    assert!(gap < 20.0 * kink.max(1e-6), "{gap} {kink}");
}

#[test]
fn training_curves_agree_within_the_noise_of_seeds() {
    for (build, steps, rate) in [(cnn as fn(Convolution) -> Model<f32>, 40, 0.05), (resnet, 8, 0.005)] {
        let models = [Convolution::Exact, Convolution::Fast].map(build);
        let ends: Vec<[f64; 2]> = (1..=5)
            .map(|seed| {
                let curves = [0, 1].map(|k| curve(&models[k], steps, rate, seed));
                // The mean of the last quarter: single batches are noise.
                curves.map(|curve| curve[curve.len() * 3 / 4..].iter().sum::<f64>() / (curve.len() - curve.len() * 3 / 4) as f64)
            })
            .collect();
        let mean = |k: usize| ends.iter().map(|end| end[k]).sum::<f64>() / 5.0;
        let spread = (ends.iter().map(|end| (end[0] - mean(0)).powi(2)).sum::<f64>() / 4.0).sqrt();
        println!("exact {:.4}, fast {:.4}, deviation over seeds {spread:.4}: {ends:.4?}", mean(0), mean(1));
        assert!((mean(0) - mean(1)).abs() < spread, "{ends:?}");
        // One seed may part ways where rounding decides a ReLU or a maximum, and then differs as another seed would.
        assert!(ends.iter().all(|end| (end[0] - end[1]).abs() < 3.0 * spread), "{ends:?} {spread}");
        assert!(ends.iter().flatten().all(|end| end.is_finite()));
    }
}

/// All pixels equal, so that windows tie: the first pixel wins, whatever rounding does to equal numbers, since equal tiles round
/// equally. An image of zeros is one.
#[test]
fn ties_of_max_pooling_and_images_of_zeros_behave() {
    let model = |convolution| {
        let conv = |name, channels| named(name, Conv2d::new(channels, 3).same().by(convolution));
        let layers = vec![
            conv("a", 8),
            named("pool", MaxPool::new(2)),
            conv("b", 8),
            named("mean", AveragePool::whole()),
            named("out", Dense::new(3)),
        ];
        Model::<f32>::new(Shape(vec![8, 8, 8]), layers, Loss::CrossEntropy).unwrap()
    };
    let (exact, fast) = (model(Convolution::Exact), model(Convolution::Fast));
    let w = exact.start(&mut Seed(2).problem(0));
    for value in [0.0f32, 1.0] {
        let slopes = |model: &Model<f32>| {
            let mut g = vec![0.0; w.len()];
            let mut room = Workspace::of(vec![value; 2 * model.input().len()], vec![0.0, 2.0]);
            model.gradient(&w, Inputs { share: 0.5, ..Inputs::default() }, &mut room, &mut g);
            g
        };
        let (a, b) = (slopes(&exact), slopes(&fast));
        assert!(b.iter().all(|g| g.is_finite()));
        let gap = apart(&a, &b);
        println!("all pixels {value}: {gap:.1e}");
        // A field of zeros has one value everywhere: no window can be decided by rounding.
        assert!(gap < if value == 0.0 { 1e-6 } else { 0.5 }, "{value}: {gap}");
    }
}
