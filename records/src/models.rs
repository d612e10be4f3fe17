//! Final models: in memory, and in files that every other tool reads (safetensors).
//!
//! A file holds the tensors `shared` and `client.<i>`; what has to be known to use them again stands in its metadata, as the
//! program that trained them wrote it.

use motet_core::{ClientId, Vector, View};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, SafeTensorError, TensorView, serialize};

/// The models that a run ended with.
#[derive(Clone, Debug, PartialEq)]
pub struct Models {
    /// Which run of the experiment.
    pub run: usize,
    /// The server's model.
    pub shared: Vector,
    /// Those that clients deploy, in rising order of clients.
    pub personal: Vec<(ClientId, Vector)>,
    /// What has to be known to use the numbers again, as JSON, where anything is known.
    pub passport: Option<String>,
}

/// Where a passport stands in a file's metadata.
pub(crate) const PASSPORT: &str = "motet";
pub(crate) const SHARED: &str = "shared";

/// Why a model cannot be taken out of a file.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// Not safetensors.
    #[error("not a file of models: {0}")]
    Format(#[from] SafeTensorError),
    /// The file has models, but not this one.
    #[error("has no model of client {client}: there are {clients}, counted from 0")]
    Unknown {
        /// Who was asked for.
        client: u32,
        /// How many clients have one.
        clients: usize,
    },
    /// The file has no shared model.
    #[error("has no shared model")]
    NotShared,
    /// Something else than a model's numbers.
    #[error("{name} is {dtype:?}, not numbers of 32 or 64 bits")]
    Kind {
        /// The tensor.
        name: String,
        /// What it holds.
        dtype: Dtype,
    },
}

impl Models {
    /// The model of a client, or the shared one.
    pub fn model(&self, client: Option<ClientId>) -> Option<&Vector> {
        let Some(client) = client else { return Some(&self.shared) };
        let place = self.personal.binary_search_by_key(&client, |(id, _)| *id).ok()?;
        Some(&self.personal[place].1)
    }

    /// The bytes of a file.
    pub fn encode(&self) -> Result<Vec<u8>, ModelError> {
        let named = self.personal.iter().map(|(id, x)| (format!("client.{}", id.0), x));
        let raw: Vec<(String, Dtype, usize, Vec<u8>)> =
            std::iter::once((SHARED.to_owned(), &self.shared)).chain(named).map(|(name, x)| raw(name, x)).collect();
        let views = raw.iter().map(|(name, dtype, len, bytes)| TensorView::new(*dtype, vec![*len], bytes).map(|view| (name.clone(), view)));
        let views: Vec<_> = views.collect::<Result<_, _>>()?;
        Ok(serialize(views, self.passport.clone().map(|text| [(PASSPORT.to_owned(), text)].into()))?)
    }

    /// All models of a file's bytes.
    pub fn decode(run: usize, bytes: &[u8]) -> Result<Self, ModelError> {
        let file = ModelFile::new(bytes)?;
        let personal = file.clients().into_iter().map(|id| Ok((id, file.model(Some(id))?))).collect::<Result<_, ModelError>>()?;
        Ok(Self { run, shared: file.model(None)?, personal, passport: file.passport })
    }
}

pub(crate) fn raw(name: String, x: &Vector) -> (String, Dtype, usize, Vec<u8>) {
    match x.view() {
        View::F32(v) => (name, Dtype::F32, v.len(), v.iter().flat_map(|v| v.to_le_bytes()).collect()),
        View::F64(v) => (name, Dtype::F64, v.len(), v.iter().flat_map(|v| v.to_le_bytes()).collect()),
    }
}

/// The bytes of a file of models, from which single ones are taken.
pub struct ModelFile<'a> {
    tensors: SafeTensors<'a>,
    /// What has to be known to use the models, as JSON, where the file says it.
    pub passport: Option<String>,
}

impl<'a> ModelFile<'a> {
    /// Reads the list of what is in it.
    pub fn new(bytes: &'a [u8]) -> Result<Self, ModelError> {
        let (_, about) = SafeTensors::read_metadata(bytes)?;
        let passport = about.metadata().as_ref().and_then(|all| all.get(PASSPORT)).cloned();
        Ok(Self { tensors: SafeTensors::deserialize(bytes)?, passport })
    }

    /// Whose models are in it, in rising order.
    pub fn clients(&self) -> Vec<ClientId> {
        let number = |name: &&str| name.strip_prefix("client.")?.parse::<u32>().ok();
        let mut clients: Vec<ClientId> = self.tensors.names().iter().filter_map(number).map(ClientId).collect();
        clients.sort_unstable();
        clients
    }

    /// The model of a client, or the shared one.
    pub fn model(&self, client: Option<ClientId>) -> Result<Vector, ModelError> {
        let name = client.map_or_else(|| SHARED.to_owned(), |client| format!("client.{}", client.0));
        let tensor = self.tensors.tensor(&name).map_err(|_| match client {
            Some(client) => ModelError::Unknown { client: client.0, clients: self.clients().len() },
            None => ModelError::NotShared,
        })?;
        let data = tensor.data();
        match tensor.dtype() {
            Dtype::F32 => Ok(data.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect::<Vec<f32>>().into()),
            Dtype::F64 => Ok(data.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect::<Vec<f64>>().into()),
            dtype => Err(ModelError::Kind { name, dtype }),
        }
    }
}
