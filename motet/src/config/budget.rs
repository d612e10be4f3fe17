//! `alpha = { budget = { rounds = 5, eps = 1e-4 } }`: as much sharing as a number of rounds affords.

use motet_core::{Fraction, PerClient, Positive};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::document::{ConfigError, Document};

/// What a method may spend, and how near F* it must come for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetRule {
    /// R: the round that averages the local optima, and R − 1 gradient steps.
    pub rounds: u64,
    /// ε in F(x) − F* ≤ ε.
    pub eps: Positive,
    /// αᵢ up to a common factor, which the rule finds; without it all αᵢ are equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Vec<Fraction>>,
}

impl BudgetRule {
    /// Takes the rule out of a method's table and leaves an α in its place.
    pub(super) fn take(document: &Document, key: &str, table: &mut Map<String, Value>) -> Result<Option<Self>, ConfigError> {
        let Some(Value::Object(alpha)) = table.get_mut("alpha") else { return Ok(None) };
        let Some(rule) = alpha.shift_remove("budget") else { return Ok(None) };
        let key = format!("{key}.alpha");
        if let Some(other) = alpha.keys().next() {
            return Err(document.wrong(&format!("{key}.{other}"), "cannot stand beside a budget, which decides alpha by itself"));
        }
        let rule: Self = document.section(&format!("{key}.budget"), rule)?;
        if rule.profile.as_ref().is_some_and(|p| p.iter().all(|a| **a == 0.0)) {
            return Err(document.wrong(&format!("{key}.budget.profile"), "must hold at least one number above 0"));
        }
        // A stand-in of the same shape, so that everything else can be checked before the problem is known.
        table.insert("alpha".into(), json!(rule.alpha(1.0, 1.0)));
        Ok(Some(rule))
    }

    /// The rule as it was written.
    pub(super) fn written(&self) -> Value {
        json!({ "budget": self })
    }

    /// αᵢ: `equal` for all, or the profile times `factor`, both from 0 to 1.
    pub fn alpha(&self, equal: f64, factor: f64) -> PerClient<Fraction> {
        // The largest entry times the largest factor may round to just above 1.
        let share = |alpha: f64| Fraction::new(alpha.clamp(0.0, 1.0)).expect("a number from 0 to 1 is a fraction");
        match &self.profile {
            None => PerClient::Same(share(equal)),
            Some(profile) => PerClient::Each(profile.iter().map(|a| share(**a * factor)).collect()),
        }
    }
}
