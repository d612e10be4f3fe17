//! Folders of small files that tests write, and the real files where they are.

use std::fs;
use std::path::{Path, PathBuf};

use motet_problems::{DataSummary, Folders, ProblemConfig};
use tempfile::TempDir;

pub(crate) fn config(json: &str) -> ProblemConfig {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"))
}

/// A folder with these files.
pub(crate) fn folder_with(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap();
    }
    folder
}

pub(crate) fn beside(folder: &Path) -> Folders {
    Folders::new(folder.to_path_buf(), None)
}

/// `MOTET_DATA`, else the shared folder beside the workspace, if it has this subfolder.
pub(crate) fn real(subfolder: &str) -> Option<Folders> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let found = std::env::var_os("MOTET_DATA").map_or(shared, PathBuf::from);
    if !found.join(subfolder).is_dir() {
        println!("note: no {subfolder} in {}; set MOTET_DATA to test on the real files", found.display());
        return None;
    }
    Some(Folders::new(PathBuf::from("nowhere"), Some(found)))
}

pub(crate) fn census(problem: &str, folders: &Folders) -> Result<DataSummary, String> {
    DataSummary::of(&config(problem), folders, 0).map_err(|error| error.to_string())
}
