//! "Should I join?": the advice follows the paired intervals, and the page shows it for each client.

mod chromium;

use std::fs;

use motet_core::{Outcome, UpDown};
use motet_records::{ClientRow, Manifest, ProblemCard, Records, RunCard, RunSummary, Summary};
use motet_report::{Advice, Comparison, Way, candidates, render};
use serde_json::json;

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
                records.clients.push(ClientRow { run, client, name: (client == 2).then(|| "Zürich".into()), examples: 40, metrics, ..ClientRow::default() });
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
    let folders = [("join".to_owned(), records(5))];
    let all = candidates(&Comparison::new(&folders), "test.loss");
    assert_eq!(all.iter().map(|c| c.advice()).collect::<Vec<_>>(), [Advice::Join(Way::Mixture), Advice::NoEvidence, Advice::Stay]);
    let offers = &all[0].offers;
    assert_eq!(offers.iter().map(|o| o.way).collect::<Vec<_>>(), [Way::Alone, Way::Together, Way::Mixture]);
    // Unpaired, the splits differ by up to 0.8 and nothing would be seen.
    let gain = offers[2].gain.unwrap();
    assert!((gain.mean - 0.2).abs() < 1e-12 && gain.half.unwrap() < 0.05, "{gain:?}");
    assert_eq!((offers[0].sent, offers[2].sent), (0.0, 1000.0));
}

#[test]
fn seeds_on_one_split_are_no_evidence_about_others() {
    let folders = [("join".to_owned(), records(1))];
    let all = candidates(&Comparison::new(&folders), "test.loss");
    assert!(all.iter().all(|c| c.advice() == Advice::OneSplit && c.splits == 1));
}

#[test]
fn the_page_shows_each_client_in_a_browser() {
    let folder = tempfile::tempdir().unwrap();
    render(&[("join".into(), records(5))], folder.path()).unwrap();
    let page = folder.path().join("report.html");
    let text = fs::read_to_string(&page).unwrap();
    assert!(text.contains("<td class=\"word\">Zürich</td>"), "clients go by their names");
    assert!(text.contains("Should I join?") && text.contains("1 of 3 clients gain by joining, 1 lose, and for 1 there is no evidence"));
    let press = r##"<script>
const shown = () => Array.from(document.querySelectorAll("#join .panel")).filter((p) => !p.hidden);
const said = [shown().length];
const choose = (client) => document.querySelector('#join button[value="' + client + '"]').click();
for (const client of ["0", "1", "2"]) { choose(client); said.push(shown().map((p) => p.querySelector(".badge").textContent)); }
document.title = said.join("; ") + "; errors: " + errors.length;
</script>"##;
    let Some(seen) = chromium::open(&page, press) else { return };
    assert_eq!(seen.title, "1; ✓ join: mixture; ○ no evidence; ✗ stay alone; errors: 0");
    assert!(!seen.log.contains("CONSOLE"), "{}", seen.log);
}
