//! Local solves on disk: each is written once, at the end of a file, and never changes.
//!
//! ```text
//! record   key, client, gradients, values, length of the vector's bytes, their checksum; checksum of the foregoing; the bytes
//! ```
//!
//! What a kill leaves half written at the end is cut off when the file is opened again. A record that is damaged is
//! made again by whoever asks for it.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use motet_core::{Archive, ClientId, Reader, Vector, Wire, Work, wire};
use motet_files::kill;

/// An archive of local solves in a file, with a cache.
#[derive(Debug)]
pub struct Solves {
    desk: Mutex<Desk>,
}

#[derive(Debug)]
struct Desk {
    file: File,
    end: u64,
    /// Where the bytes of a vector begin.
    places: BTreeMap<(u64, u32), (u64, Head)>,
    /// Vectors in memory, with the time of their last use.
    cache: BTreeMap<(u64, u32), (Vector, u64)>,
    recent: BTreeMap<u64, (u64, u32)>,
    clock: u64,
    held: u64,
    limit: u64,
}

wire! {
    /// What stands before the bytes of a vector.
    #[derive(Copy)]
    struct Head {
        key: u64,
        client: u32,
        gradients: u64,
        values: u64,
        length: u64,
        checksum: u32,
    }
}

/// Bytes of a head and of its own checksum.
const HEAD: usize = 8 + 4 + 8 + 8 + 8 + 4 + 4;

impl Solves {
    /// What a file holds; it is made if it is not there. `limit`: bytes of vectors that may stay in memory.
    pub fn open(path: &Path, limit: u64) -> io::Result<Self> {
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        let length = file.metadata()?.len();
        let (mut places, mut end) = (BTreeMap::new(), 0);
        while let Some(head) = read_head(&mut file)? {
            let begin = end + HEAD as u64;
            // The last record may be cut, and what is behind a damaged head cannot be found.
            let Some(next) = begin.checked_add(head.length).filter(|next| *next <= length) else { break };
            places.insert((head.key, head.client), (begin, head));
            end = file.seek(SeekFrom::Start(next))?;
        }
        file.set_len(end)?;
        let (cache, recent) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { desk: Mutex::new(Desk { file, end, places, cache, recent, clock: 0, held: 0, limit }) })
    }
}

/// The next head, if there is a whole one.
fn read_head(file: &mut File) -> io::Result<Option<Head>> {
    let mut bytes = [0; HEAD];
    match file.read_exact(&mut bytes) {
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let (head, sum) = bytes.split_at(HEAD - 4);
    let whole = crc32fast::hash(head).to_le_bytes() == *sum;
    Ok(Head::decode(&mut Reader::new(head)).ok().filter(|_| whole))
}

impl Desk {
    fn remember(&mut self, place: (u64, u32), vector: &Vector) {
        self.clock += 1;
        if let Some((_, used)) = self.cache.insert(place, (vector.clone(), self.clock)) {
            self.recent.remove(&used);
        } else {
            self.held += vector.bytes();
        }
        self.recent.insert(self.clock, place);
        while self.held > self.limit {
            let Some((_, oldest)) = self.recent.pop_first() else { break };
            if let Some((gone, _)) = self.cache.remove(&oldest) {
                self.held -= gone.bytes();
            }
        }
    }

    fn fetch(&mut self, place: (u64, u32)) -> Option<(Vector, Work)> {
        let (begin, head) = *self.places.get(&place)?;
        let work = Work { gradients: head.gradients, values: head.values };
        if let Some((vector, _)) = self.cache.get(&place) {
            let vector = vector.clone();
            self.remember(place, &vector);
            return Some((vector, work));
        }
        let mut bytes = vec![0; usize::try_from(head.length).ok()?];
        self.file.seek(SeekFrom::Start(begin)).and_then(|_| self.file.read_exact(&mut bytes)).ok()?;
        let whole = crc32fast::hash(&bytes) == head.checksum;
        let vector = Vector::decode(&mut Reader::new(&bytes)).ok().filter(|_| whole)?;
        self.remember(place, &vector);
        Some((vector, work))
    }

    fn write(&mut self, place: (u64, u32), vector: &Vector, work: Work) -> io::Result<()> {
        let mut bytes = vec![0; HEAD];
        vector.encode(&mut bytes);
        let (length, checksum) = ((bytes.len() - HEAD) as u64, crc32fast::hash(&bytes[HEAD..]));
        let head = Head { key: place.0, client: place.1, gradients: work.gradients, values: work.values, length, checksum };
        let mut front = Vec::with_capacity(HEAD);
        head.encode(&mut front);
        crc32fast::hash(&front).encode(&mut front);
        bytes[..HEAD].copy_from_slice(&front);
        self.file.seek(SeekFrom::Start(self.end))?;
        kill::point(|| {
            let _ = self.file.write_all(&bytes[..bytes.len() / 2]);
        });
        self.file.write_all(&bytes)?;
        self.places.insert(place, (self.end + HEAD as u64, head));
        self.end += bytes.len() as u64;
        Ok(())
    }
}

impl Archive for Solves {
    fn get(&self, client: ClientId, key: u64) -> Option<(Vector, Work)> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner).fetch((key, client.0))
    }

    fn put(&self, client: ClientId, key: u64, vector: &Vector, work: Work) -> bool {
        let desk = &mut *self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = desk.write((key, client.0), vector, work).is_ok();
        if kept {
            desk.remember((key, client.0), vector);
        }
        kept
    }

    /// A run waits for its solves.
    fn is_enough(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solve(k: u32) -> (Vector, Work) {
        (vec![f64::from(k); 10].into(), Work { gradients: k.into(), values: 1 })
    }

    fn fill(path: &Path, limit: u64) -> Solves {
        let solves = Solves::open(path, limit).unwrap();
        for k in 0..5 {
            let (vector, work) = solve(k);
            assert!(solves.put(ClientId(k), 7, &vector, work));
        }
        solves
    }

    #[test]
    fn solves_are_found_again_from_memory_from_the_file_and_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        for limit in [0, 200, u64::MAX] {
            let path = folder.path().join(format!("{limit}"));
            let solves = fill(&path, limit);
            let again = Solves::open(&path, limit).unwrap();
            for solves in [solves, again] {
                assert!((0..5).all(|k| solves.get(ClientId(k), 7) == Some(solve(k))));
                assert_eq!(solves.get(ClientId(1), 8), None);
                assert!(solves.desk.lock().unwrap().held <= limit);
            }
        }
    }

    #[test]
    fn a_cut_or_damaged_file_loses_what_was_hit_and_nothing_that_is_found_is_wrong() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        fill(&path, 0);
        let whole = std::fs::read(&path).unwrap();
        let record = whole.len() / 5;
        for at in 0..whole.len() {
            std::fs::write(&path, &whole[..at]).unwrap();
            let cut = Solves::open(&path, 0).unwrap();
            assert!((0..5).all(|k| cut.get(ClientId(k), 7) == ((k as usize) < at / record).then(|| solve(k))), "cut after {at}");
            let mut bad = whole.clone();
            bad[at] ^= 4;
            std::fs::write(&path, &bad).unwrap();
            let damaged = Solves::open(&path, 0).unwrap();
            assert!((0..5).all(|k| damaged.get(ClientId(k), 7).is_none_or(|found| found == solve(k))), "byte {at}");
            assert!((0..at / record).all(|k| damaged.get(ClientId(k as u32), 7).is_some()), "byte {at}");
        }
    }
}
