//! `motet data`: the data folder, and a look at a source and its split.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use motet::problems::source::Table;
use motet::problems::{Album, ClientSummary, DataSummary, Folders, Schema, Snapshot, data_files, data_folder};
use serde_json::json;

use super::console::{Console, one_line};
use super::how::Changes;
use super::{elsewhere, of_table};
use motet::Error;
use motet::bundled::Bundled;
use motet::config::Document;

/// Look at the data folder, or at a source and its split.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  motet data list\n  motet data import Posts.xml --name beer\n  motet data show mushrooms.toml --picture mushrooms.html\n\nThe data folder is $MOTET_DATA, or `motet` in your data directory."
)]
pub(crate) struct DataArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// List what is in the data folder
    #[command(after_help = "Example:\n  motet data list\n\nThe data folder is $MOTET_DATA, or `motet` in your data directory.")]
    List,
    /// Copy files into the data folder under a name, with their checksums
    #[command(
        after_help = "Example:\n  motet data import Posts.xml Users.xml --name beer\n\nExperiments then say path = \"beer/Posts.xml\". Nothing that is there is replaced."
    )]
    Import {
        /// The files to copy
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// What experiments call them: `<NAME>/<file>`
        #[arg(long)]
        name: String,
    },
    /// Draft the [problem.schema] of a table, for a study between machines
    #[command(after_help = "Example:\n  motet data schema hospitals.csv --client hospital --target diagnosis")]
    Schema {
        /// The table: CSV or TSV, or a folder of them
        table: PathBuf,
        /// The column to predict
        #[arg(long)]
        target: String,
        /// The column that names clients, which is not part of the schema
        #[arg(long)]
        client: Option<String>,
    },
    /// Write an experiment's split as one table for each client, with the study file for `motet run` and `motet serve`
    #[command(
        after_help = "Example:\n  motet data export mushrooms.toml --out study\n\nA folder in which there is a study already is refused: nothing is replaced."
    )]
    Export {
        /// The experiment, or the name of a bundled one
        experiment: PathBuf,
        /// Folder to write to: DIR/study.toml and DIR/clients/NAME.csv
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        #[command(flatten)]
        changes: Changes,
    },
    /// Show the clients of an experiment's problem: sizes, labels, how much they differ
    #[command(
        after_help = "Examples:\n  motet data show mushrooms.toml --set problem.split.clients=20\n  motet data show mushrooms.toml --picture mushrooms.html"
    )]
    Show {
        /// The experiment, or the name of a bundled one
        experiment: PathBuf,
        /// Draw it: a page (.html), with some images where examples are images, or only the picture of labels (.svg)
        #[arg(long, value_name = "FILE")]
        picture: Option<PathBuf>,
        #[command(flatten)]
        changes: Changes,
    },
}

impl DataArgs {
    /// Prints it.
    pub(crate) fn execute(&self, console: Console<'_>) -> Result<bool, Error> {
        match &self.what {
            What::List => list(console),
            What::Import { files, name } => import(files, name, console),
            What::Schema { table, target, client } => schema(table, target, client.as_deref(), console),
            What::Export { experiment, out, changes } => export(experiment, out, changes, console),
            What::Show { experiment, picture, changes } => show(experiment, picture.as_deref(), changes, console),
        }
    }
}

fn list(console: Console<'_>) -> Result<bool, Error> {
    let Some(folder) = data_folder() else { return Err(Error::Unknown("there is no data folder: set MOTET_DATA".into())) };
    if !folder.is_dir() {
        return Err(Error::Unknown(format!("the data folder {} does not exist: create it, or set MOTET_DATA", folder.display())));
    }
    let files = data_files(&folder).map_err(|source| Error::Unknown(format!("{}: {source}", folder.display())))?;
    console.result(&json!(files), || {
        let lines = files.iter().map(|f| format!("{:>12}  {}", f.bytes, one_line(&f.path.display().to_string())));
        format!("{}\n{}", folder.display(), lines.collect::<Vec<_>>().join("\n"))
    });
    Ok(true)
}

fn import(files: &[PathBuf], name: &str, console: Console<'_>) -> Result<bool, Error> {
    let Some(folder) = data_folder() else { return Err(Error::Unknown("there is no data folder: set MOTET_DATA".into())) };
    for file in files {
        if !file.is_file() {
            let what = if file.is_dir() { "a folder: name the files in it" } else { "no file" };
            return Err(Error::Unknown(format!("{} is {what}", file.display())));
        }
    }
    let imported = motet::problems::import(files, name, &folder).map_err(|cause| Error::Unknown(cause.to_string()))?;
    console.result(&json!({ "folder": folder.join(name).display().to_string(), "files": imported }), || {
        let lines = imported.iter().map(|f| format!("{:>12}  {}  {name}/{}", f.bytes, f.sha256, one_line(&f.name)));
        lines.collect::<Vec<_>>().join("\n")
    });
    Ok(true)
}

fn schema(table: &Path, target: &str, client: Option<&str>, console: Console<'_>) -> Result<bool, Error> {
    let mut source = Table::new(table.to_owned(), target.to_owned());
    source.client = client.map(str::to_owned);
    let drafted = Schema::draft(source, &Folders::beside(Path::new("")));
    let schema = drafted.map_err(|source| of_table(Error::data(table.display().to_string(), source)))?;
    let text = toml::to_string(&json!({ "problem": { "schema": schema } })).map_err(|e| Error::Unknown(e.to_string()))?;
    console.result(&schema, || text);
    Ok(true)
}

fn export(path: &Path, out: &Path, changes: &Changes, console: Console<'_>) -> Result<bool, Error> {
    let experiment = changes.experiment(document(path)?, console)?;
    let study = motet::study::export(&experiment, out).map_err(elsewhere)?;
    console.result(&json!({ "study": study }), || {
        format!("{}\nOne table for each client: {}", study.display(), out.join("clients").display())
    });
    Ok(true)
}

/// The file of this path, or the bundled experiment of this name.
fn document(path: &Path) -> Result<Document, Error> {
    match Bundled::find(&path.to_string_lossy()) {
        Ok(found) if !path.exists() && found.len() == 1 => Ok(found[0].document(false)?),
        _ => Ok(Document::read(path)?),
    }
}

fn show(path: &Path, picture: Option<&Path>, changes: &Changes, console: Console<'_>) -> Result<bool, Error> {
    let experiment = changes.experiment(document(path)?, console)?;
    let folders = Folders::beside(&experiment.document.folder);
    let (mut shown, mut images) = (vec![], vec![]);
    for variant in &experiment.problems {
        let found = DataSummary::with_albums(&variant.config, &folders, experiment.seeds[0]);
        let (census, albums) = found.map_err(|source| Error::problem(&experiment.document, source))?;
        shown.push(census);
        images.push(albums);
    }
    if let (Some(file), Some(census), Some(albums)) = (picture, shown.first(), images.first()) {
        draw(census, albums, &experiment.name, file)?;
        console.aside(&format!("drawn: {}", file.display()));
        if cfg!(not(feature = "images")) && file.extension().is_some_and(|extension| extension == "html") {
            console.aside("images of clients are not shown: this motet was built without the feature `images`");
        }
    }
    console.result(&json!(shown), || shown.iter().map(page).collect::<Vec<_>>().join("\n"));
    Ok(true)
}

/// Writes the page, or the picture alone.
fn draw(census: &DataSummary, albums: &[Album], name: &str, file: &Path) -> Result<(), Error> {
    let clients: Vec<motet::report::ClientSummary> = census.clients.iter().enumerate().map(household).collect();
    let content = match file.extension().and_then(|extension| extension.to_str()) {
        Some("svg") => motet::report::label_map(&clients, name),
        Some("html") => {
            let mut facts =
                vec![("clients".to_owned(), census.clients.len().to_string()), ("features".to_owned(), census.features.to_string())];
            facts.extend(census.heterogeneity.map(|h| ("heterogeneity of labels".to_owned(), format!("{h:.3}"))));
            facts.push(("examples left out".to_owned(), census.left_out.to_string()));
            let albums: Vec<motet::report::Album> = albums.iter().map(|album| sheet(album, &clients)).collect();
            motet::report::data_page(name, &facts, &clients, &albums)
        }
        _ => return Err(Error::Unknown(format!("--picture {}: name a file that ends in .html or .svg", file.display()))),
    };
    fs::write(file, content).map_err(|source| Error::Write { path: file.to_path_buf(), source })
}

fn sheet(album: &Album, clients: &[motet::report::ClientSummary]) -> motet::report::Album {
    let picture = |shot: &Snapshot| motet::report::Picture {
        png: shot.png.clone(),
        size: shot.size,
        words: shot.label.map_or_else(|| "no label".to_owned(), |label| format!("label {label}")),
    };
    motet::report::Album { name: clients[album.client].name.clone(), pictures: album.pictures.iter().map(picture).collect() }
}

fn household((number, client): (usize, &ClientSummary)) -> motet::report::ClientSummary {
    motet::report::ClientSummary {
        name: client.name.clone().unwrap_or_else(|| format!("client {number}")),
        sizes: [client.train, client.validation, client.test],
        labels: client.labels.clone(),
    }
}

/// At most this many clients are listed for people; JSON has them all.
const LISTED: usize = 30;

fn page(census: &DataSummary) -> String {
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
    census.notes.iter().for_each(|note| text.push_str(&format!("\n{note}")));
    text.push_str("\n  client   train  validation    test  labels\n");
    let most = census.clients.iter().flat_map(|c| &c.labels).copied().max().unwrap_or(1).max(1);
    for (k, client) in census.clients.iter().enumerate().take(LISTED) {
        let labels = histogram(&client.labels, most);
        let name = client.name.as_ref().map_or_else(String::new, |name| format!("  {}", one_line(name)));
        text.push_str(&format!("  {k:>6}  {:>6}  {:>10}  {:>6}  {labels}{name}\n", client.train, client.validation, client.test));
    }
    if census.clients.len() > LISTED {
        text.push_str(&format!("  … and {} more\n", census.clients.len() - LISTED));
    }
    text
}

/// More labels than this are told in words.
const DRAWN: usize = 40;

fn histogram(labels: &[u64], most: u64) -> String {
    if labels.len() <= DRAWN {
        return format!("{} {labels:?}", labels.iter().map(|&n| bar(n, most)).collect::<String>());
    }
    let mut order: Vec<usize> = (0..labels.len()).filter(|&label| labels[label] > 0).collect();
    order.sort_by_key(|&label| std::cmp::Reverse(labels[label]));
    let first: Vec<String> = order.iter().take(3).map(|&label| format!("{label} ({} times)", labels[label])).collect();
    format!("{} of {}, most: {}", order.len(), labels.len(), first.join(", "))
}

/// A count as a block of one of eight heights.
fn bar(count: u64, most: u64) -> char {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    BLOCKS[(count * 8).div_ceil(most).min(8) as usize]
}
