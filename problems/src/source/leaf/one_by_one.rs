//! Users of LEAF's files, each read when it is asked for: a pass over the files finds where each one's text begins and ends.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, BufReader, Read};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use serde::de::DeserializeSeed;

use super::{Gathered, Inputs, Leaf, MIXED, TakesUsers, User, Users, characters, odd, walk};
use crate::dataset::{Dataset, Usage};
use crate::error::ProblemError;
use crate::guard::open_regular;
use crate::on_demand::{ClientExamples, Holding};
use crate::source::index::{Form, Index, Located, Schema, Watched, insisted, kept, worth_it};
use crate::source::numbers::{Labels, Numbers};
use crate::source::open::is_packed;
use crate::source::{Material, Place};

impl Leaf {
    /// Users one by one, where that is asked for or worth it; none if all are to be read at once.
    pub(super) fn one_by_one(&self, parts: &[(PathBuf, Usage)], place: &Place<'_>) -> Result<Option<Material>, ProblemError> {
        let bytes = parts.iter().filter_map(|(file, _)| file.metadata().ok()).map(|about| about.len()).sum();
        if !worth_it(place.hold, bytes) {
            return Ok(None);
        }
        let file = self.path.display().to_string();
        for (path, _) in parts {
            if is_packed(path)? {
                return insisted(place.hold, &file, "it is packed; unpack it first").map(|()| None);
            }
        }
        let files = parts.iter().map(|(path, _)| Watched::new(path)).collect::<Result<Vec<_>, _>>()?;
        let lots = parts.iter().map(|(_, lot)| *lot).collect::<Vec<_>>();
        let (index, notes) = kept(place.folders, (self, Schema("leaf", 1)), &files, || survey(&files, &lots))?;
        let Some(index) = index else {
            return insisted(place.hold, &file, "words are numbered by what everybody wrote").map(|()| None);
        };
        if index.clients.is_empty() {
            return Err(ProblemError::NoExamples { file });
        }
        let inputs = files.iter().map(|file| file.input.clone()).collect();
        let clients = Arc::new(Clients { index, files, lots, notes });
        let all = place.hold.is_none() && Holding::usual(&*clients) == Holding::All;
        Ok((!all).then_some(Material::Clients { clients, inputs }))
    }
}

/// All users, as pieces of files.
struct Clients {
    index: Index,
    files: Vec<Watched>,
    /// What the examples of each file are for.
    lots: Vec<Usage>,
    notes: Vec<String>,
}

impl ClientExamples for Clients {
    fn clients(&self) -> u32 {
        self.index.clients.len() as u32
    }

    fn rows(&self, client: u32) -> u32 {
        self.index.clients[client as usize].train
    }

    fn judged(&self, client: u32) -> u32 {
        self.index.clients[client as usize].test
    }

    fn outline(&self) -> Dataset {
        self.index.outline().noted(self.notes.clone())
    }

    fn examples(&self, client: u32) -> Result<Dataset, ProblemError> {
        let place = &self.index.clients[client as usize];
        let mut own = Gathered::default();
        if let Some(row) = self.index.bytes_up_to(place) {
            own.x = Inputs::Numbers(Numbers::with_bytes_up_to(row));
        }
        let first = self.files.first().ok_or_else(|| ProblemError::NoExamples { file: place.name.clone() })?;
        for &(number, start, length) in &place.pieces {
            let file = self.files.get(number as usize).ok_or_else(|| first.misled())?;
            let text = file.piece(start, length)?;
            // What stands before the name is a colon, a brace or a comma.
            let from = text.iter().position(|&byte| byte == b'"').ok_or_else(|| file.misled())?;
            let table = [b"{", &text[from..], b"}"].concat();
            own.lot = self.lots.get(number as usize).copied();
            let mut json = serde_json::Deserializer::from_slice(&table);
            let read = Users(&mut own).deserialize(&mut json).and_then(|()| json.end());
            read.map_err(|error| odd(&error, &format!("{}, user {:?}", file.input.name, place.name)))?;
        }
        if own.users.keys().ne([&place.name]) {
            return Err(first.misled());
        }
        let read = own.finish(1).ok().and_then(|own| self.index.fit(place, own));
        read.ok_or_else(|| first.misled())
    }
}

/// Passes over the files; nothing if the words of all texts must be known to read one.
fn survey(files: &[Watched], lots: &[Usage]) -> Result<Option<Index>, ProblemError> {
    let at = Rc::new(Cell::new(0));
    let mut all = Survey { at: Rc::clone(&at), ..Survey::default() };
    for (number, (file, lot)) in files.iter().zip(lots).enumerate() {
        at.set(0);
        (all.file, all.lot) = (number as u32, Some(*lot));
        let text = Counted { inner: BufReader::new(open_regular(&file.path)?.0), at: Rc::clone(&at) };
        walk(text, &mut all).map_err(|error| odd(&error, &file.input.name))?;
        if all.words {
            return Ok(None);
        }
    }
    let clients = all.clients.into_iter().map(|(name, place)| Located { name, ..place });
    Ok(Some(match (all.letters, all.own.x) {
        (Some((cols, classes)), _) => Index::of_tokens(Form::Tokens, cols, classes, clients),
        (None, Inputs::Numbers(rows)) => {
            let Some(empty) = rows.matrix() else { return Ok(None) };
            let form = if matches!(empty, crate::matrix::Matrix::Bytes(_)) { Form::Pixels } else { Form::Numbers };
            Index::new(form, empty.cols(), &all.labels, clients)
        }
        (None, _) => return Ok(None),
    }))
}

/// What is known of everybody so far.
#[derive(Default)]
struct Survey {
    /// How many bytes of this file were read.
    at: Rc<Cell<u64>>,
    /// Where the next user's text begins.
    from: u64,
    file: u32,
    lot: Option<Usage>,
    /// The last user, forgotten as soon as it was looked at.
    own: Gathered,
    labels: Labels,
    /// Of texts with the next character: columns and classes.
    letters: Option<(usize, u32)>,
    /// Texts with classes were met.
    words: bool,
    clients: BTreeMap<String, Located>,
}

impl TakesUsers for Survey {
    fn begins(&mut self) {
        self.from = self.at.get();
    }

    fn user(&mut self, name: &str, own: User) -> Result<(), String> {
        let (from, to) = (std::mem::replace(&mut self.from, self.at.get()), self.at.get());
        let rows = own.x.len();
        self.own.add(name, own.x, own.y)?;
        let Gathered { users, keys, usages, x, y, next, .. } = &mut self.own;
        users.clear();
        keys.clear();
        usages.clear();
        let mut as_bytes = 0;
        match x {
            Inputs::Numbers(numbers) if next.is_empty() => as_bytes = numbers.forget(),
            Inputs::Texts(texts) if y.is_empty() && rows > 0 => {
                let made = characters(texts, next)?;
                let found = (made.features.cols(), super::LETTERS.chars().count() as u32 + 1);
                let first = *self.letters.get_or_insert(found);
                if first != found {
                    return Err(format!("user {name:?}: texts of {} characters, the first had {}", found.0 - 1, first.0 - 1));
                }
                texts.clear();
            }
            Inputs::Texts(texts) => {
                self.words |= rows > 0 && next.is_empty();
                texts.clear();
            }
            _ => {}
        }
        if rows > 0 && !next.is_empty() && !y.is_empty() || (self.letters.is_some() && !y.is_empty()) {
            return Err(MIXED.into());
        }
        self.labels.see(y);
        y.clear();
        next.clear();
        let place = self.clients.entry(name.to_owned()).or_default();
        place.as_bytes += as_bytes;
        place.add(self.lot.unwrap_or(Usage::Train), rows, (self.file, from, to - from));
        Ok(())
    }
}

/// A reader that counts what was taken from it. JSON is taken byte by byte, so that the count is exact at the end of every value.
struct Counted<R> {
    inner: R,
    at: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.at.set(self.at.get() + count as u64);
        Ok(count)
    }
}
