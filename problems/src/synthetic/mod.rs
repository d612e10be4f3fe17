//! Problems with functions of their own: no data, known constants, known answers.

mod mean_estimation;

pub use mean_estimation::{MeanEstimation, MeanMode};
