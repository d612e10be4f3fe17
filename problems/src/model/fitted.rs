//! A model that was found to fit some examples.

use super::{Arc, Exam, Examples, Model, Objective, Range, Vector};

/// A model on its examples: made once, shared by all clients.
pub(crate) trait Fitted: Send + Sync {
    /// Where training starts unless the method says otherwise.
    fn start(&self) -> Vector;
    /// fᵢ of the given rows, which exist.
    fn objective(&self, rows: Range<usize>) -> Arc<dyn Objective>;
    /// The judge on the given rows, which exist.
    fn exam(&self, rows: Range<usize>) -> Arc<dyn Exam>;
}

/// A model that keeps nothing between clients and starts at zero.
pub(super) struct Plain<M> {
    pub(super) model: M,
    pub(super) dim: usize,
    pub(super) data: Arc<Examples>,
}

impl<M: Model + Send + Sync> Fitted for Plain<M> {
    fn start(&self) -> Vector {
        Vector::zeros(self.dim, self.model.precision())
    }
    fn objective(&self, rows: Range<usize>) -> Arc<dyn Objective> {
        self.model.objective(self.data.clone(), rows)
    }
    fn exam(&self, rows: Range<usize>) -> Arc<dyn Exam> {
        self.model.exam(self.data.clone(), rows)
    }
}
