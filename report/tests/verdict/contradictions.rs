//! Headline, "should I join?", client tables and `summary.json` cannot contradict each other, whatever the records hold.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use motet_core::{Metrics, Outcome};
use motet_records::{ClientRow, Manifest, ProblemCard, Records, RightRows, RunCard, RunSummary, Summary};
use motet_report::verdict::{Advice, Contest, Verdict, of_records, written};
use motet_report::{Comparison, OUTPUTS};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::json;

/// What random records are made of.
#[derive(Clone, Debug)]
struct Plan {
    /// How many draws, and what ties them together: 0 the same data, 1 new rows of the same clients, 2 other clients.
    draws: usize,
    tie: u8,
    clients: u32,
    /// Method, α, quality, and in which draw it diverges, if any.
    methods: Vec<(u8, f64, f64, Option<usize>)>,
    validation: bool,
    noise: f64,
    seed: u64,
}

fn plans() -> impl Strategy<Value = Plan> {
    let method = (0u8..4, prop_oneof![Just(0.0), Just(0.5), Just(0.7), Just(1.0)], -0.1f64..0.1, prop::option::weighted(0.1, 0usize..5));
    let methods = prop::collection::vec(method, 1..6);
    (1usize..6, 0u8..3, 1u32..5, methods, any::<bool>(), prop_oneof![Just(0.001), Just(0.05), Just(0.5)], any::<u64>())
        .prop_map(|(draws, tie, clients, methods, validation, noise, seed)| Plan { draws, tie, clients, methods, validation, noise, seed })
}

fn records(plan: &Plan) -> Records {
    let card = |draw: usize| ProblemCard {
        about: "made up".into(),
        clients: plan.clients.into(),
        dim: 3,
        examples: 60,
        tested: 30,
        data: if plan.tie == 0 { "data".into() } else { format!("data {draw}") },
        people: if plan.tie < 2 { "people".into() } else { format!("people {draw}") },
        convexity: Some([0.1; 3]),
        ..ProblemCard::default()
    };
    let mut records = Records {
        manifest: Manifest { experiment: "made up".into(), problems: (0..plan.draws).map(card).collect(), ..Manifest::default() },
        ..Records::default()
    };
    let mut summary = Summary { experiment: "made up".into(), ..Summary::default() };
    let mut dice = motet_core::Seed(plan.seed).problem(1);
    for (at, (kind, alpha, quality, fault)) in plan.methods.iter().enumerate() {
        let method = ["local", "flix", "fedavg", "scaffold"][*kind as usize];
        for draw in 0..plan.draws {
            let run = records.manifest.runs.len();
            let mut params = serde_json::Map::new();
            if method == "flix" {
                params.insert("alpha".into(), json!(alpha));
            }
            params.insert("step".into(), json!(at));
            let label = format!("{method} alpha={alpha} step={at}");
            let card = RunCard {
                run,
                label: label.clone(),
                method: method.into(),
                params: params.clone(),
                problem: draw,
                seed: draw as u64,
                ..RunCard::default()
            };
            let diverged = *fault == Some(draw);
            for client in 0..plan.clients {
                let value = 0.5 + quality + plan.noise * dice.normal();
                let right: Vec<bool> = (0..50).map(|_| dice.unit() < 0.5 - quality).collect();
                let accuracy = right.iter().filter(|r| **r).count() as f64 / 50.0;
                let mut metrics = Metrics::from([("test.loss".to_owned(), value), ("test.accuracy".to_owned(), accuracy)]);
                if plan.validation {
                    metrics.insert("validation.loss".into(), value + plan.noise * dice.normal());
                }
                if diverged {
                    metrics.values_mut().for_each(|v| *v = -1e9); // however well a run does before it breaks
                }
                let name = Some(format!("hospital {client}"));
                records.clients.push(ClientRow { run, client, name, examples: 60, tested: 50, right: Some(RightRows(right)), metrics });
            }
            summary.runs.push(RunSummary {
                label,
                method: method.into(),
                params,
                seed: draw as u64,
                rounds: 10,
                outcome: if diverged { Outcome::Diverged { round: 3, client: None } } else { Outcome::Finished },
                last: Metrics::new(),
                best: Metrics::new(),
                bits: Default::default(),
                bytes: Default::default(),
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

/// Fails where one place denies what another says.
fn agree(plan: &Plan, verdicts: &[Verdict], page: &str, json: &[serde_json::Value]) -> Result<(), TestCaseError> {
    prop_assert!(!verdicts.is_empty() && verdicts.len() == json.len());
    for (verdict, json) in verdicts.iter().zip(json) {
        // The page says what the verdict says, sentence by sentence, and the summary has the same winner and the same advice.
        for said in [Some(verdict.headline()), Some(verdict.numbers()), verdict.federation(), verdict.clients()].into_iter().flatten() {
            let escaped = said.replace('&', "&amp;").replace('\'', "&#39;");
            prop_assert!(page.contains(&said) || page.contains(&escaped), "{}", said);
        }
        prop_assert_eq!(json["contest"]["way"].as_str(), verdict.winner());
        let told = json["joining"]["clients"].as_array().into_iter().flatten();
        let told: Vec<_> = told.map(|client| (client["client"].as_str(), client["advice"].as_str())).collect();
        let word = |advice| match advice {
            Advice::Join => "join",
            Advice::Stay => "stay",
            Advice::Unclear => "unclear",
        };
        let clients = verdict.joining.iter().flat_map(|joining| &joining.clients);
        let found: Vec<_> = clients.map(|client| (Some(client.client.as_str()), Some(word(client.advice)))).collect();
        prop_assert_eq!(told, found);
        prop_assert_eq!(json["joining"]["advice"].as_str(), verdict.joining.as_ref().map(|joining| word(joining.advice)));
        // A winner is shown to be better than everybody else, and who diverged is none.
        if let Contest::Winner { way } = &verdict.contest {
            prop_assert_eq!(&verdict.ways[0].way, way);
            for other in &verdict.ways[1..] {
                let behind = other.behind.as_ref().unwrap();
                prop_assert!(behind.interval.unwrap()[0] > 0.0 && behind.p.unwrap() < 0.05);
                let least = 0.01 * if verdict.metric == "test.accuracy" { 1.0 - other.value } else { other.value.abs() };
                prop_assert!(behind.mean >= least * (1.0 - 1e-9), "{} wins by {}, less than {least}", way, behind.mean);
            }
            prop_assert!(!verdict.excluded.iter().any(|out| out.who == *way));
        }
        prop_assert!(verdict.ways.iter().all(|way| way.value > -1.0), "a value of a run that diverged counts");
        let Some(joining) = &verdict.joining else { continue };
        // Own models win exactly if all are told to stay; a joint winner means that joining pays.
        let alone_wins = verdict.winner().is_some_and(|winner| verdict.ways.iter().any(|way| way.way == winner && way.alone));
        prop_assert_eq!(alone_wins, joining.advice == Advice::Stay);
        if verdict.winner().is_some() && !alone_wins {
            prop_assert_eq!(joining.advice, Advice::Join);
        }
        if let (Contest::NoClearDifference { ways }, Advice::Join) = (&verdict.contest, joining.advice) {
            let open = |name: &String| verdict.ways.iter().any(|way| way.way == *name && way.alone);
            prop_assert!(!ways.iter().any(open), "own models cannot be as good where joining pays");
        }
        // Clients are counted once each, and their advice follows their interval.
        let counts = [Advice::Join, Advice::Stay, Advice::Unclear].map(|advice| joining.count(advice));
        prop_assert_eq!(counts.iter().sum::<usize>(), joining.clients.len());
        prop_assert!(joining.clients.len() <= plan.clients as usize);
        for client in &joining.clients {
            prop_assert!(client.client.starts_with("hospital "));
            let sign = client.gain.sign_with(client.adjusted_p);
            prop_assert_eq!(
                client.advice,
                match sign {
                    1 => Advice::Join,
                    -1 => Advice::Stay,
                    _ => Advice::Unclear,
                }
            );
            prop_assert!(client.adjusted_p.is_none() || client.adjusted_p >= client.gain.p);
            if sign != 0 {
                let [low, high] = client.gain.interval.unwrap();
                let error = if verdict.metric == "test.accuracy" { 1.0 - client.alone } else { client.alone.abs() };
                prop_assert!(client.gain.mean.abs() >= 0.01 * error * (1.0 - 1e-9), "a difference that does not matter");
                prop_assert!(low * high > 0.0 && (client.gain.mean > 0.0) == (sign > 0));
            }
        }
        // All clients together are the mean of the clients, and of all test rows on one split.
        if !joining.clients.is_empty() {
            let mean = joining.clients.iter().map(|client| client.gain.mean).sum::<f64>() / joining.clients.len() as f64;
            prop_assert!((mean - joining.gain.mean).abs() < 1e-9, "{mean} {}", joining.gain.mean);
        }
    }
    Ok(())
}

/// Verdicts, page and summary as they come from records.
fn said(plan: &Plan) -> Result<(Vec<Verdict>, String, Vec<serde_json::Value>), TestCaseError> {
    let folders = [("made up".to_owned(), records(plan))];
    let verdicts = of_records(&folders);
    let comparison = Comparison::new(&folders);
    prop_assert_eq!(&verdicts[..], comparison.verdicts(), "page and summary have one computation");
    let page = OUTPUTS.iter().find(|output| output.name == "html").map(|html| (html.files)(&comparison)[0].content.clone()).unwrap();
    let json = written(&verdicts);
    Ok((verdicts, page, json))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn what_is_said_in_one_place_is_not_denied_in_another(plan in plans()) {
        let (verdicts, page, json) = said(&plan)?;
        agree(&plan, &verdicts, &page, &json)?;
    }
}

/// Four draws of new rows in which a mixture is better by far for everybody.
fn clear() -> Plan {
    let methods = vec![(0, 0.0, 0.1, None), (1, 0.5, -0.1, None)];
    Plan { draws: 4, tie: 1, clients: 4, methods, validation: true, noise: 0.001, seed: 1 }
}

#[test]
fn a_place_that_was_doctored_is_found_out() {
    let plan = clear();
    let (verdicts, page, json) = said(&plan).unwrap();
    agree(&plan, &verdicts, &page, &json).unwrap();
    assert!(verdicts[0].winner().is_some() && verdicts[0].joining.as_ref().unwrap().count(Advice::Join) == 4);
    // The summary names another winner, or advises a client otherwise.
    let mut doctored = json.clone();
    doctored[0]["contest"]["way"] = "own models".into();
    assert!(agree(&plan, &verdicts, &page, &doctored).is_err());
    let mut doctored = json.clone();
    doctored[0]["joining"]["clients"][2]["advice"] = "stay".into();
    assert!(agree(&plan, &verdicts, &page, &doctored).is_err());
    // The page has another headline, or counts clients otherwise.
    for said in [verdicts[0].headline(), verdicts[0].clients().unwrap()] {
        assert!(agree(&plan, &verdicts, &page.replace(&said, ""), &json).is_err(), "{said}");
    }
    // The verdict itself: own models win although everybody is told to join, an advice without its interval, a mean that is not the clients'.
    let doctor = |change: fn(&mut Verdict)| {
        let mut verdicts = verdicts.clone();
        change(&mut verdicts[0]);
        agree(&plan, &verdicts, &page, &written(&verdicts)).is_err()
    };
    assert!(doctor(|verdict| verdict.contest = Contest::Winner { way: "own models".into() }));
    assert!(doctor(|verdict| verdict.joining.as_mut().unwrap().clients[0].gain.interval = Some([-0.1, 0.5])));
    assert!(doctor(|verdict| verdict.joining.as_mut().unwrap().clients[0].advice = Advice::Stay));
    assert!(doctor(|verdict| verdict.joining.as_mut().unwrap().gain.mean *= 2.0));
    assert!(doctor(|verdict| verdict.ways[0].value = -1e9));
}
