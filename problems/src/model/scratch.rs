//! Room for numbers in between, kept by each thread from one gradient to the next.

use std::cell::RefCell;

/// Longer lists are given back: they are rare, and filling them takes longer than asking for them.
const LONGEST: usize = 1 << 17;

thread_local! {
    static SPARES: RefCell<Vec<Vec<f64>>> = const { RefCell::new(Vec::new()) };
}

/// Lends an empty list for as long as `work` takes. Work within work gets lists of its own.
pub(super) fn with_list<R>(work: impl FnOnce(&mut Vec<f64>) -> R) -> R {
    let mut list = SPARES.with_borrow_mut(Vec::pop).unwrap_or_default();
    list.clear();
    let result = work(&mut list);
    if list.capacity() <= LONGEST {
        SPARES.with_borrow_mut(|spares| spares.push(list));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_empty_distinct_and_used_again() {
        let outer = with_list(|a| {
            a.resize(100, 1.0);
            with_list(|b| {
                assert!(b.is_empty());
                b.push(2.0);
                assert_eq!(a[0], 1.0);
            });
            a.as_ptr()
        });
        // The list given back last is lent first.
        with_list(|a| assert!(a.is_empty() && a.capacity() >= 100 && a.as_ptr() == outer));
    }
}
