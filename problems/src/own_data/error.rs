//! What can be wrong with data that a program gives.

use crate::dataset::DatasetError;

/// Why data of one's own cannot be used. Rows and columns count from 0.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DataError {
    /// There is nothing to learn from.
    #[error("there are no rows")]
    Empty,
    /// Rows are numbered with 32 bits.
    #[error("{rows} rows are too many: at most {}", u32::MAX)]
    TooMany {
        /// How many there are.
        rows: usize,
    },
    /// Rows without numbers.
    #[error("the rows have no features")]
    NoFeatures,
    /// All rows have equally many numbers.
    #[error("row {row} has {found} numbers, but row 0 has {wanted}")]
    Width {
        /// Which row.
        row: usize,
        /// How many numbers it has.
        found: usize,
        /// How many the first row has.
        wanted: usize,
    },
    /// A feature is no finite number.
    #[error("row {row}, column {column}: {value} is not a finite number; a data frame may have gaps")]
    Feature {
        /// Which row.
        row: usize,
        /// Which column.
        column: usize,
        /// What is there.
        value: f64,
    },
    /// Features and targets do not go together.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// Each row has one label, one client, one usage.
    #[error("there are {rows} rows, but {found} {what}")]
    Count {
        /// `labels`, `clients` or `usages`.
        what: &'static str,
        /// How many were given.
        found: usize,
        /// How many rows there are.
        rows: usize,
    },
    /// Nobody said what is to be predicted.
    #[error("the rows have no labels: give classes, numbers or targets")]
    Unlabelled,
    /// A number to predict is no finite number.
    #[error("row {row}: the label {value} is not a finite number")]
    Label {
        /// Which row.
        row: usize,
        /// What is there.
        value: f64,
    },
    /// There is nothing to tell apart.
    #[error("all labels are of {classes} class: there must be at least 2 to tell apart")]
    OneClass {
        /// How many there are.
        classes: u32,
    },
    /// A code that stands for no name.
    #[error("row {row} has the code {code}, but there are {names} names, counted from 0")]
    Code {
        /// Which row.
        row: usize,
        /// Its code.
        code: u32,
        /// How many names there are.
        names: usize,
    },
    /// A name that no row has.
    #[error("no row belongs to `{name}`")]
    Unused {
        /// Which name.
        name: String,
    },
    /// Two codes stand for the same name.
    #[error("two of the names are `{name}`")]
    SameName {
        /// Which name.
        name: String,
    },
    /// A problem needs to know whose each row is.
    #[error("the rows have no clients: name one for each row, or let the split of an experiment deal them")]
    NoClients,
    /// All rows are for validation and test.
    #[error("no row is for training")]
    NothingToTrain,
    /// A client has rows for validation and test only.
    #[error("client `{client}` has no row for training")]
    Untrained {
        /// Which client.
        client: String,
    },
    /// Columns of a data frame are equally long.
    #[error("column `{column}` has {found} rows, but `{first}` has {wanted}")]
    ColumnLength {
        /// Which column.
        column: String,
        /// How many rows it has.
        found: usize,
        /// The first column.
        first: String,
        /// How many rows that one has.
        wanted: usize,
    },
    /// Columns of a data frame have different names.
    #[error("two columns are called `{column}`")]
    SameColumn {
        /// Which name.
        column: String,
    },
    /// A gap is NaN; infinity is neither a number nor a gap.
    #[error("column `{column}`, row {row}: {value} is neither a number nor a gap")]
    Infinite {
        /// Which column.
        column: String,
        /// Which row.
        row: usize,
        /// What is there.
        value: f64,
    },
    /// A data frame has no column of this name.
    #[error("there is no column `{column}`; there are {}", quoted(known))]
    NoColumn {
        /// As asked for.
        column: String,
        /// Those there are.
        known: Vec<String>,
    },
    /// Nobody said which column is to be predicted.
    #[error("the data frame has no target: name the column to predict")]
    NoTarget,
    /// An experiment names data that only a program can give.
    #[error("the data `{name}` come from a program, which has to give them (Experiment::give); a file alone does not have them")]
    NotGiven {
        /// As the experiment calls them.
        name: String,
    },
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
