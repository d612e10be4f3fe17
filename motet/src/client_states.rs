//! Where the client states of one run sleep: in a file or in memory, on one rank or on several.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use motet_core::{ClientId, Reader, State, Store, StoreError, Wire, WireError};
use motet_runtime::{Disk, Homes, Keeps, Memory};

use crate::cluster::place;
use crate::resume::Saved;

/// Client states in a file, or in memory.
pub(crate) enum ClientStates<S> {
    /// In a file, and in memory what is in use.
    Disk {
        states: Arc<Disk<S>>,
        /// How often states were dealt anew, since the run went on on another number of ranks. Each time they lie in a new folder: older
        /// checkpoints still find theirs.
        deal: u64,
    },
    /// In memory.
    Memory(Arc<Memory<S>>),
}

/// Which rank's states, and where clients live.
pub(crate) struct Quarters<'a> {
    pub(crate) rank: usize,
    pub(crate) homes: &'a Homes,
}

impl Quarters<'_> {
    fn ranks(&self) -> usize {
        self.homes.ranks()
    }

    fn has(&self, client: u32) -> bool {
        self.homes.of(ClientId(client)) as usize == self.rank
    }
}

impl<S: State> ClientStates<S> {
    /// As they were when the first of these moments was saved. `folder` is where the run is kept, if on disk; `limit` is how
    /// many bytes of states may then stay in memory. A moment that was saved on another number of ranks is dealt anew.
    pub(crate) fn found(saved: &[Saved], folder: Option<&Path>, limit: u64, quarters: &Quarters<'_>) -> io::Result<Self> {
        let newest = saved.first().map(|newest| Parts::of(&newest.index)).transpose()?.unwrap_or_default();
        let Some(folder) = folder else {
            let memory = Memory::default();
            for part in &newest.ranks {
                let states = Vec::<(u32, S)>::decode(&mut Reader::new(part)).map_err(io::Error::other)?;
                let mut own = states.into_iter().filter(|(id, _)| quarters.has(*id));
                own.try_for_each(|(id, state)| memory.put(ClientId(id), state)).map_err(io::Error::other)?;
            }
            return Ok(ClientStates::Memory(Arc::new(memory)));
        };
        let alike = in_the_same_files(saved, quarters.ranks())?;
        if !alike.is_empty() {
            let indices = alike.iter().map(|saved| Ok(Parts::of(&saved.index)?.ranks[quarters.rank])).collect::<io::Result<Vec<_>>>()?;
            let own = place(&folder_of(folder, newest.deal), quarters.ranks(), quarters.rank);
            let states = Arc::new(Disk::open(&states(&own), limit, &indices).map_err(io::Error::other)?);
            return Ok(ClientStates::Disk { states, deal: newest.deal });
        }
        let deal = if saved.is_empty() { 0 } else { newest.deal + 1 };
        if quarters.rank == 0 {
            forget_deals(folder, saved, deal)?;
        }
        let own = place(&folder_of(folder, deal), quarters.ranks(), quarters.rank);
        std::fs::create_dir_all(&own)?;
        let disk = Disk::create(&states(&own), limit)?;
        for (rank, part) in newest.ranks.iter().enumerate() {
            let from = states(&place(&folder_of(folder, newest.deal), newest.ranks.len(), rank));
            let from = Disk::<S>::open(&from, limit, &[part]).map_err(io::Error::other)?;
            for client in from.clients().into_iter().filter(|client| quarters.has(client.0)) {
                if let Some(state) = from.read(client).map_err(io::Error::other)? {
                    disk.put(client, state).map_err(io::Error::other)?;
                }
            }
        }
        Ok(ClientStates::Disk { states: Arc::new(disk), deal })
    }

    /// The states of all ranks, of which these are those of one, as a checkpoint names them.
    pub(crate) fn joined(&self, parts: Vec<Vec<u8>>) -> Vec<u8> {
        joined(parts, if let ClientStates::Disk { deal, .. } = self { *deal } else { 0 })
    }

    /// What a host takes them from.
    pub(crate) fn store(&self) -> Arc<dyn Store<S>> {
        match self {
            ClientStates::Disk { states, .. } => Arc::clone(states) as _,
            ClientStates::Memory(memory) => Arc::clone(memory) as _,
        }
    }
}

impl<S: State> Keeps for ClientStates<S> {
    fn commit(&self) -> Result<(u64, Vec<u8>), StoreError> {
        match self {
            ClientStates::Disk { states, .. } => states.commit().map(|index| (states.generation(), index)),
            ClientStates::Memory(memory) => {
                let all: Vec<(u32, S)> = memory.states().into_iter().map(|(id, state)| (id.0, state)).collect();
                let mut bytes = Vec::with_capacity(all.bytes() as usize);
                all.encode(&mut bytes);
                Ok((0, bytes))
            }
        }
    }

    fn release(&self, oldest: u64) {
        if let ClientStates::Disk { states, .. } = self {
            states.release(oldest);
        }
    }
}

fn states(folder: &Path) -> PathBuf {
    folder.join("states")
}

/// Where the folders of all ranks are.
fn folder_of(run: &Path, deal: u64) -> PathBuf {
    if deal == 0 { run.to_owned() } else { run.join(format!("{DEAL}{deal}")) }
}

const DEAL: &str = "dealt-";

/// Removes what was dealt that none of these moments names, nor will name.
fn forget_deals(run: &Path, saved: &[Saved], next: u64) -> io::Result<()> {
    let mut named = vec![next];
    for moment in saved {
        named.push(Parts::of(&moment.index)?.deal);
    }
    for entry in std::fs::read_dir(run).into_iter().flatten() {
        let entry = entry?;
        let deal = entry.file_name().to_str().and_then(|name| name.strip_prefix(DEAL)?.parse().ok());
        if deal.is_some_and(|deal| !named.contains(&deal)) {
            std::fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// The newest of these moments, as far as so many ranks have the states of all of them in the files that they go on with; none if states have to be
/// dealt anew. A moment before another number of ranks was at work names other files, though there may have been as many ranks as now.
pub(crate) fn in_the_same_files(saved: &[Saved], ranks: usize) -> io::Result<&[Saved]> {
    let places = saved.iter().map(|saved| Parts::of(&saved.index).map(|parts| (parts.deal, parts.ranks.len())));
    let places = places.collect::<io::Result<Vec<_>>>()?;
    let Some(newest) = places.first().filter(|(_, parts)| *parts == ranks) else { return Ok(&[]) };
    Ok(&saved[..places.iter().take_while(|place| *place == newest).count()])
}

/// Says that what follows is the states of several ranks: no index and no list of states begins so.
const RANKS: &[u8] = b"of ranks\xff\xff\xff\xff";

/// The states of all ranks as one: those of a single rank as they are, if they were never dealt anew.
fn joined(parts: Vec<Vec<u8>>, deal: u64) -> Vec<u8> {
    if parts.len() == 1 && deal == 0 {
        return parts.concat();
    }
    let mut all = RANKS.to_vec();
    deal.encode(&mut all);
    for part in parts {
        (part.len() as u64).encode(&mut all);
        all.extend(part);
    }
    all
}

/// What a checkpoint says of client states.
#[derive(Debug, Default, PartialEq)]
struct Parts<'a> {
    /// How often they had been dealt anew.
    deal: u64,
    /// The states of each rank.
    ranks: Vec<&'a [u8]>,
}

impl<'a> Parts<'a> {
    fn of(index: &'a [u8]) -> io::Result<Self> {
        let Some(rest) = index.strip_prefix(RANKS) else { return Ok(Self { deal: 0, ranks: vec![index] }) };
        let short = || io::Error::other(WireError::Short);
        let (deal, mut all) = rest.split_first_chunk().ok_or_else(short)?;
        let mut parts = Self { deal: u64::from_le_bytes(*deal), ranks: vec![] };
        while !all.is_empty() {
            let cut = all
                .split_first_chunk()
                .and_then(|(length, rest)| rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?));
            let (part, rest) = cut.ok_or_else(short)?;
            parts.ranks.push(part);
            all = rest;
        }
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_moments_of_the_same_files_are_gone_on_with() {
        let saved = |ranks: usize, deal: u64| Saved { index: joined(vec![vec![7]; ranks], deal), ..Saved::default() };
        // Begun on three ranks, gone on with two, then with three again.
        let moments = [saved(3, 2), saved(2, 1), saved(3, 0)];
        let counts = [1, 2, 3].map(|ranks| in_the_same_files(&moments, ranks).expect("sound").len());
        assert_eq!(counts, [0, 0, 1]);
        assert_eq!(in_the_same_files(&moments[1..], 2).expect("sound").len(), 1);
        assert_eq!(in_the_same_files(&[saved(1, 0), saved(1, 0), saved(1, 4)], 1).expect("sound").len(), 2);
        assert_eq!(Parts::of(&joined(vec![vec![], vec![1]], 5)).expect("sound"), Parts { deal: 5, ranks: vec![&[], &[1]] });
        assert!(Parts::of(&[RANKS, &[0; 9]].concat()).is_err(), "cut short");
    }
}
