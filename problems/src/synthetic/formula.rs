//! Small problems given by formulas, with answers known to many digits.

use std::sync::Arc;

use motet_core::{NonNegative, Objective};

use super::Quadratic;
use crate::dataset::{Dataset, Examples, Targets};
use crate::matrix::{Dense, Matrix};
use crate::model::{Logistic, ModelConfig};

const REGULARISER: f64 = 0.1;

/// Two one-dimensional clients, fᵢ(x) = ½ Aᵢ (x − cᵢ)², A = (1, 2), c = (1, ½).
pub fn q2() -> Vec<Arc<dyn Objective>> {
    clients([(vec![1.0], vec![1.0]), (vec![2.0], vec![0.5])])
}

/// Like [`q2`], with c = (−1, 1).
pub fn q2s() -> Vec<Arc<dyn Objective>> {
    clients([(vec![1.0], vec![-1.0]), (vec![2.0], vec![1.0])])
}

/// Three clients in the plane, one of them not aligned with the axes.
pub fn q3() -> Vec<Arc<dyn Objective>> {
    clients([
        (vec![1.0, 0.0, 0.0, 4.0], vec![1.0, 0.0]),
        (vec![2.0, 0.0, 0.0, 1.0], vec![0.0, 1.0]),
        (vec![3.0, 1.0, 1.0, 2.0], vec![-1.0, 2.0]),
    ])
}

fn clients<const N: usize>(functions: [(Vec<f64>, Vec<f64>); N]) -> Vec<Arc<dyn Objective>> {
    let quadratic = |(a, c)| Arc::new(Quadratic::new(a, c).expect("the formulas are symmetric")) as Arc<dyn Objective>;
    functions.into_iter().map(quadratic).collect()
}

/// Logistic regression (λ = 0.1, no intercept) on formula data: `clients` times `rows` examples in dimension `dim`.
pub fn lrs(clients: usize, rows: usize, dim: usize) -> Vec<Arc<dyn Objective>> {
    let data = Arc::new(Examples::new(lrs_dataset(clients, rows, dim)).expect("the formula gives a label to every row"));
    let model = lrs_model();
    (0..clients).map(|i| model.objective(&data, i * rows..(i + 1) * rows).expect("labels are 0 and 1")).collect()
}

/// The model of [`lrs`].
pub fn lrs_model() -> ModelConfig {
    let l2 = NonNegative::new(REGULARISER).expect("0.1 is positive");
    ModelConfig::new(Logistic { l2, ..Logistic::default() })
}

/// The examples of [`lrs`]: a_{ij,l} = sin(1 + 3i + 5j + 7l) + ½ cos(2i + 3l), b_{ij} = +1 iff sin(11i + 13j) ≥ 0.
pub fn lrs_dataset(clients: usize, rows: usize, dim: usize) -> Dataset {
    let mut values = Vec::with_capacity(clients * rows * dim);
    let mut labels = Vec::with_capacity(clients * rows);
    let mut keys = Vec::with_capacity(clients * rows);
    for i in 0..clients {
        for j in 0..rows {
            let feature = |l: usize| ((1 + 3 * i + 5 * j + 7 * l) as f64).sin() + 0.5 * ((2 * i + 3 * l) as f64).cos();
            values.extend((0..dim).map(feature));
            labels.push(u32::from(((11 * i + 13 * j) as f64).sin() >= 0.0));
            keys.push(i as u32);
        }
    }
    Dataset::new(Matrix::Dense(Dense { cols: dim, values: values.into() }), Targets::Classes { labels, classes: 2 }).from_clients(keys)
}
