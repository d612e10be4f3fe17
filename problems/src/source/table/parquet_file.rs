//! Columns of a Parquet file as fields of text: flat columns of numbers, words, truths and dates.

use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use super::cell::Decimal;
use super::cells::Cells;
use crate::error::ProblemError;
use crate::guard::{Budget, open_regular};

pub(super) fn read(path: &Path, file: &str, budget: &Budget) -> Result<Cells, ProblemError> {
    let odd = |place: String, what: String| ProblemError::Odd { file: file.into(), place, what };
    let (opened, _) = open_regular(path)?;
    let reader = SerializedFileReader::new(opened).map_err(|cause| odd("Parquet footer".into(), cause.to_string()))?;
    let names: Vec<String> = reader.metadata().file_metadata().schema().get_fields().iter().map(|f| f.name().to_owned()).collect();
    let mut columns: Vec<Vec<Option<String>>> = vec![vec![]; names.len()];
    let rows = reader.get_row_iter(None).map_err(|cause| odd("Parquet rows".into(), cause.to_string()))?;
    for (number, row) in rows.enumerate() {
        let row = row.map_err(|cause| odd(format!("row {}", number + 1), cause.to_string()))?;
        for (column, (name, field)) in columns.iter_mut().zip(row.get_column_iter()) {
            let value = match field {
                Field::Null => None,
                Field::Str(text) => Some(text.clone()),
                Field::Bool(truth) => Some(u8::from(*truth).to_string()),
                Field::Float(value) => (!value.is_nan()).then(|| value.to_string()),
                Field::Double(value) => (!value.is_nan()).then(|| value.to_string()),
                Field::Group(_) | Field::ListInternal(_) | Field::MapInternal(_) | Field::Bytes(_) => {
                    return Err(odd(format!("column `{name}`"), "is nested or raw bytes; tables have numbers and words".into()));
                }
                other => Some(other.to_string()),
            };
            // A few bytes may say the same value a billion times.
            let bytes = size_of::<Option<String>>() + value.as_ref().map_or(0, String::len);
            budget.spend(bytes).map_err(|what| odd(format!("row {}", number + 1), what))?;
            column.push(value);
        }
    }
    Ok(Cells { names, columns, first_line: 1, decimal: Decimal::Point, notes: vec![] })
}
