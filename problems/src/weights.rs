//! Where training starts, if not where the model says.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use motet_core::{Vector, Wire};
use motet_records::{Input, sha256};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Where training starts: a file of parameters, which an experiment file can name, or what a program gives.
///
/// Manifests have the SHA-256 of what a program gave; a file with that in it cannot be run without the program.
#[derive(Clone, Debug, PartialEq)]
pub enum Weights {
    /// A safetensors file with the names of a network's parameters.
    File(PathBuf),
    /// The bytes of such a file.
    Bytes(Arc<[u8]>),
    /// All parameters of any model, in its precision.
    Vector(Vector),
}

impl Weights {
    /// What a program gave, as manifests have it; or the file, which is known when it is read.
    pub(crate) fn input(&self) -> Result<Input, &Path> {
        let of = |name: &str, bytes: &[u8]| Ok(Input { name: name.into(), bytes: bytes.len() as u64, sha256: sha256(bytes) });
        match self {
            Weights::File(path) => Err(path),
            Weights::Bytes(bytes) => of("weights", bytes),
            Weights::Vector(vector) => {
                let mut bytes = Vec::with_capacity(vector.bytes() as usize);
                vector.encode(&mut bytes);
                of("start", &bytes)
            }
        }
    }
}

impl From<PathBuf> for Weights {
    fn from(path: PathBuf) -> Self {
        Weights::File(path)
    }
}

impl From<Vec<u8>> for Weights {
    fn from(bytes: Vec<u8>) -> Self {
        Weights::Bytes(bytes.into())
    }
}

impl From<Vector> for Weights {
    fn from(vector: Vector) -> Self {
        Weights::Vector(vector)
    }
}

impl Serialize for Weights {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.input() {
            Err(path) => path.serialize(to),
            Ok(input) => {
                let mut table = to.serialize_map(Some(3))?;
                table.serialize_entry("given", &input.name)?;
                table.serialize_entry("bytes", &input.bytes)?;
                table.serialize_entry("sha256", &input.sha256)?;
                table.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Weights {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        PathBuf::deserialize(from).map(Weights::File)
    }
}
