//! Networks on data: what they share with every other objective, and what only they have.

use std::sync::Arc;

use motet_core::{Batch, Objective, Precision, Rows, Seed, Slot, Update, Vector, Wire};
use motet_problems::{Dataset, Dense, Examples, Folders, Matrix, ModelConfig, Problem, ProblemConfig, Single, Targets};
use serde_json::json;

fn model(config: serde_json::Value) -> ModelConfig {
    serde_json::from_value(config).unwrap()
}

fn numbers(count: usize) -> Vec<f64> {
    let mut rng = Seed(4).problem(0);
    (0..count).map(|_| f64::from(rng.normal() as f32)).collect()
}

fn classes(rows: usize, cols: usize, classes: u32) -> Arc<Examples> {
    let labels = (0..rows as u32).map(|k| k * 7 % classes).collect();
    let features = Matrix::Dense(Dense { cols, values: numbers(rows * cols).into() });
    Arc::new(Examples::new(Dataset::new(features, Targets::Classes { labels, classes })).unwrap())
}

fn gradient(f: &dyn Objective, x: &Vector, batch: Batch<'_>) -> Vector {
    let mut g = x.zeros_like();
    f.gradient(x, batch, &mut g);
    g
}

/// Relative distance of two vectors.
fn apart(a: &Vector, b: &Vector) -> f64 {
    (a.distance2(b) / a.norm2().max(1e-30)).sqrt()
}

#[test]
fn all_examples_are_the_mean_of_their_batches() {
    // 70 examples are three passes of at most 32.
    let data = classes(70, 64, 3);
    let f = model(json!({"kind": "cnn", "channels": [2, 3], "hidden": 5})).objective(&data, 0..70).unwrap();
    assert_eq!(f.precision(), Precision::F32);
    let x = f.start();
    let whole = gradient(&*f, &x, Batch::all());
    let (mut mean, mut value) = (x.zeros_like(), 0.0);
    for from in (0..70).step_by(7) {
        let rows: Vec<u32> = (from..from + 7).collect();
        mean.axpy(0.1, &gradient(&*f, &x, Batch::of(&rows)));
        value += 0.1 * f.value(&x, Batch::of(&rows));
    }
    // Sums of single-precision numbers in another order.
    assert!(apart(&whole, &mean) < 1e-5, "{}", apart(&whole, &mean));
    assert!((value - f.value(&x, Batch::all())).abs() < 1e-6);
    let mut g = x.zeros_like();
    assert!((f.value_gradient(&x, Batch::all(), &mut g) - value).abs() < 1e-6);
    assert_eq!(g, whole);
}

#[test]
fn storage_does_not_matter() {
    let (rows, cols) = (6, 10);
    let values = numbers(rows * cols);
    let single = Single { cols, values: values.iter().map(|&v| v as f32).collect() };
    let starts = (0..=rows).map(|r| r * cols).collect();
    let columns = (0..rows * cols).map(|k| (k % cols) as u32).collect();
    let storages = [
        Matrix::Dense(Dense { cols, values: values.clone().into() }),
        Matrix::Single(single),
        Matrix::sparse(cols, starts, columns, values).unwrap(),
    ];
    let gradients = storages.map(|features| {
        let targets = Targets::Numbers((0..rows).map(|k| k as f64).collect());
        let data = Arc::new(Examples::new(Dataset::new(features, targets)).unwrap());
        let f = model(json!({"kind": "mlp", "sizes": [4], "activation": "tanh"})).objective(&data, 0..rows).unwrap();
        gradient(&*f, &f.start(), Batch::all())
    });
    assert_eq!(gradients[0], gradients[1]);
    assert_eq!(gradients[0], gradients[2]);
}

#[test]
fn a_hessian_by_differences_is_symmetric_and_right_along_the_gradient() {
    let data = classes(20, 6, 3);
    let f = model(json!({"kind": "mlp", "sizes": [5], "activation": "tanh"})).objective(&data, 0..20).unwrap();
    let x = f.start();
    let mut rng = Seed(8).problem(0);
    let mut random = || Vector::from((0..x.len()).map(|_| rng.normal() as f32).collect::<Vec<_>>());
    let (u, v) = (random(), random());
    let (mut hu, mut hv) = (x.zeros_like(), x.zeros_like());
    f.hessian_vector(&x, &u, Batch::all(), &mut hu);
    f.hessian_vector(&x, &v, Batch::all(), &mut hv);
    // Differences of single-precision gradients know about three digits.
    assert!((u.dot(&hv) - v.dot(&hu)).abs() < 3e-3 * u.norm() * hv.norm(), "{} {}", u.dot(&hv), v.dot(&hu));
    // (g(x + t u) − g(x))/t → Hu, with a step a hundred times larger than the one inside.
    let t = 0.02;
    let (mut ahead, mut behind) = (x.clone(), x.clone());
    ahead.axpy(t, &u);
    behind.axpy(-t, &u);
    let mut expect = Vector::diff(&gradient(&*f, &ahead, Batch::all()), &gradient(&*f, &behind, Batch::all()));
    expect.scale(0.5 / t);
    assert!(apart(&expect, &hu) < 2e-2, "{}", apart(&expect, &hu));
}

#[test]
fn dropout_follows_the_noise_of_the_batch_and_rests_in_evaluation() {
    let data = classes(8, 64, 3);
    let f = model(json!({"kind": "cnn-dropout"})).objective(&data, 0..8).unwrap();
    let x = f.start();
    let noise = |round| Some(Seed(1).noise(Slot { round, attempt: 0, exchange: 0 }, motet_core::ClientId(0)));
    let at = |noise| gradient(&*f, &x, Batch { noise, ..Batch::all() });
    assert_eq!(at(noise(1)), at(noise(1)));
    assert_ne!(at(noise(1)), at(noise(2)));
    assert_ne!(at(noise(1)), at(None));
    assert_eq!(f.value(&x, Batch { noise: noise(1), ..Batch::all() }), f.value(&x, Batch::all()));
}

#[test]
fn running_statistics_are_the_clients_own() {
    let data = classes(8, 64, 3);
    let f = model(json!({"kind": "resnet18", "norm": "batch", "width": 2})).objective(&data, 0..8).unwrap();
    let (x, start) = (f.start(), f.buffers().unwrap());
    let mut buffers = start.clone();
    let mut g = x.zeros_like();
    f.gradient(&x, Batch { buffers: Some(&mut buffers), ..Batch::all() }, &mut g);
    assert_ne!(buffers, start);
    let trained = buffers.clone();
    let own = f.value(&x, Batch { buffers: Some(&mut buffers), ..Batch::all() });
    assert_eq!(buffers, trained, "evaluation changes nothing");
    assert_ne!(own, f.value(&x, Batch::all()), "evaluation looks at them");
    assert!(model(json!({"kind": "resnet18", "width": 2})).objective(&data, 0..8).unwrap().buffers().is_none());
}

#[test]
fn exams_count_right_answers_and_near_ones() {
    // A network without hidden layers whose scores are the features themselves.
    let features =
        Matrix::Single(Single { cols: 6, values: vec![9., 1., 2., 3., 4., 5., 0., 1., 2., 3., 4., 5., 5., 5., 0., 0., 0., 0.].into() });
    let targets = Targets::Classes { labels: vec![0, 0, 1], classes: 6 };
    let data = Arc::new(Examples::new(Dataset::new(features, targets)).unwrap());
    let evaluator = model(json!({"kind": "mlp", "sizes": []})).evaluator(&data, 0..3).unwrap();
    let identity: Vec<f32> = (0..42).map(|k| f32::from(u8::from(k < 36 && k % 7 == 0))).collect();
    let metrics = evaluator.metrics(&Vector::from(identity), None);
    // The second has five classes ahead of it, the third one tie that goes to the class before it.
    assert_eq!(metrics[1], ("accuracy", 1.0 / 3.0));
    assert_eq!(metrics[2], ("top_5", 2.0 / 3.0));
    let loss = |scores: &[f64], y: usize| scores.iter().map(|s| s.exp()).sum::<f64>().ln() - scores[y];
    let expect = (loss(&[9., 1., 2., 3., 4., 5.], 0) + loss(&[0., 1., 2., 3., 4., 5.], 0) + loss(&[5., 5., 0., 0., 0., 0.], 1)) / 3.0;
    assert!((metrics[0].1 - expect).abs() < 1e-6);
}

#[test]
fn data_that_do_not_fit_are_told_what_would() {
    let says = |config: serde_json::Value, data: &Arc<Examples>| model(config).objective(data, 0..1).err().unwrap().to_string();
    let data = classes(3, 10, 2);
    assert_eq!(
        says(json!({"kind": "cnn"}), &data),
        "model `cnn` takes images, but 10 features an example are not square images with 1 or 3 channels; give `image = [height, width, channels]`"
    );
    assert!(says(json!({"kind": "cnn", "image": [3, 3, 1]}), &data).contains("are not 3 x 3 x 1 numbers"));
    assert!(says(json!({"kind": "cnn", "image": [5, 2, 1]}), &data).contains("layer `pool2` (max pooling) has windows of 2 x 2"));
    assert!(
        says(json!({"kind": "char-lstm", "vocabulary": 4}), &data)
            .starts_with("model `char-lstm` takes tokens from 0 to 3, but example 0 has")
    );
    assert!(says(json!({"kind": "mlp", "sizes": [0]}), &data).contains("layer `layer1` (dense) has 0 outputs"));
}

#[test]
fn every_network_learns_from_a_made_up_source() {
    let images = |side: u32| json!({"kind": "synthetic-images", "clients": 2, "examples": 12, "side": side, "classes": 3, "signal": 2.0});
    let text = json!({"kind": "synthetic-text", "clients": 2, "examples": 8, "length": 6, "vocabulary": 5, "noise": 0.1});
    let small = json!({"kind": "bert", "vocabulary": 5, "hidden": 8, "layers": 1, "heads": 2, "inner": 16});
    for (source, model, step) in [
        (images(8), json!({"kind": "mlp", "sizes": [8]}), 0.1),
        (images(8), json!({"kind": "cnn", "channels": [2, 4], "hidden": 8}), 0.1),
        (images(8), json!({"kind": "cnn-dropout"}), 0.05),
        (images(8), json!({"kind": "resnet18", "width": 4}), 0.05),
        (images(8), json!({"kind": "resnet18", "width": 4, "norm": "batch"}), 0.05),
        (text.clone(), json!({"kind": "char-lstm", "vocabulary": 5, "hidden": 8}), 4.0),
        (text.clone(), json!({"kind": "word-lstm", "vocabulary": 5, "embedding": 4, "hidden": 8, "padding": null}), 1.0),
        (text, small, 0.1),
    ] {
        let config: ProblemConfig = serde_json::from_value(json!({"source": source, "model": model})).unwrap();
        let problem = Problem::build_from(&config, &Folders::beside(std::path::Path::new(".")), 1).unwrap();
        let f = &problem.shards[0].train;
        let (mut x, mut g) = (problem.start().into_owned(), problem.start().zeros_like());
        let first = f.value(&x, Batch::all());
        for _ in 0..100 {
            f.gradient(&x, Batch { rows: Rows::All, ..Batch::all() }, &mut g);
            x.axpy(-step, &g);
        }
        let last = f.value(&x, Batch::all());
        assert!(last < 0.8 * first, "{model}: {first} to {last}");
    }
}

#[test]
fn tags_touch_only_the_rows_of_their_words() {
    let config: ProblemConfig = serde_json::from_value(json!({
        "source": {"kind": "synthetic-tags", "clients": 2, "examples": 9, "words": 60, "tags": 7},
        "model": {"kind": "tags"},
    }))
    .unwrap();
    let problem = Problem::build_from(&config, &Folders::beside(std::path::Path::new(".")), 1).unwrap();
    let f = &problem.shards[0].train;
    let mut rng = Seed(5).problem(0);
    let x = Vector::from((0..f.dim()).map(|_| 0.3 * rng.normal() as f32).collect::<Vec<_>>());
    let Update::Rows(_) = f.update(&x, Batch::of(&[3])) else { panic!("few rows are touched") };
    // One text has at most twelve words, and the bias is a row.
    let bits = f.update(&x, Batch::of(&[3])).bits();
    assert!(bits <= 13 * (32 + 7 * 32), "{bits}");
    let dense = gradient(&**f, &x, Batch::all());
    assert!(apart(&dense, &f.update(&x, Batch::all()).into_dense(Precision::F32)) == 0.0);
    // Central differences along the gradient, in single precision.
    let h = 1e-2 / dense.norm();
    let (mut ahead, mut behind) = (x.clone(), x.clone());
    ahead.axpy(h, &dense);
    behind.axpy(-h, &dense);
    let slope = (f.value(&ahead, Batch::all()) - f.value(&behind, Batch::all())) / (2.0 * h);
    assert!((slope / dense.norm2() - 1.0).abs() < 1e-3, "{slope} {}", dense.norm2());
    let evaluator = problem.shards[0].train_evaluator.as_ref().unwrap();
    let metric = |x: &Vector| evaluator.metrics(x, None)[1];
    let (mut better, before) = (problem.start().into_owned(), metric(&problem.start()).1);
    for _ in 0..200 {
        f.update(&better.clone(), Batch::all()).add_to(-2.0, &mut better);
    }
    assert!(metric(&better) == ("recall_at_5", 1.0) && before < 1.0, "{before}");
}

#[test]
fn a_network_starts_at_the_weights_of_a_file_that_fits_it() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, hidden: usize, outputs: usize| {
        let model =
            motet_nn::zoo::mlp::<f32>(5, &[hidden], outputs, motet_nn::layer::Activation::Relu, motet_nn::Loss::CrossEntropy).unwrap();
        let w = model.start(&mut Seed(99).problem(1));
        std::fs::write(folder.path().join(name), model.to_safetensors(&w).unwrap()).unwrap();
        w
    };
    let trained = put("trained.safetensors", 4, 3);
    put("wider.safetensors", 7, 3);
    std::fs::write(folder.path().join("none.safetensors"), b"no such thing").unwrap();
    let build = |classes: u32, model: serde_json::Value, weights: Option<&str>| {
        let source = json!({"kind": "synthetic", "clients": 2, "examples": 6, "features": 5, "classes": classes, "heterogeneity": 0.0});
        let config = json!({"source": source, "model": model, "weights": weights});
        let config: ProblemConfig = serde_json::from_value(config).unwrap();
        Problem::build_from(&config, &Folders::new(folder.path().into(), None), 1)
    };
    let network = || json!({"kind": "mlp", "sizes": [4]});
    let whole = build(3, network(), Some("trained.safetensors")).unwrap();
    assert_eq!(whole.start().f32s(), trained);
    // A client that solves on its own begins there too, and the file is on record.
    assert_eq!(whole.shards[0].train.start().f32s(), trained);
    assert_eq!(whole.inputs.last().unwrap().name, "trained.safetensors");
    // A program that has the file in memory gives its bytes.
    let source = json!({"kind": "synthetic", "clients": 2, "examples": 6, "features": 5, "classes": 3, "heterogeneity": 0.0});
    let config: ProblemConfig = serde_json::from_value(json!({"source": source, "model": network()})).unwrap();
    let bytes = std::fs::read(folder.path().join("trained.safetensors")).unwrap();
    let given = ProblemConfig { weights: Some(bytes.into()), ..config.clone() };
    let given = Problem::build(&given, folder.path(), 1).unwrap();
    assert_eq!((&*given.start(), &given.shards[0].train.start()), (&*whole.start(), &*whole.start()));
    assert_eq!(given.inputs.last().unwrap().sha256, whole.inputs.last().unwrap().sha256);
    let torn = ProblemConfig { weights: Some(b"no such thing".to_vec().into()), ..config };
    assert!(Problem::build(&torn, folder.path(), 1).err().unwrap().to_string().contains("not a safetensors file"));
    let dice = build(3, network(), None).unwrap();
    assert_ne!(dice.start(), whole.start());

    let refused = |classes, model, weights| build(classes, model, Some(weights)).err().unwrap().to_string();
    assert!(refused(3, network(), "wider.safetensors").contains("`layer1.weight` has shape [7, 5], but the model needs [4, 5]"));
    assert!(refused(3, network(), "none.safetensors").contains("not a safetensors file"));
    assert!(refused(3, network(), "absent.safetensors").contains("absent.safetensors"));
    assert!(refused(3, json!({"kind": "softmax"}), "trained.safetensors").contains("`weights` is for networks"));
    // Another head: its shape is wrong, which is told rather than guessed at.
    assert!(refused(2, network(), "trained.safetensors").contains("layer2.weight"));
}
