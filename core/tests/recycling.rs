//! Memory that one thread leaves behind is used by another: replies are made on one and dropped on the other.

// Starts a thread: a test may do what the code under test may not.
#![allow(clippy::disallowed_methods)]

use motet_core::{Precision, Vector};

#[test]
fn what_a_full_shelf_hands_over_reaches_other_threads() {
    const LEN: usize = 4001; // nobody else's
    let many: Vec<Vector> = (0..100).map(|_| Vector::zeros(LEN, Precision::F64)).collect();
    let places: Vec<usize> = many.iter().map(|v| v.f64s().as_ptr() as usize).collect();
    drop(many);
    let (place, sum) = std::thread::spawn(|| {
        let v = Vector::zeros(LEN, Precision::F64);
        (v.f64s().as_ptr() as usize, v.norm2())
    })
    .join()
    .expect("a thread");
    assert!(places.contains(&place), "the memory is one of those given back");
    assert_eq!(sum, 0.0, "and what was in it is gone");
}
