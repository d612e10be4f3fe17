//! The network without sockets, under a scheduler that decides everything.

#![allow(clippy::unwrap_used)]

mod counting;
mod hostile;
mod scheduler;
mod sockets;
