//! `motet list`: what there is, one line each.

use clap::{Args, ValueEnum};
use motet_core::Card;
use motet_methods::parts::compress::COMPRESSORS;
use motet_methods::{CARDS, local_update};
use motet_problems::{MODELS, SOURCES, SPLITS};
use serde_json::{Value, json};

use super::console::Console;
use crate::bundled::EXPERIMENTS;
use crate::error::Error;

/// List what experiment files can name.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  motet list methods\n  motet list experiments --format json")]
pub struct ListArgs {
    /// Which list [default: all]
    what: Option<What>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    Methods,
    Sources,
    Models,
    Splits,
    Compressors,
    Experiments,
}

impl What {
    fn entries(self) -> Vec<Value> {
        match self {
            What::Methods => CARDS.iter().map(method).collect(),
            What::Sources => cards(SOURCES),
            What::Models => cards(MODELS),
            What::Splits => cards(SPLITS),
            What::Compressors => cards(COMPRESSORS),
            What::Experiments => EXPERIMENTS.iter().map(|b| json!({ "name": b.name, "about": about(b.text) })).collect(),
        }
    }
}

fn method(card: &motet_methods::Card) -> Value {
    let mut entry =
        json!({ "name": card.name, "about": card.about, "paper": card.paper, "reads": card.reads, "parameters": table(card.parameters) });
    if let Some(line) = local_update::line(card.name) {
        entry["local_update"] = json!(line);
    }
    entry
}

fn cards(cards: &[Card]) -> Vec<Value> {
    cards.iter().map(|c| json!({ "name": c.name, "about": c.about, "parameters": table(c.parameters) })).collect()
}

fn table(parameters: &[(&str, &str)]) -> Value {
    parameters.iter().map(|(name, about)| ((*name).to_owned(), json!(about))).collect::<serde_json::Map<_, _>>().into()
}

/// The `about` line of an experiment file.
fn about(text: &str) -> String {
    let table = text.parse::<toml::Table>().ok();
    table.and_then(|t| t.get("about").and_then(|v| v.as_str()).map(str::to_owned)).unwrap_or_default()
}

impl ListArgs {
    /// Prints it.
    pub fn execute(&self, console: Console) -> Result<bool, Error> {
        let lists: Vec<What> = self.what.map_or_else(|| What::value_variants().to_vec(), |what| vec![what]);
        let entries: Vec<(What, Vec<Value>)> = lists.into_iter().map(|what| (what, what.entries())).collect();
        let json: Value = match &entries[..] {
            [(_, one)] => json!(one),
            many => many.iter().flat_map(|(what, list)| list.iter().map(move |e| kinded(*what, e))).collect(),
        };
        console.result(&json, || entries.iter().map(|(what, list)| page(*what, list)).collect::<Vec<_>>().join("\n"));
        Ok(true)
    }
}

fn kinded(what: What, entry: &Value) -> Value {
    let mut entry = entry.clone();
    entry["list"] = json!(format!("{what:?}").to_lowercase());
    entry
}

fn page(what: What, list: &[Value]) -> String {
    let mut text = format!("{what:?}\n");
    let width = list.iter().filter_map(|e| e["name"].as_str()).map(str::len).max().unwrap_or(0);
    for entry in list {
        let (name, about) = (entry["name"].as_str().unwrap_or_default(), entry["about"].as_str().unwrap_or_default());
        text.push_str(&format!("  {name:width$}  {about}\n"));
        if let Some(parameters) = entry["parameters"].as_object() {
            for (parameter, about) in parameters {
                text.push_str(&format!("  {:width$}    {parameter}: {}\n", "", about.as_str().unwrap_or_default()));
            }
        }
    }
    if what == What::Methods {
        text.push_str(&family());
    }
    text
}

/// LocalUpdate and its named settings side by side.
fn family() -> String {
    let row = |cells: [&str; 4]| format!("  {:20}{:42}{:42}{}\n", cells[0], cells[1], cells[2], cells[3]);
    let lines = local_update::TABLE.iter().map(|(name, line)| row([name, line.theta, line.rates, line.deploys]));
    format!("\nLocalUpdate, one method in nine settings\n{}{}", row(["", "Theta", "rates", "deploys"]), lines.collect::<String>())
}
