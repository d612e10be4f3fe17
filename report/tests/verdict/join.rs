//! "Should I join?": the advice follows the paired intervals, and the page shows it for each client.

use std::fs;

use motet_core::{Outcome, UpDown};
use motet_records::{ClientRow, Manifest, ProblemCard, Records, RunCard, RunSummary, Summary};
use motet_report::render;
use motet_report::verdict::{Advice, of_records};
use serde_json::json;

use crate::chromium;

/// Five splits. Client 0 gains by the mixture every time, client 1 wavers, client 2 loses by everything.
fn records(splits: usize) -> Records {
    let mut records = Records {
        manifest: Manifest {
            experiment: "join".into(),
            resolved: json!({ "problem": [{ "holdout": { "validation": 0.2, "test": 0.3, "redraw": true } }] }),
            problems: vec![ProblemCard { about: "hospitals".into(), clients: 3, ..ProblemCard::default() }; splits],
            ..Manifest::default()
        },
        ..Records::default()
    };
    let mut summary = Summary { experiment: "join".into(), ..Summary::default() };
    for (method, alpha, loss) in [("local", 0.0, [0.5, 0.5, 0.5]), ("flix", 1.0, [0.45, 0.55, 0.9]), ("flix", 0.5, [0.3, 0.5, 0.7])] {
        for seed in 1..=5u64 {
            let run = records.manifest.runs.len();
            let params = [("alpha".to_owned(), json!(alpha))].into_iter().filter(|_| method == "flix").collect();
            let label = if method == "local" { "local".into() } else { format!("flix alpha={alpha}") };
            let problem = (seed as usize - 1) % splits;
            let card = RunCard { run, label: label.clone(), method: method.into(), params, problem, seed, ..RunCard::default() };
            // The same split is hard for every way: only pairs tell. The wavering client is lucky now and then.
            let hard = 0.2 * seed as f64;
            let luck =
                if method == "flix" { [0.01, 0.2, 0.02].map(|l| l * [1.0, -1.0, 0.5, -0.5, 0.0][seed as usize - 1]) } else { [0.0; 3] };
            for client in 0..3u32 {
                let k = client as usize;
                let metrics = [("test.loss".to_owned(), loss[k] + hard + luck[k])].into();
                records.clients.push(ClientRow {
                    run,
                    client,
                    name: (client == 2).then(|| "Zürich".into()),
                    examples: 40,
                    metrics,
                    ..ClientRow::default()
                });
            }
            summary.runs.push(RunSummary {
                label,
                method: method.into(),
                params: card.params.clone(),
                seed,
                rounds: 10,
                outcome: Outcome::Finished,
                last: [("validation.loss".to_owned(), loss.iter().sum::<f64>())].into(),
                best: Default::default(),
                bits: UpDown::default(),
                bytes: UpDown { up: if method == "local" { 0 } else { 3000 }, down: 0 },
                messages: vec![],
                gradients: 0,
                seconds: 0.0,
                digest: String::new(),
            });
            records.manifest.runs.push(card);
        }
    }
    records.summary = Some(summary);
    records
}

#[test]
fn advice_follows_the_paired_interval() {
    let verdicts = of_records(&[("join".to_owned(), records(5))]);
    let verdict = &verdicts[0];
    let joining = verdict.joining.as_ref().unwrap();
    let said: Vec<(&str, Advice)> = joining.clients.iter().map(|client| (client.client.as_str(), client.advice)).collect();
    assert_eq!(said, [("client 0", Advice::Join), ("client 1", Advice::Unclear), ("Zürich", Advice::Stay)]);
    // Unpaired, the splits differ by up to 0.8 and nothing would be seen.
    let gain = &joining.clients[0].gain;
    let [low, high] = gain.interval.unwrap();
    assert!((gain.mean - 0.2).abs() < 1e-12 && high - low < 0.1, "{gain:?}");
    assert_eq!((joining.clients[0].with.as_str(), joining.clients[0].sent), ("flix alpha=0.5", 1000.0));
    assert!(verdict.grounds().contains("5 splits of the same data"), "{}", verdict.grounds());
}

#[test]
fn seeds_on_one_split_are_no_evidence_about_others() {
    let verdicts = of_records(&[("join".to_owned(), records(1))]);
    let joining = verdicts[0].joining.as_ref().unwrap();
    assert!(joining.clients.iter().all(|client| client.advice == Advice::Unclear && client.gain.interval.is_none()));
    assert!(verdicts[0].winner().is_none() && verdicts[0].grounds().contains("One split"));
}

/// Presses and sorts; says what is where on the first screen.
const PRESS: &str = r##"<script>
const rows = () => Array.from(document.querySelectorAll("#join .panel:not([hidden]) tbody tr"));
const names = () => rows().map((row) => row.cells[0].textContent).join(",");
const head = (name) => Array.from(document.querySelectorAll("#join .panel:not([hidden]) th")).find((th) => th.textContent.startsWith(name));
const said = [];
said.push(rows().map((row) => row.querySelector(".badge").textContent).join(","));
head("gain").click();
said.push("up " + names());
head("gain").click();
said.push("down " + names());
const screen = document.querySelector("#verdict .answer").getBoundingClientRect();
said.push(screen.top > 0 && screen.bottom < 700 ? "first screen" : "below " + screen.bottom);
const over = (th) => { const k = Array.from(th.parentNode.children).indexOf(th), td = th.closest("table").querySelector("tbody tr").cells[k]; return getComputedStyle(th).textAlign === getComputedStyle(td).textAlign; };
const tables = Array.from(document.querySelectorAll("table.stack")).filter((t) => t.offsetParent && t.tBodies[0].rows.length);
said.push("headers " + tables.flatMap((t) => Array.from(t.querySelectorAll("thead th"))).every(over));
document.title = said.join("; ") + "; errors: " + errors.length;
</script>"##;

#[test]
fn the_page_shows_each_client_sorts_and_has_the_verdict_on_its_first_screen() {
    let folder = tempfile::tempdir().unwrap();
    render(&[("join".into(), records(5))], folder.path()).unwrap();
    let page = folder.path().join("report.html");
    let text = fs::read_to_string(&page).unwrap();
    assert!(text.contains(">Zürich</td>"), "clients go by their names");
    assert!(text.contains("Should I join?") && text.contains("Of 3 clients, 1 should join, 1 should stay alone, and for 1 it is unclear."));
    let Some(seen) = chromium::open(&page, PRESS) else { return };
    assert_eq!(
        seen.title,
        "✓ join,○ unclear,✗ stay alone; up Zürich,client 1,client 0; down client 0,client 1,Zürich; first screen; headers true; errors: 0"
    );
    assert!(!seen.log.contains("CONSOLE"), "{}", seen.log);
}

/// On a narrow screen nothing reaches beyond the right edge, and every cell says what it is.
const NARROW: &str = r##"<script>
const said = [];
const wide = document.documentElement.clientWidth;
said.push("page " + (document.documentElement.scrollWidth <= wide));
const beyond = Array.from(document.querySelectorAll("main *")).filter((e) => e.offsetParent && !e.closest("details") && !e.closest("svg") && e.getBoundingClientRect().right > wide + 1);
said.push("beyond " + beyond.slice(0, 3).map((e) => e.tagName + "." + e.className).join(" "));
const cell = document.querySelector("#join .panel:not([hidden]) tbody td:nth-child(3)");
said.push("label " + cell.dataset.label + " " + getComputedStyle(cell, "::before").content);
const [name, advice] = Array.from(cell.parentElement.cells).map((c) => c.getBoundingClientRect());
said.push("one line " + (Math.abs(name.top - advice.top) < 4 && name.right <= advice.left && name.left >= 0 && advice.right <= wide));
const answer = document.querySelector("#verdict .answer").getBoundingClientRect();
said.push(answer.top > 0 && answer.bottom < 700 ? "first screen" : "below " + answer.bottom);
document.title = said.join("; ") + "; errors: " + errors.length;
parent.postMessage(document.title, "*");
</script>"##;

#[test]
fn at_four_hundred_pixels_nothing_scrolls_away() {
    let folder = tempfile::tempdir().unwrap();
    for screen in chromium::SCREENS.into_iter().filter(|screen| screen.narrow) {
        render(&[("join".into(), records(5))], folder.path()).unwrap();
        let Some(seen) = chromium::open_on(screen, &folder.path().join("report.html"), NARROW) else { return };
        assert_eq!(
            seen.title, "page true; beyond ; label gain, 95 % interval \"gain, 95 % interval\"; one line true; first screen; errors: 0",
            "{screen:?} {}",
            seen.log
        );
    }
}

/// The contrast of every text with what lies behind it, after WCAG: 4.5 is enough for small letters.
const CONTRAST: &str = r##"<script>
const light = (c) => { const v = c.match(/[\d.]+/g).slice(0, 3).map((x) => { const u = x / 255; return u <= 0.03928 ? u / 12.92 : Math.pow((u + 0.055) / 1.055, 2.4); }); return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
const behind = (e) => { for (let at = e; at; at = at.parentElement) { const c = getComputedStyle(at).backgroundColor; if (!/, 0\)$/.test(c) && c !== "transparent") return c; } return "rgb(255, 255, 255)"; };
const contrast = (e) => { const a = light(getComputedStyle(e).color), b = light(behind(e)); return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); };
const texts = Array.from(document.querySelectorAll("#verdict *, #join *")).filter((e) => e.offsetParent && !e.closest("svg") && Array.from(e.childNodes).some((n) => n.nodeType === 3 && n.textContent.trim()));
const worst = texts.map((e) => [contrast(e), e.tagName + "." + e.className]).sort((a, b) => a[0] - b[0])[0];
document.title = (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light") + (worst[0] >= 4.5 ? " readable" : " " + worst.join(" ")) + "; errors: " + errors.length;
parent.postMessage(document.title, "*");
</script>"##;

#[test]
fn light_and_dark_can_be_read() {
    for screen in chromium::SCREENS {
        let folder = tempfile::tempdir().unwrap();
        render(&[("join".into(), records(5))], folder.path()).unwrap();
        let Some(seen) = chromium::open_on(screen, &folder.path().join("report.html"), CONTRAST) else { return };
        let theme = if screen.dark { "dark" } else { "light" };
        assert_eq!(seen.title, format!("{theme} readable; errors: 0"), "{screen:?}");
    }
}
