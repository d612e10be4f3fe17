//! The text of a table as cells: what parts them, and what stands before the fractions of their numbers.

use std::collections::BTreeSet;

use super::cell::{Decimal, has_comma_fraction, has_point_fraction};
use crate::error::ProblemError;
use crate::source::open::shown;

/// A table as text: names of columns, and fields column by column; none where a value is missing.
#[derive(Debug)]
pub(super) struct Cells {
    pub(super) names: Vec<String>,
    pub(super) columns: Vec<Vec<Option<String>>>,
    /// The line of the first row, for messages.
    pub(super) first_line: usize,
    /// What stands before fractions.
    pub(super) decimal: Decimal,
    /// What people should know of how it was read.
    pub(super) notes: Vec<String>,
}

/// What people write where they know nothing.
const MISSING: [&str; 8] = ["", "?", "na", "n/a", "nan", "null", "none", "-"];

/// What a field says, without the spaces around it; nothing where it says that nobody knows.
pub(super) fn known(field: &str) -> Option<&str> {
    let field = field.trim();
    (!MISSING.iter().any(|missing| field.eq_ignore_ascii_case(missing))).then_some(field)
}

impl Cells {
    /// The separator of fields and that of fractions may be told; otherwise the text tells them.
    pub(super) fn read(text: &[u8], file: &str, (separator, decimal): (Option<char>, Option<char>)) -> Result<Self, ProblemError> {
        let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
        let header = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let by = separator_of(header, separator)?;
        let odd = |line: u64, what: String| ProblemError::Odd { file: file.into(), place: format!("line {line}"), what };
        let mut reader = csv::ReaderBuilder::new().delimiter(by).from_reader(text);
        let names: Vec<String> = reader.headers().map_err(|cause| odd(1, cause.to_string()))?.iter().map(|n| n.trim().to_owned()).collect();
        let mut seen = BTreeSet::new();
        if let Some(twice) = names.iter().find(|name| !seen.insert(name.as_str())) {
            return Err(odd(1, format!("two columns are called `{}`", shown(twice.as_bytes()))));
        }
        let mut columns = vec![vec![]; names.len()];
        for record in reader.records() {
            let record = record.map_err(|cause| {
                let line = cause.position().map_or(0, csv::Position::line);
                let what = match cause.kind() {
                    csv::ErrorKind::UnequalLengths { expected_len, len, .. } => format!("{len} fields, but the header has {expected_len}"),
                    _ => cause.to_string(),
                };
                odd(line, what)
            })?;
            for (column, field) in columns.iter_mut().zip(&record) {
                column.push(known(field).map(str::to_owned));
            }
        }
        let (decimal, notes) = match decimal {
            Some('.') => (Decimal::Point, vec![]),
            Some(',') => (Decimal::Comma, vec![]),
            Some(other) => {
                let (value, wanted) = (format!("{other:?}"), "\".\" or \",\"".into());
                return Err(ProblemError::Value { key: "source.decimal", value, wanted });
            }
            None if by != b',' => decimal_of(&columns),
            None => (Decimal::Point, vec![]),
        };
        Ok(Self { names, columns, first_line: 2, decimal, notes })
    }
}

/// What parts the fields: as told, or what the header has.
pub(super) fn separator_of(header: &[u8], told: Option<char>) -> Result<u8, ProblemError> {
    match told {
        Some(given) => u8::try_from(given).ok().filter(u8::is_ascii).ok_or_else(|| ProblemError::Value {
            key: "source.separator",
            value: format!("{given:?}"),
            wanted: "one ASCII character".into(),
        }),
        None => Ok([b'\t', b';', b','].into_iter().find(|by| header.contains(by)).unwrap_or(b',')),
    }
}

/// What stands before the fractions of a table whose fields no comma parts, and what to say of it.
fn decimal_of(columns: &[Vec<Option<String>>]) -> (Decimal, Vec<String>) {
    let mut fractions = Fractions::default();
    columns.iter().flatten().flatten().for_each(|cell| fractions.see(cell));
    fractions.decimal()
}

/// How many cells have a fraction behind a comma, and behind a point.
#[derive(Default)]
struct Fractions {
    commas: usize,
    points: usize,
    /// One that cannot be read in another way.
    example: Option<String>,
}

impl Fractions {
    fn see(&mut self, cell: &str) {
        match has_comma_fraction(cell) {
            Some(certain) => {
                self.commas += 1;
                if certain && self.example.is_none() {
                    self.example = Some(cell.to_owned());
                }
            }
            None => self.points += usize::from(has_point_fraction(cell)),
        }
    }

    fn decimal(self) -> (Decimal, Vec<String>) {
        match self.example {
            Some(cell) if self.commas > self.points => {
                let (commas, cell) = (self.commas, shown(cell.as_bytes()));
                (Decimal::Comma, vec![format!("numbers have decimal commas, as in `{cell}` ({commas} cells); `decimal` overrules that")])
            }
            _ => (Decimal::Point, vec![]),
        }
    }
}
