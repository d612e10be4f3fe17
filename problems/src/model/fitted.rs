//! A model that was found to fit some examples.

use super::{AnyModel, Arc, Chosen, Evaluator, Examples, ModelError, Objective, Range, Vector};

/// A model on its examples: made once, shared by all clients.
pub trait Fitted: Send + Sync {
    /// Where training starts unless the method says otherwise.
    fn start(&self) -> Vector;
    /// Starts at the parameters in this file from now on, before anything was made of the model.
    fn start_at(&mut self, file: &[u8]) -> Result<(), ModelError>;
    /// fᵢ of the given rows, which exist.
    fn objective(&self, rows: Range<usize>) -> Arc<dyn Objective>;
    /// The same model on other examples of the same form, before which stand so many others: those of one client that is made when it
    /// is asked for.
    fn on(&self, data: Arc<Examples>, before: u64) -> Result<Arc<dyn Fitted>, ModelError>;
    /// The judge on the given rows, which exist.
    fn evaluator(&self, rows: Range<usize>) -> Arc<dyn Evaluator>;
}

/// A model that keeps nothing between clients and starts at zero.
pub(super) struct Plain {
    pub(super) model: Chosen<dyn AnyModel>,
    pub(super) dim: usize,
    pub(super) data: Arc<Examples>,
}

impl Fitted for Plain {
    fn start(&self) -> Vector {
        Vector::zeros(self.dim, self.model.precision())
    }
    fn start_at(&mut self, _: &[u8]) -> Result<(), ModelError> {
        Err(ModelError::NoWeights { model: self.model.card().name })
    }
    fn objective(&self, rows: Range<usize>) -> Arc<dyn Objective> {
        self.model.objective(self.data.clone(), rows)
    }
    fn on(&self, data: Arc<Examples>, _: u64) -> Result<Arc<dyn Fitted>, ModelError> {
        Ok(Arc::new(Plain { model: self.model.clone(), dim: self.dim, data: data.in_double_precision() }))
    }
    fn evaluator(&self, rows: Range<usize>) -> Arc<dyn Evaluator> {
        self.model.evaluator(self.data.clone(), rows)
    }
}
