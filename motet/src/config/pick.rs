//! `alpha = "validation"`: each client picks its own share of the common model, on its validation data, after training.

use motet_core::Fraction;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::document::{ConfigError, Document};

/// What training is done with, and whether it is done again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PickRule {
    /// α of everyone until it is picked.
    pub start: Fraction,
    /// Is there a second run, with what was picked?
    pub retrain: bool,
}

impl Default for PickRule {
    fn default() -> Self {
        Self { start: Fraction::new(0.5).expect("1/2 is a fraction"), retrain: false }
    }
}

impl PickRule {
    /// Takes the rule out of a method's table and leaves the α that training is done with.
    pub(super) fn take(document: &Document, key: &str, table: &mut Map<String, Value>) -> Result<Option<Self>, ConfigError> {
        let key = format!("{key}.alpha");
        let rule = match table.get_mut("alpha") {
            Some(Value::String(word)) if word == "validation" => Self::default(),
            Some(Value::String(word)) => {
                let wanted = "must be a number, { per_client = [...] }, { budget = {...} }, { estimate = {...} } or \"validation\"";
                return Err(document.wrong(&key, format!("{wanted}, got \"{word}\"")));
            }
            Some(Value::Object(alpha)) => match alpha.shift_remove("validation") {
                None => return Ok(None),
                Some(rule) => {
                    if let Some(other) = alpha.keys().next() {
                        let message = "cannot stand beside validation, which decides alpha by itself";
                        return Err(document.wrong(&format!("{key}.{other}"), message));
                    }
                    document.section(&format!("{key}.validation"), rule)?
                }
            },
            _ => return Ok(None),
        };
        if *rule.start == 0.0 || *rule.start == 1.0 {
            return Err(document.wrong(&format!("{key}.validation.start"), format!("must be above 0 and below 1, got {}", rule.start)));
        }
        table.insert("alpha".into(), json!(rule.start));
        Ok(Some(rule))
    }

    /// The rule as it was written.
    pub(super) fn written(&self) -> Value {
        json!({ "validation": self })
    }
}
