//! Networks with convolutions computed in either way: how far their numbers are apart, and what that does to training.

use motet_core::Seed;
use motet_nn::layer::{Activation, AveragePool, Conv2d, Convolution, Dense, Flow, Layer, MaxPool, Pace, Pass, Reads};
use motet_nn::zoo::{ResNetNorm, mcmahan_cnn_of, resnet18_by};
use motet_nn::{Count, Inputs, Loss, Model, Parameter, Shape, Workspace, named};

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
    assert!(gap > 0.0 && gap < 6e-4, "{gap} {kink}");
    assert!(gap < 20.0 * kink.max(1e-6), "{gap} {kink}");
}

/// Losses of two ways to compute the same network, seed by seed.
struct Pairs {
    exact: Vec<Vec<f64>>,
    other: Vec<Vec<f64>>,
}

/// Why two ways are not the same.
#[derive(Debug, PartialEq, Eq)]
enum Apart {
    /// A curve has other losses from its beginning, where rounding has not yet decided a ReLU.
    Early,
    /// In the end the losses may differ by more than seeds do.
    Late,
}

impl Pairs {
    const SEEDS: u64 = 5;
    /// Of Student's distribution with four degrees of freedom: 95 % lie within.
    const STUDENT: f64 = 2.776;

    fn of(exact: &Model<f32>, other: &Model<f32>, steps: u64, rate: f64) -> Self {
        let curves = |model| (1..=Self::SEEDS).map(|seed| curve(model, steps, rate, seed)).collect();
        Self { exact: curves(exact), other: curves(other) }
    }

    /// Are the ways the same? The first five losses agree to a ten-thousandth. After that rounding decides a ReLU or a maximum here and
    /// there, and curves part; but the mean difference in the end, seed by seed, has a 95 % interval that lies within one deviation of
    /// what seeds do.
    fn judge(&self) -> Judgement {
        let early = self.exact.iter().zip(&self.other).flat_map(|(a, b)| a.iter().zip(b).take(5)).map(|(a, b)| (a - b).abs());
        // The mean of the last quarter: single batches are noise.
        let end = |curve: &Vec<f64>| mean(&curve[curve.len() * 3 / 4..]);
        let exact: Vec<f64> = self.exact.iter().map(end).collect();
        let differences: Vec<f64> = self.other.iter().map(end).zip(&exact).map(|(other, exact)| other - exact).collect();
        let half = Self::STUDENT * deviation(&differences) / (Self::SEEDS as f64).sqrt();
        let (middle, noise) = (mean(&differences), deviation(&exact));
        let judged = if !early.clone().all(|gap| gap < 1e-4) {
            Err(Apart::Early)
        } else if middle.abs() + half < noise {
            Ok(())
        } else {
            Err(Apart::Late)
        };
        let said = format!(
            "early {:.1e}; in the end {:.4}, differences {middle:.4} ± {half:.4}, deviation over seeds {noise:.4}",
            early.fold(0.0, f64::max),
            mean(&exact)
        );
        Judgement { judged, said }
    }
}

/// With the numbers it rests on.
struct Judgement {
    judged: Result<(), Apart>,
    said: String,
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

fn deviation(numbers: &[f64]) -> f64 {
    let middle = mean(numbers);
    (numbers.iter().map(|v| (v - middle).powi(2)).sum::<f64>() / (numbers.len() - 1) as f64).sqrt()
}

#[test]
fn training_curves_agree_within_the_noise_of_seeds() {
    for (build, steps, rate) in [(cnn as fn(Convolution) -> Model<f32>, 40, 0.05), (resnet, 8, 0.005)] {
        let [exact, fast] = [Convolution::Exact, Convolution::Fast].map(build);
        let Judgement { judged, said } = Pairs::of(&exact, &fast, steps, rate).judge();
        println!("{said}");
        assert_eq!(judged, Ok(()), "{said}");
    }
}

/// A convolution with a fault such as a wrong number in one of the three transforms would have.
#[derive(Debug)]
struct Faulty(Conv2d, Fault);

#[derive(Clone, Copy, Debug)]
enum Fault {
    /// The last row of every tile of the output is a hundredth too large.
    Output,
    /// So are the slopes of what came in.
    Slopes,
    /// Slopes of the weights are too small by half.
    Weights,
}

impl Layer<f32> for Faulty {
    fn kind(&self) -> &'static str {
        "faulty convolution"
    }
    fn place(&mut self, input: &Shape) -> Result<Shape, String> {
        Layer::<f32>::place(&mut self.0, input)
    }
    fn parameters(&self) -> Vec<Parameter> {
        Layer::<f32>::parameters(&self.0)
    }
    fn pace(&self) -> Pace {
        Pace::Whole
    }
    fn reads(&self) -> Reads {
        Reads::INPUT
    }
    fn scratch(&self, examples: usize) -> Count {
        Layer::<f32>::scratch(&self.0, examples)
    }
    fn forward(&self, pass: &mut Pass<'_, f32>, w: &[f32], x: &[f32], y: &mut [f32]) {
        self.0.forward(pass, w, x, y);
        if let Fault::Output = self.1 {
            // Images of 8 x 8 x 32: rows 3 and 7.
            y.chunks_exact_mut(8 * 32).skip(3).step_by(4).flatten().for_each(|y| *y *= 1.01);
        }
    }
    fn backward(&self, pass: &mut Pass<'_, f32>, w: &[f32], flow: Flow<'_, f32>, g: &mut [f32]) {
        let Flow { x, y, dy, dx } = flow;
        let mut dx = dx;
        self.0.backward(pass, w, Flow { x, y, dy, dx: dx.as_deref_mut() }, g);
        match (self.1, dx) {
            (Fault::Slopes, Some(dx)) => dx.chunks_exact_mut(8 * 16).skip(3).step_by(4).flatten().for_each(|dx| *dx *= 1.01),
            (Fault::Weights, _) => g.iter_mut().for_each(|g| *g *= 0.5),
            _ => {}
        }
    }
}

#[test]
fn a_wrong_transform_is_seen_in_the_curves() {
    for fault in [Fault::Output, Fault::Slopes, Fault::Weights] {
        let layers = vec![
            named("conv1", Conv2d::new(16, 5).same()),
            named("pool1", MaxPool::new(2).rectified()),
            named("conv2", Faulty(Conv2d::new(32, 5).same(), fault)),
            named("pool2", MaxPool::new(2).rectified()),
            named("fc1", Dense::new(64)),
            named("relu", Activation::Relu),
            named("fc2", Dense::new(5)),
        ];
        let faulty = Model::new(Shape(vec![16, 16, 1]), layers, Loss::CrossEntropy).unwrap();
        let Judgement { judged, said } = Pairs::of(&cnn(Convolution::Exact), &faulty, 12, 0.05).judge();
        println!("{fault:?}: {said}");
        assert_eq!(judged, Err(Apart::Early), "{fault:?}: {said}");
    }
    // A way that learns less is seen in the end as well, were its beginning left out.
    let (exact, steps) = (cnn(Convolution::Exact), 40);
    let mut pairs = Pairs::of(&exact, &exact, steps, 0.05);
    assert_eq!(pairs.judge().judged, Ok(()), "the same twice");
    let slow = (1..=Pairs::SEEDS).map(|seed| curve(&exact, steps, 0.02, seed));
    for (other, slow) in pairs.other.iter_mut().zip(slow) {
        other[5..].copy_from_slice(&slow[5..]);
    }
    let Judgement { judged, said } = pairs.judge();
    println!("a rate of 0.02 instead of 0.05: {said}");
    assert_eq!(judged, Err(Apart::Late), "{said}");
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
