//! What became of an experiment's claims, for people and for programs.

use motet::records::Verdict;
use serde_json::{Value, json};

/// One line for each claim, and one for the reason where there is one.
pub(super) fn lines(claims: &[Verdict]) -> String {
    claims.iter().map(line).collect()
}

fn line(v: &Verdict) -> String {
    let number = |x: Option<f64>| {
        x.map_or("-".into(), |x| if x == 0.0 || (1e-3..1e6).contains(&x.abs()) { format!("{x:.4}") } else { format!("{x:.3e}") })
    };
    let reason = v.reason.as_ref().map_or(String::new(), |r| format!("\n             {r}"));
    format!("  {:9}  {}: {}  [{} against {}]{reason}\n", v.word(), v.claim, v.text, number(v.value), number(v.bound))
}

/// All of them as `reproduce --format json` has them.
pub(super) fn entries(claims: &[Verdict]) -> Vec<Value> {
    let entry = |v: &Verdict| json!({ "claim": v.claim, "text": v.text, "holds": v.holds, "verdict": v.word(), "value": v.value, "bound": v.bound, "interval": v.interval, "reason": v.reason });
    claims.iter().map(entry).collect()
}
