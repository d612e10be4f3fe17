//! As much of zip archives as data sets need: stored and deflated files, found by the directory at the end.

use std::io::Read;

use crate::guard::Budget;

/// A file of an archive.
pub(super) struct Member<'a> {
    /// Folders and name, parts by `/`.
    pub(super) name: String,
    packed: &'a [u8],
    deflated: bool,
    size: usize,
    /// CRC-32 of what it unpacks to, by the directory.
    sum: u32,
}

/// The largest file of an archive that is unpacked.
const LARGEST: usize = 1 << 31;

/// Every file of an archive, in the order of its directory. The error says at which byte it is wrong.
pub(super) fn members(archive: &[u8]) -> Result<Vec<Member<'_>>, String> {
    // The directory's own end is the last thing in the file but for a comment.
    let last = archive.len().saturating_sub(22);
    let end = (last.saturating_sub(1 << 16)..=last).rev().find(|&at| archive[at..].starts_with(b"PK\x05\x06"));
    let end = end.ok_or("not a zip archive, or one that is cut off: its directory is missing")?;
    let (count, mut at) = (half(archive, end + 10)?, word(archive, end + 16)?);
    let mut members = Vec::new();
    for _ in 0..count {
        if !archive.get(at..).is_some_and(|rest| rest.starts_with(b"PK\x01\x02")) {
            return Err(format!("byte {at}: not an entry of a directory"));
        }
        let (method, packed, size) = (half(archive, at + 10)?, word(archive, at + 20)?, word(archive, at + 24)?);
        let sum = word(archive, at + 16)? as u32;
        let (name, extra, comment) = (half(archive, at + 28)?, half(archive, at + 30)?, half(archive, at + 32)?);
        let local = word(archive, at + 42)?;
        let name = String::from_utf8_lossy(part(archive, at + 46, name)?).into_owned();
        let start = local
            .saturating_add(30)
            .saturating_add(half(archive, local.saturating_add(26))?)
            .saturating_add(half(archive, local.saturating_add(28))?);
        if method != 0 && method != 8 {
            return Err(format!("{name}: packed by method {method}, which this program does not read"));
        }
        if size > LARGEST {
            return Err(format!("{name}: {size} bytes are more than {LARGEST}"));
        }
        let packed = part(archive, start, packed).map_err(|what| format!("{name}: {what}"))?;
        if !name.ends_with('/') {
            members.push(Member { name, packed, deflated: method == 8, size, sum });
        }
        at += 46 + half(archive, at + 28)? + extra + comment;
    }
    Ok(members)
}

impl Member<'_> {
    /// Unpacked, at the cost of the archive's budget: members may share their bytes. A digit that changed on the way is no digit of
    /// the file, so that the checksum must fit.
    pub(super) fn read(&self, budget: &Budget) -> Result<Vec<u8>, String> {
        let bytes = self.unpacked(budget)?;
        let mut sum = flate2::Crc::new();
        sum.update(&bytes);
        if sum.sum() == self.sum { Ok(bytes) } else { Err(format!("{}: its checksum does not fit: the archive is damaged", self.name)) }
    }

    fn unpacked(&self, budget: &Budget) -> Result<Vec<u8>, String> {
        if !self.deflated {
            budget.spend(self.packed.len())?;
            return Ok(self.packed.to_vec());
        }
        let unpacked = budget.unpack(flate2::read::DeflateDecoder::new(self.packed).take(self.size as u64 + 1));
        let bytes = unpacked.map_err(|error| format!("{}: {error}", self.name))?;
        if bytes.len() == self.size { Ok(bytes) } else { Err(format!("{}: {} bytes instead of {}", self.name, bytes.len(), self.size)) }
    }
}

fn part(archive: &[u8], at: usize, length: usize) -> Result<&[u8], String> {
    at.checked_add(length).and_then(|end| archive.get(at..end)).ok_or_else(|| format!("byte {at}: the archive ends within {length} bytes"))
}

fn half(archive: &[u8], at: usize) -> Result<usize, String> {
    part(archive, at, 2).map(|b| usize::from(u16::from_le_bytes([b[0], b[1]])))
}

fn word(archive: &[u8], at: usize) -> Result<usize, String> {
    part(archive, at, 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize)
}
