//! The suite, for every method of the registry.

use std::path::Path;

use motet_conformance::{
    AskingTwiceIsAskingOnce, Check, EqualOnAllFleets, EqualOnAnyNumberOfRanks, EqualOverTheNetwork, Everywhere, GoesOnFromEveryRound,
    JudgesTheUnseen, LateAsksChangeNothing, ProbesChangeNothing, RanksSurviveNonsense, SeedDecides, SumsElsewhere, SurvivesBreaches,
    SurvivesLoss, ZeroRounds, is_right_on_average, one_dimension, parameters_are_described, reads_as_its_card_says, uncited_lines,
};
use motet_methods::{CARDS, Card, Method, Visitor, with};
use serde_json::json;

fn visit<V: Visitor>(card: &Card, visitor: V) -> V::Out {
    let mut params = serde_json::Deserializer::from_str(card.example);
    with(card.name, &mut params, visitor).unwrap().unwrap_or_else(|e| panic!("the example of {} does not fit: {e}", card.name))
}

fn every_method(check: impl Fn() -> Box<dyn FnOnce(&Card) -> Result<(), String>>) {
    let broken: Vec<String> = CARDS.iter().filter_map(|card| check()(card).err().map(|e| format!("{}: {e}", card.name))).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Settings beside the examples that send, keep and deploy what the examples do not: values that are learnt in rounds.
const LEARNT: [(&str, &str); 4] = [
    ("flix", r#"{"alpha":{"estimate":{"eps":0.01,"online":true}}}"#),
    (
        "flix-sgd",
        r#"{"alpha":{"estimate":{"eps":0.01,"online":true}},"sampling":{"clients":2},"batch":3,"optimiser":{"kind":"sgd","step":0.1}}"#,
    ),
    ("local-update", r#"{"step":{"estimate":{"accuracy":0.1,"online":true}},"local_steps":2,"server_step":0.1}"#),
    ("scafflix", r#"{"alpha":0.5,"batch":2,"target":{"eps":0.02,"online":true}}"#),
];

fn keeps<C: Check + Copy + 'static>(check: C) {
    every_method(|| Box::new(move |card| visit(card, Everywhere(check)).map_err(|e| e.to_string())));
    for (name, params) in LEARNT {
        let kept = with(name, &mut serde_json::Deserializer::from_str(params), Everywhere(check));
        kept.unwrap().unwrap().unwrap_or_else(|broken| panic!("{name} {params}: {broken}"));
    }
}

#[test]
fn rows_are_equal_on_all_fleets_and_stores() {
    keeps(EqualOnAllFleets);
}

#[test]
fn rows_are_equal_on_any_number_of_ranks() {
    keeps(EqualOnAnyNumberOfRanks);
}

#[test]
fn an_order_that_cannot_be_read_ends_a_rank_with_a_message() {
    keeps(RanksSurviveNonsense);
}

#[test]
fn asking_twice_in_a_slot_is_asking_once() {
    keeps(AskingTwiceIsAskingOnce);
}

#[test]
fn asks_that_come_late_twice_or_out_of_order_change_nothing() {
    keeps(LateAsksChangeNothing);
}

#[test]
fn a_network_that_loses_messages_and_machines_gives_the_same_bits() {
    keeps(EqualOverTheNetwork);
}

#[test]
fn lost_replies_do_no_harm() {
    keeps(SurvivesLoss);
}

#[test]
fn replies_that_break_the_protocol_do_no_harm() {
    keeps(SurvivesBreaches);
}

#[test]
fn sums_may_be_added_up_elsewhere() {
    keeps(SumsElsewhere);
}

#[test]
fn a_run_that_was_cut_goes_on_to_the_same_bits() {
    keeps(GoesOnFromEveryRound);
}

#[test]
fn a_run_may_have_no_rounds() {
    keeps(ZeroRounds);
}

#[test]
fn the_seed_decides_everything() {
    keeps(SeedDecides);
}

#[test]
fn probes_change_nothing() {
    keeps(ProbesChangeNothing);
}

#[test]
fn clients_who_never_train_are_judged() {
    keeps(JudgesTheUnseen);
}

struct Described;

impl Visitor for Described {
    type Out = Result<(), String>;
    fn visit<M: Method>(self, method: M) -> Self::Out {
        parameters_are_described(&method)
    }
}

#[test]
fn cards_describe_every_parameter() {
    every_method(|| Box::new(|card| visit(card, Described)));
}

struct AsItSays;

impl Visitor for AsItSays {
    type Out = Result<(), String>;
    fn visit<M: Method>(self, method: M) -> Self::Out {
        reads_as_its_card_says(method)
    }
}

#[test]
fn methods_read_sums_or_single_vectors_as_their_cards_say() {
    every_method(|| Box::new(|card| visit(card, AsItSays)));
    // Those of either kind, in the other one.
    for more in [r#"{"alpha":0.5,"start":"one-shot"}"#, r#"{"alpha":0.5,"compressor":{"kind":"rand-k","k":0.5}}"#] {
        with("scafflix", &mut serde_json::Deserializer::from_str(more), AsItSays).unwrap().unwrap().unwrap();
    }
}

/// The example of a method, with whole gradients, clients that count alike, and these draws.
fn drawing<M: Method>(sampling: serde_json::Value) -> Result<M, String> {
    let mut params: serde_json::Value = serde_json::from_str(M::CARD.example).map_err(|e| e.to_string())?;
    for (key, value) in [("batch", "all"), ("weights", "uniform")] {
        if M::CARD.parameters.names().any(|name| name == key) {
            params[key] = value.into();
        }
    }
    params["sampling"] = sampling;
    serde_json::from_value(params).map_err(|e| e.to_string())
}

struct RightOnAverage;

impl Visitor for RightOnAverage {
    /// None where the method has no use for unequal chances, and says so.
    type Out = Option<Result<(), String>>;
    fn visit<M: Method>(self, _: M) -> Self::Out {
        let tried = || -> Result<Option<()>, String> {
            let importance = drawing::<M>(json!({"importance": {"clients": 1, "q": [9, 1]}}))?;
            if importance.suits(Some(2)).is_err_and(|why| why.to_string().contains("equally probable")) {
                return Ok(None);
            }
            importance.suits(Some(2)).map_err(|e| e.to_string())?;
            let drawn = |sampling: &str| drawing::<M>(serde_json::from_str(sampling).map_err(|e| e.to_string())?);
            is_right_on_average(drawn, &one_dimension()).map(Some)
        };
        tried().transpose()
    }
}

#[test]
fn what_a_server_makes_of_a_draw_is_right_on_average_for_every_method_that_samples() {
    let (mut tried, mut broken) = (0, vec![]);
    for card in CARDS.iter().filter(|card| card.parameters.names().any(|name| name == "sampling")) {
        match visit(card, RightOnAverage) {
            // Control variates, and weights that are learnt, need equal chances.
            None => assert!(["scafflix", "i-scaffnew", "scaffnew", "meritfed"].contains(&card.name), "{} refuses", card.name),
            Some(Ok(())) => tried += 1,
            Some(Err(why)) => broken.push(format!("{}: {why}", card.name)),
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(tried >= 15, "{tried} methods were tried");
}

#[test]
fn every_numbered_line_of_a_header_is_cited_in_the_code() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../methods/src");
    every_method(|| {
        let file = folder.clone();
        Box::new(move |card| {
            let file = file.join(card.name.replace('-', "_")).with_extension("rs");
            let source = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
            uncited_lines(&source).map(|_| ()).map_err(|e| e.to_string())
        })
    });
}

#[test]
fn names_are_unique_and_every_card_has_its_words() {
    for (k, card) in CARDS.iter().enumerate() {
        assert!(!card.about.is_empty() && !card.paper.is_empty(), "{}", card.name);
        assert!(CARDS[..k].iter().all(|other| other.name != card.name), "{} is listed twice", card.name);
    }
}
