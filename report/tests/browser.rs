//! The page in a browser: its script runs without errors and its switches switch.

mod chromium;
mod sample;

use chromium::Seen;
use motet_report::render;

/// Presses what people press and writes what came of it into the page's title.
const PRESS: &str = r##"<script>
const said = [];
const shown = (section) => Array.from(document.querySelectorAll(section + " .panel")).filter((p) => !p.hidden).map((p) => p.dataset.when);
const press = (what) => document.querySelector(what).click();
said.push("first: " + shown("#curves"));
press('#curves button[value="bits"]');
said.push("axis: " + shown("#curves"));
const list = document.querySelector("#curves select");
list.value = "test.loss";
list.dispatchEvent(new Event("change"));
said.push("metric: " + shown("#curves"));
press('#curves [data-legend="1"]');
said.push("hidden: " + document.querySelectorAll("#curves .series.off").length);
press('#alpha button[value="test.accuracy"]');
said.push("alpha: " + shown("#alpha"));
press('#verdict button[value="test.loss"]');
said.push("verdict: " + shown("#verdict"));
const plot = document.querySelector("#curves .panel:not([hidden]) .plot"), box = plot.getBoundingClientRect();
plot.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + box.width / 2, clientY: box.top + 50 }));
said.push("tip: " + plot.closest("figure").querySelector(".tip").textContent);
document.title = said.join("; ") + "; errors: " + errors.length + errors;
</script>"##;

#[test]
fn switches_switch_and_nothing_is_printed_on_the_console() {
    let folder = tempfile::tempdir().unwrap();
    render(&[("sample".into(), sample::records())], folder.path()).unwrap();
    let page = folder.path().join("report.html");
    let Some(Seen { title, log }) = chromium::open(&page, PRESS) else { return };
    let tip = title.split("tip: ").nth(1).unwrap_or_default();
    let said = title.split("; tip:").next().unwrap_or_default();
    assert_eq!(
        said,
        "first: metric=gap axis=rounds; axis: metric=gap axis=bits; metric: metric=test.loss axis=bits; hidden: 28; \
         alpha: metric=test.accuracy; verdict: problem=0 metric=test.loss",
        "{log}"
    );
    assert!(tip.starts_with("bits up ") && tip.contains("flix α = 0.4") && !tip.contains("flix α = 0.2"), "{tip}");
    assert!(title.ends_with("errors: 0"), "{title}");
    assert!(!log.contains("CONSOLE"), "{log}");
}
