//! Should this participant join? Answered at its agent, from its own test rows.

use motet_core::{Shard, Vector, larger_is_better};
use motet_problems::reference::{Part, minimise};
use motet_report::verdict::{Discordance, LEAST_ROWS, Rows};
use serde::{Deserialize, Serialize};

/// What the test rows say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JoinAdvice {
    /// The study's model is better than what this participant can do alone.
    Join,
    /// It is worse.
    Stay,
    /// The rows do not tell.
    Unclear,
}

/// The study's model beside one that knows this participant's data alone, on rows that trained neither.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JoinVerdict {
    /// What the rows say.
    pub advice: JoinAdvice,
    /// Which metric.
    pub metric: String,
    /// Of the study's model.
    pub together: f64,
    /// Of the model from this participant's data alone.
    pub alone: f64,
    /// Test rows.
    pub rows: u64,
    /// Why.
    pub why: String,
}

/// Steps of a local solve at most.
const STEPS: u64 = 100_000;

/// Judges a model of a study for one participant; none if no rows were kept for a test, or nothing can be fitted alone.
pub(super) fn judged(shard: &Shard, model: &Vector) -> Option<JoinVerdict> {
    let test = shard.test_evaluator.as_ref()?;
    // A network has no minimum that could be found here.
    shard.train.constants().convexity?;
    let alone = minimise(&[Part { alpha: 1.0, local: None, objective: &*shard.train }], STEPS).ok()?.x;
    let buffers = shard.train.buffers();
    let metric = |x: &Vector| {
        let metrics = test.metrics(x, buffers.as_ref());
        metrics.iter().find(|(name, _)| larger_is_better(name)).or(metrics.first()).copied()
    };
    let ((name, together), (_, apart)) = (metric(model)?, metric(&alone)?);
    let rows = test.examples() as u64;
    let right = test.right(model, buffers.as_ref()).zip(test.right(&alone, buffers.as_ref()));
    let found = right.and_then(|(ours, theirs)| Discordance::of(Rows::of(&ours, &theirs), 0.05));
    let (advice, why) = match found {
        None => (JoinAdvice::Unclear, format!("a comparison needs {LEAST_ROWS} test rows that are right or wrong, and there are {rows}")),
        Some(Discordance { mean, interval: [low, high], p }) => {
            let advice = match (low > 0.0, high < 0.0) {
                (true, _) if p < 0.05 => JoinAdvice::Join,
                (_, true) if p < 0.05 => JoinAdvice::Stay,
                _ => JoinAdvice::Unclear,
            };
            let words = format!(
                "the study's model is right on {:+.1} % of {rows} test rows (95 % interval {:+.1} to {:+.1} %)",
                100.0 * mean,
                100.0 * low,
                100.0 * high
            );
            (advice, words)
        }
    };
    Some(JoinVerdict { advice, metric: format!("test.{name}"), together, alone: apart, rows, why })
}
