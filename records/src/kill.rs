//! Points at which a program may die: tests let it die at each of them and go on from what is left.
//!
//! Nobody dies here unless a test has asked for it, on its own thread.

use std::cell::Cell;
use std::panic::resume_unwind;

thread_local! {
    /// Points until death; 0 for a long life.
    static LEFT: Cell<u64> = const { Cell::new(0) };
}

/// What a death unwinds with.
#[derive(Debug)]
pub struct Killed;

/// This thread dies at the n-th point that it comes to from now on; at none if n is 0.
pub fn at(n: u64) {
    LEFT.set(n);
}

/// A point. `last` is the last thing that happens, such as half of a record being written.
pub fn point(last: impl FnOnce()) {
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
