//! One client's model as it is deployed: a folder with the model, a card that says what it is, and the line that uses it.
//!
//! ```text
//! model.safetensors   the numbers, and what has to be known to use them
//! card.json           features, fills, scales, classes, how it was chosen, what to expect, which data, which version
//! README.md           the same for people
//! ```
//!
//! A bundle holds nothing of other clients: no model, no name, no statistic.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use motet_core::Vector;
use motet_problems::Form;
use motet_records::{Models, sha256};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::passport::Passport;

/// The model's file.
pub const MODEL: &str = "model.safetensors";
/// The card.
pub const CARD: &str = "card.json";
const README: &str = "README.md";
/// A card is a few kilobytes; one of this size is none.
const MOST_CARD: u64 = 16 << 20;

/// What a bundle says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// Whose model it is.
    pub client: String,
    /// The version of Motet that made it.
    pub motet: String,
    /// What is predicted: the column of the table.
    pub target: Option<String>,
    /// What the classes are called, in the order of their numbers; empty if numbers are predicted.
    pub classes: Vec<String>,
    /// What is fitted, as experiment files have it.
    pub model: Value,
    /// The columns that it takes, in the order of their features.
    pub features: Vec<Feature>,
    /// How the model was chosen and trained.
    pub chosen: Chosen,
    /// What to expect of it.
    pub expect: Vec<Expected>,
    /// How that was measured.
    #[serde(default)]
    pub measured: Measured,
    /// The data it was made from.
    pub data: DataCard,
    /// SHA-256 of the model's file.
    pub sha256: String,
    /// The line that uses it.
    pub usage: String,
}

/// A column, and what becomes of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Feature {
    /// As the header calls it.
    pub column: String,
    /// What a gap is filled with; absent for columns of words, where a gap is none of the words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<f64>,
    /// What is subtracted and what is divided by, where numbers are standardised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
    /// The words it may have, each a feature of 0 and 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
}

/// How a column is standardised: (x − mean) / deviation, or 0 everywhere if the deviation is 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    /// Of the client's training rows.
    pub mean: f64,
    /// Of the client's training rows.
    pub deviation: f64,
}

/// How a model was chosen and trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chosen {
    /// "join", "stay" or "unclear".
    pub advice: String,
    /// The method, in words.
    pub way: String,
    /// The method's name in experiment files.
    pub method: String,
    /// Its parameters.
    pub params: Map<String, Value>,
    /// Why.
    pub why: String,
}

/// A metric on test data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// Such as `test.accuracy`.
    pub metric: String,
    /// The mean over splits.
    pub mean: f64,
    /// Its 95 % interval, where there is one.
    pub interval: Option<[f64; 2]>,
}

/// On which rows a model was measured, and on which it was trained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measured {
    /// Its like, on rows kept away from training, over repeated splits; the model itself is trained on all rows.
    #[default]
    RepeatedSplits,
    /// The model itself, on rows that were held out once and have trained nothing.
    OneHoldOut,
}

impl Measured {
    fn words(self) -> &'static str {
        match self {
            Self::RepeatedSplits => {
                "Measured on rows that were kept away from training, over repeated splits. The model itself is trained on all rows."
            }
            Self::OneHoldOut => {
                "Measured on rows that were held out once. They have trained nothing: the model itself is trained on the other rows."
            }
        }
    }
}

/// Data that a model was made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataCard {
    /// The client's rows.
    pub rows: u64,
    /// What the file or folder was called.
    pub file: String,
    /// Its SHA-256.
    pub sha256: String,
}

/// The columns of a client's model, from what its training rows said.
pub(crate) fn features(passport: &Passport) -> Vec<Feature> {
    let Some(preparation) = &passport.preparation else { return vec![] };
    let mut known = preparation.clients.first().into_iter().flatten();
    let feature = |field: &motet_problems::Field| {
        let column = field.name.clone();
        match &field.form {
            Form::Words(words) => Feature { column, fill: None, scale: None, words: words.clone() },
            form => {
                let [mean, deviation] = known.next().copied().unwrap_or_default();
                let scale = (*form == Form::Scaled).then_some(Scale { mean, deviation });
                Feature { column, fill: Some(mean), scale, words: vec![] }
            }
        }
    };
    preparation.fields.iter().map(feature).collect()
}

/// Writes a bundle. The passport is that of the client alone.
pub(crate) fn write(folder: &Path, mut card: Card, passport: &Passport, x: Vector) -> Result<(), Error> {
    let unwritten = |source| Error::Write { path: folder.to_path_buf(), source };
    let models = Models { run: 0, shared: x, personal: vec![], passport: Some(passport.text()) };
    let bytes = models.encode().map_err(|e| unwritten(std::io::Error::other(e.to_string())))?;
    card.sha256 = sha256(&bytes);
    fs::create_dir_all(folder).map_err(unwritten)?;
    motet_files::replace(&folder.join(MODEL), bytes.as_ref()).map_err(unwritten)?;
    let text = serde_json::to_string_pretty(&card).map_err(|e| unwritten(e.into()))?;
    motet_files::replace(&folder.join(CARD), (text + "\n").as_bytes()).map_err(unwritten)?;
    motet_files::replace(&folder.join(README), card.readme().as_bytes()).map_err(unwritten)
}

/// Refuses a model that is not the one its card was written for. A model without a card is taken as it is.
pub(crate) fn fits_its_card(model: &Path, bytes: &[u8]) -> Result<(), String> {
    let text = match motet_files::read_text(&model.with_file_name(CARD), MOST_CARD) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        text => text.map_err(|e| format!("{CARD} beside it cannot be read: {e}"))?,
    };
    let card: Card = serde_json::from_str(&text).map_err(|e| format!("{CARD} beside it is no card: {e}"))?;
    if card.sha256 == sha256(bytes) {
        return Ok(());
    }
    Err(format!("is not the model that {CARD} beside it describes: one of the two was changed or damaged"))
}

/// Six digits after the point: enough to look at.
fn rounded(value: f64) -> f64 {
    let scaled = (value * 1e6).round() / 1e6;
    if scaled == 0.0 || !scaled.is_finite() { value } else { scaled }
}

impl Card {
    /// For people.
    fn readme(&self) -> String {
        let mut text = format!("# The model of {}\n\n", self.client);
        let target = self.target.as_deref().unwrap_or("the target");
        text += &format!("Predicts `{target}`. Use it like this:\n\n```\n{}\n```\n\n{}\n\n", self.usage, self.chosen.why);
        text += "## What to expect\n\n";
        for expected in &self.expect {
            let interval = expected.interval.map_or("no interval".to_owned(), |[low, high]| format!("95 % interval {low:.4} to {high:.4}"));
            text += &format!("- {}: {:.4} ({interval})\n", expected.metric, expected.mean);
        }
        if self.expect.is_empty() {
            text += "Nothing was measured.\n";
        } else {
            text += &format!("\n{}\n", self.measured.words());
        }
        text += "\n## Columns\n\n| column | a gap becomes | scale |\n|---|---|---|\n";
        for feature in &self.features {
            let fill = feature.fill.map_or("none of the words".to_owned(), |fill| rounded(fill).to_string());
            let scale = match (&feature.scale, feature.words.is_empty()) {
                (Some(scale), _) if scale.deviation > 0.0 => format!("(x − {}) / {}", rounded(scale.mean), rounded(scale.deviation)),
                (Some(_), _) => "0 whatever it is: the client's rows have one value, or none".to_owned(),
                (None, true) => "as it is".to_owned(),
                (None, false) => format!("0 or 1 for each of {}", feature.words.join(", ")),
            };
            text += &format!("| {} | {fill} | {scale} |\n", feature.column.replace('|', "\\|"));
        }
        if !self.classes.is_empty() {
            text += &format!("\nClasses: {}.\n", self.classes.join(", "));
        }
        let data = &self.data;
        text += &format!("\nMade by motet {} from {} rows of {} (SHA-256 {}).\n", self.motet, data.rows, data.file, data.sha256);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(measured: Measured, expect: Vec<Expected>) -> Card {
        let chosen =
            Chosen { advice: "join".into(), way: "flix".into(), method: "flix".into(), params: Map::new(), why: "It is better.".into() };
        let data = DataCard { rows: 60, file: "ward.csv".into(), sha256: "ab".into() };
        Card {
            client: "ward".into(),
            motet: "0".into(),
            target: Some("ill".into()),
            classes: vec![],
            model: Value::Null,
            features: vec![],
            chosen,
            expect,
            measured,
            data,
            sha256: String::new(),
            usage: "motet predict".into(),
        }
    }

    #[test]
    fn the_page_claims_what_was_measured_and_nothing_else() {
        let expect = vec![Expected { metric: "test.accuracy".into(), mean: 0.8, interval: None }];
        let once = card(Measured::OneHoldOut, expect.clone()).readme();
        assert!(once.contains("held out once") && !once.contains("repeated splits") && !once.contains("on all rows"), "{once}");
        assert!(card(Measured::RepeatedSplits, expect).readme().contains("over repeated splits. The model itself is trained on all rows"));
        let nothing = card(Measured::OneHoldOut, vec![]).readme();
        assert!(nothing.contains("Nothing was measured") && !nothing.contains("held out"), "{nothing}");
    }
}
