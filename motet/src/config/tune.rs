//! `[run] tune = { step = [0.1, 1.0], by = "validation.loss" }`: values that are tried first, and what decides between them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Values of parameters, and how one of each is chosen. In a file, whatever is not a word of its own is a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>", into = "Map<String, Value>")]
pub struct TuneRule {
    /// Path of a parameter → the values to try.
    pub values: Vec<(String, Vec<Value>)>,
    /// The metric that decides.
    pub by: String,
    /// The metric is averaged over this many last rounds.
    pub last: u64,
    /// Rounds of a trial; with `halving`, of the first. Those of the run if absent.
    pub rounds: Option<u64>,
    /// The parameter of which the largest value that does not diverge is taken.
    pub stable: Option<String>,
    /// Successive halving: one trial in this many goes on, with this many times the rounds.
    pub halving: Option<u64>,
}

/// The paper of LocalUpdate judges by the mean training loss over so many last rounds.
const LAST: u64 = 100;

/// What is tried for a step that nobody has an idea of.
const STEPS: [f64; 8] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0];

/// More combinations than this are a mistake rather than a wish.
const MOST: usize = 10_000;

const GRAMMAR: &str = "tune = { step = [0.1, 1.0], by = \"validation.loss\" }";

impl TryFrom<Map<String, Value>> for TuneRule {
    type Error = String;

    fn try_from(mut table: Map<String, Value>) -> Result<Self, String> {
        let by = match table.shift_remove("by") {
            Some(Value::String(metric)) if metric.split('.').next() == Some("test") => {
                return Err(format!("by = \"{metric}\": nothing may be chosen by test data; take \"loss\" or \"validation.loss\""));
            }
            Some(Value::String(metric)) => Some(metric),
            Some(other) => return Err(format!("by = {other}: must be a metric such as \"loss\" or \"validation.loss\"")),
            None => None,
        };
        let number = |name: &str, value: Option<Value>, least: u64| match value {
            None => Ok(None),
            Some(value) => match value.as_u64().filter(|n| *n >= least) {
                Some(n) => Ok(Some(n)),
                None => Err(format!("{name} = {value}: must be a whole number of at least {least}")),
            },
        };
        let (rounds, halving) = (number("rounds", table.shift_remove("rounds"), 1)?, number("halving", table.shift_remove("halving"), 2)?);
        let last = number("last", table.shift_remove("last"), 1)?;
        let stable = table.shift_remove("stable");
        let mut values = vec![];
        flatten("", table, &mut values)?;
        let names = || values.iter().map(|(name, _)| name.as_str());
        let stable = match stable {
            None | Some(Value::Bool(false)) => None,
            Some(Value::Bool(true)) if values.len() == 1 => names().next().map(str::to_owned),
            Some(Value::Bool(true)) => {
                return Err(format!("stable = true: say of which parameter: stable = \"{}\"", names().next().unwrap_or("step")));
            }
            Some(Value::String(name)) if names().any(|n| n == name) => Some(name),
            Some(other) => {
                return Err(format!("stable = {other}: must be true, or one of the parameters {}", names().collect::<Vec<_>>().join(", ")));
            }
        };
        if values.is_empty() {
            return Err(format!("lists no parameter to choose, as in {GRAMMAR}"));
        }
        if let Some(name) = &stable {
            let of = values.iter().find(|(n, _)| n == name).map(|(_, values)| values);
            if let Some(word) = of.into_iter().flatten().find(|v| !v.is_number()) {
                return Err(format!("{name}: the largest of its values is wanted, and {word} is not a number"));
            }
            if halving.is_some() {
                return Err("halving: cannot stand beside stable: it would drop large values before they are known to be stable".into());
            }
        }
        if combinations(&values) > MOST {
            return Err(format!("makes more than {MOST} combinations"));
        }
        let by = by.unwrap_or_else(|| "loss".into());
        let last = last.unwrap_or(if by.starts_with("validation.") { 1 } else { LAST });
        Ok(Self { values, by, last, rounds, stable, halving })
    }
}

/// How many there are; the largest number if there are more than can be counted.
fn combinations(values: &[(String, Vec<Value>)]) -> usize {
    values.iter().map(|(_, v)| v.len()).fold(1, usize::saturating_mul)
}

/// Lists under their paths: `solve = { step = [...] }` is `solve.step`.
fn flatten(prefix: &str, table: Map<String, Value>, into: &mut Vec<(String, Vec<Value>)>) -> Result<(), String> {
    for (name, value) in table {
        let path = format!("{prefix}{name}");
        match value {
            // A grid makes one run for each value; here the list itself is what is tried.
            Value::Array(_) if name == "grid" => {
                let of = prefix.trim_end_matches('.');
                return Err(format!("{of} = {{ grid = [...] }}: the list stands by itself here: {of} = [...]"));
            }
            Value::Array(values) if !values.is_empty() => into.push((path, values)),
            Value::Object(inner) => flatten(&format!("{path}."), inner, into)?,
            other => return Err(format!("{path} = {other}: must be a list of at least one value to try, as in {GRAMMAR}")),
        }
    }
    Ok(())
}

impl From<TuneRule> for Map<String, Value> {
    fn from(rule: TuneRule) -> Self {
        let mut table: Map<String, Value> = rule.values.into_iter().map(|(name, values)| (name, Value::Array(values))).collect();
        table.insert("by".into(), json!(rule.by));
        table.insert("last".into(), json!(rule.last));
        let optional = [
            ("rounds", rule.rounds.map(Value::from)),
            ("stable", rule.stable.map(Value::from)),
            ("halving", rule.halving.map(Value::from)),
        ];
        table.extend(optional.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        table
    }
}

impl TuneRule {
    /// The rule for a method that has some of the parameters only; none if it has none.
    pub(super) fn restricted(&self, has: impl Fn(&str) -> bool) -> Option<Self> {
        let values: Vec<_> = self.values.iter().filter(|(name, _)| has(name)).cloned().collect();
        let stable = self.stable.clone().filter(|name| has(name));
        (!values.is_empty()).then(|| Self { values, stable, ..self.clone() })
    }

    /// The same, with parameters under the names that a method has for them.
    pub(super) fn renamed(&self, canonical: impl Fn(&str) -> Option<String>) -> Self {
        let name = |name: &String| canonical(name).unwrap_or_else(|| name.clone());
        let values = self.values.iter().map(|(n, values)| (name(n), values.clone())).collect();
        Self { values, stable: self.stable.as_ref().map(name), ..self.clone() }
    }

    /// What `step = "tune"` means: steps half a decade apart, judged on validation data where the problem has any.
    pub(super) fn of_steps(names: &[&str], problem: Option<&Value>) -> Self {
        let validation = problem.and_then(|problem| problem.pointer("/holdout/validation")).is_some();
        let (by, last) = if validation { ("validation.loss", 1) } else { ("loss", LAST) };
        let none = Self { values: vec![], by: by.into(), last, rounds: None, stable: None, halving: None };
        none.with_steps(names)
    }

    /// The same, and steps to be found.
    pub(super) fn with_steps(mut self, names: &[&str]) -> Self {
        let steps = || STEPS.iter().map(|step| json!(step)).collect();
        for name in names.iter().filter(|name| self.values.iter().all(|(known, _)| known != **name)).collect::<Vec<_>>() {
            self.values.push(((*name).to_owned(), steps()));
        }
        self
    }

    /// How many combinations there are.
    pub(super) fn count(&self) -> usize {
        combinations(&self.values)
    }

    /// Every combination of the values, the first parameter varying slowest.
    pub(super) fn combinations(&self) -> Vec<Map<String, Value>> {
        let mut all = vec![Map::new()];
        for (name, values) in &self.values {
            let with = |table: &Map<String, Value>, value: &Value| {
                let mut table = table.clone();
                table.insert(name.clone(), value.clone());
                table
            };
            all = all.iter().flat_map(|table| values.iter().map(|value| with(table, value))).collect();
        }
        all
    }

    /// Rounds and number of combinations of each rung, for a run of so many rounds.
    pub(crate) fn rungs(&self, run: u64) -> Vec<(u64, usize)> {
        let count = self.count();
        let Some(part) = self.halving else { return vec![(self.rounds.unwrap_or(run).min(run), count)] };
        let divide = |count: usize| count.div_ceil(part as usize);
        let levels = std::iter::successors(Some(count), |c| Some(divide(*c))).position(|c| c == 1).unwrap_or(0) as u32;
        // Without a number of rounds the last rung has those of the run.
        let first = self.rounds.unwrap_or((run / part.saturating_pow(levels.saturating_sub(1))).max(1)).min(run);
        let mut rungs = vec![(first, count)];
        while let Some(&(rounds, count)) = rungs.last()
            && count > 1
            && rounds < run
            && divide(count) > 1
        {
            rungs.push((rounds.saturating_mul(part).min(run), divide(count)));
        }
        rungs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(value: Value) -> Result<TuneRule, String> {
        serde_json::from_value(value).map_err(|e| e.to_string())
    }

    #[test]
    fn a_rule_reads_back_as_it_was_written() {
        let read = rule(json!({ "solve": { "step": [1, 2] }, "eta": [0.1, 0.2, 0.3], "by": "validation.loss", "halving": 3, "rounds": 7 }))
            .unwrap();
        assert_eq!((read.values[0].0.as_str(), read.last, read.combinations().len()), ("solve.step", 1, 6));
        assert_eq!(rule(serde_json::to_value(&read).unwrap()).unwrap(), read);
        assert_eq!(rule(json!({ "eta": [1] })).unwrap().last, LAST);
    }

    #[test]
    fn every_rung_has_a_part_of_the_values_and_a_multiple_of_the_rounds() {
        let of = |count: usize, rounds: Option<u64>, run| {
            TuneRule {
                values: vec![("s".into(), vec![json!(1); count])],
                by: "loss".into(),
                last: 1,
                rounds,
                stable: None,
                halving: Some(3),
            }
            .rungs(run)
        };
        assert_eq!(of(27, Some(10), 1000), [(10, 27), (30, 9), (90, 3)]);
        assert_eq!(of(27, Some(10), 50), [(10, 27), (30, 9), (50, 3)], "a trial is not longer than the run");
        assert_eq!(of(27, None, 900), [(100, 27), (300, 9), (900, 3)]);
        assert_eq!(of(1, None, 5), [(5, 1)]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_key() {
        for (wrong, said) in [
            (json!({ "by": "loss" }), "lists no parameter"),
            (json!({ "step": [] }), "step = []: must be a list"),
            (json!({ "step": 1 }), "step = 1: must be a list"),
            (json!({ "step": { "grid": [1, 2] } }), "step = { grid = [...] }: the list stands by itself here: step = [...]"),
            (json!({ "step": [1], "by": "test.loss" }), "nothing may be chosen by test data"),
            (json!({ "step": [1], "by": 3 }), "by = 3"),
            (json!({ "step": [1], "halving": 1 }), "halving = 1: must be a whole number of at least 2"),
            (json!({ "step": [1], "eta": [1], "stable": true }), "stable = \"step\""),
            (json!({ "step": [1], "stable": "eta" }), "one of the parameters step"),
            (json!({ "step": ["theory"], "stable": true }), "is not a number"),
            (json!({ "step": [1], "stable": true, "halving": 2 }), "cannot stand beside stable"),
        ] {
            let e = rule(wrong.clone()).unwrap_err();
            assert!(e.contains(said), "{wrong}: {e}");
        }
    }
}
