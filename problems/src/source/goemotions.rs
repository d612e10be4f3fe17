//! GoEmotions (Demszky et al. 2020): comments with one of 28 emotions, or one of the seven of Ekman's grouping.
//!
//! Comments with several emotions are left out. Where no vocabulary of word pieces is given, words are those most frequent in
//! the training file; tokens are then 0 padding, 1..=W the words by frequency, W + 1 any other.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use motet_core::{Documented, Kind};
use motet_nn::WordPiece;
use motet_records::Input;
use serde::{Deserialize, Serialize};

use super::open::{Opened, name_of, open, shown};
use super::words::{Lexicon, Tokens, words};
use super::{Load, Material, Place};
use crate::data_folder::Folders;
use crate::dataset::{Dataset, DatasetError, Targets, Usage};
use crate::error::ProblemError;
use crate::matrix::{Matrix, Single};

/// GoEmotions: Reddit comments with one emotion each, as tokens for `bert` or as bags of words; its files say train or test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct GoEmotions {
    /// Folder with train.tsv, dev.tsv, test.tsv (plain or packed), emotions.txt and ekman_mapping.json.
    #[serde(default = "folder")]
    pub folder: PathBuf,
    /// "emotions" (28 classes) or "ekman" (anger, disgust, fear, joy, sadness, surprise, neutral). Default: emotions.
    #[serde(default)]
    pub labels: Grouping,
    /// "tokens" (for `bert`) or "bag" (which words are there). Default: tokens.
    #[serde(default)]
    pub form: TextForm,
    /// A `vocab.txt` of word pieces for tokens (default: none; the most frequent words are the tokens).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<PathBuf>,
    /// How many of the most frequent words are known where there are no word pieces (default 4,000).
    #[serde(default = "four_thousand")]
    pub words: NonZeroU32,
    /// Tokens of a comment; longer ones are cut (default 32).
    #[serde(default = "thirty_two")]
    pub length: NonZeroU32,
}

impl Kind for GoEmotions {
    const NAME: &'static str = "goemotions";
}

fn folder() -> PathBuf {
    "goemotions".into()
}
fn four_thousand() -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(3999)
}
fn thirty_two() -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(31)
}

/// Which classes there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grouping {
    /// 27 emotions and neutral.
    #[default]
    Emotions,
    /// Ekman's six in the mapping's order, and neutral.
    Ekman,
}

/// What becomes of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TextForm {
    /// Tokens in their order.
    #[default]
    Tokens,
    /// Which of the known words it has.
    Bag,
}

/// A text and its only label.
type Comment = (String, u32);

/// What was read: comments file by file, and the files.
struct Read {
    parts: [Vec<Comment>; 3],
    classes: Vec<String>,
    inputs: Vec<Input>,
}

impl Load for GoEmotions {
    fn load(&self, place: &Place<'_>) -> Result<Material, ProblemError> {
        let mut read = self.read(place.folders)?;
        let features = match (&self.vocabulary, self.form) {
            (Some(_), TextForm::Bag) => {
                let wanted = "bags count words: leave `vocabulary` out, or use form = \"tokens\"".to_owned();
                return Err(ProblemError::Value { key: "source.form", value: "\"bag\"".into(), wanted });
            }
            (Some(path), TextForm::Tokens) => self.pieces(path, place.folders, &mut read)?,
            (None, form) => self.known_words(form, &read)?,
        };
        let labels = read.parts.iter().flatten().map(|(_, label)| *label).collect();
        let targets = Targets::Classes { labels, classes: read.classes.len() as u32 };
        let usages =
            read.parts.iter().zip([Usage::Train, Usage::Validation, Usage::Test]).flat_map(|(part, lot)| vec![lot; part.len()]).collect();
        Ok(Material::Examples { dataset: Dataset::new(features, targets).with_usages(usages), inputs: read.inputs })
    }
}

impl GoEmotions {
    fn read(&self, folders: &Folders) -> Result<Read, ProblemError> {
        let mut inputs = vec![];
        let mut file = |name: &str| -> Result<(Vec<u8>, String), ProblemError> {
            let path = folders.find(&self.folder.join(name))?;
            let Opened { text, input } = open(&path, folders.limit)?;
            inputs.push(input);
            Ok((text, name_of(&path)))
        };
        let (names, where_from) = file("emotions.txt")?;
        let names = utf8(&names, &where_from)?;
        let emotions: Vec<&str> = names.lines().map(str::trim).filter(|name| !name.is_empty()).collect();
        let (classes, class_of) = match self.labels {
            Grouping::Emotions => (emotions.iter().map(|&name| name.to_owned()).collect(), (0..emotions.len() as u32).collect()),
            Grouping::Ekman => {
                let (mapping, name) = file("ekman_mapping.json")?;
                grouped(&emotions, &mapping, &name)?
            }
        };
        let mut part = |name: &str| -> Result<Vec<Comment>, ProblemError> {
            let (text, name) = file(name)?;
            comments(&text, &name, &class_of)
        };
        let parts = [part("train.tsv")?, part("dev.tsv")?, part("test.tsv")?];
        Ok(Read { parts, classes, inputs })
    }

    /// Rows of word pieces.
    fn pieces(&self, path: &Path, folders: &Folders, read: &mut Read) -> Result<Matrix, ProblemError> {
        let path = folders.find(path)?;
        let Opened { text, input } = open(&path, folders.limit)?;
        let file = name_of(&path);
        let vocabulary = WordPiece::new(utf8(&text, &file)?).map_err(|cause| ProblemError::Odd {
            file,
            place: "vocabulary".into(),
            what: cause.to_string(),
        })?;
        read.inputs.push(input);
        let cols = self.length.get() as usize;
        let rows = read.parts.iter().flatten().flat_map(|(text, _)| vocabulary.encode(text, cols));
        Ok(Matrix::Single(Single { cols, values: rows.map(|token| token as f32).collect() }))
    }

    /// Rows of the words most frequent in training.
    fn known_words(&self, form: TextForm, read: &Read) -> Result<Matrix, ProblemError> {
        let mut lexicon = Lexicon::default();
        let numbers: Vec<Vec<u32>> = read.parts[0].iter().map(|(text, _)| words(text).map(|word| lexicon.see(word)).collect()).collect();
        // Ranks are fixed before the other files are looked at.
        let ranks = lexicon.ranks(self.words.get() as usize);
        let known =
            |text: &str| -> Vec<Option<u32>> { words(text).map(|word| lexicon.number(&word).and_then(|k| ranks[k as usize])).collect() };
        let trained = numbers.iter().map(|numbers| numbers.iter().map(|&k| ranks[k as usize]).collect());
        let rows = trained.chain(read.parts[1..].iter().flatten().map(|(text, _)| known(text)));
        let (length, tokens) = (self.length.get() as usize, Tokens { known: self.words.get() });
        if form == TextForm::Tokens {
            let row = |words: Vec<Option<u32>>| {
                let mut row: Vec<f32> = words.iter().take(length).map(|rank| rank.map_or(tokens.unknown(), Tokens::known) as f32).collect();
                row.resize(length, Tokens::PADDING as f32);
                row
            };
            return Ok(Matrix::Single(Single { cols: length, values: rows.flat_map(row).collect() }));
        }
        let (mut starts, mut columns) = (vec![0], vec![]);
        for row in rows {
            let mut present: Vec<u32> = row.into_iter().flatten().collect();
            present.sort_unstable();
            present.dedup();
            columns.extend(present);
            starts.push(columns.len());
        }
        let values = vec![1.0; columns.len()];
        Ok(Matrix::sparse(self.words.get() as usize, starts, columns, values).map_err(DatasetError::from)?)
    }
}

fn utf8<'a>(text: &'a [u8], file: &str) -> Result<&'a str, ProblemError> {
    std::str::from_utf8(text).map_err(|cause| ProblemError::Odd {
        file: file.into(),
        place: format!("byte {}", cause.valid_up_to()),
        what: "this is not UTF-8 text".into(),
    })
}

/// The groups' names with neutral last, and the group of each emotion.
fn grouped(emotions: &[&str], mapping: &[u8], file: &str) -> Result<(Vec<String>, Vec<u32>), ProblemError> {
    let odd = |what: String| ProblemError::Odd { file: file.into(), place: "mapping".into(), what };
    let groups: BTreeMap<String, Vec<String>> = serde_json::from_slice(mapping).map_err(|cause| odd(cause.to_string()))?;
    let group = |emotion: &&str| match *emotion {
        "neutral" => Ok(groups.len() as u32),
        emotion => {
            let found = groups.values().position(|members| members.iter().any(|member| member == emotion));
            found.map(|k| k as u32).ok_or_else(|| odd(format!("no group has `{}`", shown(emotion.as_bytes()))))
        }
    };
    let class_of = emotions.iter().map(group).collect::<Result<_, _>>()?;
    Ok((groups.keys().cloned().chain(["neutral".into()]).collect(), class_of))
}

/// Lines of text, labels with commas between them, and an id, with tabs between those; those with one label.
fn comments(text: &[u8], file: &str, class_of: &[u32]) -> Result<Vec<Comment>, ProblemError> {
    let text = utf8(text, file)?;
    let mut comments = vec![];
    for (k, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let odd = |what: String| ProblemError::Odd { file: file.into(), place: format!("line {}", k + 1), what };
        let mut fields = line.split('\t');
        let (Some(said), Some(labels), Some(_), None) = (fields.next(), fields.next(), fields.next(), fields.next()) else {
            return Err(odd(format!("{} fields where there should be 3: text, labels, id", line.split('\t').count())));
        };
        let labels: Vec<&u32> = labels
            .split(',')
            .map(|label| {
                let class = label.trim().parse::<usize>().ok().and_then(|label| class_of.get(label));
                class.ok_or_else(|| {
                    odd(format!("label `{}` is not from 0 to {}", shown(label.as_bytes()), class_of.len().saturating_sub(1)))
                })
            })
            .collect::<Result<_, _>>()?;
        if let [label] = labels[..] {
            comments.push((said.to_owned(), *label));
        }
    }
    if comments.is_empty() {
        return Err(ProblemError::NoExamples { file: file.into() });
    }
    Ok(comments)
}
