//! Is it the same experiment, on the same data, that goes on?

use std::io;
use std::path::Path;

use motet_records::{Format, Manifest, ReadError};
use serde_json::Value;

use crate::error::Error;

/// Refuses to go on with another experiment, or on other data, or in another format, than what was begun in `folder`.
/// Reads, and touches nothing.
pub(crate) fn compare(folder: &Path, now: &Manifest) -> Result<(), Error> {
    let refuse = |reason: String| Err(Error::Unresumable { folder: folder.into(), reason });
    let before = match Manifest::read(folder) {
        // Killed before anything was planned.
        Err(ReadError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(()),
        read => read?,
    };
    if before.format != Format::CURRENT {
        return refuse(format!(
            "was begun with record format {}, and this program can only resume format {}: finish it with the motet that began it, or start again with --overwrite",
            before.format,
            Format::CURRENT
        ));
    }
    let changed = (before.motet != now.motet).then(|| format!("was begun by motet {}, this is {}", before.motet, now.motet));
    let changed = changed.or_else(|| difference(&before.resolved, &now.resolved));
    let data =
        || before.inputs.iter().find(|input| !now.inputs.contains(input)).map(|input| format!("the file {} has changed", input.name));
    match changed.or_else(data) {
        Some(what) => refuse(format!("cannot go on with another experiment: {what}")),
        None => Ok(()),
    }
}

/// The first key under which two experiments differ, with both values. Where client states sleep and how often a run is
/// kept changes no number, and may change.
fn difference(before: &Value, now: &Value) -> Option<String> {
    differ("", before, now)
}

const FREE: [&str; 2] = ["run.store", "run.checkpoint"];

fn differ(key: &str, before: &Value, now: &Value) -> Option<String> {
    if before == now || FREE.contains(&key) {
        return None;
    }
    let under = |name: &str| if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
    let absent = Value::Null;
    match (before, now) {
        (Value::Object(a), Value::Object(b)) => {
            let names = a.keys().chain(b.keys().filter(|name| !a.contains_key(*name)));
            names.into_iter().find_map(|name| differ(&under(name), a.get(name).unwrap_or(&absent), b.get(name).unwrap_or(&absent)))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            (0..a.len()).find_map(|k| differ(&format!("{key}[{}]", k + 1), &a[k], &b[k]))
        }
        _ => Some(format!("{key} was {before} and is now {now}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_changed_experiment_is_told_by_its_key() {
        let a = json!({ "run": { "rounds": 5, "store": 1 }, "method": [{ "kind": "flix", "alpha": 0.1 }] });
        let mut b = a.clone();
        b["run"]["store"] = json!(2);
        assert_eq!(difference(&a, &b), None);
        b["method"][0]["alpha"] = json!(0.2);
        assert_eq!(difference(&a, &b).unwrap(), "method[1].alpha was 0.1 and is now 0.2");
        b["run"]["stop"] = json!({ "gap": 1 });
        assert!(difference(&a, &b).unwrap().starts_with("run.stop was null"));
    }
}
