//! Replies on their way: written as they arrive, read when they are due.
//!
//! A reply that is here need not be asked for again when the coordinator is started once more: the same place in the run asks
//! the same, and the same dice give the same reply. What is read back is compared with its SHA-256 first, so that nothing
//! here has to be durable: what a power cut takes is asked for again.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use motet_core::{Reader, ReplyError, Slot, Wire, whole_of};

use crate::digest::{Digest, Hashing};

/// Which client's reply to which ask.
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
    fn reply(&mut self, key: &ReplyKey) -> io::Result<Option<Reply>>;
    /// Forgets some, whole or not.
    fn forget(&mut self, gone: &dyn Fn(&ReplyKey) -> bool, how: Forgets) -> io::Result<()>;
}

/// A reply as it lies in the spool: it is read once, a little at a time.
pub struct Reply {
    length: u64,
    from: Watched<Box<dyn Read + Send>>,
}

/// Remembers why reading failed: whoever decodes does not say.
struct Watched<R> {
    from: R,
    failed: Option<io::Error>,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.from.read(out) {
            Ok(0) if !out.is_empty() => {
                self.failed = Some(io::ErrorKind::UnexpectedEof.into());
                Ok(0)
            }
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                self.failed = Some(io::Error::new(error.kind(), error.to_string()));
                Err(error)
            }
            read => read,
        }
    }
}

impl Reply {
    /// The next `length` bytes of this.
    pub fn new(length: u64, from: Box<dyn Read + Send>) -> Self {
        Self { length, from: Watched { from, failed: None } }
    }

    /// The message that it is, or why it is none. Vectors are made where they stay, so that a model is not in memory twice.
    pub fn read<T: Wire>(mut self) -> io::Result<Result<T, ReplyError>> {
        let length = usize::try_from(self.length).map_err(io::Error::other)?;
        let read = whole_of(Reader::streaming(&mut self.from, length));
        self.from.failed.map_or(Ok(read), Err)
    }

    /// All of its bytes.
    pub fn bytes(mut self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(self.length).map_err(io::Error::other)?];
        self.from.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

/// How replies are forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgets {
    /// They must not come back, even after a power cut: their clients will forget the versions that they left.
    ForGood,
    /// They are of rounds that are durable elsewhere. Should one come back, nobody asks for it, or its client still has the version.
    InTime,
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

    fn reply(&mut self, key: &ReplyKey) -> io::Result<Option<Reply>> {
        Ok(self.whole.get(key).cloned().map(|bytes| Reply::new(bytes.len() as u64, Box::new(io::Cursor::new(bytes)))))
    }

    fn forget(&mut self, gone: &dyn Fn(&ReplyKey) -> bool, _: Forgets) -> io::Result<()> {
        self.parts.retain(|key, _| !gone(key));
        self.whole.retain(|key, _| !gone(key));
        Ok(())
    }
}

/// Replies in a folder, one file each. A whole one begins with its SHA-256.
#[derive(Debug)]
pub struct FolderSpool {
    folder: PathBuf,
    /// What is there.
    known: BTreeMap<ReplyKey, Known>,
}

enum Known {
    /// Unfinished, from an earlier life of the coordinator.
    Part,
    /// Unfinished, and all of it came in this life.
    Growing { file: File, length: u64, hash: Hashing },
    /// Whole, from an earlier life: it may have been damaged meanwhile.
    Found,
    /// Whole, and its hash was seen to be right when its last byte came.
    Whole,
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Known::Part => "Part",
            Known::Growing { .. } => "Growing",
            Known::Found => "Found",
            Known::Whole => "Whole",
        })
    }
}

/// The bytes of a SHA-256 before those of the reply.
const HEAD: u64 = 32;
const PART: &str = "part";
const WHOLE: &str = "reply";

impl FolderSpool {
    /// In this folder, which is made if it is not there. Files that are no replies are left alone.
    pub fn open(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let mut known: BTreeMap<ReplyKey, Known> = BTreeMap::new();
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name();
            let Some((stem, suffix)) = name.to_str().and_then(|name| name.rsplit_once('.')) else { continue };
            if let (Some(key), true) = (key_of(stem), [PART, WHOLE].contains(&suffix)) {
                let found = known.entry(key).or_insert(Known::Part);
                if suffix == WHOLE {
                    *found = Known::Found;
                }
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
        if let Some(Known::Growing { file, length, hash }) = self.known.get_mut(key)
            && *length == offset
        {
            if let Err(error) = file.write_all(bytes) {
                // How much was written nobody knows: the file itself says so from now on.
                self.known.insert(*key, Known::Part);
                return Err(error);
            }
            *length += bytes.len() as u64;
            hash.add(bytes);
            return Ok(());
        }
        let mut file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(self.path(key, PART))?;
        self.known.insert(*key, Known::Part);
        file.set_len(HEAD + offset)?;
        file.seek(SeekFrom::Start(HEAD + offset))?;
        file.write_all(bytes)?;
        if offset == 0 {
            let mut hash = Hashing::default();
            hash.add(bytes);
            self.known.insert(*key, Known::Growing { file, length: bytes.len() as u64, hash });
        }
        Ok(())
    }

    fn finish(&mut self, key: &ReplyKey, announced: Digest) -> io::Result<bool> {
        let path = self.path(key, PART);
        let (mut file, found) = match self.known.remove(key) {
            Some(Known::Growing { file, hash, .. }) => (file, hash.digest()),
            _ => {
                let mut file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path)?;
                let found = hash_behind_head(&mut file)?;
                (file, found)
            }
        };
        if found != announced {
            fs::remove_file(&path)?;
            return Ok(false);
        }
        self.known.insert(*key, Known::Part);
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&crate::digest::bytes_of(&announced))?;
        fs::rename(&path, self.path(key, WHOLE))?;
        self.known.insert(*key, Known::Whole);
        Ok(true)
    }

    fn reply(&mut self, key: &ReplyKey) -> io::Result<Option<Reply>> {
        let was_seen = match self.known.get(key) {
            Some(Known::Whole) => true,
            Some(Known::Found) => false,
            _ => return Ok(None),
        };
        let Some(mut file) = if_there(File::open(self.path(key, WHOLE)))? else { return Ok(None) };
        let Some(length) = file.metadata()?.len().checked_sub(HEAD) else { return Ok(None) };
        if !was_seen {
            let mut head = [0; HEAD as usize];
            file.read_exact(&mut head)?;
            if head[..] != crate::digest::bytes_of(&hash_behind_head(&mut file)?) {
                return Ok(None);
            }
        }
        file.seek(SeekFrom::Start(HEAD))?;
        Ok(Some(Reply::new(length, Box::new(BufReader::new(file)))))
    }

    fn forget(&mut self, gone: &dyn Fn(&ReplyKey) -> bool, how: Forgets) -> io::Result<()> {
        let gone: Vec<ReplyKey> = self.known.keys().filter(|key| gone(key)).copied().collect();
        for key in &gone {
            if !matches!(self.known.get(key), Some(Known::Whole)) {
                if_there(fs::remove_file(self.path(key, PART)))?;
            }
            if_there(fs::remove_file(self.path(key, WHOLE)))?;
            self.known.remove(key);
        }
        if !gone.is_empty() && how == Forgets::ForGood {
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

    fn read(spool: &mut dyn Spool, client: u32) -> Option<Vec<u8>> {
        spool.reply(&key(client)).unwrap().map(|reply| reply.bytes().unwrap())
    }

    fn tried(spool: &mut dyn Spool) {
        let (whole, other) = (Digest::of(b"a reply"), Digest::of(b"another"));
        spool.append(&key(1), 0, b"a re").unwrap();
        assert_eq!((spool.part(&key(1)).unwrap(), spool.part(&key(2)).unwrap()), (4, 0));
        assert_eq!(read(spool, 1), None, "it is not whole yet");
        spool.append(&key(1), 4, b"ply").unwrap();
        assert!(spool.finish(&key(1), whole).unwrap());
        assert_eq!(read(spool, 1).as_deref(), Some(&b"a reply"[..]));
        spool.append(&key(2), 0, b"a reply").unwrap();
        assert!(!spool.finish(&key(2), other).unwrap(), "not what was announced");
        assert_eq!((spool.part(&key(2)).unwrap(), read(spool, 2)), (0, None));
        spool.append(&key(2), 0, b"first try").unwrap();
        spool.append(&key(2), 0, b"a reply").unwrap();
        assert!(spool.finish(&key(2), whole).unwrap(), "what begins anew forgets what was there");
        assert!(spool.finish(&key(4), Digest::of(b"")).unwrap(), "a reply may be empty");
        spool.forget(&|key| key.client == 1, Forgets::InTime).unwrap();
        assert_eq!((read(spool, 1).is_some(), read(spool, 2).is_some()), (false, true));
    }

    #[test]
    fn both_spools_keep_what_was_sent_and_nothing_else() {
        tried(&mut MemorySpool::default());
        let folder = tempfile::tempdir().unwrap();
        tried(&mut FolderSpool::open(folder.path()).unwrap());
        fs::write(folder.path().join("notes.txt"), "not a reply").unwrap();
        fs::write(folder.path().join("1-2-3.reply"), "nor this").unwrap();
        let mut again = FolderSpool::open(folder.path()).unwrap();
        assert_eq!(read(&mut again, 2).as_deref(), Some(&b"a reply"[..]), "found after a restart");
        assert!(folder.path().join("notes.txt").exists());
    }

    #[test]
    fn a_damaged_reply_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = FolderSpool::open(folder.path()).unwrap();
        spool.append(&key(1), 0, b"a reply").unwrap();
        spool.finish(&key(1), Digest::of(b"a reply")).unwrap();
        let path = spool.path(&key(1), WHOLE);
        let mut spool = FolderSpool::open(folder.path()).unwrap();
        let whole = fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            assert_eq!(read(&mut spool, 1), None);
            let mut bad = whole.clone();
            bad[cut] ^= 1;
            fs::write(&path, &bad).unwrap();
            assert_eq!(read(&mut spool, 1), None);
        }
    }

    #[test]
    fn a_reply_that_cannot_be_read_to_its_end_is_not_its_sender_s_fault() {
        let sent = crate::digest::bytes_of(&vec![1u32, 2, 3]);
        let reply = |bytes: &[u8], length: usize| Reply::new(length as u64, Box::new(io::Cursor::new(bytes.to_vec())));
        assert_eq!(reply(&sent, sent.len()).read::<Vec<u32>>().unwrap(), Ok(vec![1, 2, 3]));
        assert!(reply(&sent[..sent.len() - 1], sent.len()).read::<Vec<u32>>().is_err(), "the file ends early");
        assert!(reply(&sent, sent.len() - 1).read::<Vec<u32>>().unwrap().is_err(), "the message ends early");
        let more = [&sent[..], &[0]].concat();
        assert_eq!(reply(&more, more.len()).read::<Vec<u32>>().unwrap(), Err(ReplyError::LeftOver(1)));
    }
}
