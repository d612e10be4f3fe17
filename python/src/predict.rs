//! Saved models on new rows, and models of a run on rows of a program.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use motet::core::Vector;
use motet::predict::{How, SavedModel};
use motet::problems::{Dataset, Examples, Matrix, ModelConfig, Targets};
use numpy::PyArray2;
use pyo3::prelude::*;

use crate::arrays::vector;
use crate::data::Features;
use crate::errors::{exception, wrong};

/// A model out of a file or a bundle.
#[pyclass(frozen, module = "motet._motet")]
pub(crate) struct Model(SavedModel);

#[pymethods]
impl Model {
    #[new]
    fn new(py: Python<'_>, path: PathBuf, client: Option<&str>) -> PyResult<Self> {
        py.detach(|| SavedModel::open(&path, client)).map(Self).map_err(|error| exception(&error))
    }

    /// Applies it to every example of a file: the predictions as JSON, and what the user should know.
    fn predict(&self, py: Python<'_>, data: PathBuf, any_client: bool, explain: bool) -> PyResult<(String, Vec<String>)> {
        let how = How { drop: vec![], any_client, explain, encoding: None };
        let said = Mutex::new(vec![]);
        let say = |text: &str| said.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
        let predictions = py.detach(|| self.0.predict(&data, &how, &say)).map_err(|error| exception(&error))?;
        let text = serde_json::to_string(&predictions.json()).map_err(wrong)?;
        Ok((text, said.into_inner().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// What a model, as experiments write it (JSON), with these numbers says of each row: one column, or one for each class.
#[pyfunction]
pub(crate) fn scores<'py>(
    py: Python<'py>,
    model: &str,
    x: &Bound<'py, PyAny>,
    features: Features<'py>,
    classes: Option<u32>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let model: ModelConfig = serde_json::from_str(model).map_err(wrong)?;
    let (x, features) = (vector(x)?, features.matrix(false)?);
    let rows = py.detach(|| scored(&model, &x, features, classes))?;
    PyArray2::from_vec2(py, &rows).map_err(wrong)
}

/// The scores of each row.
fn scored(model: &ModelConfig, x: &Vector, features: Matrix, classes: Option<u32>) -> PyResult<Vec<Vec<f64>>> {
    let count = features.rows();
    // The answers are not known: any will do, they only say what kind they are.
    let targets = match classes {
        Some(classes) => Targets::Classes { labels: vec![0; count], classes },
        None => Targets::Numbers(vec![0.0; count]),
    };
    let examples = Arc::new(Examples::new(Dataset::new(features, targets)).map_err(wrong)?);
    let dim = model.dim(&examples).map_err(wrong)?;
    if dim != x.len() {
        return Err(wrong(format!("the model has {} numbers, and one for these rows {dim}", x.len())));
    }
    let evaluator = model.evaluator(&examples, 0..count).map_err(wrong)?;
    let name = model.card().name;
    let scores = evaluator.scores(x).ok_or_else(|| wrong(format!("a {name} model makes no predictions for single rows")))?;
    let width = scores.len() / count.max(1);
    Ok(scores.chunks(width.max(1)).map(<[f64]>::to_vec).collect())
}
