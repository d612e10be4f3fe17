//! Memory that vectors leave behind, for vectors of the same length: a warm round asks the allocator for nothing.
//!
//! A round makes a few vectors for each client and drops them before the next. Each thread keeps what it drops on a
//! shelf of its own. Replies are made on one thread and dropped on another, so a full shelf hands half of it to a common
//! one and an empty shelf takes from there. What is kept is bounded, and large vectors are not kept at all: to fill
//! them takes longer than to ask for them.

use std::cell::RefCell;
use std::sync::{Arc, Mutex};

/// Vectors of more bytes are not kept.
const LARGEST: usize = 64 << 10;
/// Bytes of one length that a thread keeps; half of them change shelves at a time.
const KEPT: usize = 512 << 10;
/// Lengths on one shelf: more than the vectors of one method, their compressed forms and its model's buffers have.
const LENGTHS: usize = 12;
/// How many times what a thread keeps the common shelf holds.
const COMMON: usize = 4;

/// Blocks by length. Nobody else holds any of them.
pub(crate) struct Shelf<T>(Vec<(usize, Vec<Arc<[T]>>)>);

impl<T> Shelf<T> {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    fn of(&mut self, len: usize) -> &mut Vec<Arc<[T]>> {
        if let Some(k) = self.0.iter().position(|(l, _)| *l == len) {
            return &mut self.0[k].1;
        }
        if self.0.len() == LENGTHS {
            self.0.clear(); // another problem than before: what is left of the last one is of no use
        }
        self.0.push((len, Vec::new()));
        let last = self.0.len() - 1;
        &mut self.0[last].1
    }
}

/// A kind of number with shelves of its own.
pub(crate) trait Recycled: Copy + Send + Sync + 'static {
    /// This thread's shelf; `None` while the thread ends.
    fn own<R>(work: impl FnOnce(&mut Shelf<Self>) -> R) -> Option<R>;
    /// Everyone's.
    fn common() -> &'static Mutex<Shelf<Self>>;
}

macro_rules! recycled {
    ($($number:ty),*) => {$(
        impl Recycled for $number {
            fn own<R>(work: impl FnOnce(&mut Shelf<Self>) -> R) -> Option<R> {
                thread_local! {
                    static OWN: RefCell<Shelf<$number>> = const { RefCell::new(Shelf::new()) };
                }
                OWN.try_with(|own| work(&mut own.borrow_mut())).ok()
            }
            fn common() -> &'static Mutex<Shelf<Self>> {
                static COMMON: Mutex<Shelf<$number>> = Mutex::new(Shelf::new());
                &COMMON
            }
        }
    )*};
}
recycled!(f32, f64);

/// How many blocks of this length a thread keeps.
fn room<T>(len: usize) -> usize {
    KEPT / size_of::<T>() / len
}

/// Is memory of this many numbers kept?
pub(crate) fn worth_keeping<T>(len: usize) -> bool {
    len > 0 && len <= LARGEST / size_of::<T>()
}

/// Numbers with one owner, whatever they were: the caller writes every one of them.
pub(crate) fn stale<T: Recycled + Default>(len: usize) -> Arc<[T]> {
    let found = if worth_keeping::<T>(len) { T::own(|own| find(own.of(len), len)).flatten() } else { None };
    found.unwrap_or_else(|| std::iter::repeat_n(T::default(), len).collect())
}

/// Slices one after another, `len` numbers in all. New memory is written once: zeros before them would cost as much as they do.
///
/// # Panics
/// If the slices have more numbers or fewer.
#[allow(unsafe_code)] // one call, justified below
pub(crate) fn joined<'a, T: Recycled>(len: usize, slices: impl Iterator<Item = &'a [T]>) -> Arc<[T]> {
    let mut block = Arc::<[T]>::new_uninit_slice(len);
    let room = Arc::get_mut(&mut block).expect("new memory has one owner");
    let mut written = 0;
    for slice in slices {
        room[written..][..slice.len()].iter_mut().zip(slice).for_each(|(place, number)| {
            place.write(*number);
        });
        written += slice.len();
    }
    assert_eq!(written, len, "the slices are as long as was said");
    // SAFETY: the slices were written one after another, each within bounds from where the one before ended, and `written`, now
    // the length of the block, is the sum of their lengths: no number was left out.
    unsafe { block.assume_init() }
}

fn find<T: Recycled>(own: &mut Vec<Arc<[T]>>, len: usize) -> Option<Arc<[T]>> {
    // Whoever is at the common shelf is quick, but waiting for him is slower than asking the allocator.
    if own.is_empty()
        && let Ok(mut common) = T::common().try_lock()
    {
        let common = common.of(len);
        own.extend(common.drain(common.len().saturating_sub(room::<T>(len).div_ceil(2))..));
    }
    own.pop()
}

/// Keeps the memory if nobody else holds it.
pub(crate) fn keep<T: Recycled>(block: Arc<[T]>) {
    let len = block.len();
    // A count of one cannot rise: only an owner could share it.
    if !worth_keeping::<T>(len) || Arc::strong_count(&block) > 1 {
        return;
    }
    T::own(|own| {
        let (own, room) = (own.of(len), room::<T>(len));
        if own.len() >= room {
            let half = own.drain(room / 2..);
            if let Ok(mut common) = T::common().try_lock() {
                let common = common.of(len);
                let free = (COMMON * room).saturating_sub(common.len());
                common.extend(half.take(free));
            }
        }
        own.push(block);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_owner_drops_is_found_again_and_what_two_hold_is_not() {
        let block = stale::<f64>(77);
        let at = block.as_ptr();
        let shared = Arc::clone(&block);
        keep(block);
        assert_ne!(stale::<f64>(77).as_ptr(), at);
        keep(shared);
        assert_eq!(stale::<f64>(77).as_ptr(), at);
    }

    #[test]
    fn slices_are_joined_in_order_and_must_fill_what_was_asked_for() {
        assert_eq!(*joined(5, [&[1.0f32, 2.0][..], &[], &[3.0, 4.0, 5.0]].into_iter()), [1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(joined::<f64>(0, [].into_iter()).len(), 0);
        for wrong in [3, 1, 0] {
            assert!(std::panic::catch_unwind(|| joined(wrong, [&[1.0f64][..], &[2.0]].into_iter())).is_err(), "{wrong}");
        }
        // Memory that is written in part is given back as it is.
        let fails = std::panic::catch_unwind(|| joined(3, (0..3).map(|k| if k < 2 { &[1.0f32][..] } else { panic!("no more") })));
        assert!(fails.is_err());
    }

    #[test]
    fn a_shelf_is_bounded() {
        const LEN: usize = 4003;
        let blocks: Vec<_> = (0..4 * room::<f64>(LEN)).map(|_| stale::<f64>(LEN)).collect();
        blocks.into_iter().for_each(keep);
        assert!(f64::own(|own| own.of(LEN).len()) <= Some(room::<f64>(LEN)));
    }

    #[test]
    fn nothing_large_and_nothing_empty_is_kept() {
        assert!(!worth_keeping::<f64>(0) && worth_keeping::<f64>(8192) && !worth_keeping::<f64>(8193));
        // Lengths whose bytes are so many that their number wraps.
        assert!([1usize << 61, (1 << 61) + 1, usize::MAX].iter().all(|&len| !worth_keeping::<f64>(len) && !worth_keeping::<f32>(len)));
    }
}
