//! Plays as speeches, and speeches as windows of characters.
//!
//! ```text
//! client       a role: play and speaker
//! stream       of a role: each speech between a begin and an end, one after another
//! row          window + 1 tokens of the stream; the next row begins at the last token of this one, so that every character
//!              is predicted once; the last row is filled up with padding
//! tokens       0 padding, 1..=86 the characters of TensorFlow Federated's Shakespeare, 87 any other, 88 begin, 89 end
//! ```
//!
//! As in *Adaptive Federated Optimization* (Reddi et al. 2021): 80 characters, 90 tokens. LEAF (Caldas et al. 2018) has 80
//! characters of its own, a row for every character, and judges only the one after 80; here each position is judged.
//! The class of a row is its first token.

mod plays;
mod text;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;

use motet_core::{Documented, Kind};
use motet_records::Input;
use serde::{Deserialize, Serialize};

use super::open::{Opened, name_of, open};
use super::text::eighty;
use super::words::Tokens;
use super::{Load, Material, Place};
use crate::data_folder::Folders;
use crate::dataset::{Dataset, Targets};
use crate::error::ProblemError;
use crate::matrix::{Matrix, Single};

/// Shakespeare's plays as windows of characters, one client per role (play and speaker); for `char-lstm` with padding = 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Shakespeare {
    /// Plays in PlayShakespeare.com's XML (one, or a tar of them), speeches in JSON lines, or text with `Speaker:` lines.
    #[serde(default = "speeches")]
    pub path: PathBuf,
    /// Characters to predict in each row (default 80).
    #[serde(default = "eighty")]
    pub window: NonZeroU32,
    /// Leave out roles that say fewer characters (default 64).
    #[serde(default = "some")]
    pub characters: NonZeroU32,
}

impl Kind for Shakespeare {
    const NAME: &'static str = "shakespeare";
}

fn speeches() -> PathBuf {
    "shakespeare/speeches.jsonl".into()
}
fn some() -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(63)
}

/// One role's words until another speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speech {
    /// Name of the play; empty where the file does not tell plays apart.
    pub play: String,
    /// Who speaks.
    pub role: String,
    /// Verse lines, joined by newlines.
    pub text: String,
}

/// The characters of TensorFlow Federated's Shakespeare, in its order.
const CHARACTERS: &str = "dhlptx@DHLPTX $(,048cgkoswCGKOSW[_#'/37;?bfjnrvzBFJNRVZ\"&*.26:\naeimquyAEIMQUY]!%)-159\r";

/// The characters as tokens.
pub(super) struct Alphabet {
    ranks: BTreeMap<char, u32>,
    pub(super) tokens: Tokens,
}

impl Default for Alphabet {
    fn default() -> Self {
        let ranks: BTreeMap<char, u32> = CHARACTERS.chars().zip(0..).collect();
        Self { tokens: Tokens { known: ranks.len() as u32 }, ranks }
    }
}

impl Alphabet {
    /// Begin, a speech, end.
    pub(super) fn speech(&self, text: &str) -> Vec<u32> {
        let token = |letter: char| self.ranks.get(&letter).map_or(self.tokens.unknown(), |&rank| Tokens::known(rank));
        [self.tokens.begin()].into_iter().chain(text.chars().map(token)).chain([self.tokens.end()]).collect()
    }
}

impl Load for Shakespeare {
    fn load(&self, place: &Place<'_>) -> Result<Material, ProblemError> {
        let (speeches, input) = self.open(place.folders)?;
        let alphabet = Alphabet::default();
        let roles = self.roles(&speeches);
        if roles.is_empty() {
            let wanted = "no role of the file says that many".to_owned();
            return Err(ProblemError::Value { key: "source.characters", value: self.characters.to_string(), wanted });
        }
        let (window, mut rows) = (self.window.get() as usize, Rows::default());
        for (key, (_, said)) in roles.iter().enumerate() {
            let stream: Vec<u32> = said.iter().flat_map(|speech| alphabet.speech(&speech.text)).collect();
            rows.cut(&stream, window, key as u32);
        }
        let names = roles.into_iter().map(|(name, _)| name).collect();
        Ok(Material::Examples { dataset: rows.dataset(window + 1, alphabet.tokens.count(), names), inputs: vec![input] })
    }
}

impl Shakespeare {
    /// Finds and reads the file: all speeches in their order, and which file it was.
    pub fn open(&self, folders: &Folders) -> Result<(Vec<Speech>, Input), ProblemError> {
        let file = folders.find(&self.path)?;
        let Opened { text, input } = open(&file, folders.limit)?;
        let name = name_of(&file);
        let speeches = if plays::is_tar(&text) {
            plays::read_tar(&text, &name)?
        } else if text.trim_ascii_start().starts_with(b"<") || text.starts_with("\u{feff}<".as_bytes()) {
            plays::read_play(&text, &name)?
        } else if text.trim_ascii_start().starts_with(b"{") {
            text::read_json_lines(&text, &name)?
        } else {
            text::read_speaker_lines(&text, &name)?
        };
        if speeches.is_empty() {
            return Err(ProblemError::NoExamples { file: name });
        }
        Ok((speeches, input))
    }

    /// Roles that say enough, in the order of their first words.
    fn roles<'a>(&self, speeches: &'a [Speech]) -> Vec<(String, Vec<&'a Speech>)> {
        let (mut numbers, mut roles) = (BTreeMap::new(), Vec::<(String, Vec<&Speech>)>::new());
        for speech in speeches {
            let number = *numbers.entry((&speech.play, &speech.role)).or_insert(roles.len());
            if number == roles.len() {
                let name = if speech.play.is_empty() { speech.role.clone() } else { format!("{}: {}", speech.play, speech.role) };
                roles.push((name, Vec::new()));
            }
            roles[number].1.push(speech);
        }
        let size = |said: &[&Speech]| said.iter().map(|speech| speech.text.chars().count()).sum::<usize>();
        roles.retain(|(_, said)| size(said) >= self.characters.get() as usize);
        roles
    }
}

/// Rows of tokens for a model that predicts the next one.
#[derive(Debug, Default)]
pub(super) struct Rows {
    values: Vec<f32>,
    labels: Vec<u32>,
    keys: Vec<u32>,
}

impl Rows {
    /// Cuts a stream into rows of `window` + 1 tokens, neighbours sharing one, the last filled up.
    pub(super) fn cut(&mut self, stream: &[u32], window: usize, key: u32) {
        let mut from = 0;
        while from + 1 < stream.len() {
            let row = &stream[from..stream.len().min(from + window + 1)];
            self.labels.push(row[0]);
            self.keys.push(key);
            self.values.extend(row.iter().map(|&token| token as f32));
            self.values.extend(std::iter::repeat_n(Tokens::PADDING as f32, window + 1 - row.len()));
            from += window;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.labels.len()
    }

    pub(super) fn dataset(self, cols: usize, classes: u32, names: Vec<String>) -> Dataset {
        let features = Matrix::Single(Single { cols, values: self.values.into() });
        Dataset::new(features, Targets::Classes { labels: self.labels, classes }).from_clients(self.keys).named(names)
    }
}
