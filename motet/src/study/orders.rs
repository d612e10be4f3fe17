//! Orders to a coordinator that is running: small files in its folder, which it looks for every second.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

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
pub(super) fn found(folder: &Path) -> io::Result<Vec<(PathBuf, Order)>> {
    let entries = match fs::read_dir(folder.join(ORDERS)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        entries => entries?,
    };
    let mut orders = vec![];
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name == "stop" {
            orders.push((path, Order::Stop));
        } else if name.starts_with("revoke-") && !name.ends_with(".new") {
            let text = motet_files::read_text(&path, 1 << 16)?;
            orders.push((path, Order::Revoke(text)));
        }
    }
    Ok(orders)
}

/// An order was carried out.
pub(super) fn done(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}
