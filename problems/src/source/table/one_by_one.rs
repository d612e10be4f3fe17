//! Clients of a table, each read when it is asked for: a pass over the file finds which lines are whose and what each column is.
//!
//! The pass decides what reading at once decides. Whatever is wrong with a table is left to that: it says where and what.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::cell::{Cell, Decimal};
use super::cells::{Cells, known, separator_of};
use super::columns::{in_natural_order, nine_in_ten};
use super::same_number::two_of_one;
use super::{Encoding, NewRows, Table, TargetKind};
use crate::dataset::Usage;
use crate::dataset::{Dataset, TableColumns, Targets};
use crate::error::ProblemError;
use crate::guard::open_regular;
use crate::matrix::{Dense, Matrix};
use crate::on_demand::{ClientExamples, Holding};
use crate::prepare::{Field, Form};
use crate::source::index::{Located, Schema, Watched, insisted, kept, worth_it};
use crate::source::open::is_packed;
use crate::source::{Material, Place};

impl Table {
    /// Clients one by one, where that is asked for or worth it; none if all are to be read at once.
    pub(super) fn one_by_one(&self, place: &Place<'_>) -> Result<Option<Material>, ProblemError> {
        let Some(client) = &self.client else { return Ok(None) };
        if place.folders.find_folder(&self.path).is_some() {
            return Ok(None);
        }
        let path = place.folders.find(&self.path)?;
        if !worth_it(place.hold, path.metadata().map_or(0, |about| about.len())) {
            return Ok(None);
        }
        if let Some(why) = self.obstacle(&path)? {
            return insisted(place.hold, &self.path.display().to_string(), why).map(|()| None);
        }
        let files = [Watched::new(&path)?];
        let (index, notes) = kept(place.folders, (self, Schema("table", 1)), &files, || self.survey(&path, client))?;
        let ([file], Some(index)) = (files, index) else { return Ok(None) };
        let inputs = vec![file.input.clone()];
        let clients = Arc::new(Clients { of: self.clone(), index, file, notes });
        let all = place.hold.is_none() && Holding::usual(&*clients) == Holding::All;
        Ok((!all).then_some(Material::Clients { clients, inputs }))
    }

    /// Why clients cannot be read one by one.
    fn obstacle(&self, path: &Path) -> Result<Option<&'static str>, ProblemError> {
        let mut first = Vec::new();
        let read = open_regular(path)?.0.take(4).read_to_end(&mut first);
        read.map_err(|cause| ProblemError::Unreadable { file: path.to_path_buf(), cause })?;
        Ok(if is_packed(path)? {
            Some("it is packed; unpack it first")
        } else if first.starts_with(b"PAR1") {
            Some("Parquet has columns and no lines; write it as CSV")
        } else if self.encoding.is_some_and(|encoding| encoding != Encoding::Utf8)
            || first.starts_with(&[0xff, 0xfe])
            || first.starts_with(&[0xfe, 0xff])
        {
            Some("it is no UTF-8; write it as that")
        } else if self.least_rows.is_some() {
            Some("`least_rows` counts everybody's rows; leave it out")
        } else if self.decimal.is_some_and(|sign| sign != '.' && sign != ',') {
            Some("`decimal` is neither \".\" nor \",\"")
        } else {
            None
        })
    }

    /// Passes over the file; nothing if reading at once has something to say about it.
    fn survey(&self, path: &Path, client: &str) -> Result<Option<Index>, ProblemError> {
        let unreadable = |cause| ProblemError::Unreadable { file: path.to_path_buf(), cause };
        let (mut file, _) = open_regular(path)?;
        let mut first = Vec::new();
        (&mut file).take(1 << 20).read_to_end(&mut first).map_err(unreadable)?;
        let start = if first.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 };
        let header = first[start..].split(|&byte| byte == b'\n').next().unwrap_or_default();
        let by = separator_of(header, self.separator)?;
        let decimal = match self.decimal {
            Some(',') => Decimal::Comma,
            Some(_) => Decimal::Point,
            // Whether fractions have commas is told by all cells together.
            None if by != b',' => return Ok(None),
            None => Decimal::Point,
        };
        file.seek(SeekFrom::Start(start as u64)).map_err(unreadable)?;
        let mut reader = csv::ReaderBuilder::new().delimiter(by).from_reader(BufReader::with_capacity(1 << 16, file));
        let Ok(names) = reader.headers().map(|names| names.iter().map(|name| name.trim().to_owned()).collect::<Vec<_>>()) else {
            return Ok(None);
        };
        let place = |name: &str| names.iter().position(|other| other == name);
        let different: BTreeSet<&String> = names.iter().collect();
        let (Some(owner), Some(target)) = (place(client), place(&self.target)) else { return Ok(None) };
        if different.len() < names.len() || owner == target {
            return Ok(None);
        }
        let header_bytes = reader.position().byte();
        let most = self.most_categories.get() as usize;
        let mut tallies: Vec<Tally> = names.iter().map(|_| Tally::new(most)).collect();
        let mut clients: BTreeMap<String, Located> = BTreeMap::new();
        let mut record = csv::StringRecord::new();
        loop {
            let from = reader.position().byte();
            match reader.read_record(&mut record) {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) => return Ok(None),
            }
            let to = reader.position().byte();
            for (at, (tally, field)) in tallies.iter_mut().zip(&record).enumerate() {
                if at != owner {
                    tally.see(known(field), decimal);
                }
            }
            let Some(name) = record.get(owner).and_then(known) else { return Ok(None) };
            let piece = (0, start as u64 + from, to - from);
            match clients.get_mut(name) {
                Some(own) => own.add(Usage::Train, 1, piece),
                None => clients.entry(name.to_owned()).or_default().add(Usage::Train, 1, piece),
            }
        }
        let Some(classes) = tallies[target].classes(self.targets) else { return Ok(None) };
        let Some(fields) = self.fields(&names, &tallies, &[owner, target]) else { return Ok(None) };
        // Labels that are one number are one class there, and clients are refused.
        let labels = tallies[target].words.iter().filter(|_| !classes.is_empty()).map(String::as_str);
        if two_of_one(labels, decimal).is_some() || two_of_one(clients.keys().map(String::as_str), Decimal::Point).is_some() {
            return Ok(None);
        }
        let (_, order) = in_natural_order(&clients.keys().cloned().collect::<Vec<_>>());
        let clients =
            order.into_iter().map(|name| Located { name: name.clone(), ..clients.remove(&name).unwrap_or_default() }).collect::<Vec<_>>();
        let comma = decimal == Decimal::Comma;
        Ok((!clients.is_empty()).then_some(Index { start: start as u64, header: header_bytes, by, comma, fields, classes, clients }))
    }

    /// What becomes of each column, in the order of reading at once; nothing if one is wrong.
    fn fields(&self, names: &[String], tallies: &[Tally], taken: &[usize]) -> Option<Vec<Field>> {
        let place = |name: &String| names.iter().position(|other| other == name).filter(|at| !taken.contains(at));
        let dropped = self.drop.iter().map(place).collect::<Option<Vec<_>>>()?;
        let named = self.categories.iter().map(place).collect::<Option<Vec<_>>>()?;
        let distinct: BTreeSet<usize> = dropped.iter().chain(&named).copied().collect();
        if distinct.len() < dropped.len() + named.len() {
            return None;
        }
        let plain = (0..names.len()).filter(|at| !taken.contains(at) && !distinct.contains(at));
        let number = if self.standardise { Form::Scaled } else { Form::Number };
        let field = |at: usize| {
            let form = if named.contains(&at) { tallies[at].words() } else { tallies[at].form(&number) };
            Some(Field { name: names[at].clone(), form: form?, zero_is_gap: false })
        };
        plain.chain(named.iter().copied()).map(field).collect()
    }
}

/// Where each client's lines are, and what columns are.
#[derive(Serialize, Deserialize)]
struct Index {
    /// Bytes before the header.
    start: u64,
    /// Bytes of the header.
    header: u64,
    /// What parts the fields.
    by: u8,
    /// Do fractions have a comma?
    comma: bool,
    fields: Vec<Field>,
    /// Names of the classes; none if quantities are predicted.
    classes: Vec<String>,
    clients: Vec<Located>,
}

/// All clients, as lines of a file.
struct Clients {
    of: Table,
    index: Index,
    file: Watched,
    notes: Vec<String>,
}

impl Clients {
    /// As reading at once notes it of every row.
    fn described(&self, features: Dense, targets: Targets) -> Dataset {
        let dataset = Dataset::new(Matrix::Dense(features), targets).of_classes(self.index.classes.clone());
        dataset.from_columns(TableColumns { client: self.of.client.clone(), target: self.of.target.clone() })
    }
}

impl ClientExamples for Clients {
    fn clients(&self) -> u32 {
        self.index.clients.len() as u32
    }

    fn rows(&self, client: u32) -> u32 {
        self.index.clients[client as usize].train
    }

    fn fields(&self) -> Option<&[Field]> {
        Some(&self.index.fields)
    }

    fn outline(&self) -> Dataset {
        let targets = match self.index.classes.len() as u32 {
            0 => Targets::Numbers(vec![]),
            classes => Targets::Classes { labels: vec![], classes },
        };
        let cols = self.index.fields.iter().map(|field| field.form.columns()).sum();
        let column = self.of.client.as_deref().unwrap_or_default();
        let names = self.index.clients.iter().map(|client| format!("{column} {}", client.name)).collect();
        self.described(Dense { cols, values: vec![].into() }, targets).named(names).noted(self.notes.clone())
    }

    fn examples(&self, client: u32) -> Result<Dataset, ProblemError> {
        let own = &self.index.clients[client as usize];
        let mut text = self.file.piece(self.index.start, self.index.header)?;
        for &(_, start, length) in &own.pieces {
            text.extend(self.file.piece(start, length)?);
        }
        let file = format!("{}, {} {}", self.file.input.name, self.of.client.as_deref().unwrap_or("client"), own.name);
        let decimal = if self.index.comma { ',' } else { '.' };
        let rows = NewRows::of(Cells::read(&text, &file, (Some(char::from(self.index.by)), Some(decimal)))?, &file)?;
        let column = self.of.client.as_deref().and_then(|column| rows.column(column));
        let all_its = column.is_some_and(|cells| cells.iter().all(|cell| cell.as_deref() == Some(own.name.as_str())));
        if !all_its || rows.len() != own.train as usize {
            return Err(self.file.misled());
        }
        Ok(self.described(rows.raw(&self.index.fields)?, rows.targets(&self.of.target, &self.index.classes)?))
    }
}

/// What the cells of a column are, of as many as were seen.
struct Tally {
    rows: usize,
    present: usize,
    numbers: usize,
    /// Numbers, and what is meant to be one.
    meant: usize,
    dates: usize,
    fractions: bool,
    /// Different words, one more than allowed at most.
    words: BTreeSet<String>,
    most: usize,
}

impl Tally {
    fn new(most: usize) -> Self {
        Self { rows: 0, present: 0, numbers: 0, meant: 0, dates: 0, fractions: false, words: BTreeSet::new(), most }
    }

    fn see(&mut self, cell: Option<&str>, decimal: Decimal) {
        self.rows += 1;
        let Some(text) = cell else { return };
        self.present += 1;
        match Cell::of(text, decimal) {
            Cell::Number(value) => {
                (self.numbers, self.meant) = (self.numbers + 1, self.meant + 1);
                self.fractions |= value.fract() != 0.0;
            }
            Cell::Almost(_) => self.meant += 1,
            Cell::Date => self.dates += 1,
            Cell::Word => {}
        }
        if self.words.len() <= self.most && !self.words.contains(text) {
            self.words.insert(text.to_owned());
        }
    }

    /// Numbers or words; nothing if some cells are doubtful.
    fn form(&self, number: &Form) -> Option<Form> {
        if self.numbers == self.present {
            return Some(number.clone());
        }
        let doubtful = nine_in_ten(self.meant, self.present) || (self.dates > 0 && nine_in_ten(self.dates, self.present));
        if doubtful { None } else { self.words() }
    }

    fn words(&self) -> Option<Form> {
        (self.words.len() <= self.most).then(|| Form::Words(self.words.iter().cloned().collect()))
    }

    /// The names of the classes, none of them if these are quantities; nothing if something is wrong.
    fn classes(&self, targets: TargetKind) -> Option<Vec<String>> {
        if self.present < self.rows {
            return None;
        }
        let all = self.numbers == self.present;
        let quantities = match targets {
            TargetKind::Auto if !all && nine_in_ten(self.meant, self.present) => return None,
            TargetKind::Auto => all && self.fractions,
            TargetKind::Numbers if !all => return None,
            TargetKind::Numbers => true,
            TargetKind::Classes => false,
        };
        if quantities {
            return Some(vec![]);
        }
        let words: Vec<String> = self.words.iter().cloned().collect();
        (words.len() <= self.most).then(|| in_natural_order(&words).1)
    }
}
