//! Text → tokens, as BERT has it (Wu et al. 2016; Devlin et al. 2019): lower case, no accents, words cut into the longest
//! pieces of the vocabulary.

use std::collections::BTreeMap;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// A vocabulary of word pieces.
#[derive(Clone, Debug)]
pub struct WordPiece {
    pieces: BTreeMap<String, u32>,
    unknown: u32,
    begin: u32,
    end: u32,
    padding: u32,
}

/// A vocabulary that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WordPieceError {
    /// A piece that every text needs is not there.
    #[error("the vocabulary has no piece `{0}`")]
    Missing(&'static str),
    /// Tokens have four bytes.
    #[error("the vocabulary has more than 4294967296 pieces")]
    TooMany,
}

/// Longer words are unknown, as in the original.
const LONGEST: usize = 100;

impl WordPiece {
    /// Reads a `vocab.txt`: one piece a line, its number is that of the line, continuations begin with `##`.
    pub fn new(vocabulary: &str) -> Result<Self, WordPieceError> {
        let piece = |(k, line): (usize, &str)| Ok((line.trim_end().to_owned(), u32::try_from(k).map_err(|_| WordPieceError::TooMany)?));
        let pieces = vocabulary.lines().enumerate().map(piece).collect::<Result<BTreeMap<String, u32>, _>>()?;
        let special = |name: &'static str| pieces.get(name).copied().ok_or(WordPieceError::Missing(name));
        let (unknown, begin, end, padding) = (special("[UNK]")?, special("[CLS]")?, special("[SEP]")?, special("[PAD]")?);
        Ok(Self { pieces, unknown, begin, end, padding })
    }

    /// How many pieces there are.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// None at all?
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// `[CLS]`, the pieces, `[SEP]`, then padding, `time` tokens in all; what is too long is cut.
    ///
    /// ```
    /// use motet_nn::WordPiece;
    /// let pieces = WordPiece::new("[PAD]\n[UNK]\n[CLS]\n[SEP]\nun\n##believ\n##able\n!\ncafe")?;
    /// assert_eq!(pieces.encode("Unbelievable! Café", 9), [2, 4, 5, 6, 7, 8, 3, 0, 0]);
    /// assert_eq!(pieces.encode("xyz un", 4), [2, 1, 4, 3]);
    /// # Ok::<(), motet_nn::WordPieceError>(())
    /// ```
    pub fn encode(&self, text: &str, time: usize) -> Vec<u32> {
        let mut tokens = vec![self.begin];
        for word in words(text) {
            self.cut(&word, &mut tokens);
        }
        tokens.truncate(time.saturating_sub(1));
        tokens.push(self.end);
        tokens.resize(time, self.padding);
        tokens
    }

    /// The longest piece first; a word with a part that no piece covers is unknown as a whole.
    fn cut(&self, word: &str, tokens: &mut Vec<u32>) {
        let (before, letters): (usize, Vec<char>) = (tokens.len(), word.chars().collect());
        if letters.len() > LONGEST {
            return tokens.push(self.unknown);
        }
        let mut from = 0;
        while from < letters.len() {
            let found = (from + 1..=letters.len()).rev().find_map(|to| {
                let mut piece: String = if from > 0 { "##".into() } else { String::new() };
                piece.extend(&letters[from..to]);
                self.pieces.get(&piece).map(|&token| (to, token))
            });
            let Some((to, token)) = found else {
                tokens.truncate(before);
                return tokens.push(self.unknown);
            };
            tokens.push(token);
            from = to;
        }
    }
}

/// Words, and signs one by one.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let cleaned = text.chars().filter(|&letter| !is_hidden(letter));
    // Letters first, marks second: the decomposition of a capital is that of its small letter.
    for letter in cleaned.flat_map(char::to_lowercase).nfd().filter(|&letter| !is_combining_mark(letter)) {
        if letter.is_whitespace() {
            words.push(String::new());
        } else if is_sign(letter) {
            words.push(letter.into());
            words.push(String::new());
        } else {
            words.last_mut().expect("there is always a last word").push(letter);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Punctuation of the scripts in common use, and each letter of those that put no spaces between words.
fn is_sign(letter: char) -> bool {
    letter.is_ascii_punctuation()
        || matches!(letter, '\u{a1}' | '\u{a7}' | '\u{ab}' | '\u{b6}' | '\u{b7}' | '\u{bb}' | '\u{bf}') // Latin
        || matches!(letter, '\u{55a}'..='\u{55f}' | '\u{589}' | '\u{58a}' | '\u{5be}' | '\u{5c0}' | '\u{5c3}' | '\u{5c6}' | '\u{5f3}' | '\u{5f4}') // Armenian, Hebrew
        || matches!(letter, '\u{60c}' | '\u{60d}' | '\u{61b}' | '\u{61e}' | '\u{61f}' | '\u{66a}'..='\u{66d}' | '\u{6d4}' | '\u{964}' | '\u{965}') // Arabic, Devanagari
        || matches!(letter, '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{2043}' | '\u{2045}'..='\u{2051}' | '\u{2053}'..='\u{205e}') // general
        || matches!(letter, '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}' | '\u{30fb}' | '\u{fe30}'..='\u{fe52}') // Chinese, Japanese
        || matches!(letter, '\u{ff01}'..='\u{ff03}' | '\u{ff05}'..='\u{ff0a}' | '\u{ff0c}'..='\u{ff0f}' | '\u{ff1a}' | '\u{ff1b}' | '\u{ff1f}' | '\u{ff20}' | '\u{ff5f}'..='\u{ff65}') // wide and narrow forms
        || matches!(letter, '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{f900}'..='\u{faff}')
}

/// Characters that are not there to be seen: controls, marks of direction, joiners.
fn is_hidden(letter: char) -> bool {
    letter.is_control() && !letter.is_whitespace()
        || matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206f}' | '\u{feff}' | '\u{fffd}')
}
