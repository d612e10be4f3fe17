//! `kind = "bert"`

use motet_core::{Documented, Fraction, Kind};
use motet_nn::layer::Summary;
use motet_nn::zoo::{Bert, bert};
use serde::{Deserialize, Serialize};

use super::{Architecture, Examples, Layers, ModelError, Task};

/// BERT encoder of all-MiniLM-L6-v2's sizes, mean over tokens and a layer of classes, in single precision.
///
/// A BERT encoder that tells classes of texts apart. Rows are tokens; 0 is padding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields, default)]
pub struct BertClassifier {
    /// Different tokens, which are numbers from 0, the padding (default 30522).
    pub vocabulary: usize,
    /// Numbers per token (default 384).
    pub hidden: usize,
    /// Layers (default 6).
    pub layers: usize,
    /// Heads of attention (default 12).
    pub heads: usize,
    /// Numbers inside of each layer (default 1536).
    pub inner: usize,
    /// Share of numbers dropped in training (default 0.1).
    pub dropout: Fraction,
}

impl Default for BertClassifier {
    fn default() -> Self {
        let Bert { vocabulary, hidden, layers, heads, inner, dropout, .. } = Bert::minilm(1);
        Self { vocabulary, hidden, layers, heads, inner, dropout }
    }
}

impl Kind for BertClassifier {
    const NAME: &'static str = "bert";
}

impl Architecture for BertClassifier {
    fn build(&self, data: &Examples) -> Result<(Layers<f32>, Task), ModelError> {
        let model = Self::NAME;
        let classes = data.classes().ok_or(ModelError::NeedsClasses { model })? as usize;
        let Self { vocabulary, hidden, layers, heads, inner, dropout } = *self;
        let time = data.features().cols();
        let sizes = Bert { vocabulary, hidden, layers, heads, inner, positions: time.max(512), time, summary: Summary::Mean, dropout };
        let layers = bert(sizes, classes).map_err(|misfit| ModelError::Network { model, misfit })?;
        Ok((layers, Task::Text(vocabulary)))
    }
}
