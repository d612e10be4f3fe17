//! The real LIBSVM files, where they are: row, feature and class counts as their README lists them.

use std::path::{Path, PathBuf};

use motet_problems::source::Libsvm;
use motet_problems::{Folders, Targets};

/// `MOTET_DATA`, else the shared folder beside the workspace.
fn folder() -> Option<PathBuf> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let found = std::env::var_os("MOTET_DATA").map_or(shared, PathBuf::from);
    if !found.join("libsvm").is_dir() {
        println!("note: no LIBSVM files in {}; set MOTET_DATA to test on them", found.display());
        return None;
    }
    Some(found)
}

#[test]
fn the_real_files_have_the_counts_of_their_readme() {
    let Some(data) = folder() else { return };
    let folders = Folders::new(PathBuf::from("nowhere"), Some(data));
    // name, rows, largest index, positives, non-zeros where the README gives them; one of ijcnn1 is written as 0
    let files = [
        ("mushrooms", 8_124, 112, 3_916, Some(170_604)),
        ("ijcnn1", 49_990, 22, 4_853, Some(13 * 49_990 - 1)),
        ("ijcnn1.t", 91_701, 22, 8_712, None),
        ("a1a", 1_605, 119, 395, None),
        ("a2a", 2_265, 119, 572, None),
        ("a3a", 3_185, 122, 773, None),
        ("a5a", 6_414, 122, 1_569, None),
        ("a7a", 16_100, 122, 3_918, None),
        ("a8a", 22_696, 123, 5_506, None),
        ("a9a", 32_561, 123, 7_841, None),
        ("a9a.t", 16_281, 123, 3_846, None),
        ("w8a", 49_749, 300, 1_479, None),
    ];
    for (name, rows, features, positives, stored) in files {
        let source: Libsvm = serde_json::from_str(&format!(r#"{{"path": "{name}", "classes": 2}}"#)).unwrap();
        let (data, input) = source.open(&folders).unwrap();
        let Targets::Classes { labels, classes: 2 } = &data.targets else { panic!("{name}: two classes") };
        assert_eq!((data.len(), data.features.rows(), data.features.cols()), (rows, rows, features), "{name}");
        assert_eq!(labels.iter().filter(|&&label| label == 1).count(), positives, "{name}");
        assert!(stored.is_none_or(|stored| stored == data.features.stored()), "{name}: {} stored", data.features.stored());
        assert!(data.features.check().is_ok());
        assert_eq!(input.name, format!("{name}.gz"));
    }
}

#[test]
fn the_fingerprint_of_mushrooms_is_that_of_its_readme() {
    let Some(data) = folder() else { return };
    let source: Libsvm = serde_json::from_str(r#"{"path": "mushrooms", "features": 112}"#).unwrap();
    let (_, input) = source.open(&Folders::new(PathBuf::new(), Some(data))).unwrap();
    assert_eq!(input.sha256, "c6170f9d3de835051acced088f85c13c96d23038d950b31684d793d5c7be21bd");
}
