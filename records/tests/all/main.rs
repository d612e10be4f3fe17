//! Records written, read back, damaged and found damaged.

// Helpers of tests are tests too.
#![allow(clippy::unwrap_used)]

mod damages;
mod format1;
mod numbers;
mod sources;
mod writing;
