//! Where client state is kept between two asks.

mod disk;
mod extents;
mod frozen;
mod helper;
mod memory;
mod solves;

pub use disk::{Disk, OpenError};
pub use frozen::Frozen;
pub use memory::Memory;
pub use solves::Solves;
