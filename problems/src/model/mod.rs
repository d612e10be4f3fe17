//! Models on data: a range of examples and a model make an `Objective` and an `Evaluator`.

use std::ops::Range;
use std::sync::Arc;

use motet_core::kind::{Entry, Port, Takes};
use motet_core::{AnyKind, Card, Chosen, Evaluator, Kind, Kinds, Objective, Precision, Seed, Vector};
use serde::{Deserialize, Serialize};

use crate::dataset::Examples;
use crate::room::{Shortage, afford};

mod evaluator;
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

pub use fitted::Fitted;
use fitted::Plain;
pub use logistic::{Logistic, Smoothness};
pub use mean::MeanEstimation;
pub(crate) use network::axes;
pub use network::{
    Activation, Augment, BertClassifier, Channels, CharModel, Cnn, CnnDropout, Convolution, Mlp, Norm, Normalise, ResNet, WordModel,
};
pub use one_vs_rest::OneVsRest;
pub use ridge::Ridge;
pub use softmax::Softmax;
pub use tags::TagModel;
pub(crate) use tags::Tagging;

/// Copies of a model that every run has at least: its start, the server's, a client's, the gradient and what is sent.
const COPIES: u64 = 5;

/// A loss on examples and a judge: what a model of one's own implements.
///
/// ```
/// use std::{ops::Range, path::Path, sync::Arc};
/// use motet_core::{Batch, Documented, Evaluator, Kind, Objective, Rows, Vector};
/// use motet_problems::{Examples, MODELS, Model, ModelError, Problem};
/// use serde::{Deserialize, Serialize};
///
/// /// The same number for every example.
/// #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
/// #[serde(deny_unknown_fields)]
/// struct Constant {}
///
/// impl Kind for Constant {
///     const NAME: &'static str = "constant";
/// }
///
/// impl Model for Constant {
///     fn dim(&self, _: &Examples) -> Result<usize, ModelError> {
///         Ok(1)
///     }
///     fn objective(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Objective> {
///         Arc::new(Squares(data.targets()[rows].to_vec()))
///     }
///     fn evaluator(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Evaluator> {
///         Arc::new(Squares(data.targets()[rows].to_vec()))
///     }
/// }
///
/// /// f(x) = mean of (x − b)²/2 over the targets b.
/// struct Squares(Vec<f64>);
///
/// impl Squares {
///     fn mean(&self, rows: Rows<'_>, of: impl Fn(f64) -> f64) -> f64 {
///         match rows {
///             Rows::All => self.0.iter().map(|b| of(*b)).sum::<f64>() / self.0.len() as f64,
///             Rows::Only(rows) => rows.iter().map(|row| of(self.0[*row as usize])).sum::<f64>() / rows.len() as f64,
///         }
///     }
/// }
///
/// impl Objective for Squares {
///     fn dim(&self) -> usize {
///         1
///     }
///     fn samples(&self) -> usize {
///         self.0.len()
///     }
///     fn value(&self, x: &Vector, batch: Batch<'_>) -> f64 {
///         self.mean(batch.rows, |b| (x.at(0) - b).powi(2) / 2.0)
///     }
///     fn gradient(&self, x: &Vector, batch: Batch<'_>, g: &mut Vector) {
///         g.fill(self.mean(batch.rows, |b| x.at(0) - b));
///     }
/// }
///
/// impl Evaluator for Squares {
///     fn examples(&self) -> usize {
///         self.0.len()
///     }
///     fn metrics(&self, x: &Vector, _: Option<&Vector>) -> Vec<(&'static str, f64)> {
///         vec![("loss", self.value(x, Batch::all()))]
///     }
/// }
///
/// let mut models = MODELS.clone();
/// models.add::<Constant>()?;
/// let _here = models.enter();
/// let config = serde_json::from_str(
///     r#"{"source": {"kind": "sine", "tasks": [[1.0, 0.0]], "counts": [2], "examples": 5}, "model": {"kind": "constant"}}"#,
/// )?;
/// let problem = Problem::build(&config, Path::new(""), 1)?;
/// assert_eq!((problem.start().len(), problem.shards[0].train.samples()), (1, 5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Model {
    /// d on these examples, or why they do not fit.
    fn dim(&self, data: &Examples) -> Result<usize, ModelError>;
    /// fᵢ of the given rows, which exist and fit.
    fn objective(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Objective>;
    /// The judge on the given rows, which exist and fit.
    fn evaluator(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Evaluator>;
    /// Width of the parameters.
    fn precision(&self) -> Precision {
        Precision::F64
    }
    /// Are the targets sets of tags? Other models are not offered such examples.
    fn predicts_tags(&self) -> bool {
        false
    }
    /// Does it take images, and if so, with which axes, where it was told?
    fn image(&self) -> Option<Option<[usize; 3]>> {
        None
    }
    /// What all clients share, where a model keeps anything between them or starts elsewhere than at zero, at dice of the seed.
    /// Where it does not, examples come to `objective` and `evaluator` in double precision.
    fn fitted(&self, _data: Arc<Examples>, _seed: Seed) -> Result<Option<Arc<dyn Fitted>>, ModelError> {
        Ok(None)
    }
}

/// Every model there is, in the order of `list`.
pub static MODELS: Kinds<dyn AnyModel> = Kinds::new(&[
    Entry::of::<Ridge>(),
    Entry::of::<Logistic>(),
    Entry::of::<Softmax>(),
    Entry::of::<OneVsRest>(),
    Entry::of::<MeanEstimation>(),
    Entry::of::<TagModel>(),
    Entry::of::<Mlp>(),
    Entry::of::<Cnn>(),
    Entry::of::<CnnDropout>(),
    Entry::of::<ResNet>(),
    Entry::of::<CharModel>(),
    Entry::of::<WordModel>(),
    Entry::of::<BertClassifier>(),
]);

/// Any model, whatever its type.
pub trait AnyModel: Model + AnyKind {}

impl<K: Model + Kind> AnyModel for K {}

impl<K: Model + Kind> Takes<K> for dyn AnyModel {
    fn take(kind: K) -> Arc<Self> {
        Arc::new(kind)
    }
}

impl Port for dyn AnyModel {
    fn standard() -> &'static Kinds<Self> {
        &MODELS
    }
}

/// A model and its parameters, as an experiment file gives them: `{ kind = "…", … }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelConfig(Chosen<dyn AnyModel>);

impl ModelConfig {
    /// This model, whether or not a list has it.
    pub fn new<K: Model + Kind>(model: K) -> Self {
        Self(Chosen::new(model))
    }

    /// Name, purpose and parameters.
    pub fn card(&self) -> Card {
        self.0.card()
    }

    /// Width of the parameters.
    pub fn precision(&self) -> Precision {
        self.0.precision()
    }

    /// Does it take images, and if so, with which axes, where it was told?
    pub(crate) fn image(&self) -> Option<Option<[usize; 3]>> {
        self.0.image()
    }

    /// d on these examples; an error if the model cannot be fitted to them.
    pub fn dim(&self, data: &Examples) -> Result<usize, ModelError> {
        self.0.dim(data)
    }

    /// The model on these examples, made once for all clients; an error if it cannot be fitted to them.
    pub fn fitted(&self, data: Arc<Examples>, seed: Seed) -> Result<Arc<dyn Fitted>, ModelError> {
        if data.tag_count().is_some() && !self.0.predicts_tags() {
            return Err(ModelError::HasTags { model: self.card().name });
        }
        self.afford(&data)?;
        match self.0.fitted(Arc::clone(&data), seed)? {
            Some(fitted) => Ok(fitted),
            None => Ok(Arc::new(Plain { model: self.0.clone(), dim: self.dim(&data)?, data: data.in_double_precision() })),
        }
    }

    /// Refuses a model of which memory does not hold as many copies as a run makes, before the first is made.
    fn afford(&self, data: &Examples) -> Result<(), ModelError> {
        let (dim, bits) = (self.dim(data)?, self.0.precision().bits());
        let what = || format!("a model of {dim} parameters of {} bytes, {COPIES} times", bits / 8);
        let model = self.card().name;
        let bytes = bits / 8;
        afford(what, &[dim as u64, COPIES], bytes).map_err(|shortage| ModelError::Shortage { model, shortage })
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
    pub fn evaluator(&self, data: &Arc<Examples>, rows: Range<usize>) -> Result<Arc<dyn Evaluator>, ModelError> {
        within(data, &rows)?;
        Ok(self.fitted(Arc::clone(data), Seed(0))?.evaluator(rows))
    }
}

fn within(data: &Examples, rows: &Range<usize>) -> Result<(), ModelError> {
    if data.contains(rows) { Ok(()) } else { Err(ModelError::Rows { rows: rows.clone(), examples: data.len() }) }
}

/// The largest number that models in single precision can square.
pub(crate) const LARGEST_SINGLE: f64 = 1e18;

/// Why a model cannot be fitted to the data.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// The model does not fit into memory.
    #[error("model `{model}`: {shortage}: make it smaller, or take a machine with more memory")]
    Shortage {
        /// Which model.
        model: &'static str,
        /// What it would take.
        shortage: Shortage,
    },
    /// Numbers that the model cannot count with.
    #[error(
        "model `{model}` counts in single precision, up to {:e}, and example {example}, feature {feature} is {value:e}: scale the features",
        LARGEST_SINGLE
    )]
    Range {
        /// Which model.
        model: &'static str,
        /// Counts from 1, client after client.
        example: usize,
        /// Counts from 1.
        feature: usize,
        /// What is there.
        value: f64,
    },
    /// The model predicts classes, the data has numbers.
    #[error(
        "model `{model}` needs classes as targets, but the targets are numbers: `targets = \"classes\"` reads them as classes; `ridge` predicts numbers"
    )]
    NeedsClasses {
        /// Which model.
        model: &'static str,
    },
    /// The model predicts numbers, the data has classes that were numbered anew.
    #[error(
        "model `{model}` predicts numbers, but the targets were read as classes: `targets = \"numbers\"` of a table, or `labels = \"numbers\"` of LIBSVM, reads them as quantities"
    )]
    NeedsNumbers {
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
    /// The examples do not suit a model of one's own.
    #[error("model `{model}`: {why}")]
    Unsuitable {
        /// Which model.
        model: &'static str,
        /// Why, and what would be right.
        why: String,
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
