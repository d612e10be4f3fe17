//! The suite in one program: every method is compiled once. Allocations are counted in a program of their own.
#![allow(clippy::unwrap_used)]

mod decorators;
mod every_method;
mod explained;
mod networks;
mod one_machine;
mod suspects;
mod versions;
