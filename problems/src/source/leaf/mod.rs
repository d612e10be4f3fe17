//! LEAF's JSON: FEMNIST, Shakespeare, Sent140, the synthetic set, and whatever else is written in that form.
//!
//! ```text
//! {"users": [...], "num_samples": [...], "user_data": {"<user>": {"x": [...], "y": [...]}, ...}}
//! ```
//!
//! | x is | y is | task |
//! | --- | --- | --- |
//! | numbers | whole numbers, or others | classes, or quantities (FEMNIST, synthetic) |
//! | a text | a character | characters and the next one, numbered as LEAF does, others as 80 (Shakespeare) |
//! | a list of texts, or one text | whole numbers | words of the fifth text, or of the one (Sent140) |
//!
//! Files are read as they stream by. Numbers that are all of the form k/255 stay bytes. Users of large files are read one by one
//! ([`one_by_one`]), but for texts with classes: their words are numbered by what everybody wrote.

mod one_by_one;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use motet_core::{Documented, Kind};
use motet_records::Input;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::numbers::{Numbers, targets};
use super::open::{name_of, stream};
use super::{Load, Material, Place};
use crate::data_folder::Folders;
use crate::dataset::{Dataset, Targets, Usage};
use crate::error::ProblemError;
use crate::guard::{FileLimit, stays_inside};
use crate::matrix::{Bytes, Matrix};

/// LEAF's JSON files (FEMNIST, Shakespeare, Sent140, synthetic); clients are their users.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Leaf {
    /// A file, or a folder with some, plain or packed.
    pub path: PathBuf,
    /// A file or folder with the same users' examples for test (default none).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<PathBuf>,
    /// For texts with classes: how many of the most frequent words are features (default 5000).
    #[serde(default = "words")]
    pub words: NonZeroU32,
}

impl Kind for Leaf {
    const NAME: &'static str = "leaf";
}

fn words() -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(4999)
}

/// The characters of LEAF's Shakespeare, by number; others have the number after the last.
const LETTERS: &str = "\n !\"&'(),-.0123456789:;>?ABCDEFGHIJKLMNOPQRSTUVWXYZ[]abcdefghijklmnopqrstuvwxyz}";

impl Load for Leaf {
    fn load(&self, place: &Place<'_>) -> Result<Material, ProblemError> {
        let parts = self.parts(place.folders)?;
        if let Some(clients) = self.one_by_one(&parts, place)? {
            return Ok(clients);
        }
        let (mut all, mut inputs) = (Gathered::default(), Vec::new());
        for (file, lot) in parts {
            all.lot = Some(lot);
            inputs.push(all.read(&file, place.folders.limit)?);
        }
        if all.keys.is_empty() {
            return Err(ProblemError::NoExamples { file: self.path.display().to_string() });
        }
        let odd = |what| ProblemError::Odd { file: self.path.display().to_string(), place: "the whole".into(), what };
        Ok(Material::Examples { dataset: all.finish(self.words.get() as usize).map_err(odd)?, inputs })
    }
}

impl Leaf {
    /// Every file, and what its examples are for.
    fn parts(&self, folders: &Folders) -> Result<Vec<(PathBuf, Usage)>, ProblemError> {
        let mut parts = vec![];
        for (path, lot) in [(Some(&self.path), Usage::Train), (self.test.as_ref(), Usage::Test)] {
            if let Some(path) = path {
                parts.extend(files(path, folders)?.into_iter().map(|file| (file, lot)));
            }
        }
        Ok(parts)
    }
}

/// A file, or the JSON files of a folder by name.
fn files(path: &Path, folders: &Folders) -> Result<Vec<PathBuf>, ProblemError> {
    let Some(folder) = folders.find_folder(path) else { return Ok(vec![folders.find(path)?]) };
    let listed = fs::read_dir(&folder).and_then(|entries| entries.map(|entry| entry.map(|e| e.path())).collect::<Result<Vec<_>, _>>());
    let mut files = listed.map_err(|cause| ProblemError::Unreadable { file: folder.clone(), cause })?;
    files.retain(|file| name_of(file).split('.').any(|part| part == "json"));
    files.sort();
    files.iter().try_for_each(|file| stays_inside(&folder, file))?;
    if files.is_empty() { Err(ProblemError::NoExamples { file: name_of(&folder) }) } else { Ok(files) }
}

/// What was read so far.
#[derive(Default)]
struct Gathered {
    users: BTreeMap<String, u32>,
    keys: Vec<u32>,
    usages: Vec<Usage>,
    lot: Option<Usage>,
    x: Inputs,
    y: Vec<f64>,
    /// The character after each text.
    next: Vec<char>,
}

/// Examples in the form of the first of them.
#[derive(Default)]
enum Inputs {
    #[default]
    Nothing,
    Numbers(Numbers),
    Texts(Vec<String>),
}

/// One element of x or y.
enum Cell {
    Number(f64),
    Text(String),
    Numbers(Vec<f32>),
    Texts(Vec<String>),
}

impl Gathered {
    fn read(&mut self, file: &Path, limit: FileLimit) -> Result<Input, ProblemError> {
        let (text, input) = stream(file, limit)?;
        walk(text, self).map_err(|error| odd(&error, &name_of(file)))?;
        Ok(input)
    }

    /// One user's examples.
    fn add(&mut self, user: &str, x: Vec<Cell>, y: Vec<Cell>) -> Result<(), String> {
        if x.len() != y.len() {
            return Err(format!("user {user:?} has {} examples and {} targets", x.len(), y.len()));
        }
        let next = self.users.len() as u32;
        let key = *self.users.entry(user.to_owned()).or_insert(next);
        let rows = self.keys.len() + x.len();
        for (x, y) in x.into_iter().zip(y) {
            self.x.push(x).map_err(|what| format!("user {user:?}: {what}"))?;
            match y {
                Cell::Number(number) if number.is_finite() => self.y.push(number),
                Cell::Text(text) if text.chars().count() == 1 => self.next.extend(text.chars()),
                _ => return Err(format!("user {user:?}: a target is neither a number nor one character")),
            }
        }
        self.keys.resize(rows, key);
        self.usages.resize(rows, self.lot.unwrap_or(Usage::Train));
        Ok(())
    }

    fn finish(self, words: usize) -> Result<Dataset, String> {
        let Self { users, keys, usages, x, y, next, .. } = self;
        let dataset = match x {
            Inputs::Texts(texts) if next.len() == keys.len() => characters(&texts, &next)?,
            _ if !next.is_empty() => return Err(MIXED.into()),
            Inputs::Texts(texts) => Dataset::new(bags(&texts, words)?, targets(y)),
            Inputs::Numbers(rows) => Dataset::new(rows.matrix().ok_or("no examples")?, targets(y)),
            Inputs::Nothing => return Err("no examples".into()),
        };
        // By name, so that the order of files does not matter.
        let mut order: Vec<(&str, u32)> = users.iter().map(|(name, &key)| (name.as_str(), key)).collect();
        order.sort_unstable();
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(k, (_, key))| place[*key as usize] = k as u32);
        let names = order.into_iter().map(|(name, _)| name.to_owned()).collect();
        let keys = keys.into_iter().map(|key| place[key as usize]).collect();
        Ok(dataset.from_clients(keys).named(names).with_some_usages(usages))
    }
}

const MIXED: &str = "some targets are numbers and some are characters";

/// Reads a whole file, one user after another.
fn walk(text: impl std::io::Read, users: &mut dyn TakesUsers) -> Result<(), serde_json::Error> {
    let mut json = serde_json::Deserializer::from_reader(text);
    Whole(users).deserialize(&mut json).and_then(|()| json.end())
}

/// What is wrong with a file, and where.
fn odd(error: &serde_json::Error, file: &str) -> ProblemError {
    let place = format!("line {}, column {}", error.line(), error.column());
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or(&text).to_owned();
    ProblemError::Odd { file: file.into(), place, what }
}

/// Somebody who is told of every user as a file is read.
trait TakesUsers {
    /// The users begin here.
    fn begins(&mut self);
    fn user(&mut self, name: &str, own: User) -> Result<(), String>;
}

impl TakesUsers for Gathered {
    fn begins(&mut self) {}
    fn user(&mut self, name: &str, own: User) -> Result<(), String> {
        self.add(name, own.x, own.y)
    }
}

impl Inputs {
    fn push(&mut self, cell: Cell) -> Result<(), String> {
        match cell {
            Cell::Numbers(numbers) => {
                if let Inputs::Nothing = self {
                    *self = Inputs::Numbers(Numbers::default());
                }
                let Inputs::Numbers(rows) = self else { return Err("numbers after texts".into()) };
                rows.push(&numbers)
            }
            Cell::Text(text) => self.text(text),
            // Sent140: id, date, query, user, text.
            Cell::Texts(mut texts) if texts.len() > 4 => self.text(texts.swap_remove(4)),
            Cell::Texts(_) => Err("a list of fewer than five texts".into()),
            Cell::Number(number) => self.push(Cell::Numbers(vec![number as f32])),
        }
    }

    fn text(&mut self, text: String) -> Result<(), String> {
        if let Inputs::Nothing = self {
            *self = Inputs::Texts(Vec::new());
        }
        let Inputs::Texts(texts) = self else { return Err("texts after numbers".into()) };
        texts.push(text);
        Ok(())
    }
}

/// Each text and the character after it, as numbers.
fn characters(texts: &[String], next: &[char]) -> Result<Dataset, String> {
    let number: BTreeMap<char, u8> = LETTERS.chars().zip(0..).collect();
    let other = number.len() as u8;
    let long = texts.first().map_or(0, |text| text.chars().count());
    let mut values = Vec::with_capacity(texts.len() * (long + 1));
    for (row, (text, next)) in texts.iter().zip(next).enumerate() {
        let before = values.len();
        values.extend(text.chars().chain([*next]).map(|c| number.get(&c).copied().unwrap_or(other)));
        if values.len() - before != long + 1 {
            return Err(format!("example {row} has {} characters, the first has {long}", values.len() - before - 1));
        }
    }
    let labels = values.iter().skip(long).step_by(long + 1).map(|&token| u32::from(token)).collect();
    Ok(Dataset::new(Matrix::Bytes(Bytes::tokens(long + 1, values)), Targets::Classes { labels, classes: u32::from(other) + 1 }))
}

/// Which of the most frequent words each text has.
fn bags(texts: &[String], most: usize) -> Result<Matrix, String> {
    let split = |text: &str| -> Vec<String> {
        text.to_lowercase().split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|w| !w.is_empty()).map(str::to_owned).collect()
    };
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    texts.iter().flat_map(|text| split(text)).for_each(|word| *counts.entry(word).or_default() += 1);
    let mut frequent: Vec<(String, u64)> = counts.into_iter().collect();
    frequent.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    frequent.truncate(most);
    let number: BTreeMap<&str, u32> = frequent.iter().map(|(word, _)| word.as_str()).zip(0..).collect();
    let (mut starts, mut columns) = (vec![0], Vec::new());
    for text in texts {
        let mut own: Vec<u32> = split(text).iter().filter_map(|word| number.get(word.as_str()).copied()).collect();
        own.sort_unstable();
        own.dedup();
        columns.extend(own);
        starts.push(columns.len());
    }
    let values = vec![1.0; columns.len()];
    Matrix::sparse(frequent.len(), starts, columns, values).map_err(|error| error.to_string())
}

/// The outer table: everything but `user_data` is passed over.
struct Whole<'a>(&'a mut dyn TakesUsers);

impl<'de> DeserializeSeed<'de> for Whole<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Whole<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LEAF's table with `user_data`")
    }
    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        let mut found = false;
        while let Some(key) = map.next_key::<String>()? {
            if key == "user_data" {
                self.0.begins();
                map.next_value_seed(Users(&mut *self.0))?;
                found = true;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        if found { Ok(()) } else { Err(serde::de::Error::missing_field("user_data")) }
    }
}

struct Users<'a>(&'a mut dyn TakesUsers);

impl<'de> DeserializeSeed<'de> for Users<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Users<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of users")
    }
    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(user) = map.next_key::<String>()? {
            let own: User = map.next_value()?;
            self.0.user(&user, own).map_err(serde::de::Error::custom)?;
        }
        Ok(())
    }
}

#[derive(serde::Deserialize)]
struct User {
    x: Vec<Cell>,
    y: Vec<Cell>,
}

impl<'de> serde::Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Cell;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, a text or a list of either")
            }
            fn visit_f64<E>(self, v: f64) -> Result<Cell, E> {
                Ok(Cell::Number(v))
            }
            fn visit_i64<E>(self, v: i64) -> Result<Cell, E> {
                Ok(Cell::Number(v as f64))
            }
            fn visit_u64<E>(self, v: u64) -> Result<Cell, E> {
                Ok(Cell::Number(v as f64))
            }
            fn visit_str<E>(self, v: &str) -> Result<Cell, E> {
                Ok(Cell::Text(v.to_owned()))
            }
            fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Cell, S::Error> {
                let (mut numbers, mut texts) = (Vec::new(), Vec::new());
                while let Some(cell) = list.next_element::<Cell>()? {
                    match cell {
                        Cell::Number(number) => numbers.push(number as f32),
                        Cell::Text(text) => texts.push(text),
                        _ => return Err(serde::de::Error::custom("a list in a list")),
                    }
                }
                match (numbers.is_empty(), texts.is_empty()) {
                    (false, true) => Ok(Cell::Numbers(numbers)),
                    (true, false) => Ok(Cell::Texts(texts)),
                    (true, true) => Ok(Cell::Numbers(numbers)),
                    (false, false) => Err(serde::de::Error::custom("numbers and texts in one list")),
                }
            }
        }
        from.deserialize_any(Any)
    }
}
