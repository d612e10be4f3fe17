//! `kind = "bert"`

use motet_core::Fraction;
use motet_nn::layer::Summary;
use motet_nn::zoo::{Bert, bert};
use serde::{Deserialize, Serialize};

use super::{Architecture, Card, Examples, Layers, ModelError, Task};

/// A BERT encoder that tells classes of texts apart. Rows are tokens; 0 is padding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BertClassifier {
    /// Different tokens.
    pub vocabulary: usize,
    /// Numbers per token.
    pub hidden: usize,
    /// Layers.
    pub layers: usize,
    /// Heads of attention.
    pub heads: usize,
    /// Numbers inside of each layer.
    pub inner: usize,
    /// Share of numbers dropped in training.
    pub dropout: Fraction,
}

impl Default for BertClassifier {
    fn default() -> Self {
        let Bert { vocabulary, hidden, layers, heads, inner, dropout, .. } = Bert::minilm(1);
        Self { vocabulary, hidden, layers, heads, inner, dropout }
    }
}

impl Architecture for BertClassifier {
    const CARD: Card = Card {
        name: "bert",
        about: "BERT encoder of all-MiniLM-L6-v2's sizes, mean over tokens and a layer of classes, in single precision",
        parameters: &[
            ("vocabulary", "different tokens, which are numbers from 0, the padding (default 30522)"),
            ("hidden", "numbers per token (default 384)"),
            ("layers", "how many (default 6)"),
            ("heads", "of attention (default 12)"),
            ("inner", "numbers inside of each layer (default 1536)"),
            ("dropout", "share of numbers dropped in training (default 0.1)"),
        ],
    };

    fn build(&self, data: &Examples) -> Result<(Layers<f32>, Task), ModelError> {
        let model = Self::CARD.name;
        let classes = data.classes().ok_or(ModelError::NeedsClasses { model })? as usize;
        let Self { vocabulary, hidden, layers, heads, inner, dropout } = *self;
        let time = data.features().cols();
        let sizes = Bert { vocabulary, hidden, layers, heads, inner, positions: time.max(512), time, summary: Summary::Mean, dropout };
        let layers = bert(sizes, classes).map_err(|misfit| ModelError::Network { model, misfit })?;
        Ok((layers, Task::Text(vocabulary)))
    }
}
