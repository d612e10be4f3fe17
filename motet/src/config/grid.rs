//! `{ grid = [...] }` anywhere a value may stand: one variant for each.

use serde_json::Value;

/// One choice of every grid in a tree.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    /// The tree, grids replaced by one of their values.
    pub(super) value: Value,
    /// Path → chosen value, in the order of the file.
    pub(super) chosen: Vec<(String, Value)>,
}

/// How many combinations [`expand`] would make; the largest number if there are more than can be counted.
pub(super) fn count(value: &Value) -> usize {
    let product = |counts: &mut dyn Iterator<Item = usize>| counts.fold(1, usize::saturating_mul);
    match value {
        Value::Object(table) if table.len() == 1 && table.contains_key("grid") => table["grid"].as_array().map_or(1, Vec::len),
        Value::Object(table) => product(&mut table.values().map(count)),
        Value::Array(items) => product(&mut items.iter().map(count)),
        _ => 1,
    }
}

/// Every combination of the grids in a tree, the first grid varying slowest. The error is the path of
/// an empty or malformed grid.
pub(super) fn expand(value: &Value) -> Result<Vec<Choice>, String> {
    expand_at(value, "")
}

fn expand_at(value: &Value, path: &str) -> Result<Vec<Choice>, String> {
    match value {
        Value::Object(table) if table.len() == 1 && table.contains_key("grid") => match &table["grid"] {
            Value::Array(values) if !values.is_empty() => {
                Ok(values.iter().map(|v| Choice { value: v.clone(), chosen: vec![(path.to_owned(), v.clone())] }).collect())
            }
            _ => Err(format!("{path}.grid")),
        },
        Value::Object(table) => {
            let mut choices = vec![Choice { value: Value::Object(serde_json::Map::new()), chosen: vec![] }];
            for (key, inner) in table {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                choices = product(choices, &expand_at(inner, &path)?, |tree, value| {
                    tree.as_object_mut().expect("an object is being built").insert(key.clone(), value);
                });
            }
            Ok(choices)
        }
        Value::Array(items) => {
            let mut choices = vec![Choice { value: Value::Array(vec![]), chosen: vec![] }];
            for (k, inner) in items.iter().enumerate() {
                choices = product(choices, &expand_at(inner, &format!("{path}[{}]", k + 1))?, |tree, value| {
                    tree.as_array_mut().expect("a list is being built").push(value);
                });
            }
            Ok(choices)
        }
        other => Ok(vec![Choice { value: other.clone(), chosen: vec![] }]),
    }
}

fn product(mut left: Vec<Choice>, right: &[Choice], add: impl Fn(&mut Value, Value)) -> Vec<Choice> {
    // Nearly every value is no grid: a copy of all that stands before it would make long lists take their square.
    if let [only] = right {
        for l in &mut left {
            add(&mut l.value, only.value.clone());
            l.chosen.extend(only.chosen.iter().cloned());
        }
        return left;
    }
    let mut all = Vec::with_capacity(left.len() * right.len());
    for l in &left {
        for r in right {
            let mut both = l.clone();
            add(&mut both.value, r.value.clone());
            both.chosen.extend(r.chosen.iter().cloned());
            all.push(both);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn grids_multiply() {
        let all = expand(&json!({"alpha": {"grid": [1, 0.1]}, "solve": {"to": {"grid": [1e-3, 1e-6]}}, "kind": "flix"})).unwrap();
        assert_eq!(all.len(), 4);
        assert_eq!(count(&json!({"alpha": {"grid": [1, 0.1]}, "solve": [{"to": {"grid": [1e-3, 1e-6]}}, 3], "kind": "flix"})), 4);
        assert_eq!(
            count(&json!([{"grid": vec![1; 1 << 16]}, {"grid": vec![1; 1 << 16]}, {"grid": vec![1; 1 << 16]}, {"grid": vec![1; 1 << 16]}])),
            usize::MAX
        );
        assert_eq!(all[1].value, json!({"alpha": 1, "solve": {"to": 1e-6}, "kind": "flix"}));
        assert_eq!(all[2].chosen, [("alpha".to_owned(), json!(0.1)), ("solve.to".to_owned(), json!(1e-3))]);
    }

    #[test]
    fn an_empty_grid_is_named() {
        assert_eq!(expand(&json!({"a": {"b": {"grid": []}}})).unwrap_err(), "a.b.grid");
        assert_eq!(expand(&json!({"a": {"grid": 3}})).unwrap_err(), "a.grid");
    }
}
