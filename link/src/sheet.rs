//! Sheets: what everyone agrees to, as canonical text whose SHA-256 is its name.
//!
//! A participant agrees to a [`StudySheet`] once. It lists every run of the study: in a study nothing that is found out on the way
//! decides what is run. Each run has a [`RunSheet`] that names the study and repeats what was agreed to; its SHA-256 is the run's
//! name in every message.

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
    /// Every run there is, in the order of their numbers. A participant works for no other.
    pub runs: Vec<RunTerms>,
}

/// What is agreed to of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunTerms {
    /// Name of the method.
    pub method: String,
    /// The method's parameters, every default filled in.
    pub parameters: Value,
    /// Which of the study's problems it is on.
    pub problem: u32,
    /// Seed of the run.
    pub seed: u64,
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
    /// It is of a run that nobody agreed to.
    #[error(
        "the coordinator wants a run that was not agreed to: number {run}, {method} with seed {seed} and {parameters} on problem {problem}; nothing is done for it"
    )]
    NotAgreed {
        /// The number it gives itself.
        run: u32,
        /// Its method.
        method: String,
        /// The method's parameters.
        parameters: Value,
        /// Its problem.
        problem: u32,
        /// Its seed.
        seed: u64,
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

    /// The sheet of a run of this study, by its number; none if there are fewer.
    pub fn of(study: &StudySheet, run: u32) -> Option<Self> {
        let RunTerms { method, parameters, problem, seed } = study.runs.get(run as usize)?.clone();
        Some(Self { study: study.digest().to_string(), run, method, parameters, problem, seed })
    }

    /// Reads the sheet of a run of this study. It must say what was agreed to of that run.
    pub fn read(text: &str, study: &StudySheet) -> Result<Self, SheetError> {
        let sheet: Self = serde_json::from_str(text)?;
        let agreed = study.digest();
        if sheet.study != agreed.to_string() {
            return Err(SheetError::Other { found: sheet.study.parse().unwrap_or(Digest::of(sheet.study.as_bytes())), agreed });
        }
        if Self::of(study, sheet.run).as_ref() != Some(&sheet) {
            let Self { run, method, parameters, problem, seed, .. } = sheet;
            return Err(SheetError::NotAgreed { run, method, parameters, problem, seed });
        }
        Ok(sheet)
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
            runs: vec![of_seed(6), of_seed(7)],
        }
    }

    fn of_seed(seed: u64) -> RunTerms {
        RunTerms { method: "scafflix".into(), parameters: serde_json::json!({ "p": 0.1, "alpha": 0.5 }), problem: 0, seed }
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
        let run = RunSheet::of(&sheet(), 1).unwrap();
        assert_eq!((run.run, run.seed), (1, 7));
        assert_eq!(RunSheet::read(&run.text(), &sheet()).unwrap(), run);
        assert!(RunSheet::read(&run.text(), &StudySheet { clients: 4, ..sheet() }).is_err());
        assert_ne!(RunSheet { seed: 8, ..run.clone() }.digest(), run.digest());
    }

    #[test]
    fn a_run_that_was_not_agreed_to_is_refused_whatever_is_forged() {
        let run = RunSheet::of(&sheet(), 1).unwrap();
        let forged = [
            RunSheet { method: "one-shot".into(), ..run.clone() },
            RunSheet { parameters: serde_json::json!({ "p": 0.1, "alpha": 0.5, "start": "one-shot" }), ..run.clone() },
            RunSheet { parameters: serde_json::json!({ "p": 0.2, "alpha": 0.5 }), ..run.clone() },
            RunSheet { problem: 1, ..run.clone() },
            RunSheet { seed: 8, ..run.clone() },
            RunSheet { run: 0, ..run.clone() },
            RunSheet { run: 2, ..run },
        ];
        for sheet_of_run in forged {
            let refused = RunSheet::read(&sheet_of_run.text(), &sheet()).unwrap_err();
            assert!(refused.to_string().contains("was not agreed to"), "{refused}");
        }
    }
}
