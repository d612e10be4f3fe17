//! Records made by hand.

use motet_core::{Outcome, Row, UpDown};
use motet_records::{ClientRow, ProblemCard, Records, RunCard, RunSummary, Summary, Verdict};
use motet_report::claims::{NamedClaim, judge};
use serde_json::{Value, json};

/// Adds a run of `rounds` rounds whose metrics are functions of the round.
pub(crate) struct Made(pub(crate) Records);

pub(crate) type Metric<'m> = (&'m str, &'m dyn Fn(f64) -> f64);

impl Made {
    pub(crate) fn new() -> Self {
        let mut records = Records::default();
        records.manifest.problems =
            vec![ProblemCard { about: "mushrooms, 8 clients".into(), clients: 8, dim: 20, ..ProblemCard::default() }];
        records.summary = Some(Summary::default());
        Self(records)
    }

    pub(crate) fn run(&mut self, method: &str, params: Value, seed: u64, rounds: u64, metrics: &[Metric<'_>]) -> &mut Self {
        let run = self.0.manifest.runs.len();
        let Value::Object(params) = params else { panic!("parameters are a table") };
        let shown = params.iter().map(|(k, v)| format!(" {k}={}", v.to_string().replace('"', "")));
        let label = std::iter::once(method.to_string()).chain(shown).collect::<String>();
        let card = RunCard { run, label, method: method.into(), params, seed, ..RunCard::default() };
        for round in 0..=rounds {
            let metrics = metrics.iter().map(|(name, f)| (name.to_string(), f(round as f64))).collect();
            let bits = UpDown { up: 64 * 20 * round, down: 0 };
            self.0.rows.push(Row { run, round, metrics, bits, gradients: 100 * round, ..Row::default() });
        }
        self.0.summary.as_mut().expect("made with one").runs.push(summary(&card, rounds));
        self.0.manifest.runs.push(card);
        self
    }

    /// How the last run ended.
    pub(crate) fn ended(&mut self, outcome: Outcome) -> &mut Self {
        self.0.summary.as_mut().and_then(|s| s.runs.last_mut()).expect("a run").outcome = outcome;
        self
    }

    pub(crate) fn client(&mut self, client: u32, metric: &str, value: f64) -> &mut Self {
        let run = self.0.manifest.runs.len() - 1;
        self.0.clients.push(ClientRow {
            run,
            client,
            name: None,
            examples: 1,
            metrics: [(metric.to_string(), value)].into(),
            ..ClientRow::default()
        });
        self
    }

    pub(crate) fn judge(&self, text: &str) -> Verdict {
        self.try_judge(text).unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) fn try_judge(&self, text: &str) -> Result<Verdict, motet_report::claims::ClaimError> {
        let claim = NamedClaim { name: "it".into(), text: text.into(), ..NamedClaim::default() };
        judge(&[claim], &self.0).map(|mut verdicts| verdicts.remove(0))
    }

    /// Each claim with what it should be.
    pub(crate) fn table(&self, claims: &[(&str, bool)]) {
        for (text, holds) in claims {
            let verdict = self.judge(text);
            assert_eq!(verdict.holds, *holds, "{text}: {verdict:?}");
            assert_eq!(verdict.reason.is_none(), *holds && !verdict.undecided, "{text}: {verdict:?}");
        }
    }
}

fn summary(card: &RunCard, rounds: u64) -> RunSummary {
    let (last, best) = Default::default();
    RunSummary {
        label: card.label.clone(),
        method: card.method.clone(),
        params: card.params.clone(),
        seed: card.seed,
        rounds,
        outcome: Outcome::Finished,
        last,
        best,
        bits: UpDown::default(),
        bytes: UpDown::default(),
        messages: vec![],
        gradients: 0,
        seconds: 0.0,
        digest: String::new(),
    }
}

pub(crate) const ALPHAS: [f64; 4] = [1.0, 0.1, 0.01, 0.001];

/// As Figure 2 of FLIX: gap(a, k) = a² 10^(-k/20); Scafflix four times as fast.
pub(crate) fn flix_and_scafflix() -> Made {
    let mut made = Made::new();
    for alpha in ALPHAS {
        let gap = move |k: f64| alpha * alpha * 10f64.powf(-k / 20.0);
        made.run("flix", json!({"alpha": alpha, "step": "theory"}), 1, 200, &[("gap", &gap)]);
        let fast = move |k: f64| alpha * alpha * 10f64.powf(-k / 5.0);
        made.run("scafflix", json!({"alpha": alpha, "p": 0.2}), 1, 200, &[("gap", &fast)]);
    }
    made
}
