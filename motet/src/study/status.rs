//! Where a study stands, as its folder says.

use std::io;
use std::path::Path;

use motet_link::Member;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::recorders::Folder;

/// Where a study stands, as its folder says.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Is it under way, stopped or killed before its end?
    pub unfinished: bool,
    /// How often the coordinator was started.
    pub starts: u32,
    /// The newest measured round of the newest run, if there is one: run and round.
    pub newest: Option<(u64, u64)>,
    /// Who takes part: name, enrolled, revoked.
    pub members: Vec<(String, bool, bool)>,
}

/// Of a row.
#[derive(Deserialize)]
struct Place {
    run: u64,
    round: u64,
}

/// Where the study in a folder stands.
pub fn status(folder: &Path) -> Result<Status, Error> {
    let home = folder.join("serve");
    if !home.is_dir() {
        return Err(Error::Unknown(format!("{}: there is no study in this folder", folder.display())));
    }
    let unreadable = |source| Error::Write { path: home.clone(), source };
    let text = motet_files::read_text(&home.join("members.json"), 64 << 20).map_err(unreadable)?;
    let members: Vec<Member> = serde_json::from_str(&text).map_err(|e| unreadable(e.into()))?;
    let starts = starts(&home.join("start")).map_err(unreadable)?;
    let path = folder.join(motet_records::names::ROWS);
    let rows = match motet_files::read_text(&path, u64::MAX) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => String::new(),
        text => text.map_err(|source| Error::Write { path: path.clone(), source })?,
    };
    // What comes after the last end of a line is half written.
    let whole = rows.rfind('\n').map_or("", |end| &rows[..end]);
    let newest = whole.lines().next_back().map(serde_json::from_str::<Place>).transpose();
    let newest = newest.map_err(|e| Error::Write { path, source: e.into() })?.map(|Place { run, round }| (run, round));
    let members = members.iter().map(|member| (member.name.clone(), member.is_enrolled(), member.revoked)).collect();
    Ok(Status { unfinished: Folder::is_unfinished(folder), starts, newest, members })
}

/// How often the coordinator of this file was started; 0 if never.
pub(super) fn starts(path: &Path) -> io::Result<u32> {
    match motet_files::read_text(path, 1 << 10) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(0),
        text => text?.trim().parse::<u32>().map_err(|e| io::Error::new(io::ErrorKind::InvalidData, format!("start: {e}"))),
    }
}
