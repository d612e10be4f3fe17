//! Data that the ranks of one machine hold once.
//!
//! The first rank of a machine makes them, lays them into memory that has no name, seals it so that nobody can ever write to it, and
//! tells its neighbours where it is. They map it, and read no file. It is gone with the last of them, however they end. Where anything
//! about this fails, every rank makes its own.

use std::fmt;
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytemuck::AnyBitPattern;
use memmap2::Mmap;

use super::Crew;

/// Less is not worth the trouble.
const LEAST: usize = 1 << 20;
/// Parts begin at multiples of this, so that numbers of any type can be read where they lie.
const ALIGNED: usize = 64;
/// What a rank hears when nothing more comes.
const CLOSED: &[u8] = b"closed";

/// Where the ranks of one machine find what the first of them has laid down, each in the same order.
pub struct Shelf {
    crew: Arc<dyn Crew>,
    neighbours: Vec<usize>,
    least: usize,
    inner: Mutex<Inner>,
}

struct Inner {
    closed: bool,
    /// Neighbours find these through this rank as long as they are open.
    laid: Vec<File>,
}

impl Shelf {
    /// The shelf of this rank's machine; none if it is alone there.
    pub fn between(crew: &Arc<dyn Crew>) -> Option<Self> {
        let neighbours = crew.neighbours();
        let inner = Mutex::new(Inner { closed: false, laid: vec![] });
        (neighbours.len() > 1).then(|| Self { crew: Arc::clone(crew), neighbours, least: LEAST, inner })
    }

    fn leads(&self) -> bool {
        self.neighbours.first() == Some(&self.crew.rank())
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the first rank has laid down next; none if this rank has to make it. Waits for the first rank.
    pub fn taken(&self) -> Option<Frame> {
        if self.leads() {
            return None;
        }
        let mut inner = self.inner();
        if inner.closed {
            return None;
        }
        // Of a rank that is gone nothing comes, and the job ends soon.
        let said = self.crew.receive(self.neighbours[0]).unwrap_or(CLOSED.to_vec());
        inner.closed = said == CLOSED;
        if inner.closed || said.is_empty() {
            return None;
        }
        let (file, _) = motet_files::open(Path::new(std::str::from_utf8(&said).ok()?)).ok()?;
        Frame::of(&file).ok()
    }

    /// Lays these parts down for the neighbours, and gives back how they lie there; none if they are not laid down: small ones, by
    /// another rank than the first, or for want of memory.
    pub fn lay(&self, parts: &[&[u8]]) -> Option<Frame> {
        if !self.leads() {
            return None;
        }
        let pays = parts.iter().map(|part| part.len()).sum::<usize>() >= self.least;
        let laid = pays.then(|| sealed(parts).and_then(|file| Ok((Frame::of(&file)?, file))));
        let Some(Ok((frame, file))) = laid else {
            self.pass();
            return None;
        };
        self.tell(address(&file).as_bytes());
        self.inner().laid.push(file);
        Some(frame)
    }

    /// Lets every neighbour make its own.
    pub fn pass(&self) {
        self.tell(&[]);
    }

    /// Nothing more comes: the first rank says so, whatever it has laid down or failed to; the others hear of it.
    pub fn close(&self) {
        if self.leads() && !self.inner().closed {
            self.tell(CLOSED);
            self.inner().closed = true;
        }
        while !self.inner().closed {
            let _ = self.taken();
        }
    }

    /// Who is gone hears nothing, and the job ends soon.
    fn tell(&self, word: &[u8]) {
        if self.leads() {
            self.neighbours[1..].iter().for_each(|rank| drop(self.crew.send(*rank, word)));
        }
    }
}

impl fmt::Debug for Shelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelf").field("neighbours", &self.neighbours).finish_non_exhaustive()
    }
}

impl PartialEq for Shelf {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Shelf {}

/// Parts in sealed memory that others may hold, too.
pub struct Frame {
    map: Arc<Mmap>,
    parts: Vec<Range<usize>>,
}

impl Frame {
    /// How many parts it has.
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// The bytes of a part.
    ///
    /// # Panics
    /// If there are fewer parts.
    pub fn part(&self, k: usize) -> &[u8] {
        &self.map[self.parts[k].clone()]
    }

    /// A part as numbers, where they lie; none if it is not so many whole ones.
    pub fn lent<T: AnyBitPattern + Send + Sync>(&self, k: usize) -> Option<Arc<dyn AsRef<[T]> + Send + Sync>> {
        let at = self.parts.get(k)?.clone();
        bytemuck::try_cast_slice::<u8, T>(&self.map[at.clone()]).ok()?;
        Some(Arc::new(Lent { map: Arc::clone(&self.map), at, numbers: PhantomData }))
    }

    /// What lies in a file that is sealed.
    fn of(file: &File) -> io::Result<Self> {
        if !is_sealed(file)? {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        // Safety: a mapping must not change or get shorter while it is read. The system refuses both for this file, to everybody and
        // for ever: `is_sealed` has just asked.
        #[allow(unsafe_code)]
        let map = unsafe { Mmap::map(file) }?;
        let parts = index(&map).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { map: Arc::new(map), parts })
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame").field("parts", &self.parts).finish_non_exhaustive()
    }
}

struct Lent<T> {
    map: Arc<Mmap>,
    at: Range<usize>,
    numbers: PhantomData<T>,
}

impl<T: AnyBitPattern> AsRef<[T]> for Lent<T> {
    fn as_ref(&self) -> &[T] {
        bytemuck::cast_slice(&self.map[self.at.clone()])
    }
}

/// Where parts lie: how many there are, then begin and end of each.
fn index(bytes: &[u8]) -> Option<Vec<Range<usize>>> {
    let number = |k: usize| Some(u64::from_le_bytes(*bytes.get(8 * k..)?.first_chunk()?) as usize);
    let count = number(0)?;
    if count > bytes.len() / 16 {
        return None;
    }
    let part = |k: usize| Some(number(1 + 2 * k)?..number(2 + 2 * k)?);
    (0..count).map(|k| part(k).filter(|part| part.start <= part.end && part.end <= bytes.len())).collect()
}

/// A frame of these parts.
#[cfg(target_os = "linux")]
fn sealed(parts: &[&[u8]]) -> io::Result<File> {
    use std::io::{BufWriter, Write};

    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

    let file = File::from(memfd_create("motet", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
    let (mut index, mut end) = (vec![parts.len() as u64], 8 * (1 + 2 * parts.len()));
    for part in parts {
        let begin = end.next_multiple_of(ALIGNED);
        end = begin + part.len();
        index.extend([begin as u64, end as u64]);
    }
    let mut out = BufWriter::new(&file);
    let mut written = 0usize;
    for number in &index {
        out.write_all(&number.to_le_bytes())?;
        written += 8;
    }
    for part in parts {
        out.write_all(&[0; ALIGNED][..written.next_multiple_of(ALIGNED) - written])?;
        out.write_all(part)?;
        written = written.next_multiple_of(ALIGNED) + part.len();
    }
    out.flush()?;
    drop(out);
    fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(file)
}

#[cfg(target_os = "linux")]
fn is_sealed(file: &File) -> io::Result<bool> {
    use rustix::fs::{SealFlags, fcntl_get_seals};
    Ok(fcntl_get_seals(file)?.contains(SealFlags::WRITE | SealFlags::SHRINK))
}

/// Where a neighbour finds an open file of this program.
#[cfg(target_os = "linux")]
fn address(file: &File) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}

/// Other systems know no such memory: every rank makes its own.
#[cfg(not(target_os = "linux"))]
fn sealed(_: &[&[u8]]) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_os = "linux"))]
fn is_sealed(_: &File) -> io::Result<bool> {
    Ok(false)
}

#[cfg(not(target_os = "linux"))]
fn address(_: &File) -> String {
    String::new()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Write;
    use std::thread;

    use super::*;
    use crate::crew::LocalCrew;

    fn shelves(ranks: usize, least: usize) -> Vec<Shelf> {
        let crew = LocalCrew::ranks(ranks).into_iter();
        crew.map(|rank| Shelf { least, ..Shelf::between(&(Arc::new(rank) as Arc<dyn Crew>)).expect("ranks have neighbours") }).collect()
    }

    #[test]
    fn what_the_first_rank_lays_down_the_others_find_in_the_same_order() {
        let shelves = shelves(3, 24);
        thread::scope(|scope| {
            for shelf in &shelves {
                scope.spawn(move || {
                    let numbers = [1.5f64, -0.0, f64::NAN];
                    if shelf.leads() {
                        assert!(shelf.taken().is_none());
                        assert_eq!(shelf.lay(&[b"head", bytemuck::cast_slice(&numbers)]).expect("laid down").part(0), b"head");
                        assert!(shelf.lay(&[b"too little"]).is_none());
                        shelf.pass();
                        assert!(shelf.lay(&[&[7; 100]]).is_some());
                    } else {
                        let frame = shelf.taken().expect("it is there");
                        assert_eq!((frame.parts(), frame.part(0)), (2, &b"head"[..]));
                        let lent = frame.lent::<f64>(1).expect("three numbers");
                        assert_eq!((*lent).as_ref().iter().map(|v| v.to_bits()).collect::<Vec<_>>(), numbers.map(f64::to_bits));
                        assert!(frame.lent::<f64>(0).is_none(), "four bytes are no number");
                        assert!(frame.lent::<f64>(2).is_none());
                        assert!(shelf.taken().is_none() && shelf.taken().is_none());
                        // Who makes its own lays nothing down.
                        assert!(shelf.lay(&[&[7; 100]]).is_none());
                        // The last frame is never asked for: closing passes over it.
                    }
                    shelf.close();
                    assert!(shelf.taken().is_none());
                });
            }
        });
    }

    #[test]
    fn a_first_rank_that_fails_lets_the_others_go_on_alone() {
        let shelves = shelves(2, 0);
        thread::scope(|scope| {
            scope.spawn(|| shelves[0].close());
            assert!(shelves[1].taken().is_none());
            shelves[1].close();
        });
    }

    #[test]
    fn nobody_can_change_what_lies_there_and_nothing_else_is_mapped() {
        let file = sealed(&[b"abc"]).expect("memory");
        assert!((&file).write_all(b"x").is_err() && file.set_len(0).is_err());
        assert!(Frame::of(&file).is_ok());
        let open = tempfile::tempfile().expect("a file");
        (&open).write_all(&[0; 64]).expect("room");
        assert!(Frame::of(&open).is_err());
        // An index that points outside is none.
        for bad in [vec![9, 0, 0, 0, 0, 0, 0, 0], vec![255; 64], vec![]] {
            assert_eq!(index(&bad), None, "{bad:?}");
        }
    }
}
