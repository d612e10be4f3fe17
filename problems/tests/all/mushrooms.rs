//! MUSH8 of ALGORITHMS sections 0 and 1 on the real file, in both modes.

// Outside of `#[test]` functions too, a panic is how a test fails.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use motet_core::{Batch, Objective};
use motet_problems::reference::{Part, minimise};
use motet_problems::{Dataset, Examples, Matrix, ModelConfig, Targets};

const CLIENTS: usize = 8;

/// The rows of LIBSVM's mushrooms: labels 1 and 2, all values 1.
fn mushrooms() -> Option<(Matrix, Vec<u32>)> {
    let folder =
        std::env::var_os("MOTET_DATA").map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"), PathBuf::from);
    let Ok(file) = std::fs::File::open(folder.join("libsvm/mushrooms.gz")) else {
        println!("mushrooms.gz is not in the data folder: nothing was checked");
        return None;
    };
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let (mut labels, mut starts, mut columns) = (Vec::new(), vec![0], Vec::new());
    for line in text.lines() {
        let mut words = line.split_whitespace();
        labels.push(words.next().unwrap().parse().unwrap());
        columns.extend(words.map(|word| word.split_once(':').unwrap().0.parse::<u32>().unwrap() - 1));
        starts.push(columns.len());
    }
    let ones = vec![1.0; columns.len()];
    Some((Matrix::sparse(112, starts, columns, ones).unwrap(), labels))
}

/// Eight contiguous clients; a label of the file is positive if `positive` says so.
fn clients(smoothness: &str, positive: fn(u32) -> bool) -> Option<Vec<Arc<dyn Objective>>> {
    let (features, labels) = mushrooms()?;
    let targets = Targets::Classes { labels: labels.into_iter().map(|l| u32::from(positive(l))).collect(), classes: 2 };
    let data = Arc::new(Examples::new(Dataset::new(features, targets)).unwrap());
    let model = format!(r#"{{"kind": "logistic", "l2": 0.1, "intercept": true, "smoothness": "{smoothness}"}}"#);
    let model: ModelConfig = serde_json::from_str(&model).unwrap();
    // The first four blocks have one row more.
    let start = |i: usize| i * (data.len() / CLIENTS) + i.min(data.len() % CLIENTS);
    Some((0..CLIENTS).map(|i| model.objective(&data, start(i)..start(i + 1)).unwrap()).collect())
}

fn smoothness(clients: &[Arc<dyn Objective>]) -> Vec<f64> {
    clients.iter().map(|f| f.constants().smoothness.unwrap()).collect()
}

fn best_for_all(clients: &[Arc<dyn Objective>]) -> f64 {
    let parts: Vec<Part> = clients.iter().map(|f| Part { alpha: 1.0, local: None, objective: &**f }).collect();
    let best = minimise(&parts, 0).unwrap();
    assert!(best.exact, "{}", best.how);
    best.value
}

/// To the digits printed.
fn printed(ours: f64, theirs: f64, digits: i32) {
    assert!((ours - theirs).abs() <= 0.5001 * 10f64.powi(-digits), "{ours} is not {theirs}");
}

#[test]
fn the_authors_mode_reproduces_the_released_notebooks() {
    let Some(clients) = clients("author", |_| true) else { return };
    let expected = [
        (238, 0.073031),
        (228, 0.074744),
        (285, 0.069724),
        (215, 0.077027),
        (241, 0.075840),
        (192, 0.083168),
        (274, 0.072510),
        (209, 0.082769),
    ];
    let smoothness = smoothness(&clients);
    printed(1.0 / smoothness[0], 0.27568335862462, 14);
    printed(1.0 / (smoothness.iter().sum::<f64>() / 8.0 / 0.1).sqrt(), 0.16883865479367, 14);
    for ((f, smoothness), (iterations, value)) in clients.iter().zip(&smoothness).zip(expected) {
        let mut x = motet_core::Vector::zeros(f.dim(), f.precision());
        let mut g = x.zeros_like();
        let mut taken = 0;
        loop {
            f.gradient(&x, Batch::all(), &mut g);
            x.axpy(-1.0 / smoothness, &g);
            taken += 1;
            if g.norm() < 1e-6 {
                break;
            }
        }
        assert_eq!(taken, iterations);
        printed(f.value(&x, Batch::all()), value, 6);
    }
    printed(best_for_all(&clients), 0.084863436, 9);
}

#[test]
fn the_corrected_mode_has_the_constants_of_the_specification() {
    let Some(clients) = clients("spectral", |label| label == 1) else { return };
    assert_eq!((clients[0].samples(), clients[7].samples(), clients[0].dim()), (1016, 1015, 113));
    let smoothness = smoothness(&clients);
    for (ours, theirs) in smoothness.iter().zip([3.727325, 3.577047, 4.120312, 3.454602, 3.792295, 2.995391, 4.044850, 3.151763]) {
        printed(*ours, theirs, 6);
    }
    printed(smoothness.iter().sum::<f64>() / 8.0, 3.607948311791, 12);
    printed(best_for_all(&clients), 0.344245441, 9);
    let local: Vec<_> = clients.iter().map(|f| minimise(&[Part { alpha: 1.0, local: None, objective: &**f }], 0).unwrap().x).collect();
    // One-shot average with weights Lᵢ/ΣL, V the weighted spread around it, D the largest squared distance.
    let mut mean = motet_core::Mean::like(&local[0]);
    local.iter().zip(&smoothness).for_each(|(x, l)| mean.add(*l, x));
    let (total, mean) = (mean.weight(), mean.finish());
    printed(local.iter().zip(&smoothness).map(|(x, l)| l / total * x.distance2(&mean)).sum(), 1.009380843, 9);
    let farthest = local.iter().flat_map(|a| local.iter().map(|b| a.distance2(b))).fold(0.0, f64::max);
    printed(farthest, 3.897508435, 9);
}
