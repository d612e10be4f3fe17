//! New examples for models that know no names of columns: numbers in the order of training.

use std::path::Path;

use motet_problems::{Matrix, Source};
use serde_json::json;

use super::wrong;
use crate::error::Error;

/// LIBSVM text; its labels are passed over.
pub(super) fn libsvm(data: &Path, features: u64) -> Result<Matrix, Error> {
    let source: Source = serde_json::from_value(json!({ "kind": "libsvm", "path": data, "features": features, "labels": "numbers" }))
        .map_err(|e| wrong(data, e))?;
    let Some(source) = source.downcast::<motet_problems::source::Libsvm>() else { return Err(wrong(data, "not LIBSVM text")) };
    let (dataset, _) = source.open(&motet_problems::Folders::beside(Path::new(""))).map_err(|e| Error::Unknown(e.to_string()))?;
    Ok(dataset.features)
}

/// CSV whose columns are the features in the order of training.
pub(super) fn table(data: &Path, drop: &[String], features: u64) -> Result<Matrix, Error> {
    let text = motet_files::read_text(data, u64::MAX).map_err(|e| wrong(data, e))?;
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).peekable();
    let cells = |line: &str| line.split(',').map(|cell| cell.trim().trim_matches('"').to_owned()).collect::<Vec<String>>();
    let first = lines.peek().map(|(_, line)| cells(line)).ok_or_else(|| wrong(data, "has no examples"))?;
    let named = first.iter().any(|cell| cell.parse::<f64>().is_err());
    let place = |column: &String| {
        let by_name = first.iter().position(|name| named && name == column);
        by_name.or(column.parse::<usize>().ok().and_then(|k| k.checked_sub(1)).filter(|k| *k < first.len()))
    };
    let mut dropped = vec![];
    for column in drop {
        let known = if named { first.join(", ") } else { format!("1 to {}", first.len()) };
        dropped.push(place(column).ok_or_else(|| wrong(data, format!("--drop {column}: there is no such column; there are {known}")))?);
    }
    if named {
        lines.next();
    }
    let (mut values, mut count) = (vec![], 0);
    for (at, line) in lines {
        let before = values.len();
        for (k, cell) in cells(line).iter().enumerate().filter(|(k, _)| !dropped.contains(k)) {
            let number = cell.parse::<f64>().ok().filter(|v| v.is_finite());
            values.push(number.ok_or_else(|| wrong(data, format!("line {}, column {}: \"{cell}\" is not a number", at + 1, k + 1)))?);
        }
        let found = values.len() - before;
        if found as u64 != features {
            let message = format!("line {} has {found} numbers, the model takes {}: leave columns out with --drop", at + 1, features);
            return Err(wrong(data, message));
        }
        count += 1;
    }
    if count == 0 {
        return Err(wrong(data, "has no examples"));
    }
    Matrix::dense(features as usize, values).map_err(|e| wrong(data, e))
}
