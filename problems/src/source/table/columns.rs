//! From fields of text to numbers, column by column.

use std::collections::{BTreeMap, BTreeSet};

use motet_records::Input;

use super::{Table, TargetKind};
use crate::dataset::{Dataset, Targets};
use crate::error::ProblemError;
use crate::matrix::{Dense, Matrix};
use crate::own_data::Column;
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

/// What a field says, without the spaces around it; nothing where it says that nobody knows.
fn known(field: &str) -> Option<&str> {
    let field = field.trim();
    (!MISSING.iter().any(|missing| field.eq_ignore_ascii_case(missing))).then_some(field)
}

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
            for (column, field) in columns.iter_mut().zip(&record) {
                column.push(known(field).map(str::to_owned));
            }
        }
        Ok(Self { names, columns, first_line: 2 })
    }
}

/// A table before it becomes examples: columns of text, or columns whose type is known already.
pub(crate) struct Sheet {
    names: Vec<String>,
    columns: Vec<Raw>,
    /// What messages call a row, and the number of the first.
    rows: (&'static str, usize),
}

/// A column as it came.
enum Raw {
    /// Numbers if all fields are, words otherwise.
    Text(Vec<Option<String>>),
    /// As a data frame has it.
    Typed(Column),
}

/// A column without gaps.
enum Full {
    Words(Vec<String>),
    Numbers(Vec<f64>),
}

impl From<Cells> for Sheet {
    fn from(cells: Cells) -> Self {
        Self { names: cells.names, columns: cells.columns.into_iter().map(Raw::Text).collect(), rows: ("line", cells.first_line) }
    }
}

impl Sheet {
    /// The columns of a data frame, equally long. Words that stand for a gap in files do so here: what was trained on a data
    /// frame predicts for rows of a file.
    pub(crate) fn of_columns(columns: Vec<(String, Column)>) -> Self {
        let tidy = |word: String| match known(&word)? {
            kept if kept.len() < word.len() => Some(kept.to_owned()),
            _ => Some(word),
        };
        let typed = |column| match column {
            Column::Words(words) => Column::Words(words.into_iter().map(|word| word.and_then(tidy)).collect()),
            numbers @ Column::Numbers(_) => numbers,
        };
        let (names, columns) = columns.into_iter().map(|(name, column)| (name, Raw::Typed(typed(column)))).unzip();
        Self { names, columns, rows: ("row", 0) }
    }

    /// A table as examples.
    pub(crate) fn assemble(mut self, table: &Table, file: &str, input: Input) -> Result<Material, ProblemError> {
        if self.columns.first().is_none_or(Raw::is_empty) {
            return Err(ProblemError::NoExamples { file: file.into() });
        }
        let target = self.take("source.target", &table.target)?;
        let target = self.full(target, &table.target, file)?;
        let mut owners = None;
        if let Some(name) = &table.client {
            let column = self.take("source.client", name)?;
            owners = Some((name, self.full(column, name, file)?));
        }
        for name in &table.drop {
            self.take("source.drop", name)?;
        }
        let mut named = vec![];
        for name in &table.categories {
            named.push((name.clone(), self.take("source.categories", name)?.words()));
        }
        let (mut made, most) = (Made::default(), table.most_categories.get() as usize);
        let form = if table.standardise { Form::Scaled } else { Form::Number };
        for (name, column) in std::mem::take(&mut self.names).into_iter().zip(std::mem::take(&mut self.columns)) {
            match column.numbers() {
                Ok(values) => made.add(name, form.clone(), vec![values]),
                Err(words) => made.words(name, &words, file, most)?,
            }
        }
        for (name, column) in named {
            made.words(name, &column, file, most)?;
        }
        let Made { fields, columns } = made;
        let features = Matrix::Dense(by_rows(&columns, target.len()));
        let targets = self.targets(target, table, file)?;
        let mut dataset = Dataset::new(features, targets);
        if let Some((column, owners)) = owners {
            let (keys, names) = owners.in_natural_order();
            dataset = dataset.from_clients(keys).named(names.into_iter().map(|name| format!("{column} {name}")).collect());
        }
        Ok(Material::Table { dataset, fields, inputs: vec![input] })
    }

    /// Takes a column out.
    fn take(&mut self, key: &'static str, name: &str) -> Result<Raw, ProblemError> {
        let Some(at) = self.names.iter().position(|n| n == name) else {
            let wanted = format!("the columns are {}", self.names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", "));
            return Err(ProblemError::Value { key, value: format!("{name:?}"), wanted });
        };
        self.names.remove(at);
        Ok(self.columns.remove(at))
    }

    /// What messages call a row.
    fn place(&self, row: usize) -> String {
        format!("{} {}", self.rows.0, row + self.rows.1)
    }

    /// A column that must not have gaps.
    fn full(&self, column: Raw, name: &str, file: &str) -> Result<Full, ProblemError> {
        let gap =
            |row: usize| ProblemError::Odd { file: file.into(), place: self.place(row), what: format!("column `{name}` has no value") };
        match column {
            Raw::Text(words) | Raw::Typed(Column::Words(words)) => {
                let words = words.into_iter().enumerate().map(|(row, field)| field.ok_or_else(|| gap(row)));
                Ok(Full::Words(words.collect::<Result<_, _>>()?))
            }
            Raw::Typed(Column::Numbers(numbers)) => match numbers.iter().position(|number| number.is_nan()) {
                Some(row) => Err(gap(row)),
                None => Ok(Full::Numbers(numbers)),
            },
        }
    }

    /// Classes or numbers.
    fn targets(&self, target: Full, table: &Table, file: &str) -> Result<Targets, ProblemError> {
        let values: Vec<Option<f64>> = match &target {
            Full::Words(words) => words.iter().map(|word| number(word)).collect(),
            Full::Numbers(numbers) => numbers.iter().copied().map(Some).collect(),
        };
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
                let word = if let Full::Words(words) = &target { shown(words[row].as_bytes()) } else { String::new() };
                let what = format!("`{word}` of column `{}` is no number", table.target);
                ProblemError::Odd { file: file.into(), place: self.place(row), what }
            });
        }
        let (labels, names) = target.in_natural_order();
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
}

impl Raw {
    fn is_empty(&self) -> bool {
        match self {
            Raw::Text(words) => words.is_empty(),
            Raw::Typed(column) => column.is_empty(),
        }
    }

    /// Numbers with NaN for gaps, or words.
    fn numbers(self) -> Result<Vec<f64>, Vec<Option<String>>> {
        match self {
            Raw::Typed(Column::Numbers(numbers)) => Ok(numbers),
            Raw::Typed(Column::Words(words)) => Err(words),
            Raw::Text(fields) => {
                let numbers = fields.iter().map(|field| field.as_deref().map_or(Some(f64::NAN), number));
                numbers.collect::<Option<Vec<f64>>>().ok_or(fields)
            }
        }
    }

    /// Every value as a word.
    fn words(self) -> Vec<Option<String>> {
        match self {
            Raw::Text(words) | Raw::Typed(Column::Words(words)) => words,
            Raw::Typed(Column::Numbers(numbers)) => numbers.into_iter().map(|number| (!number.is_nan()).then(|| written(number))).collect(),
        }
    }
}

impl Full {
    fn len(&self) -> usize {
        match self {
            Full::Words(words) => words.len(),
            Full::Numbers(numbers) => numbers.len(),
        }
    }

    /// The place of each value among the different ones in ascending order, and those.
    fn in_natural_order(&self) -> (Vec<u32>, Vec<String>) {
        match self {
            Full::Words(words) => in_natural_order(words),
            Full::Numbers(numbers) => {
                let mut different = numbers.clone();
                different.sort_by(f64::total_cmp);
                different.dedup();
                let place = |number: &f64| different.partition_point(|smaller| smaller < number) as u32;
                (numbers.iter().map(place).collect(), different.iter().copied().map(written).collect())
            }
        }
    }
}

/// As people write it in files; zero has no sign.
fn written(number: f64) -> String {
    (number + 0.0).to_string()
}

pub(super) fn number(field: &str) -> Option<f64> {
    field.parse().ok().filter(|v: &f64| v.is_finite())
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

/// The place of each name among the different ones, in order of their numbers, or of their letters if some are none; and those.
pub(crate) fn in_natural_order(owners: &[String]) -> (Vec<u32>, Vec<String>) {
    let mut names: Vec<&str> = owners.iter().map(String::as_str).collect::<BTreeSet<_>>().into_iter().collect();
    if names.iter().all(|name| number(name).is_some()) {
        names.sort_by(|a, b| number(a).unwrap_or_default().total_cmp(&number(b).unwrap_or_default()));
    }
    let places: BTreeMap<&str, u32> = names.iter().copied().zip(0..).collect();
    (owners.iter().map(|owner| places[owner.as_str()]).collect(), names.into_iter().map(str::to_owned).collect())
}
