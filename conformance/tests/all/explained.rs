//! The tables of the explanations against the code: each line of a paper happens in the functions that its row names.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// By number of a line: the functions that the table names, and whatever else stands in ticks.
fn named(page: &str) -> BTreeMap<u32, Vec<String>> {
    let rows = page.lines().skip_while(|line| !line.starts_with("| line | what happens | where |")).skip(2);
    let mut table: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for row in rows.take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let [lines, .., place] = cells[..] else { panic!("a row has three cells: {row}") };
        let names: Vec<String> = place.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        for line in lines.split(',') {
            table.entry(line.trim().parse().unwrap_or_else(|_| panic!("{row}"))).or_default().extend(names.clone());
        }
    }
    table
}

/// A function of the code, by name.
fn function(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().skip_while(|word| *word != "fn").skip(1);
    (!line.trim_start().starts_with("//")).then(|| words.next()).flatten().map(|name| name.split(['(', '<']).next().unwrap_or(name))
}

/// `methods/src/flix.rs` and what is in `methods/src/flix`.
fn sources(method: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../methods/src");
    let parts = fs::read_dir(root.join(method)).into_iter().flatten().map(|entry| entry.unwrap().path());
    std::iter::once(root.join(method).with_extension("rs")).chain(parts).collect()
}

#[test]
fn every_cited_line_is_in_a_function_that_the_explanation_names() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/explanation");
    // A packaged crate has no docs.
    for method in ["flix", "scafflix", "meritfed", "local_update"].iter().filter(|_| docs.exists()) {
        let page = docs.join(method.replace('_', "-")).with_extension("md");
        let table = named(&fs::read_to_string(&page).unwrap());
        assert!(table.len() >= 4, "{} has no table", page.display());
        let (mut functions, mut wrong) = (vec![], vec![]);
        for path in sources(method) {
            let source = fs::read_to_string(&path).unwrap();
            for code in source.lines() {
                functions.extend(function(code).map(str::to_owned));
                let Some((_, cited)) = code.split_once("// line ") else { continue };
                let line: u32 = cited.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap();
                let inside = functions.last().unwrap();
                if !table.get(&line).is_some_and(|names| names.contains(inside)) {
                    wrong.push(format!("line {line} is in {inside} of {}", path.display()));
                }
            }
        }
        let there = |name: &String| functions.contains(name) || docs.join("../../methods/src").join(name).is_file();
        wrong.extend(table.values().flatten().filter(|name| !there(name)).map(|name| format!("there is no {name}")));
        assert!(wrong.is_empty(), "{}:\n{}", page.display(), wrong.join("\n"));
    }
}
