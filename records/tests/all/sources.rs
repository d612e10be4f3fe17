//! The sources of those who write records, against the rule that a kill leaves whole records.

use std::fs;
use std::path::{Path, PathBuf};

/// Ways to write a file that may leave half of it.
const BARE: [&str; 4] = ["fs::write", "File::create", "OpenOptions", "File::options"];

/// Where a file may be opened for writing, and why.
const DOORS: [(&str, &str); 5] = [
    ("files/src/replace.rs", "whole or not at all"),
    ("records/src/stream.rs", "by whole records"),
    ("records/src/model_parts.rs", "beside its place, to be renamed when it is whole"),
    ("motet/src/resume/lock.rs", "holds a lock and no record"),
    ("motet/src/study/home.rs", "holds a lock, and a log for people that only grows"),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn every_write_goes_through_replace_or_a_stream() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = vec![];
    for folder in ["files/src", "records/src", "motet/src"] {
        sources(&root.join(folder), &mut found);
    }
    let mut doors = 0;
    for path in found {
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
        let text = fs::read_to_string(&path).unwrap();
        // Tests beside the code may write what they like.
        let code = text.split("#[cfg(test)]").next().unwrap();
        // And so may examples.
        let code: String = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let bare = BARE.iter().find(|way| code.contains(*way));
        match DOORS.iter().any(|(door, _)| *door == name) {
            true => doors += usize::from(bare.is_some()),
            false => assert_eq!(bare, None, "{name} writes by itself"),
        }
    }
    assert_eq!(doors, DOORS.len(), "a door that writes nothing need not be listed");
}
