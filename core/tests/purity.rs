//! The engine's vocabulary and the methods are pure: what they compute depends on their arguments alone.

// Reads the sources: a test may do what the code under test may not.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

use std::fs;
use std::path::{Path, PathBuf};

/// What would let a clock, a thread, a file, a socket, ambient dice or a hash order into the results.
const FORBIDDEN: &[&str] = &[
    "std::fs",
    "std::thread",
    "std::net",
    "std::env",
    "std::process",
    "std::time",
    "Instant",
    "SystemTime",
    "HashMap",
    "HashSet",
    "rand::rng",
    "thread_rng",
    "from_os_rng",
    "OsRng",
    "RandomState",
    "println!",
    "eprintln!",
    "unsafe ",
    "include_bytes!",
    "include_str!",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn core_and_methods_touch_nothing_but_their_arguments() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = vec![];
    sources(&root.join("core/src"), &mut files);
    sources(&root.join("methods/src"), &mut files);
    assert!(files.len() > 15, "the sources are where this test looks");
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            for word in FORBIDDEN {
                // The two unsafe calls there are: into a copy of the same code for wider registers, with the same bits, and to
                // memory that is written before it is read.
                if *word == "unsafe " && ["core/src/vector/fast.rs", "core/src/vector/recycle.rs"].iter().any(|known| file.ends_with(known))
                {
                    continue;
                }
                assert!(!code.contains(word), "{}:{}: `{word}` does not belong here", file.display(), number + 1);
            }
        }
    }
}

#[test]
fn the_compiler_is_told_the_same() {
    for package in ["core", "methods"] {
        let lints = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(package).join("clippy.toml")).unwrap();
        for kind in ["std::collections::HashMap", "std::time::Instant", "std::thread::spawn", "std::fs::File"] {
            assert!(lints.contains(kind), "{package}/clippy.toml does not disallow {kind}");
        }
    }
}
