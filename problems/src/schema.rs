//! What a participant's table must look like, agreed upon before anybody has seen the data of another: `[problem.schema]`.
//!
//! A schema fixes how many numbers a model has and what each means. Without one, columns, categories and classes would be read off
//! everybody's data, which are not in one place.

use std::collections::BTreeSet;
use std::path::Path;

use motet_records::Input;
use serde::{Deserialize, Serialize};

use crate::data_folder::Folders;
use crate::dataset::{Dataset, TableColumns, Targets};
use crate::error::ProblemError;
use crate::matrix::{Dense, Matrix};
use crate::prepare::{Field, Form};
use crate::source::{Material, NewRows, Table};

/// Columns, kinds, categories, classes and target of everybody's tables.
///
/// ```
/// use motet_problems::Schema;
/// let schema: Schema = serde_json::from_str(
///     r#"{"target": "ill", "classes": ["no", "yes"], "columns": [{"name": "age"}, {"name": "sex", "words": ["f", "m"]}]}"#,
/// )?;
/// assert_eq!(schema.features(), 3); // age, and a column of 0 and 1 for each word
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schema {
    /// The column to predict.
    pub target: String,
    /// What its classes are called, in the order of their numbers. Absent: it is a number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// The columns that a model reads, in the order of its numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<SchemaColumn>,
    /// Instead of columns: so many of numbers, called x1, x2 and so on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<u32>,
    /// Does each participant standardise its columns of numbers? true if absent.
    #[serde(default = "yes")]
    pub standardise: bool,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SchemaColumn {
    /// As the header calls it.
    pub name: String,
    /// The words that may stand in it. Absent: numbers stand in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
}

fn yes() -> bool {
    true
}

/// Nobody has tables with more columns than this.
const MOST_COLUMNS: usize = 1 << 20;

impl Schema {
    /// The schema of a table with this target, as it would be read without one.
    pub fn draft(table: Table, folders: &Folders) -> Result<Self, ProblemError> {
        let (target, standardise) = (table.target.clone(), table.standardise);
        let material = table.read(folders)?;
        let (dataset, fields) = material.held().unwrap_or_else(|| unreachable!("the table was just read"));
        let column = |field: &Field| SchemaColumn {
            name: field.name.clone(),
            words: if let Form::Words(words) = &field.form { words.clone() } else { vec![] },
        };
        let schema =
            Self { target, classes: dataset.class_names.clone(), columns: fields.iter().map(column).collect(), inputs: None, standardise };
        schema.check()?;
        Ok(schema)
    }

    /// How many numbers an example has.
    pub fn features(&self) -> usize {
        self.fields().iter().map(|field| field.form.columns()).sum()
    }

    /// Is it a schema? Says which key is not as it should be.
    pub fn check(&self) -> Result<(), ProblemError> {
        let wrong = |key: &'static str, value: String, wanted: &str| Err(ProblemError::Value { key, value, wanted: wanted.into() });
        match self.inputs {
            Some(inputs) if !self.columns.is_empty() || inputs == 0 || inputs as usize > MOST_COLUMNS => {
                return wrong("schema.inputs", inputs.to_string(), "a number from 1, and no columns beside it");
            }
            None if self.columns.is_empty() || self.columns.len() > MOST_COLUMNS => {
                return wrong("schema.columns", self.columns.len().to_string(), "list the columns that the model reads, or give `inputs`");
            }
            _ => {}
        }
        let mut names = BTreeSet::from([self.target.as_str()]);
        if let Some(twice) = self.columns.iter().find(|column| !names.insert(&column.name)) {
            return wrong("schema.columns", format!("{:?}", twice.name), "each column once, and the target is none of them");
        }
        for column in &self.columns {
            let mut words = BTreeSet::new();
            if let Some(twice) = column.words.iter().find(|word| !words.insert(word.as_str())) {
                return wrong("schema.columns", format!("{twice:?} of `{}`", column.name), "each word once");
            }
        }
        let different: BTreeSet<&String> = self.classes.iter().collect();
        if !self.classes.is_empty() && (different.len() < self.classes.len() || different.len() < 2) {
            return wrong("schema.classes", format!("{:?}", self.classes), "at least two, each once; none if the target is a number");
        }
        Ok(())
    }

    /// The columns as fields of a table.
    pub(crate) fn fields(&self) -> Vec<Field> {
        let number = if self.standardise { Form::Scaled } else { Form::Number };
        let field = |name: String, form| Field { name, form, zero_is_gap: false };
        if let Some(inputs) = self.inputs {
            return (1..=inputs).map(|k| field(format!("x{k}"), number.clone())).collect();
        }
        let form = |words: &[String]| if words.is_empty() { number.clone() } else { Form::Words(words.to_vec()) };
        self.columns.iter().map(|column| field(column.name.clone(), form(&column.words))).collect()
    }

    /// A participant's file as examples, gaps as NaN; or which column does not fit.
    pub(crate) fn examples(&self, rows: &NewRows) -> Result<Dataset, ProblemError> {
        let features = Matrix::Dense(rows.raw(&self.fields())?);
        let targets = rows.targets(&self.target, &self.classes)?;
        let columns = TableColumns { client: None, target: self.target.clone() };
        Ok(Dataset::new(features, targets).of_classes(self.classes.clone()).from_columns(columns))
    }

    /// The file of one participant.
    pub(crate) fn material(&self, path: &Path) -> Result<(Dataset, Vec<Field>, Input), ProblemError> {
        let (rows, input) = NewRows::open_with_input(path, None)?;
        Ok((self.examples(&rows)?, self.fields(), input))
    }

    /// A table, or a folder of them, read as the schema says: the same numbers as each participant has.
    pub(crate) fn table(&self, table: &Table, folders: &Folders) -> Result<Material, ProblemError> {
        self.check()?;
        let (rows, input, client) = table.rows(folders)?;
        let mut dataset = self.examples(&rows)?;
        if let Some(client) = client {
            dataset = rows.owned(dataset, &client)?;
        }
        Ok(Material::Table { dataset, fields: self.fields(), inputs: vec![input] })
    }

    /// One example of zeros: what a model needs to know how many numbers it has.
    pub(crate) fn blank(&self) -> Dataset {
        let cols = self.features();
        let targets = match self.classes.len() as u32 {
            0 => Targets::Numbers(vec![0.0]),
            classes => Targets::Classes { labels: vec![0], classes },
        };
        let columns = TableColumns { client: None, target: self.target.clone() };
        let features = Matrix::Dense(Dense { cols, values: vec![0.0; cols].into() });
        Dataset::new(features, targets).of_classes(self.classes.clone()).from_columns(columns)
    }
}
