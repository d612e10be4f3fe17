//! The page in a browser: its script runs without errors and its switches switch.

mod chromium;
mod sample;

use chromium::{SCREENS, Seen};
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
parent.postMessage(document.title, "*");
</script>"##;

#[test]
fn switches_switch_and_nothing_is_printed_on_the_console() {
    for screen in SCREENS {
        let folder = tempfile::tempdir().unwrap();
        render(&[("sample".into(), sample::records())], folder.path()).unwrap();
        let Some(Seen { title, log }) = chromium::open_on(screen, &folder.path().join("report.html"), PRESS) else { return };
        let tip = title.split("tip: ").nth(1).unwrap_or_default();
        let said = title.split("; tip:").next().unwrap_or_default();
        assert_eq!(
            said,
            "first: metric=gap axis=rounds; axis: metric=gap axis=bits; metric: metric=test.loss axis=bits; hidden: 28; \
             alpha: metric=test.accuracy; verdict: problem=0 metric=test.loss",
            "{screen:?} {log}"
        );
        assert!(tip.starts_with("bits up ") && tip.contains("flix α = 0.4") && !tip.contains("flix α = 0.2"), "{screen:?} {tip}");
        assert!(title.ends_with("errors: 0"), "{title}");
        assert!(!log.contains("CONSOLE"), "{log}");
    }
}

/// What the first screen of the report holds, how wide it is, and what a click on a header does to the clients.
const SORT: &str = r##"<script>
const on_screen = (e) => { const box = e.getBoundingClientRect(); return box.height > 0 && box.top >= 0 && box.bottom <= 900 && box.right <= innerWidth; };
const answer = document.querySelector("#verdict .panel:not([hidden]) .answer");
const table = document.querySelector("#join .panel:not([hidden]) table"), heads = Array.from(table.querySelectorAll("th"));
const column = heads.findIndex((head) => head.textContent.startsWith("gain"));
const gains = () => Array.from(table.querySelectorAll("tbody tr")).map((row) => Number(row.cells[column].dataset.sort));
const sorted = (all, sign) => all.length > 2 && all.every((gain, k) => k === 0 || sign * (gain - all[k - 1]) >= 0);
const before = gains();
heads[column].click();
const up = sorted(gains(), 1);
heads[column].click();
const down = sorted(gains(), -1);
const said = [
  "verdict " + on_screen(answer) + " " + (answer.textContent.length > 10), "joining " + on_screen(answer.parentElement.querySelectorAll(".lead")[1]),
  "up " + up, "down " + down, "all " + (gains().length === before.length && new Set(gains()).size === new Set(before).size),
  "wide " + (document.documentElement.scrollWidth > innerWidth),
  "broken words " + Array.from(document.querySelectorAll("#finals th")).filter((head) => head.clientHeight > 60).length, "errors " + errors.length,
].join("; ");
document.title = said;
parent.postMessage(said, "*");
</script>"##;

#[test]
fn the_first_screen_of_the_report_holds_the_verdict_and_headers_sort() {
    let folder = tempfile::tempdir().unwrap();
    let write = || {
        render(&[("sample".into(), sample::records())], folder.path()).unwrap();
        folder.path().join("report.html")
    };
    let expected = "verdict true true; joining true; up true; down true; all true; wide false; broken words 0; errors 0";
    for screen in SCREENS {
        let Some(seen) = chromium::open_on(screen, &write(), SORT) else { return };
        assert_eq!(seen.title, expected, "{screen:?} {}", seen.log);
    }
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
document.title = said;
parent.postMessage(said, "*");
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
        report: true,
    };
    let folder = tempfile::tempdir().unwrap();
    let write = || {
        let path = folder.path().join("advice.html");
        std::fs::write(&path, page.html()).unwrap();
        path
    };
    let expected = |dark: bool| {
        format!(
            "hospitals.csv: of 3 clients 1 should join, 1 should stay, for 1 it is unclear; headline true; advice true; wide false; cut 0; heads true; \
             dark {dark}; errors 0"
        )
    };
    for screen in SCREENS {
        let Some(seen) = chromium::open_on(screen, &write(), LOOK) else { return };
        assert_eq!(seen.title, expected(screen.dark), "{screen:?} {}", seen.log);
    }
}
