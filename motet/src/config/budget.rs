//! `alpha = { budget = { rounds = 5, eps = 1e-4 } }`: as much sharing as a number of rounds affords.

use motet_core::{Fraction, Positive};
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
    /// Takes the rule out of a method's table. What is left in its place is an α of the same shape, so that
    /// everything else can be checked before the problem is known.
    pub(super) fn take(document: &Document, key: &str, table: &mut Map<String, Value>) -> Result<Option<Self>, ConfigError> {
        let Some(Value::Object(alpha)) = table.get_mut("alpha") else { return Ok(None) };
        let Some(rule) = alpha.shift_remove("budget") else { return Ok(None) };
        let key = format!("{key}.alpha");
        if let Some(other) = alpha.keys().next() {
            return Err(document.wrong(&format!("{key}.{other}"), "cannot stand beside a budget, which decides alpha alone"));
        }
        let rule: Self = document.section(&format!("{key}.budget"), rule)?;
        if rule.profile.as_ref().is_some_and(|p| p.iter().all(|a| **a == 0.0)) {
            return Err(document.wrong(&format!("{key}.budget.profile"), "must hold at least one number above 0"));
        }
        table.insert("alpha".into(), rule.alpha(1.0, 1.0));
        Ok(Some(rule))
    }

    /// The rule as it was written.
    pub(super) fn written(&self) -> Value {
        json!({ "budget": self })
    }

    /// α as a method reads it: `equal` for all, or the profile times `factor`.
    pub fn alpha(&self, equal: f64, factor: f64) -> Value {
        match &self.profile {
            None => json!(equal),
            // The largest entry times the largest factor may round to just above 1.
            Some(profile) => json!({ "per_client": profile.iter().map(|a| (**a * factor).min(1.0)).collect::<Vec<_>>() }),
        }
    }
}
