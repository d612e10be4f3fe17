//! The network without sockets, under a scheduler that decides everything.

#![allow(clippy::unwrap_used)]

mod absence;
mod counting;
mod every_step;
mod hostile;
mod intruders;
mod scheduler;
mod sockets;
