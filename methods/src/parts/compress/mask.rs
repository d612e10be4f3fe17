//! Coordinates that both sides know.

use std::cell::RefCell;
use std::ops::Deref;

/// Coordinates, each once. Its memory is used again by the thread's next: a mask lives as long as one message is packed
/// or opened.
#[derive(Debug, PartialEq, Eq)]
pub struct Mask(Vec<u32>);

/// Longer lists are not kept: to choose so many takes longer than to ask for memory.
const LONGEST: usize = 1 << 16;
/// Masks alive at once on a thread.
const SPARES: usize = 4;

thread_local! {
    static SPARES_OF_THREAD: RefCell<Vec<Vec<u32>>> = const { RefCell::new(Vec::new()) };
}

impl Mask {
    /// The coordinates that `choose` leaves in an empty list.
    pub fn new(choose: impl FnOnce(&mut Vec<u32>)) -> Self {
        let mut list = SPARES_OF_THREAD.try_with(|spares| spares.borrow_mut().pop()).ok().flatten().unwrap_or_default();
        list.clear();
        choose(&mut list);
        Self(list)
    }
}

impl Deref for Mask {
    type Target = [u32];
    fn deref(&self) -> &[u32] {
        &self.0
    }
}

impl Drop for Mask {
    fn drop(&mut self) {
        let list = std::mem::take(&mut self.0);
        if list.capacity() <= LONGEST {
            // While the thread ends there is nobody to keep it for.
            let _ = SPARES_OF_THREAD.try_with(|spares| {
                let mut spares = spares.borrow_mut();
                if spares.len() < SPARES {
                    spares.push(list);
                }
            });
        }
    }
}
