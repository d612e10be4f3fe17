//! Verdicts on the experiment's claims.

use motet_records::{Status, Verdict};

use crate::markup::Markup;
use crate::{Comparison, number};

pub(crate) fn write(m: &mut Markup, comparison: &Comparison<'_>) {
    let claims = |records: &'_ motet_records::Records| records.summary.as_ref().map(|s| s.claims.clone()).unwrap_or_default();
    let total: Vec<Verdict> = comparison.folders.iter().flat_map(|(_, records)| claims(records)).collect();
    if total.is_empty() {
        return;
    }
    m.open("section", &[("id", &"claims")]);
    m.element("h2", &[], "Claims");
    let held = total.iter().filter(|v| v.holds).count();
    m.element("p", &[("class", &"lead")], &format!("{held} of {} hold.", total.len()));
    m.open("ul", &[("class", &"claims")]);
    for (at, (_, records)) in comparison.folders.iter().enumerate() {
        claims(records).iter().for_each(|verdict| write_one(m, verdict, &comparison.label(at, &verdict.claim)));
    }
    m.close();
    m.close();
}

fn write_one(m: &mut Markup, verdict: &Verdict, name: &str) {
    let (class, word) = match (verdict.holds, verdict.status) {
        (true, _) => ("holds", "✓ holds"),
        (false, Status::Must) => ("fails", "✗ fails"),
        (false, Status::May) => ("negative", "○ negative"),
    };
    m.open("li", &[]);
    m.element("span", &[("class", &format!("badge {class}"))], word);
    m.open("div", &[]);
    m.element("strong", &[], name);
    m.element("code", &[], &verdict.text);
    let side = |words: &str, value: Option<f64>| value.map(|v| format!("{words} {}", number::short(v)));
    let sides: Vec<String> = [side("measured", verdict.value), side("bound", verdict.bound)].into_iter().flatten().collect();
    if !sides.is_empty() {
        m.element("p", &[("class", &"muted")], &sides.join(" · "));
    }
    if let Some(reason) = &verdict.reason {
        m.element("p", &[("class", &"reason")], reason);
    }
    m.close();
    m.close();
}
