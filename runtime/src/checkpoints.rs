//! The last few checkpoints of a run, each whole or not there.
//!
//! A checkpoint is written beside the others, made durable, and given its name by a rename; then the oldest goes. A kill
//! at any moment leaves the ones before. Damage is noticed by a checksum over everything but itself, and the next older
//! one is used.

use std::convert::Infallible;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use motet_core::Scattered;
use motet_files::kill;

/// A folder of checkpoints.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    folder: PathBuf,
}

/// A checkpoint read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its number.
    pub number: u64,
    /// What was saved.
    pub body: Vec<u8>,
}

/// The checkpoints in a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// The undamaged checkpoints, newest first.
    pub whole: Vec<Found>,
    /// Files that are damaged.
    pub damaged: Vec<PathBuf>,
}

/// How many checkpoints are kept.
pub const KEPT: usize = 3;

/// What every checkpoint begins with, whatever its format; the last byte of the eight is the format's digit.
const FAMILY: &[u8; 7] = b"motet\0c";
const MAGIC: &[u8; 8] = b"motet\0c2";
/// Magic, number, length of the body, checksum.
const HEAD: usize = 8 + 8 + 8 + 4;
const SUFFIX: &str = "checkpoint";

impl Checkpoints {
    /// In this folder, which is made when the first is saved.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.into() }
    }

    /// Saves a checkpoint, then removes all but the newest [`KEPT`]. Returns the number of the oldest that is left.
    pub fn save(&self, number: u64, body: &Scattered) -> io::Result<u64> {
        fs::create_dir_all(&self.folder)?;
        let (path, beside) = (self.path(number), self.folder.join("new"));
        let mut file = File::create(&beside)?;
        file.write_all(&head(number, body))?;
        kill::point(|| {
            let _ = body.blocks(0..body.len() / 2, |block| file.write_all(block));
        });
        body.blocks(0..body.len(), |block| file.write_all(block))?;
        file.sync_all()?;
        kill::point(|| ());
        fs::rename(&beside, &path)?;
        kill::point(|| ());
        // The name itself must survive: a folder is durable when it is synced.
        motet_files::sync_folder_of(&path)?;
        let mut numbers = self.numbers()?;
        while numbers.len() > KEPT {
            fs::remove_file(self.path(numbers.remove(0)))?;
        }
        Ok(numbers.first().copied().unwrap_or(number))
    }

    /// Everything that is there. A checkpoint of another format is an error: it is not damaged, and this program cannot
    /// go on from it.
    pub fn find(&self) -> io::Result<Holdings> {
        let mut found = Holdings::default();
        for number in self.numbers()?.into_iter().rev() {
            let path = self.path(number);
            let file = motet_files::read(&path, u64::MAX)?;
            if let Some(format) = foreign(&file) {
                return Err(io::Error::other(format!(
                    "{} is of checkpoint format {format}, this program can only resume from format 2: finish with the motet that wrote it",
                    path.file_name().unwrap_or_default().to_string_lossy()
                )));
            }
            match parse(number, file) {
                Some(body) => found.whole.push(Found { number, body }),
                None => found.damaged.push(path),
            }
        }
        Ok(found)
    }

    /// Removes all of them.
    pub fn clear(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.folder) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number:012}.{SUFFIX}"))
    }

    /// In rising order.
    fn numbers(&self) -> io::Result<Vec<u64>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
            other => other?,
        };
        let mut numbers = vec![];
        for entry in entries {
            let name = entry?.file_name().to_string_lossy().into_owned();
            numbers.extend(name.strip_suffix(SUFFIX).and_then(|n| n.strip_suffix('.')).and_then(|n| n.parse::<u64>().ok()));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }
}

fn head(number: u64, body: &Scattered) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..8].copy_from_slice(MAGIC);
    head[8..16].copy_from_slice(&number.to_le_bytes());
    head[16..24].copy_from_slice(&(body.len() as u64).to_le_bytes());
    let mut sum = crc32fast::Hasher::new();
    sum.update(&head[..24]);
    let Ok(()) = body.blocks(0..body.len(), |block| {
        sum.update(block);
        Ok::<_, Infallible>(())
    });
    head[24..].copy_from_slice(&sum.finalize().to_le_bytes());
    head
}

/// The digit of a format that is not ours, if the file is whole otherwise.
fn foreign(file: &[u8]) -> Option<char> {
    let digit = *file.strip_prefix(FAMILY)?.first().filter(|digit| digit.is_ascii_digit() && **digit != MAGIC[7])?;
    let mut sum = crc32fast::Hasher::new();
    sum.update(file.get(..24)?);
    sum.update(file.get(HEAD..)?);
    (file.get(24..HEAD)? == sum.finalize().to_le_bytes()).then_some(digit as char)
}

/// The body, if every byte is as it was written.
fn parse(number: u64, mut file: Vec<u8>) -> Option<Vec<u8>> {
    let body = Scattered::from(file.split_off(HEAD.min(file.len())));
    (file == head(number, &body)).then(|| body.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_three_are_kept_and_the_newest_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::new(&folder.path().join("c"));
        assert_eq!(checkpoints.find().unwrap(), Holdings::default());
        let oldest: Vec<u64> = (8..13).map(|k| checkpoints.save(k, &vec![k as u8; 5].into()).unwrap()).collect();
        assert_eq!(oldest, [8, 8, 8, 9, 10]);
        let found = checkpoints.find().unwrap();
        assert_eq!(found.whole.iter().map(|f| (f.number, f.body[0])).collect::<Vec<_>>(), [(12, 12), (11, 11), (10, 10)]);
        checkpoints.clear().unwrap();
        assert_eq!(checkpoints.find().unwrap(), Holdings::default());
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::new(folder.path());
        checkpoints.save(1, &b"the one before".to_vec().into()).unwrap();
        checkpoints.save(2, &b"some state".to_vec().into()).unwrap();
        let path = checkpoints.path(2);
        let whole = fs::read(&path).unwrap();
        let check = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            let found = checkpoints.find().unwrap();
            assert_eq!((found.whole.len(), found.whole[0].number, found.damaged.len()), (1, 1, 1));
        };
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut bad = whole.clone();
                bad[at] ^= 1 << bit;
                check(&bad);
            }
            check(&whole[..at]);
        }
        check(&[&whole[..], b"!"].concat());
    }

    #[test]
    fn a_checkpoint_of_another_format_is_refused_and_not_taken_for_damage() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::new(folder.path());
        checkpoints.save(1, &b"some state".to_vec().into()).unwrap();
        let mut older = fs::read(checkpoints.path(1)).unwrap();
        older[7] = b'1';
        let sum = crc32fast::hash(&[&older[..24], &older[HEAD..]].concat());
        older[24..HEAD].copy_from_slice(&sum.to_le_bytes());
        fs::write(checkpoints.path(1), &older).unwrap();
        let said = checkpoints.find().unwrap_err().to_string();
        assert!(said.contains("checkpoint format 1"), "{said}");
        assert_eq!(fs::read(checkpoints.path(1)).unwrap(), older);
    }

    #[test]
    fn what_a_kill_leaves_half_written_is_not_a_checkpoint() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::new(folder.path());
        checkpoints.save(4, &b"whole".to_vec().into()).unwrap();
        fs::write(folder.path().join("new"), b"hal").unwrap();
        let found = checkpoints.find().unwrap();
        assert_eq!((found.whole.len(), found.damaged.len()), (1, 0));
    }
}
