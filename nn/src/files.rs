//! Parameters in files that other tools read: safetensors, with PyTorch's names and layouts.

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};

use crate::element::Element;
use crate::model::Model;
use crate::parameter::Layout;

/// What is wrong with a file of parameters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// It is no such file.
    #[error("not a safetensors file: {0}")]
    Unreadable(String),
    /// A block is missing.
    #[error("there is no tensor `{name}` in the file; it has {there}")]
    Missing {
        /// The name as it was given.
        name: String,
        /// What there is instead.
        there: String,
    },
    /// A block has another shape.
    #[error("tensor `{name}` has shape {found:?}, but the model needs {wanted:?}")]
    Shape {
        /// The name as it was given.
        name: String,
        /// In the file.
        found: Vec<usize>,
        /// In the model.
        wanted: Vec<usize>,
    },
    /// Only numbers of four bytes are read.
    #[error("tensor `{name}` has numbers of type {kind}, but only F32 is read")]
    Type {
        /// The name as it was given.
        name: String,
        /// In the file.
        kind: String,
    },
}

impl<E: Element> Model<E> {
    /// A safetensors file of these parameters.
    ///
    /// # Panics
    /// If the vector is not one of this model.
    pub fn to_safetensors(&self, w: &[E]) -> Result<Vec<u8>, FileError> {
        assert_eq!(w.len(), self.dim(), "parameters are those of the model");
        let (mut blocks, mut from) = (Vec::new(), 0);
        for parameter in self.parameters() {
            let mut bytes = vec![0; 4 * parameter.numbers()];
            for (k, v) in w[from..from + parameter.numbers()].iter().enumerate() {
                let at = 4 * parameter.layout.theirs(k);
                bytes[at..at + 4].copy_from_slice(&(v.wide() as f32).to_le_bytes());
            }
            from += parameter.numbers();
            if let Layout::Halved { len, second } = &parameter.layout {
                blocks.push((beside(&parameter.name, second), vec![*len], vec![0; 4 * len]));
            }
            blocks.push((parameter.name.clone(), parameter.layout.shape(), bytes));
        }
        let odd = |e: safetensors::SafeTensorError| FileError::Unreadable(e.to_string());
        let views = blocks.iter().map(|(name, shape, bytes)| Ok((name, TensorView::new(Dtype::F32, shape.clone(), bytes).map_err(odd)?)));
        safetensors::serialize(views.collect::<Result<Vec<_>, FileError>>()?, None).map_err(odd)
    }

    /// The parameters in a safetensors file; tensors of other names are passed over.
    pub fn from_safetensors(&self, bytes: &[u8]) -> Result<Vec<E>, FileError> {
        self.read_safetensors(bytes, None)
    }

    /// As [`Model::from_safetensors`]; blocks that the file does not have are taken from `start`, as for a new head on a
    /// trained body.
    ///
    /// # Panics
    /// If `start` is not a vector of this model.
    pub fn read_safetensors(&self, bytes: &[u8], start: Option<&[E]>) -> Result<Vec<E>, FileError> {
        let file = SafeTensors::deserialize(bytes).map_err(|e| FileError::Unreadable(e.to_string()))?;
        assert!(start.is_none_or(|start| start.len() == self.dim()), "the start is one of the model");
        let mut w = Vec::with_capacity(self.dim());
        for parameter in self.parameters() {
            let own = start.map(|start| &start[w.len()..w.len() + parameter.numbers()]);
            let mut values = match (numbers(&file, &parameter.name, &parameter.layout.shape()), own) {
                (Err(FileError::Missing { .. }), Some(own)) => {
                    w.extend_from_slice(own);
                    continue;
                }
                (values, _) => values?,
            };
            if let Layout::Halved { len, second } = &parameter.layout {
                for (v, second) in values.iter_mut().zip(numbers(&file, &beside(&parameter.name, second), &[*len])?) {
                    *v += second;
                }
            }
            w.extend((0..parameter.numbers()).map(|k| E::of(f64::from(values[parameter.layout.theirs(k)]))));
        }
        Ok(w)
    }
}

/// The same name but for its last part.
fn beside(name: &str, last: &str) -> String {
    name.rsplit_once('.').map_or_else(|| last.to_owned(), |(front, _)| format!("{front}.{last}"))
}

fn numbers(file: &SafeTensors<'_>, name: &str, wanted: &[usize]) -> Result<Vec<f32>, FileError> {
    let tensor = file.tensor(name).map_err(|_| {
        let mut there: Vec<&str> = file.names().into_iter().collect();
        there.sort_unstable();
        there.truncate(8);
        FileError::Missing { name: name.into(), there: format!("{} …", there.join(", ")) }
    })?;
    if tensor.dtype() != Dtype::F32 {
        return Err(FileError::Type { name: name.into(), kind: format!("{:?}", tensor.dtype()) });
    }
    if tensor.shape() != wanted {
        return Err(FileError::Shape { name: name.into(), found: tensor.shape().to_vec(), wanted: wanted.to_vec() });
    }
    Ok(tensor.data().as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect())
}
