//! Final models on disk, in a format every other tool reads.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use motet_core::{ClientId, RunCard, Vector, View};
use safetensors::tensor::{Dtype, TensorView, serialize};

use motet_problems::{ModelConfig, Preparation, Problem, ProblemConfig};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::output::slug;

/// What has to be known to use a model again, beside its numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Passport {
    /// What is fitted.
    pub(crate) model: ModelConfig,
    /// Numbers of an example.
    pub(crate) features: u64,
    /// Classes to tell apart; none if numbers are predicted.
    pub(crate) classes: Option<u32>,
    /// How fields of a table became features, where clients did that by themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) preparation: Option<Arc<Preparation>>,
}

/// Where a passport stands in a file's metadata.
pub(crate) const PASSPORT: &str = "motet";

impl Passport {
    /// Of a problem on examples; none if its clients brought functions of their own.
    pub(crate) fn of(config: &ProblemConfig, problem: &Problem) -> Option<Self> {
        let classes = problem.census.labels.len() as u32;
        Some(Self {
            model: config.model.clone()?,
            features: problem.census.features,
            classes: (classes > 0).then_some(classes),
            preparation: problem.preparation.clone(),
        })
    }
}

/// Writes `models/<run>-<label>-seed<s>.safetensors` with the tensors `shared` and `client.<i>`.
pub(crate) fn save_models(
    folder: &Path,
    card: &RunCard,
    shared: &Vector,
    personal: &[(ClientId, Vector)],
    passport: Option<&Passport>,
) -> Result<(), Error> {
    let folder = folder.join("models");
    let path = folder.join(format!("{}-{}-seed{}.safetensors", card.run, slug(&card.label), card.seed));
    let named = std::iter::once(("shared".to_owned(), shared)).chain(personal.iter().map(|(id, x)| (format!("client.{}", id.0), x)));
    let raw: Vec<(String, Dtype, usize, Vec<u8>)> = named.map(|(name, x)| raw(name, x)).collect();
    let write = || -> std::io::Result<()> {
        let views = raw.iter().map(|(name, dtype, len, bytes)| TensorView::new(*dtype, vec![*len], bytes).map(|view| (name.clone(), view)));
        let views: Vec<_> = views.collect::<Result<_, _>>().map_err(std::io::Error::other)?;
        let passport = passport.map(serde_json::to_string).transpose()?;
        let bytes = serialize(views, passport.map(|text| [(PASSPORT.to_owned(), text)].into())).map_err(std::io::Error::other)?;
        fs::create_dir_all(&folder)?;
        fs::write(&path, bytes)
    };
    write().map_err(|source| Error::Write { path: path.clone(), source })
}

fn raw(name: String, x: &Vector) -> (String, Dtype, usize, Vec<u8>) {
    match x.view() {
        View::F32(v) => (name, Dtype::F32, v.len(), v.iter().flat_map(|v| v.to_le_bytes()).collect()),
        View::F64(v) => (name, Dtype::F64, v.len(), v.iter().flat_map(|v| v.to_le_bytes()).collect()),
    }
}
