//! What a run is called at a participant: its method, and the values in which methods of this kind differ in the study.

use std::collections::BTreeMap;

use motet_link::RunSheet;
use serde_json::Value;

/// `flix alpha=0.5`, as the coordinator calls it too; a sheet names the method alone.
pub(super) fn label(experiment: &Value, sheet: &RunSheet) -> String {
    let methods = experiment["method"].as_array().into_iter().flatten();
    let alike: Vec<BTreeMap<String, Value>> =
        methods.filter(|method| method["kind"] == sheet.method.as_str()).map(|method| leaves(method, "")).collect();
    let differs = |key: &String, value: &Value| alike.iter().any(|other| other.get(key).unwrap_or(&Value::Null) != value);
    let own = leaves(&sheet.parameters, "");
    let told = own.iter().filter(|(key, value)| differs(key, value)).map(|(key, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!(" {key}={value}")
    });
    std::iter::once(sheet.method.clone()).chain(told).collect()
}

/// Values by their paths: `compressor.k`.
fn leaves(tree: &Value, at: &str) -> BTreeMap<String, Value> {
    let Value::Object(table) = tree else { return BTreeMap::from([(at.to_owned(), tree.clone())]) };
    let path = |key: &str| if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
    table.iter().flat_map(|(key, value)| leaves(value, &path(key))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_grid_is_told_apart_and_a_method_alone_is_called_by_its_name() {
        let experiment = json!({ "method": [
            { "kind": "flix", "alpha": 1.0, "solve": { "to": 1e-6 } },
            { "kind": "flix", "alpha": 0.5, "solve": { "to": 1e-6 } },
            { "kind": "local", "solve": { "to": 1e-6 } },
        ] });
        let called = |method: &str, parameters: Value| {
            label(&experiment, &RunSheet { study: String::new(), run: 0, method: method.into(), parameters, problem: 0, seed: 1 })
        };
        assert_eq!(called("flix", json!({ "alpha": 0.5, "solve": { "to": 1e-6 } })), "flix alpha=0.5");
        assert_eq!(called("local", json!({ "solve": { "to": 1e-6 } })), "local");
    }
}
