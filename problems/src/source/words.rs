//! Words of a text, and the most frequent ones as numbers.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Lower-case runs of letters and digits; an apostrophe, `+` and `#` are part of a word that has begun (don't, c++, c#).
pub(super) fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let part = |letter: char| letter.is_alphanumeric() || matches!(letter, '\'' | '\u{2019}' | '+' | '#');
    text.split(move |letter| !part(letter)).filter_map(|word| {
        let word = word.trim_start_matches(|letter: char| !letter.is_alphanumeric()).trim_end_matches(['\'', '\u{2019}']);
        (!word.is_empty()).then(|| word.to_lowercase().replace('\u{2019}', "'"))
    })
}

/// Every different word seen so far, numbered as they came, and how often each was seen.
#[derive(Debug, Default)]
pub(super) struct Lexicon {
    numbers: BTreeMap<String, u32>,
    counts: Vec<u64>,
}

impl Lexicon {
    /// The number of a word, which was seen once more.
    pub(super) fn see(&mut self, word: String) -> u32 {
        let number = self.meet(word);
        self.counts[number as usize] += 1;
        number
    }

    /// The number of a word that does not count, as in texts to be judged on.
    pub(super) fn meet(&mut self, word: String) -> u32 {
        let next = self.counts.len() as u32;
        let number = *self.numbers.entry(word).or_insert(next);
        if number == next {
            self.counts.push(0);
        }
        number
    }

    /// The number of a word that was seen.
    pub(super) fn number(&self, word: &str) -> Option<u32> {
        self.numbers.get(word).copied()
    }

    /// By number: the rank of a word among the `most` most frequent ones, equal counts by alphabet; none for the others, nor for
    /// words that were never seen.
    pub(super) fn ranks(&self, most: usize) -> Vec<Option<u32>> {
        let counted = self.numbers.iter().map(|(word, &number)| (Reverse(self.counts[number as usize]), word.as_str(), number));
        let mut order: Vec<(Reverse<u64>, &str, u32)> = counted.filter(|(count, ..)| count.0 > 0).collect();
        order.sort_unstable();
        let mut ranks = vec![None; self.counts.len()];
        for (rank, (.., number)) in order.iter().take(most).enumerate() {
            ranks[*number as usize] = Some(rank as u32);
        }
        ranks
    }
}

/// Tokens of language models: 0 is padding, then `known` tokens from 1, then these three.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tokens {
    /// How many there are but for the four special ones.
    pub(super) known: u32,
}

impl Tokens {
    /// Fills the end of a row, and is not to be predicted.
    pub(super) const PADDING: u32 = 0;

    pub(super) fn known(rank: u32) -> u32 {
        rank + 1
    }
    pub(super) fn unknown(self) -> u32 {
        self.known + 1
    }
}

/// What only language models over sentences need.
#[cfg(feature = "text")]
impl Tokens {
    pub(super) fn begin(self) -> u32 {
        self.known + 2
    }
    pub(super) fn end(self) -> u32 {
        self.known + 3
    }
    /// All there are.
    pub(super) fn count(self) -> u32 {
        self.known + 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_lower_case_and_keep_what_belongs_to_them() {
        let found: Vec<String> = words("Don't use C++, 'C#' or ''; it\u{2019}s 3x faster -- ok?").collect();
        assert_eq!(found, ["don't", "use", "c++", "c#", "or", "it's", "3x", "faster", "ok"]);
    }

    #[test]
    fn ranks_go_by_count_and_then_by_alphabet() {
        let mut lexicon = Lexicon::default();
        let numbers: Vec<u32> = ["b", "c", "a", "c"].into_iter().map(|word| lexicon.see(word.into())).collect();
        assert_eq!(numbers, [0, 1, 2, 1]);
        assert_eq!((lexicon.number("a"), lexicon.number("z")), (Some(2), None));
        assert_eq!(lexicon.ranks(2), [None, Some(0), Some(1)]);
    }
}
