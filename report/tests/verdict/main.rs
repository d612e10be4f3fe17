//! Verdicts: what they say of records, that they cannot contradict themselves, and that their intervals cover.

#[path = "../chromium/mod.rs"]
mod chromium;
mod contradictions;
mod coverage;
mod designs;
mod join;
mod lab;
