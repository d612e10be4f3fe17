//! Which treatment the records get, and what is said where evidence is missing.

use motet_report::verdict::{Advice, Choice, Contender, Contest, Design, Missing, Score, Study, Worth, judge};

fn score(draw: usize, client: usize, validation: Option<f64>, test: f64) -> Score {
    Score { draw, client, validation, test, right: None }
}

fn contender(label: &str, way: &str, alone: bool, scores: Vec<Score>) -> Contender {
    Contender { label: label.into(), way: way.into(), alone, scores, ..Contender::default() }
}

fn study(design: Design, draws: usize, contenders: Vec<Contender>) -> Study {
    let clients = ["Basel", "Bern"].map(String::from).to_vec();
    Study { metric: "test.loss".into(), chosen_by: Some("validation.loss".into()), design, draws, clients, contenders, ..Study::default() }
}

const DRAWS: Design = Design::Independent { same_clients: true };

/// Four draws of one client around a value.
fn around(value: f64, validation: f64) -> Vec<Score> {
    (0..4).map(|draw| score(draw, 0, Some(validation), value + 0.01 * (draw as f64 - 1.5))).collect()
}

#[test]
fn settings_are_chosen_on_validation_data_and_judged_on_test_data() {
    // The first setting is best on test data; validation data choose the second.
    let lucky = around(0.1, 0.9);
    let chosen = around(0.6, 0.2);
    let verdict = judge(&study(
        DRAWS,
        4,
        vec![
            contender(
                "local",
                "own models",
                true,
                around(0.5, 0.5).into_iter().map(|s| Score { test: s.test * s.test + 0.24, ..s }).collect(),
            ),
            contender("flix a", "flix", false, lucky),
            contender("flix b", "flix", false, chosen),
        ],
    ));
    assert_eq!(verdict.choice, Choice::Validation);
    let flix = verdict.ways.iter().find(|way| way.way == "flix").unwrap();
    assert_eq!((flix.settings[0].label.as_str(), flix.settings[0].times), ("flix b", 4));
    assert!((flix.value - 0.6).abs() < 1e-12);
    assert!(verdict.grounds().contains("chosen on validation data and judged on test data"));
}

#[test]
fn without_validation_data_the_choice_sees_other_draws_and_its_flattery_is_told() {
    // Each setting is lucky in one draw. Chosen on its own draw, the best would always seem to be 0.
    let setting = |k: usize| (0..4).map(|draw| score(draw, 0, None, if draw == k { 0.0 } else { 1.0 + 0.01 * draw as f64 })).collect();
    let all = (0..4).map(|k| contender(&format!("s{k}"), "flix", false, setting(k))).collect();
    let verdict = judge(&study(DRAWS, 4, all));
    assert_eq!(verdict.choice, Choice::OtherDraws);
    let way = &verdict.ways[0];
    // In no draw is the lucky setting taken: the others were better elsewhere.
    assert!(way.value > 0.9, "{}", way.value);
    assert!((way.flattery.unwrap() - 1.0).abs() < 0.05, "{:?}", way.flattery);
    assert!(verdict.grounds().contains("saw the test data of the other draws"), "{}", verdict.grounds());
    assert!(verdict.grounds().contains("looks better there than in the others"), "{}", verdict.grounds());
}

#[test]
fn who_diverged_in_one_draw_does_not_win_and_is_named() {
    let short = around(0.1, 0.1).into_iter().filter(|s| s.draw != 2).collect();
    let diverged = Contender { fault: Some("diverged in round 3 (seed 3)".into()), ..contender("fedavg", "fedavg", false, short) };
    let verdict = judge(&study(DRAWS, 4, vec![contender("local", "own models", true, around(0.5, 0.5)), diverged]));
    assert_eq!(verdict.contest, Contest::NoContest);
    assert!(verdict.excluded.iter().any(|out| out.who == "fedavg" && out.why.contains("round 3")), "{:?}", verdict.excluded);
    assert!(verdict.joining.is_none());
}

#[test]
fn one_split_has_an_exact_test_from_forty_rows_on() {
    let models = |rows: usize, right: usize| {
        let score = |client: usize, right: usize| Score {
            client,
            test: right as f64 / rows as f64,
            right: Some((0..rows).map(|row| row < right).collect()),
            ..Score::default()
        };
        [score(0, rows / 2), score(0, right)]
    };
    let judged = |rows: usize, right: usize| {
        let [alone, joined] = models(rows, right);
        let contenders = vec![contender("local", "own models", true, vec![alone]), contender("fedavg", "fedavg", false, vec![joined])];
        judge(&Study { metric: "test.accuracy".into(), chosen_by: None, ..study(Design::OneSplit, 1, contenders) })
    };
    let enough = judged(40, 30).joining.unwrap();
    assert_eq!((enough.advice, enough.clients[0].advice), (Advice::Join, Advice::Join));
    assert!((enough.gain.mean - 0.25).abs() < 1e-12 && enough.gain.interval.unwrap()[0] > 0.0);
    // Five rows of forty: 2/32 is no evidence.
    assert_eq!(judged(40, 25).joining.unwrap().clients[0].advice, Advice::Unclear);
    let few = judged(38, 38);
    assert_eq!(few.joining.as_ref().unwrap().clients[0].gain.missing, Some(Missing::TooFewRows));
    assert!(few.clients().unwrap().contains("fewer than 40 test rows"), "{:?}", few.clients());
    assert!(few.winner().is_none());
}

#[test]
fn a_choice_on_the_very_rows_pays_for_every_setting_it_tried() {
    let rows =
        |right: usize| Score { test: right as f64 / 100.0, right: Some((0..100).map(|row| row < right).collect()), ..Score::default() };
    let tried = |settings: usize| {
        let mut all = vec![contender("local", "own models", true, vec![rows(50)])];
        all.extend((0..settings).map(|k| contender(&format!("s{k}"), "flix", false, vec![rows(57 - k)])));
        judge(&Study { metric: "test.accuracy".into(), chosen_by: None, ..study(Design::OneSplit, 1, all) })
    };
    // 7 of 7 rows: 2/128 for one setting, four times that for four.
    let (one, four) = (tried(1).joining.unwrap().gain, tried(4).joining.unwrap().gain);
    assert!((four.p.unwrap() - 4.0 * one.p.unwrap()).abs() < 1e-12);
    assert!(four.interval.unwrap()[0] < one.interval.unwrap()[0]);
    assert!(tried(4).grounds().contains("saw the test rows themselves"));
}

#[test]
fn clients_of_their_own_in_every_draw_get_no_advice_one_by_one() {
    let scores = |base: f64| {
        (0..4)
            .flat_map(|draw| (0..2).map(move |client| score(draw, client, Some(base), base + 0.01 * (draw + client) as f64 * base)))
            .collect()
    };
    let all = vec![contender("local", "own models", true, scores(0.5)), contender("fedavg", "fedavg", false, scores(0.3))];
    let verdict = judge(&study(Design::Independent { same_clients: false }, 4, all));
    let joining = verdict.joining.as_ref().unwrap();
    assert!(joining.clients.is_empty() && joining.advice == Advice::Join);
    assert!(verdict.clients().is_none() && verdict.grounds().contains("nothing is said about single clients"));
}

#[test]
fn who_serves_one_client_only_is_an_offer_to_it_and_no_rival_for_all() {
    let both = |base: f64| {
        (0..4).flat_map(|draw| (0..2).map(move |client| score(draw, client, Some(base), base + 0.001 * draw as f64 * base))).collect()
    };
    let one = (0..4).map(|draw| score(draw, 1, Some(0.1), 0.1 + 0.002 * draw as f64)).collect();
    let all = vec![
        contender("local", "own models", true, both(0.5)),
        contender("fedavg", "fedavg", false, both(0.4)),
        contender("friends", "friends", false, one),
    ];
    let verdict = judge(&study(DRAWS, 4, all));
    let with: Vec<&str> = verdict.joining.as_ref().unwrap().clients.iter().map(|client| client.with.as_str()).collect();
    assert_eq!(with, ["fedavg", "friends"]);
    assert!(verdict.excluded.iter().any(|out| out.who == "friends" && out.why == "serves 1 of 2 clients"));
}

#[test]
fn who_was_fitted_on_validation_data_is_not_chosen_by_them() {
    // Friends have no validation value that counts, and are worse on test data.
    let noisy =
        |base: f64| around(base, base).into_iter().map(|s| Score { test: s.test + 0.003 * base * s.draw as f64, ..s }).collect::<Vec<_>>();
    let friends = noisy(0.6).into_iter().map(|score| Score { validation: None, ..score }).collect();
    let all = vec![
        contender("local", "own models", true, noisy(0.5)),
        contender("fedavg", "fedavg", false, noisy(0.3)),
        contender("meritfed-all", "friends", false, friends),
    ];
    let verdict = judge(&study(DRAWS, 4, all));
    assert!(verdict.ways_by_test && verdict.grounds().contains("fitted on validation data"));
    assert_eq!(verdict.joining.unwrap().clients[0].with, "fedavg");
}

#[test]
fn a_difference_that_is_sure_and_too_small_is_no_verdict() {
    let design = Design::Independent { same_clients: true };
    let way = |name: &str, alone: bool, loss: f64| {
        let score = |draw: usize| {
            let test = loss + if alone { 0.0 } else { 1e-6 * draw as f64 };
            Score { draw, client: 0, validation: Some(test), test, right: None }
        };
        Contender { label: name.into(), way: name.into(), alone, scores: (0..5).map(score).collect(), ..Contender::default() }
    };
    let asked = |gain: f64, worth: f64| {
        let all = vec![way("own models", true, 0.5), way("fedavg", false, 0.5 - gain)];
        let verdict = judge(&Study { worth: Worth::new(worth).unwrap(), ..study(design, 5, all) });
        let joining = verdict.joining.clone().unwrap();
        (verdict.winner().map(str::to_owned), joining.advice, joining.clients[0].advice)
    };
    let fedavg = || (Some("fedavg".to_owned()), Advice::Join, Advice::Join);
    assert_eq!(asked(0.004, 0.01), (None, Advice::Unclear, Advice::Unclear), "less than one error in a hundred");
    assert_eq!((asked(0.006, 0.01), asked(0.004, 0.0)), (fedavg(), fedavg()));
    assert_eq!(asked(-0.004, 0.01), (None, Advice::Unclear, Advice::Unclear));
    assert_eq!(Worth::new(-0.1).or(Worth::new(1.1)).or(Worth::new(f64::NAN)), None);
}

#[test]
fn an_interval_beside_zero_is_no_advice_where_many_clients_are_asked_and_says_so() {
    // Eight draws. The first client gains 0.1 with p = 0.033; the others waver around nothing.
    let judged = |clients: usize| {
        let wavering = |draw: usize| if draw.is_multiple_of(2) { 0.1 } else { -0.1 };
        let cells = |of: &dyn Fn(usize, usize) -> f64| {
            (0..8)
                .flat_map(|draw| (0..clients).map(move |client| (draw, client)))
                .map(|(draw, client)| score(draw, client, None, of(draw, client)))
                .collect()
        };
        let own = contender("local", "own models", true, cells(&|_, _| 1.0));
        let joined = cells(&|draw, client| 1.0 - if client == 0 { 0.1 } else { 0.001 * client as f64 } - wavering(draw));
        let names = (0..clients).map(|client| format!("client {client}")).collect();
        let mut study = study(DRAWS, 8, vec![own, contender("flix", "flix", false, joined)]);
        study.clients = names;
        judge(&study).joining.unwrap().clients
    };
    let alone = &judged(1)[0];
    assert_eq!((alone.advice, alone.is_one_of_many()), (Advice::Join, false));
    let among = &judged(6);
    assert!(among[0].gain.interval.unwrap()[0] > 0.0, "{:?}", among[0].gain);
    assert_eq!((among[0].advice, among[0].is_one_of_many()), (Advice::Unclear, true));
    assert!(among[1..].iter().all(|client| client.advice == Advice::Unclear && !client.is_one_of_many()));
}
