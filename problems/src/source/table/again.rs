//! New rows of a table whose fields are known.

use std::collections::BTreeMap;

use super::cell::{Cell, Decimal};
use super::cells::Cells;
use super::columns::{by_rows, number};
use super::encoding::decoded;
use crate::error::ProblemError;
use crate::matrix::Dense;
use crate::prepare::{Field, Form};
use crate::source::open::shown;

/// Rows as the fields say, gaps as NaN. Columns that are no fields are passed over.
pub(crate) fn raw_rows(fields: &[Field], text: &[u8], file: &str) -> Result<Dense, ProblemError> {
    let cells = Cells::read(&decoded(text.to_vec(), None, file)?, file, (None, None))?;
    let rows = cells.columns.first().map_or(0, Vec::len);
    if rows == 0 {
        return Err(ProblemError::NoExamples { file: file.into() });
    }
    let odd = |line: usize, what: String| ProblemError::Odd { file: file.into(), place: format!("line {line}"), what };
    let places: BTreeMap<&str, usize> = cells.names.iter().map(String::as_str).zip(0..).collect();
    let number = |cell: &str| number(cell, cells.decimal);
    let mut columns = vec![];
    for field in fields {
        let Some(&at) = places.get(field.name.as_str()) else {
            let names = fields.iter().map(|field| format!("`{}`", field.name)).collect::<Vec<_>>().join(", ");
            return Err(odd(1, format!("no column `{}`; the fields are {names}", field.name)));
        };
        let cells_of = || cells.columns[at].iter().enumerate().map(|(row, cell)| (row + cells.first_line, cell.as_deref()));
        match &field.form {
            Form::Number | Form::Scaled => {
                let value = |(line, cell): (usize, Option<&str>)| match cell.map(|cell| (cell, number(cell))) {
                    None => Ok(f64::NAN),
                    Some((_, Some(zero))) if zero == 0.0 && field.zero_is_gap => Ok(f64::NAN),
                    Some((_, Some(value))) => Ok(value),
                    Some((cell, None)) => {
                        let reproach = Cell::of(cell, cells.decimal).reproach();
                        Err(odd(line, format!("`{}` of column `{}` {reproach}", shown(cell.as_bytes()), field.name)))
                    }
                };
                columns.push(cells_of().map(value).collect::<Result<Vec<f64>, _>>()?);
            }
            Form::Words(words) => {
                let place = |(line, cell): (usize, Option<&str>)| match cell {
                    None => Ok(None),
                    Some(cell) => words.iter().position(|word| same(word, cell, cells.decimal)).map(Some).ok_or_else(|| {
                        let known = words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
                        odd(line, format!("`{}` of column `{}` is none of {known}", shown(cell.as_bytes()), field.name))
                    }),
                };
                let places = cells_of().map(place).collect::<Result<Vec<Option<usize>>, _>>()?;
                columns.extend((0..words.len()).map(|word| places.iter().map(|at| f64::from(u8::from(*at == Some(word)))).collect()));
            }
        }
    }
    Ok(by_rows(&columns, rows))
}

/// The same word, or the same number.
fn same(word: &str, cell: &str, decimal: Decimal) -> bool {
    word == cell || number(word, decimal).is_some_and(|value| number(cell, decimal) == Some(value))
}
