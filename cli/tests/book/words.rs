//! Words and sizes that pages keep to.

use super::blocks;
use super::pages::{Page, tried};

#[test]
fn the_readme_is_short() {
    let lines = Page::read("README.md").text.lines().count();
    assert!(lines <= 120, "README.md has {lines} lines");
}

#[test]
fn pages_are_free_of_sentences_that_stop_people() {
    let mut found = Vec::new();
    for page in tried() {
        let prose = blocks::prose(&page).to_lowercase();
        for word in ["unless told", "so-manieth", "errata", "the specification's"] {
            if prose.contains(word) {
                found.push(format!("{}: {word}", page.name()));
            }
        }
    }
    assert!(found.is_empty(), "sentences to write again:\n{}", found.join("\n"));
}

#[test]
fn every_picture_has_a_caption() {
    for page in tried() {
        for rest in blocks::prose(&page).split("![").skip(1) {
            let caption = rest.split(']').next().unwrap();
            assert!(caption.split_whitespace().count() >= 4, "{}: the picture \"{caption}\" has no caption", page.name());
        }
    }
}
