//! The command line inside the wheel.

use std::ffi::OsString;
use std::io::Write;

use motet::Catalogue;
use pyo3::prelude::*;

/// Does what the command `motet` does with these words, the first of which is the program's name; gives the exit code.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| {
        let code = motet_cli::main_of(&Catalogue::standard(), words);
        // Whoever ends the process is Python, which knows nothing of what Rust has yet to write. Where nobody reads any more,
        // nothing is lost.
        let _ = std::io::stdout().flush();
        code
    })
}
