//! Every test of the methods, in one program: generic code is compiled once, not once per file.
#![allow(clippy::unwrap_used)]

mod bounds;
mod bounds_compressed;
mod bounds_nonconvex;
mod budget;
mod compress;
mod dcgd;
mod diana;
mod ef;
mod flix;
mod flix_fedavg;
mod flix_sgd;
mod lab;
mod local;
mod local_update;
mod meritfed;
mod one_shot;
mod optimiser;
mod plateau;
mod propositions;
mod scafflix;
mod scafflix_compressed;
mod scafflix_noise;
mod schedule;
mod solve;
