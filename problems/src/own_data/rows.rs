//! Rows of features with a label and a client each.

use super::error::DataError;
use super::names::Names;
use super::{OwnData, UNNAMED, countable, not_finite};
use crate::dataset::{Dataset, DatasetError, Targets, Usage};
use crate::matrix::{Dense, Matrix};

/// Rows of features, a label for each, and whose each is.
///
/// ```
/// use motet_problems::{LabelledRows, Matrix};
/// // Three sparse rows of four features: row 0 is (0, 1, 0, 2), and row 1 has none.
/// let features = Matrix::sparse(4, vec![0, 2, 2, 3], vec![1, 3, 0], vec![1.0, 2.0, 5.0])?;
/// let data = LabelledRows::of(features).numbers(vec![0.5, 1.5, 2.5]).clients(vec![7, 7, 3]).named("visits").check()?;
/// assert_eq!((data.rows(), data.features(), data.clients()), (3, 4, &["3".to_owned(), "7".to_owned()][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LabelledRows {
    name: String,
    features: Features,
    labels: Option<Labels>,
    clients: Option<Names>,
    usage: Option<Vec<Usage>>,
}

#[derive(Clone, Debug)]
enum Features {
    Nested(Vec<Vec<f64>>),
    Matrix(Matrix),
}

#[derive(Clone, Debug)]
enum Labels {
    Classes(Names),
    Targets(Targets),
}

impl LabelledRows {
    /// A list of numbers for each row.
    ///
    /// ```
    /// use motet_problems::{DataError, LabelledRows};
    /// let rows = LabelledRows::dense(vec![vec![1.0, 2.0], vec![3.0]]).numbers(vec![0.0, 1.0]).clients(vec!["a", "b"]);
    /// assert_eq!(rows.check(), Err(DataError::Width { row: 1, found: 1, wanted: 2 }));
    /// ```
    pub fn dense(rows: Vec<Vec<f64>>) -> Self {
        Self::with(Features::Nested(rows))
    }

    /// Rows of so many numbers, one after another.
    ///
    /// ```
    /// use motet_problems::LabelledRows;
    /// let data = LabelledRows::flat(2, vec![1.0, 2.0, 3.0, 4.0]).classes(vec![-1, 1]).clients(vec!["a", "b"]).check()?;
    /// assert_eq!((data.rows(), data.features()), (2, 2));
    /// # Ok::<(), motet_problems::DataError>(())
    /// ```
    pub fn flat(width: usize, values: Vec<f64>) -> Self {
        Self::of(Matrix::Dense(Dense { cols: width, values: values.into() }))
    }

    /// The rows of a matrix, which is kept as it is: sparse, in single precision, or of bytes.
    ///
    /// ```
    /// use motet_problems::{Bytes, LabelledRows, Matrix};
    /// let images = Bytes::pixels(4, vec![0, 255, 0, 255, 9, 9, 9, 9]); // two images of 2 x 2 pixels
    /// let data = LabelledRows::of(Matrix::Bytes(images)).classes(vec!["stripes", "plain"]).clients(vec![1, 1]).check()?;
    /// assert_eq!(data.rows(), 2);
    /// # Ok::<(), motet_problems::DataError>(())
    /// ```
    pub fn of(features: Matrix) -> Self {
        Self::with(Features::Matrix(features))
    }

    fn with(features: Features) -> Self {
        Self { name: UNNAMED.into(), features, labels: None, clients: None, usage: None }
    }

    /// The class of each row, to be told apart.
    #[must_use]
    pub fn classes(self, names: impl Into<Names>) -> Self {
        Self { labels: Some(Labels::Classes(names.into())), ..self }
    }

    /// The number of each row, to be predicted.
    #[must_use]
    pub fn numbers(self, numbers: Vec<f64>) -> Self {
        self.targets(Targets::Numbers(numbers))
    }

    /// What is to be predicted, as problems have it: classes that not all occur, or several tags a row.
    #[must_use]
    pub fn targets(self, targets: Targets) -> Self {
        Self { labels: Some(Labels::Targets(targets)), ..self }
    }

    /// The client of each row. Without clients, the split of an experiment deals the rows.
    #[must_use]
    pub fn clients(self, names: impl Into<Names>) -> Self {
        Self { clients: Some(names.into()), ..self }
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

    /// Checks that all of it goes together, and tells which row does not.
    pub fn check(self) -> Result<OwnData, DataError> {
        let features = match self.features {
            Features::Nested(rows) => flattened(rows)?,
            Features::Matrix(features) => features,
        };
        features.check().map_err(DatasetError::from)?;
        if features.cols() == 0 {
            return Err(if features.rows() == 0 { DataError::Empty } else { DataError::NoFeatures });
        }
        let rows = features.rows();
        countable(rows)?;
        if let Some(wrong) = not_finite(&features) {
            return Err(wrong);
        }
        let mut class_names = vec![];
        let targets = match self.labels.ok_or(DataError::Unlabelled)? {
            Labels::Classes(names) if names.len() != rows => return Err(DataError::Count { what: "labels", found: names.len(), rows }),
            Labels::Classes(names) => {
                let (labels, names) = names.coded()?;
                let classes = names.len() as u32;
                class_names = names;
                Targets::Classes { labels, classes }
            }
            Labels::Targets(targets) => targets,
        };
        targets.check()?;
        if targets.len() != rows {
            return Err(DataError::Count { what: "labels", found: targets.len(), rows });
        }
        let mut dataset = Dataset::new(features, targets).of_classes(class_names);
        if let Some(clients) = self.clients {
            if clients.len() != rows {
                return Err(DataError::Count { what: "clients", found: clients.len(), rows });
            }
            let (keys, names) = clients.coded()?;
            dataset = dataset.from_clients(keys).named(names);
        }
        if let Some(usage) = self.usage {
            dataset = dataset.with_usages(usage);
        }
        OwnData::new(&self.name, dataset, None)
    }
}

/// Rows one after another, if all have the same width.
fn flattened(rows: Vec<Vec<f64>>) -> Result<Matrix, DataError> {
    let wanted = rows.first().ok_or(DataError::Empty)?.len();
    if wanted == 0 {
        return Err(DataError::NoFeatures);
    }
    if let Some(row) = rows.iter().position(|row| row.len() != wanted) {
        return Err(DataError::Width { row, found: rows[row].len(), wanted });
    }
    let mut values = Vec::with_capacity(rows.len() * wanted);
    rows.into_iter().for_each(|row| values.extend(row));
    Ok(Matrix::Dense(Dense { cols: wanted, values: values.into() }))
}
