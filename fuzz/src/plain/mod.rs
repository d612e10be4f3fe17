//! Plain readers, written a second time, that the real ones are compared with. A damaged file is refused, or what we train on is exactly what the plain
//! reader of its form reads: no number is wrong in silence.
//!
//! They know the usual case only. Where a file uses more of its form than they know (a quoted field, a packed file), they have no opinion.

mod arrays;
mod databases;
mod pictures;
mod tables;
mod texts;

use std::collections::BTreeMap;

use motet::problems::{Dataset, Field, Indices, Matrix, Targets};

pub(crate) use arrays::{archive, idx, idx_writers, npy};
pub(crate) use databases::{fedjax_arrays, tff_example, tff_file};
pub(crate) use pictures::{cifar, cifar_tar, omniglot, pickle, pictures, png};
pub(crate) use tables::{heart, libsvm, libsvm_gz, table, table_latin1, table_utf16};
pub(crate) use texts::{comments, leaf, leaf_texts, leaf_words, play_blocks, play_lines};

/// What a source gave.
pub(crate) struct Found<'a> {
    pub(crate) dataset: &'a Dataset,
    /// Of tables: what their columns became.
    pub(crate) fields: &'a [Field],
}

/// Compares the files of a form with what a source made of them.
pub(crate) type Compare = fn(files: &[Vec<u8>], found: &Found<'_>) -> Opinion;

/// What a plain reader thinks of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Opinion {
    /// It reads the same.
    Same,
    /// It reads something else, or nothing, and this is what.
    Different(String),
    /// The files use more of their form than it knows.
    None,
}

/// A plain reader's way out: no opinion, or something that it reads otherwise.
type Plainly<T> = Result<T, Opinion>;

fn opinion(compared: Plainly<()>) -> Opinion {
    compared.err().unwrap_or(Opinion::Same)
}

fn different<T>(what: impl Into<String>) -> Plainly<T> {
    Err(Opinion::Different(what.into()))
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, plain: &T, ours: &T) -> Plainly<()> {
    if plain == ours { Ok(()) } else { different(format!("{what}: plainly {plain:?}, and we have {ours:?}")) }
}

/// A row of any matrix as numbers.
fn row(features: &Matrix, at: usize) -> Vec<f64> {
    match features {
        Matrix::Dense(all) => all.values[at * all.cols..][..all.cols].to_vec(),
        Matrix::Single(all) => all.values[at * all.cols..][..all.cols].iter().map(|&v| f64::from(v)).collect(),
        Matrix::Bytes(all) => {
            all.values[at * all.cols..][..all.cols].iter().map(|&v| f64::from(all.scale * f32::from(v) + all.shift)).collect()
        }
        Matrix::Sparse(all) => {
            let mut row = vec![0.0; all.cols];
            for at in all.starts[at]..all.starts[at + 1] {
                let column = match &all.indices {
                    Indices::U16(narrow) => usize::from(narrow[at]),
                    Indices::U32(wide) => wide[at] as usize,
                };
                row[column] = all.values.as_ref().map_or(1.0, |values| values[at]);
            }
            row
        }
    }
}

/// Equal labels are one class, and different ones are different classes.
fn same_classes(plain: &[String], ours: &[u32]) -> Plainly<()> {
    same("labels", &plain.len(), &ours.len())?;
    let (mut class_of, mut label_of) = (BTreeMap::new(), BTreeMap::new());
    for (label, class) in plain.iter().zip(ours) {
        same(&format!("the class of label {label}"), class_of.entry(label).or_insert(class), &class)?;
        same(&format!("the label of class {class}"), label_of.entry(class).or_insert(label), &label)?;
    }
    Ok(())
}

/// The class of every example, as the file numbers them.
fn same_labels(plain: &[u32], found: &Found<'_>) -> Plainly<()> {
    match &found.dataset.targets {
        Targets::Classes { labels, .. } => same("labels", &plain, &labels.as_slice()),
        _ => different("no classes"),
    }
}

/// Whose every example is.
fn same_clients(plain: &[String], found: &Found<'_>) -> Plainly<()> {
    let keys = found.dataset.keys.as_deref().unwrap_or_default();
    let names: Vec<String> = keys.iter().map(|&key| found.dataset.names[key as usize].clone()).collect();
    same("clients", &plain, &names.as_slice())
}

/// Every row, and that there are no more.
fn same_rows(plain: &[Vec<f64>], found: &Found<'_>) -> Plainly<()> {
    same("examples", &plain.len(), &found.dataset.len())?;
    plain.iter().enumerate().try_for_each(|(at, plain)| same_numbers(&format!("example {at}"), plain, &row(&found.dataset.features, at)))
}

/// A pixel as we keep it.
fn pixel(byte: u8) -> f64 {
    f64::from(f32::from(byte) * (1.0 / 255.0))
}

/// Where the sound file has these stretches, whatever this one has there; no opinion if anything else is changed. Stretches are in their order.
fn between<'a>(file: &'a [u8], sound: &[u8], stretches: &[std::ops::Range<usize>]) -> Plainly<Vec<&'a [u8]>> {
    let ends = stretches.iter().map(|stretch| stretch.start).chain([sound.len()]);
    let starts: Vec<usize> = [0].into_iter().chain(stretches.iter().map(|stretch| stretch.end)).collect();
    let framed = file.len() == sound.len() && starts.iter().zip(ends).all(|(&from, to)| file[from..to] == sound[from..to]);
    if framed { Ok(stretches.iter().map(|stretch| &file[stretch.clone()]).collect()) } else { Err(Opinion::None) }
}

/// Where these bytes stand, which must be once.
fn place(of: &[u8], within: &[u8]) -> std::ops::Range<usize> {
    let at = within.windows(of.len()).position(|window| window == of).expect("the sound file has them");
    at..at + of.len()
}

fn same_numbers(what: &str, plain: &[f64], ours: &[f64]) -> Plainly<()> {
    same(&format!("numbers of {what}"), &plain.len(), &ours.len())?;
    let equal = |(a, b): &(&f64, &f64)| a == b || a.is_nan() && b.is_nan();
    match plain.iter().zip(ours).position(|pair| !equal(&pair)) {
        Some(at) => different(format!("number {at} of {what}: plainly {}, and we have {}", plain[at], ours[at])),
        None => Ok(()),
    }
}
