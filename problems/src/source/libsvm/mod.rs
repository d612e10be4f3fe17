//! LIBSVM text: `label index:value index:value …`, one example per line.
//!
//! Indices count from 1 and ascend, what follows `#` is a comment, blank lines are skipped, and
//! features left out are zero.

mod labels;
mod parse;

use std::num::NonZeroU32;
use std::path::PathBuf;

use labels::Labels;
use motet_core::{Documented, Kind};
use motet_records::Input;
use parse::Parser;
use serde::{Deserialize, Serialize};

use super::open::{Opened, name_of, open};
use super::{Load, Material, Place};
use crate::data_folder::Folders;
use crate::dataset::Dataset;
use crate::error::ProblemError;
use crate::matrix::Matrix;

/// Examples in LIBSVM text, plain or packed (.gz, .bz2, .xz).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Libsvm {
    /// The file, looked up beside the experiment, then in the data folder and its subfolders.
    pub path: PathBuf,
    /// How many features there are (default: the largest index of the file).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<NonZeroU32>,
    /// How many classes there must be (default: as many as the file has).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<NonZeroU32>,
    /// "auto" (default: whole numbers are classes), "numbers" (quantities), "author" (positive unless -1).
    #[serde(default)]
    pub labels: LabelMode,
}

impl Kind for Libsvm {
    const NAME: &'static str = "libsvm";
}

/// What the first word of a line means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LabelMode {
    /// Whole numbers are classes, anything else makes all of them quantities. Of {-1, 1}, {0, 1} and
    /// {1, 2} the 1 is the positive class; any other set is numbered in ascending order.
    #[default]
    Auto,
    /// Quantities, whole or not.
    Numbers,
    /// Positive unless -1, as the released FLIX code reads every file; mushrooms, whose labels are 1
    /// and 2, is then a problem of one class.
    Author,
}

impl Load for Libsvm {
    fn load(&self, place: &Place<'_>) -> Result<Material, ProblemError> {
        let (dataset, input) = self.open(place.folders)?;
        Ok(Material::Examples { dataset, inputs: vec![input] })
    }
}

impl Libsvm {
    /// Finds and reads the file; says also which file it was.
    pub fn open(&self, folders: &Folders) -> Result<(Dataset, Input), ProblemError> {
        let file = folders.find(&self.path)?;
        let Opened { text, input } = open(&file, folders.limit)?;
        Ok((self.read(&text, name_of(&file))?, input))
    }

    /// Reads unpacked text; `file` is for messages.
    fn read(&self, text: &[u8], file: String) -> Result<Dataset, ProblemError> {
        let labels = Labels::new(self.labels, self.classes.map(NonZeroU32::get));
        let mut parser = Parser::new(text, labels, self.features.map(NonZeroU32::get));
        if let Err((line, fault)) = parser.run(text) {
            return Err(ProblemError::Line { file, line, fault });
        }
        let (features, labels) = parser.finish();
        if labels.count() == 0 {
            return Err(ProblemError::NoExamples { file });
        }
        match labels.missing() {
            Some((expected, found)) => Err(ProblemError::TooFewClasses { file, expected, found }),
            None => {
                let (targets, recoded) = labels.finish();
                Ok(Dataset::new(Matrix::Sparse(features), targets).recoded(recoded))
            }
        }
    }
}
