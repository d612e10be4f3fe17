//! Records as a real experiment leaves them, from a formula: several α, three seeds, two hundred rounds.

use motet_core::{Metrics, Outcome, Promise, Row, UpDown};
use motet_records::{ClientRow, Input, Manifest, ProblemCard, Records, RunCard, RunSummary, Status, Summary, Verdict};
use serde_json::json;

const ROUNDS: u64 = 200;
const CLIENTS: u32 = 24;
const ALPHAS: [f64; 6] = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0];
const SEEDS: [u64; 3] = [1, 2, 3];

/// A whole experiment: `local`, and `flix` over a grid of α.
pub(crate) fn records() -> Records {
    let mut records = Records { manifest: manifest(), ..Records::default() };
    let mut summary = Summary { experiment: "demo".into(), runs: vec![], claims: claims(), ..Summary::default() };
    for seed in SEEDS {
        for alpha in ALPHAS {
            let card = card(records.manifest.runs.len(), alpha, seed);
            let rows: Vec<Row> = (0..=ROUNDS).map(|round| row(&card, alpha, round)).collect();
            summary.runs.extend(rows.last().map(|last| finished(&card, last)));
            records.clients.extend((0..CLIENTS).map(|client| client_row(&card, alpha, client)));
            records.rows.extend(rows);
            records.manifest.runs.push(card);
        }
    }
    records.summary = Some(summary);
    records
}

fn manifest() -> Manifest {
    let about = "synthetic softmax family, 24 clients, heterogeneity 0.6, 10 classes, l2 = 0.01".into();
    let problem = ProblemCard {
        about,
        clients: u64::from(CLIENTS),
        dim: 610,
        examples: 12_480,
        smoothness: Some([0.61, 0.842, 1.37]),
        convexity: Some([0.01, 0.01, 0.01]),
        groups: vec![],
        ..ProblemCard::default()
    };
    Manifest {
        motet: "0.1.0".into(),
        experiment: "demo: one model for all, own models, or a mixture".into(),
        resolved: json!({"name": "demo", "seeds": SEEDS, "run": {"rounds": ROUNDS}, "method": [{"kind": "flix", "alpha": {"grid": ALPHAS}}]}),
        inputs: vec![Input { name: "mushrooms.xz".into(), bytes: 53_100, sha256: "5d2fb8a05f7f4ea21c8e3d1b9c0a7766".into() }],
        problems: vec![problem],
        ..Manifest::default()
    }
}

fn card(run: usize, alpha: f64, seed: u64) -> RunCard {
    let local = alpha == 0.0;
    let promise = Promise {
        metric: "gap".into(),
        initial: None,
        factor: if local { 0.0 } else { 1.0 - 0.05 - 0.05 * alpha },
        floor: 0.0,
        source: "FLIX, Theorem 2".into(),
        ..Promise::default()
    };
    let params = if local { json!({"tolerance": 1e-6}) } else { json!({"alpha": alpha, "step": "theory", "start": "zeros"}) };
    RunCard {
        run,
        label: if local { "local".into() } else { format!("flix α = {alpha}") },
        method: if local { "local".into() } else { "flix".into() },
        params: params.as_object().cloned().unwrap_or_default(),
        seed,
        promise: (!local).then_some(promise),
        ..RunCard::default()
    }
}

/// Noise in [−1, 1], the same every time.
fn noise(a: u64, b: u64, c: u64) -> f64 {
    let mut z = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ c.wrapping_mul(0x94d0_49bb_1331_11eb);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// Own models overfit, one for all underfits: the sum is least in between.
fn test_loss(alpha: f64) -> f64 {
    0.31 + 0.34 * (1.0 - alpha).powi(2) + 0.42 * alpha.powi(2)
}

fn row(card: &RunCard, alpha: f64, round: u64) -> Row {
    let local = alpha == 0.0;
    let spread = 1.0 + 0.25 * noise(card.seed, 7, (alpha * 10.0) as u64);
    let decay = if local { 0.0 } else { (1.0 - 0.08 - 0.06 * alpha + 0.004 * noise(card.seed, 3, 1)).powf(round as f64) };
    let rounding = 2e-16 * noise(card.seed, round, (alpha * 10.0) as u64);
    let gap = 1.8 * alpha * alpha * spread * decay + rounding;
    let loss = 0.12 + 0.3 * alpha * alpha + gap;
    let test = test_loss(alpha) * (1.0 + 0.03 * noise(card.seed, 5, (alpha * 10.0) as u64)) + 0.7 * alpha * decay;
    let mut metrics = Metrics::new();
    for (name, value) in [
        ("gap", gap),
        ("distance", 2.1 * gap.abs()),
        ("loss", loss),
        ("test.loss", test),
        ("test.loss.worst", 1.7 * test),
        ("test.loss.weighted", 0.97 * test),
        ("test.accuracy", 1.0 - 0.32 * test),
    ] {
        if !(local && matches!(name, "gap" | "distance")) {
            metrics.insert(name.into(), value);
        }
    }
    let sent = if local { 0 } else { u64::from(CLIENTS) * round * 610 * 64 };
    let carried = if local { 0 } else { sent / 8 + 40 * round };
    Row {
        run: card.run,
        round,
        metrics,
        bits: UpDown { up: sent, down: sent },
        bytes: UpDown { up: carried, down: carried },
        gradients: 1_100_000 + 12_480 * if local { 0 } else { round },
        attempts: 1,
        notes: Metrics::new(),
        seconds: Some(0.4 + 0.011 * round as f64),
        ..Row::default()
    }
}

fn finished(card: &RunCard, last: &Row) -> RunSummary {
    RunSummary {
        label: card.label.clone(),
        method: card.method.clone(),
        params: card.params.clone(),
        seed: card.seed,
        rounds: last.round,
        outcome: Outcome::Finished,
        last: last.metrics.clone(),
        best: last.metrics.clone(),
        bits: last.bits,
        bytes: last.bytes,
        messages: vec![],
        gradients: last.gradients,
        seconds: last.seconds.unwrap_or_default(),
        digest: format!("{:016x}{:016x}", 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(card.run as u64 + 1), card.seed),
    }
}

fn client_row(card: &RunCard, alpha: f64, client: u32) -> ClientRow {
    let odd = 1.0 + 0.7 * noise(u64::from(client), 11, 0); // how unlike the others the client is
    let few = 1.0 + 0.6 * noise(u64::from(client), 13, 0); // how little data it has
    let wobble = 1.0 + 0.02 * noise(card.seed, u64::from(client), (alpha * 10.0) as u64);
    let loss = (0.31 + 0.34 * few * (1.0 - alpha).powi(2) + 0.42 * odd * alpha.powi(2)) * wobble;
    let metrics = [("test.loss", loss), ("test.accuracy", 1.0 - 0.32 * loss), ("loss", 0.12 + 0.3 * alpha * alpha)];
    ClientRow {
        run: card.run,
        client,
        name: None,
        examples: (520.0 / few) as u64,
        metrics: metrics.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        ..ClientRow::default()
    }
}

fn claims() -> Vec<Verdict> {
    let claim = |claim: &str, text: &str, holds, value, bound, status, reason: Option<&str>| Verdict {
        claim: claim.into(),
        text: text.into(),
        holds,
        value: Some(value),
        bound: Some(bound),
        status,
        reason: reason.map(String::from),
        ..Verdict::default()
    };
    vec![
        claim("1 interior optimum", "best(flix, test.loss) <= 0.8 * final(local, test.loss)", true, 0.4906, 0.52, Status::Must, None),
        claim(
            "2 slope",
            "abs(slope(flix, alpha=1) - slope(flix, alpha=0.2)) <= 0.05",
            false,
            0.061,
            0.05,
            Status::May,
            Some("seed 2: 0.061 is above 0.05 by 22 %"),
        ),
        claim(
            "3 fewer rounds",
            "rounds_to(flix, alpha=0.2, gap=1e-6) <= rounds_to(flix, alpha=1, gap=1e-6) / 3",
            false,
            121.0,
            34.0,
            Status::Must,
            Some("121 rounds, where at most 34 were claimed"),
        ),
    ]
}
