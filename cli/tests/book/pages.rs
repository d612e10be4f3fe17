//! The pages that people read.

use std::fs;
use std::path::{Path, PathBuf};

/// A page, with its place seen from the root of the repository.
pub(crate) struct Page {
    pub(crate) place: PathBuf,
    pub(crate) text: String,
}

impl Page {
    pub(crate) fn read(place: &str) -> Self {
        let text = fs::read_to_string(root().join(place)).unwrap_or_else(|error| panic!("{place}: {error}"));
        Self { place: place.into(), text }
    }

    pub(crate) fn name(&self) -> String {
        self.place.display().to_string()
    }
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// README, CONTRIBUTING, ARCHITECTURE and every page of the book.
pub(crate) fn all() -> Vec<Page> {
    let mut places: Vec<PathBuf> = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"].map(PathBuf::from).to_vec();
    gather(Path::new("docs"), &mut places);
    places.sort();
    places.iter().map(|place| Page::read(place.to_str().unwrap())).collect()
}

/// The pages whose commands and experiments are tried: the laboratory's are records of what was done, with the data and the version of their day.
pub(crate) fn tried() -> Vec<Page> {
    all().into_iter().filter(|page| !page.place.starts_with("docs/lab")).collect()
}

fn gather(folder: &Path, places: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(root().join(folder)).unwrap() {
        let name = entry.unwrap().file_name();
        let place = folder.join(&name);
        if root().join(&place).is_dir() {
            gather(&place, places);
        } else if place.extension().is_some_and(|e| e == "md") {
            places.push(place);
        }
    }
}
