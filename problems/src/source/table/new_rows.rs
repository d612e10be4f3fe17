//! New rows for a model that was trained on a table: found by the names of their columns, whatever their order.

use std::collections::BTreeMap;
use std::path::Path;

use motet_records::Input;
use serde_json::{Map, Value};

use super::cell::{Cell, Decimal};
use super::cells::{Cells, known};
use super::columns::{by_rows, in_natural_order, number};
use super::encoding::{Encoding, decoded};
use super::parquet;
use crate::dataset::{Dataset, Targets};
use crate::error::ProblemError;
use crate::guard::FileLimit;
use crate::matrix::Dense;
use crate::prepare::{Field, Form};
use crate::source::open::{Opened, name_of, open, shown};

/// Rows of a file as they are written: columns with names, and what stands in them.
///
/// CSV and TSV with a header, JSON lines (one object a line), and Parquet with its feature; which it is, the bytes tell.
#[derive(Debug)]
pub struct NewRows {
    cells: Cells,
    file: String,
    rows: usize,
}

impl NewRows {
    /// Reads a file; the encoding is UTF-8 if nobody says another.
    pub fn open(path: &Path, encoding: Option<Encoding>) -> Result<Self, ProblemError> {
        Self::open_with_input(path, encoding).map(|(rows, _)| rows)
    }

    /// Reads a file; what it was, too.
    pub(crate) fn open_with_input(path: &Path, encoding: Option<Encoding>) -> Result<(Self, Input), ProblemError> {
        let limit = FileLimit::default();
        let Opened { text, input } = open(path, limit)?;
        let file = name_of(path);
        if text.starts_with(b"PAR1") {
            return Ok((Self::of(parquet(path, &file, &limit.budget(input.bytes))?, &file)?, input));
        }
        Ok((Self::read(&text, &file, encoding)?, input))
    }

    /// Reads the bytes of text; `file` is what messages call it.
    pub fn read(text: &[u8], file: &str, encoding: Option<Encoding>) -> Result<Self, ProblemError> {
        let text = decoded(text.to_vec(), encoding, file)?;
        let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
        let cells = if first == Some(&b'{') { json_lines(&text, file)? } else { Cells::read(&text, file, (None, None))? };
        Self::of(cells, file)
    }

    pub(super) fn of(cells: Cells, file: &str) -> Result<Self, ProblemError> {
        let rows = cells.columns.first().map_or(0, Vec::len);
        if rows == 0 {
            return Err(ProblemError::NoExamples { file: file.into() });
        }
        Ok(Self { cells, file: file.into(), rows })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Always false: files without rows are refused.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// What a column says in each row, nothing where there is a gap; none if there is no such column.
    pub fn column(&self, name: &str) -> Option<&[Option<String>]> {
        let at = self.cells.names.iter().position(|n| n == name)?;
        Some(&self.cells.columns[at])
    }

    /// What messages call a row: its line in the file.
    pub fn place(&self, row: usize) -> String {
        format!("{}, line {}", self.file, row + self.cells.first_line)
    }

    /// The column to predict: one of these classes in each row, or a number where there are none.
    pub(crate) fn targets(&self, name: &str, classes: &[String]) -> Result<Targets, ProblemError> {
        let odd = |place: String, what: String| ProblemError::Odd { file: self.file.clone(), place, what };
        let column = self.column(name);
        let column =
            column.ok_or_else(|| odd("line 1".into(), format!("no column `{}`, which is the one to predict", shown(name.as_bytes()))))?;
        let line = |row: usize| format!("line {}", row + self.cells.first_line);
        let known = || classes.iter().map(|class| format!("`{}`", shown(class.as_bytes()))).collect::<Vec<_>>().join(", ");
        let (mut labels, mut numbers) = (vec![], vec![]);
        for (row, cell) in column.iter().enumerate() {
            let cell =
                cell.as_deref().ok_or_else(|| odd(line(row), format!("column `{name}` has no value, and it is the one to predict")))?;
            if classes.is_empty() {
                let value = number(cell, self.cells.decimal).ok_or_else(|| {
                    let reproach = Cell::of(cell, self.cells.decimal).reproach();
                    odd(line(row), format!("`{}` of column `{name}` {reproach}", shown(cell.as_bytes())))
                })?;
                numbers.push(value);
            } else {
                let class = place_of(classes, cell, self.cells.decimal).ok_or_else(|| {
                    odd(line(row), format!("`{}` of column `{name}` is none of the classes {}", shown(cell.as_bytes()), known()))
                })?;
                labels.push(class as u32);
            }
        }
        Ok(match classes.len() as u32 {
            0 => Targets::Numbers(numbers),
            classes => Targets::Classes { labels, classes },
        })
    }

    /// The same examples with the client of each, whose name stands in this column.
    pub(crate) fn owned(&self, dataset: Dataset, column: &str) -> Result<Dataset, ProblemError> {
        let odd = |place: String, what: String| ProblemError::Odd { file: self.file.clone(), place, what };
        let cells = self.column(column).ok_or_else(|| odd("line 1".into(), format!("no column `{column}`, which names the clients")))?;
        let owner = |(row, cell): (usize, &Option<String>)| {
            cell.clone().ok_or_else(|| odd(format!("line {}", row + self.cells.first_line), format!("column `{column}` has no value")))
        };
        let owners = cells.iter().enumerate().map(owner).collect::<Result<Vec<_>, _>>()?;
        let (keys, names) = in_natural_order(&owners);
        Ok(dataset.from_clients(keys).named(names.into_iter().map(|name| format!("{column} {name}")).collect()))
    }

    /// Rows as the fields say, gaps as NaN. Columns that are no fields are passed over.
    pub(crate) fn raw(&self, fields: &[Field]) -> Result<Dense, ProblemError> {
        let cells = &self.cells;
        let odd = |line: usize, what: String| ProblemError::Odd { file: self.file.clone(), place: format!("line {line}"), what };
        let places: BTreeMap<&str, usize> = cells.names.iter().map(String::as_str).zip(0..).collect();
        let quoted = |names: &mut dyn Iterator<Item = &str>| names.map(|name| format!("`{}`", shown(name.as_bytes()))).collect::<Vec<_>>();
        let missing = quoted(&mut fields.iter().map(|field| field.name.as_str()).filter(|name| !places.contains_key(name)));
        if !missing.is_empty() {
            let all = quoted(&mut fields.iter().map(|field| field.name.as_str())).join(", ");
            let columns = if missing.len() == 1 { "column" } else { "columns" };
            return Err(odd(1, format!("no {columns} {}; the model takes {all}", missing.join(", "))));
        }
        let number = |cell: &str| match cell {
            "true" => Some(1.0),
            "false" => Some(0.0),
            cell => number(cell, cells.decimal),
        };
        let mut columns = vec![];
        for field in fields {
            let at = places[field.name.as_str()];
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
                    let place = |(line, cell): (usize, Option<&str>)| {
                        match cell {
                        None => Ok(None),
                        Some(cell) => place_of(words, cell, cells.decimal).map(Some).ok_or_else(|| {
                            let known = quoted(&mut words.iter().map(String::as_str)).join(", ");
                            odd(
                                line,
                                format!(
                                    "`{}` of column `{}` is none of {known}, which the model has learnt: an empty field counts as none of them",
                                    shown(cell.as_bytes()),
                                    field.name
                                ),
                            )
                        }),
                    }
                    };
                    let places = cells_of().map(place).collect::<Result<Vec<Option<usize>>, _>>()?;
                    columns.extend((0..words.len()).map(|word| places.iter().map(|at| f64::from(u8::from(*at == Some(word)))).collect()));
                }
            }
        }
        Ok(by_rows(&columns, self.rows))
    }
}

/// The place of this very word; else that of the same number, written in another way.
fn place_of(words: &[String], cell: &str, decimal: Decimal) -> Option<usize> {
    words.iter().position(|word| word == cell).or_else(|| words.iter().position(|word| same(word, cell, decimal)))
}

/// The same word, or the same number.
fn same(word: &str, cell: &str, decimal: Decimal) -> bool {
    word == cell || number(word, decimal).is_some_and(|value| number(cell, decimal) == Some(value))
}

/// One object a line. A key that a line does not have is a gap there.
fn json_lines(text: &[u8], file: &str) -> Result<Cells, ProblemError> {
    let odd = |line: usize, what: String| ProblemError::Odd { file: file.into(), place: format!("line {line}"), what };
    let (mut names, mut columns, mut places) = (vec![], Vec::<Vec<Option<String>>>::new(), BTreeMap::<String, usize>::new());
    for (at, line) in text.split(|&byte| byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            // A blank line at the end is common; elsewhere it would move the numbers of lines.
            if text.split(|&byte| byte == b'\n').skip(at).any(|rest| !rest.trim_ascii().is_empty()) {
                return Err(odd(at + 1, "is empty, between lines of JSON".into()));
            }
            break;
        }
        let object: Map<String, Value> = serde_json::from_slice(line).map_err(|e| odd(at + 1, format!("is not a JSON object: {e}")))?;
        for (name, value) in object {
            let cell = match value {
                Value::Null => None,
                Value::Bool(truth) => Some(truth.to_string()),
                Value::Number(number) => Some(number.to_string()),
                Value::String(word) => known(&word).map(str::to_owned),
                Value::Array(_) | Value::Object(_) => {
                    return Err(odd(at + 1, format!("`{}` is nested: rows have numbers and words", shown(name.as_bytes()))));
                }
            };
            let place = *places.entry(name.clone()).or_insert_with(|| {
                names.push(name);
                columns.push(vec![None; at]);
                columns.len() - 1
            });
            columns[place].push(cell);
        }
        columns.iter_mut().for_each(|column| column.resize(at + 1, None));
    }
    Ok(Cells { names, columns, first_line: 1, decimal: Decimal::Point, notes: vec![] })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, form: Form) -> Field {
        Field { name: name.into(), form, zero_is_gap: false }
    }

    #[test]
    fn json_lines_and_csv_of_the_same_rows_are_the_same_numbers() {
        let fields = [field("age", Form::Scaled), field("colour", Form::Words(vec!["blue".into(), "red".into()]))];
        let csv = NewRows::read(b"colour,who,age\nred,a,3\n?,b,\n", "a.csv", None).unwrap();
        let json = NewRows::read(b"{\"age\": 3, \"colour\": \"red\"}\n{\"who\": \"b\", \"age\": null}\n\n", "a.jsonl", None).unwrap();
        let (one, other) = (csv.raw(&fields).unwrap().values, json.raw(&fields).unwrap().values);
        assert_eq!(format!("{one:?}"), "[3.0, 0.0, 1.0, NaN, 0.0, 0.0]");
        assert_eq!(format!("{one:?}"), format!("{other:?}"));
        assert_eq!(json.column("who"), Some(&[None, Some("b".to_owned())][..]));
    }

    #[test]
    fn every_missing_column_is_named_and_odd_lines_are_too() {
        let fields = [field("age", Form::Scaled), field("height", Form::Number)];
        let said = |text: &str| NewRows::read(text.as_bytes(), "f", None).and_then(|rows| rows.raw(&fields)).unwrap_err().to_string();
        assert_eq!(said("weight\n1\n"), "f, line 1: no columns `age`, `height`; the model takes `age`, `height`");
        for (text, part) in [
            ("{\"age\": 1, \"height\": [2]}", "line 1: `height` is nested"),
            ("{\"age\": 1}\n\n{\"age\": 2}", "line 2: is empty"),
            ("{\"age\": 1\n", "line 1: is not a JSON object"),
            ("{\"age\": \"old\", \"height\": true}", "`old` of column `age` is not a number"),
            ("", "no examples"),
        ] {
            assert!(said(text).contains(part), "{text}: {}", said(text));
        }
    }
}
