//! What an operator tells a coordinator that is at work: small files in its folder, which it looks for every second.

use std::fs;
use std::io;
use std::path::Path;

use motet_files::replace;

/// An order to a coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Refuse a participant from now on.
    Revoke(String),
    /// Stop after the round under way; the study can go on later.
    Stop,
}

const ORDERS: &str = "serve/orders";

/// Gives an order to the coordinator of a folder. One that is not at work finds it when it starts.
pub fn give(folder: &Path, order: &Order) -> io::Result<()> {
    if !folder.join("serve").is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "there is no study in this folder"));
    }
    let orders = folder.join(ORDERS);
    fs::create_dir_all(&orders)?;
    match order {
        Order::Stop => replace(&orders.join("stop"), b""),
        Order::Revoke(name) => {
            let number = fs::read_dir(&orders)?.count();
            replace(&orders.join(format!("revoke-{number}-{}", std::process::id())), name.as_bytes())
        }
    }
}

/// The orders that are there. Each is removed by [`done`] when it was carried out.
pub(super) fn found(folder: &Path) -> Vec<(std::path::PathBuf, Order)> {
    let Ok(entries) = fs::read_dir(folder.join(ORDERS)) else { return vec![] };
    let order = |path: std::path::PathBuf| {
        let name = path.file_name()?.to_str()?.to_owned();
        if name == "stop" {
            return Some((path, Order::Stop));
        }
        let text = name.starts_with("revoke-").then(|| motet_files::read_text(&path, 1 << 16).ok()).flatten()?;
        Some((path, Order::Revoke(text)))
    };
    entries.flatten().filter_map(|entry| order(entry.path())).collect()
}

/// An order was carried out.
pub(super) fn done(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}
