//! Examples of any of the published data sets, until all are read.

use std::collections::BTreeMap;

use super::example::{Example, Value};
use super::{PostForm, Tff};
use crate::dataset::{Dataset, Usage};
use crate::error::ProblemError;
use crate::matrix::Matrix;
use crate::source::index::Form;
use crate::source::numbers::{Numbers, targets};
use crate::source::shakespeare::{Alphabet, Rows};
use crate::source::stackexchange::{Library, Text};
use crate::source::words::Lexicon;

/// What was read so far.
pub(super) struct Gathered<'a> {
    how: &'a Tff,
    /// By key.
    names: Vec<String>,
    kept: RowsSoFar,
    /// From this row on, numbers are no bytes: others in the file are none.
    bytes_up_to: Option<usize>,
}

/// What examples were that nobody kept.
#[derive(Default)]
pub(super) struct Forgotten {
    /// Rows that came while all were k/255.
    pub(super) as_bytes: usize,
    pub(super) targets: Vec<f64>,
    /// Characters of snippets, with their begins and ends.
    pub(super) tokens: usize,
}

/// Examples in the form of the first of them.
enum RowsSoFar {
    Nothing,
    Numbers(Box<Table>),
    /// The characters of each client, one snippet after another.
    Snippets(Alphabet, BTreeMap<(u32, Usage), Vec<u32>>),
    Words(Library),
}

/// Rows of numbers.
struct Table {
    x: String,
    y: String,
    rows: Numbers,
    targets: Vec<f64>,
    owners: Vec<(u32, Usage)>,
}

impl<'a> Gathered<'a> {
    pub(super) fn new(how: &'a Tff, names: Vec<String>) -> Self {
        Self { how, names, kept: RowsSoFar::Nothing, bytes_up_to: None }
    }

    pub(super) fn push(&mut self, key: u32, lot: Usage, example: Example) -> Result<(), String> {
        if let RowsSoFar::Nothing = self.kept {
            self.kept = RowsSoFar::of(&example, self.how)?;
            if let (RowsSoFar::Numbers(table), Some(row)) = (&mut self.kept, self.bytes_up_to) {
                table.rows = Numbers::with_bytes_up_to(row);
            }
        }
        match &mut self.kept {
            RowsSoFar::Nothing => Ok(()),
            RowsSoFar::Numbers(table) => table.push(key, lot, &example),
            RowsSoFar::Snippets(alphabet, streams) => {
                streams.entry((key, lot)).or_default().extend(alphabet.speech(&text(&example, "snippets")?));
                Ok(())
            }
            RowsSoFar::Words(library) => words(library, key, lot, &example, self.how.form),
        }
    }

    /// The same for one client of a file whose other rows are known: its numbers are bytes up to this row.
    pub(super) fn one_of(how: &'a Tff, name: String, bytes_up_to: Option<usize>) -> Self {
        Self { bytes_up_to, ..Self::new(how, vec![name]) }
    }

    /// Forgets the examples that were read, and keeps what they are like. What they were; nothing if words must be numbered.
    pub(super) fn forget(&mut self) -> Option<Forgotten> {
        match &mut self.kept {
            RowsSoFar::Nothing => Some(Forgotten::default()),
            RowsSoFar::Numbers(table) => {
                table.owners.clear();
                Some(Forgotten { as_bytes: table.rows.forget(), targets: std::mem::take(&mut table.targets), tokens: 0 })
            }
            RowsSoFar::Snippets(_, streams) => {
                let tokens = std::mem::take(streams).into_values().map(|stream| stream.len()).sum();
                Some(Forgotten { tokens, ..Forgotten::default() })
            }
            RowsSoFar::Words(_) => None,
        }
    }

    /// How the rows are kept, and how many columns they have; classes where those are known beforehand.
    pub(super) fn form(self) -> Option<(Form, usize, Option<u32>)> {
        match self.kept {
            RowsSoFar::Numbers(table) => {
                let matrix = table.rows.matrix()?;
                let form = if matches!(matrix, Matrix::Bytes(_)) { Form::Pixels } else { Form::Numbers };
                Some((form, matrix.cols(), None))
            }
            RowsSoFar::Snippets(alphabet, _) => Some((Form::Numbers, self.how.window.get() as usize + 1, Some(alphabet.tokens.count()))),
            RowsSoFar::Nothing | RowsSoFar::Words(_) => None,
        }
    }

    pub(super) fn finish(self, volume: &str) -> Result<Dataset, ProblemError> {
        let nothing = || ProblemError::NoExamples { file: volume.to_owned() };
        let how = self.how;
        let dataset = match self.kept {
            RowsSoFar::Nothing => return Err(nothing()),
            RowsSoFar::Numbers(table) => {
                let (keys, usages) = table.owners.into_iter().unzip();
                let features = table.rows.matrix().ok_or_else(nothing)?;
                Dataset::new(features, targets(table.targets)).from_clients(keys).named(self.names).with_some_usages(usages)
            }
            RowsSoFar::Snippets(alphabet, streams) => {
                let (window, mut rows, mut usages) = (how.window.get() as usize, Rows::default(), Vec::new());
                for ((key, lot), stream) in streams {
                    rows.cut(&stream, window, key);
                    usages.resize(rows.len(), lot);
                }
                rows.dataset(window + 1, alphabet.tokens.count(), self.names).with_some_usages(usages)
            }
            RowsSoFar::Words(library) => {
                let library = Library { users: self.names, ..library };
                match how.form {
                    PostForm::Bag => library.bags(how.words, how.tags, how.weigh)?,
                    PostForm::Sentences => library.sentences(how.words, how.length),
                }
            }
        };
        if dataset.is_empty() { Err(nothing()) } else { Ok(dataset) }
    }
}

impl RowsSoFar {
    /// What the features of the first example say.
    fn of(example: &Example, how: &Tff) -> Result<Self, String> {
        let told = how.x.is_some() || how.y.is_some();
        if !told && example.contains_key("snippets") {
            return Ok(RowsSoFar::Snippets(Alphabet::default(), BTreeMap::new()));
        }
        if !told && example.contains_key("tokens") {
            return Ok(RowsSoFar::Words(Library::default()));
        }
        let known = || example.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let pick = |told: &Option<String>, usual: &[&str], key: &str| {
            let name = told.as_deref().or_else(|| usual.iter().copied().find(|name| example.contains_key(*name)));
            let found = name.filter(|name| example.contains_key(*name)).map(str::to_owned);
            found.ok_or_else(|| format!("the features are {}: name one of them in {key}", known()))
        };
        let (x, y) = (pick(&how.x, &["pixels", "image", "x"], "x")?, pick(&how.y, &["label", "y"], "y")?);
        Ok(RowsSoFar::Numbers(Box::new(Table { x, y, rows: Numbers::default(), targets: Vec::new(), owners: Vec::new() })))
    }
}

impl Table {
    fn push(&mut self, key: u32, lot: Usage, example: &Example) -> Result<(), String> {
        let row = match value(example, &self.x)? {
            Value::Numbers(row) => self.rows.push(row),
            Value::Whole(bytes) => {
                let pixel = |&v: &i64| u8::try_from(v).map(|byte| f32::from(byte) / 255.0);
                let row: Result<Vec<f32>, _> = bytes.iter().map(pixel).collect();
                row.map_err(|_| "whole numbers that are not from 0 to 255".to_owned()).and_then(|row| self.rows.push(&row))
            }
            Value::Texts(_) => Err("texts where numbers should be".into()),
        };
        row.map_err(|what| format!("feature `{}`: {what}", self.x))?;
        let target = match value(example, &self.y)? {
            Value::Numbers(one) if one.len() == 1 && one[0].is_finite() => f64::from(one[0]),
            Value::Whole(one) if one.len() == 1 => one[0] as f64,
            _ => return Err(format!("feature `{}`: not one number", self.y)),
        };
        self.targets.push(target);
        self.owners.push((key, lot));
        Ok(())
    }
}

fn value<'a>(example: &'a Example, name: &str) -> Result<&'a Value, String> {
    example.get(name).ok_or_else(|| format!("no feature `{name}`"))
}

fn text(example: &Example, name: &str) -> Result<String, String> {
    match value(example, name)? {
        Value::Texts(one) if one.len() == 1 => Ok(String::from_utf8_lossy(&one[0]).into_owned()),
        _ => Err(format!("feature `{name}`: not one text")),
    }
}

/// A post, its words counted if it is to train on.
fn words(library: &mut Library, key: u32, lot: Usage, example: &Example, form: PostForm) -> Result<(), String> {
    let mut said = text(example, "tokens")?;
    let mut tags = String::new();
    if form == PostForm::Bag {
        said = format!("{said} {}", text(example, "title")?);
        tags = text(example, "tags")?;
    }
    let number = |lexicon: &mut Lexicon, word: &str| match lot {
        Usage::Train => lexicon.see(word.to_owned()),
        _ => lexicon.meet(word.to_owned()),
    };
    let words: Vec<u32> = said.split_ascii_whitespace().map(|word| number(&mut library.lexicon, word)).collect();
    let tags = tags.split('|').filter(|tag| !tag.is_empty()).map(|tag| number(&mut library.tags, tag)).collect();
    if !words.is_empty() {
        library.texts.push(Text { key, lot, tags, words: vec![words] });
    }
    Ok(())
}
