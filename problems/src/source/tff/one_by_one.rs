//! Clients of an SQLite file, each read when it is asked for: a pass over the file finds which rows are whose.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::gather::Gathered;
use super::volume::Volume;
use super::{Tff, Usage};
use crate::dataset::Dataset;
use crate::error::ProblemError;
use crate::guard::FileLimit;
use crate::on_demand::{ClientExamples, Holding};
use crate::source::index::{Index, Located, Schema, Watched, insisted, kept, worth_it};
use crate::source::numbers::Labels;
use crate::source::{Material, Place};

impl Tff {
    /// Clients one by one, where that is asked for or worth it; none if all are to be read at once.
    pub(super) fn one_by_one(&self, place: &Place<'_>) -> Result<Option<Material>, ProblemError> {
        let paths =
            std::iter::once(&self.path).chain(&self.test_path).map(|path| place.folders.find(path)).collect::<Result<Vec<_>, _>>()?;
        let bytes = paths.iter().filter_map(|path| path.metadata().ok()).map(|about| about.len()).sum();
        if !worth_it(place.hold, bytes) {
            return Ok(None);
        }
        let limit = place.folders.limit;
        let files = paths.iter().map(|path| Watched::new(path)).collect::<Result<Vec<_>, _>>()?;
        let volumes = paths.iter().map(|path| Volume::open(path, limit)).collect::<Result<Vec<_>, _>>()?;
        let Some(first) = volumes.first() else { return Ok(None) };
        let parts = self.parts(first, volumes.get(1))?;
        let read = parts.iter().map(|part| (part.file, part.split.clone(), part.lot)).collect();
        let (index, notes) = kept(place.folders, (self, Schema("tff", 1)), &files, || self.survey(&parts))?;
        drop(parts);
        let Some(index) = index else {
            return insisted(place.hold, &self.path.display().to_string(), "words are numbered by what everybody wrote").map(|()| None);
        };
        if index.clients.is_empty() {
            return Err(ProblemError::NoExamples { file: self.path.display().to_string() });
        }
        let inputs = files.iter().map(|file| file.input.clone()).collect();
        let volumes = volumes.into_iter().map(Mutex::new).collect();
        let clients = Arc::new(Clients { of: self.clone(), index, files, volumes, parts: read, limit, notes });
        let all = place.hold.is_none() && Holding::usual(&*clients) == Holding::All;
        Ok((!all).then_some(Material::Clients { clients, inputs }))
    }

    /// Passes over the files; nothing if the words of all texts must be known to read one.
    fn survey(&self, parts: &[super::Part<'_>]) -> Result<Option<Index>, ProblemError> {
        let names = self.names(parts);
        let mut all = Gathered::new(self, names.clone());
        let (mut clients, mut labels, mut words) = (vec![Located::default(); names.len()], Labels::default(), false);
        let mut tokens: BTreeMap<(u32, Usage), usize> = BTreeMap::new();
        let number = |part: &super::Part<'_>| parts.iter().position(|other| std::ptr::eq(other, part)).unwrap_or_default() as u32;
        self.pass(parts, &names, &mut |part, key, row, example| {
            if words {
                return Ok(());
            }
            all.push(key, part.lot, example)?;
            let Some(seen) = all.forget() else {
                words = true;
                return Ok(());
            };
            let own = &mut clients[key as usize];
            own.as_bytes += seen.as_bytes;
            labels.see(&seen.targets);
            if seen.tokens > 0 {
                *tokens.entry((key, part.lot)).or_default() += seen.tokens;
            }
            // A row of FedJAX holds all examples of its client: it is one piece, whatever is in it.
            let (part_number, row) = (number(part), u64::try_from(row).map_err(|_| "a row with a number below 0".to_owned())?);
            let again = own.pieces.last().is_some_and(|&(last, from, long)| (last, from + long) == (part_number, row + 1));
            if again {
                own.more(part.lot, seen.targets.len());
            } else {
                own.add(part.lot, seen.targets.len(), (part_number, row, 1));
            }
            Ok(())
        })?;
        if words {
            return Ok(None);
        }
        for ((key, lot), tokens) in tokens {
            // As many rows as `Rows::cut` makes of so many tokens.
            clients[key as usize].more(lot, tokens.saturating_sub(1).div_ceil(self.window.get() as usize));
        }
        let clients = names.into_iter().zip(clients).map(|(name, place)| Located { name, ..place });
        Ok(all.form().map(|(form, cols, classes)| match classes {
            Some(classes) => Index::of_tokens(form, cols, classes, clients),
            None => Index::new(form, cols, &labels, clients),
        }))
    }
}

/// All clients, as rows of files.
struct Clients {
    of: Tff,
    index: Index,
    files: Vec<Watched>,
    volumes: Vec<Mutex<Volume>>,
    /// Which file, which split of it, and what for.
    parts: Vec<(usize, Option<String>, Usage)>,
    limit: FileLimit,
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
        let mut own = Gathered::one_of(&self.of, place.name.clone(), self.index.bytes_up_to(place));
        let mut last = None;
        for &(part, first, count) in &place.pieces {
            let (file, split, lot) = self.parts.get(part as usize).ok_or_else(|| self.files[0].misled())?;
            let watched = &self.files[*file];
            watched.unchanged()?;
            // Held only while bytes are read: others unpack theirs meanwhile.
            let mut volume = self.volumes[*file].lock().map_err(|_| watched.misled())?;
            let blobs = volume.blobs(split.as_deref(), i64::try_from(first).unwrap_or(i64::MAX), count)?;
            let form = volume.form();
            drop(volume);
            if blobs.len() as u64 != count || blobs.iter().any(|(name, _)| *name != place.name) {
                return Err(watched.misled());
            }
            let budget = self.limit.budget(watched.input.bytes);
            for (_, bytes) in &blobs {
                let examples = form.decoded(bytes, &budget);
                let pushed = examples.and_then(|all| all.into_iter().try_for_each(|example| own.push(0, *lot, example)));
                pushed.map_err(|what| ProblemError::Odd {
                    file: watched.input.name.clone(),
                    place: format!("client `{}`", place.name),
                    what,
                })?;
            }
            last = Some(watched);
        }
        let misled = || last.unwrap_or(&self.files[0]).misled();
        self.index.fit(place, own.finish(&self.files[0].input.name)?).ok_or_else(misled)
    }
}
