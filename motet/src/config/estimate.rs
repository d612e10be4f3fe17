//! `"estimate"`: values that theory asks for and people do not know, estimated from the clients' data before the first round.
//!
//! ```toml
//! alpha  = { estimate = { eps = 1e-3 } }           # αᵢ of each client, from the bound of FLIX's Theorem 1
//! target = { eps = 1e-2, noise = "estimate" }      # Cᵢ of Scafflix's Corollary 2
//! step   = { estimate = { accuracy = 1e-2 } }      # γ of LocalUpdate's Theorem 17, with its spreads
//! ```

use motet_core::Positive;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::document::{ConfigError, Document};

/// Values of a method that are estimated once the problem is known; until then it has stand-ins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EstimateRules {
    /// αᵢ
    pub alpha: Option<ShareRule>,
    /// Cᵢ of `target.noise`
    pub noise: bool,
    /// γ
    pub gamma: Option<RateRule>,
}

/// What αᵢ must keep to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShareRule {
    /// ε in F(x) − F* ≤ ε.
    pub eps: Positive,
    /// R: the round that averages the local optima, and R − 1 gradient steps.
    #[serde(default = "one")]
    pub rounds: u64,
}

/// What γ must keep to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateRule {
    /// |x*(γ) − x*| at most.
    pub accuracy: Positive,
}

fn one() -> u64 {
    1
}

impl EstimateRules {
    /// Takes the rules out of a method's table and leaves stand-ins, so that everything else can be checked at once.
    pub(super) fn take(document: &Document, key: &str, table: &mut Map<String, Value>) -> Result<Self, ConfigError> {
        let alpha: Option<ShareRule> = rule(document, &format!("{key}.alpha"), "eps = 1e-3", table.get_mut("alpha"))?;
        if alpha.is_some() {
            table.insert("alpha".into(), json!(1.0));
        }
        let gamma: Option<RateRule> = rule(document, &format!("{key}.step"), "accuracy = 1e-2", table.get_mut("step"))?;
        if gamma.is_some() {
            table.insert("step".into(), json!(0.0));
        }
        let noise = table.get_mut("target").and_then(|target| target.get_mut("noise")).filter(|noise| **noise == "estimate");
        let noise = noise.map(|noise| *noise = json!(0.0)).is_some();
        Ok(Self { alpha, noise, gamma })
    }

    /// Are there any?
    pub fn any(&self) -> bool {
        *self != Self::default()
    }

    /// What was estimated, out of the parameters of the method that has it.
    pub(crate) fn values(&self, params: &Map<String, Value>) -> Map<String, Value> {
        let mut values = Map::new();
        let mut keep = |name: &str, value: Option<&Value>| values.extend(value.map(|value| (name.to_owned(), value.clone())));
        keep("alpha", self.alpha.and(params.get("alpha")));
        keep("step", self.gamma.and(params.get("step")));
        keep("target.noise", params.get("target").and_then(|target| target.get("noise")).filter(|_| self.noise));
        values
    }

    /// The rules as they were written, in place of the stand-ins.
    pub(super) fn write(&self, table: &mut Map<String, Value>) {
        if let Some(rule) = &self.alpha {
            table.insert("alpha".into(), json!({ "estimate": rule }));
        }
        if let Some(rule) = &self.gamma {
            table.insert("step".into(), json!({ "estimate": rule }));
        }
        if self.noise
            && let Some(Value::Object(target)) = table.get_mut("target")
        {
            target.insert("noise".into(), json!("estimate"));
        }
    }
}

/// `{ estimate = { … } }`, if that is what stands there.
fn rule<T: serde::de::DeserializeOwned>(
    document: &Document,
    key: &str,
    example: &str,
    value: Option<&mut Value>,
) -> Result<Option<T>, ConfigError> {
    match value {
        Some(Value::String(word)) if word == "estimate" => {
            Err(document.wrong(key, format!("\"estimate\" needs to know for what: {{ estimate = {{ {example} }} }}")))
        }
        Some(Value::Object(table)) => {
            let Some(rule) = table.shift_remove("estimate") else { return Ok(None) };
            match table.keys().next() {
                Some(other) => Err(document.wrong(&format!("{key}.{other}"), "cannot stand beside an estimate, which decides alone")),
                None => document.section(&format!("{key}.estimate"), rule).map(Some),
            }
        }
        _ => Ok(None),
    }
}
