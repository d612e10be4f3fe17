//! The run sheet: what everyone agrees to before a run, as canonical text whose SHA-256 is the run's name.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::PROTOCOL;
use crate::digest::Digest;

/// What both halves of a run must have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSheet {
    /// Version of the protocol.
    pub protocol: u32,
    /// Version of the program that wrote it.
    pub motet: String,
    /// Name of the study.
    pub study: String,
    /// Name of the method.
    pub method: String,
    /// The method's parameters.
    pub parameters: Value,
    /// Seed of the run.
    pub seed: u64,
    /// How many clients there are.
    pub clients: u32,
    /// How many numbers a model has.
    pub dimension: u64,
    /// Everything else that is common: problem, model, hold-out rule, what is measured.
    pub common: Value,
}

/// A sheet that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SheetError {
    /// It is not the JSON of a sheet.
    #[error("this is no run sheet: {0}")]
    Json(#[from] serde_json::Error),
    /// It was written for another version of the protocol.
    #[error("the run sheet is of version {0} of the protocol, this program speaks version {PROTOCOL}")]
    Protocol(u32),
}

impl RunSheet {
    /// Canonical JSON: keys in alphabetical order, no spaces.
    pub fn text(&self) -> String {
        canonical(&serde_json::to_value(self).expect("a sheet has text keys and no numbers that JSON lacks"))
    }

    /// The run's name on the wire.
    pub fn run(&self) -> Digest {
        Digest::of(self.text().as_bytes())
    }

    /// Reads a sheet.
    pub fn read(text: &str) -> Result<Self, SheetError> {
        let sheet: Self = serde_json::from_str(text)?;
        if sheet.protocol == PROTOCOL { Ok(sheet) } else { Err(SheetError::Protocol(sheet.protocol)) }
    }
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

    fn sheet() -> RunSheet {
        RunSheet {
            protocol: PROTOCOL,
            motet: "0.1.0".into(),
            study: "wards".into(),
            method: "scafflix".into(),
            parameters: serde_json::json!({ "p": 0.1, "alpha": 0.5 }),
            seed: 7,
            clients: 3,
            dimension: 40,
            common: serde_json::json!({ "b": [1, null], "a": { "z": 1, "y": "\"" } }),
        }
    }

    #[test]
    fn the_name_depends_on_every_value_and_on_no_order_of_keys() {
        let text = sheet().text();
        assert!(text.starts_with(r#"{"clients":3,"common":{"a":{"y":"\"","z":1},"b":[1,null]},"dimension":40,"#), "{text}");
        let read = RunSheet::read(&text).unwrap();
        assert_eq!((read.run(), read), (sheet().run(), sheet()));
        assert_ne!(RunSheet { seed: 8, ..sheet() }.run(), sheet().run());
    }

    #[test]
    fn sheets_that_do_not_fit_are_refused_with_the_reason() {
        let said = |text: &str| RunSheet::read(text).unwrap_err().to_string();
        assert!(said("{}").contains("missing field `protocol`"));
        assert!(said(&sheet().text().replace("\"seed\"", "\"sed\"")).contains("unknown field `sed`"));
        assert!(said(&sheet().text().replace("\"protocol\":1", "\"protocol\":2")).contains("version 2"));
    }
}
