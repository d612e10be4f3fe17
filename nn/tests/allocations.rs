//! Layers ask the allocator for nothing once their workspace has grown.
//!
//! A program of its own, since an allocator counts for the whole of it. Products here are small enough to be ours: the
//! general one of the `gemm` crate takes packing room of its own on every call.

// The kernel of small products is written for this processor.
#![cfg(target_arch = "x86_64")]
// The allocator's contract is the system's, to which every call is handed on unchanged.
#![allow(unsafe_code, clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use motet_core::{Fraction, Seed};
use motet_nn::layer::{
    Activation, Attention, AveragePool, Conv2d, Dense, Dropout, Embedding, GroupNorm, LayerNorm, Lstm, MaxPool, Residual,
};
use motet_nn::{Inputs, Loss, Model, Named, Shape, Workspace, named};

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

/// Allocations of ten gradients, after a first.
fn warm(name: &str, input: Vec<usize>, layers: Vec<Named<f32>>, tokens: bool) -> u64 {
    let model: Model<f32> = Model::new(Shape(input), layers, Loss::CrossEntropy).unwrap();
    let (examples, mut rng) = (4, Seed(1).problem(0));
    let w = model.start(&mut rng);
    let number = |k: usize| if tokens { (k % 5) as f32 } else { (k as f32 * 0.37).sin() };
    let inputs = (0..examples * model.input().len()).map(number).collect();
    let mut room = Workspace::of(inputs, vec![1.0; examples * model.targets()]);
    let (mut g, mut before) = (vec![0.0; w.len()], 0);
    for k in 0..11 {
        if k == 1 {
            before = CALLS.get();
        }
        let value = model.gradient(&w, Inputs { share: 0.25, noise: Some(k), ..Inputs::default() }, &mut room, &mut g);
        assert!(value.is_finite(), "{name}");
    }
    CALLS.get() - before
}

#[test]
fn a_warm_gradient_asks_the_allocator_for_nothing() {
    if !std::arch::is_x86_feature_detected!("fma") {
        return; // small products go to the general one here
    }
    let half = Fraction::new(0.5).unwrap();
    let perceptron =
        vec![named("a", Dense::new(7)), named("tanh", Activation::Tanh), named("drop", Dropout::new(half)), named("b", Dense::new(3))];
    let inner = vec![named("conv", Conv2d::new(4, 3).same()), named("norm", GroupNorm::new(2))];
    let images = vec![
        named("conv", Conv2d::new(4, 3).same()),
        named("pool", MaxPool::new(2).rectified()),
        named("block", Residual::new(inner, vec![])),
        named("mean", AveragePool::whole()),
        named("out", Dense::new(3)),
    ];
    let text = vec![named("embed", Embedding::new(5, 4)), named("lstm", Lstm::new(6, 0)), named("out", Dense::new(5))];
    let attention = vec![
        named("embed", Embedding::new(5, 4)),
        named("attention", Residual::new(vec![named("", Attention::new(2))], vec![])),
        named("norm", LayerNorm::new(1e-5)),
        named("out", Dense::new(5)),
    ];
    assert_eq!(warm("perceptron", vec![5], perceptron, false), 0, "perceptron");
    assert_eq!(warm("images", vec![8, 8, 2], images, false), 0, "images");
    assert_eq!(warm("text", vec![6], text, true), 0, "text");
    assert_eq!(warm("attention", vec![6], attention, true), 0, "attention");
}
