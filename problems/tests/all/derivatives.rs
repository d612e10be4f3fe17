//! Gradients and Hessian-vector products of every model against differences, on every storage.

// Outside of `#[test]` functions too, a panic is how a test fails.

use std::sync::Arc;

use motet_core::{Batch, Card, Objective, Precision, Rows, Seed, Vector};
use motet_problems::synthetic::Quadratic;
use motet_problems::{Csr, Dataset, Examples, Indices, MODELS, Matrix, ModelConfig, Targets};

const ROWS: usize = 41;
const COLS: usize = 9;

/// One matrix of zeros and ones with empty rows, and one with values, each stored in every way there is.
fn storages() -> Vec<(&'static str, Matrix)> {
    let mut dice = Seed(5).problem(0);
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..ROWS {
        let count = if row % 7 == 3 { 0 } else { 1 + dice.below(COLS - 1) };
        columns.extend(dice.choose(count, COLS));
        values.extend((0..count).map(|_| dice.normal()));
        starts.push(columns.len());
    }
    let ones = Matrix::sparse(COLS, starts.clone(), columns.clone(), vec![1.0; columns.len()]).unwrap();
    let valued = Matrix::sparse(COLS, starts.clone(), columns.clone(), values.clone()).unwrap();
    let wide = |values| Matrix::Sparse(Csr { cols: COLS, starts: starts.clone(), indices: Indices::U32(columns.clone()), values });
    vec![
        ("ones, dense", Matrix::Dense(ones.to_dense())),
        ("ones, index-only", ones),
        ("ones, index-only, wide", wide(None)),
        ("values, dense", Matrix::Dense(valued.to_dense())),
        ("values, sparse", valued),
        ("values, sparse, wide", wide(Some(values))),
    ]
}

fn targets(kind: &str) -> Targets {
    let mut dice = Seed(6).problem(0);
    match kind {
        "ridge" | "mean" => Targets::Numbers((0..ROWS).map(|_| dice.normal()).collect()),
        "logistic" => Targets::Classes { labels: (0..ROWS).map(|_| dice.below(2) as u32).collect(), classes: 2 },
        _ => Targets::Classes { labels: (0..ROWS).map(|_| dice.below(3) as u32).collect(), classes: 3 },
    }
}

/// Every convex model of the list, plain and with all its options.
fn configs() -> Vec<ModelConfig> {
    let with = |name: &str, options: &str| -> ModelConfig { serde_json::from_str(&format!(r#"{{"kind": "{name}"{options}}}"#)).unwrap() };
    let options = |name| if name == "mean" { r#", "average_coordinates": true"# } else { r#", "l2": 0.3, "intercept": true"# };
    // Networks have single precision; they are checked in double precision where they live, in `nn`. One of them has no default.
    let convex = |card: &&Card| card.name != "mlp" && with(card.name, "").precision() == Precision::F64;
    MODELS.cards().filter(convex).flat_map(|card| [with(card.name, ""), with(card.name, options(card.name))]).collect()
}

fn examples(config: &ModelConfig, features: Matrix) -> Arc<Examples> {
    Arc::new(Examples::new(Dataset::new(features, targets(config.card().name))).unwrap())
}

fn point(dim: usize, seed: u64) -> Vector {
    let mut dice = Seed(seed).problem(1);
    Vector::from((0..dim).map(|_| dice.normal()).collect::<Vec<_>>())
}

fn batch(rows: Rows<'_>) -> Batch<'_> {
    Batch { rows, ..Batch::all() }
}

/// Central differences along a random direction: error h² of truncation and ε/h of rounding, below 1e-8 for h = 1e-5.
fn check(f: &dyn Objective, rows: Rows<'_>, what: &str) {
    const H: f64 = 1e-5;
    let (x, v) = (point(f.dim(), 1), point(f.dim(), 2));
    let (mut ahead, mut behind) = (x.clone(), x.clone());
    ahead.axpy(H, &v);
    behind.axpy(-H, &v);
    let gradient_at = |x: &Vector| {
        let mut g = Vector::from(vec![f64::NAN; f.dim()]);
        f.gradient(x, batch(rows), &mut g);
        g
    };
    let g = gradient_at(&x);
    let slope = (f.value(&ahead, batch(rows)) - f.value(&behind, batch(rows))) / (2.0 * H);
    assert!((slope - g.dot(&v)).abs() <= 1e-7 * (1.0 + slope.abs()), "{what}: gradient {} is not {slope}", g.dot(&v));
    let mut product = Vector::from(vec![f64::NAN; f.dim()]);
    f.hessian_vector(&x, &v, batch(rows), &mut product);
    let mut bend = Vector::diff(&gradient_at(&ahead), &gradient_at(&behind));
    bend.scale(0.5 / H);
    assert!(bend.distance2(&product).sqrt() <= 1e-7 * (1.0 + bend.norm()), "{what}: Hessian");
    let mut both = Vector::from(vec![f64::NAN; f.dim()]);
    let value = f.value_gradient(&x, batch(rows), &mut both);
    assert_eq!((value, &both), (f.value(&x, batch(rows)), &g), "{what}: both at once");
}

#[test]
fn derivatives_agree_with_differences_on_every_model_storage_and_batch() {
    for config in configs() {
        for (storage, matrix) in storages() {
            let data = examples(&config, matrix);
            let what = format!("{config:?} on {storage}");
            for client in [0..ROWS, 5..24, 7..8, 10..11, 12..12] {
                let f = config.objective(&data, client.clone()).unwrap();
                assert_eq!((f.dim(), f.samples()), (config.dim(&data).unwrap(), client.len()));
                check(&*f, Rows::All, &what);
                check(&*f, Rows::Only(&[]), &what);
                if client.len() > 2 {
                    check(&*f, Rows::Only(&[2]), &what);
                    check(&*f, Rows::Only(&[1, 0, 1, 3]), &what);
                }
            }
        }
    }
}

#[test]
fn quadratics_have_the_derivatives_of_their_formula() {
    let f = Quadratic::new(vec![3.0, 1.0, -0.5, 1.0, 2.0, 0.0, -0.5, 0.0, 1.0], vec![1.0, -2.0, 0.3]).unwrap();
    check(&f, Rows::All, "quadratic");
}

#[test]
fn storages_of_one_matrix_agree() {
    for config in configs() {
        let results: Vec<(f64, Vector, motet_core::Constants)> = storages()
            .into_iter()
            .map(|(_, matrix)| {
                let data = examples(&config, matrix);
                let f = config.objective(&data, 2..37).unwrap();
                let x = point(f.dim(), 3);
                let mut g = x.zeros_like();
                (f.value_gradient(&x, Batch::all(), &mut g), g, f.constants())
            })
            .collect();
        for same in results.chunks_exact(3) {
            for other in &same[1..] {
                assert!((other.0 - same[0].0).abs() <= 1e-14 * same[0].0.abs(), "{config:?}");
                assert!(other.1.distance2(&same[0].1).sqrt() <= 1e-13 * (1.0 + same[0].1.norm()), "{config:?}");
                let pairs = [(other.2.smoothness, same[0].2.smoothness), (other.2.convexity, same[0].2.convexity)];
                assert!(pairs.iter().all(|(a, b)| (a.unwrap() - b.unwrap()).abs() < 1e-12), "{config:?}");
            }
        }
    }
}

#[test]
fn a_batch_of_all_rows_is_the_whole() {
    let everyone: Vec<u32> = (0..30).collect();
    for config in configs() {
        for (storage, matrix) in storages() {
            let data = examples(&config, matrix);
            let f = config.objective(&data, 4..34).unwrap();
            let x = point(f.dim(), 4);
            let (mut whole, mut listed) = (x.zeros_like(), x.zeros_like());
            f.gradient(&x, Batch::all(), &mut whole);
            f.gradient(&x, Batch::of(&everyone), &mut listed);
            assert!(whole.distance2(&listed).sqrt() <= 1e-14 * (1.0 + whole.norm()), "{config:?}");
            // The fast layout of all rows sums in the order of the plain one.
            if storage.contains("index-only") {
                assert_eq!(whole, listed, "{config:?} on {storage}");
            }
        }
    }
}

#[test]
fn constants_bound_the_curvature_everywhere() {
    for config in configs() {
        for (_, matrix) in storages() {
            let data = examples(&config, matrix);
            let f = config.objective(&data, 0..ROWS).unwrap();
            let constants = f.constants();
            let (upper, lower) = (constants.smoothness.unwrap(), constants.convexity.unwrap());
            assert!(constants.sample_smoothness.unwrap() >= upper * (1.0 - 1e-12), "{config:?}");
            for seed in 0..20 {
                let (mut x, v) = (point(f.dim(), seed), point(f.dim(), 100 + seed));
                x.scale(0.1 * seed as f64);
                let mut product = x.zeros_like();
                f.hessian_vector(&x, &v, Batch::all(), &mut product);
                let curvature = v.dot(&product) / v.norm2();
                assert!(lower * (1.0 - 1e-12) <= curvature && curvature <= upper * (1.0 + 1e-12), "{config:?}: {curvature}");
            }
        }
    }
}

#[test]
fn not_a_number_is_never_hidden() {
    for config in configs() {
        for (_, matrix) in storages() {
            let data = examples(&config, matrix);
            let f = config.objective(&data, 0..ROWS).unwrap();
            let x = Vector::from(vec![f64::NAN; f.dim()]);
            let mut g = x.zeros_like();
            f.gradient(&x, Batch::all(), &mut g);
            assert!(!g.is_finite() && f.value(&x, Batch::all()).is_nan(), "{config:?}");
        }
    }
}

#[test]
fn models_refuse_targets_and_rows_that_do_not_fit() {
    let features = Matrix::dense(1, vec![1.0, 2.0, 3.0]).unwrap();
    let with = |targets| Arc::new(Examples::new(Dataset::new(features.clone(), targets)).unwrap());
    let numbers = with(Targets::Numbers(vec![0.0; 3]));
    let three = with(Targets::Classes { labels: vec![0, 1, 2], classes: 3 });
    let logistic: ModelConfig = serde_json::from_str(r#"{"kind": "logistic"}"#).unwrap();
    let message = |data, rows| logistic.objective(data, rows).err().unwrap().to_string();
    assert!(message(&numbers, 0..3).contains("needs classes as targets"));
    assert!(message(&three, 0..3).contains("needs 2 classes, but there are 3"));
    let softmax: ModelConfig = serde_json::from_str(r#"{"kind": "softmax"}"#).unwrap();
    assert!(softmax.evaluator(&three, 2..4).err().unwrap().to_string().contains("2..4 do not lie within the 3 examples"));
    let misspelt = serde_json::from_str::<ModelConfig>(r#"{"kind": "softmax", "l3": 1}"#).unwrap_err().to_string();
    assert!(misspelt.contains("unknown field `l3`"), "{misspelt}");
}

#[test]
fn names_in_the_list_are_those_of_experiment_files() {
    for config in configs() {
        let written = serde_json::to_value(&config).unwrap();
        assert_eq!(written["kind"], config.card().name);
        assert_eq!(serde_json::from_value::<ModelConfig>(written).unwrap(), config);
    }
}
