//! Columns of a data frame, made features as a table's are.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::path::PathBuf;

use motet_records::Input;

use super::error::DataError;
use super::{OwnData, UNNAMED, countable};
use crate::dataset::Usage;
use crate::error::ProblemError;
use crate::source::{Material, Sheet, Table, TargetKind};

/// Named columns of numbers and words, one of which says whose each row is and one of which is to be predicted.
///
/// What becomes of the others is what becomes of a table's ([`Table`]): words become columns of 0 and 1, and each client
/// fills the gaps and standardises the numbers with what its own training rows say.
///
/// ```
/// use motet_problems::DataFrame;
/// let data = DataFrame::new()
///     .column("ward", vec!["north", "south", "north", "south"])
///     .column("age", vec![Some(61.0), None, Some(48.0), Some(70.0)])
///     .column("smoker", vec!["yes", "no", "?", "no"])
///     .column("ill", vec![true, false, false, true])
///     .client("ward")
///     .target("ill")
///     .check()?;
/// assert_eq!((data.rows(), data.features()), (4, 3)); // age, smoker = no, smoker = yes
/// assert_eq!(data.clients(), ["ward north", "ward south"]);
/// # Ok::<(), motet_problems::ProblemError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DataFrame {
    name: String,
    columns: Vec<(String, Column)>,
    target: Option<String>,
    usage: Option<Vec<Usage>>,
    /// What is to be done; its path and target are not used.
    rules: Table,
}

/// A column of a data frame.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Numbers; a gap is NaN.
    Numbers(Vec<f64>),
    /// Words; a gap is nothing, or a word that tables have for it, such as "?" and "NA".
    Words(Vec<Option<String>>),
}

impl Column {
    /// How many rows it has.
    pub fn len(&self) -> usize {
        match self {
            Column::Numbers(numbers) => numbers.len(),
            Column::Words(words) => words.len(),
        }
    }

    /// None at all?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Default for DataFrame {
    fn default() -> Self {
        Self::new()
    }
}

impl DataFrame {
    /// Without columns.
    pub fn new() -> Self {
        let rules = Table::new(PathBuf::new(), String::new());
        Self { name: UNNAMED.into(), columns: vec![], target: None, usage: None, rules }
    }

    /// Adds a column.
    #[must_use]
    pub fn column(mut self, name: &str, column: impl Into<Column>) -> Self {
        self.columns.push((name.to_owned(), column.into()));
        self
    }

    /// The column that says whose each row is. Without it, the split of an experiment deals the rows.
    #[must_use]
    pub fn client(mut self, column: &str) -> Self {
        self.rules.client = Some(column.to_owned());
        self
    }

    /// The column to predict.
    #[must_use]
    pub fn target(self, column: &str) -> Self {
        Self { target: Some(column.to_owned()), ..self }
    }

    /// What the target is (default: words and whole numbers are classes).
    #[must_use]
    pub fn targets(mut self, kind: TargetKind) -> Self {
        self.rules.targets = kind;
        self
    }

    /// Columns whose numbers are names of categories.
    #[must_use]
    pub fn categories(mut self, columns: &[&str]) -> Self {
        self.rules.categories = columns.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// How many different words a column may have at most (default 100).
    #[must_use]
    pub fn most_categories(mut self, most: NonZeroU32) -> Self {
        self.rules.most_categories = most;
        self
    }

    /// Leaves numbers as they are; only gaps are filled.
    #[must_use]
    pub fn unscaled(mut self) -> Self {
        self.rules.standardise = false;
        self
    }

    /// What each row is for (default: all are for training).
    #[must_use]
    pub fn usage(self, usage: Vec<Usage>) -> Self {
        Self { usage: Some(usage), ..self }
    }

    /// What records and experiment files call the data (default "data").
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// Checks that all of it goes together, and tells which row or column does not.
    pub fn check(mut self) -> Result<OwnData, ProblemError> {
        self.columns_fit()?;
        self.rules.target = self.target.take().ok_or(DataError::NoTarget)?;
        let asked = [&self.rules.target].into_iter().chain(&self.rules.client).chain(&self.rules.categories);
        for column in asked {
            if !self.columns.iter().any(|(name, _)| name == column) {
                let known = self.columns.iter().map(|(name, _)| name.clone()).collect();
                return Err(DataError::NoColumn { column: column.clone(), known }.into());
            }
        }
        let input = Input { name: self.name.clone(), bytes: 0, sha256: String::new() };
        let Material::Table { mut dataset, fields, .. } = Sheet::of_columns(self.columns).assemble(&self.rules, &self.name, input)? else {
            unreachable!("a sheet becomes a table")
        };
        if dataset.features.cols() == 0 {
            return Err(DataError::NoFeatures.into());
        }
        if let Some(usage) = self.usage {
            dataset = dataset.with_usages(usage);
        }
        Ok(OwnData::new(&self.name, dataset, Some(fields))?)
    }

    fn columns_fit(&self) -> Result<(), DataError> {
        let (first, column) = self.columns.first().ok_or(DataError::Empty)?;
        let wanted = column.len();
        let mut seen = BTreeSet::new();
        for (name, column) in &self.columns {
            if !seen.insert(name) {
                return Err(DataError::SameColumn { column: name.clone() });
            }
            if column.len() != wanted {
                return Err(DataError::ColumnLength { column: name.clone(), found: column.len(), first: first.clone(), wanted });
            }
            if let Column::Numbers(numbers) = column
                && let Some(row) = numbers.iter().position(|number| number.is_infinite())
            {
                return Err(DataError::Infinite { column: name.clone(), row, value: numbers[row] });
            }
        }
        countable(wanted)
    }
}

impl From<Vec<f64>> for Column {
    fn from(numbers: Vec<f64>) -> Self {
        Column::Numbers(numbers)
    }
}

impl From<Vec<Option<f64>>> for Column {
    fn from(numbers: Vec<Option<f64>>) -> Self {
        Column::Numbers(numbers.into_iter().map(|number| number.unwrap_or(f64::NAN)).collect())
    }
}

impl From<Vec<bool>> for Column {
    fn from(truths: Vec<bool>) -> Self {
        Column::Numbers(truths.into_iter().map(|truth| f64::from(u8::from(truth))).collect())
    }
}

/// Makes a column from numbers that double precision holds without loss.
macro_rules! from_numbers {
    ($($narrow:ty),*) => {
        $(impl From<Vec<$narrow>> for Column {
            fn from(numbers: Vec<$narrow>) -> Self {
                Column::Numbers(numbers.into_iter().map(f64::from).collect())
            }
        })*
    };
}

from_numbers!(f32, i32, u32);

impl From<Vec<Option<String>>> for Column {
    fn from(words: Vec<Option<String>>) -> Self {
        Column::Words(words)
    }
}

impl From<Vec<String>> for Column {
    fn from(words: Vec<String>) -> Self {
        Column::Words(words.into_iter().map(Some).collect())
    }
}

impl From<Vec<Option<&str>>> for Column {
    fn from(words: Vec<Option<&str>>) -> Self {
        Column::Words(words.into_iter().map(|word| word.map(str::to_owned)).collect())
    }
}

impl From<Vec<&str>> for Column {
    fn from(words: Vec<&str>) -> Self {
        Column::Words(words.into_iter().map(|word| Some(word.to_owned())).collect())
    }
}
