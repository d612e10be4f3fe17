//! Verdicts on the experiment's claims.

use motet_records::Verdict;

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
    let held = total.iter().filter(|v| v.holds && !v.undecided).count();
    let open = match total.iter().filter(|v| v.undecided).count() {
        0 => String::new(),
        open => format!(" {open} cannot be told from the noise of the seeds."),
    };
    m.element("p", &[("class", &"lead")], &format!("{held} of {} hold.{open}", total.len()));
    m.open("ul", &[("class", &"claims")]);
    for (at, (_, records)) in comparison.folders.iter().enumerate() {
        claims(records).iter().for_each(|verdict| write_one(m, verdict, &comparison.label(at, &verdict.claim)));
    }
    m.close();
    m.close();
}

fn write_one(m: &mut Markup, verdict: &Verdict, name: &str) {
    let (class, word) = match verdict.word() {
        "holds" => ("holds", "✓ holds"),
        "undecided" => ("negative", "? undecided"),
        "negative" => ("negative", "○ negative"),
        _ => ("fails", "✗ fails"),
    };
    m.open("li", &[]);
    m.element("span", &[("class", &format!("badge {class}"))], word);
    m.open("div", &[]);
    m.element("strong", &[], name);
    m.element("code", &[], &verdict.text);
    let side = |words: &str, value: Option<f64>| value.map(|v| format!("{words} {}", number::short(v)));
    let spread = verdict.interval.map(|[low, high]| format!("difference {} to {} (95 %)", number::short(low), number::short(high)));
    let sides: Vec<String> = [side("measured", verdict.value), side("bound", verdict.bound), spread].into_iter().flatten().collect();
    if !sides.is_empty() {
        m.element("p", &[("class", &"muted")], &sides.join(" · "));
    }
    if let Some(reason) = &verdict.reason {
        m.element("p", &[("class", &"reason")], reason);
    }
    m.close();
    m.close();
}
