//! Pages of the reference that are made from the catalogue: what `motet list` and `motet --help` know.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::pages::root;

/// Lists of the catalogue: name, title, and what stands under the title.
const LISTS: &[(&str, &str, &str)] = &[
    ("methods", "Methods", "What may stand in `[[method]]`. A key may always be a grid, `{ grid = [...] }`: one run for each value."),
    ("sources", "Sources", "What may stand in `source` of `[problem]`: where examples come from."),
    ("splits", "Splits", "What may stand in `split` of `[problem]`: who gets which rows."),
    ("models", "Models", "What may stand in `model` of `[problem]`: what is trained."),
    ("compressors", "Compressors", "What may stand in `compressor` of a method: how messages are made smaller."),
];

#[test]
fn the_pages_made_from_the_catalogue_are_up_to_date() {
    let examples: toml::Table = fs::read_to_string(root().join("docs/reference/examples.toml")).unwrap().parse().unwrap();
    for (list, title, about) in LISTS {
        let entries = json(&["list", list]);
        let entries = entries.as_array().unwrap();
        let mut page = format!(
            "# {title}\n\n<!-- Made by `WRITE=1 cargo test --workspace --test book` from the catalogue; do not edit. -->\n\n{about}\n"
        );
        page.push_str(&format!("`motet list {list}` prints the same.\n\n| name | what it is |\n| --- | --- |\n"));
        for entry in entries {
            let name = text(entry, "name");
            page.push_str(&format!("| [`{name}`](#{name}) | {} |\n", cell(&sentence(text(entry, "about")))));
        }
        for entry in entries {
            page.push_str(&section(list, entry, &examples));
        }
        keep(&format!("docs/reference/{list}.md"), &page);
    }
}

#[test]
fn the_page_of_bundled_experiments_is_up_to_date() {
    let mut page = "# Bundled experiments\n\n<!-- Made by `WRITE=1 cargo test --workspace --test book`; do not edit. -->\n\n\
                    `motet reproduce NAME` runs one and checks its claims; the file is `experiments/NAME.toml`. \
                    [All results](../lab/results.md) has what they gave.\n\n| name | what it is |\n| --- | --- |\n"
        .to_owned();
    for entry in json(&["list", "experiments"]).as_array().unwrap() {
        page.push_str(&format!("| `{}` | {} |\n", text(entry, "name"), cell(text(entry, "about"))));
    }
    keep("docs/reference/experiments.md", &page);
}

#[test]
fn the_page_of_commands_is_up_to_date() {
    let mut page = "# Commands\n\n<!-- Made by `WRITE=1 cargo test --workspace --test book` from the program's help; do not edit. -->\n\n\
                    Every command takes `--format json` (one JSON value on standard output, everything else on standard error) and `--quiet`. \
                    [Exit codes](exit-codes.md) are the same for all.\n"
        .to_owned();
    let overview = help(&[]);
    for command in commands(&overview) {
        let own = help(&[&command]);
        page.push_str(&format!("\n## motet {command}\n\n```text\n{}\n```\n", own.trim_end()));
        for inner in commands(&own) {
            page.push_str(&format!("\n### motet {command} {inner}\n\n```text\n{}\n```\n", help(&[&command, &inner]).trim_end()));
        }
    }
    keep("docs/reference/commands.md", &page);
}

/// One entry: what it is, its keys, an example.
fn section(list: &str, entry: &Value, examples: &toml::Table) -> String {
    let name = text(entry, "name");
    let mut part = format!("\n## {name}\n\n{}.\n", sentence(text(entry, "about")).trim_end_matches('.'));
    if let Some(paper) = entry["paper"].as_str() {
        part.push_str(&format!("\nFrom: {paper}. {}.\n", seen(name, &entry["reads"])));
    }
    let parameters = entry["parameters"].as_object().unwrap();
    if !parameters.is_empty() {
        part.push_str("\n| key | type | needed | meaning |\n| --- | --- | --- | --- |\n");
    }
    for (key, about) in parameters {
        let types = &entry["types"][key];
        let needed = if types["optional"] == true { "no" } else { "yes" };
        let about = about.as_str().unwrap();
        let kind = in_words(types["type"].as_str().unwrap(), about);
        part.push_str(&format!("| `{key}` | {kind} | {needed} | {} |\n", cell(about)));
    }
    let example = if list == "methods" {
        method_example(entry)
    } else {
        let line = examples[list].get(name).and_then(toml::Value::as_str);
        let line = line.unwrap_or_else(|| panic!("docs/reference/examples.toml has no example for {list}.{name}"));
        check_example(list, entry, line);
        format!("{} = {line}\n", list.trim_end_matches('s'))
    };
    part.push_str(&format!("\n```text\n{example}```\n"));
    part
}

/// What the server sees of what clients send; what privacy.md says at length.
fn seen(method: &str, reads: &Value) -> String {
    match reads["by-setting"].as_str() {
        _ if method == "local" => "Nothing is sent".into(),
        Some(setting) => format!("The server needs {setting}"),
        None if *reads == "sums" => "The server needs sums of the clients' vectors alone".into(),
        None => "The server needs each client's vectors".into(),
    }
}

/// A type of the source code as what people write: `Option<Positive>` is "number above 0". Of a type of our own, the meaning says whether
/// it is a word, a table, or both.
fn in_words(kind: &str, about: &str) -> String {
    let inside = |outer: &str| kind.strip_prefix(outer).and_then(|rest| rest.strip_suffix('>'));
    if let Some(inner) = inside("Option<") {
        return in_words(inner, about);
    }
    for (outer, more) in [("PerClient<", ", or one for each client"), ("Rate<", ", or \"theory\""), ("Schedule<", ", or a schedule")] {
        if let Some(inner) = inside(outer) {
            return in_words(inner, about) + more;
        }
    }
    if kind.starts_with("Vec<") || kind.starts_with('[') {
        return "list".into();
    }
    let words = match kind.rsplit("::").next().unwrap_or(kind) {
        "Fraction" => "number from 0 to 1",
        "Positive" => "number above 0",
        "NonNegative" => "number from 0",
        "Probability" => "number above 0, at most 1",
        "NonZeroU32" => "whole number from 1",
        "u32" | "u64" | "usize" => "whole number from 0",
        "bool" => "true or false",
        "String" | "PathBuf" => "text",
        "char" => "one character",
        "BatchSize" => "whole number, or \"all\"",
        "Amount" => "number",
        "Shares" => "number from 0 to 1, or one for each client",
        "ClientRate" => "number from 0, or a schedule",
        _ => return forms(about),
    };
    words.into()
}

/// Words stand in quotes and tables in braces; what stands in them, or in brackets, says more about one of them.
fn forms(about: &str) -> String {
    let (mut depth, mut outside) = (0, String::new());
    for c in about.chars() {
        depth += i32::from(matches!(c, '{' | '('));
        if depth == 0 {
            outside.push(c);
        }
        depth -= i32::from(matches!(c, '}' | ')'));
    }
    let there = [
        ("word", outside.contains('"')),
        ("table", about.contains('{')),
        ("number", outside.contains("a number")),
        ("list", outside.contains(" list")),
    ];
    let found: Vec<&str> = there.iter().filter(|(_, there)| *there).map(|(name, _)| *name).collect();
    assert!(!found.is_empty(), "what may be written? {about}");
    found.join(" or ")
}

/// `[[method]]` with the values that have no default.
fn method_example(entry: &Value) -> String {
    let value: toml::Table = serde_json::from_value(entry["example"].clone()).unwrap();
    let lines: String = value.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
    format!("[[method]]\nkind = \"{}\"\n{lines}", text(entry, "name"))
}

/// An example names its kind, keys that exist, and all that are needed.
fn check_example(list: &str, entry: &Value, line: &str) {
    let name = text(entry, "name");
    let table: toml::Table = format!("value = {line}").parse().unwrap_or_else(|error| panic!("{list}.{name}: {error}"));
    let keys = table["value"].as_table().unwrap();
    assert_eq!(keys["kind"].as_str(), Some(name), "{list}.{name}");
    let types = entry["types"].as_object().unwrap();
    for key in keys.keys().filter(|key| *key != "kind") {
        assert!(types.contains_key(key), "{list}.{name} has no key {key}");
    }
    for (key, kind) in types {
        assert!(kind["optional"] == true || keys.contains_key(key), "the example of {list}.{name} lacks {key}");
    }
}

/// The page as it must be; `WRITE=1` makes it so.
fn keep(place: &str, page: &str) {
    let path = root().join(place);
    if std::env::var_os("WRITE").is_some() {
        fs::write(&path, page).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page, "{place} is old: WRITE=1 cargo test --workspace --test book");
}

/// The names under "Commands:" of a help text.
fn commands(help: &str) -> Vec<String> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| line.starts_with(' '));
    let names = list.filter_map(|line| line.strip_prefix("  ")?.split(' ').next().map(str::to_owned));
    names.filter(|name| !name.is_empty() && name != "help").collect()
}

fn help(of: &[&str]) -> String {
    run(&[of, &["--help"]].concat())
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&run(&[args, &["--format", "json"]].concat())).unwrap()
}

fn run(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_motet")).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn text<'a>(entry: &'a Value, key: &str) -> &'a str {
    entry[key].as_str().unwrap()
}

/// With a capital letter.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Text that stands in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}
