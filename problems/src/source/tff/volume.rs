//! One SQLite file, in TensorFlow Federated's or in FedJAX's form, read row by row.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use motet_records::Input;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};

use super::example::{self, Example};
use super::msgpack;
use crate::error::ProblemError;
use crate::guard::{Budget, FileLimit, open_regular};
use crate::imports::{fingerprint, verify};

/// A file that is open.
pub(super) struct Volume {
    pub(super) input: Input,
    base: Connection,
    form: Form,
    /// What the rows of the whole file may unpack to.
    budget: Budget,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Examples one by one, of several splits.
    Tff,
    /// Clients one by one.
    FedJax,
}

/// What is done with an example: whose it is, in which row of the file, and the example.
pub(super) type Each<'a> = dyn FnMut(u32, i64, Example) -> Result<(), String> + 'a;

impl Volume {
    pub(super) fn open(file: &Path, limit: FileLimit) -> Result<Self, ProblemError> {
        let unreadable = |cause| ProblemError::Unreadable { file: PathBuf::from(file), cause };
        let input = fingerprint(file)?;
        verify(file, &input)?;
        let mut first = Vec::new();
        open_regular(file)?.0.take(16).read_to_end(&mut first).map_err(unreadable)?;
        let odd = |place: &str, what: String| ProblemError::Odd { file: input.name.clone(), place: place.into(), what };
        if first != *b"SQLite format 3\0" {
            return Err(odd("first bytes", stranger(&first).into()));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut base = Connection::open_with_flags(file, flags).map_err(|cause| odd("SQLite", cause.to_string()))?;
        bound(&mut base, input.bytes).map_err(|cause| odd("SQLite", cause.to_string()))?;
        let tables = || -> Result<Vec<String>, rusqlite::Error> {
            let mut listed = base.prepare("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")?;
            let names = listed.query_map([], |row| row.get(0))?;
            names.collect()
        };
        let tables = tables().map_err(|cause| odd("SQLite", cause.to_string()))?;
        let has = |name: &str| tables.iter().any(|table| table == name);
        let form = match (has("examples") && has("client_metadata"), has("federated_data")) {
            (true, _) => Form::Tff,
            (false, true) => Form::FedJax,
            (false, false) => {
                let what = "neither examples and client_metadata (TensorFlow Federated) nor federated_data (FedJAX)";
                return Err(odd("SQLite", format!("the tables are {}: {what}", listed(&tables))));
            }
        };
        for name in form.tables() {
            if let Some(what) = computed(&base, name).map_err(|cause| odd("SQLite", cause.to_string()))? {
                return Err(odd("SQLite", format!("`{name}` {what}: only tables that hold their rows are read")));
            }
        }
        let budget = limit.budget(input.bytes);
        Ok(Self { input, base, form, budget })
    }

    pub(super) fn odd(&self, place: impl Into<String>, what: impl Into<String>) -> ProblemError {
        ProblemError::Odd { file: self.input.name.clone(), place: place.into(), what: what.into() }
    }

    fn damaged(&self, cause: &rusqlite::Error) -> ProblemError {
        let endless = cause.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted);
        let what = if endless { "its rows are more than its bytes can hold: the file is damaged".into() } else { cause.to_string() };
        self.odd("SQLite", what)
    }

    /// The names of the splits; none in FedJAX's form.
    pub(super) fn splits(&self) -> Result<Vec<String>, ProblemError> {
        if self.form == Form::FedJax {
            return Ok(Vec::new());
        }
        let read = || -> Result<Vec<String>, rusqlite::Error> {
            let mut listed = self.base.prepare("SELECT DISTINCT split_name FROM client_metadata ORDER BY split_name")?;
            let names = listed.query_map([], |row| row.get(0))?;
            names.collect()
        };
        match read().map_err(|cause| self.damaged(&cause))? {
            splits if splits.is_empty() => Err(ProblemError::NoExamples { file: self.input.name.clone() }),
            splits => Ok(splits),
        }
    }

    /// How many examples each client has, as the file counts them.
    pub(super) fn clients(&self, split: Option<&str>) -> Result<BTreeMap<String, u64>, ProblemError> {
        let text = match self.form {
            Form::Tff => "SELECT client_id, num_examples FROM client_metadata WHERE split_name = ?1",
            Form::FedJax => "SELECT client_id, num_examples FROM federated_data WHERE ?1 IS NULL",
        };
        let read = || -> Result<Result<BTreeMap<String, u64>, String>, rusqlite::Error> {
            let (mut query, mut counts) = (self.base.prepare(text)?, BTreeMap::new());
            let mut rows = query.query([split])?;
            while let Some(row) = rows.next()? {
                let counted = name_of_client(row, 0).and_then(|name| match row.get_ref(1) {
                    Ok(ValueRef::Integer(count)) if count >= 0 => Ok((name, count as u64)),
                    _ => Err(format!("client `{name}`: num_examples is not a number")),
                });
                match counted {
                    Ok((name, count)) => *counts.entry(name).or_insert(0) += count,
                    Err(what) => return Ok(Err(what)),
                }
            }
            Ok(Ok(counts))
        };
        let counts = read().map_err(|cause| self.damaged(&cause))?.map_err(|what| self.odd("clients", what))?;
        if counts.is_empty() { Err(ProblemError::NoExamples { file: self.input.name.clone() }) } else { Ok(counts) }
    }

    /// Every example of a split whose client has a key; no client after the `last` is looked at. A client without a key is passed over, one
    /// that should not be there is an error.
    pub(super) fn examples(
        &self,
        split: Option<&str>,
        last: Option<&str>,
        key: &dyn Fn(&str) -> Result<Option<u32>, String>,
        each: &mut Each<'_>,
    ) -> Result<(), ProblemError> {
        // Two questions, so that SQLite can use the index on split and client that TensorFlow Federated's files have.
        let text = match (self.form, last) {
            (Form::Tff, None) => "SELECT client_id, serialized_example_proto, rowid FROM examples WHERE split_name = ?1 AND ?2 IS NULL",
            (Form::Tff, Some(_)) => {
                "SELECT client_id, serialized_example_proto, rowid FROM examples WHERE split_name = ?1 AND client_id <= ?2"
            }
            (Form::FedJax, _) => "SELECT client_id, data, rowid FROM federated_data WHERE ?1 IS NULL AND (?2 IS NULL OR 1) ORDER BY rowid",
        };
        let mut query = self.base.prepare(text).map_err(|cause| self.damaged(&cause))?;
        let mut rows = query.query([split, last]).map_err(|cause| self.damaged(&cause))?;
        while let Some(row) = rows.next().map_err(|cause| self.damaged(&cause))? {
            let number: i64 = row.get(2).unwrap_or_default();
            let name = name_of_client(row, 0).map_err(|what| self.odd(format!("row {number}"), what))?;
            let place = || format!("row {number}, client `{name}`");
            if let Some(key) = key(&name).map_err(|what| self.odd(place(), what))? {
                let bytes = blob(row).map_err(|what| self.odd(place(), what))?;
                let examples = self.form.decoded(bytes, &self.budget).map_err(|what| self.odd(place(), what))?;
                examples.into_iter().try_for_each(|example| each(key, number, example)).map_err(|what| self.odd(place(), what))?;
            }
        }
        Ok(())
    }

    /// What these rows hold, without looking into it, and whose they are.
    pub(super) fn blobs(&mut self, split: Option<&str>, first: i64, count: u64) -> Result<Vec<(String, Vec<u8>)>, ProblemError> {
        let text = match self.form {
            // The plus keeps SQLite from the index on splits, by which it would look through the whole split for a few rows.
            Form::Tff => {
                "SELECT client_id, serialized_example_proto FROM examples WHERE rowid BETWEEN ?2 AND ?3 AND +split_name = ?1 ORDER BY rowid"
            }
            Form::FedJax => "SELECT client_id, data FROM federated_data WHERE rowid BETWEEN ?2 AND ?3 AND ?1 IS NULL ORDER BY rowid",
        };
        // Every client has as many steps as the whole file.
        bound(&mut self.base, self.input.bytes).map_err(|cause| self.damaged(&cause))?;
        let last = i64::try_from(count).ok().and_then(|count| first.checked_add(count - 1)).unwrap_or(first);
        let mut query = self.base.prepare(text).map_err(|cause| self.damaged(&cause))?;
        let mut rows = query.query((split, first, last)).map_err(|cause| self.damaged(&cause))?;
        let mut found = vec![];
        while let Some(row) = rows.next().map_err(|cause| self.damaged(&cause))? {
            let read = name_of_client(row, 0).and_then(|name| Ok((name, blob(row)?.to_vec())));
            found.push(read.map_err(|what| self.odd(format!("rows {first} to {last}"), what))?);
        }
        Ok(found)
    }

    pub(super) fn form(&self) -> Form {
        self.form
    }
}

/// What a row holds, beside its client.
fn blob<'a>(row: &'a Row<'_>) -> Result<&'a [u8], String> {
    match row.get_ref(1).map_err(|cause| cause.to_string())? {
        ValueRef::Blob(bytes) => Ok(bytes),
        _ => Err("its examples are not a blob".into()),
    }
}

impl Form {
    /// The examples of one row.
    pub(super) fn decoded(self, bytes: &[u8], budget: &Budget) -> Result<Vec<Example>, String> {
        match self {
            Form::Tff => Ok(vec![example::decode(bytes)?]),
            Form::FedJax => {
                let unpacked = budget.unpack(flate2::read::ZlibDecoder::new(bytes)).map_err(|cause| format!("zlib: {cause}"))?;
                Ok(msgpack::decode(&unpacked)?.into_iter().collect())
            }
        }
    }

    /// Where its rows are.
    fn tables(self) -> &'static [&'static str] {
        match self {
            Form::Tff => &["examples", "client_metadata"],
            Form::FedJax => &["federated_data"],
        }
    }
}

/// Gives every question so many steps as the bytes of the file allow: pages that lead to each other have no last row.
fn bound(base: &mut Connection, bytes: u64) -> Result<(), rusqlite::Error> {
    const EVERY: i32 = 1 << 16;
    const STEPS_PER_BYTE: u64 = 16;
    const ALWAYS: u64 = 1 << 22;
    let mut left = (bytes.saturating_mul(STEPS_PER_BYTE).saturating_add(ALWAYS)) / EVERY as u64;
    base.progress_handler(
        EVERY,
        Some(move || {
            left = left.saturating_sub(1);
            left == 0
        }),
    )
}

/// What is wrong with a table whose rows are computed and not in the file: those may be endless or of any size.
fn computed(base: &Connection, table: &str) -> Result<Option<&'static str>, rusqlite::Error> {
    let (kind, page): (String, i64) =
        base.query_row("SELECT type, rootpage FROM sqlite_master WHERE name = ?1 AND type IN ('table', 'view')", [table], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    if kind != "table" {
        return Ok(Some("is a view"));
    }
    if page == 0 {
        return Ok(Some("is a virtual table"));
    }
    let made: i64 = base.query_row("SELECT count(*) FROM pragma_table_xinfo(?1) WHERE hidden <> 0", [table], |row| row.get(0))?;
    Ok((made > 0).then_some("has a column that is computed"))
}

/// A client's name, which FedJAX writes as bytes.
fn name_of_client(row: &Row<'_>, column: usize) -> Result<String, String> {
    match row.get_ref(column) {
        Ok(ValueRef::Text(bytes) | ValueRef::Blob(bytes)) => Ok(String::from_utf8_lossy(bytes).into_owned()),
        Ok(ValueRef::Integer(number)) => Ok(number.to_string()),
        _ => Err("a client without a name".into()),
    }
}

/// What a file is that is no SQLite.
fn stranger(first: &[u8]) -> &'static str {
    match first {
        [0xfd, b'7', b'z', b'X', b'Z', ..] | [0x5d, 0, 0, ..] => "this is packed: unpack it first (xz --decompress)",
        [0x1f, 0x8b, ..] => "this is packed: unpack it first (gunzip)",
        [b'B', b'Z', b'h', ..] => "this is packed: unpack it first (bunzip2)",
        [0x89, b'H', b'D', b'F', ..] => "this is HDF5: make an npz of it with tools/data/tff_to_npz.py",
        _ => "not an SQLite file: it does not begin with \"SQLite format 3\"",
    }
}

fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
