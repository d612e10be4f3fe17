//! `kind = "char-lstm"` and `kind = "word-lstm"`: the next token, at every position.

use motet_core::{Documented, Kind};
use motet_nn::zoo::{CharLstm, WordLstm, char_lstm, word_lstm};
use serde::{Deserialize, Serialize};

use super::{Architecture, Examples, Layers, ModelError, Task};

/// Two layers of LSTM that predict each next token (McMahan et al. 2017), in single precision.
///
/// Two layers of LSTM over characters. Rows are tokens; each but the first is to be predicted from those before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields, default)]
pub struct CharModel {
    /// Different tokens, which are numbers from 0 (default 90).
    pub vocabulary: usize,
    /// Numbers per token (default 8).
    pub embedding: usize,
    /// Numbers per layer (default 256).
    pub hidden: usize,
    /// A token that is not to be predicted (default: none).
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

impl Kind for CharModel {
    const NAME: &'static str = "char-lstm";
}

impl Architecture for CharModel {
    fn build(&self, data: &Examples) -> Result<(Layers<f32>, Task), ModelError> {
        let model = Self::NAME;
        let Self { vocabulary, embedding, hidden, padding } = *self;
        let layers = char_lstm(CharLstm { vocabulary, embedding, hidden, time: time(model, data)? });
        Ok((layers.map_err(|misfit| ModelError::Network { model, misfit })?, Task::NextToken(vocabulary, padding)))
    }
}

/// An LSTM that predicts each next word (Reddi et al. 2021), in single precision.
///
/// One LSTM over words, narrowed before the scores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields, default)]
pub struct WordModel {
    /// Different tokens, which are numbers from 0 (default 10004).
    pub vocabulary: usize,
    /// Numbers per token (default 96).
    pub embedding: usize,
    /// Numbers of the LSTM (default 670).
    pub hidden: usize,
    /// A token that is not to be predicted (default 0).
    pub padding: Option<u32>,
}

impl Default for WordModel {
    fn default() -> Self {
        let WordLstm { vocabulary, embedding, hidden, .. } = WordLstm::PAPER;
        Self { vocabulary, embedding, hidden, padding: Some(0) }
    }
}

impl Kind for WordModel {
    const NAME: &'static str = "word-lstm";
}

impl Architecture for WordModel {
    fn build(&self, data: &Examples) -> Result<(Layers<f32>, Task), ModelError> {
        let model = Self::NAME;
        let Self { vocabulary, embedding, hidden, padding } = *self;
        let layers = word_lstm(WordLstm { vocabulary, embedding, hidden, time: time(model, data)? });
        Ok((layers.map_err(|misfit| ModelError::Network { model, misfit })?, Task::NextToken(vocabulary, padding)))
    }
}
