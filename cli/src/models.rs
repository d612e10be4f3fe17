//! Final models on disk, in a format every other tool reads.

use std::fs;
use std::path::Path;

use motet_core::{ClientId, RunCard, Vector, View};
use safetensors::tensor::{Dtype, TensorView, serialize};

use crate::error::Error;
use crate::output::slug;

/// Writes `models/<run>-<label>-seed<s>.safetensors` with the tensors `shared` and `client.<i>`.
pub(crate) fn save_models(folder: &Path, card: &RunCard, shared: &Vector, personal: &[(ClientId, Vector)]) -> Result<(), Error> {
    let folder = folder.join("models");
    let path = folder.join(format!("{}-{}-seed{}.safetensors", card.run, slug(&card.label), card.seed));
    let named = std::iter::once(("shared".to_owned(), shared)).chain(personal.iter().map(|(id, x)| (format!("client.{}", id.0), x)));
    let raw: Vec<(String, Dtype, usize, Vec<u8>)> = named.map(|(name, x)| raw(name, x)).collect();
    let write = || -> std::io::Result<()> {
        let views = raw.iter().map(|(name, dtype, len, bytes)| TensorView::new(*dtype, vec![*len], bytes).map(|view| (name.clone(), view)));
        let views: Vec<_> = views.collect::<Result<_, _>>().map_err(std::io::Error::other)?;
        let bytes = serialize(views, None).map_err(std::io::Error::other)?;
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
