//! One verdict from one computation: headline, "should I join?", client tables and `summary.json` all read it.
//!
//! ```text
//! Study       plain numbers: each contender's validation and test value, draw by draw and client by client
//!   └▶ choice      settings are chosen on validation data, draw by draw, and judged on the test data of the same draw
//!        └▶ paired      differences between two ways on the same rows of the same client
//!             └▶ interval    three designs, three treatments: independent draws, repeated splits, one split (exact)
//!                  └▶ multiple    many clients are many tests; pooling lets them learn from each other
//!                       └▶ Verdict     a winner, or "no clear difference", with the numbers
//! ```
//!
//! ```
//! use motet_report::verdict::{Contender, Design, Score, Study, judge};
//!
//! // Two clients over five repeated splits: joining takes 0.1 off the loss of both, give or take.
//! let scores = |base: f64, spread: f64| {
//!     let cell = move |draw: usize, client: usize| {
//!         let value = base + spread * (draw as f64 - 2.0) * (1.0 + client as f64);
//!         Score { draw, client, validation: Some(value), test: value, right: None }
//!     };
//!     (0..5).flat_map(move |draw| (0..2).map(move |client| cell(draw, client))).collect()
//! };
//! let study = Study {
//!     problem: None,
//!     metric: "test.loss".into(),
//!     chosen_by: Some("validation.loss".into()),
//!     worth: Default::default(),
//!     design: Design::Resplit { test_per_train: 0.5, same_clients: true },
//!     draws: 5,
//!     clients: vec!["Basel".into(), "Zürich".into()],
//!     contenders: vec![
//!         Contender { label: "local".into(), way: "own models".into(), alone: true, scores: scores(0.5, 0.002), ..Contender::default() },
//!         Contender { label: "fedavg".into(), way: "fedavg".into(), scores: scores(0.4, 0.001), ..Contender::default() },
//!     ],
//! };
//! let verdict = judge(&study);
//! assert_eq!(verdict.winner(), Some("fedavg"));
//! assert_eq!(verdict.joining.unwrap().count(motet_report::verdict::Advice::Join), 2);
//! ```

mod answer;
mod choice;
mod exact;
mod interval;
mod multiple;
mod paired;
mod pooling;
mod skew;
mod study;
mod words;
mod worth;

pub use answer::{Advice, ClientVerdict, Contest, Excluded, Joining, Picked, Verdict, WayResult, judge};
pub use choice::Choice;
pub use exact::{Discordance, LEAST_ROWS};
pub use interval::{Estimate, Missing};
pub use multiple::{benjamini_hochberg, holm};
pub use paired::{Paired, Rows};
pub use pooling::partially_pooled;
pub use skew::Skewness;
pub use study::{Contender, Design, Score, Study};
pub(crate) use words::gain;
pub use worth::Worth;

use motet_records::Records;

/// What the records of one folder say: one verdict for each metric of test data, the telling one first, and for each problem where
/// a grid makes several. Empty without test data.
pub fn of_records(records: &[(String, Records)]) -> Vec<Verdict> {
    of(&crate::Comparison::new(records))
}

pub(crate) fn of(comparison: &crate::Comparison<'_>) -> Vec<Verdict> {
    crate::evidence::studies(comparison).iter().map(judge).collect()
}

/// As `summary.json` keeps them.
pub fn written(verdicts: &[Verdict]) -> Vec<serde_json::Value> {
    verdicts.iter().map(|verdict| serde_json::to_value(verdict).expect("a verdict is names and numbers, which JSON has")).collect()
}
