//! Renders a sample report: `cargo run -p motet-report --example sample -- FOLDER`.

#[path = "../tests/sample/mod.rs"]
mod sample;

use std::path::PathBuf;

use motet_report::{OUTPUTS, render_as, table};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = std::env::args().nth(1).map_or_else(|| PathBuf::from("sample-report"), PathBuf::from);
    let folders = [("sample".to_owned(), sample::records())];
    for output in OUTPUTS {
        let written = render_as(output.name, &folders, &out)?;
        eprintln!("{}: {} files in {}", output.name, written.len(), out.display());
    }
    eprint!("{}", table(&folders));
    Ok(())
}
