//! The book, the README and CONTRIBUTING are true: links lead somewhere, commands run, experiments are accepted, and what is made from the
//! catalogue is up to date.
//!
//! `WRITE=1 cargo test --workspace --test book` writes the pages that are made from the catalogue anew.

#![allow(clippy::unwrap_used, missing_docs)] // a test

mod blocks;
mod canvas;
mod links;
mod pages;
mod pictures;
mod reference;
mod shapes;
mod snippets;
mod words;
