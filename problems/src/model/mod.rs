//! Models on data: a range of examples and a model make an `Objective` and an `Exam`.

use std::ops::Range;
use std::sync::Arc;

use motet_core::{Exam, Objective, Precision, Vector};
use serde::{Deserialize, Serialize};

use crate::dataset::Examples;
use motet_core::Card;

mod exam;
mod gather;
mod kernel;
mod linear;
mod logistic;
mod mean;
mod one_vs_rest;
mod product;
mod ridge;
mod softmax;
pub(crate) mod spectrum;

pub use logistic::{Logistic, Smoothness};
pub use mean::MeanEstimation;
pub use one_vs_rest::OneVsRest;
pub use ridge::Ridge;
pub use softmax::Softmax;

/// What a model in this list does with examples.
trait Model {
    const CARD: Card;
    /// d on these examples, or why they do not fit.
    fn dim(&self, data: &Examples) -> Result<usize, ModelError>;
    /// fᵢ of the given rows, which exist and fit.
    fn objective(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Objective>;
    /// The judge on the given rows, which exist and fit.
    fn exam(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Exam>;
}

/// The one list of models.
macro_rules! models {
    ($($name:ident($config:ty)),* $(,)?) => {
        /// A model and its parameters, as an experiment file gives them.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        pub enum ModelConfig {
            $(#[doc = concat!("See [`", stringify!($config), "`].")] $name($config),)*
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
}

/// [`Model`] without its constant, so that the list above can be walked.
trait AnyModel {
    fn card(&self) -> Card;
    fn dim(&self, data: &Examples) -> Result<usize, ModelError>;
    fn objective(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Objective>;
    fn exam(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Exam>;
}

impl<M: Model> AnyModel for M {
    fn card(&self) -> Card {
        M::CARD
    }
    fn dim(&self, data: &Examples) -> Result<usize, ModelError> {
        Model::dim(self, data)
    }
    fn objective(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Objective> {
        Model::objective(self, data, rows)
    }
    fn exam(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Exam> {
        Model::exam(self, data, rows)
    }
}

impl ModelConfig {
    /// Name, purpose and parameters.
    pub fn card(&self) -> Card {
        self.model().card()
    }

    /// d on these examples; an error if the model cannot be fitted to them.
    pub fn dim(&self, data: &Examples) -> Result<usize, ModelError> {
        self.model().dim(data)
    }

    /// Where training starts unless the method says otherwise: zeros.
    pub fn start(&self, data: &Examples) -> Result<Vector, ModelError> {
        Ok(Vector::zeros(self.dim(data)?, Precision::F64))
    }

    /// fᵢ: the model's loss, averaged over the given rows, and its regulariser.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use motet_core::{Batch, Vector};
    /// use motet_problems::{Dataset, Examples, Matrix, ModelConfig, Targets};
    /// let features = Matrix::dense(1, vec![1.0, 2.0, -1.0])?;
    /// let data = Arc::new(Examples::new(Dataset { features, targets: Targets::Numbers(vec![1.0, 2.0, 5.0]), keys: None })?);
    /// let model: ModelConfig = serde_json::from_str(r#"{"kind": "ridge"}"#)?;
    /// let first_client = model.objective(&data, 0..2)?;
    /// assert_eq!(first_client.value(&Vector::from(vec![1.0]), Batch::all()), 0.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn objective(&self, data: &Arc<Examples>, rows: Range<usize>) -> Result<Arc<dyn Objective>, ModelError> {
        self.fits(data, &rows)?;
        Ok(self.model().objective(data.clone(), rows))
    }

    /// The judge on the given rows. Its `loss` leaves the regulariser out.
    pub fn exam(&self, data: &Arc<Examples>, rows: Range<usize>) -> Result<Arc<dyn Exam>, ModelError> {
        self.fits(data, &rows)?;
        Ok(self.model().exam(data.clone(), rows))
    }

    fn fits(&self, data: &Examples, rows: &Range<usize>) -> Result<(), ModelError> {
        self.dim(data)?;
        if data.contains(rows) { Ok(()) } else { Err(ModelError::Rows { rows: rows.clone(), examples: data.len() }) }
    }
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
    /// There is nothing to average.
    #[error("rows {rows:?} do not lie within the {examples} examples")]
    Rows {
        /// Which were asked for.
        rows: Range<usize>,
        /// How many there are.
        examples: usize,
    },
}
