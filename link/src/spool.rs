//! Replies on their way: written as they arrive, read when they are due.
//!
//! A reply that is here need not be asked for again when the coordinator is started once more: the same place in the run asks
//! the same, and the same dice give the same reply. What is read back is compared with its SHA-256 first, so that nothing
//! here has to be durable: what a power cut takes is asked for again.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use motet_core::Slot;

use crate::digest::Digest;

/// Whose reply to what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReplyKey {
    /// The client's number.
    pub client: u32,
    /// The place in the run.
    pub slot: Slot,
    /// Of everything else that the reply depends on: the kind of task, the version named, and the ask.
    pub ask: Digest,
}

/// Keeps replies until the round they belong to is over.
pub trait Spool: Send {
    /// How many bytes of an unfinished reply are here.
    fn part(&self, key: &ReplyKey) -> io::Result<u64>;
    /// More of an unfinished reply; `offset` is where it ends, and at 0 it begins anew.
    fn append(&mut self, key: &ReplyKey, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// The reply is all here. If it is not the one announced, it goes, and the answer is `false`.
    fn finish(&mut self, key: &ReplyKey, announced: Digest) -> io::Result<bool>;
    /// A whole reply, if it is here as it was sent.
    fn read(&self, key: &ReplyKey) -> io::Result<Option<Vec<u8>>>;
    /// Forgets some, whole or not.
    fn forget(&mut self, gone: &dyn Fn(&ReplyKey) -> bool) -> io::Result<()>;
}

/// Replies in memory.
#[derive(Clone, Debug, Default)]
pub struct MemorySpool {
    parts: BTreeMap<ReplyKey, Vec<u8>>,
    whole: BTreeMap<ReplyKey, Vec<u8>>,
}

impl Spool for MemorySpool {
    fn part(&self, key: &ReplyKey) -> io::Result<u64> {
        Ok(self.parts.get(key).map_or(0, |part| part.len() as u64))
    }

    fn append(&mut self, key: &ReplyKey, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let part = self.parts.entry(*key).or_default();
        part.truncate(usize::try_from(offset).unwrap_or(usize::MAX));
        part.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(&mut self, key: &ReplyKey, announced: Digest) -> io::Result<bool> {
        let reply = self.parts.remove(key).unwrap_or_default();
        let right = Digest::of(&reply) == announced;
        if right {
            self.whole.insert(*key, reply);
        }
        Ok(right)
    }

    fn read(&self, key: &ReplyKey) -> io::Result<Option<Vec<u8>>> {
        Ok(self.whole.get(key).cloned())
    }

    fn forget(&mut self, gone: &dyn Fn(&ReplyKey) -> bool) -> io::Result<()> {
        self.parts.retain(|key, _| !gone(key));
        self.whole.retain(|key, _| !gone(key));
        Ok(())
    }
}

/// Replies in a folder, one file each. A whole one begins with its SHA-256.
#[derive(Debug)]
pub struct FolderSpool {
    folder: PathBuf,
    /// What is there: whole ones and parts.
    known: BTreeMap<ReplyKey, bool>,
}

/// The bytes of a SHA-256 before those of the reply.
const HEAD: u64 = 32;
const PART: &str = "part";
const WHOLE: &str = "reply";

impl FolderSpool {
    /// In this folder, which is made if it is not there. Files that are no replies are left alone.
    pub fn open(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let mut known = BTreeMap::new();
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name();
            let Some((stem, suffix)) = name.to_str().and_then(|name| name.rsplit_once('.')) else { continue };
            if let (Some(key), true) = (key_of(stem), [PART, WHOLE].contains(&suffix)) {
                *known.entry(key).or_default() |= suffix == WHOLE;
            }
        }
        Ok(Self { folder: folder.into(), known })
    }

    fn path(&self, key: &ReplyKey, suffix: &str) -> PathBuf {
        let ReplyKey { client, slot: Slot { round, attempt, exchange }, ask } = key;
        self.folder.join(format!("{client}-{round}-{attempt}-{exchange}-{ask}.{suffix}"))
    }
}

fn key_of(stem: &str) -> Option<ReplyKey> {
    let mut parts = stem.split('-');
    let client = parts.next()?.parse().ok()?;
    let slot = Slot { round: parts.next()?.parse().ok()?, attempt: parts.next()?.parse().ok()?, exchange: parts.next()?.parse().ok()? };
    let ask = parts.next()?.parse().ok()?;
    parts.next().is_none().then_some(ReplyKey { client, slot, ask })
}

fn if_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

impl Spool for FolderSpool {
    fn part(&self, key: &ReplyKey) -> io::Result<u64> {
        Ok(if_there(fs::metadata(self.path(key, PART)))?.map_or(0, |file| file.len().saturating_sub(HEAD)))
    }

    fn append(&mut self, key: &ReplyKey, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut file = OpenOptions::new().create(true).truncate(false).write(true).open(self.path(key, PART))?;
        self.known.entry(*key).or_default();
        file.set_len(HEAD + offset)?;
        file.seek(SeekFrom::Start(HEAD + offset))?;
        file.write_all(bytes)
    }

    fn finish(&mut self, key: &ReplyKey, announced: Digest) -> io::Result<bool> {
        let path = self.path(key, PART);
        let mut file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path)?;
        if hash_behind_head(&mut file)? != announced {
            fs::remove_file(&path)?;
            return Ok(false);
        }
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&crate::digest::bytes_of(&announced))?;
        fs::rename(&path, self.path(key, WHOLE))?;
        self.known.insert(*key, true);
        Ok(true)
    }

    fn read(&self, key: &ReplyKey) -> io::Result<Option<Vec<u8>>> {
        if self.known.get(key) != Some(&true) {
            return Ok(None);
        }
        let Some(mut reply) = if_there(fs::read(self.path(key, WHOLE)))? else { return Ok(None) };
        if reply.len() < HEAD as usize {
            return Ok(None);
        }
        let body = reply.split_off(HEAD as usize);
        Ok((reply == crate::digest::bytes_of(&Digest::of(&body))).then_some(body))
    }

    fn forget(&mut self, gone: &dyn Fn(&ReplyKey) -> bool) -> io::Result<()> {
        let gone: Vec<ReplyKey> = self.known.keys().filter(|key| gone(key)).copied().collect();
        for key in &gone {
            if_there(fs::remove_file(self.path(key, PART)))?;
            if_there(fs::remove_file(self.path(key, WHOLE)))?;
            self.known.remove(key);
        }
        if !gone.is_empty() {
            // A reply that came back after a power cut could name a version that its client has forgotten since.
            File::open(&self.folder)?.sync_all()?;
        }
        Ok(())
    }
}

/// SHA-256 of what comes after the head, read a little at a time.
fn hash_behind_head(file: &mut File) -> io::Result<Digest> {
    file.seek(SeekFrom::Start(HEAD))?;
    Digest::of_reader(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(client: u32) -> ReplyKey {
        ReplyKey { client, slot: Slot { round: 3, attempt: 1, exchange: 0 }, ask: Digest::of(b"ask") }
    }

    fn tried(spool: &mut dyn Spool) {
        let (whole, other) = (Digest::of(b"a reply"), Digest::of(b"another"));
        spool.append(&key(1), 0, b"a re").unwrap();
        assert_eq!((spool.part(&key(1)).unwrap(), spool.part(&key(2)).unwrap()), (4, 0));
        assert_eq!(spool.read(&key(1)).unwrap(), None, "it is not whole yet");
        spool.append(&key(1), 4, b"ply").unwrap();
        assert!(spool.finish(&key(1), whole).unwrap());
        assert_eq!(spool.read(&key(1)).unwrap().as_deref(), Some(&b"a reply"[..]));
        spool.append(&key(2), 0, b"a reply").unwrap();
        assert!(!spool.finish(&key(2), other).unwrap(), "not what was announced");
        assert_eq!((spool.part(&key(2)).unwrap(), spool.read(&key(2)).unwrap()), (0, None));
        spool.append(&key(2), 0, b"first try").unwrap();
        spool.append(&key(2), 0, b"a reply").unwrap();
        assert!(spool.finish(&key(2), whole).unwrap(), "what begins anew forgets what was there");
        assert!(spool.finish(&key(4), Digest::of(b"")).unwrap(), "a reply may be empty");
        spool.forget(&|key| key.client == 1).unwrap();
        assert_eq!((spool.read(&key(1)).unwrap().is_some(), spool.read(&key(2)).unwrap().is_some()), (false, true));
    }

    #[test]
    fn both_spools_keep_what_was_sent_and_nothing_else() {
        tried(&mut MemorySpool::default());
        let folder = tempfile::tempdir().unwrap();
        tried(&mut FolderSpool::open(folder.path()).unwrap());
        fs::write(folder.path().join("notes.txt"), "not a reply").unwrap();
        fs::write(folder.path().join("1-2-3.reply"), "nor this").unwrap();
        let again = FolderSpool::open(folder.path()).unwrap();
        assert_eq!(again.read(&key(2)).unwrap().as_deref(), Some(&b"a reply"[..]), "found after a restart");
        assert!(folder.path().join("notes.txt").exists());
    }

    #[test]
    fn a_damaged_reply_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = FolderSpool::open(folder.path()).unwrap();
        spool.append(&key(1), 0, b"a reply").unwrap();
        spool.finish(&key(1), Digest::of(b"a reply")).unwrap();
        let path = spool.path(&key(1), WHOLE);
        let whole = fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            assert_eq!(spool.read(&key(1)).unwrap(), None);
            let mut bad = whole.clone();
            bad[cut] ^= 1;
            fs::write(&path, &bad).unwrap();
            assert_eq!(spool.read(&key(1)).unwrap(), None);
        }
    }
}
