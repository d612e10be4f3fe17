//! A folder with one table for each client.

use std::fs;
use std::path::{Path, PathBuf};

use motet_records::{Input, hexadecimal};
use sha2::{Digest, Sha256};

use super::Table;
use super::cells::Cells;
use crate::error::ProblemError;
use crate::guard::{FileLimit, stays_inside};
use crate::source::open::{name_of, shown};

/// What the column that names clients is called where the table's `client` does not say.
pub(super) const CLIENT: &str = "client";

/// What files of tables are called.
const ENDINGS: [&str; 4] = ["csv", "tsv", "txt", "parquet"];

impl Table {
    /// All tables of a folder as one. The name of a file, up to its first dot, is the name of its client, unless the files have a
    /// column that says it.
    pub(super) fn gathered(&self, folder: &Path, limit: FileLimit) -> Result<(Cells, Input), ProblemError> {
        let column = self.client.as_deref().unwrap_or(CLIENT);
        let (mut all, mut digest, mut bytes) = (None::<(Cells, String)>, Sha256::new(), 0u64);
        for path in files(folder)? {
            let file = name_of(&path);
            let (mut cells, input) = self.cells(&path, limit)?;
            bytes += input.bytes;
            digest.update(format!("{} {}\n", input.name, input.sha256));
            if !cells.names.iter().any(|name| name == column) {
                let client = file.split('.').next().unwrap_or_default().to_owned();
                let rows = cells.columns.first().map_or(0, Vec::len);
                cells.names.push(column.to_owned());
                cells.columns.push(vec![Some(client); rows]);
            }
            match &mut all {
                None => all = Some((cells, file)),
                Some((all, first)) => append(all, cells, &file, first)?,
            }
        }
        let (cells, _) = all.ok_or_else(|| ProblemError::NoExamples { file: name_of(folder) })?;
        Ok((cells, Input { name: name_of(folder), bytes, sha256: hexadecimal(&digest.finalize()) }))
    }
}

/// The tables of a folder, by name.
fn files(folder: &Path) -> Result<Vec<PathBuf>, ProblemError> {
    let listed = fs::read_dir(folder).and_then(|entries| entries.map(|entry| entry.map(|e| e.path())).collect::<Result<Vec<_>, _>>());
    let mut files = listed.map_err(|cause| ProblemError::Unreadable { file: folder.to_path_buf(), cause })?;
    files.retain(|file| !name_of(file).starts_with('.') && name_of(file).split('.').any(|part| ENDINGS.contains(&part)));
    files.sort();
    files.iter().try_for_each(|file| stays_inside(folder, file))?;
    Ok(files)
}

/// Rows of one more file, whose columns may stand in another order.
fn append(all: &mut Cells, mut more: Cells, file: &str, first: &str) -> Result<(), ProblemError> {
    let odd = |what: String| ProblemError::Odd { file: file.into(), place: "line 1".into(), what };
    let wrong = |name: &String, has: &str, has_not: &str| {
        odd(format!("{has} has a column `{}` and {has_not} has none: tables of one folder have the same columns", shown(name.as_bytes())))
    };
    if let Some(name) = more.names.iter().find(|name| !all.names.contains(name)) {
        return Err(wrong(name, file, first));
    }
    if more.decimal != all.decimal {
        return Err(odd(format!("fractions have another sign than in {first}: say `decimal = \".\"` or \",\"")));
    }
    for (name, column) in all.names.iter().zip(&mut all.columns) {
        let at = more.names.iter().position(|n| n == name).ok_or_else(|| wrong(name, first, file))?;
        column.append(&mut more.columns[at]);
    }
    all.notes.extend(more.notes);
    Ok(())
}
