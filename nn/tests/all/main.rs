//! Tests of the network library, in one program.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

mod convolutions;
mod derivatives;
mod files;
mod models;
mod pytorch;
mod sizes;
mod wordpiece;
