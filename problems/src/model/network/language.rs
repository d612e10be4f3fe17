//! `kind = "char-lstm"` and `kind = "word-lstm"`: the next token, at every position.

use motet_nn::zoo::{CharLstm, WordLstm, char_lstm, word_lstm};
use serde::{Deserialize, Serialize};

use super::{Architecture, Card, Examples, Layers, ModelError, Task};

/// Two layers of LSTM over characters. Rows are tokens; each but the first is to be predicted from those before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CharModel {
    /// Different tokens.
    pub vocabulary: usize,
    /// Numbers per token.
    pub embedding: usize,
    /// Numbers per layer.
    pub hidden: usize,
    /// A token that is not to be predicted.
    pub padding: Option<u32>,
}

impl Default for CharModel {
    fn default() -> Self {
        let CharLstm { vocabulary, embedding, hidden, .. } = CharLstm::PAPER;
        Self { vocabulary, embedding, hidden, padding: None }
    }
}

/// Tokens of a sequence but for the last, which has no successor.
fn time(model: &'static str, data: &Examples) -> Result<usize, ModelError> {
    let columns = data.features().cols();
    if columns >= 2 { Ok(columns - 1) } else { Err(ModelError::Short { model, columns }) }
}

impl Architecture for CharModel {
    const CARD: Card = Card {
        name: "char-lstm",
        about: "two layers of LSTM that predict each next token (McMahan et al. 2017), in single precision",
        parameters: &[
            ("vocabulary", "different tokens, which are numbers from 0 (default 90)"),
            ("embedding", "numbers per token (default 8)"),
            ("hidden", "numbers per layer (default 256)"),
            ("padding", "a token that is not to be predicted; none unless told"),
        ],
    };

    fn build(&self, data: &Examples) -> Result<(Layers<f32>, Task), ModelError> {
        let model = Self::CARD.name;
        let Self { vocabulary, embedding, hidden, padding } = *self;
        let layers = char_lstm(CharLstm { vocabulary, embedding, hidden, time: time(model, data)? });
        Ok((layers.map_err(|misfit| ModelError::Network { model, misfit })?, Task::NextToken(vocabulary, padding)))
    }
}

/// One LSTM over words, narrowed before the scores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WordModel {
    /// Different tokens.
    pub vocabulary: usize,
    /// Numbers per token.
    pub embedding: usize,
    /// Numbers of the LSTM.
    pub hidden: usize,
    /// A token that is not to be predicted.
    pub padding: Option<u32>,
}

impl Default for WordModel {
    fn default() -> Self {
        let WordLstm { vocabulary, embedding, hidden, .. } = WordLstm::PAPER;
        Self { vocabulary, embedding, hidden, padding: Some(0) }
    }
}

impl Architecture for WordModel {
    const CARD: Card = Card {
        name: "word-lstm",
        about: "an LSTM that predicts each next word (Reddi et al. 2021), in single precision",
        parameters: &[
            ("vocabulary", "different tokens, which are numbers from 0 (default 10004)"),
            ("embedding", "numbers per token (default 96)"),
            ("hidden", "numbers of the LSTM (default 670)"),
            ("padding", "a token that is not to be predicted (default 0)"),
        ],
    };

    fn build(&self, data: &Examples) -> Result<(Layers<f32>, Task), ModelError> {
        let model = Self::CARD.name;
        let Self { vocabulary, embedding, hidden, padding } = *self;
        let layers = word_lstm(WordLstm { vocabulary, embedding, hidden, time: time(model, data)? });
        Ok((layers.map_err(|misfit| ModelError::Network { model, misfit })?, Task::NextToken(vocabulary, padding)))
    }
}
