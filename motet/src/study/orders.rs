//! Orders to a coordinator that is running: small files in its folder, which it looks for twice a second.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use motet_files::replace;

use crate::recorders::Folder;

/// An order to a coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Refuse a participant from now on.
    Revoke(String),
    /// Invite a participant anew: it gets another token, and its certificate is worth nothing any more.
    Invite(String),
    /// Stop after the round under way; the study can go on later.
    Stop,
}

const ORDERS: &str = "serve/orders";
const STOP: &str = "stop";

/// Gives an order to the coordinator of a folder. One that is not at work finds it when it starts, but for a stop, which is for one that
/// is: whoever starts a coordinator wants it to work.
pub fn give(folder: &Path, order: &Order) -> io::Result<()> {
    if !folder.join("serve").is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "there is no study in this folder"));
    }
    let orders = folder.join(ORDERS);
    fs::create_dir_all(&orders)?;
    let named = |kind: &str, name: &str| -> io::Result<()> {
        let number = fs::read_dir(&orders)?.count();
        replace(&orders.join(format!("{kind}-{number}-{}", std::process::id())), name.as_bytes())
    };
    match order {
        Order::Stop if !Folder::is_held(folder) => {
            Err(io::Error::new(io::ErrorKind::NotFound, "no coordinator is at work in this folder: there is nothing to stop"))
        }
        Order::Stop => replace(&orders.join(STOP), b""),
        Order::Revoke(name) => named("revoke", name),
        Order::Invite(name) => named("invite", name),
    }
}

/// Takes a stop back that nobody has carried out.
pub(super) fn withdraw_stop(folder: &Path) -> io::Result<()> {
    match fs::remove_file(folder.join(ORDERS).join(STOP)) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// The orders that are there. Each is removed by [`done`] when it was carried out.
pub(super) fn found(folder: &Path) -> io::Result<Vec<(PathBuf, Order)>> {
    let entries = match fs::read_dir(folder.join(ORDERS)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        entries => entries?,
    };
    let mut orders = vec![];
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name == STOP {
            orders.push((path, Order::Stop));
            continue;
        }
        // What ends so is not written to its end yet.
        let kind = name.split_once('-').map(|(kind, _)| kind).filter(|_| !name.ends_with(".new"));
        let order = match kind {
            Some("revoke") => Order::Revoke,
            Some("invite") => Order::Invite,
            _ => continue,
        };
        let text = motet_files::read_text(&path, 1 << 16)?;
        orders.push((path, order(text)));
    }
    Ok(orders)
}

/// An order was carried out.
pub(super) fn done(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}
