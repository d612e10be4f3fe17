//! The manifests against the design: who may depend on whom, licence and compiler.

// Reads the sources: a test may do what the code under test may not.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

/// Folder → the folders it may depend on. Tests, benches and examples are free.
const TABLE: &[(&str, &[&str])] = &[
    ("macros", &[]),
    ("files", &[]),
    ("core", &["macros"]),
    ("methods", &["core"]),
    ("nn", &["core"]),
    ("records", &["core", "files"]),
    ("problems", &["core", "files", "nn", "records", "runtime"]),
    ("runtime", &["core", "files"]),
    ("link", &["core", "files", "runtime"]),
    ("report", &["core", "records"]),
    ("theory", &[]),
    ("motet", &["core", "files", "link", "methods", "nn", "problems", "records", "runtime", "report", "theory"]),
    ("cli", &["motet"]),
    ("fuzz", &["motet"]),
    ("python", &["motet", "cli", "conformance"]),
    ("conformance", &["core", "methods", "nn", "problems", "records", "runtime", "report", "link", "motet"]),
];

/// What the pure crates may take from outside: serialisation (and the path of a value that cannot be read), errors and a counter-based generator.
const PURE: &[&str] = &["rand", "rand_chacha", "rand_distr", "serde", "serde_json", "serde_path_to_error", "thiserror"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn manifest(folder: &str) -> Table {
    fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap().parse().unwrap()
}

/// Those that become packages of the registry: the wheel's module is no crate that anybody depends on.
fn published() -> Vec<String> {
    let is_published = |member: &String| manifest(member)["package"].get("publish").and_then(Value::as_bool) != Some(false);
    members().into_iter().filter(is_published).collect()
}

fn members() -> Vec<String> {
    let members = manifest(".")["workspace"]["members"].as_array().unwrap().clone();
    members.iter().map(|m| m.as_str().unwrap().to_owned()).collect()
}

/// The tables of dependencies that a user of the package gets, those of single platforms included.
fn dependencies(manifest: &Table) -> Vec<String> {
    let targets = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(|t| t.values()).filter_map(Value::as_table);
    std::iter::once(manifest)
        .chain(targets)
        .flat_map(|table| ["dependencies", "build-dependencies"].map(|key| table.get(key).and_then(Value::as_table)))
        .flatten()
        .flat_map(|table| table.keys().cloned())
        .collect()
}

/// The folder of one of our packages: `motet-core` lives in `core`, `motet` itself in `motet`.
fn ours(package: &str) -> Option<&str> {
    if package == "motet" { Some("motet") } else { package.strip_prefix("motet-") }
}

#[test]
fn crates_depend_only_on_what_the_design_allows() {
    for member in members() {
        let (_, allowed) = TABLE.iter().find(|(name, _)| *name == member).unwrap_or_else(|| panic!("{member} is not in the design"));
        for dependency in dependencies(&manifest(&member)) {
            let Some(folder) = ours(&dependency) else { continue };
            assert!(allowed.contains(&folder), "{member} must not depend on {folder}");
        }
    }
}

/// The rows of the drawing of crates in ARCHITECTURE.md, from the top.
fn drawn() -> Vec<Vec<String>> {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let rows = map.lines().filter_map(|line| line.strip_prefix('│')?.split('│').next().map(str::to_owned));
    rows.map(|row| row.split_whitespace().map(str::to_owned).collect()).collect()
}

#[test]
fn the_map_draws_every_crate_above_what_it_stands_on() {
    let rows = drawn();
    let row = |name: &str| rows.iter().position(|row| row.iter().any(|word| word == name));
    for member in members() {
        let own = row(&member).unwrap_or_else(|| panic!("{member} is not in the drawing of ARCHITECTURE.md"));
        for dependency in dependencies(&manifest(&member)) {
            let Some(folder) = ours(&dependency) else { continue };
            assert!(row(folder) > Some(own), "ARCHITECTURE.md draws {member} beside or below {folder}");
        }
    }
    let known = members();
    let strangers: Vec<_> = rows.iter().flatten().filter(|name| !known.contains(name)).collect();
    assert!(strangers.is_empty(), "ARCHITECTURE.md draws {strangers:?}, which are no crates");
}

#[test]
fn the_map_is_short_and_names_every_crate() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    assert!(map.lines().count() <= 150, "ARCHITECTURE.md has {} lines: reasons go to docs/decisions", map.lines().count());
    for member in members() {
        assert!(map.contains(&format!("\n| `{member}` | ")), "the table of ARCHITECTURE.md has no line for {member}");
    }
}

#[test]
fn one_folder_of_the_network_knows_sockets() {
    let (source, mut left, mut knowing) = (root().join("link/src"), vec![root().join("link/src")], 0);
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        if ["tokio", "hyper", "std::net"].iter().any(|word| text.contains(&format!("use {word}"))) {
            assert!(path.starts_with(source.join("http")), "{}", path.display());
            knowing += 1;
        }
    }
    assert!(knowing > 0, "the network has no sockets at all");
}

#[test]
fn the_library_knows_no_terminal() {
    for dependency in ["clap", "indicatif", "signal-hook"] {
        assert!(!dependencies(&manifest("motet")).contains(&dependency.to_owned()), "motet depends on {dependency}");
    }
}

#[test]
fn the_pure_crates_take_little_from_outside() {
    for member in ["core", "methods"] {
        for dependency in dependencies(&manifest(member)).iter().filter(|d| ours(d).is_none()) {
            assert!(PURE.contains(&dependency.as_str()), "{member} depends on {dependency}");
        }
    }
}

#[test]
fn every_package_is_ready_to_be_published() {
    let version = manifest(".")["workspace"]["package"]["version"].clone();
    for (name, dependency) in manifest(".")["workspace"]["dependencies"].as_table().unwrap() {
        if ours(name).is_some() {
            assert_eq!(dependency.get("version"), Some(&version), "{name} is packaged without the version that others need");
        }
    }
    for member in published() {
        let package = manifest(&member)["package"].clone();
        let text =
            |key: &str| package.get(key).and_then(Value::as_str).unwrap_or_else(|| panic!("{member} has no {key} of its own")).to_owned();
        let list = |key: &str| package.get(key).and_then(Value::as_array).unwrap_or_else(|| panic!("{member} has no {key}")).len();
        assert!(text("description").len() > 20, "{member}");
        assert!((1..=5).contains(&list("keywords")) && (1..=5).contains(&list("categories")), "{member}");
        for file in [text("readme").as_str(), "LICENSE-MIT", "LICENSE-APACHE"] {
            assert!(root().join(&member).join(file).is_file(), "{member} has no {file}");
        }
        let page = fs::read_to_string(root().join(&member).join("src/lib.rs")).unwrap();
        let fences = page.lines().take_while(|line| line.starts_with("//!")).filter(|line| line.starts_with("//! ```"));
        let (bare, tagged): (Vec<_>, Vec<_>) = fences.partition(|line| *line == "//! ```");
        // A block that is not run begins with a fence that says so and ends with a bare one.
        assert!(bare.len() > tagged.len(), "the first page of {member} has no example that runs");
    }
}

#[test]
fn every_package_states_licence_and_compiler() {
    let shared = manifest(".")["workspace"]["package"].clone();
    for member in members() {
        let package = manifest(&member)["package"].clone();
        let stated = |key: &str| {
            let value = package.get(key).unwrap_or_else(|| panic!("{member} does not state its {key}"));
            let inherited = value.get("workspace").and_then(Value::as_bool) == Some(true);
            if inherited { shared[key].clone() } else { value.clone() }
        };
        assert_eq!(stated("license").as_str(), Some("MIT OR Apache-2.0"), "{member}");
        assert!(stated("rust-version").as_str().is_some_and(|v| v.starts_with("1.")), "{member}");
        assert_eq!(manifest(&member)["lints"]["workspace"].as_bool(), Some(true), "{member} does not inherit the lints");
    }
    for file in ["LICENSE-MIT", "LICENSE-APACHE", "Cargo.lock"] {
        assert!(root().join(file).exists(), "{file} is missing");
    }
}
