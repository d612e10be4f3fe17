//! The word model of Reddi et al., *Adaptive Federated Optimization* (ICLR 2021), table 9: the next word of a question.

use crate::layer::{Dense, Embedding, Lstm};
use crate::{Element, Loss, Misfit, Model, Shape, named};

/// Sizes of a word model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordLstm {
    /// Different words, with those for padding, beginning, end and unknown.
    pub vocabulary: usize,
    /// Numbers per word.
    pub embedding: usize,
    /// Numbers of the LSTM.
    pub hidden: usize,
    /// Words of a sequence.
    pub time: usize,
}

impl WordLstm {
    /// 10,000 words and 4 signs in sequences of 20, 96 numbers each, 670 hidden.
    pub const PAPER: Self = Self { vocabulary: 10_004, embedding: 96, hidden: 670, time: 20 };
}

/// Embedding, one LSTM, a layer back to the embedding's size, scores of the next word at every position. Padding is
/// target [`crate::PADDING`].
pub fn word_lstm<E: Element>(sizes: WordLstm) -> Result<Model<E>, Misfit> {
    let WordLstm { vocabulary, embedding, hidden, time } = sizes;
    let layers = vec![
        named("embedding", Embedding::new(vocabulary, embedding)),
        named("lstm", Lstm::new(hidden, 0)),
        named("fc1", Dense::new(embedding)),
        named("fc2", Dense::new(vocabulary)),
    ];
    Model::new(Shape(vec![time]), layers, Loss::CrossEntropy)
}
