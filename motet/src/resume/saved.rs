//! A moment of a run, as a checkpoint holds it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use motet_core::{Algorithm, Kept, Moment, Reader, Wire, wire};
use motet_runtime::Disk;

use super::Lengths;

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
        /// Where client states lie.
        pub(crate) index: Vec<u8>,
        /// Everything else.
        pub(crate) moment: Vec<u8>,
    }
}

/// Where the clients of a method sleep.
pub(crate) type States<A> = Arc<Disk<Kept<<A as Algorithm>::Client>>>;

/// A run as it was.
pub(crate) struct Past<A: Algorithm> {
    pub(crate) moment: Moment<A>,
    pub(crate) states: States<A>,
    pub(crate) seconds: f64,
    /// Numbers of the indices that checkpoints hold, oldest first.
    pub(crate) generations: Vec<u64>,
}

impl<A: Algorithm> Past<A> {
    /// The newest of the saved moments, or the beginning. `folder` is where the run is kept, `limit` how many bytes of
    /// client states may stay in memory.
    pub(crate) fn of(saved: &[Saved], begin: Moment<A>, folder: &Path, limit: u64) -> io::Result<Self> {
        let path = folder.join("states");
        let Some(newest) = saved.first() else {
            std::fs::create_dir_all(folder)?;
            let states = Arc::new(Disk::create(&path, limit)?);
            return Ok(Self { moment: begin, states, seconds: 0.0, generations: vec![] });
        };
        let moment = Moment::decode(&mut Reader::new(&newest.moment)).map_err(|e| io::Error::other(e.to_string()))?;
        let indices: Vec<&[u8]> = saved.iter().map(|saved| &*saved.index).collect();
        let states = Disk::open(&path, limit, &indices).map_err(io::Error::other)?;
        let generations = saved.iter().rev().map(|saved| saved.generation).collect();
        Ok(Self { moment, states: Arc::new(states), seconds: newest.seconds, generations })
    }
}
