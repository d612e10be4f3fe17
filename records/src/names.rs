//! Names of the files in an experiment's folder.

use crate::manifest::RunCard;

/// What is planned.
pub const MANIFEST: &str = "manifest.json";
/// What came of it.
pub const SUMMARY: &str = "summary.json";
/// Measured rounds, one a line.
pub const ROWS: &str = "rows.jsonl";
/// Clients at the end of their run, one a line.
pub const CLIENTS: &str = "clients.jsonl";
/// Who counted how much for whom.
pub const MERITS: &str = "merits.bin";
/// What happened beside the rounds, one a line.
pub const EVENTS: &str = "events.jsonl";
/// What every other file held when it was written.
pub const CHECKSUMS: &str = "checksums.jsonl";
/// The experiment as it was written.
pub const EXPERIMENT: &str = "experiment.toml";
/// The folder of final models.
pub const MODELS: &str = "models";

/// Is there as long as the experiment is not done.
pub const UNFINISHED: &str = "resume/experiment.json";

/// Files that only grow.
pub const STREAMS: [&str; 4] = [ROWS, CLIENTS, MERITS, EVENTS];
/// Files that are replaced as a whole.
pub const WHOLE: [&str; 3] = [MANIFEST, SUMMARY, EXPERIMENT];

/// The file of a run's models, in its folder.
pub fn model(card: &RunCard) -> String {
    format!("{MODELS}/{}-{}-seed{}.safetensors", card.run, slug(&card.label), card.seed)
}

/// A label as a file name.
pub fn slug(label: &str) -> String {
    let mut slug: String = label.chars().map(|c| if c.is_ascii_alphanumeric() || ".-_=".contains(c) { c } else { '-' }).collect();
    slug.truncate(80);
    if slug.trim_matches(['.', '-']).is_empty() { "experiment".into() } else { slug }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_become_file_names() {
        assert_eq!(slug("flix alpha=0.1"), "flix-alpha=0.1");
        assert_eq!(slug("../.."), "experiment");
        assert_eq!(slug("a/b\\c:d"), "a-b-c-d");
    }
}
