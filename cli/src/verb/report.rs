//! `motet report`: records → the page, the figures and the tables, again.

use std::path::PathBuf;

use clap::Args;
use motet::records::Records;
use motet::report::{OUTPUTS, render, render_as, table};
use serde_json::json;

use super::console::Console;
use super::recorded;
use motet::Error;

/// Render the page, figures and tables of one experiment, or compare several.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  motet report motet-runs/demo\n  motet report runs/a runs/b --out comparison --as csv")]
pub(crate) struct ReportArgs {
    /// Folders that experiments left.
    #[arg(required = true)]
    folders: Vec<PathBuf>,
    /// Where to write [default: the folder itself; a folder `comparison` for several]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Only this output: html, svg, table or csv
    #[arg(long = "as", value_name = "OUTPUT")]
    only: Option<String>,
}

impl ReportArgs {
    /// Renders it.
    pub(crate) fn execute(&self, console: Console<'_>) -> Result<bool, Error> {
        let mut named = vec![];
        for folder in &self.folders {
            let name = folder.file_name().map_or_else(|| folder.display().to_string(), |n| n.to_string_lossy().into_owned());
            recorded(folder)?;
            named.push((name, Records::read(folder)?));
        }
        if let Some(unknown) = self.only.as_deref().filter(|name| !OUTPUTS.iter().any(|o| o.name == *name)) {
            let known: Vec<_> = OUTPUTS.iter().map(|o| o.name).collect();
            return Err(Error::Unknown(format!("there is no output \"{unknown}\": choose one of {}", known.join(", "))));
        }
        let out = self.out.clone().unwrap_or_else(|| if self.folders.len() == 1 { self.folders[0].clone() } else { "comparison".into() });
        let written = match &self.only {
            Some(name) => render_as(name, &named, &out),
            None => render(&named, &out),
        };
        let written = written.map_err(|e| Error::Report(e.to_string()))?;
        let names: Vec<_> = written.iter().map(|path| path.display().to_string()).collect();
        console.result(&json!({ "written": names }), || format!("{}\n{}", table(&named).trim_end(), names.join("\n")));
        Ok(true)
    }
}
