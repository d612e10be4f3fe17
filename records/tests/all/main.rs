//! Records written, read back, damaged and found damaged.

mod format1;
mod numbers;
mod sources;
mod writing;
