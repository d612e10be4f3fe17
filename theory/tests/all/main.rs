//! The theory of local updates on quadratics, tried.
#![allow(clippy::unwrap_used, unreachable_pub)]

mod bounds;
mod checks;
mod counterexamples;
mod draw;
mod identities;
mod moments;
mod rates;
