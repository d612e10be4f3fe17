//! What a round asks of the allocator once everything is warm: only what changes hands.
//!
//! A program of its own, since an allocator counts for the whole of it.

// The allocator's contract is the system's, to which every call is handed on unchanged.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use motet_core::{Host, Memo, Plan, Population, Rhythm, Seed, Shard, Vector, train};
use motet_methods::Method;
use motet_methods::dcgd::Dcgd;
use motet_methods::diana::Diana;
use motet_methods::flix::Flix;
use motet_problems::synthetic::formula::lrs;
use motet_runtime::{Inline, Memory};
use serde_json::{Value, json};

/// The system's allocator, counting.
struct Counting;

static CALLS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator with the arguments it came with; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
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

/// Allocations of one round for each client, and of the round itself: the difference between long and short runs.
fn per_round<M: Method>(params: Value) -> u64 {
    let method: Arc<M> = Arc::new(serde_json::from_value(params).expect("parameters"));
    let population: Arc<dyn Population> = Arc::new(lrs(CLIENTS, 8, 100).into_iter().map(Shard::new).collect::<Vec<_>>());
    let memo: Arc<Memo> = Arc::default();
    let count = |rounds| {
        let host = Host::new(Arc::clone(&method), Arc::clone(&population), Arc::new(Memory::default()), Arc::clone(&memo), Seed(1));
        let plan = Plan { rhythm: Rhythm::Never, ..Plan::new(rounds, Seed(1)) };
        let before = CALLS.load(Ordering::Relaxed);
        train(&*method, Vector::from(vec![0.0; 100]), &plan, &mut Inline::new(host), &mut vec![]).expect("a run");
        CALLS.load(Ordering::Relaxed) - before
    };
    count(10); // local solves are made once
    (count(120) - count(20)) / 100
}

#[test]
fn a_round_allocates_what_changes_hands_and_no_more() {
    let solve = json!({ "steps": 100 });
    let compressor = json!({ "kind": "rand-k", "k": 0.2 });
    let flix = per_round::<Flix>(json!({ "alpha": 0.5, "solve": solve }));
    let dcgd = per_round::<Dcgd>(json!({ "alpha": 0.5, "compressor": compressor, "solve": solve }));
    let diana = per_round::<Diana>(json!({ "alpha": 0.5, "compressor": compressor, "solve": solve }));
    eprintln!("allocations of a round of {CLIENTS} clients: flix {flix}, dcgd {dcgd}, diana {diana}");
    let clients = CLIENTS as u64;
    let server = 12; // the server's copy of its state, its sums, the books of the round
    // The deployed model, the model's own margins, and the gradient, which is the reply.
    assert!(flix <= 3 * clients + server, "{flix}");
    // Also the payload, and on both sides the dice and the coordinates they choose.
    assert!(dcgd <= 8 * clients + server, "{dcgd}");
    // Also the client's new memory: the old one stays until the server has named its successor.
    assert!(diana <= 9 * clients + server, "{diana}");
}
