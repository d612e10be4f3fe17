//! The character model of McMahan et al. (AISTATS 2017) and Reddi et al. (ICLR 2021): the next character of a play.

use crate::layer::{Dense, Embedding, Lstm};
use crate::{Element, Loss, Misfit, Model, Shape, named};

/// Sizes of a character model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CharLstm {
    /// Different characters.
    pub vocabulary: usize,
    /// Numbers per character.
    pub embedding: usize,
    /// Numbers per LSTM layer, of which there are two.
    pub hidden: usize,
    /// Characters of a sequence.
    pub time: usize,
}

impl CharLstm {
    /// 90 characters in sequences of 80, 8 numbers each, 2 × 256 hidden.
    pub const PAPER: Self = Self { vocabulary: 90, embedding: 8, hidden: 256, time: 80 };
}

/// Embedding, two layers of LSTM, scores of the next character at every position.
pub fn char_lstm<E: Element>(sizes: CharLstm) -> Result<Model<E>, Misfit> {
    let CharLstm { vocabulary, embedding, hidden, time } = sizes;
    let layers = vec![
        named("embedding", Embedding::new(vocabulary, embedding)),
        named("lstm", Lstm::new(hidden, 0)),
        named("lstm", Lstm::new(hidden, 1)),
        named("out", Dense::new(vocabulary)),
    ];
    Model::new(Shape(vec![time]), layers, Loss::CrossEntropy)
}
