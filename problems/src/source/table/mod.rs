//! Tables as people have them: a header, a column that says whose a row is, a column to predict.
//!
//! Columns of numbers stay numbers; each client fills its gaps and standardises with its own training rows ([`crate::prepare`]).
//! A column of which nine cells in ten are numbers is one of numbers, and its other cells are errors.
//! Clients of large tables are read one by one ([`one_by_one`]).
//! Columns of words become one column of 0 and 1 for each different word, none of them set where the word is missing.

mod cell;
mod cells;
mod columns;
mod encoding;
mod folder;
mod new_rows;
mod one_by_one;
mod same_number;

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::open::{Opened, name_of, open};
use super::{Load, Material, Place};
use crate::data_folder::Folders;
use crate::dataset::Dataset;
use crate::error::ProblemError;
use crate::guard::FileLimit;
use crate::prepare::Field;
use cells::Cells;
pub use columns::natural_order;
pub(crate) use columns::{Sheet, in_natural_order};
pub use encoding::Encoding;
use encoding::decoded;
use motet_core::{Documented, Kind};
use motet_records::Input;
pub use new_rows::NewRows;

/// A table (CSV, TSV; Parquet with the feature `parquet`) with a column that names the client and one to predict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The file, plain or packed; or a folder with one table for each client, whose name is that of its file.
    pub path: PathBuf,
    /// The column to predict.
    pub target: String,
    /// The column that names each row's client; without it, rows have no natural client and a split must deal them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// "auto" (words and whole numbers are classes), "classes" or "numbers" (default auto).
    #[serde(default)]
    pub targets: TargetKind,
    /// Columns to leave out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drop: Vec<String>,
    /// Columns whose numbers, dates or words are names of categories, one column of 0 and 1 for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// The character between two fields (default: tab, semicolon or comma, whichever the header has).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub separator: Option<char>,
    /// The decimal sign: "." or "," (default: found out from the table, if its separator is not a comma).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decimal: Option<char>,
    /// How the text is encoded: "utf-8", "utf-16" or "latin-1" (Windows-1252). Default: utf-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
    /// Whether each client standardises its columns of numbers (default true).
    #[serde(default = "yes")]
    pub standardise: bool,
    /// How many different words a column may have (default 100).
    #[serde(default = "hundred")]
    pub most_categories: NonZeroU32,
    /// Clients with fewer rows are left out (default: none are).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_rows: Option<NonZeroU32>,
    #[serde(skip)]
    held: Option<Held>,
}

impl Kind for Table {
    const NAME: &'static str = "table";
}

impl Table {
    /// The table in a file and the column to predict; everything else has its default.
    pub fn new(path: PathBuf, target: String) -> Self {
        Self {
            path,
            target,
            client: None,
            targets: TargetKind::Auto,
            drop: vec![],
            categories: vec![],
            separator: None,
            decimal: None,
            encoding: None,
            standardise: yes(),
            most_categories: hundred(),
            least_rows: None,
            held: None,
        }
    }

    /// Reads the table now and keeps it: problems that are made of it read no file again.
    pub fn read(self, folders: &Folders) -> Result<Self, ProblemError> {
        let held = match self.material(folders)? {
            Material::Table { dataset, fields, inputs } => Held(Arc::new((Arc::new(dataset), fields, inputs))),
            _ => unreachable!("a sheet becomes a table"),
        };
        Ok(Self { held: Some(held), ..self })
    }

    /// The examples, if they are [held](Self::read).
    pub fn examples(&self) -> Option<&Arc<Dataset>> {
        self.held.as_ref().map(|held| &held.0.0)
    }

    /// What was read, if it is [held](Self::read): examples and fields.
    pub(crate) fn held(&self) -> Option<(&Dataset, &[Field])> {
        self.held.as_ref().map(|held| (&*held.0.0, held.0.1.as_slice()))
    }

    fn material(&self, folders: &Folders) -> Result<Material, ProblemError> {
        let (cells, input, path, client) = self.found(folders)?;
        Sheet::from(cells).assemble(&Self { client, ..self.clone() }, &name_of(&path), input)
    }

    /// The rows as they are written, the file or folder, and the column that names the clients, where there is one.
    pub(crate) fn rows(&self, folders: &Folders) -> Result<(NewRows, Input, Option<String>), ProblemError> {
        let (cells, input, path, client) = self.found(folders)?;
        Ok((NewRows::of(cells, &name_of(&path))?, input, client))
    }

    /// The file's cells, or those of the folder's files; where they are, and the column that names the clients.
    fn found(&self, folders: &Folders) -> Result<(Cells, Input, PathBuf, Option<String>), ProblemError> {
        if let Some(folder) = folders.find_folder(&self.path) {
            let (cells, input) = self.gathered(&folder, folders.limit)?;
            return Ok((cells, input, folder, Some(self.client.clone().unwrap_or_else(|| folder::CLIENT.into()))));
        }
        let path = folders.find(&self.path)?;
        let (cells, input) = self.cells(&path, folders.limit)?;
        Ok((cells, input, path, self.client.clone()))
    }

    /// A file as cells.
    fn cells(&self, path: &Path, limit: FileLimit) -> Result<(Cells, Input), ProblemError> {
        let Opened { text, input } = open(path, limit)?;
        let file = name_of(path);
        let cells = if text.starts_with(b"PAR1") {
            parquet(path, &file, &limit.budget(input.bytes))?
        } else {
            Cells::read(&decoded(text, self.encoding, &file)?, &file, (self.separator, self.decimal))?
        };
        Ok((cells, input))
    }
}

/// A table that was read: examples, fields and files.
#[derive(Clone)]
struct Held(Arc<(Arc<Dataset>, Vec<Field>, Vec<Input>)>);

/// What was read does not make another source of it.
impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.0.2 == other.0.2
    }
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Held").field(&self.0.2).finish()
    }
}

fn yes() -> bool {
    true
}
fn hundred() -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(99)
}

/// What is predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetKind {
    /// Words and whole numbers are classes, in ascending order; other numbers are quantities.
    #[default]
    Auto,
    /// Each different value is a class.
    Classes,
    /// Quantities.
    Numbers,
}

impl Load for Table {
    fn load(&self, place: &Place<'_>) -> Result<Material, ProblemError> {
        match &self.held {
            Some(Held(held)) => {
                let (dataset, fields, inputs) = &**held;
                Ok(Material::Shared { dataset: Arc::clone(dataset), fields: Some(fields.clone()), inputs: inputs.clone() })
            }
            None => match self.one_by_one(place)? {
                Some(clients) => Ok(clients),
                None => self.material(place.folders),
            },
        }
    }
}

#[cfg(not(feature = "parquet"))]
fn parquet(_: &Path, file: &str, _: &crate::guard::Budget) -> Result<Cells, ProblemError> {
    Err(ProblemError::Odd {
        file: file.into(),
        place: "first bytes".into(),
        what: "this motet was built without the feature `parquet`, which Parquet files need".into(),
    })
}

#[cfg(feature = "parquet")]
mod parquet_file;
#[cfg(feature = "parquet")]
use parquet_file::read as parquet;
