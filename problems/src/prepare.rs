//! Numbers a client makes comparable by itself: gaps filled and columns standardised.
//!
//! ```text
//! of a client   m, s: mean and standard deviation of a column over its training rows that have a value
//! number        x → x, or m where it is missing
//! scaled        x → (x − m) / s, or 0 where it is missing; 0 everywhere if training knows no two different values
//! ```
//!
//! Validation and test rows are changed with what the training rows said, and nothing passes between clients.

use crate::dataset::Dataset;
use crate::holdout::Parts;
use crate::matrix::Matrix;

/// What is done with a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    /// Nothing; it has no gaps.
    Plain,
    /// Gaps are filled.
    Number,
    /// Gaps are filled, and the rest is standardised.
    Scaled,
}

/// Prepares each client's rows with its own statistics. A gap is a NaN of a dense matrix; others have none.
pub(crate) fn prepare(dataset: &mut Dataset, columns: &[Column], clients: &[Parts]) {
    let Matrix::Dense(dense) = &mut dataset.features else { return };
    let cols = dense.cols;
    for client in clients {
        for (c, &column) in columns.iter().enumerate().filter(|(_, column)| **column != Column::Plain) {
            let at = |row: &u32| *row as usize * cols + c;
            let known: Vec<f64> = client.train.iter().map(|row| dense.values[at(row)]).filter(|v| !v.is_nan()).collect();
            let (mean, deviation) = statistics(&known);
            for row in client.train.iter().chain(&client.validation).chain(&client.test) {
                let value = &mut dense.values[at(row)];
                *value = match (column, value.is_nan()) {
                    (Column::Scaled, true) => 0.0,
                    (Column::Scaled, false) if deviation > 0.0 => (*value - mean) / deviation,
                    (Column::Scaled, false) => 0.0,
                    (_, true) => mean,
                    (_, false) => *value,
                };
            }
        }
    }
}

/// Mean and standard deviation; 0 for both of nothing, and for the latter where all are equal.
fn statistics(known: &[f64]) -> (f64, f64) {
    let count = known.len().max(1) as f64;
    let mean = known.iter().sum::<f64>() / count;
    // Equal values may miss their mean by rounding.
    if known.windows(2).all(|pair| pair[0] == pair[1]) {
        return (mean, 0.0);
    }
    (mean, (known.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Targets;
    use crate::matrix::Dense;

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
        let features = Matrix::Dense(Dense { cols: 3, values });
        let mut data = Dataset::new(features, Targets::Numbers(vec![0.0; 4]));
        let parts = [Parts { train: vec![0, 1], test: vec![2], ..Parts::default() }, Parts { train: vec![3], ..Parts::default() }];
        prepare(&mut data, &[Column::Scaled, Column::Number, Column::Scaled], &parts);
        // Mean 2, deviation 1 whatever the judged row has; no values at all: 0; one value only: 0.
        assert_eq!(data.features.to_dense().values, [-1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 7.0, 2.0, 0.0, 0.0, 4.0, 0.0]);
    }
}
