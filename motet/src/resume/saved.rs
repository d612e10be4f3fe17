//! The state of a run between two rounds, as a checkpoint holds it.

use motet_core::{Scattered, wire};
use motet_records::Lengths;

wire! {
    /// The body of a checkpoint.
    #[derive(Default)]
    pub(crate) struct Saved {
        /// Which run of the experiment.
        pub(crate) run: u64,
        /// Records up to this moment.
        pub(crate) lengths: Lengths,
        /// Training took so long.
        pub(crate) seconds: f64,
        /// Number of the index of client states.
        pub(crate) generation: u64,
        /// Where client states lie; the states themselves if they are not on disk.
        pub(crate) index: Vec<u8>,
        /// Everything else.
        pub(crate) moment: Scattered,
    }
}
