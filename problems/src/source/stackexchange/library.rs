//! Tagged texts of many users, as bags of words or as sentences.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use super::Weigh;
use crate::dataset::{Dataset, DatasetError, Targets, Usage};
use crate::matrix::{Matrix, Single};
use crate::source::words::{Lexicon, Tokens};

/// Everything that was read of all files.
#[derive(Debug, Default)]
pub(in crate::source) struct Library {
    pub(in crate::source) texts: Vec<Text>,
    pub(in crate::source) lexicon: Lexicon,
    pub(in crate::source) tags: Lexicon,
    /// What each user is called, by key.
    pub(in crate::source) users: Vec<String>,
}

/// A post, or a sentence of one.
#[derive(Debug)]
pub(in crate::source) struct Text {
    /// Whose it is.
    pub(in crate::source) key: u32,
    pub(in crate::source) lot: Usage,
    /// As the library counts them.
    pub(in crate::source) tags: Vec<u32>,
    /// Words of each sentence, none of them empty; a bag is one.
    pub(in crate::source) words: Vec<Vec<u32>>,
}

impl Library {
    /// Which of the most frequent words each text has, or how many, against its tags; texts without frequent tags are left out.
    pub(in crate::source) fn bags(&self, words: NonZeroU32, tags: NonZeroU32, weigh: Weigh) -> Result<Dataset, DatasetError> {
        let ranks = self.lexicon.ranks(words.get() as usize);
        let tag_ranks = self.tags.ranks(tags.get() as usize);
        let classes = tag_ranks.iter().flatten().count() as u32;
        let (mut starts, mut columns, mut values) = (vec![0], vec![], vec![]);
        let (mut cuts, mut tags, mut owners) = (vec![0], vec![], vec![]);
        for text in &self.texts {
            let mut own: Vec<u32> = text.tags.iter().filter_map(|&tag| tag_ranks[tag as usize]).collect();
            own.sort_unstable();
            own.dedup();
            if own.is_empty() {
                continue;
            }
            let mut counts = BTreeMap::new();
            let all = text.words.iter().map(Vec::len).sum::<usize>().max(1) as f64;
            text.words.iter().flatten().filter_map(|&word| ranks[word as usize]).for_each(|word| *counts.entry(word).or_insert(0.0) += 1.0);
            for (word, count) in counts {
                columns.push(word);
                values.push(if weigh == Weigh::Share { count / all } else { 1.0 });
            }
            starts.push(columns.len());
            tags.extend(own);
            cuts.push(tags.len());
            owners.push((text.key, text.lot));
        }
        let cols = ranks.iter().flatten().count();
        let features = Matrix::sparse(cols, starts, columns, values)?;
        Ok(self.owned(Dataset::new(features, Targets::Tags { starts: cuts, tags, classes }), owners))
    }

    /// A row of tokens for each sentence: begin, its first words, end, padding.
    pub(in crate::source) fn sentences(&self, words: NonZeroU32, length: NonZeroU32) -> Dataset {
        let (ranks, tokens) = (self.lexicon.ranks(words.get() as usize), Tokens { known: words.get() });
        let length = length.get() as usize;
        // Begin, words, end.
        let cols = length + 2;
        let (mut values, mut labels, mut owners) = (vec![], vec![], vec![]);
        for text in &self.texts {
            for sentence in &text.words {
                let token = |&word: &u32| ranks[word as usize].map_or(tokens.unknown(), Tokens::known);
                let words: Vec<u32> = sentence.iter().take(length).map(token).collect();
                labels.push(words[0]);
                owners.push((text.key, text.lot));
                let padding = std::iter::repeat_n(Tokens::PADDING, length - words.len());
                values.extend([tokens.begin()].into_iter().chain(words).chain([tokens.end()]).chain(padding).map(|token| token as f32));
            }
        }
        let targets = Targets::Classes { labels, classes: tokens.count() };
        self.owned(Dataset::new(Matrix::Single(Single { cols, values: values.into() }), targets), owners)
    }

    fn owned(&self, dataset: Dataset, owners: Vec<(u32, Usage)>) -> Dataset {
        let (keys, usages) = owners.into_iter().unzip();
        dataset.from_clients(keys).named(self.users.clone()).with_some_usages(usages)
    }
}
