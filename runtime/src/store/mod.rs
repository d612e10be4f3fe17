//! Where client state sleeps.

mod frozen;
mod memory;

pub use frozen::Frozen;
pub use memory::Memory;
