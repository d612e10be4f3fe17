//! `motet list`: what there is, one line each.

use clap::{Args, ValueEnum};
use motet::core::{Card, Parameters};
use motet::methods::local_update;
use serde_json::{Value, json};

use super::console::Console;
use motet::bundled::EXPERIMENTS;
use motet::{Catalogue, Error};

/// List the methods, sources, models, splits, compressors and experiments there are.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  motet list methods\n  motet list experiments --format json")]
pub(crate) struct ListArgs {
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
    fn entries(self, catalogue: &Catalogue) -> Vec<Value> {
        match self {
            What::Methods => catalogue.methods().map(method).collect(),
            What::Sources => cards(catalogue.sources()),
            What::Models => cards(catalogue.models()),
            What::Splits => cards(catalogue.splits()),
            What::Compressors => cards(catalogue.compressors()),
            What::Experiments => EXPERIMENTS.iter().map(|b| json!({ "name": b.name, "about": about(b.text) })).collect(),
        }
    }
}

fn method(card: &motet::methods::Card) -> Value {
    let mut entry = json!({ "name": card.name, "about": card.about, "paper": card.paper, "reads": card.reads, "parameters": table(card.parameters), "types": types(card.parameters) });
    entry["example"] = serde_json::from_str(card.example).expect("a card's example is JSON");
    if let Some(line) = local_update::line(card.name) {
        entry["local_update"] = json!(line);
    }
    entry
}

fn cards<'a>(cards: impl Iterator<Item = &'a Card>) -> Vec<Value> {
    let entry = |c: &Card| json!({ "name": c.name, "about": c.about, "parameters": table(c.parameters), "types": types(c.parameters) });
    cards.map(entry).collect()
}

/// Parameter → what people should know.
fn table(parameters: Parameters) -> Value {
    parameters.iter().map(|p| (p.name.to_owned(), json!(p.about))).collect::<serde_json::Map<_, _>>().into()
}

/// Parameter → what programs should know.
fn types(parameters: Parameters) -> Value {
    let told = |p: &motet::core::Parameter| (p.name.to_owned(), json!({ "type": p.kind, "optional": p.optional }));
    parameters.iter().map(told).collect::<serde_json::Map<_, _>>().into()
}

/// The `about` line of an experiment file.
fn about(text: &str) -> String {
    let table = text.parse::<toml::Table>().ok();
    table.and_then(|t| t.get("about").and_then(|v| v.as_str()).map(str::to_owned)).unwrap_or_default()
}

impl ListArgs {
    /// Prints it.
    pub(crate) fn execute(&self, console: Console<'_>) -> Result<bool, Error> {
        let lists: Vec<What> = self.what.map_or_else(|| What::value_variants().to_vec(), |what| vec![what]);
        let entries: Vec<(What, Vec<Value>)> = lists.into_iter().map(|what| (what, what.entries(console.catalogue))).collect();
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
    let header = ["", "Theta", "rates", "deploys"];
    let settings = local_update::TABLE.iter().map(|(name, line)| [name, line.theta, line.rates, line.deploys]);
    let rows: Vec<[&str; 4]> = std::iter::once(header).chain(settings).collect();
    let [a, b, c] = [0, 1, 2].map(|k| rows.iter().map(|row| row[k].chars().count()).max().unwrap_or(0));
    let lines = rows.iter().map(|[name, theta, rates, deploys]| format!("  {name:a$}  {theta:b$}  {rates:c$}  {deploys}\n"));
    format!("\nLocalUpdate, one method in nine settings\n{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_columns_of_the_family_do_not_run_into_each_other() {
        let table = super::family();
        let mut lines = table.lines().skip(2);
        let header = lines.next().unwrap_or_default();
        for name in ["Theta", "rates", "deploys"] {
            let at = header.find(name).unwrap_or_default();
            assert!(lines.clone().all(|line| line.get(at - 2..at) == Some("  ") && !line[at..].starts_with(' ')), "{name}:\n{table}");
        }
    }
}
