//! A SHA-256 of data: manifests keep it, and an experiment is resumed only with the same data.

use sha2::{Digest, Sha256};

use crate::dataset::{Dataset, Targets, Usage};
use crate::matrix::{Indices, Matrix};
use crate::prepare::{Field, Form};
use motet_records::hexadecimal;

/// How many bytes the values are, and their SHA-256. Every list is preceded by its length and every choice by a number, so
/// that different data are different bytes.
pub(super) fn of(dataset: &Dataset, fields: Option<&[Field]>) -> (u64, String) {
    let mut to = Hash { sha256: Sha256::new(), bytes: 0 };
    to.matrix(&dataset.features);
    to.targets(&dataset.targets);
    to.number(u64::from(dataset.keys.is_some()));
    to.list(dataset.keys.as_deref().unwrap_or_default(), |key| key.to_le_bytes());
    to.words(&dataset.names);
    to.number(u64::from(dataset.usages.is_some()));
    to.list(dataset.usages.as_deref().unwrap_or_default(), |lot| match lot {
        Usage::Train => [0u8],
        Usage::Validation => [1],
        Usage::Test => [2],
    });
    to.number(u64::from(fields.is_some()));
    for field in fields.unwrap_or_default() {
        to.words(std::slice::from_ref(&field.name));
        match &field.form {
            Form::Number => to.number(0),
            Form::Scaled => to.number(1),
            Form::Words(words) => {
                to.number(2);
                to.words(words);
            }
        }
        to.number(u64::from(field.zero_is_gap));
    }
    (to.bytes, hexadecimal(&to.sha256.finalize()))
}

struct Hash {
    sha256: Sha256,
    bytes: u64,
}

impl Hash {
    fn raw(&mut self, bytes: &[u8]) {
        self.sha256.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    fn number(&mut self, number: u64) {
        self.raw(&number.to_le_bytes());
    }

    /// Some at a time: the values are not copied as a whole.
    fn list<T, const N: usize>(&mut self, items: &[T], bytes: impl Fn(&T) -> [u8; N]) {
        const AT_A_TIME: usize = 4096;
        self.number(items.len() as u64);
        let mut buffer = Vec::with_capacity(AT_A_TIME.min(items.len()) * N);
        for some in items.chunks(AT_A_TIME) {
            buffer.clear();
            some.iter().for_each(|item| buffer.extend_from_slice(&bytes(item)));
            self.raw(&buffer);
        }
    }

    /// There are many NaNs, and all of them are the same gap.
    fn numbers(&mut self, numbers: &[f64]) {
        self.list(numbers, |number| if number.is_nan() { f64::NAN.to_le_bytes() } else { number.to_le_bytes() });
    }

    fn sizes(&mut self, sizes: &[usize]) {
        self.list(sizes, |size| (*size as u64).to_le_bytes());
    }

    fn words(&mut self, words: &[String]) {
        self.number(words.len() as u64);
        for word in words {
            self.number(word.len() as u64);
            self.raw(word.as_bytes());
        }
    }

    fn matrix(&mut self, features: &Matrix) {
        self.number(features.cols() as u64);
        match features {
            Matrix::Dense(a) => {
                self.number(0);
                self.numbers(&a.values);
            }
            Matrix::Single(a) => {
                self.number(1);
                self.list(&a.values, |value| value.to_le_bytes());
            }
            Matrix::Bytes(a) => {
                self.number(2);
                self.raw(&a.scale.to_le_bytes());
                self.raw(&a.shift.to_le_bytes());
                self.number(a.values.len() as u64);
                self.raw(&a.values);
            }
            Matrix::Sparse(a) => {
                self.number(3);
                self.sizes(&a.starts);
                match &a.indices {
                    Indices::U16(indices) => self.list(indices, |index| index.to_le_bytes()),
                    Indices::U32(indices) => self.list(indices, |index| index.to_le_bytes()),
                }
                self.number(u64::from(a.values.is_some()));
                self.numbers(a.values.as_deref().unwrap_or_default());
            }
        }
    }

    fn targets(&mut self, targets: &Targets) {
        match targets {
            Targets::Classes { labels, classes } => {
                self.number(0);
                self.number(u64::from(*classes));
                self.list(labels, |label| label.to_le_bytes());
            }
            Targets::Numbers(numbers) => {
                self.number(1);
                self.numbers(numbers);
            }
            Targets::Tags { starts, tags, classes } => {
                self.number(2);
                self.number(u64::from(*classes));
                self.sizes(starts);
                self.list(tags, |tag| tag.to_le_bytes());
            }
        }
    }
}
