//! What has to be known to use a saved model again.

use std::sync::Arc;

use motet_problems::{ModelConfig, Preparation, Problem, ProblemConfig};
use serde::{Deserialize, Serialize};

/// What has to be known to use a model again, beside its numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Passport {
    /// What is fitted.
    pub(crate) model: ModelConfig,
    /// Numbers of an example.
    pub(crate) features: u64,
    /// Classes to tell apart; none if numbers are predicted.
    pub(crate) classes: Option<u32>,
    /// How fields of a table became features, where clients did that by themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) preparation: Option<Arc<Preparation>>,
}

impl Passport {
    /// Of a problem on examples, as a file of models holds it; none if its clients brought functions of their own.
    pub(crate) fn text(config: &ProblemConfig, problem: &Problem) -> Option<String> {
        let classes = problem.census.labels.len() as u32;
        let passport = Self {
            model: config.model.clone()?,
            features: problem.census.features,
            classes: (classes > 0).then_some(classes),
            preparation: problem.preparation.clone(),
        };
        Some(serde_json::to_string(&passport).expect("a passport has only names as keys"))
    }
}
