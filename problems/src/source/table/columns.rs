//! From fields of text to numbers, column by column.

use std::collections::{BTreeMap, BTreeSet};

use motet_records::Input;

use super::cell::{Cell, Decimal};
use super::cells::{Cells, known};
use super::same_number::{by_value, one_name_each};
use super::{Table, TargetKind};
use crate::dataset::{Dataset, TableColumns, Targets};
use crate::error::ProblemError;
use crate::matrix::{Dense, Matrix};
use crate::own_data::Column;
use crate::prepare::{Field, Form};
use crate::source::Material;
use crate::source::open::shown;

/// A table before it becomes examples: columns of text, or columns whose type is known already.
pub(crate) struct Sheet {
    names: Vec<String>,
    columns: Vec<Raw>,
    /// What messages call a row, and the number of the first.
    rows: (&'static str, usize),
    /// Which rows of the file these are, where some were left out.
    kept: Option<Vec<usize>>,
    decimal: Decimal,
    notes: Vec<String>,
}

/// A column as it came.
#[derive(Clone)]
enum Raw {
    /// Numbers if all fields are, words otherwise.
    Text(Vec<Option<String>>),
    /// As a data frame has it.
    Typed(Column),
}

/// Names of columns and clients that a message lists at most.
const SHOWN: usize = 40;

/// A column without gaps.
enum Full {
    Words(Vec<String>),
    Numbers(Vec<f64>),
}

impl From<Cells> for Sheet {
    fn from(cells: Cells) -> Self {
        Self {
            names: cells.names,
            columns: cells.columns.into_iter().map(Raw::Text).collect(),
            rows: ("line", cells.first_line),
            kept: None,
            decimal: cells.decimal,
            notes: cells.notes,
        }
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
        Self { names, columns, rows: ("row", 0), kept: None, decimal: Decimal::Point, notes: vec![] }
    }

    /// A table as examples.
    pub(crate) fn assemble(mut self, table: &Table, file: &str, input: Input) -> Result<Material, ProblemError> {
        if self.columns.first().is_none_or(Raw::is_empty) {
            return Err(ProblemError::NoExamples { file: file.into() });
        }
        if let (Some(least), Some(client)) = (table.least_rows, &table.client) {
            self.keep_clients_of(least.get() as usize, client, file)?;
        }
        let target = self.take("source.target", &table.target)?;
        let target = self.full(target, &table.target, file)?;
        let mut owners = None;
        if let Some(name) = &table.client {
            let column = self.take("source.client", name)?;
            let column = self.full(column, name, file)?;
            if let Full::Words(words) = &column {
                one_name_each(name, words, file)?;
            }
            owners = Some((name, column));
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
            match column {
                Raw::Typed(Column::Numbers(values)) => made.add(name, form.clone(), vec![values]),
                Raw::Typed(Column::Words(words)) => made.words(name, &words, file, most)?,
                Raw::Text(cells) => match self.numbers(&name, &cells, file)? {
                    Some(values) => made.add(name, form.clone(), vec![values]),
                    None => made.words(name, &cells, file, most)?,
                },
            }
        }
        for (name, column) in named {
            made.words(name, &column, file, most)?;
        }
        let Made { fields, columns } = made;
        let owners = owners.map(|(column, owners)| (column, owners.in_natural_order()));
        self.notes.extend(row_numbers(&fields, &columns, owners.as_ref().map(|(_, (keys, _))| keys.as_slice())));
        let features = Matrix::Dense(by_rows(&columns, target.len()));
        let (targets, class_names) = self.targets(target, table, file)?;
        let mut dataset = Dataset::new(features, targets).of_classes(class_names);
        dataset = dataset.from_columns(TableColumns { client: table.client.clone(), target: table.target.clone() });
        if let Some((column, (keys, names))) = owners {
            dataset = dataset.from_clients(keys).named(names.into_iter().map(|name| format!("{column} {name}")).collect());
        }
        dataset = dataset.noted(std::mem::take(&mut self.notes));
        Ok(Material::Table { dataset, fields, inputs: vec![input] })
    }

    /// Leaves the rows of clients out who have fewer than so many, and notes who they are.
    fn keep_clients_of(&mut self, least: usize, client: &str, file: &str) -> Result<(), ProblemError> {
        let place = self.names.iter().position(|name| name == client);
        let Some(place) = place else { return self.take("source.client", client).map(|_| ()) };
        let (keys, names) = self.full(self.columns[place].clone(), client, file)?.in_natural_order();
        let mut counts = vec![0usize; names.len()];
        keys.iter().for_each(|&key| counts[key as usize] += 1);
        let few: Vec<String> = (0..names.len()).filter(|&k| counts[k] < least).map(|k| format!("{} ({})", names[k], counts[k])).collect();
        if few.is_empty() {
            return Ok(());
        }
        let stays: Vec<bool> = keys.iter().map(|&key| counts[key as usize] >= least).collect();
        if !stays.contains(&true) {
            let shown = few.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
            let more = if few.len() > SHOWN { ", …" } else { "" };
            let wanted = format!("no client has so many rows; those of {client} have fewer: {shown}{more}");
            return Err(ProblemError::Value { key: "source.least_rows", value: least.to_string(), wanted });
        }
        self.columns.iter_mut().for_each(|column| column.keep(&stays));
        self.kept = Some((0..stays.len()).filter(|&row| stays[row]).collect());
        self.notes.push(format!("left out, with fewer than {least} rows: {client} {}", few.join(", ")));
        Ok(())
    }

    /// Takes a column out.
    fn take(&mut self, key: &'static str, name: &str) -> Result<Raw, ProblemError> {
        let Some(at) = self.names.iter().position(|n| n == name) else {
            let shown = self.names.iter().take(SHOWN).map(|n| format!("`{}`", shown(n.as_bytes()))).collect::<Vec<_>>().join(", ");
            let wanted = format!("the columns are {shown}{}", if self.names.len() > SHOWN { ", …" } else { "" });
            return Err(ProblemError::Value { key, value: format!("{name:?}"), wanted });
        };
        self.names.remove(at);
        Ok(self.columns.remove(at))
    }

    /// The numbers of a column, gaps as NaN, or nothing if it is one of words. A column of which nine present cells in ten are
    /// numbers, or meant to be, is one of numbers: every other cell would change what the whole column means.
    fn numbers(&self, name: &str, cells: &[Option<String>], file: &str) -> Result<Option<Vec<f64>>, ProblemError> {
        let read: Vec<Option<Cell>> = cells.iter().map(|cell| cell.as_deref().map(|cell| Cell::of(cell, self.decimal))).collect();
        let hint = format!(
            "correct it, leave it empty if nobody knows it, or say `categories = [\"{}\"]` (or --categories) if the cells are names",
            shown(name.as_bytes())
        );
        self.doubtful(name, &read, |row| cells[row].as_deref().unwrap_or_default(), &hint)
            .map_or(Ok(()), |(place, what)| Err(ProblemError::Odd { file: file.into(), place, what }))?;
        let dates = read.iter().flatten().filter(|cell| **cell == Cell::Date).count();
        if dates > 0 && nine_in_ten(dates, read.iter().flatten().count()) {
            let example = read.iter().position(|cell| *cell == Some(Cell::Date)).and_then(|row| cells[row].as_deref()).unwrap_or_default();
            let name = shown(name.as_bytes());
            let what = format!(
                "has dates, such as `{}`, which are neither numbers nor words: leave the column out (`drop`, or --drop on the command line), or take each date as a word (`categories = [\"{name}\"]`, or --categories)",
                shown(example.as_bytes())
            );
            return Err(ProblemError::Odd { file: file.into(), place: format!("column `{name}`"), what });
        }
        let value = |cell: Option<Cell>| match cell {
            None => Some(f64::NAN),
            Some(Cell::Number(value)) => Some(value),
            Some(_) => None,
        };
        Ok(read.into_iter().map(value).collect())
    }

    /// Place and fault of the first cell that is not a number in a column of numbers; nothing if all are, or if it is one of words.
    fn doubtful<'a>(&self, name: &str, read: &[Option<Cell>], text: impl Fn(usize) -> &'a str, hint: &str) -> Option<(String, String)> {
        let present = read.iter().flatten().count();
        let numbers = read.iter().flatten().filter(|cell| matches!(cell, Cell::Number(_))).count();
        let meant = read.iter().flatten().filter(|cell| matches!(cell, Cell::Number(_) | Cell::Almost(_))).count();
        if numbers == present || !nine_in_ten(meant, present) {
            return None;
        }
        let wrong = |(row, cell): (usize, &Option<Cell>)| cell.filter(|cell| !matches!(cell, Cell::Number(_))).map(|cell| (row, cell));
        let (row, cell) = read.iter().enumerate().find_map(wrong)?;
        let more = match present - numbers - 1 {
            0 => String::new(),
            more => format!(" ({more} more are not)"),
        };
        let what = format!(
            "`{}` of column `{}` {}, and {numbers} of its {present} cells are numbers{more}: {hint}",
            shown(text(row).as_bytes()),
            shown(name.as_bytes()),
            cell.reproach()
        );
        Some((self.place(row), what))
    }

    /// What messages call a row.
    fn place(&self, row: usize) -> String {
        let row = self.kept.as_ref().and_then(|kept| kept.get(row).copied()).unwrap_or(row);
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

    /// Classes with their names, or numbers.
    fn targets(&self, target: Full, table: &Table, file: &str) -> Result<(Targets, Vec<String>), ProblemError> {
        if let (Full::Words(words), TargetKind::Auto) = (&target, table.targets) {
            let read: Vec<Option<Cell>> = words.iter().map(|word| Some(Cell::of(word, self.decimal))).collect();
            let hint = "correct it, or say `targets = \"classes\"` if the cells are names";
            if let Some((place, what)) = self.doubtful(&table.target, &read, |row| words[row].as_str(), hint) {
                return Err(ProblemError::Odd { file: file.into(), place, what });
            }
        }
        let values: Vec<Option<f64>> = match &target {
            Full::Words(words) => words.iter().map(|word| number(word, self.decimal)).collect(),
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
            return all.map(|numbers| (Targets::Numbers(numbers), vec![])).ok_or_else(|| {
                let row = values.iter().position(Option::is_none).unwrap_or_default();
                let word = if let Full::Words(words) = &target { words[row].as_str() } else { "" };
                let reproach = Cell::of(word, self.decimal).reproach();
                let what = format!("`{}` of column `{}` {reproach}", shown(word.as_bytes()), table.target);
                ProblemError::Odd { file: file.into(), place: self.place(row), what }
            });
        }
        let (labels, names) = match (&target, &all) {
            (Full::Words(words), Some(numbers)) => by_value(words, numbers).unwrap_or_else(|| target.in_natural_order()),
            _ => target.in_natural_order(),
        };
        if names.len() > table.most_categories.get() as usize {
            let what = format!(
                "{} different values, more than most_categories = {}; targets = \"numbers\" reads them as quantities",
                names.len(),
                table.most_categories
            );
            return Err(ProblemError::Odd { file: file.into(), place: format!("column `{}`", table.target), what });
        }
        Ok((Targets::Classes { labels, classes: names.len() as u32 }, names))
    }
}

impl Raw {
    fn is_empty(&self) -> bool {
        match self {
            Raw::Text(words) => words.is_empty(),
            Raw::Typed(column) => column.is_empty(),
        }
    }

    /// Only the rows that stay.
    fn keep(&mut self, stays: &[bool]) {
        let mut stay = stays.iter();
        let mut next = || *stay.next().unwrap_or(&true);
        match self {
            Raw::Text(words) | Raw::Typed(Column::Words(words)) => words.retain(|_| next()),
            Raw::Typed(Column::Numbers(numbers)) => numbers.retain(|_| next()),
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

/// Are nine in ten so?
pub(super) fn nine_in_ten(some: usize, all: usize) -> bool {
    some as u64 * 10 >= all as u64 * 9
}

pub(super) fn number(field: &str, decimal: Decimal) -> Option<f64> {
    if let Cell::Number(value) = Cell::of(field, decimal) { Some(value) } else { None }
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
            let what = format!(
                "{} different words, more than most_categories = {most}; leave the column out (`drop`, or --drop on the command line)",
                different.len()
            );
            return Err(ProblemError::Odd { file: file.into(), place: format!("column `{name}`"), what });
        }
        let flags = |word: &str| column.iter().map(|field| f64::from(u8::from(field.as_deref() == Some(word)))).collect();
        let columns = different.iter().map(|word| flags(word)).collect();
        self.add(name, Form::Words(different.into_iter().map(str::to_owned).collect()), columns);
        Ok(())
    }
}

/// Columns of fewer rows may be anything.
const LEAST_NUMBERED: usize = 20;

/// A note for each column that numbers the rows, all together or those of each client: it says nothing about new rows, whose numbers are others.
fn row_numbers(fields: &[Field], columns: &[Vec<f64>], owners: Option<&[u32]>) -> Vec<String> {
    let mut at = 0;
    let mut notes = vec![];
    for field in fields {
        let Form::Words(words) = &field.form else {
            let values = &columns[at];
            at += 1;
            if values.len() >= LEAST_NUMBERED && (are_consecutive(values.clone()) || number_each(values, owners)) {
                let name = shown(field.name.as_bytes());
                notes.push(format!(
                    "column `{name}` looks like the number of a row, which says nothing about new rows: leave it out (`drop`, or --drop on the command line)"
                ));
            }
            continue;
        };
        at += words.len();
    }
    notes
}

/// Do two or more clients have consecutive numbers, each from the same one on?
fn number_each(values: &[f64], owners: Option<&[u32]>) -> bool {
    let mut of = BTreeMap::<u32, Vec<f64>>::new();
    owners.unwrap_or_default().iter().zip(values).for_each(|(owner, value)| of.entry(*owner).or_default().push(*value));
    let first = |values: &Vec<f64>| values.iter().copied().fold(f64::INFINITY, f64::min);
    let mut firsts = of.values().map(first);
    let start = firsts.next();
    of.len() > 1 && firsts.all(|other| Some(other) == start) && of.into_values().all(are_consecutive)
}

/// Are these whole numbers from one to another, each once, in any order?
fn are_consecutive(mut values: Vec<f64>) -> bool {
    values.sort_by(f64::total_cmp);
    values.iter().all(|value| value.fract() == 0.0) && values.windows(2).all(|pair| pair[1] - pair[0] == 1.0)
}

/// Columns as the rows of a matrix.
pub(super) fn by_rows(columns: &[Vec<f64>], rows: usize) -> Dense {
    Dense { cols: columns.len(), values: (0..rows).flat_map(|row| columns.iter().map(move |values| values[row])).collect() }
}

/// Different names in the order of clients: that of their numbers, or of their letters if some are none.
pub fn natural_order(names: &[String]) -> Vec<String> {
    in_natural_order(names).1
}

/// The place of each name among the different ones, in order of their numbers, or of their letters if some are none; and those.
pub(crate) fn in_natural_order(owners: &[String]) -> (Vec<u32>, Vec<String>) {
    let mut names: Vec<&str> = owners.iter().map(String::as_str).collect::<BTreeSet<_>>().into_iter().collect();
    let value = |name: &str| number(name, Decimal::Point);
    if names.iter().all(|name| value(name).is_some()) {
        names.sort_by(|a, b| value(a).unwrap_or_default().total_cmp(&value(b).unwrap_or_default()));
    }
    let places: BTreeMap<&str, u32> = names.iter().copied().zip(0..).collect();
    (owners.iter().map(|owner| places[owner.as_str()]).collect(), names.into_iter().map(str::to_owned).collect())
}
