//! MUSH8: LIBSVM's mushrooms in eight contiguous blocks, d = 113 with the intercept, λ = 0.1.

use std::path::{Path, PathBuf};

use motet_problems::{Folders, Problem, ProblemConfig, ProblemError};

use super::Clients;

/// Both classes and the right Lᵢ; none if the file is not here.
pub fn corrected() -> Option<Clients> {
    read("auto", "spectral")
}

/// As the released code has it: every label is +1, and λ is divided by 4m in Lᵢ.
pub fn as_released() -> Option<Clients> {
    read("author", "author")
}

fn read(labels: &str, smoothness: &str) -> Option<Clients> {
    let config = serde_json::json!({
        "source": { "kind": "libsvm", "path": "mushrooms", "labels": labels },
        "split": { "kind": "contiguous", "clients": 8 },
        "model": { "kind": "logistic", "l2": 0.1, "intercept": true, "smoothness": smoothness },
    });
    let config: ProblemConfig = serde_json::from_value(config).unwrap();
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let data = std::env::var_os("MOTET_DATA").map_or_else(|| workspace.join("../shared/data"), PathBuf::from);
    match Problem::build_from(&config, &Folders::new(workspace, Some(data)), 0) {
        Ok(problem) => Some(problem.shards.iter().map(|shard| shard.train.clone()).collect()),
        Err(ProblemError::MissingFile { .. }) => {
            eprintln!("note: mushrooms is not in the data folder (MOTET_DATA): nothing was checked");
            None
        }
        Err(wrong) => panic!("{wrong}"),
    }
}
