//! Numbers a client makes comparable by itself: gaps filled and columns standardised.
//!
//! ```text
//! of a client   m, s: mean and standard deviation of a column over its training rows that have a value
//! number        x → x, or m where it is missing
//! scaled        x → (x − m) / s, or 0 where it is missing; 0 everywhere if training knows no two different values
//! ```
//!
//! Validation and test rows are changed with what the training rows said, and nothing passes between clients. What was done is
//! kept, so that it can be done to new rows.

use serde::{Deserialize, Serialize};

use crate::dataset::Dataset;
use crate::error::ProblemError;
use crate::holdout::Parts;
use crate::matrix::{Dense, Matrix};
use crate::source::NewRows;

/// A field of a table, and what becomes of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// As the header calls it.
    pub name: String,
    /// What becomes of it.
    pub form: Form,
    /// Does 0 mean that nobody measured it?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub zero_is_gap: bool,
}

/// What becomes of a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// A column of numbers, gaps filled.
    Number,
    /// A column of numbers, gaps filled, and the rest standardised.
    Scaled,
    /// A column of 0 and 1 for each of these words, all 0 at a gap.
    Words(Vec<String>),
}

impl Form {
    /// How many columns it has.
    pub(crate) fn columns(&self) -> usize {
        match self {
            Form::Number | Form::Scaled => 1,
            Form::Words(words) => words.len(),
        }
    }
}

/// How fields became features, and what each client's training rows said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preparation {
    /// In the order of their columns.
    pub fields: Vec<Field>,
    /// By client, of each field of numbers: mean and standard deviation.
    pub clients: Vec<Vec<[f64; 2]>>,
}

impl Preparation {
    /// Prepares each client's rows with its own statistics. A gap is a NaN of a dense matrix; others have none.
    pub(crate) fn make(fields: Vec<Field>, dataset: &mut Dataset, clients: &[Parts]) -> Self {
        let mut all = Vec::new();
        if let Matrix::Dense(dense) = &mut dataset.features {
            for client in clients {
                let known = statistics(&fields, dense, &client.train);
                let rows: Vec<u32> = client.train.iter().chain(&client.validation).chain(&client.test).copied().collect();
                apply(&fields, &known, dense, &rows);
                all.push(known);
            }
        }
        Self { fields, clients: all }
    }

    /// New rows as a client's model takes them: columns are found by the names of the fields, others are passed over. Nobody's
    /// statistics are those of these very rows, as a client who joins would have them.
    pub fn features(&self, new: &NewRows, client: Option<usize>) -> Result<Matrix, ProblemError> {
        let mut dense = new.raw(&self.fields)?;
        let rows: Vec<u32> = (0..(dense.values.len() / dense.cols.max(1)) as u32).collect();
        let known = match client {
            None => statistics(&self.fields, &dense, &rows),
            Some(client) => self.clients.get(client).cloned().ok_or_else(|| ProblemError::Odd {
                file: "the model's file".into(),
                place: format!("client {client}"),
                what: format!("there are the statistics of {} clients, counted from 0", self.clients.len()),
            })?,
        };
        apply(&self.fields, &known, &mut dense, &rows);
        Ok(Matrix::Dense(dense))
    }

    /// The part of one client, without the others.
    #[must_use]
    pub fn of_client(&self, client: usize) -> Self {
        Self { fields: self.fields.clone(), clients: self.clients.get(client).cloned().into_iter().collect() }
    }
}

/// The fields of numbers with their columns.
fn numbers(fields: &[Field]) -> impl Iterator<Item = (usize, &Form)> {
    let mut next = 0;
    let placed = fields.iter().map(move |field| {
        next += field.form.columns();
        (next - field.form.columns(), &field.form)
    });
    placed.filter(|(_, form)| !matches!(form, Form::Words(_)))
}

/// Mean and standard deviation of each field of numbers over these rows.
fn statistics(fields: &[Field], dense: &Dense, rows: &[u32]) -> Vec<[f64; 2]> {
    let of = |(column, _): (usize, &Form)| {
        let known: Vec<f64> = rows.iter().map(|&row| dense.values[row as usize * dense.cols + column]).filter(|v| !v.is_nan()).collect();
        mean_and_deviation(&known)
    };
    numbers(fields).map(of).collect()
}

fn apply(fields: &[Field], known: &[[f64; 2]], dense: &mut Dense, rows: &[u32]) {
    let (cols, values) = (dense.cols, dense.values.to_mut());
    for ((column, form), &[mean, deviation]) in numbers(fields).zip(known) {
        for &row in rows {
            let value = &mut values[row as usize * cols + column];
            *value = match (form, value.is_nan()) {
                (Form::Scaled, true) => 0.0,
                (Form::Scaled, false) if deviation > 0.0 => (*value - mean) / deviation,
                (Form::Scaled, false) => 0.0,
                (_, true) => mean,
                (_, false) => *value,
            };
        }
    }
}

/// 0 for both of nothing, and for the latter where all are equal.
fn mean_and_deviation(known: &[f64]) -> [f64; 2] {
    let count = known.len().max(1) as f64;
    let mean = known.iter().sum::<f64>() / count;
    // Equal values may miss their mean by rounding.
    if known.windows(2).all(|pair| pair[0] == pair[1]) {
        return [mean, 0.0];
    }
    [mean, (known.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / count).sqrt()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Targets;

    #[test]
    fn statistics_are_of_the_clients_own_training_rows_and_test_rows_follow_them() {
        let gap = f64::NAN;
        #[rustfmt::skip]
        let values = vec![
            1.0, gap, 5.0, // client 0 trains on this,
            3.0, gap, 5.0, // and on this,
            9.0, 2.0, 7.0, // and is judged on this
            gap, 4.0, gap, // client 1 trains on this
        ];
        let features = Matrix::Dense(Dense { cols: 3, values: values.into() });
        let mut data = Dataset::new(features, Targets::Numbers(vec![0.0; 4]));
        let parts = [Parts { train: vec![0, 1], test: vec![2], ..Parts::default() }, Parts { train: vec![3], ..Parts::default() }];
        let forms = [Form::Scaled, Form::Number, Form::Scaled];
        let fields = forms.map(|form| Field { name: String::new(), form, zero_is_gap: false });
        let made = Preparation::make(fields.to_vec(), &mut data, &parts);
        // Mean 2, deviation 1 whatever the judged row has; no values at all: 0; one value only: 0.
        assert_eq!(data.features.to_dense().values, [-1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 7.0, 2.0, 0.0, 0.0, 4.0, 0.0]);
        assert_eq!(made.clients, [vec![[2.0, 1.0], [0.0, 0.0], [5.0, 0.0]], vec![[0.0, 0.0], [4.0, 0.0], [0.0, 0.0]]]);
    }
}
