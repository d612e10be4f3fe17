//! A Stack Exchange site's posts: users with tagged texts, or with sentences.
//!
//! ```text
//! client       a user of a site who has posted; posts of users who are gone are left out
//! post         a question (title and body) or an answer, which has its question's tags
//! bag          which of the W most frequent words a post has, against which of the T most frequent tags; posts without any of
//!              these tags are left out. `weigh = "share"` gives each word its share of the post's words, as TensorFlow
//!              Federated has it
//! sentences    W + 4 tokens: begin, the first `length` words of a sentence, end, and padding. 0 is padding, 1..=W the words by
//!              frequency, W + 1 any other, W + 2 begin, W + 3 end. The class of a row is its first word
//! ```
//!
//! Words and tags are counted over all users of all files, as the published vocabularies of Stack Overflow are.

mod library;
mod posts;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;

pub(super) use library::{Library, Text};
use motet_core::{Documented, Kind};
use motet_records::Input;
use posts::{Post, Reader};
use serde::{Deserialize, Serialize};

use super::open::{name_of, stream};
use super::tags::{five_hundred, ten_thousand};
use super::{Load, Material, Place};
use crate::data_folder::Folders;
use crate::dataset::Usage;
use crate::error::ProblemError;

/// Posts of Stack Exchange sites, one client per user: bags of words with tags, or sentences for a model of the next word.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct StackExchange {
    /// Each site's Posts.xml, plain or packed.
    pub paths: Vec<PathBuf>,
    /// "bag" (words and tags, for `tags`) or "sentences" (tokens, for `word-lstm`). Default: bag.
    #[serde(default)]
    pub form: PostForm,
    /// How many of the most frequent words are known (default 10,000).
    #[serde(default = "ten_thousand")]
    pub words: NonZeroU32,
    /// How many of the most frequent tags are to be predicted (default 500); and at most as many as there are.
    #[serde(default = "five_hundred")]
    pub tags: NonZeroU32,
    /// What a word of a bag counts: "presence" (1) or "share" (of the post's words). Default: presence.
    #[serde(default)]
    pub weigh: Weigh,
    /// Words of a sentence at most (default 20).
    #[serde(default = "twenty")]
    pub length: NonZeroU32,
}

impl Kind for StackExchange {
    const NAME: &'static str = "stackexchange";
}

pub(super) fn twenty() -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(19)
}

/// What becomes of a post.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PostForm {
    /// One row: its words, with its tags to be predicted.
    #[default]
    Bag,
    /// A row for each of its sentences.
    Sentences,
}

/// What a word of a bag counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weigh {
    /// 1.
    #[default]
    Presence,
    /// How often it is there, over the number of words.
    Share,
}

impl Load for StackExchange {
    fn load(&self, place: &Place<'_>) -> Result<Material, ProblemError> {
        let (library, inputs) = self.read(place.folders)?;
        let dataset = match self.form {
            PostForm::Bag => library.bags(self.words, self.tags, self.weigh)?,
            PostForm::Sentences => library.sentences(self.words, self.length),
        };
        if dataset.is_empty() {
            let file = inputs.first().map_or_else(String::new, |input| input.name.clone());
            return Err(ProblemError::NoExamples { file });
        }
        Ok(Material::Examples { dataset, inputs })
    }
}

impl StackExchange {
    fn read(&self, folders: &Folders) -> Result<(Library, Vec<Input>), ProblemError> {
        if self.paths.is_empty() {
            let wanted = "at least one file is needed".to_owned();
            return Err(ProblemError::Value { key: "source.paths", value: "[]".into(), wanted });
        }
        let (mut library, mut inputs) = (Library::default(), vec![]);
        for path in &self.paths {
            let file = folders.find(path)?;
            let (text, input) = stream(&file, folders.limit)?;
            let name = name_of(&file);
            let site = name.split('.').next().unwrap_or(&name).to_owned();
            let mut reader = Reader { sentences: self.form == PostForm::Sentences, lexicon: &mut library.lexicon };
            let mut posts = reader.read(text, &name)?;
            inputs.push(input);
            inherit(&mut posts);
            let mut keys = BTreeMap::new();
            for post in posts {
                let Some(user) = post.user else { continue };
                let next = library.users.len() as u32;
                let key = *keys.entry(user).or_insert(next);
                if key == next {
                    library.users.push(format!("{site}/{user}"));
                }
                let tags = post.tags.iter().map(|tag| library.tags.see(tag.clone())).collect();
                library.texts.push(Text { key, lot: Usage::Train, tags, words: post.words });
            }
        }
        Ok((library, inputs))
    }
}

/// Gives answers their question's tags.
fn inherit(posts: &mut [Post]) {
    let questions: BTreeMap<u64, Vec<String>> = posts.iter().filter(|p| p.parent.is_none()).map(|p| (p.id, p.tags.clone())).collect();
    for post in posts {
        if let Some(tags) = post.parent.and_then(|parent| questions.get(&parent)) {
            post.tags.clone_from(tags);
        }
    }
}
