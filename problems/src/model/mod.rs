//! Models on data: a range of examples and a model make an `Objective` and an `Exam`.

use std::ops::Range;
use std::sync::Arc;

use motet_core::{Exam, Objective, Precision, Seed, Vector};
use serde::{Deserialize, Serialize};

use crate::dataset::Examples;
use motet_core::Card;

mod exam;
mod fitted;
mod gather;
mod kernel;
mod linear;
mod logistic;
mod mean;
mod network;
mod one_vs_rest;
mod product;
mod ridge;
mod scratch;
mod softmax;
pub(crate) mod spectrum;
mod tags;

pub(crate) use fitted::Fitted;
pub use logistic::{Logistic, Smoothness};
pub use mean::MeanEstimation;
pub(crate) use network::axes;
pub use network::{Activation, Augment, BertClassifier, Channels, CharModel, Cnn, CnnDropout, Mlp, Norm, Normalise, ResNet, WordModel};
pub use one_vs_rest::OneVsRest;
pub use ridge::Ridge;
pub use softmax::Softmax;
pub use tags::TagModel;
pub(crate) use tags::Tagging;

/// What a model in this list does with examples.
trait Model {
    const CARD: Card;
    /// d on these examples, or why they do not fit.
    fn dim(&self, data: &Examples) -> Result<usize, ModelError>;
    /// fᵢ of the given rows, which exist and fit.
    fn objective(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Objective>;
    /// The judge on the given rows, which exist and fit.
    fn exam(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Exam>;
    /// Width of the parameters.
    fn precision(&self) -> Precision {
        Precision::F64
    }
    /// What all clients share; starts at dice of the seed, if it starts at any.
    fn fitted(&self, data: Arc<Examples>, _: Seed) -> Result<Arc<dyn Fitted>, ModelError>
    where
        Self: Clone + Send + Sync + Sized + 'static,
    {
        Ok(Arc::new(fitted::Plain { model: self.clone(), dim: self.dim(&data)?, data: data.in_double_precision() }))
    }
}

/// The one list of models.
macro_rules! models {
    ($($(#[$meta:meta])* $name:ident($config:ty)),* $(,)?) => {
        /// A model and its parameters, as an experiment file gives them.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        pub enum ModelConfig {
            $(#[doc = concat!("See [`", stringify!($config), "`].")] $(#[$meta])* $name($config),)*
        }

        /// All models there are.
        pub const MODELS: &[Card] = &[$(<$config as Model>::CARD),*];

        impl ModelConfig {
            fn model(&self) -> &dyn AnyModel {
                match self { $(ModelConfig::$name(model) => model,)* }
            }
        }
    };
}

models! {
    Ridge(Ridge),
    Logistic(Logistic),
    Softmax(Softmax),
    OneVsRest(OneVsRest),
    Mean(MeanEstimation),
    Tags(TagModel),
    Mlp(Mlp),
    Cnn(Cnn),
    CnnDropout(CnnDropout),
    #[serde(rename = "resnet18")]
    ResNet(ResNet),
    CharLstm(CharModel),
    WordLstm(WordModel),
    Bert(BertClassifier),
}

/// The models in single precision, of which no constants are known: networks, and what is as large as one.
pub const NETWORKS: &[&str] = &["tags", "mlp", "cnn", "cnn-dropout", "resnet18", "char-lstm", "word-lstm", "bert"];

/// [`Model`] without its constant, so that the list above can be walked.
trait AnyModel {
    fn card(&self) -> Card;
    fn dim(&self, data: &Examples) -> Result<usize, ModelError>;
    fn fitted(&self, data: Arc<Examples>, seed: Seed) -> Result<Arc<dyn Fitted>, ModelError>;
}

impl<M: Model + Clone + Send + Sync + 'static> AnyModel for M {
    fn card(&self) -> Card {
        M::CARD
    }
    fn dim(&self, data: &Examples) -> Result<usize, ModelError> {
        Model::dim(self, data)
    }
    fn fitted(&self, data: Arc<Examples>, seed: Seed) -> Result<Arc<dyn Fitted>, ModelError> {
        Model::fitted(self, data, seed)
    }
}

impl ModelConfig {
    /// Name, purpose and parameters.
    pub fn card(&self) -> Card {
        self.model().card()
    }

    /// Does it take images, and if so, with which axes, where it was told?
    pub(crate) fn image(&self) -> Option<Option<[usize; 3]>> {
        match self {
            ModelConfig::Cnn(model) => Some(model.image),
            ModelConfig::CnnDropout(model) => Some(model.image),
            ModelConfig::ResNet(model) => Some(model.image),
            _ => None,
        }
    }

    /// d on these examples; an error if the model cannot be fitted to them.
    pub fn dim(&self, data: &Examples) -> Result<usize, ModelError> {
        self.model().dim(data)
    }

    /// The model on these examples, made once for all clients; an error if it cannot be fitted to them.
    pub(crate) fn fitted(&self, data: Arc<Examples>, seed: Seed) -> Result<Arc<dyn Fitted>, ModelError> {
        if data.tag_count().is_some() && !matches!(self, ModelConfig::Tags(_)) {
            return Err(ModelError::HasTags { model: self.card().name });
        }
        self.model().fitted(data, seed)
    }

    /// Where training starts unless the method says otherwise: zeros for convex models, dice of the seed for networks.
    pub fn start(&self, data: &Arc<Examples>, seed: Seed) -> Result<Vector, ModelError> {
        Ok(self.fitted(Arc::clone(data), seed)?.start())
    }

    /// fᵢ: the model's loss, averaged over the given rows, and its regulariser.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use motet_core::{Batch, Vector};
    /// use motet_problems::{Dataset, Examples, Matrix, ModelConfig, Targets};
    /// let features = Matrix::dense(1, vec![1.0, 2.0, -1.0])?;
    /// let data = Arc::new(Examples::new(Dataset::new(features, Targets::Numbers(vec![1.0, 2.0, 5.0])))?);
    /// let model: ModelConfig = serde_json::from_str(r#"{"kind": "ridge"}"#)?;
    /// let first_client = model.objective(&data, 0..2)?;
    /// assert_eq!(first_client.value(&Vector::from(vec![1.0]), Batch::all()), 0.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn objective(&self, data: &Arc<Examples>, rows: Range<usize>) -> Result<Arc<dyn Objective>, ModelError> {
        within(data, &rows)?;
        Ok(self.fitted(Arc::clone(data), Seed(0))?.objective(rows))
    }

    /// The judge on the given rows. Its `loss` leaves the regulariser out.
    pub fn exam(&self, data: &Arc<Examples>, rows: Range<usize>) -> Result<Arc<dyn Exam>, ModelError> {
        within(data, &rows)?;
        Ok(self.fitted(Arc::clone(data), Seed(0))?.exam(rows))
    }
}

fn within(data: &Examples, rows: &Range<usize>) -> Result<(), ModelError> {
    if data.contains(rows) { Ok(()) } else { Err(ModelError::Rows { rows: rows.clone(), examples: data.len() }) }
}

/// Why a model cannot be fitted to the data.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// The model predicts classes, the data has numbers.
    #[error("model `{model}` needs classes as targets, but the targets are numbers; `ridge` predicts numbers")]
    NeedsClasses {
        /// Which model.
        model: &'static str,
    },
    /// The model tells two classes apart.
    #[error("model `{model}` needs 2 classes, but there are {classes}; `softmax` and `one-vs-rest` take any number")]
    NeedsTwoClasses {
        /// Which model.
        model: &'static str,
        /// How many there are.
        classes: u32,
    },
    /// The model predicts tags, the data has none.
    #[error("model `{model}` needs tags as targets, but each example has one class or number")]
    NeedsTags {
        /// Which model.
        model: &'static str,
    },
    /// The model predicts one thing, the data has tags.
    #[error("model `{model}` predicts one class or number, but the examples have tags; `tags` predicts them")]
    HasTags {
        /// Which model.
        model: &'static str,
    },
    /// There is nothing to average.
    #[error("rows {rows:?} do not lie within the {examples} examples")]
    Rows {
        /// Which were asked for.
        rows: Range<usize>,
        /// How many there are.
        examples: usize,
    },
    /// The layers of a network do not fit the data or each other.
    #[error("model `{model}`: {misfit}")]
    Network {
        /// Which model.
        model: &'static str,
        /// Which layer, and why.
        misfit: motet_nn::Misfit,
    },
    /// A file of parameters does not fit.
    #[error("the file of weights does not fit the model: {0}")]
    Weights(#[from] motet_nn::FileError),
    /// A file of parameters is another model's.
    #[error("the file of weights has no tensor of this model; its first is `{first}`")]
    OtherWeights {
        /// The name of the model's first block.
        first: String,
    },
    /// Only networks start at files.
    #[error("model `{model}` starts at zero: `weights` is for networks")]
    NoWeights {
        /// Which model.
        model: &'static str,
    },
    /// The features are no images.
    #[error("model `{model}` takes images, but {columns} features an example are not {given}; give `image = [height, width, channels]`")]
    Image {
        /// Which model.
        model: &'static str,
        /// Features of an example.
        columns: usize,
        /// As given, or as guessed.
        given: String,
    },
    /// What is to be done with pixels does not fit the images.
    #[error("model `{model}`: {wrong}")]
    Pixels {
        /// Which model.
        model: &'static str,
        /// What is wrong, and what the images are.
        wrong: String,
    },
    /// The features are no tokens.
    #[error("model `{model}` takes tokens from 0 to {}, but example {example} has {token}", vocabulary.saturating_sub(1))]
    Token {
        /// Which model.
        model: &'static str,
        /// Which example.
        example: usize,
        /// What it has.
        token: f64,
        /// How many there are.
        vocabulary: usize,
    },
    /// There is nothing to predict.
    #[error("model `{model}` predicts each next token and needs at least 2 a row, but there are {columns}")]
    Short {
        /// Which model.
        model: &'static str,
        /// Tokens of a row.
        columns: usize,
    },
}
