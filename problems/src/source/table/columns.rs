//! From fields of text to numbers, column by column.

use std::collections::{BTreeMap, BTreeSet};

use motet_records::Input;

use super::{Table, TargetKind};
use crate::dataset::{Dataset, Targets};
use crate::error::ProblemError;
use crate::matrix::{Dense, Matrix};
use crate::prepare::{Field, Form};
use crate::source::Material;
use crate::source::open::shown;

/// A table as text: names of columns, and fields column by column; none where a value is missing.
#[derive(Debug)]
pub(super) struct Cells {
    pub(super) names: Vec<String>,
    pub(super) columns: Vec<Vec<Option<String>>>,
    /// The line of the first row, for messages.
    pub(super) first_line: usize,
}

/// What people write where they know nothing.
const MISSING: [&str; 8] = ["", "?", "na", "n/a", "nan", "null", "none", "-"];

impl Cells {
    pub(super) fn read(text: &[u8], file: &str, separator: Option<char>) -> Result<Self, ProblemError> {
        let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
        let header = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let by = match separator {
            Some(given) => u8::try_from(given).ok().filter(u8::is_ascii).ok_or_else(|| ProblemError::Value {
                key: "source.separator",
                value: format!("{given:?}"),
                wanted: "one ASCII character".into(),
            })?,
            None => [b'\t', b';', b','].into_iter().find(|by| header.contains(by)).unwrap_or(b','),
        };
        let odd = |line: u64, what: String| ProblemError::Odd { file: file.into(), place: format!("line {line}"), what };
        let mut reader = csv::ReaderBuilder::new().delimiter(by).from_reader(text);
        let names: Vec<String> = reader.headers().map_err(|cause| odd(1, cause.to_string()))?.iter().map(|n| n.trim().to_owned()).collect();
        if let Some(twice) = names.iter().enumerate().find(|(k, name)| names[..*k].contains(name)) {
            return Err(odd(1, format!("two columns are called `{}`", shown(twice.1.as_bytes()))));
        }
        let mut columns = vec![vec![]; names.len()];
        for record in reader.records() {
            let record = record.map_err(|cause| {
                let line = cause.position().map_or(0, csv::Position::line);
                let what = match cause.kind() {
                    csv::ErrorKind::UnequalLengths { expected_len, len, .. } => format!("{len} fields, but the header has {expected_len}"),
                    csv::ErrorKind::Utf8 { .. } => "this is no UTF-8 text".into(),
                    _ => cause.to_string(),
                };
                odd(line, what)
            })?;
            for (column, field) in columns.iter_mut().zip(record.iter().map(str::trim)) {
                let missing = MISSING.contains(&field.to_ascii_lowercase().as_str());
                column.push((!missing).then(|| field.to_owned()));
            }
        }
        Ok(Self { names, columns, first_line: 2 })
    }

    /// Takes a column out.
    fn take(&mut self, key: &'static str, name: &str) -> Result<Vec<Option<String>>, ProblemError> {
        let Some(at) = self.names.iter().position(|n| n == name) else {
            let wanted = format!("the columns are {}", self.names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", "));
            return Err(ProblemError::Value { key, value: format!("{name:?}"), wanted });
        };
        self.names.remove(at);
        Ok(self.columns.remove(at))
    }
}

/// A table as examples.
pub(super) fn assemble(table: &Table, mut cells: Cells, file: &str, input: Input) -> Result<Material, ProblemError> {
    if cells.columns.first().is_none_or(Vec::is_empty) {
        return Err(ProblemError::NoExamples { file: file.into() });
    }
    let first = cells.first_line;
    let target = present(cells.take("source.target", &table.target)?, &table.target, file, first)?;
    let owners = match &table.client {
        Some(name) => Some(present(cells.take("source.client", name)?, name, file, first)?),
        None => None,
    };
    for name in &table.drop {
        cells.take("source.drop", name)?;
    }
    let mut named = vec![];
    for name in &table.categories {
        named.push((name.clone(), cells.take("source.categories", name)?));
    }
    let (mut made, most) = (Made::default(), table.most_categories.get() as usize);
    let form = if table.standardise { Form::Scaled } else { Form::Number };
    for (name, column) in cells.names.into_iter().zip(cells.columns) {
        match numbers(&column) {
            Some(values) => made.add(name, form.clone(), vec![values]),
            None => made.words(name, &column, file, most)?,
        }
    }
    for (name, column) in named {
        made.words(name, &column, file, most)?;
    }
    let Made { fields, columns } = made;
    let features = Matrix::Dense(by_rows(&columns, target.len()));
    let targets = targets(&target, table, file, first)?;
    let mut dataset = Dataset::new(features, targets);
    if let (Some(owners), Some(column)) = (owners, &table.client) {
        let (keys, names) = natural(&owners);
        dataset = dataset.from_clients(keys).named(names.into_iter().map(|name| format!("{column} {name}")).collect());
    }
    Ok(Material::Table { dataset, fields, inputs: vec![input] })
}

/// A column without gaps.
fn present(column: Vec<Option<String>>, name: &str, file: &str, first: usize) -> Result<Vec<String>, ProblemError> {
    let gap = |row: usize| ProblemError::Odd {
        file: file.into(),
        place: format!("line {}", row + first),
        what: format!("column `{name}` has no value"),
    };
    column.into_iter().enumerate().map(|(row, field)| field.ok_or_else(|| gap(row))).collect()
}

pub(super) fn number(field: &str) -> Option<f64> {
    field.parse().ok().filter(|v: &f64| v.is_finite())
}

/// Numbers with NaN for gaps, if all that is there are numbers.
fn numbers(column: &[Option<String>]) -> Option<Vec<f64>> {
    column.iter().map(|field| field.as_deref().map_or(Some(f64::NAN), number)).collect()
}

/// Fields and the columns that became of them.
#[derive(Default)]
struct Made {
    fields: Vec<Field>,
    columns: Vec<Vec<f64>>,
}

impl Made {
    fn add(&mut self, name: String, form: Form, columns: Vec<Vec<f64>>) {
        self.fields.push(Field { name, form, zero_is_gap: false });
        self.columns.extend(columns);
    }

    /// A column of 0 and 1 for each word.
    fn words(&mut self, name: String, column: &[Option<String>], file: &str, most: usize) -> Result<(), ProblemError> {
        let different: BTreeSet<&str> = column.iter().flatten().map(String::as_str).collect();
        if different.len() > most {
            let what = format!("{} different words, more than most_categories = {most}; `drop` leaves a column out", different.len());
            return Err(ProblemError::Odd { file: file.into(), place: format!("column `{name}`"), what });
        }
        let flags = |word: &str| column.iter().map(|field| f64::from(u8::from(field.as_deref() == Some(word)))).collect();
        let columns = different.iter().map(|word| flags(word)).collect();
        self.add(name, Form::Words(different.into_iter().map(str::to_owned).collect()), columns);
        Ok(())
    }
}

/// Columns as the rows of a matrix.
pub(super) fn by_rows(columns: &[Vec<f64>], rows: usize) -> Dense {
    Dense { cols: columns.len(), values: (0..rows).flat_map(|row| columns.iter().map(move |values| values[row])).collect() }
}

/// Clients in order of their numbers, or of their names if some are none.
fn natural(owners: &[String]) -> (Vec<u32>, Vec<String>) {
    let mut names: Vec<&str> = owners.iter().map(String::as_str).collect::<BTreeSet<_>>().into_iter().collect();
    if names.iter().all(|name| number(name).is_some()) {
        names.sort_by(|a, b| number(a).unwrap_or_default().total_cmp(&number(b).unwrap_or_default()));
    }
    let places: BTreeMap<&str, u32> = names.iter().copied().zip(0..).collect();
    (owners.iter().map(|owner| places[owner.as_str()]).collect(), names.into_iter().map(str::to_owned).collect())
}

/// Classes or numbers.
fn targets(fields: &[String], table: &Table, file: &str, first: usize) -> Result<Targets, ProblemError> {
    let values: Vec<Option<f64>> = fields.iter().map(|field| number(field)).collect();
    let whole = values.iter().all(|v| v.is_some_and(|v| v.fract() == 0.0));
    let all = values.iter().copied().collect::<Option<Vec<f64>>>();
    let quantities = match table.targets {
        TargetKind::Numbers => true,
        TargetKind::Classes => false,
        TargetKind::Auto => all.is_some() && !whole,
    };
    if quantities {
        return all.map(Targets::Numbers).ok_or_else(|| {
            let row = values.iter().position(Option::is_none).unwrap_or_default();
            let what = format!("`{}` of column `{}` is no number", shown(fields[row].as_bytes()), table.target);
            ProblemError::Odd { file: file.into(), place: format!("line {}", row + first), what }
        });
    }
    let (labels, names) = natural(fields);
    if names.len() > table.most_categories.get() as usize {
        let what = format!(
            "{} different values, more than most_categories = {}; targets = \"numbers\" reads them as quantities",
            names.len(),
            table.most_categories
        );
        return Err(ProblemError::Odd { file: file.into(), place: format!("column `{}`", table.target), what });
    }
    Ok(Targets::Classes { labels, classes: names.len() as u32 })
}
