//! The parts of a flat parameter vector, and how other tools lay them out.

use crate::count::Count;
use crate::init::Init;

/// One named block of a model's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// As in a safetensors file: `conv1.weight`.
    pub name: String,
    /// How the others lay it out. It also says how many numbers there are.
    pub layout: Layout,
    /// Where it starts.
    pub init: Init,
}

impl Parameter {
    /// Laid out alike everywhere.
    pub fn plain(name: &str, shape: &[usize], init: Init) -> Self {
        Self { name: name.into(), layout: Layout::Same(shape.to_vec()), init }
    }

    /// A matrix of inputs × outputs, which others have transposed.
    pub fn matrix(name: &str, inputs: usize, outputs: usize, init: Init) -> Self {
        Self { name: name.into(), layout: Layout::Transposed { inputs, outputs }, init }
    }

    /// How many numbers, in ours and theirs.
    ///
    /// # Panics
    /// If no memory can hold so many. The blocks of a [`Model`](crate::Model) were checked.
    pub fn numbers(&self) -> usize {
        self.layout.count().known()
    }
}

/// How PyTorch lays out a block that we keep as our products want it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The same, with this shape.
    Same(Vec<usize>),
    /// Ours inputs × outputs, theirs outputs × inputs.
    Transposed {
        /// Rows of ours.
        inputs: usize,
        /// Columns of ours.
        outputs: usize,
    },
    /// Ours height × width × inputs × outputs, theirs outputs × inputs × height × width.
    Kernel {
        /// Height and width.
        size: usize,
        /// Channels in.
        inputs: usize,
        /// Channels out.
        outputs: usize,
    },
    /// A matrix after a flattened image: ours (height, width, channel) × outputs, theirs outputs × (channel, height, width).
    Flattened {
        /// Height × width.
        pixels: usize,
        /// Of each pixel.
        channels: usize,
        /// Columns of ours.
        outputs: usize,
    },
    /// As `Same`, but of a bias that others split in two; the second part, of this name, is zero in our files.
    Halved {
        /// Its length.
        len: usize,
        /// Name of the second part.
        second: String,
    },
}

impl Layout {
    /// How many numbers, in ours and theirs.
    pub fn count(&self) -> Count {
        match self {
            Layout::Same(shape) => Count::product(shape),
            Layout::Transposed { inputs, outputs } => Count::product(&[*inputs, *outputs]),
            Layout::Kernel { size, inputs, outputs } => Count::product(&[*size, *size, *inputs, *outputs]),
            Layout::Flattened { pixels, channels, outputs } => Count::product(&[*pixels, *channels, *outputs]),
            Layout::Halved { len, .. } => Count::of(*len),
        }
    }

    /// Their shape.
    ///
    /// # Panics
    /// If the numbers cannot be counted.
    pub fn shape(&self) -> Vec<usize> {
        match self {
            Layout::Same(shape) => shape.clone(),
            Layout::Transposed { inputs, outputs } => vec![*outputs, *inputs],
            Layout::Kernel { size, inputs, outputs } => vec![*outputs, *inputs, *size, *size],
            Layout::Flattened { pixels, channels, outputs } => vec![*outputs, Count::product(&[*pixels, *channels]).known()],
            Layout::Halved { len, .. } => vec![*len],
        }
    }

    /// Where our k-th number is in theirs; k is below the count, which a model has checked.
    pub fn theirs(&self, k: usize) -> usize {
        match self {
            Layout::Same(_) | Layout::Halved { .. } => k,
            Layout::Transposed { inputs, outputs } => k % outputs * inputs + k / outputs,
            Layout::Kernel { size, inputs, outputs } => {
                let (pixel, rest) = (k / (inputs * outputs), k % (inputs * outputs));
                (rest % outputs * inputs + rest / outputs) * size * size + pixel
            }
            Layout::Flattened { pixels, channels, outputs } => {
                let (row, output) = (k / outputs, k % outputs);
                output * pixels * channels + row % channels * pixels + row / channels
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layout_is_a_permutation() {
        let layouts = [
            Layout::Same(vec![24]),
            Layout::Transposed { inputs: 4, outputs: 6 },
            Layout::Kernel { size: 2, inputs: 3, outputs: 2 },
            Layout::Flattened { pixels: 4, channels: 3, outputs: 2 },
        ];
        for layout in layouts {
            let mut seen: Vec<usize> = (0..24).map(|k| layout.theirs(k)).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..24).collect::<Vec<_>>(), "{layout:?}");
            assert_eq!(layout.shape().iter().product::<usize>(), 24);
            assert_eq!(layout.count().get(), Some(24));
        }
    }
}
