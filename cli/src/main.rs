//! The `motet` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    motet_cli::main_with(motet::Catalogue::standard())
}
