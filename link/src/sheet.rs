//! Sheets: what everyone agrees to, as canonical text whose SHA-256 is its name.
//!
//! A participant agrees to a [`StudySheet`] once. Each run of the study has a [`RunSheet`] that names the study; its SHA-256 is the
//! run's name in every message.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::PROTOCOL;
use crate::digest::Digest;

/// What both halves of a study must have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudySheet {
    /// Version of the protocol.
    pub protocol: u32,
    /// Version of the program that wrote it.
    pub motet: String,
    /// Name of the study.
    pub study: String,
    /// How many clients there are.
    pub clients: u32,
    /// How many numbers a model has.
    pub dimension: u64,
    /// The experiment: schema, model, hold-out, methods, seeds, what is measured; nothing of anybody's data.
    pub experiment: Value,
}

/// One run of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSheet {
    /// SHA-256 of the study's sheet.
    pub study: String,
    /// Its number among the runs of the study, from 0.
    pub run: u32,
    /// Name of the method.
    pub method: String,
    /// The method's parameters, every default filled in.
    pub parameters: Value,
    /// Which of the study's problems it is on.
    pub problem: u32,
    /// Seed of the run.
    pub seed: u64,
}

/// A sheet that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SheetError {
    /// It is not the JSON of a sheet.
    #[error("this is not the sheet of a study: {0}")]
    Json(#[from] serde_json::Error),
    /// It was written for another version of the protocol.
    #[error("the study is of version {speaks} of the protocol, and this program speaks version {PROTOCOL}: update {}", older(*speaks))]
    Protocol {
        /// That version.
        speaks: u32,
    },
    /// It is not the one that was agreed to.
    #[error("this is not the sheet that was agreed to: its SHA-256 is {found}, not {agreed}")]
    Other {
        /// Of this one.
        found: Digest,
        /// Of the one agreed to.
        agreed: Digest,
    },
}

fn older(speaks: u32) -> &'static str {
    if speaks < PROTOCOL { "the coordinator's motet" } else { "this motet" }
}

impl StudySheet {
    /// Canonical JSON: keys in alphabetical order, no spaces.
    pub fn text(&self) -> String {
        text(self)
    }

    /// Its name.
    pub fn digest(&self) -> Digest {
        Digest::of(self.text().as_bytes())
    }

    /// Reads a sheet, whose text must have this name.
    pub fn read(text: &str, agreed: Digest) -> Result<Self, SheetError> {
        // The version first: a sheet of another version may have other fields.
        if let Ok(Some(protocol)) = serde_json::from_str::<Value>(text).map(|sheet| sheet.get("protocol").and_then(Value::as_u64))
            && protocol != u64::from(PROTOCOL)
        {
            return Err(SheetError::Protocol { speaks: u32::try_from(protocol).unwrap_or(u32::MAX) });
        }
        read(text, agreed)
    }
}

impl RunSheet {
    /// Canonical JSON: keys in alphabetical order, no spaces.
    pub fn text(&self) -> String {
        text(self)
    }

    /// The run's name on the wire.
    pub fn digest(&self) -> Digest {
        Digest::of(self.text().as_bytes())
    }

    /// Reads the sheet of a run of this study.
    pub fn read(text: &str, study: Digest) -> Result<Self, SheetError> {
        let sheet: Self = serde_json::from_str(text)?;
        if sheet.study == study.to_string() {
            return Ok(sheet);
        }
        Err(SheetError::Other { found: sheet.study.parse().unwrap_or(Digest::of(sheet.study.as_bytes())), agreed: study })
    }
}

fn text(sheet: &impl Serialize) -> String {
    canonical(&serde_json::to_value(sheet).expect("a sheet has text keys and no numbers that JSON lacks"))
}

fn read<T: DeserializeOwned>(text: &str, agreed: Digest) -> Result<T, SheetError> {
    let found = Digest::of(text.as_bytes());
    if found != agreed {
        return Err(SheetError::Other { found, agreed });
    }
    Ok(serde_json::from_str(text)?)
}

/// Equal values give equal text, in whatever order their keys were written.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_unstable();
            let fields: Vec<String> =
                keys.into_iter().map(|key| format!("{}:{}", Value::from(key.as_str()), canonical(&map[key]))).collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> StudySheet {
        StudySheet {
            protocol: PROTOCOL,
            motet: "0.1.0".into(),
            study: "wards".into(),
            clients: 3,
            dimension: 40,
            experiment: serde_json::json!({ "b": [1, null], "a": { "z": 1, "y": "\"" } }),
        }
    }

    #[test]
    fn the_name_depends_on_every_value_and_on_no_order_of_keys() {
        let text = sheet().text();
        assert!(text.starts_with(r#"{"clients":3,"dimension":40,"experiment":{"a":{"y":"\"","z":1},"b":[1,null]},"#), "{text}");
        let read = StudySheet::read(&text, sheet().digest()).unwrap();
        assert_eq!((read.digest(), read), (sheet().digest(), sheet()));
        assert_ne!(StudySheet { clients: 4, ..sheet() }.digest(), sheet().digest());
    }

    #[test]
    fn sheets_that_do_not_fit_are_refused_with_the_reason() {
        let said = |text: &str| StudySheet::read(text, Digest::of(text.as_bytes())).unwrap_err().to_string();
        assert!(said("{}").contains("missing field `protocol`"));
        assert!(said(&sheet().text().replace("\"study\"", "\"studdy\"")).contains("unknown field `studdy`"));
        assert!(said(&sheet().text().replace("\"protocol\":1", "\"protocol\":2")).contains("update this motet"));
        assert!(said(&sheet().text().replace("\"protocol\":1", "\"protocol\":0")).contains("update the coordinator's motet"));
        assert!(StudySheet::read(&sheet().text(), Digest::of(b"other")).unwrap_err().to_string().contains("agreed to"));
    }

    #[test]
    fn a_run_belongs_to_its_study() {
        let run = RunSheet {
            study: sheet().digest().to_string(),
            run: 1,
            method: "scafflix".into(),
            parameters: serde_json::json!({ "p": 0.1 }),
            problem: 0,
            seed: 7,
        };
        assert_eq!(RunSheet::read(&run.text(), sheet().digest()).unwrap(), run);
        assert!(RunSheet::read(&run.text(), Digest::of(b"another study")).is_err());
        assert_ne!(RunSheet { seed: 8, ..run.clone() }.digest(), run.digest());
    }
}
