//! What a network is to learn from an example's features and target.

use motet_nn::{Loss, Model as Layers, PADDING, Workspace};

use super::{Examples, ModelError};
use crate::matrix::Matrix;

/// How features and targets become what a network takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) enum Task {
    /// Features in, one of so many classes out.
    Classes,
    /// Features in, a number out.
    Number,
    /// Tokens in, one of the classes out; the vocabulary is so large.
    Text(usize),
    /// All tokens but the last in, the token after each out; the vocabulary is so large, and where there is a token for
    /// padding it is not to be predicted.
    NextToken(usize, Option<u32>),
}

impl Task {
    /// What the data's targets call for.
    pub(super) fn of(data: &Examples) -> (Self, usize, Loss) {
        match data.classes() {
            Some(classes) => (Task::Classes, classes as usize, Loss::CrossEntropy),
            None => (Task::Number, 1, Loss::Squared),
        }
    }

    /// Are tokens within the vocabulary?
    pub(super) fn check(self, model: &'static str, data: &Examples) -> Result<(), ModelError> {
        let (Task::Text(vocabulary) | Task::NextToken(vocabulary, _)) = self else { return Ok(()) };
        for row in 0..data.len() {
            let mut bad = None;
            data.features().entries(row, |_, token| {
                if !(token >= 0.0 && token < vocabulary as f64 && token.fract() == 0.0) {
                    bad = Some(token);
                }
            });
            if let Some(token) = bad {
                return Err(ModelError::Token { model, example: row, token, vocabulary });
            }
        }
        Ok(())
    }

    /// One more example.
    pub(super) fn add(self, data: &Examples, row: usize, layers: &Layers<f32>, room: &mut Workspace<f32>) {
        let at = room.inputs.len();
        extend(data.features(), row, &mut room.inputs);
        match self {
            Task::Classes | Task::Number | Task::Text(_) => room.targets.push(data.targets()[row] as f32),
            Task::NextToken(_, padding) => {
                let next = room.inputs[at + 1..].iter();
                room.targets.extend(next.map(|&token| if Some(token as u32) == padding { PADDING as f32 } else { token }));
                room.inputs.truncate(at + layers.input().len());
            }
        }
    }
}

/// Asks the memory for all rows before the first is copied: a client that is visited for the first time lies in none of the
/// caches, and its rows come in the time of one.
pub(super) fn fetch(data: &Examples, rows: impl Iterator<Item = usize>) {
    match data.features() {
        Matrix::Single(a) => {
            // Sixteen numbers lie in one line of the cache.
            let firsts = rows.flat_map(|row| a.values[row * a.cols..][..a.cols].iter().step_by(16));
            std::hint::black_box(firsts.fold(0, |sum: u32, v| sum.wrapping_add(v.to_bits())));
        }
        Matrix::Bytes(a) => {
            let firsts = rows.flat_map(|row| a.row(row).iter().step_by(64));
            std::hint::black_box(firsts.fold(0, |sum: u8, v| sum.wrapping_add(*v)));
        }
        Matrix::Dense(_) | Matrix::Sparse(_) => {}
    }
}

/// Appends a row in single precision.
fn extend(features: &Matrix, row: usize, to: &mut Vec<f32>) {
    match features {
        Matrix::Dense(a) => to.extend(a.values[row * a.cols..][..a.cols].iter().map(|&v| v as f32)),
        Matrix::Single(a) => to.extend_from_slice(&a.values[row * a.cols..][..a.cols]),
        Matrix::Bytes(a) => to.extend(a.row(row).iter().map(|&byte| a.worth(byte))),
        Matrix::Sparse(a) => {
            let at = to.len();
            to.resize(at + a.cols, 0.0);
            features.entries(row, |c, v| to[at + c] = v as f32);
        }
    }
}
