//! Every test of the problems, in one program.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod derivatives;
mod exchange_files;
mod features;
mod files;
// Not every set of features reads every form.
#[allow(dead_code)]
mod forms;
mod formulas;
mod given;
// It writes files of every form.
#[cfg(all(feature = "images", feature = "sqlite", feature = "text"))]
mod hostile_files;
mod identity;
#[cfg(feature = "images")]
mod image_files;
mod libsvm;
mod mushrooms;
mod networks;
mod one_by_one;
mod own_data;
mod own_kinds;
mod population;
mod problem;
mod real_files;
mod reference;
mod sine;
mod splits;
mod tables;
#[cfg(feature = "text")]
mod texts;
#[cfg(feature = "sqlite")]
mod tff_files;
