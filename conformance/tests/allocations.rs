//! What a round asks of the allocator once everything is warm: nothing.
//!
//! A program of its own, since an allocator counts for the whole of it.

// The allocator's contract is the system's, to which every call is handed on unchanged.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use motet_core::{Host, Memo, Plan, Population, Rhythm, Seed, Shard, Vector, train};
use motet_methods::Method;
use motet_methods::dcgd::Dcgd;
use motet_methods::diana::Diana;
use motet_methods::ef21::Ef21;
use motet_methods::flix::Flix;
use motet_methods::scafflix::Scafflix;
use motet_problems::synthetic::formula::lrs;
use motet_runtime::{Inline, Memory};
use serde_json::{Value, json};

/// The system's allocator, counting for each thread: the one that runs the tests has business of its own.
struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator with the arguments it came with; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.with(|calls| calls.set(calls.get() + 1));
        // SAFETY: the caller keeps alloc's contract.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps dealloc's contract.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const CLIENTS: usize = 50;

/// Allocations of a hundred warm rounds.
fn of_hundred_rounds<M: Method>(params: Value) -> u64 {
    let method: Arc<M> = Arc::new(serde_json::from_value(params).expect("parameters"));
    let population: Arc<dyn Population> = Arc::new(lrs(CLIENTS, 8, 100).into_iter().map(Shard::new).collect::<Vec<_>>());
    let memo: Arc<Memo> = Arc::default();
    let count = |rounds| {
        let host = Host::new(Arc::clone(&method), Arc::clone(&population), Arc::new(Memory::default()), Arc::clone(&memo), Seed(1));
        let plan = Plan { rhythm: Rhythm::Never, ..Plan::new(rounds, Seed(1)) };
        let before = CALLS.get();
        train(&*method, Vector::from(vec![0.0; 100]), &plan, &mut Inline::new(host), &mut vec![]).expect("a run");
        CALLS.get() - before
    };
    count(10); // local solves are made once
    let (long, short) = (count(120), count(20));
    long - short
}

#[test]
fn a_warm_round_asks_the_allocator_for_nothing() {
    let solve = json!({ "steps": 100 });
    let compressor = json!({ "kind": "rand-k", "k": 0.2 });
    let flix = of_hundred_rounds::<Flix>(json!({ "alpha": 0.5, "solve": solve }));
    let dcgd = of_hundred_rounds::<Dcgd>(json!({ "alpha": 0.5, "compressor": compressor, "solve": solve }));
    let diana = of_hundred_rounds::<Diana>(json!({ "alpha": 0.5, "compressor": compressor, "solve": solve }));
    let ef21 = of_hundred_rounds::<Ef21>(json!({ "alpha": 0.5, "compressor": { "kind": "natural" }, "solve": solve }));
    let scafflix = of_hundred_rounds::<Scafflix>(json!({ "alpha": 0.5, "p": 0.2, "solve": solve }));
    assert_eq!([flix, dcgd, diana, ef21], [0; 4], "flix, dcgd, diana, ef21");
    // Of each round, whatever the clients are: who is still to answer (twice), the stepsizes and the notes, copied in
    // case the round fails.
    assert!(scafflix <= 4 * 100, "{scafflix}");
}
