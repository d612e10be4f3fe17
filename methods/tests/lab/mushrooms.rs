//! MUSH8: LIBSVM's mushrooms in eight contiguous blocks, d = 113 with the intercept, λ = 0.1.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use motet_problems::{Dataset, Examples, Matrix, ModelConfig, Targets};

use super::Clients;

const CLIENTS: usize = 8;

/// The clients, a label of the file being positive if `positive` says so; none if the file is not here.
pub fn mush8(smoothness: &str, positive: fn(u32) -> bool) -> Option<Clients> {
    let (features, labels) = read()?;
    let labels: Vec<u32> = labels.into_iter().map(|label| u32::from(positive(label))).collect();
    let data = Arc::new(Examples::new(Dataset { features, targets: Targets::Classes { labels, classes: 2 }, keys: None }).unwrap());
    let model = serde_json::json!({ "kind": "logistic", "l2": 0.1, "intercept": true, "smoothness": smoothness });
    let model: ModelConfig = serde_json::from_value(model).unwrap();
    // array_split: the first four blocks have one row more.
    let start = |i: usize| i * (data.len() / CLIENTS) + i.min(data.len() % CLIENTS);
    Some((0..CLIENTS).map(|i| model.objective(&data, start(i)..start(i + 1)).unwrap()).collect())
}

/// Features, all of them 1, and labels 1 or 2.
fn read() -> Option<(Matrix, Vec<u32>)> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let folder = std::env::var_os("MOTET_DATA").map_or_else(beside, PathBuf::from);
    let Ok(file) = std::fs::File::open(folder.join("libsvm/mushrooms.gz")) else {
        eprintln!("note: libsvm/mushrooms.gz is not in the data folder (MOTET_DATA): nothing was checked");
        return None;
    };
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let (mut labels, mut starts, mut columns) = (vec![], vec![0], vec![]);
    for line in text.lines() {
        let mut words = line.split_whitespace();
        labels.push(words.next().unwrap().parse().unwrap());
        columns.extend(words.map(|word| word.split_once(':').unwrap().0.parse::<u32>().unwrap() - 1));
        starts.push(columns.len());
    }
    let ones = vec![1.0; columns.len()];
    Some((Matrix::sparse(112, starts, columns, ones).unwrap(), labels))
}
