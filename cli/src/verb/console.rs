//! Where a command's result goes.

use std::io::{self, Write};

use motet::Catalogue;
use serde::Serialize;

/// For people or for programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON value on standard output, everything else on standard error.
    Json,
}

/// How a command talks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Console<'a> {
    /// What experiment files can name.
    pub(crate) catalogue: &'a Catalogue,
    /// For people or for programs.
    pub(crate) format: Format,
    /// Only results and errors?
    pub(crate) quiet: bool,
}

impl Console<'_> {
    /// The result, in the format asked for.
    pub(crate) fn result(&self, json: &impl Serialize, text: impl FnOnce() -> String) {
        let line = match self.format {
            Format::Text => text(),
            Format::Json => serde_json::to_string(json).unwrap_or_else(|e| format!("{{\"error\":{:?}}}", e.to_string())),
        };
        print(&line);
    }

    /// A part of the result, for people, as soon as it is known.
    pub(crate) fn part(&self, text: impl FnOnce() -> String) {
        if self.format == Format::Text {
            print(&text());
        }
    }

    /// The whole of what [`Console::part`] told people, for programs.
    pub(crate) fn whole(&self, json: &impl Serialize) {
        if self.format == Format::Json {
            self.result(json, String::new);
        }
    }

    /// Something said on the way; never on standard output.
    pub(crate) fn aside(&self, text: &str) {
        if !self.quiet {
            eprintln!("{text}");
        }
    }
}

/// Prints a line; a reader that went away (`| head`) is no error.
fn print(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.trim_end_matches('\n').as_bytes()).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
}
