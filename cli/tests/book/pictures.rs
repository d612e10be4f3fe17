//! The pictures of the explanations are made from real runs, or from the formulas beside them, and are still what these give.
//!
//! `WRITE=1 cargo test --workspace --test book pictures` draws them anew.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::canvas::{Canvas, MUTED, SERIES, TEXT};
use super::pages::root;

/// The experiment beside the page, and which of its figures is the picture.
const PICTURES: &[(&str, &str)] = &[
    ("personalisation", "over-alpha-test-loss"),
    ("flix", "gap-rounds"),
    ("scafflix", "gap-rounds"),
    ("meritfed", "test-excess-rounds"),
    ("local-update", "gap-rounds"),
    ("steps", "gap-rounds"),
    ("quadratic-theory", "over-step-distance"),
];

#[test]
fn pictures_are_what_the_runs_give_and_their_claims_hold() {
    for (name, figure) in PICTURES {
        let out = tempfile::tempdir().unwrap();
        run(name, out.path());
        keep(name, &fs::read_to_string(out.path().join(format!("figures/{figure}.svg"))).unwrap());
    }
}

#[test]
fn the_picture_of_verdicts_shows_the_advice_of_a_real_run() {
    let out = tempfile::tempdir().unwrap();
    let summary = run("verdicts", out.path());
    let verdicts = summary["verdict"].as_array().unwrap();
    let verdict = verdicts.iter().find(|verdict| verdict["metric"] == "test.brier").unwrap();
    let mut clients: Vec<&Value> = verdict["joining"]["clients"].as_array().unwrap().iter().collect();
    clients.sort_by(|a, b| gain(b)[1].total_cmp(&gain(a)[1]));
    for advice in ["join", "stay", "unclear"] {
        assert!(clients.iter().any(|client| client["advice"] == advice), "nobody has the advice {advice}");
    }
    let x = |gain: f64| 330.0 + 2600.0 * gain;
    let mut canvas = Canvas::new(760, 400);
    for tick in [-0.08, -0.04, 0.0, 0.04, 0.08] {
        canvas.grid((x(tick), 30.0), (x(tick), 340.0));
        canvas.words((x(tick), 362.0), "middle", MUTED, &tick.to_string());
    }
    canvas.line(&[(x(0.0), 30.0), (x(0.0), 340.0)], MUTED, "none");
    canvas.words((x(0.0), 386.0), "middle", TEXT, "gain in Brier's score: joining is worse ← 0 → joining is better");
    for (row, client) in clients.iter().enumerate() {
        let ([low, mean, high], y) = (gain(client), 52.0 + 38.0 * row as f64);
        let advice = client["advice"].as_str().unwrap();
        let colour = match advice {
            "join" => SERIES[0],
            "stay" => SERIES[1],
            _ => MUTED,
        };
        canvas.line(&[(x(low), y), (x(high), y)], colour, "none");
        canvas.dot((x(mean), y), colour);
        canvas.words((20.0, y + 5.0), "start", TEXT, client["client"].as_str().unwrap());
        canvas.words((740.0, y + 5.0), "end", colour, advice);
    }
    keep("verdicts", &canvas.svg("what each of eight clients gains by joining, with 95 % intervals, and the advice"));
}

/// Its lower end, mean and upper end.
fn gain(client: &Value) -> [f64; 3] {
    let gain = &client["gain"];
    [&gain["interval"][0], &gain["mean"], &gain["interval"][1]].map(|number| number.as_f64().unwrap())
}

#[test]
fn the_picture_of_scaling_follows_the_formulas_of_its_page() {
    // A model of 4 MB, ten clients of 10 ms for each rank, eight ranks on a node, 10 Gbit/s, 50 microseconds.
    let (bytes, bandwidth, latency) = (4e6, 1.25e9, 50e-6);
    let nodes = |ranks: f64| (ranks / 8.0).ceil();
    let replies = |ranks: f64| 10.0 * ranks * bytes;
    let terms: [(&str, &dyn Fn(f64) -> f64); 4] = [
        ("clients", &|_| 0.1),
        ("down", &|ranks| nodes(ranks).log2().ceil() * (latency + (bytes + 210.0 * ranks) / bandwidth)),
        ("up, replies read at rank 0", &|ranks| latency + replies(ranks) * (1.0 - 1.0 / nodes(ranks)) / bandwidth),
        ("up, sums on all ranks", &|_| 2.0 * latency + 81.0 * bytes / bandwidth),
    ];
    let (x, y) = (|ranks: f64| 70.0 + 60.0 * (ranks.log2() - 4.0), |seconds: f64| 60.0 - 64.0 * (seconds.log10() - 2.0));
    let mut canvas = Canvas::new(760, 440);
    for (power, word) in [(-3, "1 ms"), (-2, "10 ms"), (-1, "100 ms"), (0, "1 s"), (1, "10 s"), (2, "100 s")] {
        let level = y(10f64.powi(power));
        canvas.grid((70.0, level), (500.0, level));
        canvas.words((62.0, level + 5.0), "end", MUTED, word);
    }
    for ranks in [16.0, 64.0, 256.0, 1024.0] {
        canvas.words((x(ranks), 404.0), "middle", MUTED, &ranks.to_string());
    }
    canvas.words((280.0, 430.0), "middle", TEXT, "ranks, eight on each node");
    canvas.words((70.0, 30.0), "start", TEXT, "seconds of a round, by part: a model of 4 MB, ten clients for each rank");
    for (k, (name, seconds)) in terms.iter().enumerate() {
        let points: Vec<(f64, f64)> = (4..=10).map(|power| 2f64.powi(power)).map(|ranks| (x(ranks), y(seconds(ranks)))).collect();
        canvas.line(&points, SERIES[k], ["none", "9 4", "9 3 2 3", "4 3"][k]);
        canvas.dot(points[6], SERIES[k]);
        let (end, height) = points[6];
        canvas.words((end + 14.0, height + if k == 3 { -4.0 } else { 8.0 }), "start", SERIES[k], name);
    }
    // The table of the page, for 1,000 ranks.
    assert!((terms[2].1(1000.0) - 32.0).abs() < 0.5 && (terms[3].1(1000.0) - 0.26).abs() < 0.005);
    keep("scaling", &canvas.svg("seconds of each part of a round against the number of ranks"));
}

#[test]
fn the_picture_of_same_bits_adds_real_numbers() {
    let replies = [("client 1", 0.1), ("client 2", 0.2), ("client 3", 0.3)];
    let sum = |order: [usize; 3]| order.iter().map(|k| replies[*k].1).fold(0.0, |sum: f64, reply| sum + reply);
    let days = [("one day", [0, 1, 2]), ("another day", [2, 1, 0])];
    assert_ne!(sum(days[0].1), sum(days[1].1), "the order does not matter for these numbers");
    let mut canvas = Canvas::new(760, 300);
    canvas.words((20.0, 30.0), "start", TEXT, "replies arrive");
    canvas.words((380.0, 30.0), "start", TEXT, "added as they arrive");
    canvas.words((570.0, 30.0), "start", TEXT, "added as they were asked");
    for (row, (day, order)) in days.iter().enumerate() {
        let top = 70.0 + 120.0 * row as f64;
        canvas.words((20.0, top), "start", MUTED, day);
        canvas.grid((20.0, top + 30.0), (350.0, top + 30.0));
        for (place, &k) in order.iter().enumerate() {
            let at = 60.0 + 115.0 * place as f64;
            canvas.dot((at, top + 30.0), SERIES[k]);
            canvas.words((at, top + 56.0), "middle", SERIES[k], &format!("{}: {}", replies[k].0, replies[k].1));
        }
        canvas.words((380.0, top + 35.0), "start", TEXT, &sum(*order).to_string());
        canvas.words((570.0, top + 35.0), "start", SERIES[0], &sum([0, 1, 2]).to_string());
    }
    canvas.words((20.0, 285.0), "start", MUTED, "Both columns are sums of 0.1, 0.2 and 0.3 in double precision.");
    keep("same-bits", &canvas.svg("three replies that arrive in two orders, and their sums"));
}

/// Runs the experiment beside a page; what came of it. Its claims hold.
fn run(name: &str, records: &Path) -> Value {
    let file = root().join(format!("docs/explanation/{name}.toml"));
    let mut motet = Command::new(env!("CARGO_BIN_EXE_motet"));
    let output = motet.arg("run").arg(&file).arg("--quiet").arg("--overwrite").arg("--out").arg(records).output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    let summary: Value = serde_json::from_slice(&fs::read(records.join("summary.json")).unwrap()).unwrap();
    for claim in summary["claims"].as_array().into_iter().flatten() {
        assert_eq!(claim["holds"], true, "{name}: {}", claim["claim"]);
    }
    summary
}

/// The picture as it must be; `WRITE=1` makes it so.
fn keep(name: &str, drawn: &str) {
    let picture = root().join(format!("docs/pictures/{name}.svg"));
    if std::env::var_os("WRITE").is_some() {
        fs::write(&picture, drawn).unwrap();
    }
    let shown = fs::read_to_string(&picture).unwrap_or_default();
    assert!(shown == drawn, "docs/pictures/{name}.svg is old: WRITE=1 cargo test --workspace --test book pictures");
}
