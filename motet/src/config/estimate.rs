//! `"estimate"`: values that theory needs and nobody knows, estimated from the clients' data before the first round.
//!
//! ```toml
//! alpha  = { estimate = { eps = 1e-3 } }           # αᵢ of each client, from the bound of FLIX's Theorem 1
//! target = { eps = 1e-2, noise = "estimate" }      # Cᵢ of Scafflix's Corollary 2
//! step   = { estimate = { accuracy = 1e-2 } }      # γ of LocalUpdate's Theorem 17, with its spreads
//! ```
//!
//! With `online = true` beside eps or accuracy the method itself learns the value in rounds: the table then stays as it is, and `motet check`
//! shows what the estimate before the first round would be.

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

/// A value that the method learns in rounds, and a stand-in that every method of its kind takes.
type Online = (&'static str, Value);

/// What αᵢ must keep to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShareRule {
    /// ε in F(x) − F* ≤ ε.
    pub eps: Positive,
    /// R: the round that averages the local optima, and R − 1 gradient steps.
    #[serde(default = "one")]
    pub rounds: u64,
    /// Is it learnt in rounds?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub online: bool,
}

/// What γ must keep to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateRule {
    /// |x*(γ) − x*| at most.
    pub accuracy: Positive,
    /// Is it learnt in rounds?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub online: bool,
}

fn one() -> u64 {
    1
}

impl EstimateRules {
    /// Takes the rules out of a method's table and leaves stand-ins, so that everything else can be checked at once. What is learnt in rounds
    /// stays there.
    pub(super) fn take(document: &Document, key: &str, table: &mut Map<String, Value>) -> Result<Self, ConfigError> {
        let alpha: Option<ShareRule> = rule(document, &format!("{key}.alpha"), "eps = 1e-3", table.get_mut("alpha"))?;
        if let Some(rule) = &alpha {
            if rule.online && rule.rounds != one() {
                let why = "says when the promise must hold, and shares that are learnt keep it in every round: leave one of the two out";
                return Err(document.wrong(&format!("{key}.alpha.estimate.rounds"), why));
            }
            let learnt = json!({ "estimate": { "eps": rule.eps, "online": true } });
            table.insert("alpha".into(), if rule.online { learnt } else { json!(1.0) });
        }
        let gamma: Option<RateRule> = rule(document, &format!("{key}.step"), "accuracy = 1e-2", table.get_mut("step"))?;
        if let Some(rule) = &gamma {
            table.insert("step".into(), if rule.online { json!({ "estimate": rule }) } else { json!(0.0) });
        }
        let noise = table.get_mut("target").and_then(|target| target.get_mut("noise")).filter(|noise| **noise == "estimate");
        let noise = noise.map(|noise| *noise = json!(0.0)).is_some();
        Ok(Self { alpha, noise, gamma })
    }

    /// What the method is to learn in rounds, with a stand-in for each.
    pub(super) fn online(&self) -> Option<Online> {
        let alpha = self.alpha.filter(|rule| rule.online).map(|_| ("alpha", json!(1.0)));
        alpha.or_else(|| self.gamma.filter(|rule| rule.online).map(|_| ("step", json!(0.0))))
    }

    /// Those that are followed before the first round.
    pub(crate) fn beforehand(&self) -> Self {
        Self { alpha: self.alpha.filter(|rule| !rule.online), noise: self.noise, gamma: self.gamma.filter(|rule| !rule.online) }
    }

    /// Are there any?
    pub fn any(&self) -> bool {
        *self != Self::default()
    }

    /// What was estimated, out of the parameters of the method that has it.
    pub(crate) fn values(&self, params: &Map<String, Value>) -> Map<String, Value> {
        let (mut values, rules) = (Map::new(), self.beforehand());
        let mut keep = |name: &str, value: Option<&Value>| values.extend(value.map(|value| (name.to_owned(), value.clone())));
        keep("alpha", rules.alpha.and(params.get("alpha")));
        keep("step", rules.gamma.and(params.get("step")));
        keep("target.noise", params.get("target").and_then(|target| target.get("noise")).filter(|_| rules.noise));
        values
    }

    /// The rules as they were written, in place of the stand-ins.
    pub(super) fn write(&self, table: &mut Map<String, Value>) {
        let rules = self.beforehand();
        if let Some(rule) = &rules.alpha {
            table.insert("alpha".into(), json!({ "estimate": rule }));
        }
        if let Some(rule) = &rules.gamma {
            table.insert("step".into(), json!({ "estimate": rule }));
        }
        if rules.noise
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
                Some(other) => Err(document.wrong(&format!("{key}.{other}"), "cannot stand beside an estimate, which decides by itself")),
                None => document.section(&format!("{key}.estimate"), rule).map(Some),
            }
        }
        _ => Ok(None),
    }
}
