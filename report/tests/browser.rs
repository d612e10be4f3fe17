//! The page in a browser: its script runs without errors and its switches switch.

mod chromium;
mod sample;

use chromium::Seen;
use motet_report::{AdviceLine, AdvicePage, render};

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

/// What stands where on the page of advice: the headline, whether a word of advice is on the first screen, how wide it is.
const LOOK: &str = r##"<script>
const on_screen = (e) => { const box = e.getBoundingClientRect(); return box.height > 0 && box.bottom <= innerHeight && box.right <= innerWidth; };
const cells = Array.from(document.querySelectorAll("td"));
const heads = Array.from(document.querySelectorAll("th")), first = Array.from(document.querySelectorAll("tbody tr:first-child td"));
const over = first.every((cell, k) => !on_screen(heads[k]) || Math.abs(cell.getBoundingClientRect().left - heads[k].getBoundingClientRect().left) < 1);
const said = [
  document.querySelector("h1").textContent, "headline " + on_screen(document.querySelector("h1")), "advice " + on_screen(document.querySelector("td span[title]")),
  "wide " + (document.documentElement.scrollWidth > innerWidth), "cut " + cells.filter((c) => c.scrollWidth > c.clientWidth + 1).length, "heads " + over,
  "dark " + (getComputedStyle(document.body).backgroundColor === "rgb(22, 22, 22)"), "errors " + errors.length,
].join("; ");
if (parent === window) { document.title = said; } else { parent.postMessage(said, "*"); }
</script>"##;

#[test]
fn the_page_of_advice_has_the_answer_on_its_first_screen_and_scrolls_only_down() {
    let line = |client: &str, advice: &str| AdviceLine {
        client: format!("hospital {client}"),
        advice: advice.into(),
        offer: "FedAvg and fine-tuning".into(),
        gain: 0.0125,
        interval: Some([0.005, 0.02]),
        accuracy: Some([0.81, 0.9]),
        sent: 94_600.0,
        with: ["Basel", "Zürich", "Saint-Maurice-de-Beynost"].map(|other| (format!("hospital {other}"), 0.2)).to_vec(),
        rows: 303,
        bundle: Some(format!("hospital-{}", client.to_lowercase())),
        why: "because".into(),
    };
    let page = AdvicePage {
        of: "hospitals.csv".into(),
        metric: "test.brier".into(),
        splits: 20,
        federation: ("join".into(), 0.0125, Some([0.005, 0.02])),
        lines: vec![
            line("Basel", "join"),
            line("Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch", "stay"),
            line("Zürich", "unclear"),
        ],
        notes: vec!["left out, with fewer than 5 rows: hospital Ulm (3)".into()],
    };
    let folder = tempfile::tempdir().unwrap();
    let write = || {
        let path = folder.path().join("advice.html");
        std::fs::write(&path, page.html()).unwrap();
        path
    };
    let expected = |dark: bool| {
        format!(
            "hospitals.csv: 1 of 3 should join, 1 should stay, for 1 it is unclear; headline true; advice true; wide false; cut 0; heads true; \
             dark {dark}; errors 0"
        )
    };
    let Some(wide) = chromium::open(&write(), LOOK) else { return };
    assert_eq!(wide.title, expected(false), "{}", wide.log);
    let dark = chromium::open_dark(&write(), LOOK).expect("the browser was there");
    assert_eq!(dark.title, expected(true), "{}", dark.log);
    let narrow = chromium::open_narrow(&write(), LOOK, 400).expect("the browser was there");
    assert_eq!(narrow.title, expected(false), "{}", narrow.log);
}
