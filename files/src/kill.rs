//! Points at which a program may die: tests let it die at each of them and go on from what is left.
//!
//! Nobody dies here unless a test has asked for it, on its own thread. Without debug assertions, as in a release build, there are
//! no such points: [`point`] does nothing, and `at` is not there.

#[cfg(debug_assertions)]
pub use armed::{Killed, at};

/// Dies here if a test asked for it. `last` is the last thing that happens, such as half of a record being written.
#[inline]
pub fn point(last: impl FnOnce()) {
    #[cfg(debug_assertions)]
    armed::point(last);
    #[cfg(not(debug_assertions))]
    let _ = last;
}

#[cfg(debug_assertions)]
mod armed {
    use std::cell::Cell;
    use std::panic::resume_unwind;

    thread_local! {
        /// Points until death; 0 for a long life.
        static LEFT: Cell<u64> = const { Cell::new(0) };
    }

    /// The payload of the panic by which a test lets the program die.
    #[derive(Debug)]
    pub struct Killed;

    /// This thread dies at the n-th point that it comes to from now on; at none if n is 0.
    pub fn at(n: u64) {
        LEFT.set(n);
    }

    pub(super) fn point(last: impl FnOnce()) {
        match LEFT.get() {
            0 => {}
            1 => {
                LEFT.set(0);
                last();
                // As a kill does, it leaves the files as they are: nobody on the way catches it or clears up.
                resume_unwind(Box::new(Killed));
            }
            left => LEFT.set(left - 1),
        }
    }
}
