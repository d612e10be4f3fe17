//! Federated data as TensorFlow Federated and FedJAX publish them: SQLite files.
//!
//! ```text
//! TFF      examples(split_name, client_id, serialized_example_proto)    each row a tf.train.Example
//!          client_metadata(client_id, split_name, num_examples)         all splits in one file
//! FedJAX   federated_data(client_id, data, num_examples)                zlib(msgpack) of arrays by name; a file for each split
//! ```
//!
//! | features | become |
//! | --- | --- |
//! | `pixels` or `image`, and `label` (EMNIST, CIFAR-100), or those that `x` and `y` name | rows and classes, or quantities |
//! | `snippets` (Shakespeare) | windows of characters, as the source `shakespeare` has them |
//! | `tokens`, `title`, `tags` (Stack Overflow) | bags with tags, or sentences, as the source `stackexchange` has them |
//!
//! Words are what spaces separate; a bag has those of tokens and title (Reddi et al. 2021), a sentence those of tokens. Only texts
//! to train on make the vocabulary. Clients are in the order of their names; those of large files are read one by one
//! ([`one_by_one`]), but for words, whose numbers depend on everybody.

mod example;
mod gather;
mod msgpack;
mod one_by_one;
mod volume;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;

use super::stackexchange::{PostForm, Weigh, twenty};
use super::tags::{five_hundred, ten_thousand};
use super::text::eighty;
use super::{Load, Material, Place};
use crate::dataset::Usage;
use crate::error::ProblemError;
use gather::Gathered;
use motet_core::{Documented, Kind};
use serde::{Deserialize, Serialize};
use volume::Volume;

/// Files of TensorFlow Federated and FedJAX (SQLite: EMNIST, CIFAR-100, Shakespeare, Stack Overflow); clients are theirs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Tff {
    /// The file, unpacked.
    pub path: PathBuf,
    /// Of TFF's files: the split to train on, as in "all_train" (default: "train", or the only one).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub train: Option<String>,
    /// Of TFF's files: the split to be judged on, as in "all_test" (default none).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// The file with examples to be judged on, if it is another one, as FedJAX has it (default none).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_path: Option<PathBuf>,
    /// Read only this many clients, the first ones by name (default all).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<NonZeroU32>,
    /// The feature to predict from (default: `pixels`, `image` or `x`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<String>,
    /// The feature to predict (default: `label` or `y`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y: Option<String>,
    /// Of snippets: characters to predict in each row (default 80).
    #[serde(default = "eighty")]
    pub window: NonZeroU32,
    /// Of tokens: "bag" (words and tags, for `tags`) or "sentences" (tokens, for `word-lstm`). Default: bag.
    #[serde(default)]
    pub form: PostForm,
    /// Of tokens: how many of the most frequent words are known (default 10,000).
    #[serde(default = "ten_thousand")]
    pub words: NonZeroU32,
    /// Of tokens: how many of the most frequent tags are to be predicted (default 500); and at most as many as there are.
    #[serde(default = "five_hundred")]
    pub tags: NonZeroU32,
    /// What a word of a bag counts: "presence" (1) or "share" (of the text's words). Default: presence.
    #[serde(default)]
    pub weigh: Weigh,
    /// Words of a sentence at most (default 20).
    #[serde(default = "twenty")]
    pub length: NonZeroU32,
}

impl Kind for Tff {
    const NAME: &'static str = "tff";
}

/// Examples of one file that are for one thing.
struct Part<'a> {
    volume: &'a Volume,
    /// Which of the files that is.
    file: usize,
    split: Option<String>,
    lot: Usage,
    /// How many each client has, by the file's own count.
    counts: BTreeMap<String, u64>,
}

/// What is done with an example: what it is for, whose it is, its row in the file, and the example.
type Each<'a> = dyn FnMut(&Part<'_>, u32, i64, example::Example) -> Result<(), String> + 'a;

impl Load for Tff {
    fn load(&self, place: &Place<'_>) -> Result<Material, ProblemError> {
        let first = Volume::open(&place.folders.find(&self.path)?, place.folders.limit)?;
        let second = self.test_path.as_ref().map(|path| Volume::open(&place.folders.find(path)?, place.folders.limit)).transpose()?;
        if let Some(clients) = self.one_by_one(place)? {
            return Ok(clients);
        }
        let parts = self.parts(&first, second.as_ref())?;
        let names = self.names(&parts);
        let mut all = Gathered::new(self, names.clone());
        self.pass(&parts, &names, &mut |part, key, _, example| all.push(key, part.lot, example))?;
        let dataset = all.finish(&first.input.name)?;
        let inputs = [Some(&first), second.as_ref()].into_iter().flatten().map(|volume| volume.input.clone()).collect();
        Ok(Material::Examples { dataset, inputs })
    }
}

impl Tff {
    /// What is read of one file, or of two.
    fn parts<'a>(&self, first: &'a Volume, second: Option<&'a Volume>) -> Result<Vec<Part<'a>>, ProblemError> {
        let mut parts = vec![part((0, first), ("source.train", "train", self.train.as_deref()), Usage::Train)?];
        let wanted = ("source.test", "test", self.test.as_deref());
        match (second, &self.test) {
            (Some(second), _) => parts.push(part((1, second), wanted, Usage::Test)?),
            (None, Some(_)) => parts.push(part((0, first), wanted, Usage::Test)?),
            (None, None) => {}
        }
        Ok(parts)
    }

    /// Every example of these clients, in the order of the files. Each client must have as many as its file says.
    fn pass(&self, parts: &[Part<'_>], names: &[String], each: &mut Each<'_>) -> Result<(), ProblemError> {
        let keys: BTreeMap<&str, u32> = names.iter().map(String::as_str).zip(0..).collect();
        let last = self.clients.and_then(|_| names.last()).map(String::as_str);
        for part in parts {
            let mut found = vec![0u64; names.len()];
            let key = |name: &str| match keys.get(name) {
                Some(&key) => Ok(Some(key)),
                None if part.counts.contains_key(name) => Ok(None),
                // Left out in silence, a client would be missing from every result.
                None => Err("is not in the file's own list of clients: it is not whole".to_owned()),
            };
            part.volume.examples(part.split.as_deref(), last, &key, &mut |key, row, example| {
                found[key as usize] += 1;
                each(part, key, row, example)
            })?;
            for (name, &found) in names.iter().zip(&found) {
                let told = part.counts.get(name).copied().unwrap_or(0);
                if found != told {
                    let what = format!("{found} examples, but the file's own count says {told}: it is not whole");
                    return Err(part.volume.odd(format!("client `{name}`"), what));
                }
            }
        }
        Ok(())
    }

    /// Who is read, by name.
    fn names(&self, parts: &[Part<'_>]) -> Vec<String> {
        if let Some(most) = self.clients {
            return parts[0].counts.keys().take(most.get() as usize).cloned().collect();
        }
        let mut names: Vec<String> = parts.iter().flat_map(|part| part.counts.keys().cloned()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// The split of that key; the usual one or the only one where nobody said which.
fn part<'a>(
    (file, volume): (usize, &'a Volume),
    (key, usual, told): (&'static str, &str, Option<&str>),
    lot: Usage,
) -> Result<Part<'a>, ProblemError> {
    let splits = volume.splits()?;
    let split = match (told, &splits[..]) {
        (Some(told), []) => {
            let wanted = "files of FedJAX have no splits: leave it out, and name the file of another split in test_path".to_owned();
            return Err(ProblemError::Value { key, value: format!("{told:?}"), wanted });
        }
        (None, []) => None,
        (None, [only]) => Some(only.clone()),
        (told, splits) => match splits.iter().find(|split| *split == told.unwrap_or(usual)) {
            Some(split) => Some(split.clone()),
            None => {
                let known = splits.iter().map(|split| format!("{split:?}")).collect::<Vec<_>>().join(", ");
                let wanted = format!("the splits of {} are {known}", volume.input.name);
                return Err(ProblemError::Value { key, value: format!("{:?}", told.unwrap_or(usual)), wanted });
            }
        },
    };
    let counts = volume.clients(split.as_deref())?;
    Ok(Part { volume, file, split, lot, counts })
}
