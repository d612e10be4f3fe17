//! The outputs: one file each, and one line in [`OUTPUTS`].

mod csv;
mod html;
mod svg;
mod table;

pub(crate) use html::page;
pub(crate) use table::{average, outcomes, shown_metrics};

use std::fs;
use std::path::{Path, PathBuf};

use motet_records::Records;

use crate::Comparison;

/// A way to show records.
pub struct Output {
    /// What people call it.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// Written by [`render`], or only on request?
    pub usual: bool,
    /// Records → files. Pure: nothing is written yet.
    pub files: fn(&Comparison<'_>) -> Vec<File>,
}

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Below the folder of the report, `/` between parts.
    pub name: String,
    /// The whole content.
    pub content: String,
}

/// All outputs.
pub const OUTPUTS: &[Output] = &[
    Output { name: "html", about: "report.html: one page, all pictures inside", usual: true, files: html::files },
    Output { name: "svg", about: "figures/*.svg: each picture by itself", usual: true, files: svg::files },
    Output { name: "table", about: "table.txt: the final table as plain text", usual: false, files: table::files },
    Output { name: "csv", about: "rows.csv, summary.csv, clients.csv: for spreadsheets", usual: false, files: csv::files },
];

/// A report that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// There is no output of that name.
    #[error("unknown output {name:?}; there are {}", known())]
    Unknown {
        /// As asked for.
        name: String,
    },
    /// The disk says no.
    #[error("{}: {source}", path.display())]
    Write {
        /// Which file or folder.
        path: PathBuf,
        /// The error underneath.
        source: std::io::Error,
    },
}

/// Writes the usual outputs, `report.html` and `figures/*.svg`, for one folder or several compared.
/// Each folder comes with the name it goes by in the report. Returns what was written.
pub fn render(records: &[(String, Records)], out: &Path) -> Result<Vec<PathBuf>, RenderError> {
    let comparison = Comparison::new(records);
    let files = OUTPUTS.iter().filter(|output| output.usual).flat_map(|output| (output.files)(&comparison));
    write(files, out)
}

/// Writes the output of that name only.
pub fn render_as(output: &str, records: &[(String, Records)], out: &Path) -> Result<Vec<PathBuf>, RenderError> {
    let found = OUTPUTS.iter().find(|o| o.name == output).ok_or_else(|| RenderError::Unknown { name: output.to_owned() })?;
    write((found.files)(&Comparison::new(records)), out)
}

fn write(files: impl IntoIterator<Item = File>, out: &Path) -> Result<Vec<PathBuf>, RenderError> {
    let mut written = vec![];
    for file in files {
        let path = out.join(&file.name);
        let folder = path.parent().unwrap_or(out);
        fs::create_dir_all(folder).map_err(|source| RenderError::Write { path: folder.into(), source })?;
        fs::write(&path, file.content).map_err(|source| RenderError::Write { path: path.clone(), source })?;
        written.push(path);
    }
    Ok(written)
}

/// The final table as plain text, for a terminal.
pub fn table(records: &[(String, Records)]) -> String {
    table::text(&Comparison::new(records))
}

fn known() -> String {
    OUTPUTS.iter().map(|output| output.name).collect::<Vec<_>>().join(", ")
}
