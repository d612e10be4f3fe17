//! Where client state sleeps.

mod disk;
mod extents;
mod frozen;
mod memory;

pub use disk::{Disk, OpenError};
pub use frozen::Frozen;
pub use memory::Memory;
