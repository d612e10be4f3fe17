//! `motet data`: the data folder, and a look at a source and its split.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use motet_problems::{Census, Folders, data_files, data_folder};
use serde_json::json;

use super::console::Console;
use super::run::HowArgs;
use crate::config::Document;
use crate::error::Error;

/// Look at the data folder, or at a source and its split.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  motet data list\n  motet data show mushrooms.toml\n\nThe data folder is $MOTET_DATA, or `motet` in your data directory."
)]
pub struct DataArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// What is in the data folder
    List,
    /// Clients, sizes, labels and heterogeneity of an experiment's problem
    Show {
        /// The experiment
        experiment: PathBuf,
        #[command(flatten)]
        how: Box<HowArgs>,
    },
}

impl DataArgs {
    /// Prints it.
    pub fn execute(&self, console: Console) -> Result<bool, Error> {
        match &self.what {
            What::List => list(console),
            What::Show { experiment, how } => show(experiment, how, console),
        }
    }
}

fn list(console: Console) -> Result<bool, Error> {
    let Some(folder) = data_folder() else { return Err(Error::Unknown("there is no data folder: set MOTET_DATA".into())) };
    if !folder.is_dir() {
        return Err(Error::Unknown(format!("the data folder {} does not exist: create it, or set MOTET_DATA", folder.display())));
    }
    let files = data_files(&folder).map_err(|source| Error::Unknown(format!("{}: {source}", folder.display())))?;
    console.result(&json!(files), || {
        let lines = files.iter().map(|f| format!("{:>12}  {}", f.bytes, f.path.display()));
        format!("{}\n{}", folder.display(), lines.collect::<Vec<_>>().join("\n"))
    });
    Ok(true)
}

fn show(path: &Path, how: &HowArgs, console: Console) -> Result<bool, Error> {
    let experiment = how.experiment(Document::read(path)?)?;
    let folders = Folders::beside(&experiment.document.folder);
    let mut shown = vec![];
    for variant in &experiment.problems {
        let census = Census::of(&variant.config, &folders, experiment.seeds[0]);
        shown.push(census.map_err(|source| Error::Problem { file: experiment.document.file.clone(), source })?);
    }
    console.result(&json!(shown), || shown.iter().map(page).collect::<Vec<_>>().join("\n"));
    Ok(true)
}

/// At most this many clients are listed for people; JSON has them all.
const LISTED: usize = 30;

fn page(census: &Census) -> String {
    let mut text = format!("{} clients, {} features", census.clients.len(), census.features);
    if let Some(h) = census.heterogeneity {
        text.push_str(&format!(", heterogeneity {h:.3} (mean total variation of labels)"));
    }
    if census.left_out > 0 {
        text.push_str(&format!(", {} examples left out", census.left_out));
    }
    if !census.unseen.is_empty() {
        text.push_str(&format!(", {} clients never train", census.unseen.len()));
    }
    text.push_str("\n  client   train  validation    test  labels\n");
    let most = census.clients.iter().flat_map(|c| &c.labels).copied().max().unwrap_or(1).max(1);
    for (k, client) in census.clients.iter().enumerate().take(LISTED) {
        let bars: String = client.labels.iter().map(|&n| bar(n, most)).collect();
        text.push_str(&format!(
            "  {k:>6}  {:>6}  {:>10}  {:>6}  {bars} {:?}{}\n",
            client.train,
            client.validation,
            client.test,
            client.labels,
            client.name.as_ref().map_or_else(String::new, |name| format!("  {name}"))
        ));
    }
    if census.clients.len() > LISTED {
        text.push_str(&format!("  … and {} more\n", census.clients.len() - LISTED));
    }
    text
}

/// A count as a block of one of eight heights.
fn bar(count: u64, most: u64) -> char {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    BLOCKS[(count * 8).div_ceil(most).min(8) as usize]
}
