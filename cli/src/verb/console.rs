//! Where a command's result goes.

use std::io::{self, Write};

use motet::Catalogue;
use serde::Serialize;

use crate::job::Job;

/// Whether results are written for people or for programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON value on standard output, everything else on standard error.
    Json,
}

/// How a command talks.
#[derive(Clone, Copy)]
pub(crate) struct Console<'a> {
    /// What experiment files can name.
    pub(crate) catalogue: &'a Catalogue,
    /// Whether results are written for people or for programs.
    pub(crate) format: Format,
    /// Only results and errors?
    pub(crate) quiet: bool,
    /// The job that this is a rank of, where there are several.
    pub(crate) job: Option<&'a Job>,
}

impl Console<'_> {
    /// The result, in the format asked for.
    pub(crate) fn result(&self, json: &impl Serialize, text: impl FnOnce() -> String) {
        let line = match self.format {
            Format::Text => printable(&text()),
            // Inside a JSON text this is how such characters are written.
            Format::Json => escaped(&serde_json::to_string(json).unwrap_or_else(|e| format!("{{\"error\":{:?}}}", e.to_string())), |c| {
                format!("\\u{:04x}", u32::from(c))
            }),
        };
        print(&line);
    }

    /// A part of the result, for people, as soon as it is known.
    pub(crate) fn part(&self, text: impl FnOnce() -> String) {
        if self.format == Format::Text {
            print(&printable(&text()));
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
            eprintln!("{}", printable(text));
        }
    }
}

/// Text as a terminal may see it: names out of files could hold characters that steer it, and these are written out.
pub(crate) fn printable(text: &str) -> String {
    escaped(text, |c| c.escape_default().to_string())
}

/// A name out of a file, in one line.
pub(crate) fn one_line(name: &str) -> String {
    printable(&name.replace(['\n', '\t'], " "))
}

fn escaped(text: &str, write: impl Fn(char) -> String) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut safe, c| {
        match c {
            '\n' | '\t' => safe.push(c),
            // Of the second kind are those that turn the direction of writing.
            c if c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') => {
                safe.push_str(&write(c));
            }
            c => safe.push(c),
        }
        safe
    })
}

/// Prints a line; a reader that went away (`| head`) is no error.
fn print(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.trim_end_matches('\n').as_bytes()).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_steer_a_terminal_are_written_out() {
        assert_eq!(printable("a\u{1b}[2Jb\u{9b}1m\u{7}\r\u{202e}c\nd\te"), "a\\u{1b}[2Jb\\u{9b}1m\\u{7}\\r\\u{202e}c\nd\te");
        assert_eq!(one_line("Ada\nLovelace"), "Ada Lovelace");
        assert_eq!(printable("Zoë ▁▂ αᵢ"), "Zoë ▁▂ αᵢ");
    }
}
