//! Sizes of what flows between layers.

use crate::count::Count;

/// The axes of one example: `[28, 28, 1]` an image (height, width, channels), `[80, 8]` a sequence, `[512]` a vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape(pub Vec<usize>);

impl Shape {
    /// How many numbers, if they can be counted.
    pub fn count(&self) -> Count {
        Count::product(&self.0)
    }

    /// How many numbers.
    ///
    /// # Panics
    /// If no memory can hold so many. The shapes within a [`Chain`](crate::Chain) or a [`Model`](crate::Model) were checked.
    pub fn len(&self) -> usize {
        self.count().known()
    }

    /// No numbers at all?
    pub fn is_empty(&self) -> bool {
        self.0.contains(&0)
    }

    /// The last axis: features of a position, channels of a pixel.
    pub fn last(&self) -> usize {
        self.0.last().copied().unwrap_or(1)
    }

    /// Height, width, channels.
    pub(crate) fn image(&self) -> Result<[usize; 3], String> {
        <[usize; 3]>::try_from(self.0.as_slice()).map_err(|_| format!("needs images (height x width x channels), but is given {self}"))
    }

    /// Time, features.
    pub(crate) fn sequence(&self) -> Result<[usize; 2], String> {
        <[usize; 2]>::try_from(self.0.as_slice()).map_err(|_| format!("needs sequences (time x features), but is given {self}"))
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let axes: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&if axes.is_empty() { "nothing".into() } else { axes.join(" x ") })
    }
}

/// A layer that does not fit what comes before it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("layer `{layer}` ({kind}) {reason}")]
pub struct Misfit {
    /// Its name in the model.
    pub layer: String,
    /// What kind of layer it is.
    pub kind: &'static str,
    /// What is wrong.
    pub reason: String,
}
