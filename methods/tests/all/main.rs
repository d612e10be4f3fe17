//! Every test of the methods, in one program: generic code is compiled once, not once per file.
#![allow(clippy::unwrap_used)]

mod apfl;
mod bounds;
mod bounds_compressed;
mod bounds_nonconvex;
mod budget;
mod compress;
mod dcgd;
mod diana;
mod ditto;
mod ef;
mod fedprox;
mod finetune;
mod flix;
mod flix_fedavg;
mod flix_sgd;
mod l2gd;
mod lab;
mod local;
mod local_steps;
mod local_update;
mod meritfed;
mod meritfed_mean;
mod one_shot;
mod optimiser;
mod per_fedavg;
mod pfedme;
mod plateau;
mod population;
mod propositions;
mod scafflix;
mod scafflix_compressed;
mod scafflix_noise;
mod scaffold;
mod schedule;
mod solve;
