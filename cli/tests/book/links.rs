//! Links between files lead somewhere, every page is in the table of contents, and numbers of decisions are used once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use super::blocks;
use super::pages::{Page, all, root};

#[test]
fn links_lead_to_files_and_headings() {
    let pages = all();
    let mut dead = Vec::new();
    let mut seen = 0;
    for page in &pages {
        for link in links(&blocks::prose(page)) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            seen += 1;
            let (file, heading) = link.split_once('#').unwrap_or((&link, ""));
            let place = if file.is_empty() { page.place.clone() } else { join(page.place.parent().unwrap(), file) };
            if !root().join(&place).exists() {
                dead.push(format!("{}: {link}", page.name()));
            } else if !heading.is_empty() {
                let text = pages.iter().find(|p| p.place == place);
                if !text.is_some_and(|p| headings(p).contains(heading)) {
                    dead.push(format!("{}: {link} (no such heading)", page.name()));
                }
            }
        }
    }
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
    assert!(seen > 100, "only {seen} links were found");
}

#[test]
fn every_page_is_in_the_table_of_contents() {
    let summary = Page::read("docs/SUMMARY.md");
    let listed: BTreeSet<PathBuf> = links(&summary.text).iter().map(|link| join(Path::new("docs"), link)).collect();
    for page in all().iter().filter(|p| p.place.starts_with("docs") && !p.place.ends_with("SUMMARY.md")) {
        assert!(listed.contains(&page.place), "{} is not in docs/SUMMARY.md", page.name());
    }
}

#[test]
fn pages_are_called_what_the_table_of_contents_calls_them() {
    let summary = Page::read("docs/SUMMARY.md");
    let entries =
        summary.text.lines().filter_map(|line| line.trim().trim_start_matches("- ").strip_prefix('[')?.strip_suffix(')')?.split_once("]("));
    for (name, place) in entries.filter(|(_, place)| !place.starts_with("lab/") && !place.starts_with("decisions/")) {
        let page = Page::read(&format!("docs/{place}"));
        assert_eq!(page.text.lines().next(), Some(&*format!("# {name}")), "{}", page.name());
    }
}

#[test]
fn every_decision_has_a_number_of_its_own_and_its_three_parts() {
    let mut numbers = BTreeMap::new();
    for page in all().iter().filter(|p| p.place.starts_with("docs/decisions") && !p.place.ends_with("index.md")) {
        for record in page.text.split("\n## ").skip(1) {
            let number = record.split(' ').next().unwrap();
            assert!(number.len() == 3 && number.parse::<u32>().is_ok(), "{}: `## {number}` is no number of three digits", page.name());
            if let Some(other) = numbers.insert(number.to_owned(), page.name()) {
                panic!("decision {number} is in {other} and in {}", page.name());
            }
            for part in ["**Context.**", "**Choice.**", "**Price.**"] {
                assert!(record.contains(part), "{}: decision {number} has no {part}", page.name());
            }
        }
    }
    assert!(numbers.len() > 50, "{} decisions", numbers.len());
}

#[test]
fn pages_that_sources_and_tools_mention_exist() {
    let mut missing = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let passed = name == "target" || name == "CHANGELOG.md" || name.starts_with('.') || name.ends_with(".py");
            if path.is_symlink() || passed {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                let ends = |c: char| !(c.is_alphanumeric() || "-_/.".contains(c));
                let mentions = text.match_indices("docs/").map(|(at, _)| text[at..].split(ends).next().unwrap().trim_end_matches('.'));
                // A test makes a folder docs of its own.
                let own = path.ends_with("cli/tests/after_the_run.rs");
                missing.extend(
                    mentions
                        .filter(|m| m.ends_with(".md") && !own && !root().join(m).exists())
                        .map(|m| format!("{}: {m}", path.strip_prefix(root()).unwrap().display())),
                );
            }
        }
    }
    assert!(missing.is_empty(), "pages that are not there:\n{}", missing.join("\n"));
}

/// What stands in `](…)`.
fn links(text: &str) -> Vec<String> {
    let code_free: String = text.split('`').step_by(2).collect::<Vec<_>>().join("code");
    code_free.split("](").skip(1).filter_map(|rest| rest.split(')').next()).map(|link| link.trim().to_owned()).collect()
}

/// The anchors of a page's headings, as mdBook and code hosts name them.
fn headings(page: &Page) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in blocks::prose(page).lines().filter(|line| line.starts_with('#')) {
        let kept = |c: char| c.is_alphanumeric() || c == '_' || c == '-' || c == ' ';
        let slug: String = line.trim_start_matches('#').trim().to_lowercase().chars().filter(|c| kept(*c)).collect();
        let slug = slug.replace(' ', "-");
        let again = (1..).map(|n| format!("{slug}-{n}"));
        let free = std::iter::once(slug.clone()).chain(again).find(|s| !found.contains(s)).unwrap();
        found.insert(free);
    }
    found
}

/// A link seen from a folder, without `..`.
fn join(folder: &Path, link: &str) -> PathBuf {
    let mut place = PathBuf::new();
    for part in folder.join(link).components() {
        match part {
            Component::ParentDir => {
                place.pop();
            }
            Component::CurDir => {}
            other => place.push(other),
        }
    }
    place
}
